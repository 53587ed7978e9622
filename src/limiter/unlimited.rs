//! No limit at all: what is left of one whose numbers were rounded to nothing.

use super::{Level, Rule, Verdict};
use crate::time::SimTime;

/// Passes whatever is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unlimited;

impl Rule for Unlimited {
    type State = ();

    fn fresh(&self) {}

    fn check(&self, _state: &(), _now: SimTime, _cost: u64) -> Verdict {
        Verdict::Pass
    }

    fn take(&self, _state: &mut (), _now: SimTime, _cost: u64) {}

    fn charge(&self, _state: &mut (), _now: SimTime, _cost: u64) {}

    /// One unit is always left.
    fn level(&self, _state: &(), _now: SimTime) -> Level {
        Level { credits: 1, full: 1, gain: 0, price: 1, until: None }
    }

    fn is_idle(&self, _state: &(), _fresh: &(), _now: SimTime) -> bool {
        true
    }

    fn steps_back(&self) -> bool {
        true
    }

    fn peeks(&self) -> bool {
        true
    }
}
