//! `docs/admission.md` is what the registry says of each kind of stage that asks for room.
//!
//! `UPDATE=1 cargo test --test it admission_page` writes it anew.

use crate::reference::{dialects, is_as_committed, parameters, questions, shared, wrapped};
use crate::support::is_admission;
use tidegate::scenario::stage::{KINDS, Kind};
use tidegate::section::{Param, describe};

const HEAD: &str = "\
<!-- Written by `UPDATE=1 cargo test --test it admission_page` from the registry of kinds. Change that, not this. -->

# Admission

Each section is about one `kind` of stage that asks whether there is room or health for one more: how it decides, what it
measures, its dialects, its source and its keys. A stage lets pass, lets wait, or sheds. What a product measures on its
machine (CPU, memory, the delay of its threads) is modelled from the simulation's own state, and the section says how:
*busy* is the share of the downstream's slots in use, *queueing delay* the wait of the one whose turn it is.

[Scenario files](scenario.md) say how a stage is put to use, [What a run writes](output.md) where its gauges go.
";

const SHARED: &str = "\
## Keys of every stage
";

fn page() -> String {
    let kinds: Vec<(&Kind, Vec<Param>)> = KINDS
        .iter()
        .filter(|kind| is_admission(kind))
        .map(|kind| (kind, describe(|section| _ = (kind.read)(section))))
        .collect();
    let shared = shared(&kinds);
    let questions = questions(kinds.iter().map(|(kind, _)| (kind.name, kind.page.question)));
    let mut text = format!("{HEAD}\n{questions}\n{SHARED}\n{}", parameters(&shared));
    for (kind, params) in &kinds {
        let page = &kind.page;
        text += &format!("\n## `{}`\n\n", kind.name);
        text += &wrapped(&format!("**{}** `kind = \"{}\"` {}.", page.question, kind.name, kind.about));
        text += &format!("\n{}", wrapped(&format!("**Rule.** {}", page.formula)));
        let own: Vec<Param> = params.iter().filter(|param| !shared.contains(param)).cloned().collect();
        if !own.is_empty() {
            text += &format!("\n{}", parameters(&own));
        }
        text += &dialects(page, params);
        text += &format!("\n{}", wrapped(&format!("**Source.** {}.", page.source)));
    }
    text
}

#[test]
fn the_page_about_admission_is_what_the_registry_says() {
    is_as_committed("docs/admission.md", "admission_page", &page());
}
