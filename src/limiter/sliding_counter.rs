//! Sliding window counter: the last window's count fades while the present one fills.
//!
//! Windows W are aligned. With e the time in the present one, which has counted c after p in the last, the estimate is
//! p·(1 − e/W) + c. An ask of n that passes adds n to c. The products differ in how they round and compare:
//!
//! | dialect | p·(1 − e/W) | passes if |
//! |---|---|---|
//! | Cloudflare | exact | the estimate with the n − 1 others before it is less than the limit |
//! | `limits` | exact | the estimate is less than limit − n + 1 |
//! | RussellLuo | a double, cut to whole units | estimate + n ≤ limit |
//! | upstash | a double of whole milliseconds, cut | the estimate is less than the limit, whatever n: it may overshoot |
//!
//! So the first two decide alike. Sources: Cloudflare's account of counting; `strategies.py` of `limits`;
//! `slidingwindow.go`; `single.ts` of upstash's ratelimit.

use super::search::first_instant;
use super::{Level, Rule, Verdict};
use crate::request::Knob;
use crate::time::{Nanos, SimTime};
use crate::units::MAX_AMOUNT;

/// A counter's rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlidingCounter {
    /// Most units in a window.
    pub limit: u64,
    /// The window's length, at least 1 ns; whole milliseconds for upstash.
    pub window: Nanos,
    /// Whose rounding.
    pub dialect: Dialect,
}

/// Whose rounding and comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Cloudflare.
    Cloudflare,
    /// upstash.
    Upstash,
    /// The Python package `limits`.
    Limits,
    /// RussellLuo's `slidingwindow` in Go.
    RussellLuo,
}

/// The window that was used last, and the counts of it and of the one before.
#[derive(Clone, Debug, Default)]
pub struct State {
    window: u64,
    present: u64,
    last: u64,
    touched: SimTime,
}

impl SlidingCounter {
    /// Counts as they stand at `now`: of the last window and the present one.
    fn counts(&self, state: &State, now: SimTime) -> (u64, u64) {
        match (now.0 / self.window.0).saturating_sub(state.window) {
            0 => (state.last, state.present),
            1 => (state.present, 0),
            _ => (0, 0),
        }
    }

    /// Whole units that are left of the last window's, by the dialect's rounding.
    fn faded(&self, last: u64, now: SimTime) -> u64 {
        let gone = now.0 % self.window.0;
        match self.dialect {
            Dialect::RussellLuo => {
                let weight = (self.window.0 - gone) as f64 / self.window.0 as f64;
                (weight * last as f64) as u64
            }
            Dialect::Upstash => {
                const MS: u64 = 1_000_000;
                let share = (gone / MS) as f64 / (self.window.0 / MS) as f64;
                ((1.0 - share) * last as f64).floor() as u64
            }
            Dialect::Cloudflare | Dialect::Limits => {
                let left = u128::from(last) * u128::from(self.window.0 - gone);
                (left / u128::from(self.window.0)) as u64
            }
        }
    }

    fn passes(&self, state: &State, now: SimTime, cost: u64) -> bool {
        let (last, present) = self.counts(state, now);
        let used = u128::from(self.faded(last, now)) + u128::from(present);
        match self.dialect {
            Dialect::Upstash => cost == 0 || used < self.limit.into(),
            // A whole number n is reached by the exact estimate if and only if its whole part reaches it.
            _ => used + u128::from(cost) <= self.limit.into(),
        }
    }

    fn count(&self, state: &mut State, now: SimTime, cost: u64) {
        let now = now.max(state.touched);
        let (last, present) = self.counts(state, now);
        // More than 2^64 in a window refuses as that many do.
        let present = present.saturating_add(cost);
        *state = State { window: now.0 / self.window.0, present, last, touched: now };
    }

    /// The start of the window that is so many after the present one.
    fn start(&self, now: SimTime, windows: u64) -> Option<SimTime> {
        (now.0 / self.window.0).checked_add(windows)?.checked_mul(self.window.0).map(SimTime)
    }
}

