//! What is alive: attempts, each with what its call carries, in a dense slab.
//!
//! A call has one attempt at a time that its caller waits for, so the attempt carries the call's facts, and there is
//! one place to look at in an event. Between two attempts the place waits for the retry. Work that was abandoned by
//! its caller keeps its place as an orphan; a retry then takes a place of its own.

use crate::admission::Entrant;
use crate::observe::LedgerId;
use crate::request::Ask;
use crate::time::SimTime;

/// Things in numbered places that are used again.
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { places: Vec::new(), free: Vec::new() }
    }
}

impl<T: Default> Slab<T> {
    /// A free place with what lay there before.
    #[inline(always)]
    pub(super) fn occupy(&mut self) -> (u32, &mut T) {
        let index = match self.free.pop() {
            Some(index) => index,
            None => self.grow(),
        };
        (index, &mut self.places[index as usize])
    }

    #[inline(never)]
    fn grow(&mut self) -> u32 {
        self.places.push(T::default());
        (self.places.len() - 1) as u32
    }

    #[inline(always)]
    pub(super) fn free(&mut self, index: u32) {
        self.free.push(index);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.len() == self.free.len()
    }

    /// Numbers of all places, free ones too.
    pub(super) fn places(&self) -> std::ops::Range<u32> {
        0..self.places.len() as u32
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, index: u32) -> &T {
        &self.places[index as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline(always)]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.places[index as usize]
    }
}

/// Where an attempt is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// Nowhere: its place is free or waits for a retry, or it has just arrived.
    #[default]
    Outside,
    /// It waits in the gate's queue.
    Queued,
    /// It is parked by a limiter, which is asked again.
    Deferred,
    /// It has passed the limiters, which let it go on at a later instant.
    Delayed,
    /// A limiter has refused it, and has not told it yet.
    Held,
    /// It is in service.
    Serving,
}

/// What has become of work that has started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Work {
    /// It waits inside the downstream.
    #[default]
    Waits,
    /// It has begun, and its end is in the calendar.
    Begun,
    /// It waits for calls that it has made, in its slot.
    Calling,
    /// It waits for them, and has given up its slot.
    Away,
}

/// One try of a call, and what the call carries.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempt {
    pub(super) ask: Ask,
    /// The call's number in the order of birth.
    pub(super) call: u64,
    /// When the call was born.
    pub(super) born: SimTime,
    /// The last instant at which an answer counts.
    pub(super) deadline: SimTime,
    pub(super) arrived: SimTime,
    pub(super) started: SimTime,
    /// When its service ends; an event for another instant is stale.
    pub(super) finish: SimTime,
    /// Counts the uses of this place, so that timers of earlier ones are recognised.
    pub(super) generation: u32,
    /// Its number among the call's attempts, from 1.
    pub(super) number: u32,
    pub(super) ledger: LedgerId,
    pub(super) traffic: u16,
    pub(super) client: u16,
    pub(super) gate: u16,
    pub(super) state: State,
    pub(super) fails: bool,
    /// What has become of its work, while it is in service.
    pub(super) work: Work,
    /// Whether a downstream makes the call.
    pub(super) inner: bool,
    /// Whether its caller has stopped waiting for it.
    pub(super) orphan: bool,
    /// Whether a timer of its caller runs.
    pub(super) timed: bool,
}

impl Attempt {
    /// The next attempt of the same call, to lie in a place of the given generation.
    pub(super) fn again(&self, generation: u32) -> Attempt {
        Attempt {
            generation,
            number: self.number + 1,
            state: State::Outside,
            fails: false,
            orphan: false,
            timed: false,
            ..self.clone()
        }
    }

    /// As stages are told of it; it lies in `place`.
    #[inline(always)]
    pub(super) fn entrant(&self, now: SimTime, place: u32) -> Entrant<'_> {
        Entrant {
            ask: &self.ask,
            place,
            number: self.number,
            waited: now - self.arrived,
            queued: self.state == State::Queued,
        }
    }

    /// It has ended: what refers to it no longer does.
    #[inline(always)]
    pub(super) fn end(&mut self) {
        self.state = State::Outside;
        self.timed = false;
        self.generation = self.generation.wrapping_add(1);
    }

    /// Which attempt of which call it is, in one number: the same wherever it lies.
    #[inline(always)]
    pub(super) fn story(&self) -> u64 {
        self.call.rotate_left(8) ^ self.number as u64
    }
}

/// A reference to an attempt that an event can hold: its place and generation.
#[inline(always)]
pub(super) fn reference(index: u32, generation: u32) -> u64 {
    (generation as u64) << 32 | index as u64
}

/// The place and generation of a reference.
#[inline(always)]
pub(super) fn resolve(about: u64) -> (u32, u32) {
    (about as u32, (about >> 32) as u32)
}
