//! What the pages that are written from the registry have in common.

use std::fs;
use std::path::Path;
use tidegate::report::text::{Layout, Table};
use tidegate::scenario::stage::{Kind, Page};
use tidegate::section::Param;

/// Holds the page that is committed at `place` to what was made of the registry, or writes it if `UPDATE` is set.
pub fn is_as_committed(place: &str, test: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(place);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, page).expect("written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    for (at, (line, found)) in committed.lines().zip(page.lines()).enumerate() {
        assert_eq!(line, found, "{place}:{}: write it anew: UPDATE=1 cargo test --test it {test}", at + 1);
    }
    assert!(committed == page, "{place} is longer or shorter than what is found");
}

/// A table of kinds, each a link to its section, with their questions.
pub fn questions(kinds: impl Iterator<Item = (&'static str, &'static str)>) -> String {
    let mut table =
        Table::new(&[("kind", "kind", false), ("question", "the question that it answers", false)]);
    for (name, question) in kinds {
        table.rows.push(vec![format!("[`{name}`](#{name})"), question.into()]);
    }
    markdown(&table)
}

/// A table of keys.
pub fn parameters(params: &[Param]) -> String {
    let mut table = Table::new(&[
        ("key", "key", false),
        ("takes", "takes", false),
        ("default", "default", false),
        ("about", "what it means", false),
    ]);
    for param in params {
        let default = match (&param.default, param.required) {
            (Some(default), _) => format!("`{default}`"),
            (None, true) => "must be there".into(),
            (None, false) => String::new(),
        };
        table.rows.push(vec![format!("`{}`", param.key), param.shape.clone(), default, param.doc.into()]);
    }
    markdown(&table)
}

/// The keys that most kinds have word for word.
pub fn shared(kinds: &[(&Kind, Vec<Param>)]) -> Vec<Param> {
    let mut shared: Vec<Param> = Vec::new();
    for param in kinds.iter().flat_map(|(_, params)| params) {
        let count = kinds.iter().filter(|(_, params)| params.contains(param)).count();
        if kinds.len() < 2 * count && !shared.contains(param) {
            shared.push(param.clone());
        }
    }
    shared
}

/// A table of a kind's dialects or presets; nothing if it has none.
pub fn dialects(page: &Page, params: &[Param]) -> String {
    if page.dialects.is_empty() {
        return String::new();
    }
    let title = if params.iter().any(|param| param.key == "preset") { "preset" } else { "dialect" };
    let mut table = Table::new(&[(title, title, false), ("about", "what is particular to it", false)]);
    for (word, particular) in page.dialects {
        table.rows.push(vec![format!("`\"{word}\"`"), particular.to_string()]);
    }
    format!("\n{}", markdown(&table))
}

fn markdown(table: &Table) -> String {
    table.to_text(Layout::Markdown)
}

/// A paragraph in lines of at most 120 characters, none of which begins as an item of a list or a quotation does.
pub fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let is_tied = word.starts_with(|c: char| c.is_ascii_digit() || "+-*>#".contains(c));
        let last = lines.last_mut().expect("there is one");
        match last.chars().count() {
            0 => last.push_str(word),
            length if is_tied || length + word.chars().count() < 120 => *last += &format!(" {word}"),
            _ => lines.push(word.into()),
        }
    }
    lines.join("\n") + "\n"
}
