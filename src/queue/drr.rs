//! Deficit round robin: in its turn each key gets a quantum to spend, and keeps what it can't spend yet.
//!
//! Source: Shreedhar and Varghese, Efficient Fair Queuing using Deficit Round Robin, SIGCOMM 1995, with quanta in
//! proportion to weights. A flow whose turn comes gains `quantum` × weight; its calls start while they cost no more than
//! it has; then it goes to the end of the round with the rest. A flow that nobody waits in keeps nothing. So flows that
//! wait all the time have at any instant been served, per unit of weight, within a quantum and twice the dearest call
//! of each other.
//!
//! The edge: a turn ends as soon as the next call is too dear, so a flow that comes after that stands behind it. Turns
//! in which no call could start are taken in one step. One that starts out of its turn, because those before it lack
//! room for their own keys, is paid for with as many quanta as it takes; its flow keeps its place in the round.

use super::flows::{Flows, Sharing};
use super::line::{Item, Order};
use super::list::{Ends, Links};
use super::{Ticket, Visit};
use crate::time::SimTime;

/// See the module.
#[derive(Clone, Debug)]
pub struct DeficitRoundRobin {
    flows: Flows,
    quantum: u64,
    /// What each flow has to spend, by key.
    deficits: Vec<u128>,
    /// The flows that wait, in the order of their turns; the first has its quantum and can pay for its first call.
    round: Links,
    ends: Ends,
    in_round: u64,
}

impl DeficitRoundRobin {
    /// An empty line. `quantum` is in the unit that is shared, above 0.
    pub fn new(sharing: Sharing, quantum: u64) -> DeficitRoundRobin {
        assert!(0 < quantum, "without a quantum nothing ever starts");
        DeficitRoundRobin {
            flows: Flows::new(sharing),
            quantum,
            deficits: Vec::new(),
            round: Links::default(),
            ends: Ends::default(),
            in_round: 0,
        }
    }

    fn head(&self, flow: Option<u32>) -> Option<Ticket> {
        flow.and_then(|flow| self.flows.head(flow))
    }

    /// What one turn brings a flow.
    fn quantum(&self, flow: u32) -> u128 {
        u128::from(self.quantum) * u128::from(self.flows.sharing.weights.of(flow))
    }

    fn gain(&mut self, flow: u32, turns: u128) {
        self.deficits[flow as usize] += self.quantum(flow) * turns;
    }

    /// What a flow lacks for its first call.
    fn lack(&self, flow: u32) -> u128 {
        let cost = self.flows.head(flow).map_or(0, |ticket| self.flows.cost(ticket));
        u128::from(cost).saturating_sub(self.deficits[flow as usize])
    }

    fn join(&mut self, flow: u32) {
        if self.deficits.len() <= flow as usize {
            self.deficits.resize(flow as usize + 1, 0);
        }
        self.round.push(&mut self.ends, flow);
        self.in_round += 1;
        if self.in_round == 1 {
            self.gain(flow, 1);
            self.turn();
        }
    }

    /// A flow in which nobody waits any more leaves the round and loses what it has.
    fn leave(&mut self, flow: u32) {
        let had_its_turn = self.ends.first() == Some(flow);
        self.round.remove(&mut self.ends, flow);
        self.in_round -= 1;
        self.deficits[flow as usize] = 0;
        if let (true, Some(first)) = (had_its_turn, self.ends.first()) {
            self.gain(first, 1);
            self.turn();
        }
    }

    /// Ends turns until the flow whose turn it is can pay for its first call.
    fn turn(&mut self) {
        let mut turns = 0;
        while let Some(flow) = self.ends.first().filter(|flow| 0 < self.lack(*flow)) {
            if turns == self.in_round {
                self.skip_rounds();
            }
            turns += 1;
            self.round.remove(&mut self.ends, flow);
            self.round.push(&mut self.ends, flow);
            if let Some(next) = self.ends.first() {
                self.gain(next, 1);
            }
        }
    }

    /// Takes all the rounds at once in which no flow could pay.
    fn skip_rounds(&mut self) {
        let turns = |flow: u32| self.lack(flow).div_ceil(self.quantum(flow));
        let flows = || std::iter::successors(self.ends.first(), |flow| self.round.after(*flow));
        let rounds = flows().map(turns).min().unwrap_or(0).saturating_sub(1);
        let mut turn = self.ends.first();
        while let (Some(flow), true) = (turn, 0 < rounds) {
            self.gain(flow, rounds);
            turn = self.round.after(flow);
        }
    }
}

impl Order for DeficitRoundRobin {
    fn push(&mut self, now: SimTime, ticket: Ticket, item: &Item<'_>) {
        let flow = self.flows.push(now, ticket, item.ask);
        if self.flows.depth(flow) == 1 {
            self.join(flow);
        }
    }

    fn remove(&mut self, now: SimTime, ticket: Ticket) {
        self.flows.remove(now, ticket);
        let flow = self.flows.of(ticket);
        match self.flows.depth(flow) {
            0 => self.leave(flow),
            _ => self.turn(),
        }
    }

    fn start(&mut self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        let (next, flow, cost) = (self.next(now, ticket), self.flows.of(ticket), self.flows.cost(ticket));
        let in_turn = self.ends.first() == Some(flow);
        let lack = u128::from(cost).saturating_sub(self.deficits[flow as usize]);
        self.gain(flow, lack.div_ceil(self.quantum(flow)));
        self.deficits[flow as usize] -= u128::from(cost);
        self.remove(now, ticket);
        if in_turn { self.first(now) } else { next }
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
