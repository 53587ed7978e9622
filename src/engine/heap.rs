//! A priority queue with four children per node: the general part of the calendar.
//!
//! Four children make the tree half as deep as two; the smallest of a full group is found by a small tournament of
//! independent comparisons. A hole is moved instead of swapping. Keys are unique, so the order is total.

use super::calendar::Key;

/// An event: its key, and what it is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) about: u64,
}

/// A min-heap of entries.
#[derive(Debug, Default)]
pub(super) struct Heap {
    entries: Vec<Entry>,
}

impl Heap {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub(super) fn first(&self) -> Option<&Entry> {
        self.entries.first()
    }

    #[inline]
    pub(super) fn push(&mut self, entry: Entry) {
        let mut hole = self.entries.len();
        self.entries.push(entry);
        while 0 < hole {
            let parent = (hole - 1) / 4;
            if self.entries[parent].key < entry.key {
                break;
            }
            self.entries[hole] = self.entries[parent];
            hole = parent;
        }
        self.entries[hole] = entry;
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Entry> {
        let last = self.entries.pop()?;
        let Some(first) = self.entries.first_mut() else { return Some(last) };
        let taken = std::mem::replace(first, last);
        self.sink(0);
        Some(taken)
    }

    /// Moves the entry at `hole` down to its place.
    #[inline]
    fn sink(&mut self, mut hole: usize) {
        let entry = self.entries[hole];
        loop {
            let first = 4 * hole + 1;
            let smallest = match self.entries.get(first..).and_then(|rest| rest.first_chunk::<4>()) {
                Some(group) => {
                    let left = usize::from(group[1].key < group[0].key);
                    let right = 2 + usize::from(group[3].key < group[2].key);
                    first + if group[right].key < group[left].key { right } else { left }
                }
                None => match (first..self.entries.len()).min_by_key(|index| self.entries[*index].key) {
                    Some(smallest) => smallest,
                    None => break,
                },
            };
            if entry.key < self.entries[smallest].key {
                break;
            }
            self.entries[hole] = self.entries[smallest];
            hole = smallest;
        }
        self.entries[hole] = entry;
    }

    /// Keeps the entries that `keep` wants.
    pub(super) fn retain(&mut self, keep: impl FnMut(&Entry) -> bool) {
        self.entries.retain(keep);
        for hole in (0..self.entries.len().div_ceil(4)).rev() {
            self.sink(hole);
        }
    }
}
