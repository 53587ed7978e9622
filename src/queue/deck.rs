//! Dealing hands: the few queues among many in which a flow waits.
//!
//! A flow's hash h deals `hand_size` different queues of `queues`: r_i = h mod (queues − i), h ← ⌊h / (queues − i)⌋, and the
//! i-th card is r_i, raised by one for each earlier remainder that it reaches, the latest first. Source: Kubernetes, API
//! priority and fairness, `shufflesharding/dealer.go`.

/// How flows are dealt to queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deck {
    /// Queues, at least 1.
    pub queues: u32,
    /// Cards of a hand, from 1 to `queues`.
    pub hand_size: u32,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_is_dealt_from_remainders() {
        // 17 mod 4 is 1, ⌊17 / 4⌋ = 4 mod 3 is 1, ⌊4 / 3⌋ = 1 mod 2 is 1: the second card reaches the first's remainder and
        // is 2; the third reaches both and is 3.
        let deck = Deck { queues: 4, hand_size: 3 };
        assert_eq!(deck.deal(17).collect::<Vec<_>>(), [1, 2, 3]);
        // 0 is dealt 0, then 0 raised once, then 0 raised twice.
        assert_eq!(deck.deal(0).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn every_hand_has_different_cards_and_all_hands_are_dealt() {
        let deck = Deck { queues: 5, hand_size: 3 };
        let mut hands: Vec<Vec<u32>> = (0..60).map(|hash| deck.deal(hash).collect()).collect();
        hands.sort();
        hands.dedup();
        assert_eq!(hands.len(), 60, "5 · 4 · 3 ways to deal three of five");
        assert!(hands.iter().all(|hand| hand[0] != hand[1] && hand[1] != hand[2] && hand[0] != hand[2]));
        assert!(Deck::can_deal(128, 8) && !Deck::can_deal(128, 9) && Deck::can_deal(32, 12));
    }
}
