//! Limiters: stages that ask how fast work arrives, and pass or refuse it on arrival.
//!
//! # Contract
//!
//! 1. `check` is pure: any number of checks changes no later answer.
//! 2. After `Pass` or `Delay`, `take` at that instant is legal.
//! 3. `At(t)` is the first instant that passes if nothing else happens; one nanosecond earlier is refused.
//! 4. `Never` stays, if nothing else happens: no wait helps.
//! 5. Every `take` is followed by exactly one `settle`.
//! 6. Answers depend on construction and the sequence of calls alone.
//! 7. A refused ask charges nothing, unless the kind counts what it refuses and is told so by `refuse`.
//!
//! A property test holds every entry of the registry to it. The engine's clock never goes back. Lists that are
//! replayed may: the exact kinds then refuse and stay as they are, `At` the last instant that touched them or
//! later; dialects do what their product does.
//!
//! Most limits are a [`Rule`]: pure arithmetic over a small state, which knows costs and no calls. [`Single`] makes a
//! limiter of a rule, [`Keyed`] one limiter with a state per tenant, user, feature or class; what a call costs and
//! how that settles is their [`Charge`]. [`Exempt`], [`Shadow`] and [`Advised`] are wrapped around any limiter.

mod advice;
pub mod bandwidths;
mod blueprint;
mod charge;
pub mod clamped;
pub mod deployment;
mod exempt;
pub mod fixed_window;
pub mod gcra;
pub mod go_rate;
pub mod guava;
mod in_flight;
pub mod interval_bucket;
mod keyed;
pub mod leaky_meter;
mod level;
mod meter;
pub mod nginx;
pub mod quota;
mod search;
pub mod sentinel_pacer;
pub mod sentinel_warm_up;
mod shadow;
mod single;
pub mod sliding_counter;
pub mod sliding_log;
pub mod smooth_pacer;
pub mod srtcm;
pub mod ticks;
pub mod token_bucket;
pub mod trtcm;
pub mod uber_pacer;
pub mod unlimited;

use crate::gauge::Reading;
use crate::request::{Ask, End, Knob};
use crate::time::{Nanos, SimTime};
pub use advice::{Advice, Advised, Basis, Jitter, whole_seconds};
pub use blueprint::{Blueprint, Options};
pub use charge::{Charge, Mode};
pub use exempt::Exempt;
pub use keyed::Keyed;
pub use level::Level;
pub use shadow::Shadow;
pub use single::Single;

/// A limiter's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may pass now.
    Pass,
    /// It passes and is charged now, but starts at that instant, which is later.
    Delay(SimTime),
    /// Not before that instant; then, if nothing else happens.
    At(SimTime),
    /// Not at any time, whatever passes: it is larger than the limit, or only the end of other work helps.
    Never,
}

impl Verdict {
    /// Whether it may be taken now.
    #[inline]
    pub fn passes(self) -> bool {
        matches!(self, Verdict::Pass | Verdict::Delay(_))
    }

    /// The instant before which it can't pass; `None` if it passes, or never does.
    pub fn at(self) -> Option<SimTime> {
        match self {
            Verdict::At(at) => Some(at),
            _ => None,
        }
    }

    /// The first instant at which `lack` credits have been gained at `gain` per nanosecond.
    #[inline]
    fn after(now: SimTime, lack: u128, gain: u64) -> Verdict {
        // What most lack fits 64 bits, whose division is far cheaper.
        let wait = match u64::try_from(lack) {
            Ok(lack) => Some(lack.div_ceil(gain)),
            Err(_) => u64::try_from(lack.div_ceil(gain as u128)).ok(),
        };
        match wait.and_then(|wait| now.0.checked_add(wait)) {
            Some(at) => Verdict::At(SimTime(at)),
            None => Verdict::Never, // past the end of representable time
        }
    }
}

/// A stage that asks how fast. See the module's contract.
pub trait Limiter: Send {
    /// Whether the ask may pass, or when.
    fn check(&self, now: SimTime, ask: &Ask) -> Verdict;
    /// Takes what `check` passed at this instant.
    fn take(&mut self, now: SimTime, ask: &Ask);
    /// Gives back or charges what the end shows; exactly once per `take`.
    fn settle(&mut self, now: SimTime, ask: &Ask, end: End);
    /// Hears that it has refused an ask that arrived; not told when one that waits is looked at again.
    fn refuse(&mut self, _now: SimTime, _ask: &Ask) {}
    /// What is left for this ask's key, as a fraction `(numerator, denominator)` of units; below zero in debt.
    fn remaining(&self, now: SimTime, ask: &Ask) -> (i128, u128);
    /// When the limit of this ask's key stands again as if unused; not past the end of time.
    fn reset(&self, _now: SimTime, _ask: &Ask) -> Option<SimTime> {
        None
    }
    /// How long one that it has just refused is kept before it is told; most tell at once.
    fn holds(&self, _now: SimTime, _ask: &Ask) -> Nanos {
        Nanos::ZERO
    }
    /// When an ask that it has just been told to have refused would pass, which was `at` before that.
    fn after_refusal(&self, _now: SimTime, _ask: &Ask, at: Option<SimTime>) -> Option<SimTime> {
        at
    }
    /// What it tells an ask that it has just refused to wait, which would pass `at` that instant: exact unless it
    /// is told to say something else. `None` says nothing.
    fn advise(&self, now: SimTime, _ask: &Ask, at: Option<SimTime>) -> Option<Nanos> {
        at.map(|at| at.since(now))
    }
    /// Which of its limits refuses the ask; empty if it has but one.
    fn binding(&self, _now: SimTime, _ask: &Ask) -> &'static str {
        ""
    }
    /// The colour that a marker gives the ask before it is taken; `None` for what is no marker.
    fn colour(&self, _now: SimTime, _ask: &Ask) -> Option<&'static str> {
        None
    }
    /// What it has counted since the start beside its decisions: name, number.
    fn counts(&self, _visit: &mut dyn FnMut(&'static str, u64)) {}
    /// Applies a change of the scenario. A knob that it doesn't have changes nothing.
    fn change(&mut self, now: SimTime, knob: Knob);
    /// Reads the gauges since the last reading: name, reading.
    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading));
}

