//! Overrides of single values: `PATH=VALUE`.

use super::toml;
use crate::problem::Problem;
use crate::section::{Content, Entry, Node, Table, Text, quote};
use std::ops::Range;

/// The deepest path. Nothing in a scenario comes near it.
const DEEPEST: usize = 32;

/// One step of a path with its place in the assignment.
struct Step {
    key: String,
    span: Range<usize>,
}

/// Carries out `assignment` on the tree; its first byte stands at `base` of `text`.
pub fn apply(root: &mut Node, text: &Text, assignment: &str, base: usize) -> Result<(), Problem> {
    let wrong = |span: Range<usize>, what: String, remedy: &str| {
        Problem::usage(what).at(text.place(base + span.start..base + span.end)).remedy(remedy)
    };
    const FORM: &str = "write `PATH=VALUE`, such as `traffic.api.rate=40/s`";
    let steps = split(assignment).map_err(|at| wrong(at..at + 1, "the path is broken here".into(), FORM))?;
    let Some((path, start)) = steps else {
        return Err(wrong(0..assignment.len(), format!("{} has no value", quote(assignment)), FORM));
    };
    if path.len() > DEEPEST {
        return Err(wrong(0..start, format!("the path has more than {DEEPEST} steps"), FORM));
    }
    let value = read(&assignment[start..], base + start, text);
    let mut node = root;
    for (i, step) in path.iter().enumerate() {
        let span = base + step.span.start..base + step.span.end;
        let so_far = || quote(&path[..i].iter().map(|s| s.key.as_str()).collect::<Vec<_>>().join("."));
        let found = node.found();
        node = match &mut node.content {
            Content::Table(table) => {
                let empty = || Entry {
                    key: span.clone(),
                    node: Node { span, content: Content::Table(Table::new()) },
                };
                &mut table.entry(step.key.clone()).or_insert_with(empty).node
            }
            Content::Array(items) => {
                let count = items.len();
                let item = step.key.parse::<usize>().ok().and_then(|index| items.get_mut(index));
                item.ok_or_else(|| {
                    let what = format!("{} has no item {}", so_far(), quote(&step.key));
                    wrong(step.span.clone(), what, &format!("it has {count}, numbered from 0"))
                })?
            }
            _ => {
                let what = format!("{} is {}, which has no {}", so_far(), found, quote(&step.key));
                return Err(wrong(step.span.clone(), what, "end the path before, or set the whole table"));
            }
        };
    }
    *node = value;
    Ok(())
}

/// A TOML value if it is one, else text.
fn read(value: &str, base: usize, text: &Text) -> Node {
    let plain = Node { span: base..base + value.len(), content: Content::Text(value.trim().to_string()) };
    toml::value(value.trim_end(), base, text).unwrap_or(plain)
}

/// The steps of the path and where the value starts; the place at which the path breaks; or no `=` at all.
fn split(assignment: &str) -> Result<Option<(Vec<Step>, usize)>, usize> {
    let mut steps = Vec::new();
    let mut at = 0;
    loop {
        let rest = &assignment[at..];
        let (key, length) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.find('"').map(|end| (&quoted[..end], end + 2)).ok_or(at)?,
            None => {
                let end = rest.find(['.', '=', '"']).unwrap_or(rest.len());
                (rest[..end].trim(), end)
            }
        };
        let end = at + length;
        if key.is_empty() {
            return Err(at);
        }
        steps.push(Step { key: key.to_string(), span: at..end });
        match assignment.as_bytes().get(end) {
            Some(b'.') => at = end + 1,
            Some(b'=') => return Ok(Some((steps, end + 1))),
            Some(_) => return Err(end),
            None => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Document;
    use std::path::Path;

    fn after(settings: &[&str]) -> Result<String, String> {
        let toml = "seed = 1\n[traffic.api]\nrate = '40/s'\n[[event]]\nat = '1s'\nset = { \"a.b\" = 1 }\n";
        let mut document = Document::from_text("a.toml", toml, Path::new("")).expect("it is right");
        for setting in settings {
            document.set(setting).map_err(|problem| problem.to_string())?;
        }
        Ok(document.canonical())
    }

    #[test]
    fn values_are_toml_or_text_and_paths_go_through_lists_and_quotes() {
        assert_eq!(
            after(&[
                "seed=7",
                "traffic.api.rate=60/s",
                "event.0.at=2s",
                "event.0.set.\"a.b\"=2.50",
                "x.y=[1, 'z']"
            ]),
            Ok(concat!(
                r#"{"event":[{"at":"2s","set":{"a.b":2.5}}],"seed":7,"#,
                r#""traffic":{"api":{"rate":"60/s"}},"x":{"y":[1,"z"]}}"#
            )
            .into())
        );
    }

    #[test]
    fn a_later_setting_wins() {
        assert_eq!(after(&["seed=7", "seed=8"]), after(&["seed=8"]));
    }

    #[test]
    fn what_cannot_be_set_is_told_with_its_place() {
        for (setting, place, words) in [
            ("seed", "1:1", "has no value"),
            ("=1", "1:1", "broken"),
            ("a..b=1", "1:3", "broken"),
            ("a.\"b=1", "1:3", "broken"),
            ("event.3.at=1s", "1:7", "it has 1, numbered from 0"),
            ("seed.x=1", "1:6", "is the number `1`"),
        ] {
            let shown = after(&[setting]).expect_err(setting);
            assert!(shown.starts_with(&format!("--set:{place}: ")) && shown.contains(words), "{shown}");
        }
    }
}
