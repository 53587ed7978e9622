//! One limit per tenant, user, feature or class, or for each combination of them: a rule with a state per key.
//!
//! A state is made when its key is first met. One that decides from now on as one that nothing has used is worth
//! nothing: each new key beyond a number of them looks at a few others and forgets those, so that memory follows the
//! keys in use and not the keys ever met. Forgetting changes no decision while time goes forward.

use super::charge::Settlement;
use super::{Charge, Limiter, Options, Rule, Verdict, after_refusal};
use crate::gauge::Reading;
use crate::request::{Ask, End, KeyId, Keys, Knob};
use crate::table::Table;
use crate::time::{Nanos, SimTime};

/// Each new key looks at so many others, more than one, so that the forgetting keeps up with the coming.
const LOOKS: usize = 4;

/// A limiter with one state per key.
#[derive(Clone, Debug)]
pub struct Keyed<R: Rule> {
    rule: R,
    charge: Charge,
    keys: Keys,
    fresh: R::State,
    /// First those of the keys with a rule of their own.
    states: Table<R::State>,
    overrides: Vec<R>,
    max_idle_keys: usize,
}

impl<R: Rule> Keyed<R> {
    /// A limit that no key has used yet.
    pub fn new(rule: R, charge: Charge, keys: impl Into<Keys>) -> Keyed<R> {
        let fresh = rule.fresh();
        Keyed {
            rule,
            charge,
            keys: keys.into(),
            fresh,
            states: Table::default(),
            overrides: Vec::new(),
            max_idle_keys: Options::MAX_IDLE_KEYS,
        }
    }

    /// The same, which keeps so many keys before it forgets those that stand as if unused.
    pub fn max_idle_keys(self, count: usize) -> Keyed<R> {
        Keyed { max_idle_keys: count, ..self }
    }

    /// The same with another rule for one key, which changes don't touch. Rules come before use, each key once.
    pub fn overriding(mut self, id: KeyId, rule: R) -> Keyed<R> {
        let place = self.states.add(id, rule.fresh());
        assert!(place == self.overrides.len(), "a rule of its own comes before any use of the limit");
        self.overrides.push(rule);
        self
    }

    /// How many keys it has a state for.
    pub fn keys_kept(&self) -> usize {
        self.states.len()
    }

    /// The key's rule, and its state if it has one already.
    #[inline]
    fn of(&self, ask: &Ask) -> (&R, &R::State) {
        match self.states.find(ask.key_id(self.keys)) {
            Some(place) => (self.overrides.get(place).unwrap_or(&self.rule), &self.states.values()[place]),
            None => (&self.rule, &self.fresh),
        }
    }

    #[inline]
    fn of_mut(&mut self, now: SimTime, ask: &Ask) -> (&R, &mut R::State) {
        let id = ask.key_id(self.keys);
        let place = match self.states.find(id) {
            Some(place) => place,
            None => self.meet(now, id),
        };
        (self.overrides.get(place).unwrap_or(&self.rule), self.states.at(place))
    }

    fn meet(&mut self, now: SimTime, id: KeyId) -> usize {
        let own = self.overrides.len();
        if own + self.max_idle_keys <= self.states.len() {
            let (rule, fresh) = (&self.rule, &self.fresh);
            self.states.forget(own, LOOKS, |state| rule.is_idle(state, fresh, now));
        }
        self.states.add(id, self.fresh.clone())
    }
}

impl<R: Rule> Limiter for Keyed<R> {
    fn check(&self, now: SimTime, ask: &Ask) -> Verdict {
        let (rule, state) = self.of(ask);
        rule.check(state, now, self.charge.asked(ask))
    }

    fn take(&mut self, now: SimTime, ask: &Ask) {
        let cost = self.charge.taken(ask);
        let (rule, state) = self.of_mut(now, ask);
        rule.take(state, now, cost);
    }

    fn settle(&mut self, now: SimTime, ask: &Ask, end: End) {
        match self.charge.settlement(ask, end) {
            Settlement::Nothing => {}
            Settlement::GiveBack(cost) => {
                let (rule, state) = self.of_mut(now, ask);
                rule.give_back(state, now, cost);
            }
            Settlement::Charge(cost) => {
                let (rule, state) = self.of_mut(now, ask);
                rule.charge(state, now, cost);
            }
        }
    }

    fn refuse(&mut self, now: SimTime, ask: &Ask) {
        let cost = self.charge.asked(ask);
        let (rule, state) = self.of_mut(now, ask);
        rule.refuse(state, now, cost);
    }

    fn holds(&self, now: SimTime, ask: &Ask) -> Nanos {
        let (rule, state) = self.of(ask);
        rule.holds(state, now)
    }