/// A limit's arithmetic over costs apart from its state, so that a keyed limit needs one small state per key.
pub trait Rule: Clone + Send {
    /// What changes with time and use.
    type State: Clone + Send;
    /// Whether the level jumps by itself: a line of [`Level`] may then end.
    const JUMPS: bool = false;

    /// The state that nothing has used yet.
    fn fresh(&self) -> Self::State;
    /// Whether `cost` may pass, or when.
    fn check(&self, state: &Self::State, now: SimTime, cost: u64) -> Verdict;
    /// Takes what `check` passed at this instant.
    fn take(&self, state: &mut Self::State, now: SimTime, cost: u64);
    /// Gives back what was taken and not used, up to what is full. A pacer's turn that is over can't be had again.
    fn give_back(&self, _state: &mut Self::State, _now: SimTime, _cost: u64) {}
    /// Takes what was used already, asked or not: what is left may fall below zero.
    fn charge(&self, state: &mut Self::State, now: SimTime, cost: u64);
    /// Hears that an ask that arrived was refused by it.
    fn refuse(&self, _state: &mut Self::State, _now: SimTime, _cost: u64) {}
    /// How long one that it has just refused is kept before it is told.
    fn holds(&self, _state: &Self::State, _now: SimTime) -> Nanos {
        Nanos::ZERO
    }
    /// Whether what it refuses puts off when the same would pass, so that the wait is reckoned anew to be told.
    fn counts_refusals(&self) -> bool {
        false
    }
    /// Credits left at `now`.
    fn left(&self, state: &Self::State, now: SimTime) -> i128 {
        self.level(state, now).credits
    }
    /// What is left at `now`, and how it grows.
    fn level(&self, state: &Self::State, now: SimTime) -> Level;
    /// What its product says is left at `now`: a fraction `(numerator, denominator)` of units.
    fn remaining(&self, state: &Self::State, now: SimTime) -> (i128, u128) {
        let level = self.level(state, now);
        (level.credits, level.price.into())
    }
    /// The integral of the level in credits and nanoseconds, where a kind knows a shorter way than jump by jump.
    fn area(&self, _state: &Self::State, _from: SimTime, _to: SimTime) -> Option<f64> {
        None
    }
    /// When the limit stands again as if unused, or what its kind tells as its reset.
    fn reset(&self, state: &Self::State, now: SimTime) -> Option<SimTime> {
        self.level(state, now).full_at(now)
    }
    /// When nothing that was used counts any more, so that a store forgets the key; not past the end of time.
    fn gone_at(&self, state: &Self::State, now: SimTime) -> Option<SimTime> {
        self.reset(state, now)
    }
    /// The limit that was meant, where a deployment rounds it to what its store can count.
    fn meant(&self) -> Self {
        self.clone()
    }
    /// The colour that a marker gives what is asked; `None` for what is no marker.
    fn colour(&self, _state: &Self::State, _now: SimTime, _cost: u64) -> Option<&'static str> {
        None
    }
    /// The most that may pass at once, and the key in files that says so; `None` if any cost may pass.
    fn capacity(&self) -> Option<(u64, &'static str)> {
        None
    }
    /// Whether the state decides from now on as `fresh` would, which nothing has used. Saying no is always right.
    fn is_idle(&self, _state: &Self::State, _fresh: &Self::State, _now: SimTime) -> bool {
        false
    }
    /// Whether it has an answer of its own to time that goes back; the exact kinds refuse it.
    fn steps_back(&self) -> bool {
        false
    }
    /// Whether an ask that costs nothing has a meaning: it looks at the limit and takes nothing.
    fn peeks(&self) -> bool {
        false
    }
    /// What holds for a key that an event may change.
    fn knob(&self, _key: &str) -> Option<Knob> {
        None
    }
    /// The rule after a change, if it has that knob.
    fn with(&self, _knob: Knob) -> Option<Self> {
        None
    }
    /// The state under this rule that continues `state` under the rule `old`.
    fn carry(&self, _old: &Self, state: &Self::State, _now: SimTime) -> Self::State {
        state.clone()
    }
    /// What it counts since the start: name, number.
    fn counts(&self, _state: &Self::State, _visit: &mut dyn FnMut(&'static str, u64)) {}
}

/// When an ask that has just been refused would pass, which was `at` before the refusal.
#[inline]
fn after_refusal<R: Rule>(
    rule: &R,
    state: &R::State,
    now: SimTime,
    cost: u64,
    at: Option<SimTime>,
) -> Option<SimTime> {
    match rule.counts_refusals() {
        true => match rule.check(state, now, cost) {
            Verdict::At(at) => Some(at),
            Verdict::Never => None,
            // It comes to another gateway, which passes it.
            Verdict::Pass | Verdict::Delay(_) => at,
        },
        false => at,
    }
}
