//! Numbers in the order of their keys, each to be taken out wherever it stands.
//!
//! A treap (Seidel and Aragon, Randomized Search Trees, 1996) whose nodes lie in one vector, indexed by number, so
//! that nothing is allocated but for a number larger than any before. The heap's order comes from a hash of the
//! sequence in which numbers came, so that the shape is the same in every run.

/// Where a number stands: its key, then the sequence in which it came.
pub(super) type Place = (i128, u64);

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Sorted {
    nodes: Vec<Node>,
    root: u32,
    came: u64,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    place: Place,
    /// The larger is nearer to the root.
    rank: u64,
    low: u32,
    high: u32,
}

/// No node.
const NONE: u32 = u32::MAX;

const FREE: Node = Node { place: (0, 0), rank: 0, low: NONE, high: NONE };

impl Default for Sorted {
    fn default() -> Sorted {
        Sorted { nodes: Vec::new(), root: NONE, came: 0 }
    }
}

impl Sorted {
    /// Puts `number`, which is not in, behind those with a smaller or the same key.
    pub(super) fn insert(&mut self, number: u32, key: i128) {
        self.came += 1;
        self.insert_at(number, (key, self.came));
    }

    /// Puts `number`, which is not in, at a place that no other has.
    pub(super) fn insert_at(&mut self, number: u32, place: Place) {
        let index = number as usize;
        if self.nodes.len() <= index {
            self.nodes.resize(index + 1, FREE);
        }
        self.nodes[index] = Node { place, rank: hash(place.1), ..FREE };
        let (low, high) = self.split(self.root, place);
        let low = self.merge(low, number);
        self.root = self.merge(low, high);
    }

    /// Takes `number` out, which is in.
    pub(super) fn remove(&mut self, number: u32) {
        let (key, sequence) = self.place(number);
        let (low, rest) = self.split(self.root, (key, sequence));
        let (_, high) = self.split(rest, (key, sequence + 1));
        self.root = self.merge(low, high);
    }

    /// Where `number` stands.
    pub(super) fn place(&self, number: u32) -> Place {
        self.nodes[number as usize].place
    }

    /// The first of all.
    pub(super) fn first(&self) -> Option<u32> {
        self.above((i128::MIN, 0))
    }

    /// The one behind `number`.
    pub(super) fn next(&self, number: u32) -> Option<u32> {
        self.above(self.place(number))
    }

    /// The first behind a place.
    pub(super) fn above(&self, place: Place) -> Option<u32> {
        let (mut at, mut found) = (self.root, None);
        while at != NONE {
            let node = &self.nodes[at as usize];
            if place < node.place {
                (found, at) = (Some(at), node.low);
            } else {
                at = node.high;
            }
        }
        found
    }

    /// The trees of what stands before a place and of the rest.
    fn split(&mut self, root: u32, place: Place) -> (u32, u32) {
        if root == NONE {
            return (NONE, NONE);
        }
        let node = self.nodes[root as usize];
        if node.place < place {
            let (low, high) = self.split(node.high, place);
            self.nodes[root as usize].high = low;
            (root, high)
        } else {
            let (low, high) = self.split(node.low, place);
            self.nodes[root as usize].low = high;
            (low, root)
        }
    }

    /// One tree of two, of which the first stands before the second.
    fn merge(&mut self, low: u32, high: u32) -> u32 {
        if low == NONE || high == NONE {
            return if low == NONE { high } else { low };
        }
        let (lower, higher) = (self.nodes[low as usize], self.nodes[high as usize]);
        if higher.rank < lower.rank {
            self.nodes[low as usize].high = self.merge(lower.high, high);
            low
        } else {
            self.nodes[high as usize].low = self.merge(low, higher.low);
            high
        }
    }
}

/// The finaliser of SplitMix64.
fn hash(sequence: u64) -> u64 {
    let x = sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a sorted set.
        #[test]
        fn whatever_comes_and_goes_the_rest_stands_in_order(
            steps in prop::collection::vec((0u32..40, -5i128..5), 1..200)
        ) {
            let (mut sorted, mut model, mut came) = (Sorted::default(), BTreeSet::new(), 0u64);
            let mut places = vec![None; 40];
            for (number, key) in steps {
                match places[number as usize].take() {
                    Some(place) => {
                        sorted.remove(number);
                        model.remove(&(place, number));
                    }
                    None => {
                        came += 1;
                        sorted.insert(number, key);
                        model.insert(((key, came), number));
                        places[number as usize] = Some((key, came));
                    }
                }
                let all = std::iter::successors(sorted.first(), |at| sorted.next(*at));
                prop_assert!(all.eq(model.iter().map(|(_, number)| *number)));
            }
        }
    }

    #[test]
    fn a_hundred_thousand_in_order_make_no_deep_tree() {
        let mut sorted = Sorted::default();
        (0..100_000).for_each(|number| sorted.insert(number, i128::from(number)));
        let depth = |mut at: u32, high: bool| {
            let mut steps = 0;
            while at != NONE {
                let node = &sorted.nodes[at as usize];
                (at, steps) = (if high { node.high } else { node.low }, steps + 1);
            }
            steps
        };
        let (low, high) = (depth(sorted.root, false), depth(sorted.root, true));
        assert!(low.max(high) < 100, "{low} and {high} deep");
    }
}
