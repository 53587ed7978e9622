//! A limiter that lets some classes pass uncharged.

use super::{Limiter, Verdict};
use crate::gauge::Reading;
use crate::request::{Ask, ClassId, End, Knob};
use crate::time::{Nanos, SimTime};

/// Any limiter, which calls of some classes never meet.
pub struct Exempt {
    limiter: Box<dyn Limiter>,
    classes: Vec<ClassId>,
}

impl Exempt {
    /// The limiter for all calls but those of `classes`.
    pub fn new(limiter: Box<dyn Limiter>, classes: Vec<ClassId>) -> Exempt {
        Exempt { limiter, classes }
    }

    /// The classes are few, so that looking at each costs less than a search.
    #[inline]
    fn exempts(&self, ask: &Ask) -> bool {
        self.classes.contains(&ask.class)
    }
}

impl Limiter for Exempt {
    #[inline]
    fn check(&self, now: SimTime, ask: &Ask) -> Verdict {
        if self.exempts(ask) { Verdict::Pass } else { self.limiter.check(now, ask) }
    }

    #[inline]
    fn take(&mut self, now: SimTime, ask: &Ask) {
        if !self.exempts(ask) {
            self.limiter.take(now, ask);
        }
    }

    #[inline]
    fn settle(&mut self, now: SimTime, ask: &Ask, end: End) {
        if !self.exempts(ask) {
            self.limiter.settle(now, ask, end);
        }
    }

    fn refuse(&mut self, now: SimTime, ask: &Ask) {
        self.limiter.refuse(now, ask);
    }

    fn holds(&self, now: SimTime, ask: &Ask) -> Nanos {
        self.limiter.holds(now, ask)
    }

    fn after_refusal(&self, now: SimTime, ask: &Ask, at: Option<SimTime>) -> Option<SimTime> {
        self.limiter.after_refusal(now, ask, at)
    }

    fn remaining(&self, now: SimTime, ask: &Ask) -> (i128, u128) {
        self.limiter.remaining(now, ask)
    }

    fn reset(&self, now: SimTime, ask: &Ask) -> Option<SimTime> {
        self.limiter.reset(now, ask)
    }

    fn advise(&self, now: SimTime, ask: &Ask, at: Option<SimTime>) -> Option<Nanos> {
        self.limiter.advise(now, ask, at)
    }

    fn colour(&self, now: SimTime, ask: &Ask) -> Option<&'static str> {
        if self.exempts(ask) { None } else { self.limiter.colour(now, ask) }
    }

    fn binding(&self, now: SimTime, ask: &Ask) -> &'static str {
        self.limiter.binding(now, ask)
    }

    fn counts(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        self.limiter.counts(visit);
    }

    fn change(&mut self, now: SimTime, knob: Knob) {
        self.limiter.change(now, knob);
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        self.limiter.gauges(now, visit);
    }
}
