//! Queues as files describe them: one registry of disciplines, one file per kind that has keys of its own.

mod adaptive_lifo;
mod laws;
mod plain;
mod shares;

use super::client::not_zero;
use super::directory::Directory;
use crate::queue::adaptive_lifo::Backlog;
use crate::queue::bounds::Overflow;
use crate::queue::shuffle_sharding::Sharding;
use crate::request::{Key, Knob, Unit};
use crate::section::{Amount, At, Limit, Section};
use crate::time::Nanos;
pub use laws::Law;

/// A queue.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Its name.
    pub name: String,
    /// The order in which those that wait are offered.
    pub order: Order,
    /// The most that may wait; `None` is unlimited.
    pub max_length: Option<u64>,
    /// The most tokens that may wait.
    pub max_tokens: Option<u64>,
    /// The longest wait that may be predicted for one that comes.
    pub max_predicted_wait: Option<Nanos>,
    /// Who leaves when one comes for whom there is no room.
    pub overflow: Overflow,
    /// The longest wait; `None` is for ever.
    pub max_wait: Option<Nanos>,
    /// Who is shed when its turn has come.
    pub law: Option<Law>,
}

/// The order in which those that wait are offered.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// First in, first out.
    Fifo {
        /// Whether one that lacks room for its own key keeps those behind it from starting.
        head_of_line_blocks: bool,
    },
    /// Last in, first out.
    Lifo,
    /// Last in, first out while there is a backlog.
    AdaptiveLifo(Backlog),
    /// By priority of the class.
    Priority {
        /// How long a wait makes up for one step of priority.
        ageing: Option<Nanos>,
    },
    /// By deadline.
    EarliestDeadline {
        /// Sheds whose turn comes less than so long before its deadline.
        shortest_service: Option<Nanos>,
    },
    /// One call of each key in turn.
    Fair(Shares),
    /// A quantum for each key in turn.
    DeficitRoundRobin(Shares, u64),
    /// By start tags in virtual time.
    StartTimeFair(Shares),
    /// Queues that flows are dealt hands of.
    ShuffleSharding(Sharding),
}

/// Between whom capacity is shared, and by what measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// What makes a flow.
    pub key: Key,
    /// What is shared out.
    pub unit: Unit,
    /// Weights by name; others weigh 1. `None` takes those of the classes.
    pub weights: Option<Vec<(At<String>, u32)>>,
}

/// A discipline: its name in files, what it is about, and its reader, which leaves finishing to the caller.
pub struct Kind {
    /// The word in `kind = "…"`.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// The question that it answers.
    pub question: &'static str,
    /// Its rule, as a formula.
    pub formula: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// Reads the keys that it has beside those of every queue.
    pub read: fn(&mut Section) -> Order,
}

/// Every discipline; the first is that of a queue that names none.
pub const KINDS: &[Kind] = &[
    plain::FIFO,
    plain::LIFO,
    adaptive_lifo::KIND,
    plain::PRIORITY,
    plain::EARLIEST_DEADLINE,
    shares::FAIR,
    shares::DEFICIT_ROUND_ROBIN,
    shares::START_TIME_FAIR,
    shares::SHUFFLE_SHARDING,
];

impl Queue {
    /// Reads and finishes `[queue.NAME]`.
    pub fn read(name: String, mut s: Section, classes: &Directory) -> Queue {
        let words: Vec<(&'static str, &Kind)> = KINDS.iter().map(|kind| (kind.name, kind)).collect();
        let Some(kind) = s.choice_or_first("kind", &words, "the order in which work starts") else {
            // Without a kind that is known, the keys can't be told right from wrong.
            s.skip_all();
            return Queue::read_as(&KINDS[0], name, &mut s);
        };
        let queue = Queue::read_as(kind, name, &mut s);
        s.finish();
        let by_class = queue.order.shares().filter(|shares| shares.key == Key::Class);
        for (class, _) in by_class.map_or(&[][..], Shares::listed) {
            classes.find(class);
        }
        queue
    }

    /// Reads a table of that kind; leaves finishing to the caller.
    pub fn read_as(kind: &Kind, name: String, s: &mut Section) -> Queue {
        let order = (kind.read)(s);
        let max_length: Limit = s.need("max_length", "how many may wait");
        let max_tokens: Option<Amount> =
            s.get("max_tokens", "how many tokens those may have that wait; any number unless said");
        let max_predicted_wait =
            s.get("max_predicted_wait", "the longest wait that may be predicted for one that comes");
        let overflow = s.one_of(
            "on_overflow",
            &Overflow::NAMES,
            Some(Overflow::Newest),
            "who leaves when one comes for whom there is no room",
        );
        let max_wait = s.get("max_wait", "how long one may wait; for ever unless said");
        for (key, length) in [("max_wait", max_wait), ("max_predicted_wait", max_predicted_wait)] {
            not_zero(s, key, length);
        }
        let law = laws::read(s);
        let bounded = max_length.0.is_some() || max_tokens.is_some() || max_predicted_wait.is_some();
        if overflow != Overflow::Newest && !bounded {
            let what = format!("`{}` never comes to pass in a queue without bound", s.path_of("on_overflow"));
            s.warning("on_overflow", what, "take it out, or bound `max_length`");
        }
        let max_tokens = max_tokens.map(|tokens| tokens.0);
        let max_length = max_length.0;
        Queue { name, order, max_length, max_tokens, max_predicted_wait, overflow, max_wait, law }
    }

    /// The keys that an event may change.
    pub const CHANGEABLE: [&'static str; 2] = ["max_length", "max_wait"];

    /// What holds for a key that an event may change, when no event does.
    pub fn own(&self, key: &str) -> Option<Knob> {
        Some(match key {
            "max_length" => Knob::MaxLength(self.max_length),
            "max_wait" => Knob::MaxWait(self.max_wait),
            _ => return None,
        })
    }

    /// Whether priorities of classes matter to it.
    pub fn looks_at_priority(&self) -> bool {
        matches!(self.order, Order::Priority { .. }) || self.overflow == Overflow::LowestPriority
    }

    /// Whether weights of classes matter to it.
    pub fn looks_at_weight(&self) -> bool {
        self.order.shares().is_some_and(|shares| shares.weights.is_none() && shares.key == Key::Class)
    }
}

impl Order {
    /// How it shares, if it is one that weighs.
    pub fn shares(&self) -> Option<&Shares> {
        match self {
            Order::DeficitRoundRobin(shares, _) | Order::StartTimeFair(shares) => Some(shares),
            _ => None,
        }
    }
}

impl Shares {
    /// The weights that the queue itself lists.
    pub fn listed(&self) -> &[(At<String>, u32)] {
        self.weights.as_deref().unwrap_or_default()
    }
}
