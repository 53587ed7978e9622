//! Fair queue: one call of each key in turn, whatever it costs and however many wait.
//!
//! Round robin over the flows that have somebody waiting (Nagle, RFC 970, 1985). A flow that comes goes to the end of
//! the round, and so does one of which a call has started: among flows that wait all the time, none gets ahead of
//! another by more than one call.

use super::flows::{Flows, Sharing};
use super::line::{Item, Order};
use super::list::{Ends, Links};
use super::{Ticket, Visit};
use crate::time::SimTime;

/// See the module.
#[derive(Clone, Debug)]
pub struct Fair {
    flows: Flows,
    /// The flows that wait, in the order of their turns.
    round: Links,
    ends: Ends,
}

impl Fair {
    /// An empty line; units and weights do not matter.
    pub fn new(sharing: Sharing) -> Fair {
        Fair { flows: Flows::new(sharing), round: Links::default(), ends: Ends::default() }
    }

    fn head(&self, flow: Option<u32>) -> Option<Ticket> {
        flow.and_then(|flow| self.flows.head(flow))
    }
}

impl Order for Fair {
    fn push(&mut self, now: SimTime, ticket: Ticket, item: &Item<'_>) {
        let flow = self.flows.push(now, ticket, item.ask);
        if self.flows.depth(flow) == 1 {
            self.round.push(&mut self.ends, flow);
        }
    }

    fn remove(&mut self, now: SimTime, ticket: Ticket) {
        self.flows.remove(now, ticket);
        let flow = self.flows.of(ticket);
        if self.flows.depth(flow) == 0 {
            self.round.remove(&mut self.ends, flow);
        }
    }

    fn start(&mut self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        let flow = self.flows.of(ticket);
        let next = self.round.after(flow);
        self.flows.remove(now, ticket);
        self.round.remove(&mut self.ends, flow);
        if 0 < self.flows.depth(flow) {
            self.round.push(&mut self.ends, flow);
        }
        self.head(next).or_else(|| self.flows.head(flow))
    }

    fn first(&self, _now: SimTime) -> Option<Ticket> {
        self.head(self.ends.first())
    }

    fn next(&self, _now: SimTime, ticket: Ticket) -> Option<Ticket> {
        self.flows.behind(ticket).or_else(|| self.head(self.round.after(self.flows.of(ticket))))
    }

    fn gauges(&mut self, now: SimTime, visit: Visit<'_>) {
        self.flows.gauges(now, visit);
    }
}
