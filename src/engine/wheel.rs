//! Events that are far away, in the order of their time as far as that is needed.
//!
//! A hierarchical timing wheel (Varghese and Lauck, 1987): an event lies at the level of the highest digit, base 64, in
//! which its time differs from the wheel's base, in the slot of its own digit there. All of a lower level come before
//! all of a higher one, and slots of a level in their order, so the next are always those of the first slot in use. A
//! slot with few events is handed on unsorted; one with many becomes the base, and its events go down by a level or
//! more. Each is moved some few times, in order of memory, however many there are.

use super::heap::Entry;

/// Bits of a digit.
const DIGIT: u32 = 6;
/// Slots of a level.
const SLOTS: usize = 1 << DIGIT;
/// Levels, enough for all digits of a time.
const LEVELS: usize = 64_usize.div_ceil(DIGIT as usize);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Wheel {
    /// No event is earlier.
    base: u64,
    /// By level and digit.
    slots: Vec<Chain>,
    /// By level, a bit for each slot in use.
    used: [u64; LEVELS],
    blocks: Blocks,
    len: usize,
}

impl Wheel {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// No event that is added is earlier than this.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Begins anew at `base`, empty.
    pub(super) fn begin(&mut self, base: u64) {
        assert!(self.len == 0, "events are left in the wheel");
        self.base = base;
        if self.slots.is_empty() {
            self.slots = vec![Chain::default(); LEVELS * SLOTS];
        }
    }

    /// Adds an event that is not before the base.
    #[inline(never)]
    pub(super) fn push(&mut self, entry: Entry) {
        let time = entry.key.time().0;
        debug_assert!(self.base <= time);
        // The lowest digit of all if they are equal.
        let level = (63 - ((time ^ self.base) | 1).leading_zeros()) / DIGIT;
        let digit = (time >> (level * DIGIT)) as usize % SLOTS;
        self.blocks.push(&mut self.slots[level as usize * SLOTS + digit], entry);
        self.used[level as usize] |= 1 << digit;
        self.len += 1;
    }

    /// Takes out the earliest events, at most `few` unless more are at one instant, in any order; answers the last
    /// instant up to which all are out.
    pub(super) fn take_first(&mut self, few: usize, mut take: impl FnMut(Entry)) -> Option<u64> {
        loop {
            let level = self.used.iter().position(|used| *used != 0)?;
            let digit = self.used[level].trailing_zeros();
            self.used[level] &= self.used[level] - 1;
            let mut slot = std::mem::take(&mut self.slots[level * SLOTS + digit as usize]);
            self.len -= slot.len;
            // The digits above the slot's are those of the base, the ones below are zero.
            let shift = level as u32 * DIGIT;
            let above = u64::MAX.checked_shl(shift + DIGIT).unwrap_or(0);
            self.base = self.base & above | (digit as u64) << shift;
            if level == 0 || slot.len <= few {
                while let Some(entry) = self.blocks.pop(&mut slot) {
                    take(entry);
                }
                return Some(self.base | ((1 << shift) - 1));
            }
            while let Some(entry) = self.blocks.pop(&mut slot) {
                self.push(entry);
            }
        }
    }

    /// Keeps the events that `keep` wants.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Entry) -> bool) {
        for index in 0..self.slots.len() {
            let (mut slot, mut kept) = (std::mem::take(&mut self.slots[index]), Chain::default());
            self.len -= slot.len;
            while let Some(entry) = self.blocks.pop(&mut slot) {
                if keep(&entry) {
                    self.blocks.push(&mut kept, entry);
                }
            }
            self.len += kept.len;
            if kept.len == 0 {
                self.used[index / SLOTS] &= !(1 << (index % SLOTS));
            }
            self.slots[index] = kept;
        }
    }
}

/// Entries in a block.
const BLOCK: usize = 32;

/// Events in blocks, one after the other: a stack.
#[derive(Clone, Copy, Debug, Default)]
struct Chain {
    /// The last block, the only one that may not be full; means nothing if there are no events.
    last: u32,
    len: usize,
}

/// Blocks of all chains, each with the number of the block before it.
#[derive(Debug, Default)]
struct Blocks {
    blocks: Vec<([Entry; BLOCK], u32)>,
    free: Vec<u32>,
}

impl Blocks {
    fn push(&mut self, chain: &mut Chain, entry: Entry) {
        let place = chain.len % BLOCK;
        if place == 0 {
            let before = chain.last;
            chain.last = self.free.pop().unwrap_or_else(|| {
                self.blocks.push(([entry; BLOCK], 0));
                (self.blocks.len() - 1) as u32
            });
            self.blocks[chain.last as usize].1 = before;
        }
        self.blocks[chain.last as usize].0[place] = entry;
        chain.len += 1;
    }

    fn pop(&mut self, chain: &mut Chain) -> Option<Entry> {
        chain.len = chain.len.checked_sub(1)?;
        let (entries, before) = &self.blocks[chain.last as usize];
        let place = chain.len % BLOCK;
        let entry = entries[place];
        if place == 0 {
            self.free.push(chain.last);
            chain.last = *before;
        }
        Some(entry)
    }
}
