//! One limit for all: a rule with one state and a gauge of its level.

use super::{Level, Limiter, Rule, Verdict};
use crate::gauge::Reading;
use crate::request::{Ask, End, Knob};
use crate::time::SimTime;

/// A limiter made of one rule and one state.
#[derive(Clone, Debug)]
pub struct Single<R: Rule> {
    rule: R,
    state: R::State,
    meter: Meter,
}

impl<R: Rule> Single<R> {
    /// A limit that nothing has used yet.
    pub fn new(rule: R) -> Single<R> {
        let state = rule.fresh();
        let meter = Meter::new(rule.level(&state, SimTime::ZERO));
        Single { rule, state, meter }
    }

    #[inline]
    fn metered(&mut self, now: SimTime, act: impl FnOnce(&R, &mut R::State)) {
        let before = self.rule.left(&self.state, now);
        act(&self.rule, &mut self.state);
        self.meter.step(now, before, self.rule.left(&self.state, now));
    }
}

impl<R: Rule> Limiter for Single<R> {
    #[inline]
    fn check(&self, now: SimTime, ask: &Ask) -> Verdict {
        self.rule.check(&self.state, now, ask)
    }

    #[inline]
    fn take(&mut self, now: SimTime, ask: &Ask) {
        self.metered(now, |rule, state| rule.take(state, now, ask));
    }

    fn settle(&mut self, now: SimTime, ask: &Ask, end: End) {
        if end == End::Unused {
            self.metered(now, |rule, state| rule.settle(state, now, ask, end));
        } else {
            self.rule.settle(&mut self.state, now, ask, end);
        }
    }

    fn remaining(&self, now: SimTime, _ask: &Ask) -> (u128, u128) {
        let level = self.rule.level(&self.state, now);
        (level.credits, level.price as u128)
    }

    fn change(&mut self, now: SimTime, knob: Knob) {
        if let Some(rule) = self.rule.with(knob) {
            let left = self.rule.left(&self.state, now);
            self.meter.step(now, left, left);
            self.state = rule.carry(&self.rule, &self.state, now);
            self.rule = rule;
            self.meter.replace(self.rule.level(&self.state, now));
        }
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        let left = self.rule.left(&self.state, now);
        self.meter.step(now, left, left);
        visit("level", self.meter.read(now));
    }
}

/// The average level in units between two readings.
///
/// The level is linear between steps, so its integral is exact in the real numbers; it is a float, which costs a
/// few operations a step and is read for reports alone.
#[derive(Clone, Debug)]
struct Meter {
    level: f64,
    full: f64,
    gain: f64,
    price: f64,
    stepped: SimTime,
    from: SimTime,
    area: f64,
    /// Lowest and highest level since the last reading, in units as far as the price has changed since.
    low: f64,
    high: f64,
    /// The same in credits of the present price.
    low_credits: f64,
    high_credits: f64,
}

/// Most credits fit 63 bits, from which the conversion is one instruction.
#[inline]
fn float(credits: u128) -> f64 {
    i64::try_from(credits).map_or_else(|_| credits as f64, |small| small as f64)
}

impl Meter {
    fn new(level: Level) -> Meter {
        let zero = SimTime::ZERO;
        let mut meter = Meter {
            level: 0.0,
            full: 0.0,
            gain: 0.0,
            price: 1.0,
            stepped: zero,
            from: zero,
            area: 0.0,
            low: f64::INFINITY,
            high: 0.0,
            low_credits: f64::INFINITY,
            high_credits: 0.0,
        };
        meter.replace(level);
        meter
    }

    /// Goes on from `level`, in credits of another price perhaps.
    fn replace(&mut self, level: Level) {
        (self.low, self.high) = self.extremes();
        self.price = level.price as f64;
        self.gain = level.gain as f64;
        self.full = float(level.full);
        self.level = float(level.credits);
        (self.low_credits, self.high_credits) = (self.level, 0.0);
    }

    /// Counts the time since the last step, at whose end `before` credits were left, of which `after` stay.
    #[inline]
    fn step(&mut self, now: SimTime, before: u128, after: u128) {
        let length = now.since(self.stepped).0 as i64 as f64;
        let missing = self.full - self.level;
        let area = if self.gain * length < missing {
            (self.level + 0.5 * self.gain * length) * length
        } else if missing > 0.0 {
            self.full * length - 0.5 * missing * missing / self.gain
        } else {
            self.full * length
        };
        self.area += area / self.price;
        self.high_credits = self.high_credits.max(float(before));
        self.level = float(after);
        self.low_credits = self.low_credits.min(self.level);
        self.stepped = now;
    }

    /// Lowest and highest level since the last reading, in units.
    fn extremes(&self) -> (f64, f64) {
        (self.low.min(self.low_credits / self.price), self.high.max(self.high_credits / self.price))
    }

    fn read(&mut self, now: SimTime) -> Reading {
        let length = now.since(self.from).0 as f64;
        let last = self.level / self.price;
        let avg = if length == 0.0 { last } else { self.area / length };
        let (min, max) = self.extremes();
        (self.from, self.area, self.low, self.high) = (now, 0.0, last, last);
        (self.low_credits, self.high_credits) = (self.level, self.level);
        Reading { avg, min, max, last, area: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::token_bucket::TokenBucket;
    use super::*;
    use crate::time::Nanos;
    use crate::units::Rate;

    #[test]
    fn the_average_level_is_the_area_under_the_saw() {
        // 1 unit per second, burst 2: empty at 0 s, full at 2 s, so the mean over 4 s is (2 + 4) / 4.
        let mut rule = TokenBucket::new(Rate::new(1, Nanos::SECOND).expect("not zero"), 2);
        rule.initial = 0;
        let mut bucket = Single::new(rule);
        let mut seen = Vec::new();
        bucket.gauges(SimTime(4_000_000_000), &mut |name, reading| seen.push((name, reading)));
        let (name, reading) = seen[0];
        assert_eq!(name, "level");
        assert_eq!((reading.avg, reading.min, reading.max, reading.last), (1.5, 0.0, 2.0, 2.0));
    }
}
