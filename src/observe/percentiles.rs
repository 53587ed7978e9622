//! Percentiles of many values in fixed memory.
//!
//! Up to [`EXACT`] values are kept as they are, and their percentiles are exact (nearest rank). What is more is
//! counted in log-linear buckets, 1024 to an octave, whose highest value is at most 0.1 % above any in it; a
//! percentile is then the highest value of the bucket that holds its rank, or the largest value of all if that is
//! smaller. The same layout as HdrHistogram's, with shifts alone.

use crate::time::Nanos;

/// So many values are kept exactly before they are counted in buckets.
pub const EXACT: usize = 512;

/// Sub-buckets of an octave, as a power of two.
const FINE: u32 = 10;
/// The same for the coarse buckets of `latency_hist.csv`.
const COARSE: u32 = 3;

/// The log-linear bucket of a value with 2^bits buckets to an octave; values below 2^(bits+1) have their own.
#[inline]
fn bucket(value: u64, bits: u32) -> usize {
    let exponent = 63 - (value | 1).leading_zeros();
    let shift = exponent.saturating_sub(bits);
    ((shift as usize) << bits) + (value >> shift) as usize
}

/// The highest value in a bucket.
fn highest(bucket: usize, bits: u32) -> u64 {
    let shift = (bucket >> bits).saturating_sub(1) as u32;
    let mantissa = (bucket - ((shift as usize) << bits)) as u64;
    // Wraps to the largest number in the last bucket of all.
    ((mantissa + 1) << shift).wrapping_sub(1)
}

/// A summary of the values of one interval or one run, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percentiles {
    /// How many values.
    pub count: u64,
    /// Their sum.
    pub sum: u128,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Largest.
    pub max: u64,
}

impl Percentiles {
    /// The value, or `None` if there were no values at all.
    pub fn some(&self, value: u64) -> Option<Nanos> {
        (self.count > 0).then_some(Nanos(value))
    }

    /// The mean in nanoseconds, if there were values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}

/// Rank of a percentile among `count` values, from 1: the nearest rank, ⌈percent · count / 100⌉.
fn rank(percent: u64, count: u64) -> u64 {
    (percent as u128 * count as u128).div_ceil(100).max(1) as u64
}

/// The exact summary of values in order.
fn of_sorted(values: &[u64]) -> Percentiles {
    let count = values.len() as u64;
    let Some(max) = values.last().copied() else { return Percentiles::default() };
    let at = |percent| values[rank(percent, count) as usize - 1];
    let sum = values.iter().map(|value| *value as u128).sum();
    Percentiles { count, sum, p50: at(50), p90: at(90), p95: at(95), p99: at(99), max }
}

/// Collects values and summarises them.
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    exact: Vec<u64>,
    counts: Vec<u32>,
    /// A bit for each bucket in use, so that the empty ones between them cost nothing.
    used: Vec<u64>,
    poured: u64,
    sum: u128,
    max: u64,
}

