//! `docs/queues.md` is what the registry says of each queue discipline.
//!
//! `UPDATE=1 cargo test --test it queue_page` writes it anew.

use crate::reference::{is_as_committed, parameters, questions};
use tidegate::scenario::queue::{KINDS, Kind, Queue};
use tidegate::section::{Param, describe};

const PLACE: &str = "docs/queues.md";

const HEAD: &str = "\
<!-- Written by `UPDATE=1 cargo test --test it queue_page` from the registry of kinds. Change that, not this. -->

# Queues

Each section is about one `kind` of queue: the question that it answers, its order, its source and its keys. The rule is
what those that wait are sorted by, the least first, or how turns are taken. Bounds, overflow and laws of dequeuing are
the same for all.

[Scenario files](scenario.md) say how a queue is put to use.
";

const SHARED: &str = "
## Keys of every queue

";

/// The keys of a kind, without the tables that nested ones lie in.
fn params(kind: &Kind) -> Vec<Param> {
    let all = describe(|section| _ = Queue::read_as(kind, "name".into(), section));
    let is_table = |param: &Param| all.iter().any(|other| other.key.starts_with(&format!("{}.", param.key)));
    all.iter().filter(|param| !is_table(param)).cloned().collect()
}

fn page() -> String {
    let plain = params(&KINDS[1]);
    assert!(KINDS[1].name == "lifo", "the kind without keys of its own");
    let questions = questions(KINDS.iter().map(|kind| (kind.name, kind.question)));
    let mut text = format!("{HEAD}\n{questions}{SHARED}{}", parameters(&plain));
    for kind in KINDS {
        let own: Vec<Param> = params(kind).into_iter().filter(|param| !plain.contains(param)).collect();
        let Kind { name, about, question, formula, source, .. } = kind;
        text += &format!(
            "\n## `{name}`\n\n**{question}** `kind = \"{name}\"`: {about}.\n\n\
             **Rule.** `{formula}`\n\n**Source.** {source}.\n"
        );
        if !own.is_empty() {
            text += &format!("\n{}", parameters(&own));
        }
    }
    text
}

#[test]
fn the_page_about_queues_is_what_the_registry_says() {
    is_as_committed(PLACE, "queue_page", &page());
}
