//! Guava's `RateLimiter`: whoever asks is let go at once, and the next one waits for what that took.
//!
//! Permits are saved while nobody asks. An ask at t starts at max(t, free), where `free` is what the one before it left;
//! it then takes the permits that are saved, and moves `free` on by the price of both, the saved ones and the rest at the
//! rate. It is refused if `free` is further away than `max_wait`. A price of the saved ones:
//!
//! - bursty: nothing; up to `rate` · `max_burst` are saved, one per interval.
//! - warming up: above a threshold, half the warm-up at the rate, a permit costs the more the more are saved, in a straight
//!   line up to `cold_factor` times the interval; they are saved as fast as all of them take to warm up. It starts cold.
//!
//! Rounding: whole microseconds of time, doubles of permits, prices cut to whole microseconds, all as in Guava. Sources:
//! `RateLimiter.java` and `SmoothRateLimiter.java`.

use super::{Level, Rule, Verdict};
use crate::request::Knob;
use crate::time::{Nanos, SimTime};

/// A limiter's rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Guava {
    /// Permits per second; infinite lets all pass.
    pub per_second: f64,
    /// What saved permits cost.
    pub saving: Saving,
    /// The longest wait that is taken; `None` waits for ever.
    pub max_wait: Option<Nanos>,
}

/// What saved permits cost, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Saving {
    /// Nothing; those of so long are saved.
    Bursty(Nanos),
    /// The more, the colder.
    WarmingUp {
        /// How long it takes to warm up.
        warm_up: Nanos,
        /// How many times the interval a permit costs when it is cold.
        cold_factor: f64,
    },
}

/// Saved permits, and the microsecond from which the next ask may start.
#[derive(Clone, Debug)]
pub struct State {
    stored: f64,
    free_us: u64,
}

impl Guava {
    /// Microseconds between permits.
    fn interval(&self) -> f64 {
        1e6 / self.per_second
    }

    fn max_permits(&self) -> f64 {
        match self.saving {
            Saving::Bursty(length) => length.as_secs_f64() * self.per_second,
            Saving::WarmingUp { warm_up, cold_factor } => {
                let cold = self.interval() * cold_factor;
                self.threshold() + 2.0 * micros(warm_up) / (self.interval() + cold)
            }
        }
    }

    /// Permits above which one costs more.
    fn threshold(&self) -> f64 {
        match self.saving {
            Saving::Bursty(_) => f64::INFINITY,
            Saving::WarmingUp { warm_up, .. } => 0.5 * micros(warm_up) / self.interval(),
        }
    }

    /// Microseconds in which a permit is saved.
    fn saves_in(&self) -> f64 {
        match self.saving {
            Saving::Bursty(_) => self.interval(),
            Saving::WarmingUp { warm_up, .. } => micros(warm_up) / self.max_permits(),
        }
    }

    /// Whole microseconds that `take` of `stored` permits cost.
    fn price(&self, stored: f64, take: f64) -> u64 {
        let Saving::WarmingUp { cold_factor, .. } = self.saving else { return 0 };
        let (interval, threshold) = (self.interval(), self.threshold());
        let slope = (interval * cold_factor - interval) / (self.max_permits() - threshold);
        let above = stored - threshold;
        let mut price = 0;
        let mut rest = take;
        if 0.0 < above {
            let dear = above.min(take);
            let length = (interval + above * slope) + (interval + (above - dear) * slope);
            price = (dear * length / 2.0) as u64;
            rest -= dear;
        }
        price.saturating_add((interval * rest) as u64)
    }

    /// The state when the time up to now has been saved.
    fn at(&self, state: &State, now_us: u64) -> State {
        if now_us <= state.free_us {
            return state.clone();
        }
        let saved = (now_us - state.free_us) as f64 / self.saves_in();
        State { stored: (state.stored + saved).min(self.max_permits()), free_us: now_us }
    }
}

fn micros(length: Nanos) -> f64 {
    (length.0 / 1_000) as f64
}

fn micros_at(now: SimTime) -> u64 {
    now.0 / 1_000
}

impl Rule for Guava {
    type State = State;
    const JUMPS: bool = true;

    fn fresh(&self) -> State {
        let is_cold = matches!(self.saving, Saving::WarmingUp { .. }) && self.per_second.is_finite();
        State { stored: if is_cold { self.max_permits() } else { 0.0 }, free_us: 0 }
    }

    fn check(&self, state: &State, now: SimTime, cost: u64) -> Verdict {
        let Some(wait) = state.free_us.checked_sub(micros_at(now)).filter(|wait| 0 < *wait && 0 < cost)
        else {
            return Verdict::Pass;
        };
        match self.max_wait.map(|most| most.0 / 1_000) {
            Some(most) if most < wait => {
                let at = (state.free_us - most).checked_mul(1_000);
                at.map_or(Verdict::Never, |at| Verdict::At(SimTime(at)))
            }
            _ => {
                let start = wait.checked_mul(1_000).and_then(|wait| now.0.checked_add(wait));
                start.map_or(Verdict::Never, |start| Verdict::Delay(SimTime(start)))
            }
        }
    }

    fn take(&self, state: &mut State, now: SimTime, cost: u64) {
        self.charge(state, now, cost);
    }

    fn charge(&self, state: &mut State, now: SimTime, cost: u64) {
        let then = self.at(state, micros_at(now));
        let saved = then.stored.min(cost as f64);
        let rest = ((cost as f64 - saved) * self.interval()) as u64;
        let price = self.price(then.stored, saved).saturating_add(rest);
        *state = State { stored: then.stored - saved, free_us: then.free_us.saturating_add(price) };
    }

    /// Saved permits, rounded down to a billionth; they grow once the last ask is paid for.
    fn level(&self, state: &State, now: SimTime) -> Level {
        const BILLION: i128 = 1_000_000_000;
        let then = self.at(state, micros_at(now));
        let is_paid = then.free_us <= micros_at(now);
        let credits = |permits: f64| ((permits * 1e9).floor() as i128).saturating_mul(BILLION);
        Level {
            credits: credits(then.stored),
            full: credits(self.max_permits()),
            gain: if is_paid { (1e15 / self.saves_in()) as u64 } else { 0 },
            price: (BILLION * BILLION) as u64,
            until: then.free_us.checked_mul(1_000).map(SimTime).filter(|_| !is_paid),
        }
    }

    fn reset(&self, state: &State, now: SimTime) -> Option<SimTime> {
        let then = self.at(state, micros_at(now));
        let saving = ((self.max_permits() - then.stored).max(0.0) * self.saves_in()).ceil();
        let us = if saving.is_nan() { 0 } else { saving as u64 };
        then.free_us.checked_add(us)?.checked_mul(1_000).map(|at| SimTime(at).max(now))
    }

    fn steps_back(&self) -> bool {
        true
    }

    fn with(&self, knob: Knob) -> Option<Guava> {
        match knob {
            Knob::Rate(rate) => Some(Guava { per_second: rate.per_second(), ..self.clone() }),
            _ => None,
        }
    }

    /// As much of what may be saved is saved as before.
    fn carry(&self, old: &Guava, state: &State, now: SimTime) -> State {
        let then = old.at(state, micros_at(now));
        let (before, after) = (old.max_permits(), self.max_permits());
        let stored = match self.saving {
            Saving::Bursty(_) if before.is_infinite() => after,
            Saving::WarmingUp { .. } if before.is_infinite() => 0.0,
            _ if before == 0.0 => 0.0,
            _ => then.stored * after / before,
        };
        State { stored, free_us: then.free_us }
    }
}