impl Sketch {
    /// An empty sketch, its exact part allocated.
    pub fn new() -> Sketch {
        Sketch { exact: Vec::with_capacity(EXACT + 1), ..Sketch::default() }
    }

    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        if self.poured > 0 {
            self.count(value);
        } else {
            self.exact.push(value);
            if EXACT < self.exact.len() {
                self.pour();
            }
        }
    }

    /// Counts a value in its bucket.
    #[inline]
    fn count(&mut self, value: u64) {
        let index = bucket(value, FINE);
        self.poured += 1;
        self.sum += value as u128;
        self.max = self.max.max(value);
        match self.counts.get_mut(index) {
            Some(count) if *count > 0 => *count += 1,
            _ => self.count_first(index),
        }
    }

    /// Counts the first value of a bucket.
    fn count_first(&mut self, index: usize) {
        if self.counts.len() <= index {
            self.counts.resize((index + 1).next_multiple_of(64), 0);
            self.used.resize(self.counts.len() / 64, 0);
        }
        self.counts[index] = 1;
        self.used[index / 64] |= 1 << (index % 64);
    }

    /// Whether nothing was added since the last summary.
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.poured == 0
    }

    /// Adds all that `other` holds.
    pub fn absorb(&mut self, other: &Sketch) {
        other.exact.iter().for_each(|value| self.add(*value));
        if other.poured == 0 {
            return;
        }
        self.pour();
        for (index, count) in other.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            match self.counts.get_mut(index) {
                Some(own) if *own > 0 => *own += count,
                _ => {
                    self.count_first(index);
                    self.counts[index] = *count;
                }
            }
        }
        self.poured += other.poured;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Moves the exact values into the buckets.
    fn pour(&mut self) {
        let exact = std::mem::take(&mut self.exact);
        exact.iter().for_each(|value| self.count(*value));
        self.exact = exact;
        self.exact.clear();
    }

    /// Summarises what was added since the last time, hands it on to `total` and `visit` and starts anew.
    ///
    /// `visit` gets the coarse buckets in use, as the largest value that falls into each and the count, in order.
    pub fn take(&mut self, total: Option<&mut Total>, mut visit: impl FnMut(Nanos, u64)) -> Percentiles {
        let found = if self.poured > 0 {
            self.take_buckets(total, &mut visit)
        } else {
            self.take_exact(total, &mut visit)
        };
        self.exact.clear();
        (self.poured, self.sum, self.max) = (0, 0, 0);
        found
    }

    fn take_exact(&mut self, total: Option<&mut Total>, visit: &mut impl FnMut(Nanos, u64)) -> Percentiles {
        let count = self.exact.len() as u64;
        if count == 0 {
            return Percentiles::default();
        }
        self.exact.sort_unstable();
        for same in self.exact.chunk_by(|a, b| bucket(*a, COARSE) == bucket(*b, COARSE)) {
            visit(Nanos(highest(bucket(same[0], COARSE), COARSE)), same.len() as u64);
        }
        let found = of_sorted(&self.exact);
        if let Some(total) = total {
            self.exact.iter().for_each(|value| total.count(bucket(*value, FINE), 1));
            total.include(&found, &self.exact);
        }
        found
    }

    fn take_buckets(
        &mut self,
        mut total: Option<&mut Total>,
        visit: &mut impl FnMut(Nanos, u64),
    ) -> Percentiles {
        let mut walk = Walk::new(self.poured, self.sum, self.max);
        let (mut coarse, mut coarse_count) = (0, 0u64);
        for word in 0..self.used.len() {
            let mut bits = std::mem::take(&mut self.used[word]);
            while bits != 0 {
                let index = 64 * word + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let count = std::mem::take(&mut self.counts[index]) as u64;
                walk.pass(index, count);
                if let Some(total) = &mut total {
                    total.count(index, count);
                }
                let here = bucket(highest(index, FINE), COARSE);
                if here != coarse && coarse_count > 0 {
                    visit(Nanos(highest(coarse, COARSE)), std::mem::take(&mut coarse_count));
                }
                (coarse, coarse_count) = (here, coarse_count + count);
            }
        }
        visit(Nanos(highest(coarse, COARSE)), coarse_count);
        if let Some(total) = total {
            total.include(&walk.found, &[]);
        }
        walk.found
    }
}

/// All values of a run, in buckets; the first few also as they are.
#[derive(Clone, Debug, Default)]
pub struct Total {
    counts: Vec<u64>,
    /// All values while there are at most [`EXACT`] of them, else useless.
    exact: Vec<u64>,
    all: Percentiles,
}

impl Total {
    fn count(&mut self, bucket: usize, count: u64) {
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += count;
    }

    /// Includes the sums of a part, and its values if they are known.
    fn include(&mut self, part: &Percentiles, values: &[u64]) {
        let few = self.exact.len() + values.len() <= EXACT;
        if few && self.is_exact() && part.count == values.len() as u64 {
            self.exact.extend_from_slice(values);
        }
        self.all.count += part.count;
        self.all.sum += part.sum;
        self.all.max = self.all.max.max(part.max);
    }

