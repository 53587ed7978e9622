//! A priority queue with four children per node: the general part of the calendar.
//!
//! Four children make the tree half as deep as two; the smallest of a full group is found by a small tournament of
//! independent comparisons. Taking out the first leaves a hole at the root, which the next push fills, since most
//! events that happen bring another; the hole sinks to the bottom before the entry looks for its place on the way
//! up, because most new entries belong near the bottom. Keys are unique, so the order is total.

use super::key::Key;

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
    /// Whether the root was taken out and not replaced yet.
    hole: bool,
}

impl Heap {
    pub(super) fn len(&self) -> usize {
        self.entries.len() - usize::from(self.hole)
    }

    /// The first entry.
    #[inline(always)]
    pub(super) fn first(&mut self) -> Option<&Entry> {
        if self.hole {
            self.close();
        }
        self.entries.first()
    }

    /// Takes out the entry that [`first`](Heap::first) has just shown.
    #[inline(always)]
    pub(super) fn take_first(&mut self) {
        self.hole = true;
    }

    /// Fills the hole at the root with the last entry.
    #[inline(never)]
    fn close(&mut self) {
        self.hole = false;
        if let Some(last) = self.entries.pop()
            && !self.entries.is_empty()
        {
            self.sink(last);
        }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, entry: Entry) {
        if self.hole {
            self.hole = false;
            self.sink(entry);
        } else {
            let hole = self.entries.len();
            self.entries.push(entry);
            self.rise(hole, entry);
        }
    }

    /// Puts an entry at `hole` or above.
    #[inline(always)]
    fn rise(&mut self, mut hole: usize, entry: Entry) {
        while 0 < hole {
            let parent = (hole - 1) / 4;
            if self.entries[parent].key.before(entry.key) {
                break;
            }
            self.entries[hole] = self.entries[parent];
            hole = parent;
        }
        self.entries[hole] = entry;
    }

    /// Moves the hole at the root to the bottom and lets `entry` rise from there.
    #[inline(never)]
    fn sink(&mut self, entry: Entry) {
        let bottom = self.sink_hole(0);
        self.rise(bottom, entry);
    }

    /// Moves a hole to the bottom, always along the smallest child.
    #[inline(always)]
    fn sink_hole(&mut self, mut hole: usize) -> usize {
        let entries = &mut self.entries[..];
        loop {
            let first = 4 * hole + 1;
            let smallest = match entries.get(first..).and_then(|rest| rest.first_chunk::<4>()) {
                Some(group) => {
                    let left = usize::from(group[1].key.before(group[0].key));
                    let right = 2 + usize::from(group[3].key.before(group[2].key));
                    first + if group[right].key.before(group[left].key) { right } else { left }
                }
                None => match (first..entries.len()).min_by_key(|index| entries[*index].key) {
                    Some(smallest) => smallest,
                    None => return hole,
                },
            };
            entries[hole] = entries[smallest];
            hole = smallest;
        }
    }

    /// Keeps the entries that `keep` wants.
    pub(super) fn retain(&mut self, keep: impl FnMut(&Entry) -> bool) {
        if self.hole {
            self.close();
        }
        self.entries.retain(keep);
        // Sorted entries are a heap.
        self.entries.sort_unstable_by_key(|entry| entry.key);
    }
}
