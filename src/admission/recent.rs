//! Two counts over the last while, in buckets of equal length: what was asked, and what came of it.
//!
//! Buckets lie from the start of the run on; one leaves when its beginning is a window ago.

use crate::time::{Nanos, SimTime};

/// Counts over a window.
#[derive(Clone, Debug)]
pub struct Recent {
    length: Nanos,
    /// By number modulo their count: how many, and how many of them well.
    buckets: Vec<(u64, u64)>,
    newest: u64,
    sums: (u64, u64),
}

impl Recent {
    /// An empty window of so many buckets.
    pub fn new(window: Nanos, buckets: u64) -> Recent {
        let length = Nanos((window.0 / buckets).max(1));
        Recent { length, buckets: vec![(0, 0); buckets as usize], newest: 0, sums: (0, 0) }
    }

    /// Lets leave what is a window ago.
    fn advance(&mut self, now: SimTime) -> usize {
        let (number, count) = (now.0 / self.length.0, self.buckets.len() as u64);
        let first = (self.newest + 1).max((number + 1).saturating_sub(count));
        for passed in first..=number {
            let bucket = std::mem::take(&mut self.buckets[(passed % count) as usize]);
            self.sums = (self.sums.0 - bucket.0, self.sums.1 - bucket.1);
        }
        self.newest = self.newest.max(number);
        (self.newest % count) as usize
    }

    /// Counts so many more of both sorts.
    pub fn add(&mut self, now: SimTime, all: u64, well: u64) {
        let place = self.advance(now);
        let bucket = &mut self.buckets[place];
        *bucket = (bucket.0 + all, bucket.1 + well);
        self.sums = (self.sums.0 + all, self.sums.1 + well);
    }

    /// How many in the window, and how many of them well.
    pub fn sums(&mut self, now: SimTime) -> (u64, u64) {
        self.advance(now);
        self.sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a list of everything.
        #[test]
        fn it_counts_what_a_list_of_everything_holds(
            events in prop::collection::vec((0u64..400, 0u64..3, 0u64..3), 1..60), count in 1u64..8
        ) {
            let mut recent = Recent::new(Nanos(100 * count), count);
            let (mut all, mut now) = (Vec::new(), 0);
            for (later, first, second) in events {
                now += later;
                recent.add(SimTime(now), first, second);
                all.push((now / 100, first, second));
                let inside = |(number, ..): &&(u64, u64, u64)| now / 100 < number + count;
                let sum = all.iter().filter(inside).fold((0, 0), |sum, (_, a, b)| (sum.0 + a, sum.1 + b));
                prop_assert_eq!(recent.sums(SimTime(now)), sum);
            }
        }
    }
}
