//! One limit per tenant, user, feature or class: a rule with a state per key.

use super::charge::Settlement;
use super::{Charge, Limiter, Rule, Verdict};
use crate::gauge::Reading;
use crate::request::{Ask, End, Key, Knob};
use crate::time::SimTime;

/// A limiter with one state per key. Keys are dense numbers, so the states lie in one vector, made on first use.
#[derive(Clone, Debug)]
pub struct Keyed<R: Rule> {
    rule: R,
    charge: Charge,
    key: Key,
    fresh: R::State,
    states: Vec<R::State>,
}

impl<R: Rule> Keyed<R> {
    /// A limit that no key has used yet.
    pub fn new(rule: R, charge: Charge, key: Key) -> Keyed<R> {
        let fresh = rule.fresh();
        Keyed { rule, charge, key, fresh, states: Vec::new() }
    }

    fn state(&self, ask: &Ask) -> &R::State {
        self.states.get(ask.key(self.key) as usize).unwrap_or(&self.fresh)
    }

    fn state_mut(&mut self, ask: &Ask) -> (&R, &mut R::State) {
        let index = ask.key(self.key) as usize;
        if self.states.len() <= index {
            self.states.resize(index + 1, self.fresh.clone());
        }
        (&self.rule, &mut self.states[index])
    }
}

impl<R: Rule> Limiter for Keyed<R> {
    fn check(&self, now: SimTime, ask: &Ask) -> Verdict {
        self.rule.check(self.state(ask), now, self.charge.asked(ask))
    }

    fn take(&mut self, now: SimTime, ask: &Ask) {
        let cost = self.charge.taken(ask);
        let (rule, state) = self.state_mut(ask);
        rule.take(state, now, cost);
    }

    fn settle(&mut self, now: SimTime, ask: &Ask, end: End) {
        let settlement = self.charge.settlement(ask, end);
        let (rule, state) = self.state_mut(ask);
        match settlement {
            Settlement::Nothing => {}
            Settlement::GiveBack(cost) => rule.give_back(state, now, cost),
            Settlement::Charge(cost) => rule.charge(state, now, cost),
        }
    }

    fn refuse(&mut self, now: SimTime, ask: &Ask) {
        let cost = self.charge.asked(ask);
        let (rule, state) = self.state_mut(ask);
        rule.refuse(state, now, cost);
    }

    fn remaining(&self, now: SimTime, ask: &Ask) -> (i128, u128) {
        let level = self.rule.level(self.state(ask), now);
        (level.credits, level.price as u128)
    }

    fn reset(&self, now: SimTime, ask: &Ask) -> Option<SimTime> {
        self.rule.reset(self.state(ask), now)
    }

    /// Applies to every key.
    fn change(&mut self, now: SimTime, knob: Knob) {
        if let Some(rule) = self.rule.with(knob) {
            for state in &mut self.states {
                *state = rule.carry(&self.rule, state, now);
            }
            // A key that has not been used yet goes on as one that never was would.
            self.fresh = rule.carry(&self.rule, &self.fresh, now);
            self.rule = rule;
        }
    }

    /// The levels of the keys at this instant: their mean, lowest and highest.
    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        let levels = self.states.iter().map(|state| self.rule.level(state, now).units());
        let (mut sum, mut min, mut max) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
        for level in levels {
            sum += level;
            (min, max) = (min.min(level), max.max(level));
        }
        if !self.states.is_empty() {
            let mean = sum / self.states.len() as f64;
            visit("level_of_keys", Reading { avg: mean, min, max, last: mean, area: 0 });
        }
    }
}
