//! Queues: where work waits for room, and in which order it is offered.
//!
//! # Contract
//!
//! 1. What was pushed leaves exactly once: by `remove`, whether it starts, expires or is abandoned.
//! 2. `first` and `next` walk all that wait, in the order of the discipline, and change nothing.
//! 3. A ticket is pushed again only after it was removed.

pub mod fifo;

use crate::request::{Ask, Knob};
use crate::time::{Nanos, SimTime};
use fifo::Fifo;

/// A waiting attempt, by its place among the live ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(pub u32);

/// A queue discipline with its bounds. See the module's contract.
pub trait Queue: Send {
    /// Whether one more may wait.
    fn has_room(&self, ask: &Ask) -> bool;
    /// Lets it wait.
    fn push(&mut self, now: SimTime, ticket: Ticket, ask: &Ask);
    /// Takes it out.
    fn remove(&mut self, ticket: Ticket);
    /// The one whose turn it is.
    fn first(&self) -> Option<Ticket>;
    /// The one whose turn comes after `ticket`, which waits.
    fn next(&self, ticket: Ticket) -> Option<Ticket>;
    /// How many wait.
    fn len(&self) -> u64;
    /// Whether none waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The longest that one pushed now may wait; `None` is for ever.
    fn max_wait(&self) -> Option<Nanos>;
    /// Whether one that lacks room for its own key keeps those behind it from starting.
    fn head_of_line_blocks(&self) -> bool;
    /// Applies a change of the scenario: bounds apply to those pushed from now on.
    fn change(&mut self, knob: Knob);
}

/// Any queue, the common one by value, so that the engine's loop calls it directly.
pub enum AnyQueue {
    /// First in, first out.
    Fifo(Fifo),
    /// Whatever else.
    Other(Box<dyn Queue>),
}

impl From<Fifo> for AnyQueue {
    fn from(fifo: Fifo) -> AnyQueue {
        AnyQueue::Fifo(fifo)
    }
}

impl From<Box<dyn Queue>> for AnyQueue {
    fn from(queue: Box<dyn Queue>) -> AnyQueue {
        AnyQueue::Other(queue)
    }
}

/// Calls the method of whichever queue it is.
macro_rules! whichever {
    ($any:expr, $queue:ident => $call:expr) => {
        match $any {
            AnyQueue::Fifo($queue) => $call,
            AnyQueue::Other($queue) => $call,
        }
    };
}

impl Queue for AnyQueue {
    #[inline(always)]
    fn has_room(&self, ask: &Ask) -> bool {
        whichever!(self, queue => queue.has_room(ask))
    }
    #[inline(always)]
    fn push(&mut self, now: SimTime, ticket: Ticket, ask: &Ask) {
        whichever!(self, queue => queue.push(now, ticket, ask))
    }
    #[inline(always)]
    fn remove(&mut self, ticket: Ticket) {
        whichever!(self, queue => queue.remove(ticket))
    }
    #[inline(always)]
    fn first(&self) -> Option<Ticket> {
        whichever!(self, queue => queue.first())
    }
    #[inline(always)]
    fn next(&self, ticket: Ticket) -> Option<Ticket> {
        whichever!(self, queue => queue.next(ticket))
    }
    #[inline(always)]
    fn len(&self) -> u64 {
        whichever!(self, queue => queue.len())
    }
    #[inline(always)]
    fn max_wait(&self) -> Option<Nanos> {
        whichever!(self, queue => queue.max_wait())
    }
    #[inline(always)]
    fn head_of_line_blocks(&self) -> bool {
        whichever!(self, queue => queue.head_of_line_blocks())
    }
    fn change(&mut self, knob: Knob) {
        whichever!(self, queue => queue.change(knob))
    }
}
