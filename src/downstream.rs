//! Downstreams: what does the work.
//!
//! # Contract
//!
//! 1. `has_room` is pure and changes only by `start`, `leave` or `change`.
//! 2. Every `start` is followed by exactly one `leave`, when the work finishes or is taken back.
//! 3. What `start` doesn't begin waits inside, in a backlog, until `next` names it; `next` is asked after each `leave`
//!    and `change` until it names nobody, and each that it names begins at that instant, or goes on if it was paused.

mod backlog;
pub mod preemptive;
pub mod service;
pub mod slots;

use crate::gauge::Reading;
use crate::request::{Ask, Knob};
use crate::time::{Nanos, SimTime};
use slots::Slots;

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
    /// Whether it has room for nothing, whatever is asked. `false` may mean that it wasn't looked at.
    fn is_full(&self) -> bool {
        false
    }
    /// Lets the call's attempt number `attempt` (from 1) in, whose place among the live ones is `place`; answers its
    /// work, or nothing if it waits inside.
    fn start(&mut self, now: SimTime, place: u32, ask: &Ask, attempt: u32) -> Option<Work>;
    /// Who of those that wait inside begins now.
    fn next(&mut self, _now: SimTime) -> Option<u32> {
        None
    }
    /// The work of one that begins after it has waited inside.
    fn begin(&mut self, now: SimTime, ask: &Ask, attempt: u32) -> Work;
    /// One leaves that had begun, finished or not.
    fn leave(&mut self, now: SimTime, place: u32);
    /// Whether any that has begun may have to make way for another; it is read once.
    fn pauses(&self) -> bool {
        false
    }
    /// Whether one that had begun has had to make way for another, so that it doesn't finish when it would have.
    fn is_paused(&self, _place: u32) -> bool {
        false
    }
    /// One leaves that still waits inside.
    fn withdraw(&mut self, _now: SimTime, _place: u32) {}
    /// How many it works on.
    fn busy(&self) -> u64;
    /// How many wait inside.
    fn backlog(&self) -> u64 {
        0
    }
    /// The most that it works on at once; `None` is unlimited.
    fn slots(&self) -> Option<u64>;
    /// The most that may be inside; `None` is unlimited.
    fn capacity(&self) -> Option<u64> {
        self.slots()
    }
    /// Applies a change of the scenario and says what it does to the work that runs.
    fn change(&mut self, now: SimTime, knob: Knob) -> Effect;
    /// Reads the gauges since the last reading: name, reading. Returns how busy it was.
    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) -> Use;
}

/// Any downstream, the common one by value, so that the engine's loop calls it directly.
pub enum AnyDownstream {
    /// Slots.
    Slots(Slots),
    /// Whatever else.
    Other(Box<dyn Downstream>),
}

impl From<Slots> for AnyDownstream {
    fn from(slots: Slots) -> AnyDownstream {
        AnyDownstream::Slots(slots)
    }
}

impl From<Box<dyn Downstream>> for AnyDownstream {
    fn from(downstream: Box<dyn Downstream>) -> AnyDownstream {
        AnyDownstream::Other(downstream)
    }
}

/// Calls the method of whichever downstream it is.
macro_rules! whichever {
    ($any:expr, $downstream:ident => $call:expr) => {
        match $any {
            AnyDownstream::Slots($downstream) => $call,
            AnyDownstream::Other($downstream) => $call,
        }
    };
}

impl Downstream for AnyDownstream {
    #[inline(always)]
    fn has_room(&self, ask: &Ask) -> bool {
        whichever!(self, downstream => downstream.has_room(ask))
    }
    #[inline(always)]
    fn is_full(&self) -> bool {
        whichever!(self, downstream => downstream.is_full())
    }
    #[inline(always)]
    fn start(&mut self, now: SimTime, place: u32, ask: &Ask, attempt: u32) -> Option<Work> {
        whichever!(self, downstream => downstream.start(now, place, ask, attempt))
    }
    #[inline(always)]
    fn next(&mut self, now: SimTime) -> Option<u32> {
        whichever!(self, downstream => downstream.next(now))
    }
    fn begin(&mut self, now: SimTime, ask: &Ask, attempt: u32) -> Work {
        whichever!(self, downstream => downstream.begin(now, ask, attempt))
    }
    #[inline(always)]
    fn leave(&mut self, now: SimTime, place: u32) {
        whichever!(self, downstream => downstream.leave(now, place))
    }
    fn pauses(&self) -> bool {
        whichever!(self, downstream => downstream.pauses())
    }
    fn is_paused(&self, place: u32) -> bool {
        whichever!(self, downstream => downstream.is_paused(place))
    }
    fn withdraw(&mut self, now: SimTime, place: u32) {
        whichever!(self, downstream => downstream.withdraw(now, place))
    }
    fn busy(&self) -> u64 {
        whichever!(self, downstream => downstream.busy())
    }
    fn backlog(&self) -> u64 {
        whichever!(self, downstream => downstream.backlog())
    }
    fn slots(&self) -> Option<u64> {
        whichever!(self, downstream => downstream.slots())
    }
    fn capacity(&self) -> Option<u64> {
        whichever!(self, downstream => downstream.capacity())
    }
    fn change(&mut self, now: SimTime, knob: Knob) -> Effect {
        whichever!(self, downstream => downstream.change(now, knob))
    }
    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) -> Use {
        whichever!(self, downstream => downstream.gauges(now, visit))
    }
}
