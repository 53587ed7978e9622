//! Shuffle sharding: each flow is dealt a [hand](super::deck) of the queues, and waits in the shortest of them.
//!
//! Who comes looks at its flow's hand, beginning at another card each time, and joins the queue in which the fewest seats
//! wait, of equals the first looked at. If `queue_length` wait there, it is turned away. So a flow that fills its own
//! queues leaves others a queue that it isn't in, unless their hands lie all within its. Queues are served in the order of
//! their virtual time. With `per_class` each class has a set of queues of its own, as each priority
//! level has; in a set nobody starts before the one whose turn it is. Source: Kubernetes, API priority and fairness,
//! `queueset.go`.

use super::deck::Deck;
use super::flows::{Flows, Sharing};
use super::line::{Item, Order};
use super::virtual_time::{Set, Tempo};
use super::weights::Weights;
use super::{Ticket, Visit};
use crate::request::{Ask, Key, Unit, Width};
use crate::rng::{Dice, Purpose};
use crate::time::{Nanos, SimTime};

/// How flows wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharding {
    /// What makes a flow.
    pub key: Key,
    /// Between which queues it chooses.
    pub deck: Deck,
    /// How many may wait in a queue.
    pub queue_length: u64,
    /// Whether each class has queues of its own.
    pub per_class: bool,
    /// The seats that a call takes.
    pub width: Width,
    /// How long a call is thought to take until it has ended, above nothing.
    pub expected_service: Nanos,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct ShuffleSharding {
    sharding: Sharding,
    /// The flows are the queues, set after set.
    flows: Flows,
    sets: Vec<Set>,
    /// How many have come.
    arrivals: u64,
}

impl ShuffleSharding {
    /// Empty queues.
    pub fn new(sharding: Sharding) -> ShuffleSharding {
        let of_calls = Sharing { key: sharding.key, unit: Unit::Requests, weights: Weights::new(Vec::new()) };
        ShuffleSharding { sharding, flows: Flows::new(of_calls), sets: Vec::new(), arrivals: 0 }
    }

    fn set_of(&self, ask: &Ask) -> u32 {
        if self.sharding.per_class { ask.class.0.into() } else { 0 }
    }

    fn set_of_queue(&self, queue: u32) -> usize {
        (queue / self.sharding.deck.queues) as usize
    }

    /// The queue that one would join.
    fn choose(&self, ask: &Ask) -> u32 {
        let Sharding { key, deck, .. } = self.sharding;
        let hash = Dice(ask.key(key).into()).bits(Purpose::Policy, 0);
        let first = (self.arrivals % u64::from(deck.hand_size)) as usize;
        // From the first card looked at to the last, and then those before it.
        let hand = deck.deal(hash).skip(first).chain(deck.deal(hash).take(first));
        let base = self.set_of(ask) * deck.queues;
        let queues = hand.map(|card| base + card);
        queues.min_by_key(|queue| self.flows.cost_waiting(*queue)).unwrap_or(base)
    }

    /// The set of a queue, with what it reckons by.
    fn tempo(&mut self, queue: u32) -> (&mut Set, Tempo<'_>) {
        let number = self.set_of_queue(queue);
        let queues = self.sharding.deck.queues;
        if self.sets.len() <= number {
            self.sets.resize_with(number + 1, || Set::new(queues));
        }
        let first = number as u32 * queues;
        let tempo = Tempo { flows: &self.flows, first, expected: self.sharding.expected_service };
        (&mut self.sets[number], tempo)
    }

    fn read_tempo(&self, number: usize) -> Tempo<'_> {
        let Sharding { deck, expected_service, .. } = self.sharding;
        Tempo { flows: &self.flows, first: number as u32 * deck.queues, expected: expected_service }
    }

    /// The one whose turn it is in the first set from that number on in which anybody waits.
    fn first_from(&self, number: usize) -> Option<Ticket> {
        let sets = self.sets.iter().enumerate().skip(number);
        sets.filter_map(|(number, set)| set.first(&self.read_tempo(number))).next()
    }
}

impl Order for ShuffleSharding {
    fn has_room(&self, ask: &Ask) -> bool {
        self.flows.depth(self.choose(ask)) < self.sharding.queue_length
    }

    fn may_pass(&self, now: SimTime, ask: &Ask) -> bool {
        let number = self.set_of(ask) as usize;
        let Some(set) = self.sets.get(number) else { return true };
        let seats = self.sharding.width.of(ask);
        set.goes_before_all(&self.read_tempo(number), now, self.choose(ask), seats)
    }

    fn push(&mut self, now: SimTime, ticket: Ticket, item: &Item<'_>) {
        let (queue, seats) = (self.choose(item.ask), self.sharding.width.of(item.ask));
        self.arrivals += 1;
        let (set, tempo) = self.tempo(queue);
        set.comes(&tempo, now, ticket, queue);
        self.flows.push_to(now, ticket, queue, seats);
        let (set, tempo) = self.tempo(queue);
        set.waits(&tempo, queue);
    }

    fn remove(&mut self, now: SimTime, ticket: Ticket) {
        self.flows.remove(now, ticket);
        let queue = self.flows.of(ticket);
        let (set, tempo) = self.tempo(queue);
        set.leaves(&tempo, now, queue);
    }

    fn start(&mut self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        let queue = self.flows.of(ticket);
        let (set, tempo) = self.tempo(queue);
        let before = set.finish(&tempo, queue);
        self.flows.remove(now, ticket);
        let (set, tempo) = self.tempo(queue);
        set.leaves(&tempo, now, queue);
        set.starts(&tempo, ticket, queue);
        let next = set.first_not_before(&tempo, before);
        next.or_else(|| self.first_from(self.set_of_queue(queue) + 1))
    }

    fn passed(&mut self, now: SimTime, ticket: Ticket, ask: &Ask) {
        let (queue, seats) = (self.choose(ask), self.sharding.width.of(ask));
        self.arrivals += 1;
        self.flows.pass_by(ticket, queue, seats);
        let (set, tempo) = self.tempo(queue);
        set.comes(&tempo, now, ticket, queue);
        set.starts(&tempo, ticket, queue);
    }

    fn minds_ends(&self) -> bool {
        true
    }

    fn ended(&mut self, now: SimTime, ticket: Ticket, took: Nanos) {
        let queue = self.flows.of(ticket);
        let (set, tempo) = self.tempo(queue);
        set.ends(&tempo, now, ticket, queue, took);
    }

    fn first(&self, _now: SimTime) -> Option<Ticket> {
        self.first_from(0)
    }

    fn next(&self, _now: SimTime, ticket: Ticket) -> Option<Ticket> {
        let queue = self.flows.of(ticket);
        let number = self.set_of_queue(queue);
        let in_set = || self.sets[number].after(&self.read_tempo(number), queue);
        self.flows.behind(ticket).or_else(in_set).or_else(|| self.first_from(number + 1))
    }

    fn holds_up(&self) -> bool {
        self.sharding.per_class
    }

    fn pass_over(&self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        if self.sharding.per_class {
            self.first_from(self.set_of_queue(self.flows.of(ticket)) + 1)
        } else {
            self.next(now, ticket)
        }
    }

    fn gauges(&mut self, now: SimTime, visit: Visit<'_>) {
        self.flows.gauges(now, visit);
    }
}
