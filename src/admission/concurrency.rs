//! Concurrency limit: at most so many in flight, for all or for each key.
//!
//! A slot is taken when work starts and given back when it ends. The edge: a limit of `n` passes the n-th and
//! makes the one after wait. A limit that is lowered below what is in flight ends nothing; it lets no one in
//! until enough have left.

use super::{Admission, Answer};
use crate::gauge::{Gauge, Reading};
use crate::request::{Ask, End, Key, Knob};
use crate::time::SimTime;

/// A limit on work in flight.
#[derive(Clone, Debug)]
pub struct Concurrency {
    limit: Option<u64>,
    in_use: Gauge,
}

impl Concurrency {
    /// A limit; `None` lets everything in and only counts.
    pub fn new(limit: Option<u64>) -> Concurrency {
        Concurrency { limit, in_use: Gauge::new(0) }
    }
}

fn has_room(limit: Option<u64>, in_use: u64) -> Answer {
    if limit.is_none_or(|limit| in_use < limit) { Answer::Pass } else { Answer::Wait }
}

impl Admission for Concurrency {
    #[inline]
    fn admit(&self, _now: SimTime, _ask: &Ask) -> Answer {
        has_room(self.limit, self.in_use.value())
    }

    #[inline]
    fn take(&mut self, now: SimTime, _ask: &Ask) {
        self.in_use.up(now, 1);
    }

    #[inline]
    fn settle(&mut self, now: SimTime, _ask: &Ask, _end: End) {
        self.in_use.down(now, 1);
    }

    fn limit(&self) -> Option<u64> {
        self.limit
    }

    fn change(&mut self, _now: SimTime, knob: Knob) {
        if let Knob::Limit(limit) = knob {
            self.limit = limit;
        }
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
    }
}

/// The same limit for each key on its own. Keys are dense numbers.
#[derive(Clone, Debug)]
pub struct KeyedConcurrency {
    limit: Option<u64>,
    key: Key,
    per_key: Vec<u32>,
    in_use: Gauge,
}

impl KeyedConcurrency {
    /// A limit that holds for each key.
    pub fn new(limit: Option<u64>, key: Key) -> KeyedConcurrency {
        KeyedConcurrency { limit, key, per_key: Vec::new(), in_use: Gauge::new(0) }
    }

    fn slot(&mut self, ask: &Ask) -> &mut u32 {
        let index = ask.key(self.key) as usize;
        if self.per_key.len() <= index {
            self.per_key.resize(index + 1, 0);
        }
        &mut self.per_key[index]
    }
}

impl Admission for KeyedConcurrency {
    fn admit(&self, _now: SimTime, ask: &Ask) -> Answer {
        let in_use = self.per_key.get(ask.key(self.key) as usize).copied().unwrap_or(0);
        has_room(self.limit, in_use as u64)
    }

    fn take(&mut self, now: SimTime, ask: &Ask) {
        *self.slot(ask) += 1;
        self.in_use.up(now, 1);
    }

    fn settle(&mut self, now: SimTime, ask: &Ask, _end: End) {
        *self.slot(ask) -= 1;
        self.in_use.down(now, 1);
    }

    fn per_key(&self) -> bool {
        true
    }

    fn change(&mut self, _now: SimTime, knob: Knob) {
        if let Knob::Limit(limit) = knob {
            self.limit = limit;
        }
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
    }
}
