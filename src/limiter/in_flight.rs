//! So much in flight at once, as a limit that a quota has among its others.
//!
//! A limiter names an instant, and here none is known: room comes when other work ends. So what is refused is told
//! that no wait helps. A limit on work in flight that others should wait for is an admission stage.

use super::{Level, Rule, Verdict};
use crate::time::SimTime;

/// At most so much at once. The edge: the last of them passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InFlight {
    pub(super) limit: u64,
}

impl Rule for InFlight {
    /// What is in flight.
    type State = u64;

    fn fresh(&self) -> u64 {
        0
    }

    fn check(&self, used: &u64, _now: SimTime, cost: u64) -> Verdict {
        if cost <= self.limit.saturating_sub(*used) { Verdict::Pass } else { Verdict::Never }
    }

    fn take(&self, used: &mut u64, _now: SimTime, cost: u64) {
        *used += cost;
    }

    fn give_back(&self, used: &mut u64, _now: SimTime, cost: u64) {
        *used -= cost;
    }

    fn charge(&self, used: &mut u64, _now: SimTime, cost: u64) {
        *used += cost;
    }

    fn level(&self, used: &u64, _now: SimTime) -> Level {
        let full = i128::from(self.limit);
        Level { credits: full - i128::from(*used), full, gain: 0, price: 1, until: None }
    }

    fn is_idle(&self, used: &u64, _fresh: &u64, _now: SimTime) -> bool {
        *used == 0
    }

    fn capacity(&self) -> Option<(u64, &'static str)> {
        Some((self.limit, "concurrency"))
    }
}
