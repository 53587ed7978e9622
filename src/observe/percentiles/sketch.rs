//! The values of one interval.
//!
//! A value is written down when it comes, and no more; values are counted in buckets when [`EXACT`] of them stand
//! there, or when the interval ends. Buckets come in groups, each with a count of its own, so that groups without a
//! value or a rank in them cost nothing.

use super::buckets::{COARSE, FINE, bucket, highest};
use super::{EXACT, Percentiles, Total, Walk, of_sorted};
use crate::time::Nanos;

/// Buckets of a group: as many as make up a coarse bucket, except among the smallest, each of which is a value.
const GROUP: usize = 1 << (FINE - COARSE);
/// Groups, a power of two of them that covers all values.
const GROUPS: usize = 512;

/// Collects the values of an interval and summarises them.
#[derive(Clone, Debug)]
pub struct Sketch {
    /// Values that are not in buckets yet, the first `held` of these.
    values: [u64; EXACT],
    held: usize,
    /// How many are in buckets, their sum and the largest of them.
    poured: u64,
    sum: u128,
    max: u64,
    /// By bucket.
    counts: Vec<u32>,
    /// By group of buckets.
    groups: [u32; GROUPS],
    /// The values of all intervals, if they are wanted.
    total: Option<Total>,
}

impl Default for Sketch {
    fn default() -> Sketch {
        Sketch {
            values: [0; EXACT],
            held: 0,
            poured: 0,
            sum: 0,
            max: 0,
            counts: Vec::new(),
            groups: [0; GROUPS],
            total: None,
        }
    }
}

impl Sketch {
    /// An empty sketch.
    pub fn new() -> Sketch {
        Sketch::default()
    }

    /// An empty sketch that also keeps the total of all its intervals.
    pub fn with_total() -> Sketch {
        Sketch { total: Some(Total::default()), ..Sketch::default() }
    }

    /// Adds a value.
    #[inline(always)]
    pub fn add(&mut self, value: u64) {
        match self.values.get_mut(self.held) {
            Some(place) => {
                *place = value;
                self.held += 1;
            }
            None => self.pour_and_add(value),
        }
    }

    #[cold]
    fn pour_and_add(&mut self, value: u64) {
        self.pour();
        self.values[0] = value;
        self.held = 1;
    }

    /// Whether nothing was added since the last summary.
    pub fn is_empty(&self) -> bool {
        self.held == 0 && self.poured == 0
    }

    /// The total of all intervals that have ended, if it is kept.
    pub fn total(&self) -> Option<&Total> {
        self.total.as_ref()
    }

