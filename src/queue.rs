//! Queues: where work waits for room, and in which order it is offered.
//!
//! # Contract
//!
//! 1. What was pushed leaves exactly once: by `start`, or by `remove` if it is shed, expires or is abandoned.
//! 2. `first` and `next` walk all that wait, in the order of the discipline, and change nothing. `start` goes on with
//!    the walk: of those it has not come by, none is left out.
//! 3. A ticket is pushed again only after it has left.
//! 4. `sheds` is asked once for each that could start now; if it answers no, the attempt starts within that event.
//! 5. Nobody is a `victim` unless that, with further victims if need be, makes room for who comes.
//!
//! [`Fifo`] is held by value. Every other queue is a [`line::Line`]: an order, bounds, and a law of dequeuing.

pub mod adaptive_lifo;
pub mod bounds;
pub mod codel;
pub mod controlled_delay;
pub mod deck;
pub mod drr;
pub mod edf;
pub mod fair;
pub mod fifo;
pub mod flows;
pub mod lifo;
pub mod line;
mod list;
pub mod priority;
pub mod sfq;
pub mod shuffle_sharding;
mod sorted;
mod virtual_time;
pub mod weights;

use crate::gauge::Reading;
use crate::request::{Ask, Knob};
use crate::time::{Nanos, SimTime};
use fifo::Fifo;

/// A waiting attempt, by its place among the live ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(pub u32);

/// Reads a gauge: its name and what it says since the last reading.
pub type Visit<'a> = &'a mut dyn FnMut(&'static str, Reading);

/// What becomes of one that could start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It starts and is taken out; whose turn it is then.
    Starts(Option<Ticket>),
    /// It is shed, and still to be removed.
    Shed,
}

/// A queue discipline with its bounds. See the module's contract.
pub trait Queue: Send {
    /// Whether one more may wait.
    fn has_room(&self, ask: &Ask) -> bool;
    /// Whether anybody ever leaves for one that finds no room.
    fn has_victims(&self) -> bool {
        false
    }
    /// Who is to leave for one that finds no room; `None` turns that one away.
    fn victim(&self, _now: SimTime, _ask: &Ask) -> Option<Ticket> {
        None
    }
    /// Lets it wait; its answer is of use up to `deadline`.
    fn push(&mut self, now: SimTime, ticket: Ticket, ask: &Ask, deadline: SimTime);
    /// Takes out one that leaves without starting.
    fn remove(&mut self, now: SimTime, ticket: Ticket);
    /// Whether one that could start now is shed instead.
    fn sheds(&mut self, _now: SimTime, _ticket: Ticket) -> bool {
        false
    }
    /// Takes out one that starts; answers whose turn it is then.
    fn start(&mut self, now: SimTime, ticket: Ticket) -> Option<Ticket>;
    /// Sheds one that could start, or takes it out to start.
    #[inline(always)]
    fn take_turn(&mut self, now: SimTime, ticket: Ticket) -> Turn {
        if self.sheds(now, ticket) { Turn::Shed } else { Turn::Starts(self.start(now, ticket)) }
    }
    /// One starts that found room and did not wait.
    fn passed(&mut self, _now: SimTime, _ticket: Ticket, _ask: &Ask) {}
    /// Whether one that found room may start without waiting, because nobody waits whom it may not overtake.
    fn may_pass(&self, now: SimTime, ask: &Ask) -> bool;
    /// Whether it wants to hear of ends; it is read once.
    fn minds_ends(&self) -> bool {
        false
    }
    /// One that has started ends, after so long.
    fn ended(&mut self, _now: SimTime, _ticket: Ticket, _took: Nanos) {}
    /// The one whose turn it is.
    fn first(&self, now: SimTime) -> Option<Ticket>;
    /// The one whose turn comes after `ticket`, which waits.
    fn next(&self, now: SimTime, ticket: Ticket) -> Option<Ticket>;
    /// The one who may start although there is no room for `ticket`, whose turn it is; `None` if that one holds up all
    /// behind it.
    fn pass_over(&self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        self.next(now, ticket)
    }
    /// How many wait.
    fn len(&self) -> u64;
    /// Whether none waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The longest that one pushed now may wait; `None` is for ever.
    fn max_wait(&self, now: SimTime) -> Option<Nanos>;
    /// Whether one that lacks room for its own key keeps any of those behind it from starting.
    fn head_of_line_blocks(&self) -> bool;
    /// Applies a change of the scenario: bounds apply to those pushed from now on.
    fn change(&mut self, knob: Knob);
    /// Reads the gauges since the last reading.
    fn gauges(&mut self, _now: SimTime, _visit: Visit<'_>) {}
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
    fn has_victims(&self) -> bool {
        whichever!(self, queue => queue.has_victims())
    }
    fn victim(&self, now: SimTime, ask: &Ask) -> Option<Ticket> {
        whichever!(self, queue => queue.victim(now, ask))
    }
    #[inline(always)]
    fn push(&mut self, now: SimTime, ticket: Ticket, ask: &Ask, deadline: SimTime) {
        whichever!(self, queue => queue.push(now, ticket, ask, deadline))
    }
    #[inline(always)]
    fn remove(&mut self, now: SimTime, ticket: Ticket) {
        whichever!(self, queue => queue.remove(now, ticket))
    }
    #[inline(always)]
    fn sheds(&mut self, now: SimTime, ticket: Ticket) -> bool {
        whichever!(self, queue => queue.sheds(now, ticket))
    }
    #[inline(always)]
    fn start(&mut self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        whichever!(self, queue => queue.start(now, ticket))
    }
    #[inline(always)]
    fn take_turn(&mut self, now: SimTime, ticket: Ticket) -> Turn {
        whichever!(self, queue => queue.take_turn(now, ticket))
    }
    #[inline(always)]
    fn passed(&mut self, now: SimTime, ticket: Ticket, ask: &Ask) {
        whichever!(self, queue => queue.passed(now, ticket, ask))
    }
    #[inline(always)]
    fn may_pass(&self, now: SimTime, ask: &Ask) -> bool {
        whichever!(self, queue => queue.may_pass(now, ask))
    }
    fn minds_ends(&self) -> bool {
        whichever!(self, queue => queue.minds_ends())
    }
    fn ended(&mut self, now: SimTime, ticket: Ticket, took: Nanos) {
        whichever!(self, queue => queue.ended(now, ticket, took))
    }
    fn pass_over(&self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        whichever!(self, queue => queue.pass_over(now, ticket))
    }
    #[inline(always)]
    fn first(&self, now: SimTime) -> Option<Ticket> {
        whichever!(self, queue => queue.first(now))
    }
    #[inline(always)]
    fn next(&self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        whichever!(self, queue => queue.next(now, ticket))
    }
    #[inline(always)]
    fn len(&self) -> u64 {
        whichever!(self, queue => queue.len())
    }
    #[inline(always)]
    fn max_wait(&self, now: SimTime) -> Option<Nanos> {
        whichever!(self, queue => queue.max_wait(now))
    }
    #[inline(always)]
    fn head_of_line_blocks(&self) -> bool {
        whichever!(self, queue => queue.head_of_line_blocks())
    }
    fn change(&mut self, knob: Knob) {
        whichever!(self, queue => queue.change(knob))
    }
    fn gauges(&mut self, now: SimTime, visit: Visit<'_>) {
        whichever!(self, queue => queue.gauges(now, visit))
    }
}
