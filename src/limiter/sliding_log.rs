//! Sliding log: so many units in any window's length, by the instant of each.
//!
//! The log holds when each unit passed and drops those that are older than the window W. An ask passes if what is left
//! and its cost are not more than the limit; else it waits until enough have become old. The edge is open, (t − W, t], or
//! closed, [t − W, t]. With `count_rejected` what is refused is logged too, so that whoever keeps asking stays refused.
//!
//! Units of one instant are one entry with the count of all up to it, so that both what is old and whose turn to expire
//! decides are found by halving. Only the latest `limit` units can matter: the log never holds more. The wait that is told
//! to what was refused and logged counts it too.

use super::{Level, Rule, Verdict};
use crate::request::Knob;
use crate::time::{Nanos, SimTime};
use crate::units::MAX_AMOUNT;
use std::collections::VecDeque;

/// A log's rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlidingLog {
    /// Most units in a window.
    pub limit: u64,
    /// The window's length, at least 1 ns.
    pub window: Nanos,
    /// Whether what is exactly a window old still counts.
    pub closed: bool,
    /// Whether what is refused is logged.
    pub count_rejected: bool,
}

/// Instants with the count of all units up to each, which wraps; and that count before the first.
#[derive(Clone, Debug, Default)]
pub struct State {
    log: VecDeque<(SimTime, u64)>,
    before: u64,
    touched: SimTime,
}

impl State {
    /// The count of all units so far.
    fn total(&self) -> u64 {
        self.log.back().map_or(self.before, |(_, total)| *total)
    }
}

impl SlidingLog {
    /// How many entries are too old at `now`.
    fn old(&self, state: &State, now: SimTime) -> usize {
        let is_old = |at: SimTime| match (now.since(at), self.closed) {
            (age, true) => self.window < age,
            (age, false) => self.window <= age,
        };
        state.log.partition_point(|(at, _)| is_old(*at))
    }

    /// Units in the window at `now`.
    fn used(&self, state: &State, now: SimTime) -> u64 {
        let before = match self.old(state, now) {
            0 => state.before,
            old => state.log[old - 1].1,
        };
        state.total().wrapping_sub(before)
    }

    /// The first instant at which an entry is old.
    fn leaves(&self, at: SimTime) -> Option<SimTime> {
        at.checked_add(self.window)?.checked_add(Nanos(self.closed.into()))
    }

    fn add(&self, state: &mut State, now: SimTime, cost: u64) {
        let now = now.max(state.touched);
        state.touched = now;
        let cost = cost.min(self.limit);
        for _ in 0..self.old(state, now) {
            self.forget_first(state);
        }
        if cost == 0 {
            return;
        }
        // The latest units decide alone.
        let used = state.total().wrapping_sub(state.before);
        self.forget(state, used.saturating_sub(self.limit - cost));
        let total = state.total().wrapping_add(cost);
        match state.log.back_mut() {
            Some((at, count)) if *at == now => *count = total,
            _ => state.log.push_back((now, total)),
        }
    }

    /// Forgets the oldest `units`.
    fn forget(&self, state: &mut State, units: u64) {
        let floor = state.before.wrapping_add(units);
        while let Some((_, first)) = state.log.front()
            && first.wrapping_sub(state.before) <= floor.wrapping_sub(state.before)
        {
            self.forget_first(state);
        }
        state.before = floor;
    }

    fn forget_first(&self, state: &mut State) {
        if let Some((_, total)) = state.log.pop_front() {
            state.before = total;
        }
    }
}

impl Rule for SlidingLog {
    type State = State;
    const JUMPS: bool = true;

    fn fresh(&self) -> State {
        State::default()
    }

    fn check(&self, state: &State, now: SimTime, cost: u64) -> Verdict {
        if self.limit < cost {
            return Verdict::Never;
        }
        let then = now.max(state.touched);
        let room = self.limit - cost;
        let used = self.used(state, then);
        if used <= room {
            return if then == now { Verdict::Pass } else { Verdict::At(then) };
        }
        // The last of the units that must leave.
        let leaving = used - room;
        let before = state.total().wrapping_sub(used);
        let last = state.log.partition_point(|(_, count)| {
            let since = count.wrapping_sub(before);
            // What is old already counts as left.
            used < since || since < leaving
        });
        let at = state.log.get(last).and_then(|(at, _)| self.leaves(*at));
        at.map_or(Verdict::Never, Verdict::At)
    }

    fn take(&self, state: &mut State, now: SimTime, cost: u64) {
        self.add(state, now, cost);
    }

    /// The latest units leave.
    fn give_back(&self, state: &mut State, now: SimTime, cost: u64) {
        self.add(state, now, 0);
        let cost = cost.min(self.used(state, now));
        let total = state.total().wrapping_sub(cost);
        while let Some((_, count)) = state.log.back()
            && total.wrapping_sub(state.before) < count.wrapping_sub(state.before)
        {
            let (at, _) = state.log.pop_back().expect("it has a last entry");
            let before = state.total().wrapping_sub(state.before);
            if before < total.wrapping_sub(state.before) {
                state.log.push_back((at, total));
            }
        }
    }

