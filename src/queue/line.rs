//! A line: an order with bounds around it, and a law that may shed whose turn has come.
//!
//! An attempt that could start is *dequeued*: if it can't be in time any more, or if the law says so, it is shed, and
//! the next in the order is looked at within the same instant. An attempt that found room on arrival passes the line
//! without having waited; order and law hear of it.

use super::bounds::{Bounds, Room};
use super::{Queue, Ticket, Visit};
use crate::request::{Ask, Knob};
use crate::time::{Nanos, SimTime};

/// What is known of one that waits.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// What it carries.
    pub ask: &'a Ask,
    /// The last instant at which its answer is of use.
    pub deadline: SimTime,
}

/// The order in which those that wait are offered. Methods are as in [`Queue`].
pub trait Order: Send {
    /// Whether it has room for one more of its own making, whatever the bounds around it.
    fn has_room(&self, _ask: &Ask) -> bool {
        true
    }
    /// Lets one wait.
    fn push(&mut self, now: SimTime, ticket: Ticket, item: &Item<'_>);
    /// Takes out one that leaves without starting.
    fn remove(&mut self, now: SimTime, ticket: Ticket);
    /// Takes out one that starts; answers whose turn it is then.
    fn start(&mut self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        let next = self.next(now, ticket);
        self.remove(now, ticket);
        next
    }
    /// Whether one that finds room may start although others wait.
    fn may_pass(&self, _now: SimTime, _ask: &Ask) -> bool {
        true
    }
    /// One starts that did not wait.
    fn passed(&mut self, _now: SimTime, _ticket: Ticket, _ask: &Ask) {}
    /// Whether it wants to hear of ends.
    fn minds_ends(&self) -> bool {
        false
    }
    /// One that has started ends, after so long.
    fn ended(&mut self, _now: SimTime, _ticket: Ticket, _took: Nanos) {}
    /// The one whose turn it is.
    fn first(&self, now: SimTime) -> Option<Ticket>;
    /// The one whose turn comes after `ticket`.
    fn next(&self, now: SimTime, ticket: Ticket) -> Option<Ticket>;
    /// Whether one that lacks room keeps any others from starting.
    fn holds_up(&self) -> bool {
        false
    }
    /// The one who may start although there is no room for `ticket`, whose turn it is.
    fn pass_over(&self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        self.next(now, ticket)
    }
    /// Reads the gauges since the last reading.
    fn gauges(&mut self, _now: SimTime, _visit: Visit<'_>) {}
}

/// A law of dequeuing: who is shed when its turn has come, after what wait.
pub trait Law: Send {
    /// Whether one that has waited so long is shed instead of starting; `alone` says that nobody waits behind it.
    fn sheds(&mut self, now: SimTime, waited: Nanos, alone: bool) -> bool;
    /// Nobody waits any more.
    fn emptied(&mut self) {}
    /// The longest that one who comes now may wait, in a line that was last empty at that instant.
    fn patience(&self, _now: SimTime, _last_empty: SimTime) -> Option<Nanos> {
        None
    }
    /// Reads the gauges since the last reading.
    fn gauges(&mut self, _now: SimTime, _visit: Visit<'_>) {}
}

/// See the module.
pub struct Line<O> {
    order: O,
    room: Room,
    law: Option<Box<dyn Law>>,
    max_wait: Option<Nanos>,
    shortest_service: Option<Nanos>,
    head_of_line_blocks: bool,
    /// By ticket.
    waiting: Vec<Waiting>,
    len: u64,
    last_empty: SimTime,
}

#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    since: SimTime,
    deadline: SimTime,
}

impl<O: Order> Line<O> {
    /// An empty line, in which one may wait so long; `None` is for ever.
    pub fn new(order: O, bounds: Bounds, max_wait: Option<Nanos>) -> Line<O> {
        Line {
            order,
            room: Room::new(bounds),
            law: None,
            max_wait,
            shortest_service: None,
            head_of_line_blocks: false,
            waiting: Vec::new(),
            len: 0,
            last_empty: SimTime::ZERO,
        }
    }

    /// The same line under a law.
    pub fn law(mut self, law: Option<Box<dyn Law>>) -> Line<O> {
        self.law = law;
        self
    }

    /// The same line, which sheds whose turn comes less than so long before its deadline.
    pub fn drop_infeasible(mut self, shortest_service: Option<Nanos>) -> Line<O> {
        self.shortest_service = shortest_service;
        self
    }

    /// The same line, in which one that lacks room for its own key blocks those behind it.
    pub fn head_of_line(mut self, blocks: bool) -> Line<O> {
        self.head_of_line_blocks = blocks;
        self
    }

    /// One has left.
    fn left(&mut self, now: SimTime, ticket: Ticket) {
        self.len -= 1;
        self.room.left(now, ticket, self.len);
        if let (0, Some(law)) = (self.len, &mut self.law) {
            law.emptied();
        }
    }
}

impl<O: Order> Queue for Line<O> {
    fn has_room(&self, ask: &Ask) -> bool {
        self.room.is_left(self.len, ask) && self.order.has_room(ask)
    }

    fn has_victims(&self) -> bool {
        self.room.has_victims()
    }

    fn victim(&self, now: SimTime, ask: &Ask) -> Option<Ticket> {
        // Nobody who leaves makes sure that there is room where this one would wait.
        if self.order.has_room(ask) { self.room.victim(now, self.len, ask) } else { None }
    }

    fn push(&mut self, now: SimTime, ticket: Ticket, ask: &Ask, deadline: SimTime) {
        if self.len == 0 {
            self.last_empty = now;
        }
        let index = ticket.0 as usize;
        if self.waiting.len() <= index {
            self.waiting.resize(index + 1, Waiting::default());
        }
        self.waiting[index] = Waiting { since: now, deadline };
        let item = Item { ask, deadline };
        self.order.push(now, ticket, &item);
        self.room.came(now, ticket, &item);
        self.len += 1;
    }

    fn remove(&mut self, now: SimTime, ticket: Ticket) {
        self.order.remove(now, ticket);
        self.left(now, ticket);
    }

    fn sheds(&mut self, now: SimTime, ticket: Ticket) -> bool {
        let Waiting { since, deadline } = self.waiting[ticket.0 as usize];
        if self.shortest_service.is_some_and(|service| deadline < now.saturating_add(service)) {
            return true;
        }
        let alone = self.len == 1;
        self.law.as_mut().is_some_and(|law| law.sheds(now, now - since, alone))
    }

    fn start(&mut self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        let next = self.order.start(now, ticket);
        self.left(now, ticket);
        self.room.started(now, self.len);
        next
    }

    fn may_pass(&self, now: SimTime, ask: &Ask) -> bool {
        (!self.head_of_line_blocks || self.len == 0) && self.order.may_pass(now, ask)
    }

    fn minds_ends(&self) -> bool {
        self.order.minds_ends()
    }

    fn ended(&mut self, now: SimTime, ticket: Ticket, took: Nanos) {
        self.order.ended(now, ticket, took);
    }

    fn pass_over(&self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        if self.head_of_line_blocks { None } else { self.order.pass_over(now, ticket) }
    }

    fn passed(&mut self, now: SimTime, ticket: Ticket, ask: &Ask) {
        self.order.passed(now, ticket, ask);
        if let Some(law) = &mut self.law {
            // It is as if it had waited for no time, for which nobody is shed.
            law.sheds(now, Nanos::ZERO, self.len == 0);
        }
    }

    fn first(&self, now: SimTime) -> Option<Ticket> {
        self.order.first(now)
    }

    fn next(&self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        self.order.next(now, ticket)
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn max_wait(&self, now: SimTime) -> Option<Nanos> {
        let patience = self.law.as_ref().and_then(|law| law.patience(now, self.last_empty));
        [self.max_wait, patience].into_iter().flatten().min()
    }

    fn head_of_line_blocks(&self) -> bool {
        self.head_of_line_blocks || self.order.holds_up()
    }

    fn change(&mut self, knob: Knob) {
        match knob {
            Knob::MaxLength(max) => self.room.set_max_length(max),
            Knob::MaxWait(max) => self.max_wait = max,
            _ => {}
        }
    }

    fn gauges(&mut self, now: SimTime, visit: Visit<'_>) {
        self.order.gauges(now, visit);
        self.room.gauges(now, visit);
        if let Some(law) = &mut self.law {
            law.gauges(now, visit);
        }
    }
}
