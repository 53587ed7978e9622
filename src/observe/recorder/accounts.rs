//! The accounts: every attempt is counted exactly once, and Little's law holds.

use super::Recorder;
use super::ledger::Standing;
use crate::observe::rows::Count;
use crate::problem::Problem;
use crate::request::Reason;
use crate::time::SimTime;

impl Recorder {
    /// Checks that every attempt is accounted for exactly once. A difference is a fault of the engine.
    pub(super) fn check_accounts(
        &mut self,
        class: usize,
        counts: &[u64; Count::LEN],
        now: SimTime,
    ) -> Result<(), Problem> {
        let of = |count: Count| counts[count as usize];
        let standing = &self.books[class].standing;
        let (depth, in_flight) = standing.began;
        let admitted =
            of(Count::AdmittedDirect) + of(Count::AdmittedFromQueue) + of(Count::AdmittedFromDeferred);
        let rejected =
            of(Count::RejectedAtArrival) + of(Count::RejectedFromQueue) + of(Count::RejectedFromDeferred);
        let reasons: u64 = Reason::NAMES.iter().map(|(_, reason)| of(Count::of(*reason))).sum();
        let accounts = [
            (
                "offered = admitted + enqueued + rejected + deferred",
                of(Count::Offered),
                of(Count::AdmittedDirect)
                    + of(Count::EnqueuedDirect)
                    + of(Count::RejectedAtArrival)
                    + of(Count::Deferred),
            ),
            (
                "queue before + enqueued = left + queue after",
                depth + of(Count::EnqueuedDirect) + of(Count::EnqueuedFromDeferred),
                of(Count::AdmittedFromQueue)
                    + of(Count::RejectedFromQueue)
                    + of(Count::AbandonedQueued)
                    + standing.depth.value(),
            ),
            (
                "deferred before + deferred = left + deferred after",
                standing.began_deferred + of(Count::Deferred),
                of(Count::AdmittedFromDeferred)
                    + of(Count::EnqueuedFromDeferred)
                    + of(Count::RejectedFromDeferred)
                    + of(Count::AbandonedDeferred)
                    + standing.deferred.value(),
            ),
            (
                "in flight before + admitted = ended + in flight after",
                in_flight + admitted,
                of(Count::Completed) + of(Count::Failed) + of(Count::Cancelled) + standing.in_flight.value(),
            ),
            ("rejected = sum of its reasons", rejected, reasons),
        ];
        for (account, left, right) in accounts {
            if left != right {
                let name = &self.layout.classes[class % self.layout.classes.len()];
                return Err(Problem::bug(format!(
                    "the accounts of class `{name}` do not balance at {now} s: {account}, but {left} ≠ {right}"
                )));
            }
        }
        let standing = &mut self.books[class].standing;
        standing.began = (standing.depth.value(), standing.in_flight.value());
        standing.began_deferred = standing.deferred.value();
        Ok(())
    }

    /// Checks Little's law, exactly: the integral of the number in the system over a run that starts and ends empty
    /// is the sum of the times spent in it.
    pub fn check_littles_law(&self) -> Result<(), Problem> {
        let empty = |s: &Standing| s.depth.value() + s.in_flight.value() + s.deferred.value() == 0;
        if self.books.iter().all(|book| empty(&book.standing)) && self.area != self.sojourns {
            return Err(Problem::bug(format!(
                "Little's law does not hold: {} attempt-nanoseconds in the system, {} spent by attempts",
                self.area, self.sojourns
            )));
        }
        Ok(())
    }
}
