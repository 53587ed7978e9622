//! Adaptive LIFO: first in, first out while there is no backlog, newest first while there is one.
//!
//! Source: Maurer, Fail at Scale, ACM Queue 13(8), 2015, which leaves the threshold open. Here it is a number that
//! wait, or the age of the oldest, with hysteresis: the order turns once the backlog reaches `above` and turns back
//! once it is down to `below`.
//!
//! The edge: a backlog of exactly `above` is one, one of exactly `below` is none. The age is looked at whenever
//! somebody comes, starts or leaves.

use super::line::{Item, Order};
use super::list::{Ends, Links};
use super::{Ticket, Visit};
use crate::gauge::Gauge;
use crate::time::{Nanos, SimTime};

/// From which backlog on the newest go first, and down to which they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backlog {
    /// How many wait.
    Length {
        /// Newest first from here on.
        above: u64,
        /// Oldest first again from here on.
        below: u64,
    },
    /// How long the oldest has waited.
    Age {
        /// Newest first from here on.
        above: Nanos,
        /// Oldest first again from here on.
        below: Nanos,
    },
}

/// See the module.
#[derive(Clone, Debug)]
pub struct AdaptiveLifo {
    backlog: Backlog,
    links: Links,
    ends: Ends,
    /// When each came, by ticket.
    came: Vec<SimTime>,
    len: u64,
    /// 1 while the newest go first.
    newest_first: Gauge,
}

impl AdaptiveLifo {
    /// An empty line.
    pub fn new(backlog: Backlog) -> AdaptiveLifo {
        AdaptiveLifo {
            backlog,
            links: Links::default(),
            ends: Ends::default(),
            came: Vec::new(),
            len: 0,
            newest_first: Gauge::new(0),
        }
    }

    /// Whether the newest go first at `now`.
    fn turned(&self, now: SimTime) -> bool {
        let was = self.newest_first.value() == 1;
        match self.backlog {
            Backlog::Length { above, below } => {
                if was {
                    below < self.len
                } else {
                    above <= self.len
                }
            }
            Backlog::Age { above, below } => {
                let Some(oldest) = self.ends.first() else { return false };
                let age = now - self.came[oldest as usize];
                if was { below < age } else { above <= age }
            }
        }
    }

    fn look(&mut self, now: SimTime) {
        let turned = self.turned(now);
        self.newest_first.set(now, u64::from(turned));
    }
}

impl Order for AdaptiveLifo {
    fn push(&mut self, now: SimTime, ticket: Ticket, _item: &Item<'_>) {
        let index = ticket.0 as usize;
        if self.came.len() <= index {
            self.came.resize(index + 1, SimTime::ZERO);
        }
        self.came[index] = now;
        self.links.push(&mut self.ends, ticket.0);
        self.len += 1;
        self.look(now);
    }

    fn remove(&mut self, now: SimTime, ticket: Ticket) {
        // What has grown old since the last look counts as such before one leaves.
        self.look(now);
        self.links.remove(&mut self.ends, ticket.0);
        self.len -= 1;
        self.look(now);
    }

    fn start(&mut self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        let (order, next) = (self.turned(now), self.next(now, ticket));
        self.remove(now, ticket);
        if self.turned(now) == order { next } else { self.first(now) }
    }

    fn first(&self, now: SimTime) -> Option<Ticket> {
        if self.turned(now) { self.ends.last() } else { self.ends.first() }.map(Ticket)
    }

    fn next(&self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        if self.turned(now) { self.links.before(ticket.0) } else { self.links.after(ticket.0) }.map(Ticket)
    }

    fn gauges(&mut self, now: SimTime, visit: Visit<'_>) {
        visit("newest_first", self.newest_first.read(now));
    }
}
