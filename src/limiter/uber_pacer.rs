//! Uber's `ratelimit`: calls in equal gaps, with some turns in hand after silence; never refuses.
//!
//! A turn comes one gap, ⌊per / rate⌋ ns, after the last; whoever comes before it waits for it. Turns that nobody took are
//! kept up to `slack`: after a longer silence the turn is `slack` gaps before now. Without slack, a silence of more than
//! a gap puts the turn to now. The first ask has its turn at once. An ask of n takes n turns. Source: ratelimit's
//! `limiter_atomic_int64.go`, version 0.3.

use super::{Level, Rule, Verdict};
use crate::time::SimTime;
use crate::units::Rate;

/// A pacer's rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UberPacer {
    gap: u64,
    slack: u64,
}

/// The last turn, which slack may put before the start of the run.
#[derive(Clone, Debug)]
pub struct State {
    turn: Option<i128>,
}

impl UberPacer {
    /// A pacer; `None` if the gap would be less than a nanosecond, which never paces.
    pub fn new(rate: Rate, slack: u64) -> Option<UberPacer> {
        let gap = rate.per().0 / rate.units();
        (0 < gap).then_some(UberPacer { gap, slack })
    }

    fn max_slack(&self) -> i128 {
        i128::from(self.slack) * i128::from(self.gap)
    }

    /// The turn of an ask of `cost` at `now`.
    fn turn(&self, state: &State, now: SimTime, cost: u64) -> i128 {
        let now = i128::from(now.0);
        let first = match state.turn {
            None => now,
            Some(turn) if self.max_slack() + i128::from(self.gap) < now - turn => now - self.max_slack(),
            Some(turn) => turn.saturating_add(self.gap.into()),
        };
        first.saturating_add((i128::from(cost) - 1) * i128::from(self.gap))
    }
}

impl Rule for UberPacer {
    type State = State;

    fn fresh(&self) -> State {
        State { turn: None }
    }

    fn check(&self, state: &State, now: SimTime, cost: u64) -> Verdict {
        let turn = self.turn(state, now, cost);
        if cost == 0 || turn <= i128::from(now.0) {
            return Verdict::Pass;
        }
        u64::try_from(turn).map_or(Verdict::Never, |turn| Verdict::Delay(SimTime(turn)))
    }

    fn take(&self, state: &mut State, now: SimTime, cost: u64) {
        if 0 < cost {
            state.turn = Some(self.turn(state, now, cost));
        }
    }

    fn charge(&self, state: &mut State, now: SimTime, cost: u64) {
        self.take(state, now, cost);
    }

    /// What may pass without a wait.
    fn level(&self, state: &State, now: SimTime) -> Level {
        let gap = i128::from(self.gap);
        let full = gap.saturating_mul(i128::from(self.slack) + 1);
        let credits = state.turn.map_or(gap, |turn| (i128::from(now.0) - turn).min(full));
        Level { credits, full, gain: 1, price: self.gap, until: None }
    }

    fn reset(&self, state: &State, now: SimTime) -> Option<SimTime> {
        // Before the first ask there is no silence that brings slack.
        if state.turn.is_none() { Some(now) } else { self.level(state, now).full_at(now) }
    }

    fn steps_back(&self) -> bool {
        true
    }
}