    fn after_refusal(&self, now: SimTime, ask: &Ask, at: Option<SimTime>) -> Option<SimTime> {
        let (rule, state) = self.of(ask);
        after_refusal(rule, state, now, self.charge.asked(ask), at)
    }

    fn remaining(&self, now: SimTime, ask: &Ask) -> (i128, u128) {
        let (rule, state) = self.of(ask);
        rule.remaining(state, now)
    }

    fn reset(&self, now: SimTime, ask: &Ask) -> Option<SimTime> {
        let (rule, state) = self.of(ask);
        rule.reset(state, now)
    }

    fn colour(&self, now: SimTime, ask: &Ask) -> Option<&'static str> {
        let (rule, state) = self.of(ask);
        rule.colour(state, now, self.charge.asked(ask))
    }

    /// Over all keys that are kept.
    fn counts(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        let mut sums: Vec<(&'static str, u64)> = Vec::new();
        self.rule.counts(&self.fresh, &mut |name, _| sums.push((name, 0)));
        for state in self.states.values() {
            let mut sum = sums.iter_mut();
            self.rule
                .counts(state, &mut |_, count| sum.next().into_iter().for_each(|(_, sum)| *sum += count));
        }
        sums.into_iter().for_each(|(name, sum)| visit(name, sum));
    }

    /// Applies to every key but those with a rule of their own.
    fn change(&mut self, now: SimTime, knob: Knob) {
        if let Some(rule) = self.rule.with(knob) {
            for state in self.states.values_mut().iter_mut().skip(self.overrides.len()) {
                *state = rule.carry(&self.rule, state, now);
            }
            // A key that has not been used yet goes on as one that never was would.
            self.fresh = rule.carry(&self.rule, &self.fresh, now);
            self.rule = rule;
        }
    }

    /// The levels of the keys at this instant: their mean, lowest and highest.
    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        let levels = self.states.values().iter().enumerate().map(|(place, state)| {
            let rule = self.overrides.get(place).unwrap_or(&self.rule);
            rule.level(state, now).units()
        });
        let (mut sum, mut min, mut max) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
        for level in levels {
            sum += level;
            (min, max) = (min.min(level), max.max(level));
        }
        if !self.states.is_empty() {
            let mean = sum / self.states.len() as f64;
            visit("level_of_keys", Reading { avg: mean, min, max, last: mean, area: 0 });
        }
        self.counts(&mut |name, count| visit(name, Reading::count(count)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::token_bucket::TokenBucket;
    use super::*;
    use crate::request::{Key, Unit};
    use crate::time::Nanos;
    use crate::units::Rate;

    /// One a second, two at once, for each user.
    fn limit(keys: Keys) -> Keyed<TokenBucket> {
        let rate = Rate::new(1, Nanos::SECOND).expect("not zero");
        Keyed::new(TokenBucket::new(rate, 2), Charge::of(Unit::Requests), keys)
    }

    fn of(user: u32, tenant: u32) -> Ask {
        Ask { user, tenant, ..Ask::default() }
    }

    #[test]
    fn a_key_that_stands_as_if_unused_is_forgotten_and_others_are_not() {
        let mut limit = limit(Key::User.into()).max_idle_keys(100);
        let second = |n: u32| SimTime(n as u64 * 1_000_000_000);
        // User 0 asks all the time; each other once, and is full again a second later.
        for n in 1..10_000 {
            for user in [0, n] {
                if limit.check(second(n), &of(user, 0)).passes() {
                    limit.take(second(n), &of(user, 0));
                }
            }
            assert!(limit.keys_kept() <= 102, "{} keys at {n}", limit.keys_kept());
        }
        assert_eq!(limit.remaining(second(9_999), &of(0, 0)), (1_000_000_000, 1_000_000_000));
    }

    #[test]
    fn several_keys_together_tell_their_pairs_apart() {
        let mut limit = limit(Keys::new(&[Key::Tenant, Key::User]).expect("two keys"));
        for _ in 0..2 {
            limit.take(SimTime::ZERO, &of(1, 1));
        }
        let passes = |user, tenant| limit.check(SimTime::ZERO, &of(user, tenant)).passes();
        assert_eq!([passes(1, 1), passes(1, 2), passes(2, 1)], [false, true, true]);
    }

    #[test]
    fn a_key_with_a_rule_of_its_own_keeps_it_through_a_change() {
        let rate = Rate::new(1, Nanos::SECOND).expect("not zero");
        let mut limit =
            limit(Key::User.into()).overriding(of(7, 0).key_id(Key::User.into()), TokenBucket::new(rate, 5));
        limit.change(SimTime::ZERO, Knob::Burst(1));
        let left = |user| limit.remaining(SimTime::ZERO, &of(user, 0)).0 / 1_000_000_000;
        assert_eq!([left(7), left(8)], [5, 1]);
    }
}