    /// Whether every value is kept as it is.
    fn is_exact(&self) -> bool {
        self.exact.len() as u64 == self.all.count
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Total) {
        for (bucket, count) in other.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.count(bucket, *count);
        }
        self.include(&other.all, &other.exact);
    }

    /// Summarises all.
    pub fn percentiles(&self) -> Percentiles {
        if self.is_exact() {
            let mut values = self.exact.clone();
            values.sort_unstable();
            return of_sorted(&values);
        }
        let mut walk = Walk::new(self.all.count, self.all.sum, self.all.max);
        for (bucket, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            walk.pass(bucket, *count);
        }
        walk.found
    }
}

/// Walks buckets upwards and notes where the ranks fall.
struct Walk {
    passed: u64,
    found: Percentiles,
    /// The ranks that are still to come, lowest first.
    ranks: [u64; 4],
    next: usize,
}

impl Walk {
    fn new(count: u64, sum: u128, max: u64) -> Walk {
        let ranks = [50, 90, 95, 99].map(|percent| rank(percent, count));
        Walk { passed: 0, found: Percentiles { count, sum, max, ..Percentiles::default() }, ranks, next: 0 }
    }

    #[inline]
    fn pass(&mut self, bucket: usize, count: u64) {
        self.passed += count;
        while self.next < 4 && self.ranks[self.next] <= self.passed {
            let value = highest(bucket, FINE).min(self.found.max);
            let found = &mut self.found;
            *[&mut found.p50, &mut found.p90, &mut found.p95, &mut found.p99][self.next] = value;
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_are_contiguous_and_cover_every_value() {
        for bits in [FINE, COARSE] {
            let mut next = 0u64;
            for index in 0.. {
                assert_eq!(bucket(next, bits), index, "lowest of bucket {index}");
                let top = highest(index, bits);
                assert_eq!(bucket(top, bits), index, "highest of bucket {index}");
                match top.checked_add(1) {
                    Some(after) => next = after,
                    None => break,
                }
            }
        }
    }

    #[test]
    fn few_values_give_exact_nearest_ranks() {
        let mut sketch = Sketch::new();
        (1..=100).rev().for_each(|value| sketch.add(value * 1_000_003));
        let found = sketch.take(None, |_, _| {});
        assert_eq!(
            [found.p50, found.p90, found.p95, found.p99, found.max].map(|v| v / 1_000_003),
            [50, 90, 95, 99, 100]
        );
        assert_eq!(found.count, 100);
        assert_eq!(sketch.take(None, |_, _| {}), Percentiles::default());
    }

    #[test]
    fn a_run_of_few_values_is_summarised_exactly_however_many_intervals_it_has() {
        let (mut sketch, mut total) = (Sketch::new(), Total::default());
        for value in [3_703_703_673, 1_234_567_891, 2_469_135_782] {
            sketch.add(value);
            sketch.take(Some(&mut total), |_, _| {});
        }
        let found = total.percentiles();
        assert_eq!((found.p50, found.p99, found.max), (2_469_135_782, 3_703_703_673, 3_703_703_673));
    }

    proptest! {
        #[test]
        fn many_values_are_within_a_thousandth(values in prop::collection::vec(0u64..u64::MAX / 4, 1..3_000)) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let (mut sketch, mut total, mut coarse) = (Sketch::new(), Total::default(), 0);
            values.iter().for_each(|value| sketch.add(*value));
            let found = sketch.take(Some(&mut total), |_, count| coarse += count);
            prop_assert_eq!(coarse, values.len() as u64);
            for (percent, value) in [(50, found.p50), (90, found.p90), (95, found.p95), (99, found.p99), (100, found.max)] {
                let exact = sorted[rank(percent, values.len() as u64) as usize - 1];
                prop_assert!(exact <= value && value - exact <= exact / 1_000, "p{}: {} for {}", percent, value, exact);
            }
            let all = total.percentiles();
            prop_assert_eq!((all.count, all.sum, all.max), (found.count, found.sum, found.max));
            prop_assert!(found.p99 <= all.p99 && all.p99 - found.p99 <= found.p99 / 1_000);
        }
    }
}
