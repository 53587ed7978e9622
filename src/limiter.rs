//! Limiters: stages that ask how fast work arrives, and pass or refuse it on arrival.
//!
//! # Contract
//!
//! 1. `check` is pure: any number of checks changes no later answer.
//! 2. After `Pass`, `take` at that instant is legal.
//! 3. `At(t)` is the first instant that passes if nothing else happens; one nanosecond earlier is refused.
//! 4. `Never` is permanent: no wait helps.
//! 5. Every `take` is followed by exactly one `settle`.
//! 6. Answers depend on construction and the sequence of calls alone.
//! 7. A refused ask charges nothing.
//!
//! A property test holds every entry of the registry to it.
//!
//! Most limits are a [`Rule`] (pure arithmetic over a small state). [`Single`] makes a limiter of a rule, [`Keyed`]
//! one limiter with a state per tenant, user, feature or class.

pub mod gcra;
mod keyed;
mod single;
pub mod token_bucket;

use crate::gauge::Reading;
use crate::request::{Ask, End, Key, Knob};
use crate::time::SimTime;
pub use keyed::Keyed;
pub use single::Single;

/// A limiter's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may pass now.
    Pass,
    /// Not before that instant; then, if nothing else happens.
    At(SimTime),
    /// Not at any time: it is larger than the limit.
    Never,
}

impl Verdict {
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
    /// What is left for this ask's key, as a fraction `(numerator, denominator)` of units.
    fn remaining(&self, now: SimTime, ask: &Ask) -> (u128, u128);
    /// Applies a change of the scenario. A knob that it doesn't have changes nothing.
    fn change(&mut self, now: SimTime, knob: Knob);
    /// Reads the gauges since the last reading: name, reading.
    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading));
}

/// A limit's arithmetic apart from its state, so that a keyed limit needs one small state per key.
pub trait Rule: Clone + Send {
    /// What changes with time and use.
    type State: Clone + Send;

    /// The state that nothing has used yet.
    fn fresh(&self) -> Self::State;
    /// See [`Limiter::check`].
    fn check(&self, state: &Self::State, now: SimTime, ask: &Ask) -> Verdict;
    /// See [`Limiter::take`].
    fn take(&self, state: &mut Self::State, now: SimTime, ask: &Ask);
    /// See [`Limiter::settle`].
    fn settle(&self, state: &mut Self::State, now: SimTime, ask: &Ask, end: End);
    /// Credits left at `now`.
    fn left(&self, state: &Self::State, now: SimTime) -> u128;
    /// What is left at `now`.
    fn level(&self, state: &Self::State, now: SimTime) -> Level;
    /// The rule after a change, if it has that knob.
    fn with(&self, knob: Knob) -> Option<Self>;
    /// The state under this rule that continues `state` under the rule `old`.
    fn carry(&self, old: &Self, state: &Self::State, now: SimTime) -> Self::State;
}

/// What is left of a limit, and how it grows: linear up to full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Credits left.
    pub credits: u128,
    /// Credits when nothing is used.
    pub full: u128,
    /// Credits gained per nanosecond.
    pub gain: u64,
    /// Credits per unit.
    pub price: u64,
}

/// Makes a limiter of a rule: one limit for all, or one per key.
pub fn build<R: Rule + 'static>(rule: R, key: Option<Key>) -> Box<dyn Limiter>
where
    R::State: 'static,
{
    match key {
        None => Box::new(Single::new(rule)),
        Some(key) => Box::new(Keyed::new(rule, key)),
    }
}
