//! Earliest deadline first: whose answer is the first to be of no use starts first, equals in the order in which they
//! came, and those without a deadline last.
//!
//! A deadline is the call's: its birth and the deadline of its class, whatever its retries waited before. The order is
//! optimal for one server as long as all can be in time (Jackson, 1955; Liu and Layland, 1973, section 7); beyond that
//! it spends capacity on those that are late already, unless what is infeasible is dropped.

use super::Ticket;
use super::line::{Item, Order};
use super::sorted::Sorted;
use crate::time::SimTime;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct EarliestDeadline {
    waiting: Sorted,
}

impl Order for EarliestDeadline {
    fn push(&mut self, _now: SimTime, ticket: Ticket, item: &Item<'_>) {
        self.waiting.insert(ticket.0, item.deadline.0.into());
    }

    fn remove(&mut self, _now: SimTime, ticket: Ticket) {
        self.waiting.remove(ticket.0);
    }

    fn first(&self, _now: SimTime) -> Option<Ticket> {
        self.waiting.first().map(Ticket)
    }

    fn next(&self, _now: SimTime, ticket: Ticket) -> Option<Ticket> {
        self.waiting.next(ticket.0).map(Ticket)
    }
}
