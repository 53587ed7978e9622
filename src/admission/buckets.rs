//! What ended in the last while, counted in buckets of equal length.
//!
//! Buckets lie from the start of the run on; each holds how many ended in it and the sum of their times in whole
//! milliseconds. The bucket that runs is left out of what is read.

use crate::time::{Nanos, SimTime};

/// The buckets of a window.
#[derive(Clone, Debug)]
pub struct Buckets {
    length: Nanos,
    /// By number modulo their count.
    buckets: Vec<Bucket>,
    newest: u64,
}

/// What ended in one bucket.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bucket {
    /// How many.
    pub count: u64,
    /// Their times in service together.
    pub sum_ms: u64,
}

impl Buckets {
    /// `count` empty buckets of a window; each is at least a nanosecond long.
    pub fn new(window: Nanos, count: u64) -> Buckets {
        let length = Nanos((window.0 / count).max(1));
        Buckets { length, buckets: vec![Bucket::default(); count as usize], newest: 0 }
    }

    /// How long one is.
    pub fn length(&self) -> Nanos {
        self.length
    }

    /// The number of the bucket that runs.
    pub fn number(&self, now: SimTime) -> u64 {
        now.0 / self.length.0
    }

    /// One more has ended.
    pub fn add(&mut self, now: SimTime, ms: u64) {
        let (number, count) = (self.number(now), self.buckets.len() as u64);
        let first = (self.newest + 1).max((number + 1).saturating_sub(count));
        for passed in first..=number {
            self.buckets[(passed % count) as usize] = Bucket::default();
        }
        self.newest = number;
        let bucket = &mut self.buckets[(number % count) as usize];
        bucket.count += 1;
        bucket.sum_ms += ms;
    }

    /// Those of the window in which something ended, but the one that runs.
    pub fn whole(&self, now: SimTime) -> impl Iterator<Item = Bucket> {
        let (number, count) = (self.number(now), self.buckets.len() as u64);
        let first = (number + 1).saturating_sub(count);
        let end = number.min(self.newest + 1).max(first);
        (first..end).map(move |at| self.buckets[(at % count) as usize]).filter(|bucket| 0 < bucket.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a list of everything.
        #[test]
        fn they_hold_what_a_list_of_everything_holds(
            events in prop::collection::vec((0u64..400, 0u64..50), 1..60), count in 1u64..8
        ) {
            let mut buckets = Buckets::new(Nanos(100 * count), count);
            let (mut all, mut now) = (Vec::new(), 0);
            for (later, ms) in events {
                now += later;
                let number = now / 100;
                let of = |at| all.iter().filter(move |(time, _)| *time / 100 == at).map(|(_, ms)| *ms);
                let expected: Vec<(u64, u64)> = ((number + 1).saturating_sub(count)..number)
                    .map(|at| (of(at).count() as u64, of(at).sum()))
                    .filter(|(count, _)| *count > 0)
                    .collect();
                let got: Vec<(u64, u64)> =
                    buckets.whole(SimTime(now)).map(|bucket| (bucket.count, bucket.sum_ms)).collect();
                prop_assert_eq!(got, expected);
                buckets.add(SimTime(now), ms);
                all.push((now, ms));
            }
        }
    }
}
