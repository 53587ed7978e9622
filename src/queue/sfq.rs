//! Start-time fair queueing: capacity in proportion to weights, by virtual time.
//!
//! Source: Goyal, Vin and Cheng, Start-time Fair Queuing, SIGCOMM 1996. A call that comes to the head of its flow gets a
//! start tag, and its finish tag is what it costs later:
//!
//! ```text
//! S = max(v, F of the call before it in its flow)        F = S + cost / weight
//! ```
//!
//! The least start tag starts first, of equals the one that came first; `v` is the start tag of the last one to start.
//! Two flows that wait all the time have been served, per unit of weight, within the dearest call of either. Calls that
//! find room and do not wait are tagged and counted as well. One that leaves without starting costs its flow nothing.
//! Tags are whole numbers, see [`Weights::price`](super::weights::Weights::price).
//!
//! The paper advances `v` to the largest finish tag when the server falls idle; a line does not know when that is, so a
//! flow whose call was the last to start is behind by it when work comes again.

use super::flows::{Flows, Sharing};
use super::line::{Item, Order};
use super::sorted::Sorted;
use super::{Ticket, Visit};
use crate::request::Ask;
use crate::time::SimTime;

/// See the module.
#[derive(Clone, Debug)]
pub struct StartTimeFair {
    flows: Flows,
    /// The flows that wait, by the start tags of their heads; equals in the order in which the heads came.
    heads: Sorted,
    /// The finish tag of the last of each flow to start, by key.
    finish: Vec<u128>,
    /// When each came, as a number, by ticket.
    came: Vec<u64>,
    arrivals: u64,
    virtual_time: u128,
}

impl StartTimeFair {
    /// An empty line.
    pub fn new(sharing: Sharing) -> StartTimeFair {
        StartTimeFair {
            flows: Flows::new(sharing),
            heads: Sorted::default(),
            finish: Vec::new(),
            came: Vec::new(),
            arrivals: 0,
            virtual_time: 0,
        }
    }

    fn finish(&mut self, flow: u32) -> &mut u128 {
        let index = flow as usize;
        if self.finish.len() <= index {
            self.finish.resize(index + 1, 0);
        }
        &mut self.finish[index]
    }

    /// Tags the head of a flow that waits with `start`.
    fn tag(&mut self, flow: u32, start: u128) {
        if let Some(head) = self.flows.head(flow) {
            let start = i128::try_from(start).expect("tags take longer than any run to grow so large");
            self.heads.insert_at(flow, (start, self.came[head.0 as usize]));
        }
    }

    /// The start tag of the head of a flow.
    fn start_tag(&self, flow: u32) -> u128 {
        self.heads.place(flow).0.unsigned_abs()
    }

    /// A call of a flow starts with that tag.
    fn serve(&mut self, flow: u32, start: u128, cost: u64) -> u128 {
        let price = self.flows.sharing.weights.price(flow);
        let finish = start + u128::from(cost) * u128::from(price);
        *self.finish(flow) = finish;
        self.virtual_time = self.virtual_time.max(start);
        finish
    }
}

impl Order for StartTimeFair {
    fn push(&mut self, now: SimTime, ticket: Ticket, item: &Item<'_>) {
        let (flow, index) = (self.flows.push(now, ticket, item.ask), ticket.0 as usize);
        if self.came.len() <= index {
            self.came.resize(index + 1, 0);
        }
        self.arrivals += 1;
        self.came[index] = self.arrivals;
        if self.flows.depth(flow) == 1 {
            let start = self.virtual_time.max(*self.finish(flow));
            self.tag(flow, start);
        }
    }

    fn remove(&mut self, now: SimTime, ticket: Ticket) {
        let flow = self.flows.of(ticket);
        let was_head = self.flows.head(flow) == Some(ticket);
        self.flows.remove(now, ticket);
        if was_head {
            let start = self.start_tag(flow);
            self.heads.remove(flow);
            self.tag(flow, start);
        }
    }

    fn start(&mut self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        let (flow, cost) = (self.flows.of(ticket), self.flows.cost(ticket));
        let (place, start) = (self.heads.place(flow), self.start_tag(flow));
        self.flows.remove(now, ticket);
        self.heads.remove(flow);
        let finish = self.serve(flow, start, cost);
        self.tag(flow, finish);
        self.heads.above(place).and_then(|flow| self.flows.head(flow))
    }

    fn passed(&mut self, _now: SimTime, _ticket: Ticket, ask: &Ask) {
        let (flow, cost) = (self.flows.sharing.flow(ask), self.flows.sharing.cost(ask));
        if self.flows.depth(flow) == 0 {
            let start = self.virtual_time.max(*self.finish(flow));
            self.serve(flow, start, cost);
            return;
        }
        // Others of its flow wait: it takes the turn of the first of them.
        let start = self.start_tag(flow);
        let finish = self.serve(flow, start, cost);
        self.heads.remove(flow);
        self.tag(flow, finish);
    }

    fn first(&self, _now: SimTime) -> Option<Ticket> {
        self.heads.first().and_then(|flow| self.flows.head(flow))
    }

    fn next(&self, _now: SimTime, ticket: Ticket) -> Option<Ticket> {
        let next = || self.heads.next(self.flows.of(ticket)).and_then(|flow| self.flows.head(flow));
        self.flows.behind(ticket).or_else(next)
    }

    fn gauges(&mut self, now: SimTime, visit: Visit<'_>) {
        self.flows.gauges(now, visit);
    }
}
