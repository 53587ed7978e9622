//! The limiter of Go's `golang.org/x/time/rate`, with its reservations and its arithmetic.
//!
//! Tokens are a float that grows by the rate up to the burst. An ask of n takes n at once, into debt if need be, and
//! starts when the debt is made up for, debt / rate later; it is refused if n is more than the burst, or if that wait is
//! longer than `max_wait` (0 for `Allow`, the deadline for `Wait`). What is refused changes nothing.
//!
//! Rounding: seconds are a float, whole ones plus the rest; a wait is cut to whole nanoseconds, and one beyond 2^63 ns
//! is for ever. When time steps back nothing is gained, and the time between is gained once more when it is lived
//! again. A rate of 0 lets the burst pass once; an unlimited one lets all pass. Source: `rate.go` of golang/time.

use super::search::first_instant;
use super::{Level, Rule, Verdict};
use crate::request::Knob;
use crate::time::{Nanos, SimTime};

/// A limiter's rule.
#[derive(Clone, Debug, PartialEq)]
pub struct GoRate {
    /// Tokens per second: 0, a number, or infinite.
    pub per_second: f64,
    /// Most tokens that it holds, and most that an ask may cost.
    pub burst: u64,
    /// Tokens that it starts with.
    pub initial: u64,
    /// The longest wait that is reserved; `None` waits for ever.
    pub max_wait: Option<Nanos>,
}

/// Tokens when it was last changed, and when the last reservation may start.
#[derive(Clone, Debug)]
pub struct State {
    tokens: f64,
    changed: SimTime,
    last_start: SimTime,
}

/// As good as for ever in Go: 2^63 − 1 ns.
const FOREVER: u64 = i64::MAX as u64;

impl GoRate {
    fn tokens(&self, state: &State, now: SimTime) -> f64 {
        let tokens = state.tokens + self.gained(now.since(state.changed));
        tokens.min(self.burst as f64)
    }

    fn gained(&self, length: Nanos) -> f64 {
        if self.per_second <= 0.0 {
            return 0.0;
        }
        let seconds = (length.0 / 1_000_000_000) as f64 + (length.0 % 1_000_000_000) as f64 / 1e9;
        seconds * self.per_second
    }

    /// How long so many tokens take.
    fn takes(&self, tokens: f64) -> Nanos {
        let nanos = tokens / self.per_second * 1e9;
        if self.per_second <= 0.0 || FOREVER as f64 <= nanos { Nanos(FOREVER) } else { Nanos(nanos as u64) }
    }

    fn wait(&self, state: &State, now: SimTime, cost: u64) -> Nanos {
        let left = self.tokens(state, now) - cost as f64;
        if left < 0.0 { self.takes(-left) } else { Nanos::ZERO }
    }

    fn may_wait(&self, wait: Nanos) -> bool {
        self.max_wait.is_none_or(|most| wait <= most)
    }

    /// Cancels an ask of `cost` that may start at `start`: what was reserved after it is not given back.
    pub fn cancel(&self, state: &mut State, now: SimTime, cost: u64, start: SimTime) {
        if cost == 0 || start < now || self.per_second.is_infinite() {
            return;
        }
        let restored = cost as f64 - self.gained(state.last_start.since(start));
        if restored <= 0.0 {
            return;
        }
        let tokens = (self.tokens(state, now) + restored).min(self.burst as f64);
        let before = SimTime(start.0.saturating_sub(self.takes(cost as f64).0));
        let was_last = start == state.last_start && now <= before;
        let last_start = if was_last { before } else { state.last_start };
        *state = State { tokens, changed: now, last_start };
    }
}

impl Rule for GoRate {
    type State = State;

    fn fresh(&self) -> State {
        State { tokens: self.initial as f64, changed: SimTime::ZERO, last_start: SimTime::ZERO }
    }

    fn check(&self, state: &State, now: SimTime, cost: u64) -> Verdict {
        if self.per_second.is_infinite() {
            return Verdict::Pass;
        }
        if self.burst < cost {
            return Verdict::Never;
        }
        let wait = self.wait(state, now, cost);
        if self.may_wait(wait) {
            return match now.checked_add(wait) {
                _ if wait == Nanos::ZERO => Verdict::Pass,
                Some(start) if wait.0 < FOREVER => Verdict::Delay(start),
                _ => Verdict::Never,
            };
        }
        let passes = |at: SimTime| self.may_wait(self.wait(state, at, cost));
        // The wait shrinks as fast as time goes by, but for its rounding.
        let about = wait.0 - self.max_wait.unwrap_or_default().0;
        let near = now.saturating_add(Nanos(about.saturating_add(about / 1_000_000 + 16)));
        let found =
            first_instant(now, near, passes).or_else(|| first_instant(now, SimTime(u64::MAX), passes));
        found.map_or(Verdict::Never, Verdict::At)
    }

    fn take(&self, state: &mut State, now: SimTime, cost: u64) {
        if self.per_second.is_infinite() {
            return;
        }
        let last_start = now.saturating_add(self.wait(state, now, cost));
        *state = State { tokens: self.tokens(state, now) - cost as f64, changed: now, last_start };
    }

    /// As a cancellation of the latest reservation.
    fn give_back(&self, state: &mut State, now: SimTime, cost: u64) {
        let tokens = (self.tokens(state, now) + cost as f64).min(self.burst as f64);
        *state = State { tokens, changed: now, ..state.clone() };
    }

    fn charge(&self, state: &mut State, now: SimTime, cost: u64) {
        *state = State { tokens: self.tokens(state, now) - cost as f64, changed: now, ..state.clone() };
    }

    /// Rounded down to a billionth of a token.
    fn level(&self, state: &State, now: SimTime) -> Level {
        let tokens = if self.per_second.is_infinite() { self.burst as f64 } else { self.tokens(state, now) };
        Level {
            credits: ((tokens * 1e9).floor() as i128).saturating_mul(1_000_000_000),
            full: i128::from(self.burst) * 1_000_000_000_000_000_000,
            gain: (self.per_second * 1e9) as u64,
            price: 1_000_000_000_000_000_000,
            until: None,
        }
    }

    fn reset(&self, state: &State, now: SimTime) -> Option<SimTime> {
        let lack = self.burst as f64 - self.tokens(state, now);
        let wait = if 0.0 < lack && self.per_second.is_finite() { self.takes(lack) } else { Nanos::ZERO };
        now.checked_add(wait).filter(|_| wait.0 < FOREVER)
    }

    fn capacity(&self) -> Option<(u64, &'static str)> {
        self.per_second.is_finite().then_some((self.burst, "burst"))
    }

    fn steps_back(&self) -> bool {
        true
    }

    fn peeks(&self) -> bool {
        true
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        (key == "burst").then_some(Knob::Burst(self.burst))
    }

    fn with(&self, knob: Knob) -> Option<GoRate> {
        match knob {
            Knob::Rate(rate) => Some(GoRate { per_second: rate.per_second(), ..self.clone() }),
            Knob::Burst(burst) => Some(GoRate { burst, ..self.clone() }),
            _ => None,
        }
    }

    /// What was gained so far was gained under the old rule.
    fn carry(&self, old: &GoRate, state: &State, now: SimTime) -> State {
        State { tokens: old.tokens(state, now), changed: now, ..state.clone() }
    }
}
