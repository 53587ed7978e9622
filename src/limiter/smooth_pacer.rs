//! Failsafe's smooth limiter: calls on a grid of equal gaps, each waiting for its place.
//!
//! Places lie at multiples of the gap T from the start. The next free place is never before the present one: an ask of n
//! at t takes n places from max(free, ⌊t / T⌋·T) on and starts at the last of them, or at once if that is not later than
//! t. It is refused if that wait is longer than `max_wait`, which changes nothing. Places that nobody took are lost.
//! When time steps back, waits are longer by as much. Source: Failsafe's smooth rate limiter.

use super::{Level, Rule, Verdict};
use crate::time::{Nanos, SimTime};
use crate::units::Rate;

/// A pacer's rule. The edge: a wait of exactly `max_wait` is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmoothPacer {
    gap: u64,
    max_wait: Option<Nanos>,
}

/// The next free place.
#[derive(Clone, Debug)]
pub struct State {
    free: u128,
}

fn instant(at: u128) -> Option<SimTime> {
    u64::try_from(at).ok().map(SimTime)
}

impl SmoothPacer {
    /// A pacer; `None` if the gap would be less than a nanosecond. A gap is cut to whole nanoseconds.
    pub fn new(rate: Rate, max_wait: Option<Nanos>) -> Option<SmoothPacer> {
        let gap = rate.per().0 / rate.units();
        (0 < gap).then_some(SmoothPacer { gap, max_wait })
    }

    /// The place after the last that an ask of `cost` takes.
    fn free_after(&self, state: &State, now: SimTime, cost: u64) -> u128 {
        let present = now.0 / self.gap * self.gap;
        state.free.max(present.into()).saturating_add(u128::from(cost) * u128::from(self.gap))
    }
}

impl Rule for SmoothPacer {
    type State = State;

    fn fresh(&self) -> State {
        State { free: 0 }
    }

    fn check(&self, state: &State, now: SimTime, cost: u64) -> Verdict {
        if cost == 0 {
            return Verdict::Pass;
        }
        let start = self.free_after(state, now, cost) - u128::from(self.gap);
        let Some(wait) = start.checked_sub(now.0.into()).filter(|wait| 0 < *wait) else {
            return Verdict::Pass;
        };
        match self.max_wait.map(|most| u128::from(most.0)) {
            // Its places stay until the present place is beyond the first of them; from then on none is nearer.
            Some(most) if most < wait => {
                let first = start - (u128::from(cost) - 1) * u128::from(self.gap);
                let at = Some(start - most).filter(|at| *at < first + u128::from(self.gap));
                at.and_then(instant).map_or(Verdict::Never, Verdict::At)
            }
            _ => instant(start).map_or(Verdict::Never, Verdict::Delay),
        }
    }

    fn take(&self, state: &mut State, now: SimTime, cost: u64) {
        self.charge(state, now, cost);
    }

    fn charge(&self, state: &mut State, now: SimTime, cost: u64) {
        if 0 < cost {
            state.free = self.free_after(state, now, cost);
        }
    }

    fn steps_back(&self) -> bool {
        true
    }

    /// What may pass without a wait: one, less what is reserved ahead.
    fn level(&self, state: &State, now: SimTime) -> Level {
        let ahead = i128::try_from(state.free.saturating_sub(now.0.into())).unwrap_or(i128::MAX);
        Level {
            credits: i128::from(self.gap) - ahead,
            full: self.gap.into(),
            gain: 1,
            price: self.gap,
            until: None,
        }
    }
}
