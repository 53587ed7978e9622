//! Retry-After: what a refusal tells its caller to wait.
//!
//! A limiter knows the first instant that would pass. Products tell something else: whole seconds rounded up, never 0
//! (RFC 9110, section 10.2.3, counts in seconds); the reset of the limit; a constant; or a number that doubles under
//! load, as API priority and fairness of Kubernetes does. Each may be spread by a jitter, so that those who were
//! refused together don't come back together.
//!
//! The advice is what the caller is told. The verdict stays exact, and so does who waits before the limiter.

use super::{Limiter, Verdict};
use crate::doubling::Doubling;
use crate::gauge::Reading;
use crate::request::{Ask, End, Knob};
use crate::rng::{Dice, Purpose, share};
use crate::time::{Nanos, SimTime};

/// What a limiter tells those it refuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advice {
    /// What it is reckoned from.
    pub basis: Basis,
    /// How it is spread.
    pub jitter: Jitter,
}

/// What an advice is reckoned from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Basis {
    /// The first instant that passes.
    #[default]
    Exact,
    /// The same in whole seconds rounded up, at least 1.
    Seconds,
    /// When the limit stands as if unused.
    Reset,
    /// Always the same, also for what never passes.
    Constant(Nanos),
    /// A number of seconds that doubles while many are refused, also for what never passes.
    Doubling,
}

/// How an advice is spread: uniformly up to so much later, or as much earlier too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jitter {
    /// The most by which it is moved.
    pub by: Nanos,
    /// Whether it is also moved to earlier, never below nothing.
    pub around: bool,
}

/// Any limiter that gives such advice.
pub struct Advised {
    limiter: Box<dyn Limiter>,
    advice: Advice,
    doubling: Doubling,
}

impl Advised {
    /// The limiter, which tells those it refuses what `advice` says.
    pub fn new(limiter: Box<dyn Limiter>, advice: Advice) -> Advised {
        Advised { limiter, advice, doubling: Doubling::default() }
    }
}

/// Whole seconds, rounded up: who waits so long passes, and nobody is told 0.
pub fn whole_seconds(wait: Nanos) -> u64 {
    wait.0.div_ceil(Nanos::SECOND.0).max(1)
}

impl Jitter {
    /// The wait moved by the luck of the ask at this instant.
    fn spread(self, wait: Nanos, now: SimTime, ask: &Ask) -> Nanos {
        if self.by == Nanos::ZERO {
            return wait;
        }
        // An attempt that comes again at another instant has other luck.
        let luck = share(Dice(ask.dice.bits(Purpose::RetryAfter, 0) ^ now.0).bits(Purpose::RetryAfter, 1));
        if self.around {
            let later = Nanos::from_f64(2.0 * self.by.0 as f64 * luck);
            Nanos(wait.0.saturating_add(later.0).saturating_sub(self.by.0))
        } else {
            Nanos(wait.0.saturating_add(Nanos::from_f64(self.by.0 as f64 * luck).0))
        }
    }
}

impl Limiter for Advised {
    fn check(&self, now: SimTime, ask: &Ask) -> Verdict {
        self.limiter.check(now, ask)
    }

    fn take(&mut self, now: SimTime, ask: &Ask) {
        self.limiter.take(now, ask);
    }

    fn settle(&mut self, now: SimTime, ask: &Ask, end: End) {
        self.limiter.settle(now, ask, end);
    }

    fn refuse(&mut self, now: SimTime, ask: &Ask) {
        if self.advice.basis == Basis::Doubling {
            self.doubling.refuse(now);
        }
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
        let exact = self.limiter.advise(now, ask, at);
        let wait = match self.advice.basis {
            Basis::Exact => exact?,
            Basis::Seconds => Nanos(whole_seconds(exact?).saturating_mul(Nanos::SECOND.0)),
            Basis::Reset => self.limiter.reset(now, ask).filter(|_| at.is_some())?.since(now),
            Basis::Constant(wait) => wait,
            Basis::Doubling => self.doubling.wait(),
        };
        let wait = self.advice.jitter.spread(wait, now, ask);
        // A header of whole seconds has them whatever chance adds.
        let whole = self.advice.basis == Basis::Seconds;
        Some(if whole { Nanos(whole_seconds(wait).saturating_mul(Nanos::SECOND.0)) } else { wait })
    }

    fn colour(&self, now: SimTime, ask: &Ask) -> Option<&'static str> {
        self.limiter.colour(now, ask)
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