impl Rule for SlidingCounter {
    type State = State;
    const JUMPS: bool = true;

    fn fresh(&self) -> State {
        State::default()
    }

    fn check(&self, state: &State, now: SimTime, cost: u64) -> Verdict {
        if self.limit < cost && self.dialect != Dialect::Upstash {
            return Verdict::Never;
        }
        let then = now.max(state.touched);
        if self.passes(state, then, cost) {
            return if then == now { Verdict::Pass } else { Verdict::At(then) };
        }
        // What fades lets pass later in this window, or in the next; in the one after nothing is left to fade.
        let passes = |at: SimTime| self.passes(state, at, cost);
        let mut from = then;
        for windows in 1..=3 {
            let end = self.start(then, windows).unwrap_or(SimTime(u64::MAX));
            if let Some(at) = first_instant(from, SimTime(end.0 - 1), passes) {
                return Verdict::At(at);
            }
            if passes(end) {
                return Verdict::At(end);
            }
            from = end;
        }
        Verdict::Never
    }

    fn take(&self, state: &mut State, now: SimTime, cost: u64) {
        self.count(state, now, cost);
    }

    /// Into the window that is open now.
    fn give_back(&self, state: &mut State, now: SimTime, cost: u64) {
        self.count(state, now, 0);
        state.present = state.present.saturating_sub(cost);
    }

    fn charge(&self, state: &mut State, now: SimTime, cost: u64) {
        self.count(state, now, cost);
    }

    fn refuse(&self, state: &mut State, now: SimTime, cost: u64) {
        if cost <= self.limit {
            self.count(state, now, 0);
        }
    }

    /// As the exact estimate has it.
    fn level(&self, state: &State, now: SimTime) -> Level {
        let now = now.max(state.touched);
        let (last, present) = self.counts(state, now);
        let (window, fading) = (i128::from(self.window.0), i128::from(self.window.0 - now.0 % self.window.0));
        let used = (i128::from(last) * fading).saturating_add(i128::from(present) * window);
        let full = i128::from(self.limit) * window;
        let until = self.start(now, 1).filter(|_| 0 < used);
        Level { credits: full.saturating_sub(used), full, gain: last, price: self.window.0, until }
    }

    /// By the dialect's rounding; upstash says 0 where more has passed than the limit.
    fn remaining(&self, state: &State, now: SimTime) -> (i128, u128) {
        let now = now.max(state.touched);
        let (last, present) = self.counts(state, now);
        let used = i128::from(self.faded(last, now)) + i128::from(present);
        match self.dialect {
            Dialect::Upstash => ((i128::from(self.limit) - used).max(0), 1),
            Dialect::RussellLuo => (i128::from(self.limit) - used, 1),
            Dialect::Cloudflare | Dialect::Limits => {
                let level = self.level(state, now);
                (level.credits, level.price.into())
            }
        }
    }

    /// When nothing is left of what was counted.
    fn reset(&self, state: &State, now: SimTime) -> Option<SimTime> {
        let now = now.max(state.touched);
        match self.counts(state, now) {
            (0, 0) => Some(now),
            (_, 0) => self.start(now, 1),
            _ => self.start(now, 2),
        }
    }

    fn is_idle(&self, state: &State, fresh: &State, now: SimTime) -> bool {
        self.counts(state, now) == (0, 0) && self.counts(fresh, now) == (0, 0)
    }

    fn capacity(&self) -> Option<(u64, &'static str)> {
        (self.dialect != Dialect::Upstash).then_some((self.limit, "limit"))
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        (key == "limit").then_some(Knob::Limit(Some(self.limit)))
    }

    fn with(&self, knob: Knob) -> Option<SlidingCounter> {
        match knob {
            Knob::Limit(limit) => Some(SlidingCounter { limit: limit.unwrap_or(MAX_AMOUNT), ..self.clone() }),
            _ => None,
        }
    }
}