    /// Adds all that `other` holds.
    pub fn absorb(&mut self, other: &Sketch) {
        other.values[..other.held].iter().for_each(|value| self.add(*value));
        if other.poured == 0 {
            return;
        }
        self.pour();
        self.include(other.poured, other.sum, other.max);
        for (group, count) in other.groups.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.groups[group] += count;
            for index in group * GROUP..(group + 1) * GROUP {
                self.counts[index] += other.counts[index];
                if let Some(total) = &mut self.total {
                    total.buckets(index + 1)[index] += other.counts[index] as u64;
                }
            }
        }
    }

    /// Includes values in the sums, and makes room for their buckets.
    fn include(&mut self, count: u64, sum: u128, max: u64) {
        self.poured += count;
        self.sum += sum;
        self.max = self.max.max(max);
        let buckets = (bucket(max, FINE) + 1).next_multiple_of(GROUP);
        if self.counts.len() < buckets {
            self.counts.resize(buckets, 0);
        }
    }

    /// Counts what is held in buckets.
    fn pour(&mut self) {
        let held = std::mem::take(&mut self.held);
        let (mut sum, mut max) = (0, 0);
        for value in &self.values[..held] {
            sum += *value as u128;
            max = max.max(*value);
        }
        self.include(held as u64, sum, max);
        // One length for both, so that a bucket is looked up once.
        let buckets = self.counts.len();
        let (counts, groups) = (&mut self.counts[..buckets], &mut self.groups);
        let mut count = |value: u64| {
            let index = bucket(value, FINE);
            counts[index] += 1;
            groups[index / GROUP % GROUPS] += 1;
            index
        };
        match &mut self.total {
            Some(total) => {
                let totals = &mut total.buckets(buckets)[..buckets];
                self.values[..held].iter().for_each(|value| totals[count(*value)] += 1);
            }
            None => {
                for value in &self.values[..held] {
                    count(*value);
                }
            }
        }
    }

    /// Summarises what was added since the last time, and starts anew.
    ///
    /// `visit` gets the coarse buckets in use, as the largest value that falls into each and the count, in order.
    pub fn take(&mut self, mut visit: impl FnMut(Nanos, u64)) -> Percentiles {
        let few = self.poured == 0;
        let found = if few { self.take_values(&mut visit) } else { self.take_buckets(&mut visit) };
        if let Some(total) = &mut self.total {
            total.include(&found, &self.values[..self.held]);
        }
        (self.held, self.poured, self.sum, self.max) = (0, 0, 0, 0);
        found
    }

    fn take_values(&mut self, visit: &mut impl FnMut(Nanos, u64)) -> Percentiles {
        let values = &mut self.values[..self.held];
        values.sort_unstable();
        for same in values.chunk_by(|a, b| bucket(*a, COARSE) == bucket(*b, COARSE)) {
            visit(Nanos(highest(bucket(same[0], COARSE), COARSE)), same.len() as u64);
        }
        if let (Some(total), Some(max)) = (&mut self.total, values.last()) {
            let totals = total.buckets(bucket(*max, FINE) + 1);
            values.iter().for_each(|value| totals[bucket(*value, FINE)] += 1);
        }
        of_sorted(values)
    }

    fn take_buckets(&mut self, visit: &mut impl FnMut(Nanos, u64)) -> Percentiles {
        self.pour();
        let mut walk = Walk::new(self.poured, self.sum, self.max);
        let groups = self.counts.chunks_exact_mut(GROUP).zip(&mut self.groups);
        for (group, (counts, count)) in groups.enumerate() {
            let count = std::mem::take(count) as u64;
            if count == 0 {
                continue;
            }
            let first = group * GROUP;
            walk.pass(first, counts.iter().map(|count| *count as u64), count);
            visit_group(first, counts, count, visit);
            counts.fill(0);
        }
        walk.found
    }
}

/// Visits the coarse buckets in use in the group of buckets from number `first`: one, or several of small values.
#[inline]
fn visit_group(first: usize, counts: &[u32], count: u64, visit: &mut impl FnMut(Nanos, u64)) {
    if 1 << FINE <= first {
        return visit(Nanos(highest(first + GROUP - 1, FINE)), count);
    }
    // Values so small have buckets of their own, so a bucket's number is its value.
    let mut from = 0;
    while from < GROUP {
        let le = highest(bucket((first + from) as u64, COARSE), COARSE);
        let until = le as usize + 1 - first;
        match counts[from..until].iter().map(|count| *count as u64).sum() {
            0 => {}
            count => visit(Nanos(le), count),
        }
        from = until;
    }
}

#[cfg(test)]
mod tests {
    use super::super::rank;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn few_values_give_exact_nearest_ranks() {
        let mut sketch = Sketch::new();
        (1..=100).rev().for_each(|value| sketch.add(value * 1_000_003));
        let found = sketch.take(|_, _| {});
        assert_eq!(
            [found.p50, found.p90, found.p95, found.p99, found.max].map(|v| v / 1_000_003),
            [50, 90, 95, 99, 100]
        );
        assert_eq!(found.count, 100);
        assert_eq!(sketch.take(|_, _| {}), Percentiles::default());
    }

    #[test]
    fn a_run_of_few_values_is_summarised_exactly_however_many_intervals_it_has() {
        let mut sketch = Sketch::with_total();
        for value in [3_703_703_673, 1_234_567_891, 2_469_135_782] {
            sketch.add(value);
            sketch.take(|_, _| {});
        }
        let found = sketch.total().unwrap().percentiles();
        assert_eq!((found.p50, found.p99, found.max), (2_469_135_782, 3_703_703_673, 3_703_703_673));
    }

