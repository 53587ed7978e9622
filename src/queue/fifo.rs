//! First in, first out, bounded in length and in waiting time.
//!
//! The edge: `max_length` counts those that wait, not those in service; 0 lets nobody wait. A length that is
//! lowered below what waits turns nobody away who is in already.

use super::line::{Item, Order};
use super::list::{Ends, Links};
use super::{Queue, Ticket};
use crate::request::{Ask, Knob};
use crate::time::{Nanos, SimTime};

/// A FIFO queue.
#[derive(Clone, Debug)]
pub struct Fifo {
    max_length: Option<u64>,
    max_wait: Option<Nanos>,
    head_of_line_blocks: bool,
    links: Links,
    ends: Ends,
    len: u64,
}

impl Fifo {
    /// An empty queue; `None` is without bound.
    pub fn new(max_length: Option<u64>, max_wait: Option<Nanos>) -> Fifo {
        Fifo {
            max_length,
            max_wait,
            head_of_line_blocks: false,
            links: Links::default(),
            ends: Ends::default(),
            len: 0,
        }
    }

    /// The same queue, in which one that lacks room for its own key blocks those behind it.
    pub fn head_of_line(mut self, blocks: bool) -> Fifo {
        self.head_of_line_blocks = blocks;
        self
    }
}

impl Queue for Fifo {
    #[inline]
    fn has_room(&self, _ask: &Ask) -> bool {
        self.max_length.is_none_or(|max| self.len < max)
    }

    #[inline]
    fn push(&mut self, _now: SimTime, ticket: Ticket, _ask: &Ask, _deadline: SimTime) {
        self.links.push(&mut self.ends, ticket.0);
        self.len += 1;
    }

    #[inline]
    fn remove(&mut self, _now: SimTime, ticket: Ticket) {
        self.links.remove(&mut self.ends, ticket.0);
        self.len -= 1;
    }

    #[inline]
    fn start(&mut self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        let next = self.next(now, ticket);
        self.remove(now, ticket);
        next
    }

    #[inline]
    fn first(&self, _now: SimTime) -> Option<Ticket> {
        self.ends.first().map(Ticket)
    }

    #[inline]
    fn next(&self, _now: SimTime, ticket: Ticket) -> Option<Ticket> {
        self.links.after(ticket.0).map(Ticket)
    }

    #[inline]
    fn may_pass(&self, _now: SimTime, _ask: &Ask) -> bool {
        !self.head_of_line_blocks || self.len == 0
    }

    fn pass_over(&self, now: SimTime, ticket: Ticket) -> Option<Ticket> {
        if self.head_of_line_blocks { None } else { self.next(now, ticket) }
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn max_wait(&self, _now: SimTime) -> Option<Nanos> {
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

/// The same order in a line with other bounds, or with a law.
#[derive(Clone, Debug, Default)]
pub struct InOrder {
    links: Links,
    ends: Ends,
}

impl Order for InOrder {
    fn push(&mut self, _now: SimTime, ticket: Ticket, _item: &Item<'_>) {
        self.links.push(&mut self.ends, ticket.0);
    }

    fn remove(&mut self, _now: SimTime, ticket: Ticket) {
        self.links.remove(&mut self.ends, ticket.0);
    }

    fn first(&self, _now: SimTime) -> Option<Ticket> {
        self.ends.first().map(Ticket)
    }

    fn next(&self, _now: SimTime, ticket: Ticket) -> Option<Ticket> {
        self.links.after(ticket.0).map(Ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: SimTime = SimTime::ZERO;

    fn order(queue: &Fifo) -> Vec<u32> {
        let next = |ticket: &Ticket| queue.next(NOW, *ticket);
        std::iter::successors(queue.first(NOW), next).map(|ticket| ticket.0).collect()
    }

    #[test]
    fn what_leaves_from_the_middle_leaves_the_others_in_order() {
        let (mut queue, ask) = (Fifo::new(Some(4), None), Ask::default());
        for ticket in [7, 2, 9, 4] {
            assert!(queue.has_room(&ask));
            queue.push(NOW, Ticket(ticket), &ask, NOW);
        }
        assert!(!queue.has_room(&ask));
        for (gone, rest) in [(9, vec![7, 2, 4]), (7, vec![2, 4]), (4, vec![2]), (2, vec![])] {
            queue.remove(NOW, Ticket(gone));
            assert_eq!(order(&queue), rest);
        }
        assert!(queue.is_empty());
    }
}