    fn charge(&self, state: &mut State, now: SimTime, cost: u64) {
        self.add(state, now, cost);
    }

    fn refuse(&self, state: &mut State, now: SimTime, cost: u64) {
        if self.limit < cost && !self.count_rejected {
            return;
        }
        if state.touched <= now {
            self.add(state, now, if self.count_rejected { cost } else { 0 });
        }
    }

    fn level(&self, state: &State, now: SimTime) -> Level {
        let now = now.max(state.touched);
        let full = i128::from(self.limit);
        let until = state.log.get(self.old(state, now)).and_then(|(at, _)| self.leaves(*at));
        Level { credits: full - i128::from(self.used(state, now)), full, gain: 0, price: 1, until }
    }

    fn counts_refusals(&self) -> bool {
        self.count_rejected
    }

    /// When the oldest entry leaves, as `limits` tells it.
    fn reset(&self, state: &State, now: SimTime) -> Option<SimTime> {
        let now = now.max(state.touched);
        match state.log.get(self.old(state, now)) {
            Some((at, _)) => self.leaves(*at),
            None => Some(now),
        }
    }

    fn gone_at(&self, state: &State, now: SimTime) -> Option<SimTime> {
        match state.log.back() {
            Some((last, _)) => self.leaves(*last).map(|at| at.max(now)),
            None => Some(now),
        }
    }

    fn is_idle(&self, state: &State, fresh: &State, now: SimTime) -> bool {
        let is_old = |(at, _): &(SimTime, u64)| self.window < now.since(*at);
        fresh.log.is_empty() && state.log.back().is_none_or(is_old)
    }

    fn capacity(&self) -> Option<(u64, &'static str)> {
        Some((self.limit, "limit"))
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        (key == "limit").then_some(Knob::Limit(Some(self.limit)))
    }

    fn with(&self, knob: Knob) -> Option<SlidingLog> {
        match knob {
            Knob::Limit(limit) => Some(SlidingLog { limit: limit.unwrap_or(MAX_AMOUNT), ..self.clone() }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that was ever logged, looked through anew for each question.
    #[derive(Default)]
    struct Slow(Vec<(u64, u64)>);

    impl Slow {
        fn used(&self, log: &SlidingLog, now: u64) -> u64 {
            let is_inside = |at: u64| match log.closed {
                true => now - at <= log.window.0,
                false => now - at < log.window.0,
            };
            self.0.iter().filter(|(at, _)| is_inside(*at)).map(|(_, cost)| cost).sum()
        }
    }

    #[test]
    fn it_decides_and_tells_as_a_list_of_everything_does() {
        let mut seed = 1u64;
        let mut draw = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for history in 0..400 {
            let (closed, count_rejected) = (history % 2 == 0, history % 4 < 2);
            let log = SlidingLog { limit: 1 + draw(9), window: Nanos(1 + draw(50)), closed, count_rejected };
            let (mut state, mut slow, mut now) = (log.fresh(), Slow::default(), 0);
            for _ in 0..60 {
                now += draw(20);
                let cost = 1 + draw(log.limit);
                let passes = slow.used(&log, now) + cost <= log.limit;
                assert_eq!(
                    log.check(&state, SimTime(now), cost) == Verdict::Pass,
                    passes,
                    "{log:?} {:?}",
                    slow.0
                );
                if passes {
                    log.take(&mut state, SimTime(now), cost);
                } else {
                    log.refuse(&mut state, SimTime(now), cost);
                }
                if passes || count_rejected {
                    slow.0.push((now, cost));
                }
                let remaining = log.level(&state, SimTime(now)).credits;
                assert_eq!(remaining, i128::from(log.limit.saturating_sub(slow.used(&log, now))));
                if !passes {
                    // Who comes again when told passes, and a nanosecond before would not.
                    let first =
                        (now + 1..).find(|at| slow.used(&log, *at) + cost <= log.limit).expect("it is old");
                    assert_eq!(log.check(&state, SimTime(now), cost), Verdict::At(SimTime(first)), "{log:?}");
                }
            }
        }
    }

    #[test]
    fn it_never_holds_more_than_its_limit() {
        for count_rejected in [false, true] {
            let log = SlidingLog { limit: 9, window: Nanos::SECOND, closed: false, count_rejected };
            let mut state = log.fresh();
            for ask in 0..10_000u64 {
                let (now, cost) = (SimTime(ask * 7_000_000), 1 + ask % 3);
                match log.check(&state, now, cost) {
                    Verdict::Pass => log.take(&mut state, now, cost),
                    _ => log.refuse(&mut state, now, cost),
                }
                log.charge(&mut state, now, ask % 2);
                assert!(state.log.len() <= 9 && log.used(&state, now) <= 9, "{} at {ask}", state.log.len());
            }
        }
    }
}
