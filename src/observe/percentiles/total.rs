//! All values of a run.

use super::{EXACT, Percentiles, Walk, of_sorted};

/// All values of a run, in buckets; the first few also as they are.
#[derive(Clone, Debug, Default)]
pub struct Total {
    counts: Vec<u64>,
    /// All values while there are at most [`EXACT`] of them, else useless.
    exact: Vec<u64>,
    all: Percentiles,
}

impl Total {
    /// The buckets, at least so many of them.
    pub(super) fn buckets(&mut self, least: usize) -> &mut [u64] {
        if self.counts.len() < least {
            self.counts.resize(least, 0);
        }
        &mut self.counts
    }

    /// Includes the sums of a part whose values are counted, and the values themselves if they are all known.
    pub(super) fn include(&mut self, part: &Percentiles, values: &[u64]) {
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
        let counts = self.buckets(other.counts.len());
        counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
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
        walk.pass(0, self.counts.iter().copied(), self.all.count);
        walk.found
    }
}
