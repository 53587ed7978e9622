//! A small state for each of many keys: found in a few steps, forgotten when it is worth nothing.
//!
//! States lie one after the other in the order in which their keys came; an index of open addresses with linear
//! probing finds them. The hash is fixed and no result depends on it: who walks over the states walks in their own
//! order. Room grows by an eighth, so a state of 32 bytes costs less than 64 with everything around it.

use crate::request::KeyId;

/// States by key. At most 2^32 - 1 of them.
#[derive(Clone, Debug)]
pub struct Table<V> {
    ids: Vec<KeyId>,
    values: Vec<V>,
    /// The place of a state and 1, or 0 for none; a power of two of them, at most three quarters in use.
    index: Vec<u32>,
    /// By how much a hash is cut to a slot of the index.
    shift: u32,
    /// Where the search for states that are worth nothing goes on.
    hand: usize,
}

/// The least index that is made.
const LEAST: usize = 16;

impl<V> Default for Table<V> {
    fn default() -> Table<V> {
        Table { ids: Vec::new(), values: Vec::new(), index: Vec::new(), shift: 0, hand: 0 }
    }
}

impl<V> Table<V> {
    /// How many states there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The states in their order, which no hash decides.
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// The same, to change.
    pub fn values_mut(&mut self) -> &mut [V] {
        &mut self.values
    }

    /// The state at a place.
    #[inline]
    pub fn at(&mut self, place: usize) -> &mut V {
        &mut self.values[place]
    }

    /// The place of a key's state; it holds until one is removed.
    #[inline]
    pub fn find(&self, id: KeyId) -> Option<usize> {
        if self.index.is_empty() {
            return None;
        }
        let mut slot = self.home(id);
        loop {
            let place = (self.index[slot] as usize).checked_sub(1)?;
            if self.ids[place] == id {
                return Some(place);
            }
            slot = self.after(slot);
        }
    }

    /// Adds the state of a key that has none, and says where it is.
    pub fn add(&mut self, id: KeyId, value: V) -> usize {
        debug_assert!(self.find(id).is_none(), "a key has one state");
        if self.index.len() * 3 <= self.values.len() * 4 {
            self.grow();
        }
        let place = self.values.len();
        if place == self.values.capacity() {
            self.ids.reserve_exact(place / 8 + LEAST);
            self.values.reserve_exact(place / 8 + LEAST);
        }
        self.ids.push(id);
        self.values.push(value);
        self.enter(id, place);
        place
    }

    /// Takes a state out; the last one moves to its place.
    pub fn remove(&mut self, place: usize) -> V {
        let last = self.values.len() - 1;
        let hole = self.slot_of(place);
        if place < last {
            let slot = self.slot_of(last);
            self.index[slot] = place as u32 + 1;
        }
        self.ids.swap_remove(place);
        let value = self.values.swap_remove(place);
        self.close(hole);
        value
    }

    /// Looks at the next `count` states after the last search, never at the first `kept`, and takes out those that
    /// are worth nothing.
    pub fn forget(&mut self, kept: usize, count: usize, worthless: impl Fn(&V) -> bool) {
        for _ in 0..count {
            if self.len() <= kept {
                return;
            }
            if self.hand < kept || self.len() <= self.hand {
                self.hand = kept;
            }
            // The last one moves here and is looked at next.
            if worthless(&self.values[self.hand]) {
                self.remove(self.hand);
            } else {
                self.hand += 1;
            }
        }
    }

    /// Where a key is looked for first: a multiplicative hash (Knuth, volume 3, section 6.4), of whose sum the highest
    /// bits are the best. The numbers are odd and without pattern; the last is 2^64 over the golden ratio.
    #[inline]
    fn home(&self, KeyId([few, tenant, user]): KeyId) -> usize {
        let few = (few as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let tenant = (tenant as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let user = (user as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (few.wrapping_add(tenant).wrapping_add(user) >> self.shift) as usize
    }

    #[inline]
    fn after(&self, slot: usize) -> usize {
        (slot + 1) & (self.index.len() - 1)
    }

    /// The slot of the index in which a place stands.
    fn slot_of(&self, place: usize) -> usize {
        let mut slot = self.home(self.ids[place]);
        while self.index[slot] as usize != place + 1 {
            slot = self.after(slot);
        }
        slot
    }

    fn enter(&mut self, id: KeyId, place: usize) {
        let mut slot = self.home(id);
        while self.index[slot] != 0 {
            slot = self.after(slot);
        }
        self.index[slot] = u32::try_from(place + 1).expect("fewer than 2^32 keys");
    }

    fn grow(&mut self) {
        let size = (self.index.len() * 2).max(LEAST);
        self.index.clear();
        self.index.shrink_to_fit();
        self.index.resize(size, 0);
        self.shift = 64 - size.ilog2();
        for place in 0..self.ids.len() {
            self.enter(self.ids[place], place);
        }
    }

    /// Empties a slot of the index and moves up what was pushed past it (Knuth, volume 3, algorithm 6.4 R).
    fn close(&mut self, mut hole: usize) {
        let mask = self.index.len() - 1;
        let mut slot = hole;
        loop {
            slot = self.after(slot);
            let Some(place) = (self.index[slot] as usize).checked_sub(1) else { break };
            let home = self.home(self.ids[place]);
            // It may move up if its home is not between the hole and itself.
            if hole.wrapping_sub(home) & mask < slot.wrapping_sub(home) & mask {
                self.index[hole] = self.index[slot];
                hole = slot;
            }
        }
        self.index[hole] = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Dice, Purpose};
    use std::collections::BTreeMap;

    #[test]
    fn it_finds_what_a_map_finds_whatever_comes_and_goes() {
        let (mut table, mut map) = (Table::default(), BTreeMap::new());
        for step in 0..200_000u64 {
            let bits = Dice(step).bits(Purpose::Policy, 1);
            // Few keys at first, then more, then few again.
            let among = [50, 3_000, 10][(step / 70_000) as usize];
            let id = KeyId([0, (bits % among) as u32, (bits >> 32) as u32 % 3]);
            match (table.find(id), bits >> 60) {
                (Some(place), 0..6) => assert_eq!(Some(table.remove(place)), map.remove(&id)),
                (Some(place), _) => assert_eq!(Some(&*table.at(place)), map.get(&id)),
                (None, _) => {
                    assert_eq!(map.insert(id, step), None);
                    table.add(id, step);
                }
            }
            assert_eq!(table.len(), map.len());
        }
        for (id, value) in &map {
            assert_eq!(table.find(*id).map(|place| table.values()[place]), Some(*value));
        }
    }

    #[test]
    fn the_search_for_what_is_worth_nothing_goes_round_and_spares_the_first() {
        let mut table = Table::default();
        (0..10).for_each(|n| {
            table.add(KeyId([0, n, 0]), n);
        });
        table.forget(2, 100, |n| n % 2 == 0);
        let mut left = table.values().to_vec();
        left.sort();
        assert_eq!(left, [0, 1, 3, 5, 7, 9]);
        assert!(left.iter().all(|n| table.find(KeyId([0, *n, 0])).is_some()));
    }
}
