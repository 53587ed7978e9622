//! The few places that have one next event each: slots and lanes of the calendar.
//!
//! Up to eight are looked through one by one, faster than any structure over them is kept up. More stand in groups of
//! eight, of which each knows its first: then one group is looked through, and the firsts of all.

use super::key::Key;

/// The next events of a few sources, and which of them is the first of all.
#[derive(Debug)]
pub(super) struct Sources {
    keys: [Key; SOURCES],
    used: usize,
    first: usize,
    /// The key of the first.
    least: Key,
    /// The first source of each group, and its key; kept up where there are several groups.
    firsts: [usize; GROUP],
    leasts: [Key; GROUP],
}

/// So many stand in a group, and so many groups there are.
const GROUP: usize = 8;
/// So many sources there may be.
const SOURCES: usize = GROUP * GROUP;

impl Default for Sources {
    fn default() -> Sources {
        Sources {
            keys: [Key::NEVER; SOURCES],
            used: 0,
            first: 0,
            least: Key::NEVER,
            firsts: [0; GROUP],
            leasts: [Key::NEVER; GROUP],
        }
    }
}

impl Sources {
    /// Adds a source that has nothing yet; `None` if there are too many.
    pub(super) fn add(&mut self) -> Option<usize> {
        let index = self.used;
        if index == SOURCES {
            return None;
        }
        self.used += 1;
        (0..=index / GROUP).for_each(|group| self.look_through(group));
        Some(index)
    }

    /// Notes what a source has next.
    #[inline(always)]
    pub(super) fn set(&mut self, index: usize, key: Key) {
        self.keys[index % SOURCES] = key;
        if GROUP < self.used {
            self.set_in_group(index, key);
        } else if key.before(self.least) {
            (self.first, self.least) = (index, key);
        } else if index == self.first {
            self.least = key;
            for (other, key) in self.keys.iter().enumerate().take(self.used) {
                if key.before(self.least) {
                    (self.first, self.least) = (other, *key);
                }
            }
        }
    }

    /// The same where there are several groups.
    #[inline(never)]
    fn set_in_group(&mut self, index: usize, key: Key) {
        let group = index % SOURCES / GROUP;
        if key.before(self.leasts[group]) {
            (self.firsts[group], self.leasts[group]) = (index, key);
        } else if index == self.firsts[group] {
            self.look_through(group);
        } else {
            return;
        }
        let group = least_of(&self.leasts);
        (self.first, self.least) = (self.firsts[group], self.leasts[group]);
    }

    /// Finds the first of a group.
    #[inline]
    fn look_through(&mut self, group: usize) {
        let begin = group * GROUP;
        let keys = self.keys[begin..].first_chunk().expect("groups are whole");
        let first = begin + least_of(keys);
        (self.firsts[group], self.leasts[group]) = (first, self.keys[first]);
    }

    /// The source whose event comes first, and its key.
    #[inline(always)]
    pub(super) fn first(&self) -> (usize, Key) {
        (self.first, self.least)
    }
}

/// The place of the least of several keys: a tournament that takes no branch, since none could be foretold.
#[inline(always)]
fn least_of(keys: &[Key; GROUP]) -> usize {
    let better = |a: usize, b: usize| a + (b - a) * usize::from(keys[b % GROUP].before(keys[a % GROUP]));
    better(better(better(0, 1), better(2, 3)), better(better(4, 5), better(6, 7)))
}

#[cfg(test)]
mod tests {
    use super::super::calendar::Moment;
    use super::*;
    use crate::time::SimTime;
    use proptest::prelude::*;

    proptest! {
        /// However many there are, whatever each has next, the first is that of a search through all.
        #[test]
        fn the_first_is_the_least_of_all(
            count in 1usize..=SOURCES, steps in prop::collection::vec((0usize..SOURCES, 0u64..40), 1..300)
        ) {
            let (mut sources, mut keys) = (Sources::default(), vec![Key::NEVER; SOURCES]);
            for added in 0..count {
                prop_assert_eq!(sources.add(), Some(added));
                for (number, (index, time)) in steps.iter().enumerate() {
                    let index = index % (added + 1);
                    let sequence = (added * steps.len() + number) as u64;
                    // One in so many has nothing more.
                    let key = match time {
                        0 => Key::NEVER,
                        time => Key::new(SimTime(*time), Moment::Arrive, sequence),
                    };
                    sources.set(index, key);
                    keys[index] = key;
                    let least = *keys.iter().min().expect("there are some");
                    prop_assert_eq!(sources.first().1, least);
                    prop_assert!(least == Key::NEVER || keys[sources.first().0] == least);
                }
            }
        }
    }

    #[test]
    fn there_is_room_for_so_many_and_no_more() {
        let mut sources = Sources::default();
        assert!((0..SOURCES).all(|index| sources.add() == Some(index)));
        assert_eq!(sources.add(), None);
    }
}
