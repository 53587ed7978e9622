//! Who calls whom among what is alive: the calls that work makes, and the work that waits for them.
//!
//! An attempt's kin lies beside it, under the same number, and only in a call graph: what stands here costs nothing where
//! nothing calls.

use crate::time::SimTime;

/// The end of a list of siblings.
const NONE: u32 = u32::MAX;

/// What an attempt is to others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kin {
    /// The work that waits for it: its place and generation.
    pub(super) parent: Option<u64>,
    /// The number of the traffic's call that it is made for.
    pub(super) root: u64,
    /// How many calls lie between it and the traffic.
    pub(super) depth: u16,
    /// Which edge of the graph it goes over.
    pub(super) edge: u16,
    /// Which of its parent's calls it is, and its number among its likes, from 0.
    pub(super) entry: u16,
    pub(super) ordinal: u32,
    /// Whether whoever called has ended: it is not tried again.
    pub(super) unwanted: bool,
    /// The first of the calls that it makes next, when those that are out have been answered.
    pub(super) next_entry: u16,
    /// How many of its calls are to be answered before it goes on.
    pub(super) out: u32,
    /// Its list of calls that are out, and its place in its parent's.
    pub(super) first_child: u32,
    pub(super) after: u32,
    pub(super) before: u32,
}

impl Default for Kin {
    fn default() -> Kin {
        Kin {
            parent: None,
            root: 0,
            depth: 0,
            edge: 0,
            entry: 0,
            ordinal: 0,
            unwanted: false,
            next_entry: 0,
            out: 0,
            first_child: NONE,
            after: NONE,
            before: NONE,
        }
    }
}

impl Kin {
    /// The same of another attempt of the call, which has not called anybody.
    pub(super) fn childless(self) -> Kin {
        Kin { next_entry: 0, out: 0, first_child: NONE, ..self }
    }
}

/// An answer on its way to the work that waits for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) parent: u64,
    pub(super) entry: u16,
    pub(super) ordinal: u32,
    /// Whether it is a good one.
    pub(super) well: bool,
}

/// The kin of all attempts, by place, and the answers that nobody has read yet.
#[derive(Debug, Default)]
pub(super) struct Family {
    kin: Vec<Kin>,
    pub(super) answers: std::collections::VecDeque<Answer>,
    /// Calls that downstreams have made.
    made: u64,
}

/// Set in the number of a call that a downstream makes.
const MADE: u64 = 1 << 63;

impl Family {
    /// A new call's number: no traffic's call has it.
    pub(super) fn number(&mut self) -> u64 {
        self.made += 1;
        MADE | self.made
    }

    /// Puts down what the attempt in `place` is to others.
    pub(super) fn set(&mut self, place: u32, kin: Kin) {
        let index = place as usize;
        if self.kin.len() <= index {
            self.kin.resize(index + 1, Kin::default());
        }
        self.kin[index] = kin;
    }

    pub(super) fn of(&self, place: u32) -> &Kin {
        &self.kin[place as usize]
    }

    pub(super) fn of_mut(&mut self, place: u32) -> &mut Kin {
        &mut self.kin[place as usize]
    }

    /// Counts `child` among those of `parent`.
    pub(super) fn adopt(&mut self, parent: u32, child: u32) {
        let first = std::mem::replace(&mut self.kin[parent as usize].first_child, child);
        (self.kin[child as usize].after, self.kin[child as usize].before) = (first, NONE);
        if first != NONE {
            self.kin[first as usize].before = child;
        }
    }

    /// Takes `child` out of those of its parent, whose place this is.
    pub(super) fn leave(&mut self, parent: u32, child: u32) {
        let Kin { after, before, .. } = self.kin[child as usize];
        match before {
            NONE => self.kin[parent as usize].first_child = after,
            before => self.kin[before as usize].after = after,
        }
        if after != NONE {
            self.kin[after as usize].before = before;
        }
    }

    /// One of those that `parent` has called and waits for.
    pub(super) fn child(&self, parent: u32) -> Option<u32> {
        Some(self.kin[parent as usize].first_child).filter(|child| *child != NONE)
    }
}

/// Never: while work waits for its calls, its end is not in the calendar.
pub(super) const NEVER: SimTime = SimTime(u64::MAX);
