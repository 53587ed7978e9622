//! Bounds of a line: how many may wait, with how many tokens, for how long as far as can be told; and who leaves
//! when one comes for whom there is no room.
//!
//! **Predicted wait** of one that comes behind `n` others: (n + 1) times the mean gap between starts from the line
//! while somebody waits, which is the estimator QL of Ibrahim and Whitt (Real-Time Delay Estimation in Overloaded
//! Multiserver Queues, 2009) with a measured rate. Each gap moves the mean by an eighth of the difference, rounded
//! towards the mean. Once nobody waits the mean is forgotten, so that one bad time can't keep everybody out for good;
//! before the first gap nothing is predicted.
//!
//! **Victims** leave until there is room. Nobody leaves for one that would find no room all the same.

use super::line::Item;
use super::sorted::Sorted;
use super::{Ticket, Visit};
use crate::gauge::Gauge;
use crate::request::{Ask, Unit};
use crate::time::{Nanos, SimTime};

/// Who leaves when one comes for whom there is no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The one that comes.
    #[default]
    Newest,
    /// Those that have waited longest.
    Oldest,
    /// Those of the lowest priority below that of the one that comes; of equals, the newest.
    LowestPriority,
    /// Those whose deadline is over, the first first.
    Expired,
}

impl Overflow {
    /// Every way with the name that files give it.
    pub const NAMES: [(&'static str, Overflow); 4] = [
        ("newest", Overflow::Newest),
        ("oldest", Overflow::Oldest),
        ("lowest_priority", Overflow::LowestPriority),
        ("expired", Overflow::Expired),
    ];
}

/// See the module. `None` is without bound.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// How many may wait.
    pub max_length: Option<u64>,
    /// How many tokens those may have that wait, as they were estimated on arrival.
    pub max_tokens: Option<u64>,
    /// The longest wait that may be predicted for one that comes.
    pub max_predicted_wait: Option<Nanos>,
    /// Who leaves.
    pub overflow: Overflow,
    /// Priorities by class; the larger, the more important.
    pub priorities: Vec<i32>,
}

/// Bounds, and what is known of those that wait within them.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    bounds: Bounds,
    tokens: Gauge,
    /// Tokens of each that waits, by ticket.
    tokens_of: Vec<u64>,
    /// Those that wait, in the order in which they would leave.
    victims: Sorted,
    came: u64,
    last_start: Option<SimTime>,
    mean_gap: Option<Nanos>,
}

impl Room {
    /// Room in which nobody waits.
    pub(super) fn new(bounds: Bounds) -> Room {
        Room { bounds, ..Room::default() }
    }

    /// Another bound for those that come from now on.
    pub(super) fn set_max_length(&mut self, max_length: Option<u64>) {
        self.bounds.max_length = max_length;
    }

    /// Whether one more fits in beside those that wait.
    pub(super) fn is_left(&self, len: u64, ask: &Ask) -> bool {
        self.fit(len, self.tokens.value(), ask)
    }

    fn fit(&self, len: u64, tokens: u64, ask: &Ask) -> bool {
        let predicted = self.mean_gap.map(|gap| gap.0.saturating_mul(len + 1));
        let Bounds { max_length, max_tokens, max_predicted_wait, .. } = &self.bounds;
        max_length.is_none_or(|max| len < max)
            && max_tokens.is_none_or(|max| tokens + ask.estimate(Unit::Tokens) <= max)
            && max_predicted_wait.zip(predicted).is_none_or(|(max, wait)| wait <= max.0)
    }

    /// Whether anybody ever leaves for one that comes.
    pub(super) fn has_victims(&self) -> bool {
        self.bounds.overflow != Overflow::Newest
    }

    /// Who leaves first, if those that may leave make room.
    pub(super) fn victim(&self, now: SimTime, len: u64, ask: &Ask) -> Option<Ticket> {
        let victims = &self.victims;
        let first = victims.first()?;
        let (mut len, mut tokens) = (len, self.tokens.value());
        let mut turn = Some(first);
        while let Some(ticket) = turn.filter(|ticket| self.may_leave(now, *ticket, ask)) {
            len -= 1;
            tokens -= self.tokens_of[ticket as usize];
            if self.fit(len, tokens, ask) {
                return Some(Ticket(first));
            }
            turn = victims.next(ticket);
        }
        None
    }

    fn may_leave(&self, now: SimTime, ticket: u32, ask: &Ask) -> bool {
        let (key, _) = self.victims.place(ticket);
        match self.bounds.overflow {
            Overflow::Newest => false,
            Overflow::Oldest => true,
            Overflow::LowestPriority => key < self.priority(ask),
            // An answer at the deadline still counts.
            Overflow::Expired => key < i128::from(now.0),
        }
    }

    fn priority(&self, ask: &Ask) -> i128 {
        self.bounds.priorities.get(ask.class.0 as usize).copied().unwrap_or(0).into()
    }

    /// One waits.
    pub(super) fn came(&mut self, now: SimTime, ticket: Ticket, item: &Item<'_>) {
        let index = ticket.0 as usize;
        if self.tokens_of.len() <= index {
            self.tokens_of.resize(index + 1, 0);
        }
        self.tokens_of[index] = item.ask.estimate(Unit::Tokens);
        self.tokens.up(now, self.tokens_of[index]);
        self.came += 1;
        let came = self.came;
        let place = match self.bounds.overflow {
            Overflow::Newest => return,
            Overflow::Oldest => (0, came),
            Overflow::LowestPriority => (self.priority(item.ask), u64::MAX - came),
            Overflow::Expired => (item.deadline.0.into(), came),
        };
        self.victims.insert_at(ticket.0, place);
    }

    /// One waits no more, and so many still do.
    pub(super) fn left(&mut self, now: SimTime, ticket: Ticket, len: u64) {
        if len == 0 {
            (self.last_start, self.mean_gap) = (None, None);
        }
        self.tokens.down(now, self.tokens_of[ticket.0 as usize]);
        if self.has_victims() {
            self.victims.remove(ticket.0);
        }
    }

    /// One has started from the line, in which so many still wait.
    pub(super) fn started(&mut self, now: SimTime, len: u64) {
        if let Some(last) = self.last_start {
            let gap = now - last;
            self.mean_gap = Some(match self.mean_gap {
                None => gap,
                Some(mean) if mean < gap => Nanos(mean.0 + (gap.0 - mean.0) / 8),
                Some(mean) => Nanos(mean.0 - (mean.0 - gap.0) / 8),
            });
        }
        self.last_start = (0 < len).then_some(now);
    }

    pub(super) fn gauges(&mut self, now: SimTime, visit: Visit<'_>) {
        let tokens = self.tokens.read(now);
        if self.bounds.max_tokens.is_some() {
            visit("tokens_waiting", tokens);
        }
    }
}
