//! Admission: stages that ask whether there is room or health for one more, and pass it, let it wait or shed it.
//!
//! # Contract
//!
//! 1. `sheds` is asked once of each that has passed the limiters, before room is asked for; an earlier stage is not
//!    told what a later one says.
//! 2. `admit` is pure.
//! 3. After `Pass`, `take` at that instant is legal.
//! 4. `Wait` changes only by `settle`, `gave_up`, `ring` or `change`; the engine asks again after each of them.
//! 5. Every `take` is followed by exactly one `settle`, which carries the outcome and the latency.
//! 6. A stage that [keeps time](Habits::keeps_time) is rung at the instant that `alarm` names, which is read again
//!    after every call that changes the stage; after `ring` it names a later one.
//! 7. Answers depend on construction and the sequence of calls alone.

pub mod adaptive;
pub mod aimd;
pub mod async_bulkhead_llm;
pub mod authenticate;
pub mod breakwater;
mod buckets;
pub mod bulkhead;
mod chance;
pub mod concurrency;
mod correlation;
mod cpu;
pub mod dagor;
mod decimal_histogram;
pub mod envoy_gradient;
pub mod estimator;
mod exempt;
pub mod failsafe_adaptive;
pub mod floor_lending;
pub mod gie_saturation;
pub mod go_zero_shedder;
pub mod gradient;
pub mod gradient2;
pub mod kratos_bbr;
pub mod litellm_priority;
mod log_sketch;
pub mod moving_average;
pub mod overload_manager;
pub mod partitioned;
pub mod pid_shedder;
mod plan;
pub mod priority_levels;
pub mod queue_delay;
mod recent;
pub mod reserved;
pub mod sample_window;
pub mod seda;
pub mod sentinel_system;
pub mod sessions;
mod shadow;
pub mod throttle;
pub mod token_budget;
pub mod utilization_shedder;
pub mod vegas;

pub use exempt::Exempt;
pub use plan::{Cast, Options, Plan};
pub use shadow::Shadow;

use crate::gauge::Reading;
use crate::request::{Ask, End, Knob, Reason};
use crate::time::{Nanos, SimTime};

/// One attempt, as a stage is told of it.
#[derive(Clone, Copy, Debug)]
pub struct Entrant<'a> {
    /// What it carries.
    pub ask: &'a Ask,
    /// Its place among what is alive: no two have the same at a time, and they are few and dense.
    pub place: u32,
    /// Its number among the call's attempts, from 1.
    pub number: u32,
    /// How long it has waited since it arrived.
    pub waited: Nanos,
    /// Whether it is asked about from the queue, in which it waits.
    pub queued: bool,
}

/// What a stage may see of what stands behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scene {
    /// How many wait in the queue.
    pub waiting: u64,
    /// How long the one whose turn it is has waited there.
    pub delay: Nanos,
    /// How many the downstream works on.
    pub busy: u64,
    /// How many it can work on at once; `None` is unlimited.
    pub slots: Option<u64>,
    /// How many wait inside the downstream.
    pub backlog: u64,
}

/// A refusal: why, and which of a stage's limits it was, by a word of the stage's own; empty if it has but one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denial {
    /// Why.
    pub reason: Reason,
    /// Whose limit it was: `global`, `class`.
    pub scope: &'static str,
}

/// An admission stage's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It may start now.
    Pass,
    /// There is no room for this one: it may wait, if there is a queue.
    Wait,
    /// It is turned away.
    Shed(Denial),
}

/// What the engine has to do for a stage beside asking for room; it is read once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Habits {
    /// Whether it may shed what arrives.
    pub sheds: bool,
    /// Whether it has an alarm.
    pub keeps_time: bool,
    /// Whether its limit moves by itself.
    pub adapts: bool,
    /// Whether it wants to hear of those that wait in the queue.
    pub minds_queue: bool,
    /// Whether it wants to hear of those that it let in and that were lost before they started.
    pub minds_losses: bool,
}

/// A stage that asks whether there is room. See the module's contract.
pub trait Admission: Send {
    /// What it does beside answering.
    fn habits(&self) -> Habits {
        Habits::default()
    }
    /// Why one that arrives is turned away at once, if it is.
    fn sheds(&mut self, _now: SimTime, _entrant: &Entrant<'_>, _scene: &Scene) -> Option<Denial> {
        None
    }
    /// Whether it may start now.
    fn admit(&self, _now: SimTime, _entrant: &Entrant<'_>) -> Answer {
        Answer::Pass
    }
    /// Takes what `admit` passed at this instant.
    fn take(&mut self, now: SimTime, entrant: &Entrant<'_>);
    /// Gives back; exactly once per `take`, of the one in the same place.
    fn settle(&mut self, now: SimTime, entrant: &Entrant<'_>, end: End);
    /// One that lacked room waits in the queue now. It leaves by `take`, as queued, or by `gave_up`.
    fn waits(&mut self, _now: SimTime, _entrant: &Entrant<'_>) {}
    /// One that waited has left without starting.
    fn gave_up(&mut self, _now: SimTime, _entrant: &Entrant<'_>) {}
    /// One that `sheds` let in has ended without starting: turned away by a later stage, the queue or the downstream, or,
    /// without a reason, left by its caller. Answers what it tells that one to wait, if it has a say in it.
    fn lost(&mut self, _now: SimTime, _entrant: &Entrant<'_>, _reason: Option<Reason>) -> Option<Nanos> {
        None
    }
    /// Whether one that must wait says nothing of the next one, because each key has room of its own.
    fn per_key(&self) -> bool {
        false
    }
    /// Why one is turned away that should wait and can't.
    fn denial(&self, _now: SimTime, _entrant: &Entrant<'_>) -> Denial {
        Denial::of(Reason::Concurrency)
    }
    /// What it tells one to wait that it has turned away; it is asked once of each.
    fn advise(&mut self, _now: SimTime, _entrant: &Entrant<'_>) -> Option<Nanos> {
        None
    }
    /// When it wants to be rung.
    fn alarm(&self) -> Option<SimTime> {
        None
    }
    /// Time has passed, up to the alarm.
    fn ring(&mut self, _now: SimTime, _scene: &Scene) {}
    /// The most that may be in flight through this stage, for timelines.
    fn limit(&self) -> Option<u64> {
        None
    }
    /// Applies a change of the scenario. A knob that it doesn't have changes nothing.
    fn change(&mut self, _now: SimTime, _knob: Knob) {}
    /// Reads the gauges since the last reading: name, reading.
    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading));
}

impl Denial {
    /// A refusal of a stage that has but one limit.
    pub fn of(reason: Reason) -> Denial {
        Denial { reason, scope: "" }
    }
}

impl Habits {
    /// What either of two does.
    pub fn or(self, other: Habits) -> Habits {
        Habits {
            sheds: self.sheds || other.sheds,
            keeps_time: self.keeps_time || other.keeps_time,
            adapts: self.adapts || other.adapts,
            minds_queue: self.minds_queue || other.minds_queue,
            minds_losses: self.minds_losses || other.minds_losses,
        }
    }
}

impl<'a> Entrant<'a> {
    /// A first attempt that has not waited, in the first place.
    pub fn first(ask: &'a Ask) -> Entrant<'a> {
        Entrant { ask, place: 0, number: 1, waited: Nanos::ZERO, queued: false }
    }
}
