//! GCRA, the generic cell rate algorithm, in its virtual-scheduling form.
//!
//! The state is one number, the theoretical arrival time. A cell that comes not earlier than that time less the
//! tolerance passes and moves it on by the emission interval T; n cells move it by n·T. With burst B the tolerance
//! is T·(B − 1). It decides as a token bucket of rate 1/T and capacity B that starts full.
//!
//! T is the exact fraction q/p nanoseconds, so the time is kept in ticks of 1/p ns and nothing is rounded but the
//! advice, which is the first whole nanosecond that passes. Source: ITU-T I.371, annex A.

use super::{Level, Rule, Verdict};
use crate::request::{Ask, End, Knob, Unit};
use crate::time::SimTime;
use crate::units::{MAX_COUNT, Rate};

/// A GCRA limit's rule. The edge: `burst` cells pass at once after silence, more than `burst` never do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gcra {
    /// Sustained rate, the inverse of the emission interval.
    pub rate: Rate,
    /// Cells that may pass at once, at most 10^15.
    pub burst: u64,
    /// What is counted as a cell.
    pub unit: Unit,
    /// Whether work that was turned away later, or left the queue, is given back what it took.
    pub refund: bool,
}

/// The theoretical arrival time in ticks.
#[derive(Clone, Debug)]
pub struct State {
    arrival: u128,
}

impl Gcra {
    /// A limit that counts requests and gives back what was not used.
    pub fn new(rate: Rate, burst: u64) -> Gcra {
        assert!(burst <= MAX_COUNT, "a burst is at most 10^15");
        Gcra { rate, burst, unit: Unit::Requests, refund: true }
    }

    fn ticks(&self, now: SimTime) -> u128 {
        now.0 as u128 * self.rate.units() as u128
    }

    /// Ticks of so many cells: each takes one emission interval.
    fn cells(&self, count: u64) -> u128 {
        count as u128 * self.rate.per().0 as u128
    }

    /// Ticks by which the arrival time runs ahead of now.
    fn ahead(&self, state: &State, now: SimTime) -> u128 {
        state.arrival.saturating_sub(self.ticks(now))
    }
}

impl Rule for Gcra {
    type State = State;

    fn fresh(&self) -> State {
        State { arrival: 0 }
    }

    fn check(&self, state: &State, now: SimTime, ask: &Ask) -> Verdict {
        let (cost, horizon) = (self.cells(ask.estimate(self.unit)), self.cells(self.burst));
        if horizon < cost {
            return Verdict::Never;
        }
        match (self.ahead(state, now) + cost).checked_sub(horizon) {
            None | Some(0) => Verdict::Pass,
            Some(early) => Verdict::after(now, early, self.rate.units()),
        }
    }

    fn take(&self, state: &mut State, now: SimTime, ask: &Ask) {
        let ahead = self.ahead(state, now) + self.cells(ask.estimate(self.unit));
        assert!(ahead <= self.cells(self.burst), "taken without a pass");
        state.arrival = self.ticks(now) + ahead;
    }

    /// The arrival time moves back by what was taken.
    fn settle(&self, state: &mut State, _now: SimTime, ask: &Ask, end: End) {
        if end == End::Unused && self.refund {
            state.arrival = state.arrival.saturating_sub(self.cells(ask.estimate(self.unit)));
        }
    }

    #[inline]
    fn left(&self, state: &State, now: SimTime) -> u128 {
        self.cells(self.burst).saturating_sub(self.ahead(state, now))
    }

    fn level(&self, state: &State, now: SimTime) -> Level {
        Level {
            credits: self.left(state, now),
            full: self.cells(self.burst),
            gain: self.rate.units(),
            price: self.rate.per().0,
        }
    }

    fn with(&self, knob: Knob) -> Option<Gcra> {
        match knob {
            Knob::Rate(rate) => Some(Gcra { rate, ..self.clone() }),
            Knob::Burst(burst) => Some(Gcra { burst, ..self.clone() }),
            _ => None,
        }
    }

    /// The cells that are spent stay spent, rounded up to the new tick, but no more than the burst.
    fn carry(&self, old: &Gcra, state: &State, now: SimTime) -> State {
        let (ahead, price) = (old.ahead(state, now), old.rate.per().0 as u128);
        let rest = (ahead % price * self.rate.per().0 as u128).div_ceil(price);
        let ahead = ahead / price * self.rate.per().0 as u128 + rest;
        State { arrival: self.ticks(now) + ahead.min(self.cells(self.burst)) }
    }
}
