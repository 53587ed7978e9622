//! Single-rate three-colour marker, colour-blind: green within a burst, yellow within what overflows it, else red.
//!
//! One rate fills bucket C up to its burst and, when that is full, bucket E up to the excess burst; both start full. An
//! ask is green if C holds it, which takes it from C; else yellow if E holds it, which takes it from E; else red, which
//! takes nothing. What is red is refused. In credits of the exact rate. Source: RFC 2697, section 3.

use super::token_bucket::exchange;
use super::{Level, Rule, Verdict};
use crate::request::Knob;
use crate::time::SimTime;
use crate::units::Rate;

/// A marker's rule. The edge: a full bucket holds a cost equal to its burst.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SrTcm {
    /// The committed rate.
    pub rate: Rate,
    /// The committed burst.
    pub burst: u64,
    /// The excess burst.
    pub excess_burst: u64,
}

/// Credits of both buckets when they were last touched. Debt after use is C's.
#[derive(Clone, Debug)]
pub struct State {
    committed: i128,
    excess: i128,
    touched: SimTime,
}

impl SrTcm {
    fn credits(&self, units: u64) -> i128 {
        (u128::from(units) * u128::from(self.rate.per().0)) as i128
    }

    fn at(&self, state: &State, now: SimTime) -> State {
        let gained = (u128::from(self.rate.units()) * u128::from(now.since(state.touched).0)) as i128;
        let committed = state.committed + gained;
        let over = (committed - self.credits(self.burst)).max(0);
        let excess = (state.excess + over).min(self.credits(self.excess_burst));
        State { committed: committed - over, excess, touched: now.max(state.touched) }
    }
}

impl Rule for SrTcm {
    type State = State;

    fn fresh(&self) -> State {
        let (committed, excess) = (self.credits(self.burst), self.credits(self.excess_burst));
        State { committed, excess, touched: SimTime::ZERO }
    }

    fn check(&self, state: &State, now: SimTime, cost: u64) -> Verdict {
        let (then, wanted) = (self.at(state, now), self.credits(cost));
        if wanted <= then.committed.max(then.excess) {
            return if state.touched <= now { Verdict::Pass } else { Verdict::At(state.touched) };
        }
        // Green when C has filled so far, yellow when C is full and E has filled so far.
        let green = (cost <= self.burst).then(|| wanted.saturating_sub(then.committed));
        let fills = self.credits(self.burst).saturating_sub(then.committed);
        let yellow = (cost <= self.excess_burst).then(|| fills.saturating_add(wanted - then.excess));
        let lack = [green, yellow].into_iter().flatten().min();
        lack.and_then(|lack| u128::try_from(lack).ok())
            .map_or(Verdict::Never, |lack| Verdict::after(then.touched, lack, self.rate.units()))
    }

    fn take(&self, state: &mut State, now: SimTime, cost: u64) {
        *state = self.at(state, now);
        let wanted = self.credits(cost);
        if wanted <= state.committed {
            state.committed -= wanted;
        } else {
            assert!(wanted <= state.excess, "taken without a pass");
            state.excess -= wanted;
        }
    }

    /// Into C first, and what overflows into E, as time brings it.
    fn give_back(&self, state: &mut State, now: SimTime, cost: u64) {
        let then = self.at(state, now);
        let committed = then.committed.saturating_add(self.credits(cost));
        *state = self.at(&State { committed, ..then }, now);
    }

    fn charge(&self, state: &mut State, now: SimTime, cost: u64) {
        *state = self.at(state, now);
        state.committed = state.committed.saturating_sub(self.credits(cost));
    }

    fn refuse(&self, state: &mut State, now: SimTime, cost: u64) {
        if cost <= self.burst.max(self.excess_burst) {
            *state = self.at(state, now);
        }
    }

    /// Of both buckets together.
    fn level(&self, state: &State, now: SimTime) -> Level {
        let then = self.at(state, now);
        Level {
            credits: then.committed.saturating_add(then.excess),
            full: self.credits(self.burst).saturating_add(self.credits(self.excess_burst)),
            gain: self.rate.units(),
            price: self.rate.per().0,
            until: None,
        }
    }

    fn colour(&self, state: &State, now: SimTime, cost: u64) -> Option<&'static str> {
        let (then, wanted) = (self.at(state, now), self.credits(cost));
        Some(match () {
            () if now < state.touched => "red", // what steps back is refused
            () if wanted <= then.committed => "green",
            () if wanted <= then.excess => "yellow",
            () => "red",
        })
    }

    fn is_idle(&self, state: &State, fresh: &State, now: SimTime) -> bool {
        let (state, fresh) = (self.at(state, now), self.at(fresh, now));
        (state.committed, state.excess) == (fresh.committed, fresh.excess)
            && fresh.excess == self.credits(self.excess_burst)
            && fresh.committed == self.credits(self.burst)
    }

    fn capacity(&self) -> Option<(u64, &'static str)> {
        let key = if self.burst < self.excess_burst { "excess_burst" } else { "burst" };
        Some((self.burst.max(self.excess_burst), key))
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        match key {
            "rate" => Some(Knob::Rate(self.rate)),
            "burst" => Some(Knob::Burst(self.burst)),
            _ => None,
        }
    }

    fn with(&self, knob: Knob) -> Option<SrTcm> {
        match knob {
            Knob::Rate(rate) => Some(SrTcm { rate, ..self.clone() }),
            Knob::Burst(burst) => Some(SrTcm { burst, ..self.clone() }),
            _ => None,
        }
    }

    /// The units in both buckets stay, rounded down; what is above a smaller burst flows into E.
    fn carry(&self, old: &SrTcm, state: &State, now: SimTime) -> State {
        let then = old.at(state, now);
        let committed = exchange(then.committed, old.rate, self.rate);
        let excess = exchange(then.excess, old.rate, self.rate);
        self.at(&State { committed, excess, touched: now }, now)
    }
}
