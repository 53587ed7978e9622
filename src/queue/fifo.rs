//! First in, first out, bounded in length and in waiting time.
//!
//! The edge: `max_length` counts those that wait, not those in service; 0 lets nobody wait. A length that is
//! lowered below what waits turns nobody away who is in already.

use super::{Queue, Ticket};
use crate::request::{Ask, Knob};
use crate::time::{Nanos, SimTime};

/// A FIFO queue: a doubly linked list whose links lie in one vector, indexed by ticket.
#[derive(Clone, Debug)]
pub struct Fifo {
    max_length: Option<u64>,
    max_wait: Option<Nanos>,
    head_of_line_blocks: bool,
    links: Vec<Link>,
    first: u32,
    last: u32,
    len: u64,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

/// The end of the list: no ticket has this number, since the links alone would fill the memory first.
const END: u32 = u32::MAX;

impl Fifo {
    /// An empty queue; `None` is without bound.
    pub fn new(max_length: Option<u64>, max_wait: Option<Nanos>) -> Fifo {
        Fifo {
            max_length,
            max_wait,
            head_of_line_blocks: false,
            links: Vec::new(),
            first: END,
            last: END,
            len: 0,
        }
    }

    /// The same queue, in which one that lacks room for its own key blocks those behind it.
    pub fn head_of_line(mut self, blocks: bool) -> Fifo {
        self.head_of_line_blocks = blocks;
        self
    }

    fn ticket(&self, index: u32) -> Option<Ticket> {
        (index != END).then_some(Ticket(index))
    }
}

impl Queue for Fifo {
    #[inline]
    fn has_room(&self, _ask: &Ask) -> bool {
        self.max_length.is_none_or(|max| self.len < max)
    }

    #[inline]
    fn push(&mut self, _now: SimTime, ticket: Ticket, _ask: &Ask) {
        let index = ticket.0 as usize;
        if self.links.len() <= index {
            self.links.resize(index + 1, Link { before: END, after: END });
        }
        self.links[index] = Link { before: self.last, after: END };
        match self.last {
            END => self.first = ticket.0,
            last => self.links[last as usize].after = ticket.0,
        }
        self.last = ticket.0;
        self.len += 1;
    }

    #[inline]
    fn remove(&mut self, ticket: Ticket) {
        let Link { before, after } = self.links[ticket.0 as usize];
        match before {
            END => self.first = after,
            before => self.links[before as usize].after = after,
        }
        match after {
            END => self.last = before,
            after => self.links[after as usize].before = before,
        }
        self.len -= 1;
    }

    #[inline]
    fn first(&self) -> Option<Ticket> {
        self.ticket(self.first)
    }

    #[inline]
    fn next(&self, ticket: Ticket) -> Option<Ticket> {
        self.ticket(self.links[ticket.0 as usize].after)
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn max_wait(&self) -> Option<Nanos> {
        self.max_wait
    }

    fn head_of_line_blocks(&self) -> bool {
        self.head_of_line_blocks
    }

    fn change(&mut self, knob: Knob) {
        match knob {
            Knob::MaxLength(max) => self.max_length = max,
            Knob::MaxWait(max) => self.max_wait = max,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(queue: &Fifo) -> Vec<u32> {
        std::iter::successors(queue.first(), |ticket| queue.next(*ticket)).map(|ticket| ticket.0).collect()
    }

    #[test]
    fn what_leaves_from_the_middle_leaves_the_others_in_order() {
        let (mut queue, ask) = (Fifo::new(Some(4), None), Ask::default());
        for ticket in [7, 2, 9, 4] {
            assert!(queue.has_room(&ask));
            queue.push(SimTime::ZERO, Ticket(ticket), &ask);
        }
        assert!(!queue.has_room(&ask));
        for (gone, rest) in [(9, vec![7, 2, 4]), (7, vec![2, 4]), (4, vec![2]), (2, vec![])] {
            queue.remove(Ticket(gone));
            assert_eq!(order(&queue), rest);
        }
        assert!(queue.is_empty());
    }
}
