//! Downstreams: what does the work.
//!
//! # Contract
//!
//! 1. `has_room` is pure and changes only by `start`, `leave` or `change`.
//! 2. Every `start` is followed by exactly one `leave`, when the work finishes or is taken back.

pub mod service;
pub mod slots;

use crate::gauge::Reading;
use crate::request::{Ask, Knob};
use crate::time::{Nanos, SimTime};

/// Work as a downstream accepts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// How long it takes from now.
    pub takes: Nanos,
    /// Whether it fails in the end.
    pub fails: bool,
}

/// What a change of a downstream does to the work that runs in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// It goes on.
    None,
    /// What remains of it takes this many times as long.
    Stretch(f64),
    /// All of it fails now.
    Crash,
}

/// How busy a downstream was between two readings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Use {
    /// Slots in use times nanoseconds.
    pub busy: u128,
    /// Slots times nanoseconds; `None` if they are unlimited.
    pub capacity: Option<u128>,
}

/// What does the work. See the module's contract.
pub trait Downstream: Send {
    /// Whether it can start one more.
    fn has_room(&self, ask: &Ask) -> bool;
    /// Starts the call's attempt number `attempt` (from 1).
    fn start(&mut self, now: SimTime, ask: &Ask, attempt: u32) -> Work;
    /// One leaves, finished or not.
    fn leave(&mut self, now: SimTime);
    /// The most that it works on at once; `None` is unlimited.
    fn slots(&self) -> Option<u64>;
    /// Applies a change of the scenario and says what it does to the work that runs.
    fn change(&mut self, now: SimTime, knob: Knob) -> Effect;
    /// Reads the gauges since the last reading: name, reading. Returns how busy it was.
    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) -> Use;
}
