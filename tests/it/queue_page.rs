//! `docs/queues.md` is what the registry says of each queue discipline.
//!
//! `UPDATE=1 cargo test --test it queue_page` writes it anew.

use std::fs;
use std::path::Path;
use tidegate::report::text::{Layout, Table};
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

fn keys(params: &[Param]) -> String {
    let mut table = Table::new(&[
        ("key", "key", false),
        ("takes", "takes", false),
        ("default", "default", false),
        ("about", "what it means", false),
    ]);
    for param in params {
        let default = match (&param.default, param.required) {
            (Some(default), _) => format!("`{default}`"),
            (None, true) => "required".into(),
            (None, false) => String::new(),
        };
        table.rows.push(vec![
            format!("`{}`", param.key),
            param.shape.clone(),
            default,
            param.doc.to_string(),
        ]);
    }
    table.to_text(Layout::Markdown)
}

fn page() -> String {
    let plain = params(&KINDS[1]);
    assert!(KINDS[1].name == "lifo", "the kind without keys of its own");
    let mut kinds =
        Table::new(&[("kind", "kind", false), ("question", "the question that it answers", false)]);
    for kind in KINDS {
        kinds.rows.push(vec![format!("[`{0}`](#{0})", kind.name), kind.question.into()]);
    }
    let mut text = format!("{HEAD}\n{}{SHARED}{}", kinds.to_text(Layout::Markdown), keys(&plain));
    for kind in KINDS {
        let own: Vec<Param> = params(kind).into_iter().filter(|param| !plain.contains(param)).collect();
        let Kind { name, about, question, formula, source, .. } = kind;
        text += &format!(
            "\n## `{name}`\n\n**{question}** `kind = \"{name}\"`: {about}.\n\n\
             **Rule.** `{formula}`\n\n**Source.** {source}.\n"
        );
        if !own.is_empty() {
            text += &format!("\n{}", keys(&own));
        }
    }
    text
}

#[test]
fn the_page_about_queues_is_what_the_registry_says() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join(PLACE);
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&place, &page).expect("written");
    }
    let committed = fs::read_to_string(&place).unwrap_or_default();
    for (at, (line, found)) in committed.lines().zip(page.lines()).enumerate() {
        assert_eq!(
            line,
            found,
            "{PLACE}:{}: UPDATE=1 cargo test --test it queue_page writes it anew",
            at + 1
        );
    }
    assert!(committed == page, "{PLACE} is longer or shorter than what is found");
}
