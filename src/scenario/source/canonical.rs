//! A tree in its normal form: what two files that say the same have in common.

use crate::section::{Content, Entry, Node, Table};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Writes the tree as JSON without spaces.
pub fn write(root: &Node) -> String {
    let mut out = String::new();
    node(&mut out, "", root, 0);
    out
}

fn node(out: &mut String, key: &str, node: &Node, depth: usize) {
    match &node.content {
        Content::Table(entries) => table(out, key, entries, depth),
        Content::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                out.push(if i == 0 { '[' } else { ',' });
                self::node(out, key, item, depth + 1);
            }
            out.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        Content::Text(text) => string(out, if names_a_file(key) { base_name(text) } else { text }),
        Content::Integer(number) => number_out(out, number),
        Content::Float(x) if x.is_finite() && *x == x.trunc() && x.abs() < 9e15 => number_out(out, *x as i64),
        Content::Float(x) if x.is_finite() => number_out(out, format_args!("{x:?}")),
        Content::Float(x) => string(out, &x.to_string()),
        Content::Flag(flag) => number_out(out, flag),
    }
}

fn number_out(out: &mut String, shown: impl std::fmt::Display) {
    let _ = write!(out, "{shown}");
}

fn table(out: &mut String, key: &str, entries: &Table, depth: usize) {
    let mut sorted: Vec<(&String, &Entry)> = entries.iter().collect();
    // Results are listed in the order of the policies, so that order is part of what the scenario says.
    if depth == 1 && key == "policy" {
        sorted.sort_by_key(|(_, entry)| entry.node.span.start);
    }
    out.push('{');
    for (i, (key, entry)) in sorted.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        string(out, key);
        out.push(':');
        node(out, key, &entry.node, depth + 1);
    }
    out.push('}');
}

/// The paths of all files that the tree names, sorted.
pub fn files(root: &Node) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    collect(root, "", &mut found);
    found
}

fn collect<'n>(node: &'n Node, key: &str, found: &mut BTreeSet<&'n str>) {
    match &node.content {
        Content::Table(table) => table.iter().for_each(|(key, entry)| collect(&entry.node, key, found)),
        Content::Array(items) => items.iter().for_each(|item| collect(item, key, found)),
        Content::Text(path) if names_a_file(key) => drop(found.insert(path)),
        _ => {}
    }
}

/// Keys whose text is a path: where a file lies is not part of what a scenario says.
fn names_a_file(key: &str) -> bool {
    key == "file" || key == "trace"
}

/// The part of a path after its last slash.
pub fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => number_out(out, format_args!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::super::Document;
    use std::path::Path;

    fn canonical(text: &str) -> String {
        Document::from_text("a", text, Path::new("")).expect("it is right").canonical()
    }

    #[test]
    fn files_that_say_the_same_have_the_same_form() {
        let a = "seed = 16.0\nname = \"x\\ty\" # a comment\n[t.b]\n[t.a]\nv = 1_000\n";
        let b = "[t]\na.v = 1000\nb = {}\n";
        let b = format!("name = 'x\ty'\nseed = 0x10\n{b}");
        assert_eq!(canonical(a), canonical(&b));
        assert_eq!(canonical(a), r#"{"name":"x\u0009y","seed":16,"t":{"a":{"v":1000},"b":{}}}"#);
    }

    #[test]
    fn the_form_read_again_is_itself_with_policies_in_their_order() {
        let text = "x = [1.5, 1e300, -0.25, [], true]\n[policy.z]\n[policy.a]\n[policy.m]\n[traffic.t]\ntrace = { file = 'dir/t.csv' }\n";
        let form = canonical(text);
        assert_eq!(
            form,
            r#"{"policy":{"z":{},"a":{},"m":{}},"traffic":{"t":{"trace":{"file":"t.csv"}}},"x":[1.5,1e300,-0.25,[],true]}"#
        );
        assert_eq!(canonical(&form), form);
    }

    #[test]
    fn the_files_that_a_scenario_names_are_known() {
        let text = "[traffic.a]\ntrace = 'd/x.csv'\n[traffic.b]\ntrace = { file = 'y.csv', time = 't' }\n";
        let document = Document::from_text("a", text, Path::new("s")).expect("it is right");
        let files: Vec<_> =
            document.files().into_iter().map(|(name, path)| (name, path.display().to_string())).collect();
        assert_eq!(files, [("x.csv".into(), "s/d/x.csv".into()), ("y.csv".into(), "s/y.csv".into())]);
    }
}
