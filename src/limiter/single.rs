//! One limit for all: a rule with one state and a gauge of its level.

use super::charge::Settlement;
use super::meter::Meter;
use super::{Charge, Limiter, Rule, Verdict, after_refusal};
use crate::gauge::Reading;
use crate::request::{Ask, End, Knob};
use crate::time::{Nanos, SimTime};

/// A limiter made of one rule and one state.
#[derive(Clone, Debug)]
pub struct Single<R: Rule> {
    rule: R,
    charge: Charge,
    state: R::State,
    meter: Meter,
}

impl<R: Rule> Single<R> {
    /// A limit that nothing has used yet.
    pub fn new(rule: R, charge: Charge) -> Single<R> {
        let state = rule.fresh();
        let meter = Meter::new(rule.level(&state, SimTime::ZERO));
        Single { rule, charge, state, meter }
    }

    #[inline]
    fn metered(&mut self, now: SimTime, act: impl FnOnce(&R, &mut R::State)) {
        if R::JUMPS {
            self.catch_up(now);
        }
        let before = self.rule.left(&self.state, now);
        act(&self.rule, &mut self.state);
        self.meter.step(now, before, self.rule.left(&self.state, now));
        if R::JUMPS {
            self.meter.replace(self.rule.level(&self.state, now));
        }
    }

    /// Walks the meter over the jumps until now.
    fn catch_up(&mut self, now: SimTime) {
        if self.meter.jump(now).is_some()
            && let Some(area) = self.rule.area(&self.state, self.meter.stepped(), now)
        {
            let level = self.rule.level(&self.state, now);
            self.meter.rise(now, area, level.credits);
            return self.meter.replace(level);
        }
        while let Some(at) = self.meter.jump(now) {
            let level = self.rule.level(&self.state, at);
            self.meter.step(at, level.credits, level.credits);
            self.meter.replace(level);
        }
    }
}

impl<R: Rule> Limiter for Single<R> {
    #[inline]
    fn check(&self, now: SimTime, ask: &Ask) -> Verdict {
        self.rule.check(&self.state, now, self.charge.asked(ask))
    }

    #[inline]
    fn take(&mut self, now: SimTime, ask: &Ask) {
        let cost = self.charge.taken(ask);
        self.metered(now, |rule, state| rule.take(state, now, cost));
    }

    #[inline]
    fn settle(&mut self, now: SimTime, ask: &Ask, end: End) {
        match self.charge.settlement(ask, end) {
            Settlement::Nothing => {}
            Settlement::GiveBack(cost) => self.metered(now, |rule, state| rule.give_back(state, now, cost)),
            Settlement::Charge(cost) => self.metered(now, |rule, state| rule.charge(state, now, cost)),
        }
    }

    fn refuse(&mut self, now: SimTime, ask: &Ask) {
        let cost = self.charge.asked(ask);
        if R::JUMPS {
            self.metered(now, |rule, state| rule.refuse(state, now, cost));
        } else {
            self.rule.refuse(&mut self.state, now, cost);
        }
    }

    fn holds(&self, now: SimTime, _ask: &Ask) -> Nanos {
        self.rule.holds(&self.state, now)
    }

    fn after_refusal(&self, now: SimTime, ask: &Ask, at: Option<SimTime>) -> Option<SimTime> {
        after_refusal(&self.rule, &self.state, now, self.charge.asked(ask), at)
    }

    fn remaining(&self, now: SimTime, _ask: &Ask) -> (i128, u128) {
        self.rule.remaining(&self.state, now)
    }

    fn reset(&self, now: SimTime, _ask: &Ask) -> Option<SimTime> {
        self.rule.reset(&self.state, now)
    }

    fn colour(&self, now: SimTime, ask: &Ask) -> Option<&'static str> {
        self.rule.colour(&self.state, now, self.charge.asked(ask))
    }

    fn counts(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        self.rule.counts(&self.state, visit);
    }

    fn change(&mut self, now: SimTime, knob: Knob) {
        if let Some(rule) = self.rule.with(knob) {
            self.metered(now, |_, _| {});
            self.state = rule.carry(&self.rule, &self.state, now);
            self.rule = rule;
            self.meter.replace(self.rule.level(&self.state, now));
        }
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        self.metered(now, |_, _| {});
        visit("level", self.meter.read(now));
        self.counts(&mut |name, count| visit(name, Reading::count(count)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::token_bucket::TokenBucket;
    use super::*;
    use crate::request::Unit;
    use crate::time::Nanos;
    use crate::units::Rate;

    #[test]
    fn the_average_level_is_the_area_under_the_saw() {
        // 1 unit per second, burst 2: empty at 0 s, full at 2 s, so the mean over 4 s is (2 + 4) / 4.
        let mut rule = TokenBucket::new(Rate::new(1, Nanos::SECOND).expect("not zero"), 2);
        rule.initial = 0;
        let mut bucket = Single::new(rule, Charge::of(Unit::Requests));
        let mut seen = Vec::new();
        bucket.gauges(SimTime(4_000_000_000), &mut |name, reading| seen.push((name, reading)));
        let (name, reading) = seen[0];
        assert_eq!(name, "level");
        assert_eq!((reading.avg, reading.min, reading.max, reading.last), (1.5, 0.0, 2.0, 2.0));
    }
}
