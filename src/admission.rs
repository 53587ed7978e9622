//! Admission: stages that ask whether there is room or health for one more, and pass it, let it wait or shed it.
//!
//! # Contract
//!
//! 1. `admit` is pure.
//! 2. After `Pass`, `take` at that instant is legal.
//! 3. `Wait` changes only by `settle`, `wake` or `change`; the engine asks again after each of them.
//! 4. Every `take` is followed by exactly one `settle`, which carries the outcome and the latency.
//! 5. Answers depend on construction and the sequence of calls alone.

pub mod concurrency;

use crate::gauge::Reading;
use crate::request::{Ask, End, Knob, Reason};
use crate::time::SimTime;

/// An admission stage's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It may start now.
    Pass,
    /// There is no room for this one: it may wait, if there is a queue.
    Wait,
    /// It is turned away.
    Shed(Reason),
}

/// A stage that asks whether there is room. See the module's contract.
pub trait Admission: Send {
    /// Whether the ask may start now.
    fn admit(&self, now: SimTime, ask: &Ask) -> Answer;
    /// Takes what `admit` passed at this instant.
    fn take(&mut self, now: SimTime, ask: &Ask);
    /// Gives back; exactly once per `take`.
    fn settle(&mut self, now: SimTime, ask: &Ask, end: End);
    /// Whether an ask that must wait says nothing of the next one, because each key has room of its own.
    fn per_key(&self) -> bool {
        false
    }
    /// Why an ask is turned away when it should wait and can't.
    fn reason(&self) -> Reason {
        Reason::Concurrency
    }
    /// The most that may be in flight through this stage, for timelines.
    fn limit(&self) -> Option<u64> {
        None
    }
    /// Applies a change of the scenario. A knob that it doesn't have changes nothing.
    fn change(&mut self, now: SimTime, knob: Knob);
    /// Reads the gauges since the last reading: name, reading.
    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading));
}
