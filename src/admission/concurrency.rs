//! Concurrency limit: at most so many in flight, for all or for each key.
//!
//! A slot is taken when work starts and given back when it ends. The edge: a limit of `n` passes the n-th and
//! makes the one after wait. A limit that is lowered below what is in flight ends nothing; it lets no one in
//! until enough have left.

use super::{Admission, Answer, Cast, Entrant, Plan};
use crate::gauge::{Gauge, Reading};
use crate::request::{End, KeyId, Keys, Knob};
use crate::table::Table;
use crate::time::SimTime;
use std::collections::BTreeMap;

/// A limit on work in flight, as it is described.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The limit; `None` is unlimited.
    pub limit: Option<u64>,
    /// What has a limit of its own each; `None` is one for all.
    pub key: Option<Keys>,
    /// Keys with a limit of their own: a name for each of the keys, in their order.
    pub overrides: Vec<(Vec<String>, Option<u64>)>,
}

impl Plan for Limit {
    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        let Some(keys) = self.key else { return Box::new(Concurrency::new(self.limit)) };
        let own =
            self.overrides.iter().filter_map(|(names, limit)| Some((cast.key_id(keys, names)?, *limit)));
        let mut keyed = KeyedConcurrency::new(self.limit, keys);
        keyed.own = own.collect();
        Box::new(keyed)
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        (key == "limit").then_some(Knob::Limit(self.limit))
    }
}

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
    fn admit(&self, _now: SimTime, _entrant: &Entrant<'_>) -> Answer {
        has_room(self.limit, self.in_use.value())
    }

    #[inline]
    fn take(&mut self, now: SimTime, _entrant: &Entrant<'_>) {
        self.in_use.up(now, 1);
    }

    #[inline]
    fn settle(&mut self, now: SimTime, _entrant: &Entrant<'_>, _end: End) {
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

/// The same limit for each key on its own. Only keys with something in flight take room.
#[derive(Clone, Debug)]
pub struct KeyedConcurrency {
    limit: Option<u64>,
    keys: Keys,
    /// Limits of some keys alone, which changes don't touch.
    own: BTreeMap<KeyId, Option<u64>>,
    per_key: Table<u32>,
    in_use: Gauge,
}

impl KeyedConcurrency {
    /// A limit that holds for each key.
    pub fn new(limit: Option<u64>, keys: impl Into<Keys>) -> KeyedConcurrency {
        let keys = keys.into();
        KeyedConcurrency {
            limit,
            keys,
            own: BTreeMap::new(),
            per_key: Table::default(),
            in_use: Gauge::new(0),
        }
    }
}

impl Admission for KeyedConcurrency {
    fn admit(&self, _now: SimTime, entrant: &Entrant<'_>) -> Answer {
        let id = entrant.ask.key_id(self.keys);
        let in_use = self.per_key.find(id).map_or(0, |place| self.per_key.values()[place]);
        has_room(self.own.get(&id).copied().unwrap_or(self.limit), in_use as u64)
    }

    fn take(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        let id = entrant.ask.key_id(self.keys);
        match self.per_key.find(id) {
            Some(place) => *self.per_key.at(place) += 1,
            None => {
                self.per_key.add(id, 1);
            }
        }
        self.in_use.up(now, 1);
    }

    fn settle(&mut self, now: SimTime, entrant: &Entrant<'_>, _end: End) {
        let place = self.per_key.find(entrant.ask.key_id(self.keys)).expect("what is settled was taken");
        match self.per_key.at(place) {
            1 => {
                self.per_key.remove(place);
            }
            more => *more -= 1,
        }
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
