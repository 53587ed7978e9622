//! The few places that have one next event each: slots and lanes of the calendar.

use super::key::Key;

/// The next events of a few sources, and which of them is the first of all.
#[derive(Debug)]
pub(super) struct Sources {
    keys: [Key; SOURCES],
    pub(super) used: usize,
    first: usize,
    /// The key of the first.
    least: Key,
}

/// So many sources are looked through one by one faster than any structure over them is kept up.
pub(super) const SOURCES: usize = 16;

impl Default for Sources {
    fn default() -> Sources {
        Sources { keys: [Key::NEVER; SOURCES], used: 0, first: 0, least: Key::NEVER }
    }
}

impl Sources {
    /// Notes what a source has next.
    #[inline(always)]
    pub(super) fn set(&mut self, index: usize, key: Key) {
        self.keys[index % SOURCES] = key;
        if key.before(self.least) {
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

    /// The source whose event comes first, and its key.
    #[inline(always)]
    pub(super) fn first(&self) -> (usize, Key) {
        (self.first, self.least)
    }
}
