//! Shadow mode: a limiter that decides and counts, and refuses nothing.
//!
//! What it would have passed it charges; what it would have refused passes uncharged and is counted. So its level and
//! its decisions are those of the limiter in force, as far as the same calls come: callers who are not refused don't
//! try again. Source: Envoy's `shadow_mode` of a rate limit, and its fraction `filter_enforced`.
//!
//! Settling needs to know what was charged. Attempts are told apart by their call's luck; two attempts of one call in
//! flight at once ask for the same, so it makes no difference which of them is which but for how they end.

use super::{Limiter, Verdict};
use crate::gauge::Reading;
use crate::request::{Ask, End, KeyId, Knob};
use crate::table::Table;
use crate::time::SimTime;

/// Any limiter in shadow mode.
pub struct Shadow {
    limiter: Box<dyn Limiter>,
    /// How many would have been refused since the last reading.
    refused: u64,
    /// The same since the start.
    total: u64,
    /// How many attempts of each call go on uncharged.
    uncharged: Table<u32>,
}

impl Shadow {
    /// The limiter, which from now on refuses nothing.
    pub fn new(limiter: Box<dyn Limiter>) -> Shadow {
        Shadow { limiter, refused: 0, total: 0, uncharged: Table::default() }
    }
}

fn call(ask: &Ask) -> KeyId {
    KeyId([(ask.dice.0 >> 32) as u32, ask.dice.0 as u32, 0])
}

impl Limiter for Shadow {
    fn check(&self, _now: SimTime, _ask: &Ask) -> Verdict {
        Verdict::Pass
    }

    fn take(&mut self, now: SimTime, ask: &Ask) {
        if self.limiter.check(now, ask).passes() {
            return self.limiter.take(now, ask);
        }
        self.limiter.refuse(now, ask);
        self.refused += 1;
        self.total += 1;
        match self.uncharged.find(call(ask)) {
            Some(place) => *self.uncharged.at(place) += 1,
            None => {
                self.uncharged.add(call(ask), 1);
            }
        }
    }

    fn settle(&mut self, now: SimTime, ask: &Ask, end: End) {
        match self.uncharged.find(call(ask)) {
            None => self.limiter.settle(now, ask, end),
            Some(place) if *self.uncharged.at(place) == 1 => {
                self.uncharged.remove(place);
            }
            Some(place) => *self.uncharged.at(place) -= 1,
        }
    }

    fn remaining(&self, now: SimTime, ask: &Ask) -> (i128, u128) {
        self.limiter.remaining(now, ask)
    }

    fn reset(&self, now: SimTime, ask: &Ask) -> Option<SimTime> {
        self.limiter.reset(now, ask)
    }

    fn colour(&self, now: SimTime, ask: &Ask) -> Option<&'static str> {
        self.limiter.colour(now, ask)
    }

    fn counts(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        self.limiter.counts(visit);
        visit("would_have_been_refused", self.total);
    }

    fn change(&mut self, now: SimTime, knob: Knob) {
        self.limiter.change(now, knob);
    }

    /// Its limiter's, and how many it would have refused since the last reading.
    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        self.limiter.gauges(now, visit);
        let count = std::mem::take(&mut self.refused) as f64;
        visit("would_refuse", Reading { avg: count, min: count, max: count, last: count, area: 0 });
    }
}
