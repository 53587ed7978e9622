//! What is alive: calls and their attempts, each in a dense slab.
//!
//! A call lives until it is answered or given up *and* none of its attempts is at work any more; work that was
//! abandoned by its caller goes on as an orphan of a call that may have ended.

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

impl<T> Slab<T> {
    /// Puts a thing in a free place; `make` gets what lay there before.
    #[inline]
    pub(super) fn insert(&mut self, make: impl FnOnce(Option<&T>) -> T) -> u32 {
        match self.free.pop() {
            Some(index) => {
                let place = &mut self.places[index as usize];
                *place = make(Some(place));
                index
            }
            None => {
                self.places.push(make(None));
                (self.places.len() - 1) as u32
            }
        }
    }

    #[inline]
    pub(super) fn free(&mut self, index: u32) {
        self.free.push(index);
    }

    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Numbers of all places, free ones too.
    pub(super) fn places(&self) -> std::ops::Range<u32> {
        0..self.places.len() as u32
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.places[index as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.places[index as usize]
    }
}

/// One thing that a client wants done.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) ask: Ask,
    pub(super) born: SimTime,
    /// Its number in the order of birth.
    pub(super) number: u64,
    /// Attempts made so far.
    pub(super) attempts: u32,
    /// Attempts alive.
    pub(super) live: u32,
    pub(super) traffic: u16,
    pub(super) client: u16,
    pub(super) gate: u16,
    pub(super) ledger: LedgerId,
    /// Whether the client still wants an answer.
    pub(super) open: bool,
}

/// Where an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nowhere: the place is free, or the attempt has just arrived.
    Outside,
    /// It waits in the gate's queue.
    Queued,
    /// It is parked by a limiter.
    Deferred,
    /// It is in service.
    Serving,
}

/// One try of a call.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) arrived: SimTime,
    pub(super) started: SimTime,
    /// When its service ends; an event for another instant is stale.
    pub(super) finish: SimTime,
    pub(super) call: u32,
    /// Counts the uses of this place, so that timers of earlier ones are recognised.
    pub(super) generation: u32,
    /// Its number among the call's attempts, from 1.
    pub(super) number: u32,
    pub(super) gate: u16,
    pub(super) state: State,
    pub(super) fails: bool,
    /// Whether its caller has stopped waiting for it.
    pub(super) orphan: bool,
    /// Whether a timer of its caller runs.
    pub(super) timed: bool,
}

/// A reference to an attempt that an event can hold: its place and generation.
#[inline]
pub(super) fn reference(index: u32, generation: u32) -> u64 {
    (generation as u64) << 32 | index as u64
}

/// The place and generation of a reference.
#[inline]
pub(super) fn resolve(about: u64) -> (u32, u32) {
    (about as u32, (about >> 32) as u32)
}
