//! Queues as files describe them.

use super::client::not_zero;
use crate::request::Knob;
use crate::section::{Limit, Section};
use crate::time::Nanos;

/// A queue, first in, first out.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Its name.
    pub name: String,
    /// The most that may wait; `None` is unlimited.
    pub max_length: Option<u64>,
    /// The longest wait; `None` is for ever.
    pub max_wait: Option<Nanos>,
    /// Whether one that lacks room for its own key keeps those behind it from starting.
    pub head_of_line_blocks: bool,
}

impl Queue {
    /// Reads and finishes `[queue.NAME]`.
    pub fn read(name: String, mut s: Section) -> Queue {
        s.one_of("kind", &[("fifo", ())], Some(()), "the order: first in, first out");
        let max_length: Limit = s.need("max_length", "how many may wait");
        let max_wait = s.get("max_wait", "how long one may wait; for ever unless said");
        not_zero(&s, "max_wait", max_wait);
        let head_of_line_blocks = s.one_of(
            "head_of_line",
            &[("pass", false), ("block", true)],
            Some(false),
            "whether the first, when it lacks room for its own key, lets others pass",
        );
        s.finish();
        Queue { name, max_length: max_length.0, max_wait, head_of_line_blocks }
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
}