    /// The summary and the coarse histogram of values, from a sorted list of them.
    fn by_sorting(values: &[u64]) -> (Percentiles, Vec<(u64, u64)>) {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let mut coarse: Vec<(u64, u64)> = Vec::new();
        for value in &sorted {
            let le = highest(bucket(*value, COARSE), COARSE);
            match coarse.last_mut() {
                Some(last) if last.0 == le => last.1 += 1,
                _ => coarse.push((le, 1)),
            }
        }
        let max = sorted.last().copied().unwrap_or(0);
        let at = |percent| match sorted.get((rank(percent, sorted.len() as u64) - 1) as usize) {
            Some(value) if sorted.len() <= EXACT => *value,
            Some(value) => highest(bucket(*value, FINE), FINE).min(max),
            None => 0,
        };
        let sum = sorted.iter().map(|value| *value as u128).sum();
        let [p50, p90, p95, p99] = [50, 90, 95, 99].map(at);
        (Percentiles { count: sorted.len() as u64, sum, p50, p90, p95, p99, max }, coarse)
    }

    fn taken(sketch: &mut Sketch) -> (Percentiles, Vec<(u64, u64)>) {
        let mut coarse = Vec::new();
        let found = sketch.take(|le, count| coarse.push((le.0, count)));
        (found, coarse)
    }

    /// Values of every size, from single nanoseconds on.
    fn values(most: usize) -> impl Strategy<Value = Vec<u64>> {
        let value = (0u32..64, any::<u64>()).prop_map(|(shift, value)| value >> shift);
        (any::<bool>(), prop::collection::vec(value, 0..most)).prop_map(|(small, values)| match small {
            true => values.into_iter().map(|value| value % 5_000).collect(),
            false => values,
        })
    }

    proptest! {
        #[test]
        fn values_are_summarised_as_a_sorted_list_says(first in values(2_000), second in values(600)) {
            let mut sketch = Sketch::with_total();
            for part in [&first, &second] {
                part.iter().for_each(|value| sketch.add(*value));
                prop_assert_eq!(taken(&mut sketch), by_sorting(part));
                prop_assert!(sketch.is_empty());
            }
            let all = [first, second].concat();
            prop_assert_eq!(sketch.total().unwrap().percentiles(), by_sorting(&all).0);
        }

        #[test]
        fn what_a_sketch_absorbs_counts_as_if_it_had_been_added(own in values(1_200), other in values(1_200)) {
            let (mut sketch, mut absorbed) = (Sketch::with_total(), Sketch::new());
            own.iter().for_each(|value| sketch.add(*value));
            other.iter().for_each(|value| absorbed.add(*value));
            sketch.absorb(&absorbed);
            let all = [own, other].concat();
            prop_assert_eq!(taken(&mut sketch), by_sorting(&all));
            prop_assert_eq!(sketch.total().unwrap().percentiles(), by_sorting(&all).0);
        }

        #[test]
        fn many_values_are_within_a_thousandth(values in prop::collection::vec(0u64..u64::MAX / 4, 1..3_000)) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let (mut sketch, mut coarse) = (Sketch::with_total(), 0);
            values.iter().for_each(|value| sketch.add(*value));
            let found = sketch.take(|_, count| coarse += count);
            prop_assert_eq!(coarse, values.len() as u64);
            for (percent, value) in [(50, found.p50), (90, found.p90), (95, found.p95), (99, found.p99), (100, found.max)] {
                let exact = sorted[rank(percent, values.len() as u64) as usize - 1];
                prop_assert!(exact <= value && value - exact <= exact / 1_000, "p{}: {} for {}", percent, value, exact);
            }
            let all = sketch.total().unwrap().percentiles();
            prop_assert_eq!((all.count, all.sum, all.max), (found.count, found.sum, found.max));
            prop_assert!(found.p99 <= all.p99 && all.p99 - found.p99 <= found.p99 / 1_000);
        }
    }
}
