//! Shuffle sharding: each flow is dealt a hand of the queues, and waits in the shortest of them.
//!
//! A flow's hash h deals `hand_size` different queues of `queues`: r_i = h mod (queues − i), h ← ⌊h / (queues − i)⌋, and the
//! i-th card is r_i, raised by one for each earlier remainder that it reaches, the latest first. Who comes looks at its
//! flow's hand, beginning at another card each time, and joins the queue in which fewest wait, of equals the first looked
//! at. If `queue_length` wait there, it is turned away. The queues take turns, one call each. So a flow that fills its own
//! queues leaves others a queue that it isn't in, unless their hands lie all within its. Source: Kubernetes, API priority
//! and fairness, `shufflesharding/dealer.go`, `queueset.go`; there turns count seats and the time in service, here calls.

use super::fair::Fair;
use super::flows::Sharing;
use super::line::{Item, Order};
use super::weights::Weights;
use super::{Ticket, Visit};
use crate::request::{Ask, Key, Unit};
use crate::rng::{Dice, Purpose};
use crate::time::SimTime;

/// How flows are dealt to queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deck {
    /// What makes a flow.
    pub key: Key,
    /// Queues, at least 1.
    pub queues: u32,
    /// Cards of a hand, from 1 to `queues`.
    pub hand_size: u32,
    /// How many may wait in a queue.
    pub queue_length: u64,
}

impl Deck {
    /// Whether so many cards can be dealt from 60 bits.
    pub fn can_deal(queues: u32, hand_size: u32) -> bool {
        u128::from(queues).checked_pow(hand_size).is_some_and(|hands| hands <= 1 << 60)
    }

    /// The queues of the flow with that hash, in the order in which they are dealt.
    pub fn deal(&self, hash: u64) -> impl Iterator<Item = u32> {
        let (mut hash, queues) = (hash, u64::from(self.queues));
        let mut remainders = Remainders::default();
        (0..self.hand_size as usize).map(move |card| {
            let left = queues - card as u64;
            remainders.0[card] = (hash % left) as u32;
            hash /= left;
            let raise = |card: u32, earlier: &u32| card + u32::from(*earlier <= card);
            remainders.0[..card].iter().rev().fold(remainders.0[card], raise)
        })
    }
}

/// Of the cards of a hand: 60 bits deal 60 of two queues, and two have no hand of three.
#[derive(Clone, Copy)]
struct Remainders([u32; 60]);

impl Default for Remainders {
    fn default() -> Remainders {
        Remainders([0; 60])
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct ShuffleSharding {
    deck: Deck,
    fair: Fair,
    /// How many have come to wait.
    arrivals: u64,
}

impl ShuffleSharding {
    /// Empty queues.
    pub fn new(deck: Deck) -> ShuffleSharding {
        let sharing = Sharing { key: deck.key, unit: Unit::Requests, weights: Weights::new(Vec::new()) };
        ShuffleSharding { deck, fair: Fair::new(sharing), arrivals: 0 }
    }

    /// The queue that one would join, and how many wait there.
    fn choose(&self, ask: &Ask) -> (u32, u64) {
        let hash = Dice(ask.key(self.deck.key).into()).bits(Purpose::Policy, 0);
        let first = (self.arrivals % u64::from(self.deck.hand_size)) as usize;
        // From the first card looked at to the last, and then those before it.
        let hand = self.deck.deal(hash).skip(first).chain(self.deck.deal(hash).take(first));
        let depths = hand.map(|queue| (queue, self.fair.depth(queue)));
        depths.min_by_key(|(_, depth)| *depth).unwrap_or_default()
    }
}

impl Order for ShuffleSharding {
    fn has_room(&self, ask: &Ask) -> bool {
        self.choose(ask).1 < self.deck.queue_length
    }

    fn push(&mut self, now: SimTime, ticket: Ticket, item: &Item<'_>) {
        let (queue, _) = self.choose(item.ask);
        self.arrivals += 1;
        self.fair.push_to(now, ticket, queue);
    }

    fn remove(&mut self, now: SimTime, ticket: Ticket) {
        self.fair.remove(now, ticket);
    }

    fn start(&mut self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        self.fair.start(now, ticket)
    }

    fn first(&self, now: SimTime) -> Option<Ticket> {
        self.fair.first(now)
    }

    fn next(&self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        self.fair.next(now, ticket)
    }

    fn gauges(&mut self, now: SimTime, visit: Visit<'_>) {
        self.fair.gauges(now, visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_is_dealt_from_remainders() {
        // 17 mod 4 is 1, ⌊17 / 4⌋ = 4 mod 3 is 1, ⌊4 / 3⌋ = 1 mod 2 is 1: the second card reaches the first's remainder and
        // is 2; the third reaches both and is 3.
        let deck = Deck { key: Key::User, queues: 4, hand_size: 3, queue_length: 1 };
        assert_eq!(deck.deal(17).collect::<Vec<_>>(), [1, 2, 3]);
        // 0 is dealt 0, then 0 raised once, then 0 raised twice.
        assert_eq!(deck.deal(0).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn every_hand_has_different_cards_and_all_hands_are_dealt() {
        let deck = Deck { key: Key::User, queues: 5, hand_size: 3, queue_length: 1 };
        let mut hands: Vec<Vec<u32>> = (0..60).map(|hash| deck.deal(hash).collect()).collect();
        hands.sort();
        hands.dedup();
        assert_eq!(hands.len(), 60, "5 · 4 · 3 ways to deal three of five");
        assert!(hands.iter().all(|hand| hand[0] != hand[1] && hand[1] != hand[2] && hand[0] != hand[2]));
        assert!(Deck::can_deal(128, 8) && !Deck::can_deal(128, 9) && Deck::can_deal(32, 12));
    }
}
