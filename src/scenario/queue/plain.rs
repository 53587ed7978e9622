//! `kind = "fifo"`, `"lifo"`, `"priority"` and `"edf"`.

use super::{Kind, Order};
use crate::scenario::client::not_zero;
use crate::section::Section;

pub(super) const FIFO: Kind = Kind {
    name: "fifo",
    about: "first in, first out",
    question: "What does plain waiting cost?",
    formula: "arrival",
    source: "Erlang, 1917",
    read: read_fifo,
};

pub(super) const LIFO: Kind = Kind {
    name: "lifo",
    about: "last in, first out",
    question: "Is it better to serve some in time than all too late?",
    formula: "-arrival",
    source: "Conway, Maxwell and Miller, Theory of Scheduling, 1967",
    read: |_| Order::Lifo,
};

pub(super) const PRIORITY: Kind = Kind {
    name: "priority",
    about: "the most important class first, with ageing",
    question: "Who waits while a person is served?",
    formula: "arrival - priority * ageing",
    source: "Cobham, 1954; Kleinrock, Queueing Systems II, 1976",
    read: read_priority,
};

pub(super) const EARLIEST_DEADLINE: Kind = Kind {
    name: "edf",
    about: "the earliest deadline first, without those that can't be in time",
    question: "How many are in time if the most urgent go first?",
    formula: "birth + deadline of the class",
    source: "Jackson, 1955; Liu and Layland, 1973",
    read: read_earliest_deadline,
};

fn read_fifo(s: &mut Section) -> Order {
    let head_of_line_blocks = s.one_of(
        "head_of_line",
        &[("pass", false), ("block", true)],
        Some(false),
        "whether the first, when it lacks room for its own key, lets others pass",
    );
    Order::Fifo { head_of_line_blocks }
}

fn read_priority(s: &mut Section) -> Order {
    let ageing = s.get("ageing", "how long a wait makes up for one step of priority; none does unless said");
    not_zero(s, "ageing", ageing);
    Order::Priority { ageing }
}

fn read_earliest_deadline(s: &mut Section) -> Order {
    let shortest_service =
        s.get("drop_infeasible", "sheds whose turn comes less than so long before its deadline");
    Order::EarliestDeadline { shortest_service }
}
