//! Flows: those that wait, apart by key, each flow first in, first out.
//!
//! What a call costs its flow is its estimate on arrival in a unit, 1 at least, so that none is for free.

use super::list::{Ends, Links};
use super::weights::Weights;
use super::{Ticket, Visit};
use crate::gauge::{Gauge, Reading};
use crate::request::{Ask, Key, Unit};
use crate::time::SimTime;

/// Between whom capacity is shared, and by what measure.
#[derive(Clone, Debug)]
pub struct Sharing {
    /// What makes a flow.
    pub key: Key,
    /// What is shared out.
    pub unit: Unit,
    /// How large the parts are.
    pub weights: Weights,
}

impl Sharing {
    /// The flow of a call.
    pub(super) fn flow(&self, ask: &Ask) -> u32 {
        ask.key(self.key)
    }

    /// What a call costs its flow.
    pub(super) fn cost(&self, ask: &Ask) -> u64 {
        ask.estimate(self.unit).max(1)
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    pub(super) sharing: Sharing,
    links: Links,
    /// By ticket.
    waiting: Vec<Waiting>,
    /// By key.
    flows: Vec<Flow>,
    backlogged: Gauge,
}

#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    flow: u32,
    cost: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    ends: Ends,
    depth: u64,
    /// What those that wait cost.
    cost: u64,
}

impl Flows {
    pub(super) fn new(sharing: Sharing) -> Flows {
        Flows {
            sharing,
            links: Links::default(),
            waiting: Vec::new(),
            flows: Vec::new(),
            backlogged: Gauge::new(0),
        }
    }

    /// Lets one wait at the end of its flow, which it answers.
    pub(super) fn push(&mut self, now: SimTime, ticket: Ticket, ask: &Ask) -> u32 {
        let flow = self.sharing.flow(ask);
        self.push_to(now, ticket, flow, self.sharing.cost(ask));
        flow
    }

    /// Lets one of that cost wait at the end of a flow.
    pub(super) fn push_to(&mut self, now: SimTime, ticket: Ticket, flow: u32, cost: u64) {
        self.pass_by(ticket, flow, cost);
        if self.flows.len() <= flow as usize {
            self.flows.resize(flow as usize + 1, Flow::default());
        }
        let flow = &mut self.flows[flow as usize];
        self.links.push(&mut flow.ends, ticket.0);
        flow.depth += 1;
        flow.cost += cost;
        self.backlogged.up(now, u64::from(flow.depth == 1));
    }

    /// Notes the flow and the cost of one that doesn't wait.
    pub(super) fn pass_by(&mut self, ticket: Ticket, flow: u32, cost: u64) {
        let index = ticket.0 as usize;
        if self.waiting.len() <= index {
            self.waiting.resize(index + 1, Waiting::default());
        }
        self.waiting[index] = Waiting { flow, cost };
    }

    /// Takes one out of its flow.
    pub(super) fn remove(&mut self, now: SimTime, ticket: Ticket) {
        let Waiting { flow, cost } = self.waiting[ticket.0 as usize];
        let flow = &mut self.flows[flow as usize];
        self.links.remove(&mut flow.ends, ticket.0);
        flow.depth -= 1;
        flow.cost -= cost;
        self.backlogged.down(now, u64::from(flow.depth == 0));
    }

    /// The flow of one that waits, or was the last to have its ticket.
    pub(super) fn of(&self, ticket: Ticket) -> u32 {
        self.waiting[ticket.0 as usize].flow
    }

    /// What one costs that waits, or was the last to have its ticket.
    pub(super) fn cost(&self, ticket: Ticket) -> u64 {
        self.waiting[ticket.0 as usize].cost
    }

    /// The first of a flow.
    pub(super) fn head(&self, flow: u32) -> Option<Ticket> {
        self.flows.get(flow as usize).and_then(|flow| flow.ends.first()).map(Ticket)
    }

    /// The one behind another in their flow.
    pub(super) fn behind(&self, ticket: Ticket) -> Option<Ticket> {
        self.links.after(ticket.0).map(Ticket)
    }

    /// How many of a flow wait.
    pub(super) fn depth(&self, flow: u32) -> u64 {
        self.flows.get(flow as usize).map_or(0, |flow| flow.depth)
    }

    /// What those of a flow that wait cost together.
    pub(super) fn cost_waiting(&self, flow: u32) -> u64 {
        self.flows.get(flow as usize).map_or(0, |flow| flow.cost)
    }

    /// How many flows wait, and how many of each: the mean, least and most over the keys seen so far.
    pub(super) fn gauges(&mut self, now: SimTime, visit: Visit<'_>) {
        visit("keys_waiting", self.backlogged.read(now));
        let depths = self.flows.iter().map(|flow| flow.depth);
        if let (Some(least), Some(most)) = (depths.clone().min(), depths.clone().max()) {
            let mean = depths.sum::<u64>() as f64 / self.flows.len() as f64;
            let (min, max) = (least as f64, most as f64);
            visit("depth_of_keys", Reading { avg: mean, min, max, last: mean, area: 0 });
        }
    }
}
