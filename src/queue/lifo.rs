//! Last in, first out: the newest starts first, and the oldest wait until nobody newer does.
//!
//! The mean wait is that of first in, first out; its second moment is 1/(1 − ρ) times as large for M/G/1 without
//! pre-emption (Conway, Maxwell and Miller, Theory of Scheduling, 1967, section 8-6).

use super::Ticket;
use super::line::{Item, Order};
use super::list::{Ends, Links};
use crate::time::SimTime;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Lifo {
    links: Links,
    ends: Ends,
}

impl Order for Lifo {
    fn push(&mut self, _now: SimTime, ticket: Ticket, _item: &Item<'_>) {
        self.links.push(&mut self.ends, ticket.0);
    }

    fn remove(&mut self, _now: SimTime, ticket: Ticket) {
        self.links.remove(&mut self.ends, ticket.0);
    }

    fn first(&self, _now: SimTime) -> Option<Ticket> {
        self.ends.last().map(Ticket)
    }

    fn next(&self, _now: SimTime, ticket: Ticket) -> Option<Ticket> {
        self.links.before(ticket.0).map(Ticket)
    }
}
