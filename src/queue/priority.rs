//! Priority: the most important class first, equals in the order in which they came.
//!
//! With **ageing**, each so long a wait counts as one step of priority: what matters at any instant is priority + wait
//! / ageing. Since all grow alike, that is a fixed head start of priority × ageing over those that come later (Kleinrock,
//! Queueing Systems II, 1976, section 3.7, with one slope for all), and the order is that of
//!
//! ```text
//! arrival − priority × ageing
//! ```
//!
//! in whole nanoseconds. Without ageing low classes may starve: mean waits are Cobham's (1954).

use super::Ticket;
use super::line::{Item, Order};
use super::sorted::Sorted;
use crate::time::{Nanos, SimTime};

/// See the module.
#[derive(Clone, Debug)]
pub struct Priority {
    /// By class; the larger, the more important.
    priorities: Vec<i32>,
    ageing: Option<Nanos>,
    waiting: Sorted,
}

impl Priority {
    /// An empty line; without `ageing`, no wait makes up for a lower priority.
    pub fn new(priorities: Vec<i32>, ageing: Option<Nanos>) -> Priority {
        Priority { priorities, ageing, waiting: Sorted::default() }
    }
}

impl Order for Priority {
    fn push(&mut self, now: SimTime, ticket: Ticket, item: &Item<'_>) {
        let priority = i128::from(self.priorities[item.ask.class.0 as usize]);
        let key = match self.ageing {
            None => -priority,
            Some(ageing) => i128::from(now.0) - priority * i128::from(ageing.0),
        };
        self.waiting.insert(ticket.0, key);
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
