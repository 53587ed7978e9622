//! Sentinel's throttling: calls in equal gaps, each waiting for its turn up to a bound.
//!
//! An ask of n takes n turns of 1 / rate, rounded to whole units of the clock. If its turn, the last one plus that, has
//! come, it starts at once and the turns count from now; else it waits for it, or is refused if the wait is longer than
//! `max_wait`, which changes nothing. Turns that nobody took are lost.
//!
//! The clock has milliseconds if the calls per second, rounded, divide 1000 without rest, and nanoseconds if not. The
//! first ask has its turn at once. When time steps back, waits are longer by as much. Source: Sentinel's `ThrottlingController`.

use super::{Level, Rule, Verdict};
use crate::time::{Nanos, SimTime};
use crate::units::Rate;

/// A pacer's rule. The edge: a wait of exactly `max_wait` is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentinelPacer {
    rate: Rate,
    max_wait: Nanos,
    /// Nanoseconds of a unit of the clock.
    unit: u64,
}

/// The turn of the last ask in units of the clock, if there was one.
#[derive(Clone, Debug)]
pub struct State {
    last: Option<u128>,
}

impl SentinelPacer {
    /// A pacer of so many calls over time.
    pub fn new(rate: Rate, max_wait: Nanos) -> SentinelPacer {
        let (units, per) = (u128::from(rate.units()), u128::from(rate.per().0));
        let rounded = (units * 1_000_000_000 + per / 2) / per;
        let is_whole = 0 < rounded && rounded <= 1_000 && 1_000 % rounded == 0;
        SentinelPacer { rate, max_wait, unit: if is_whole { 1_000_000 } else { 1 } }
    }

    /// Whether its turns take any time: those of more than two a nanosecond round to nothing.
    pub fn paces(&self) -> bool {
        0 < self.turns(1)
    }

    /// Units of the clock that an ask takes, rounded to the nearest, half up.
    fn turns(&self, cost: u64) -> u128 {
        let nanos = u128::from(cost) * u128::from(self.rate.per().0);
        let divisor = u128::from(self.rate.units()) * u128::from(self.unit);
        nanos / divisor + u128::from(divisor <= nanos % divisor * 2)
    }

    fn clock(&self, now: SimTime) -> u128 {
        u128::from(now.0 / self.unit)
    }

    fn instant(&self, units: u128) -> Option<SimTime> {
        u64::try_from(units.checked_mul(self.unit.into())?).ok().map(SimTime)
    }
}

impl Rule for SentinelPacer {
    type State = State;

    fn fresh(&self) -> State {
        State { last: None }
    }

    fn check(&self, state: &State, now: SimTime, cost: u64) -> Verdict {
        let Some(last) = state.last.filter(|_| 0 < cost) else { return Verdict::Pass };
        let (turn, clock) = (last + self.turns(cost), self.clock(now));
        let Some(wait) = turn.checked_sub(clock).filter(|wait| 0 < *wait) else { return Verdict::Pass };
        let most = u128::from(self.max_wait.0 / self.unit);
        if most < wait {
            return self.instant(turn - most).map_or(Verdict::Never, Verdict::At);
        }
        let start = self.instant(wait).and_then(|wait| now.checked_add(Nanos(wait.0)));
        start.map_or(Verdict::Never, Verdict::Delay)
    }

    fn take(&self, state: &mut State, now: SimTime, cost: u64) {
        self.charge(state, now, cost);
    }

    fn charge(&self, state: &mut State, now: SimTime, cost: u64) {
        if 0 < cost {
            let clock = self.clock(now);
            state.last =
                Some(state.last.map_or(clock, |last| clock.max(last.saturating_add(self.turns(cost)))));
        }
    }

    fn steps_back(&self) -> bool {
        true
    }

    /// What may pass without a wait: one, less what is reserved ahead.
    fn level(&self, state: &State, now: SimTime) -> Level {
        let ahead = state.last.map_or(0, |last| (last + self.turns(1)).saturating_sub(self.clock(now)));
        let price = (self.turns(1) as u64).max(1);
        let credits = i128::from(price) - i128::try_from(ahead).unwrap_or(i128::MAX);
        Level { credits, full: price.into(), gain: 1, price, until: None }
    }

    fn reset(&self, state: &State, now: SimTime) -> Option<SimTime> {
        let turn = state.last.map_or(0, |last| last + self.turns(1));
        self.instant(turn).map(|at| at.max(now))
    }
}
