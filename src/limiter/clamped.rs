//! A rule whose product has a clock that never goes back: time that steps back stands still.
//!
//! Timers (Envoy) and monotonic clocks (tower) can't run backwards; counters that are kept by window (upstash, limits,
//! RussellLuo) go on in the window that they have reached. In a list that is replayed out of order the last instant holds
//! until the times have caught up.

use super::{Level, Rule, Verdict};
use crate::request::Knob;
use crate::time::SimTime;

/// The rule, with a clock that never goes back.
#[derive(Clone, Debug)]
pub struct Clamped<R>(pub R);

/// The rule's state, and the last instant that it has been asked at.
#[derive(Clone, Debug)]
pub struct State<S> {
    inner: S,
    last: SimTime,
}

impl<S> State<S> {
    /// The state with the instant that holds.
    fn at(&mut self, now: SimTime) -> (&mut S, SimTime) {
        self.last = self.last.max(now);
        (&mut self.inner, self.last)
    }
}

impl<R: Rule> Rule for Clamped<R> {
    type State = State<R::State>;
    const JUMPS: bool = R::JUMPS;

    fn fresh(&self) -> Self::State {
        State { inner: self.0.fresh(), last: SimTime::ZERO }
    }

    #[inline]
    fn check(&self, state: &Self::State, now: SimTime, cost: u64) -> Verdict {
        self.0.check(&state.inner, now.max(state.last), cost)
    }

    fn take(&self, state: &mut Self::State, now: SimTime, cost: u64) {
        let (inner, now) = state.at(now);
        self.0.take(inner, now, cost);
    }

    fn give_back(&self, state: &mut Self::State, now: SimTime, cost: u64) {
        let (inner, now) = state.at(now);
        self.0.give_back(inner, now, cost);
    }

    fn charge(&self, state: &mut Self::State, now: SimTime, cost: u64) {
        let (inner, now) = state.at(now);
        self.0.charge(inner, now, cost);
    }

    fn refuse(&self, state: &mut Self::State, now: SimTime, cost: u64) {
        let (inner, now) = state.at(now);
        self.0.refuse(inner, now, cost);
    }

    fn left(&self, state: &Self::State, now: SimTime) -> i128 {
        self.0.left(&state.inner, now.max(state.last))
    }

    fn level(&self, state: &Self::State, now: SimTime) -> Level {
        self.0.level(&state.inner, now.max(state.last))
    }

    fn remaining(&self, state: &Self::State, now: SimTime) -> (i128, u128) {
        self.0.remaining(&state.inner, now.max(state.last))
    }

    fn area(&self, state: &Self::State, from: SimTime, to: SimTime) -> Option<f64> {
        self.0.area(&state.inner, from, to)
    }

    fn reset(&self, state: &Self::State, now: SimTime) -> Option<SimTime> {
        self.0.reset(&state.inner, now.max(state.last))
    }

    fn gone_at(&self, state: &Self::State, now: SimTime) -> Option<SimTime> {
        self.0.gone_at(&state.inner, now.max(state.last))
    }

    fn colour(&self, state: &Self::State, now: SimTime, cost: u64) -> Option<&'static str> {
        self.0.colour(&state.inner, now.max(state.last), cost)
    }

    fn capacity(&self) -> Option<(u64, &'static str)> {
        self.0.capacity()
    }

    fn is_idle(&self, state: &Self::State, fresh: &Self::State, now: SimTime) -> bool {
        self.0.is_idle(&state.inner, &fresh.inner, now.max(state.last))
    }

    fn counts_refusals(&self) -> bool {
        self.0.counts_refusals()
    }

    fn steps_back(&self) -> bool {
        true
    }

    fn peeks(&self) -> bool {
        self.0.peeks()
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        self.0.knob(key)
    }

    fn with(&self, knob: Knob) -> Option<Clamped<R>> {
        self.0.with(knob).map(Clamped)
    }

    fn carry(&self, old: &Clamped<R>, state: &Self::State, now: SimTime) -> Self::State {
        State { inner: self.0.carry(&old.0, &state.inner, now.max(state.last)), last: state.last }
    }

    fn counts(&self, state: &Self::State, visit: &mut dyn FnMut(&'static str, u64)) {
        self.0.counts(&state.inner, visit);
    }
}
