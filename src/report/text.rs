//! Results in words: a table, a line of blocks over time, one sentence.

mod finding;
mod spark;
mod table;

pub use finding::finding;
pub use spark::sparklines;
pub use table::{Layout, Table, results};

use crate::observe::Count;
use crate::study::Finished;

/// Sums over jobs, from which shares are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sums {
    calls: u64,
    offered: u64,
    rejected: u64,
    goodput: u64,
    completed: u64,
    wasted: u64,
    failed: u64,
    abandoned: u64,
}

impl Sums {
    fn of<'a>(jobs: impl IntoIterator<Item = &'a Finished>) -> Sums {
        let mut sums = Sums::default();
        for total in jobs.into_iter().filter_map(|job| job.total.as_ref()) {
            let of = |count: Count| total.counts[count as usize];
            sums.calls += total.calls;
            sums.offered += of(Count::Offered);
            sums.rejected +=
                of(Count::RejectedAtArrival) + of(Count::RejectedFromQueue) + of(Count::RejectedFromDeferred);
            sums.goodput += of(Count::Goodput);
            sums.completed += of(Count::Completed);
            sums.wasted += of(Count::Wasted);
            sums.failed += of(Count::Failed);
            sums.abandoned += of(Count::AbandonedQueued) + of(Count::AbandonedDeferred);
        }
        sums
    }

    fn answered(&self) -> f64 {
        share(self.goodput, self.calls)
    }
}

/// A share; 0 of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The jobs of each policy, in the order of the jobs.
fn by_policy(jobs: &[Finished]) -> Vec<(&str, &[Finished])> {
    jobs.chunk_by(|a, b| a.job.policy == b.job.policy)
        .map(|jobs| (jobs[0].job.policy.as_str(), jobs))
        .collect()
}

#[cfg(test)]
mod sample;
