//! Percentiles of many values in fixed memory.
//!
//! Up to [`EXACT`] values are kept as they are, and their percentiles are exact (nearest rank). What is more is
//! counted in log-linear buckets, 1024 to an octave, whose highest value is at most 0.1 % above any in it; a
//! percentile is then the highest value of the bucket that holds its rank, or the largest value of all if that is
//! smaller. The same layout as HdrHistogram's, with shifts alone.

mod buckets;
mod sketch;
mod total;

use crate::time::Nanos;
use buckets::{FINE, highest};
pub use sketch::Sketch;
pub use total::Total;

/// So many values are kept exactly before they are counted in buckets.
pub const EXACT: usize = 512;

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

    /// Passes buckets in a row, from number `first`, with `count` values together.
    #[inline]
    fn pass(&mut self, first: usize, counts: impl Iterator<Item = u64>, count: u64) {
        let mut passed = self.passed;
        self.passed += count;
        let mut buckets = (first..).zip(counts);
        let mut last = first;
        while self.next < 4 && self.ranks[self.next] <= self.passed {
            while passed < self.ranks[self.next] {
                let Some((bucket, count)) = buckets.next() else { break };
                passed += count;
                last = bucket;
            }
            self.find(last);
        }
    }

    /// The next rank falls into a bucket.
    fn find(&mut self, bucket: usize) {
        let value = highest(bucket, FINE).min(self.found.max);
        let found = &mut self.found;
        *[&mut found.p50, &mut found.p90, &mut found.p95, &mut found.p99][self.next] = value;
        self.next += 1;
    }
}
