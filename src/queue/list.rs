//! Doubly linked lists whose links lie in one vector, indexed by number: several lists may share one.

/// The links of numbers that are in lists; a number is in one list at most.
#[derive(Clone, Debug, Default)]
pub(super) struct Links(Vec<Link>);

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

/// The two ends of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    first: u32,
    last: u32,
}

/// The end of a list: no number is as large, since the links alone would fill the memory first.
const END: u32 = u32::MAX;

fn some(number: u32) -> Option<u32> {
    (number != END).then_some(number)
}

impl Default for Ends {
    fn default() -> Ends {
        Ends { first: END, last: END }
    }
}

impl Ends {
    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        some(self.first)
    }

    #[inline]
    pub(super) fn last(&self) -> Option<u32> {
        some(self.last)
    }
}

impl Links {
    /// Puts `number` at the end of a list.
    #[inline]
    pub(super) fn push(&mut self, ends: &mut Ends, number: u32) {
        let index = number as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, Link { before: END, after: END });
        }
        self.0[index] = Link { before: ends.last, after: END };
        match ends.last {
            END => ends.first = number,
            last => self.0[last as usize].after = number,
        }
        ends.last = number;
    }

    /// Takes `number` out of the list that it is in.
    #[inline]
    pub(super) fn remove(&mut self, ends: &mut Ends, number: u32) {
        let Link { before, after } = self.0[number as usize];
        match before {
            END => ends.first = after,
            before => self.0[before as usize].after = after,
        }
        match after {
            END => ends.last = before,
            after => self.0[after as usize].before = before,
        }
    }

    /// The one behind `number`.
    #[inline]
    pub(super) fn after(&self, number: u32) -> Option<u32> {
        some(self.0[number as usize].after)
    }

    /// The one before `number`.
    #[inline]
    pub(super) fn before(&self, number: u32) -> Option<u32> {
        some(self.0[number as usize].before)
    }
}
