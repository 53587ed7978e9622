//! GCRA, the generic cell rate algorithm, in its virtual-scheduling form.
//!
//! The state is one number, the theoretical arrival time. A cell that comes not earlier than that time less the
//! tolerance passes and moves it on by the emission interval T; n cells move it by n·T. With burst B the tolerance
//! is T·(B − 1). It decides as a token bucket of rate 1/T and capacity B that starts full.
//!
//! T is the exact fraction q/p nanoseconds, so the time is kept in ticks of 1/p ns and nothing is rounded but the
//! advice, which is the first whole nanosecond that passes. Source: ITU-T I.371, annex A.

use super::{Level, Rule, Verdict};
use crate::request::Knob;
use crate::time::{Nanos, SimTime};
use crate::units::{MAX_AMOUNT, Rate};

/// A GCRA limit's rule. The edge: `burst` cells pass at once after silence, more than `burst` never do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gcra {
    /// Sustained rate, the inverse of the emission interval.
    pub rate: Rate,
    /// Cells that may pass at once, at most 2^63.
    pub burst: u64,
    /// What `rate` was before it was rounded to what a store can count.
    pub exact: Option<Rate>,
    /// Whether the interval was rounded to nothing, so that all pass.
    pub vanishes: bool,
}

/// The theoretical arrival time in ticks, and the last instant that moved it.
#[derive(Clone, Debug)]
pub struct State {
    arrival: u128,
    touched: SimTime,
}

impl Gcra {
    /// A limit that passes `burst` at once and `rate` for good.
    pub fn new(rate: Rate, burst: u64) -> Gcra {
        assert!(burst <= MAX_AMOUNT, "a burst is at most 2^63");
        Gcra { rate, burst, exact: None, vanishes: false }
    }

    /// The emission interval to the nearest multiple of `resolution`, half up, as a store that counts whole seconds
    /// keeps it; one that rounds to nothing limits nothing.
    pub fn rounded(rate: Rate, burst: u64, resolution: Nanos) -> Gcra {
        let step = rate.units() as u128 * resolution.0 as u128;
        let steps = (2 * rate.per().0 as u128 + step) / (2 * step);
        let interval = u64::try_from(steps * resolution.0 as u128).unwrap_or(u64::MAX);
        let exact = Some(rate);
        match Rate::new(1, Nanos(interval)) {
            Some(rate) => Gcra { exact, ..Gcra::new(rate, burst) },
            None => Gcra { exact, vanishes: true, ..Gcra::new(rate, burst) },
        }
    }

    fn ticks(&self, now: SimTime) -> u128 {
        now.0 as u128 * self.rate.units() as u128
    }

    /// Ticks of so many cells: each takes one emission interval.
    fn cells(&self, count: u64) -> u128 {
        count as u128 * self.rate.per().0 as u128
    }

    /// Ticks by which the arrival time runs ahead of now.
    fn ahead(&self, state: &State, now: SimTime) -> u128 {
        state.arrival.saturating_sub(self.ticks(now))
    }
}

impl Rule for Gcra {
    type State = State;

    fn fresh(&self) -> State {
        State { arrival: 0, touched: SimTime::ZERO }
    }

    #[inline]
    fn check(&self, state: &State, now: SimTime, cost: u64) -> Verdict {
        // Time that went back to before the last cell is refused until it has caught up.
        let then = now.max(state.touched);
        if self.vanishes {
            return if then == now { Verdict::Pass } else { Verdict::At(then) };
        }
        if self.burst < cost {
            return Verdict::Never;
        }
        let early =
            (self.ahead(state, then).saturating_add(self.cells(cost))).saturating_sub(self.cells(self.burst));
        if early == 0 && then == now { Verdict::Pass } else { Verdict::after(then, early, self.rate.units()) }
    }

    #[inline]
    fn take(&self, state: &mut State, now: SimTime, cost: u64) {
        if self.vanishes {
            state.touched = now.max(state.touched);
            return;
        }
        let ahead = self.ahead(state, now) + self.cells(cost);
        assert!(ahead <= self.cells(self.burst) || cost == 0, "taken without a pass");
        *state = State { arrival: self.ticks(now) + ahead, touched: now };
    }

    /// The arrival time moves back by what was taken.
    fn give_back(&self, state: &mut State, now: SimTime, cost: u64) {
        state.arrival = state.arrival.saturating_sub(self.cells(cost));
        state.touched = now.max(state.touched);
    }

    /// The arrival time moves on, past the tolerance if need be; one that 128 bits can't hold never comes.
    fn charge(&self, state: &mut State, now: SimTime, cost: u64) {
        if self.vanishes {
            state.touched = now.max(state.touched);
            return;
        }
        let ahead = self.ahead(state, now).saturating_add(self.cells(cost));
        *state = State { arrival: self.ticks(now).saturating_add(ahead), touched: now.max(state.touched) };
    }

    /// Moves the clock on, which changes no level.
    fn refuse(&self, state: &mut State, now: SimTime, cost: u64) {
        if cost <= self.burst {
            state.touched = now.max(state.touched);
        }
    }

    #[inline]
    fn left(&self, state: &State, now: SimTime) -> i128 {
        // Less than zero in debt alone, at most 2^127 of it.
        let ahead = i128::try_from(self.ahead(state, now)).unwrap_or(i128::MAX);
        self.cells(self.burst) as i128 - ahead
    }

    fn level(&self, state: &State, now: SimTime) -> Level {
        Level {
            credits: self.left(state, now.max(state.touched)),
            full: self.cells(self.burst) as i128,
            gain: self.rate.units(),
            price: self.rate.per().0,
            until: None,
        }
    }

    fn reset(&self, state: &State, now: SimTime) -> Option<SimTime> {
        self.level(state, now).full_at(now.max(state.touched))
    }

    fn capacity(&self) -> Option<(u64, &'static str)> {
        (!self.vanishes).then_some((self.burst, "burst"))
    }

    fn meant(&self) -> Gcra {
        Gcra { rate: self.exact.unwrap_or(self.rate), exact: None, vanishes: false, ..self.clone() }
    }

    fn peeks(&self) -> bool {
        true
    }

    fn is_idle(&self, state: &State, fresh: &State, now: SimTime) -> bool {
        self.ahead(state, now) == 0 && self.ahead(fresh, now) == 0
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        match key {
            "rate" => Some(Knob::Rate(self.rate)),
            "burst" => Some(Knob::Burst(self.burst)),
            _ => None,
        }
    }

    fn with(&self, knob: Knob) -> Option<Gcra> {
        match knob {
            Knob::Rate(rate) => Some(Gcra { rate, ..self.clone() }),
            Knob::Burst(burst) => Some(Gcra { burst, ..self.clone() }),
            _ => None,
        }
    }

    /// The cells that are spent stay spent, rounded up to the new tick; what is above a smaller burst spills.
    fn carry(&self, old: &Gcra, state: &State, now: SimTime) -> State {
        let (ahead, price) = (old.ahead(state, now), old.rate.per().0 as u128);
        let rest = (ahead % price * self.rate.per().0 as u128).div_ceil(price);
        let spent = (ahead / price).saturating_mul(self.rate.per().0 as u128).saturating_add(rest);
        let debt_is_old = old.cells(old.burst) < ahead;
        let ahead = if debt_is_old { spent } else { spent.min(self.cells(self.burst)) };
        State { arrival: self.ticks(now).saturating_add(ahead), touched: now }
    }
}
