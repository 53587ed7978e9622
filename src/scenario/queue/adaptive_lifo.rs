//! `kind = "adaptive_lifo"`.

use super::{Kind, Order};
use crate::queue::adaptive_lifo::Backlog;
use crate::section::{Content, Fault, Node, Section, Value};
use crate::time::Nanos;

pub(super) const KIND: Kind = Kind {
    name: "adaptive_lifo",
    about: "first in, first out; newest first while there is a backlog",
    question: "Who is still waiting for an answer when a backlog has formed?",
    formula: "arrival if backlog < lifo_above else -arrival",
    source: "Maurer, Fail at Scale, ACM Queue 13(8), 2015",
    read,
};

/// A number that wait, or how long one has waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Length(u64),
    Age(Nanos),
}

impl Value for Mark {
    const SHAPE: &'static str = "a whole number such as `100`, or a length of time such as `500ms`";
    fn read(node: &Node) -> Result<Mark, Vec<Fault>> {
        match node.content {
            Content::Text(_) => Nanos::read(node).map(Mark::Age).or_else(|faults| {
                // `150k` is text, and a number.
                u64::read(node).map(Mark::Length).map_err(|_| faults)
            }),
            _ => u64::read(node).map(Mark::Length),
        }
    }
    fn dummy() -> Mark {
        Mark::Length(1)
    }
    fn show(&self) -> String {
        match self {
            Mark::Length(length) => length.to_string(),
            Mark::Age(age) => age.show(),
        }
    }
}

fn read(s: &mut Section) -> Order {
    let above: Mark = s.need("lifo_above", "how many wait, or how long the oldest has, for newest first");
    let below: Option<Mark> =
        s.get("fifo_below", "down to which backlog the newest go first; half of `lifo_above` unless said");
    if above == Mark::Length(0) || above == Mark::Age(Nanos::ZERO) {
        let what = format!("`{}` is 0: the newest would always go first", s.path_of("lifo_above"));
        s.problem("lifo_above", what, "write more, or `kind = \"lifo\"`");
    }
    let backlog = match (above, below) {
        (Mark::Length(above), None) => Backlog::Length { above, below: above / 2 },
        (Mark::Age(above), None) => Backlog::Age { above, below: Nanos(above.0 / 2) },
        (Mark::Length(above), Some(Mark::Length(below))) => Backlog::Length { above, below },
        (Mark::Age(above), Some(Mark::Age(below))) => Backlog::Age { above, below },
        (Mark::Length(above), _) => {
            sorts_differ(s);
            Backlog::Length { above, below: 0 }
        }
        (Mark::Age(above), _) => {
            sorts_differ(s);
            Backlog::Age { above, below: Nanos::ZERO }
        }
    };
    let reversed = match backlog {
        Backlog::Length { above, below } => above <= below,
        Backlog::Age { above, below } => above <= below,
    };
    if reversed && below.is_some() {
        let what = format!("`{}` is not below `lifo_above`", s.path_of("fifo_below"));
        s.problem("fifo_below", what, "lower it, or take it out for a half of `lifo_above`");
    }
    Order::AdaptiveLifo(backlog)
}

fn sorts_differ(s: &Section) {
    let what = "one of `lifo_above` and `fifo_below` is a number and one a length of time";
    s.problem("fifo_below", what, "write both as numbers that wait, or both as ages");
}
