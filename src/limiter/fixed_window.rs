//! Fixed window: so many units in each window, and the next one begins anew.
//!
//! Windows are aligned, ⌊t / W⌋, or opened by the first ask after the last one has ended. An ask passes if what the window
//! has counted and its cost are not more than the limit; else it waits for the window's end. With `count_rejected` what
//! is refused counts too, as where one increments first and compares after. Twice the limit may pass within one window's
//! length, across a boundary.
//!
//! Spread, all but the first of a window wait: rest of the window / (what is left then + 2), as node-rate-limiter-flexible
//! has it with `execEvenly`. A window opened by the first hit is Redis' counter with an expiry, counted down or up, and tower's `RateLimit`, whose
//! window is over at its last instant. A store whose clock has gone back to before a window opens it anew.

use super::{Level, Rule, Verdict};
use crate::request::Knob;
use crate::time::{Nanos, SimTime};
use crate::units::MAX_AMOUNT;

/// A window's rule. The edge: the end of a window belongs to the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedWindow {
    /// Most units in a window.
    pub limit: u64,
    /// A window's length, at least 1 ns.
    pub window: Nanos,
    /// What opens a window.
    pub opens: Opens,
    /// Whether what is refused counts.
    pub count_rejected: bool,
    /// Whether what passes in a window that is open is spread over the rest of it.
    pub spread: bool,
    /// Whether time that has gone back to before the window opens another; else it is refused.
    pub restarts: bool,
}

/// What opens a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opens {
    /// The clock, at multiples of the window.
    Aligned,
    /// The first ask after the end of the last.
    FirstHit,
}

/// What a window has counted, and since when it is open.
#[derive(Clone, Debug)]
pub struct State {
    opened: Option<SimTime>,
    count: u128,
    touched: SimTime,
}

impl FixedWindow {
    /// The window that an ask at `now` falls into: when it was opened, and its count.
    fn at(&self, state: &State, now: SimTime) -> (SimTime, u128) {
        match state.opened {
            Some(opened) if opened <= now && now.since(opened) < self.window => (opened, state.count),
            _ => match self.opens {
                Opens::Aligned => (SimTime(now.0 / self.window.0 * self.window.0), 0),
                Opens::FirstHit => (now, 0),
            },
        }
    }

    fn count(&self, state: &mut State, now: SimTime, cost: u64) {
        let (opened, count) = self.at(state, now);
        *state = State { opened: Some(opened), count: count.saturating_add(cost.into()), touched: now };
    }

    /// When what passes now starts, if that is spread: after the rest of the window over what is left in it and two, in
    /// milliseconds rounded up, and not sooner than even gaps would have it.
    fn spread_start(&self, opened: SimTime, count: u128, now: SimTime, cost: u64) -> SimTime {
        if !self.spread || count == 0 {
            return now;
        }
        const MS: u128 = 1_000_000;
        let counted = count + u128::from(cost);
        let rest = u128::from(self.window.0 - now.since(opened).0).div_ceil(MS);
        let evenly = rest.div_ceil(u128::from(self.limit) - counted + 2);
        let least = u128::from(self.window.0).div_ceil(MS * u128::from(self.limit));
        let wait = if evenly < least { counted * least } else { evenly };
        now.saturating_add(Nanos(u64::try_from(wait * MS).unwrap_or(u64::MAX)))
    }

    fn instant(&self, state: &State, now: SimTime) -> SimTime {
        if self.restarts { now } else { now.max(state.touched) }
    }
}

impl Rule for FixedWindow {
    type State = State;
    const JUMPS: bool = true;

    fn fresh(&self) -> State {
        State { opened: None, count: 0, touched: SimTime::ZERO }
    }

    fn check(&self, state: &State, now: SimTime, cost: u64) -> Verdict {
        if self.limit < cost {
            return Verdict::Never;
        }
        let then = self.instant(state, now);
        let (opened, count) = self.at(state, then);
        if count.saturating_add(cost.into()) <= self.limit.into() {
            if then != now {
                return Verdict::At(then);
            }
            let start = self.spread_start(opened, count, now, cost);
            return if start == now { Verdict::Pass } else { Verdict::Delay(start) };
        }
        opened.checked_add(self.window).map_or(Verdict::Never, Verdict::At)
    }

    fn take(&self, state: &mut State, now: SimTime, cost: u64) {
        self.count(state, now, cost);
    }

    /// Into the window that is open now.
    fn give_back(&self, state: &mut State, now: SimTime, cost: u64) {
        let (opened, count) = self.at(state, now);
        *state = State { opened: Some(opened), count: count.saturating_sub(cost.into()), touched: now };
    }

    fn charge(&self, state: &mut State, now: SimTime, cost: u64) {
        self.count(state, now, cost);
    }

    fn refuse(&self, state: &mut State, now: SimTime, cost: u64) {
        if self.instant(state, now) != now {
            return;
        }
        if self.count_rejected {
            self.count(state, now, cost);
        } else if cost <= self.limit {
            state.touched = now;
        }
    }

    fn level(&self, state: &State, now: SimTime) -> Level {
        let (opened, count) = self.at(state, self.instant(state, now));
        let full = i128::from(self.limit);
        let until = opened.checked_add(self.window).filter(|_| 0 < count);
        let credits = full.saturating_sub(i128::try_from(count).unwrap_or(i128::MAX));
        // What was refused and counted is no debt: the window forgets it.
        let credits = if self.count_rejected { credits.max(0) } else { credits };
        Level { credits, full, gain: 0, price: 1, until }
    }

    /// The end of the window that is open.
    fn reset(&self, state: &State, now: SimTime) -> Option<SimTime> {
        let now = self.instant(state, now);
        let (opened, count) = self.at(state, now);
        if count == 0 { Some(now) } else { opened.checked_add(self.window) }
    }

    /// No window is open.
    fn is_idle(&self, state: &State, fresh: &State, now: SimTime) -> bool {
        let is_over = |opened: SimTime| opened <= now && self.window <= now.since(opened);
        fresh.opened.is_none() && state.opened.is_none_or(is_over)
    }

    fn capacity(&self) -> Option<(u64, &'static str)> {
        Some((self.limit, "limit"))
    }

    fn steps_back(&self) -> bool {
        self.restarts
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        (key == "limit").then_some(Knob::Limit(Some(self.limit)))
    }

    fn with(&self, knob: Knob) -> Option<FixedWindow> {
        match knob {
            Knob::Limit(limit) => Some(FixedWindow { limit: limit.unwrap_or(MAX_AMOUNT), ..self.clone() }),
            _ => None,
        }
    }
}
