//! TOML text to a tree, with as many of its mistakes as can be told apart.

use super::Parsed;
use crate::problem::Problem;
use crate::section::{Content, Entry, Node, Table, Text};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

/// Up to this size every mistake is looked for; in larger files the first.
const SMALL: usize = 256 << 10;

/// How many mistakes of syntax are shown.
const MOST_SHOWN: usize = 20;

/// Parses a whole file.
pub fn parse(text: &Text) -> Parsed {
    let source = text.as_str();
    let (table, errors) = match DeTable::parse(source) {
        Ok(table) => (table, Vec::new()),
        Err(_) if source.len() <= SMALL => DeTable::parse_recoverable(source),
        Err(error) => (Spanned::new(0..0, DeTable::new()), vec![error]),
    };
    let mut parsed = Parsed {
        root: Node { span: 0..0, content: Content::Flag(false) },
        repeated: Vec::new(),
        broken: Vec::new(),
    };
    for error in errors.iter().take(MOST_SHOWN) {
        let repeated = error.message() == "duplicate key";
        let list = if repeated { &mut parsed.repeated } else { &mut parsed.broken };
        list.push(problem(error, text));
    }
    let mut converter = Converter { base: 0, text, wrong: Vec::new() };
    parsed.root = Node { span: 0..0, content: Content::Table(converter.table(table.into_inner())) };
    if parsed.broken.is_empty() {
        parsed.repeated.extend(converter.wrong);
    }
    parsed
}

/// Parses one value, if `source` is one; its spans count from `base`.
pub fn value(source: &str, base: usize, text: &Text) -> Option<Node> {
    let value = DeValue::parse(source).ok()?;
    let mut converter = Converter { base, text, wrong: Vec::new() };
    let node = converter.node(value);
    converter.wrong.is_empty().then_some(node)
}

fn problem(error: &Error, text: &Text) -> Problem {
    let span = error.span().unwrap_or(0..0);
    let message = error.message();
    let (what, remedy) = match message {
        "duplicate key" => {
            let key = text.as_str().get(span.clone()).unwrap_or_default();
            (format!("{} stands here a second time", crate::section::quote(key)), "keep one of the two")
        }
        _ => {
            let lower: String = message.chars().take(1).flat_map(char::to_lowercase).collect();
            let rest: String = message.chars().skip(1).collect();
            (format!("this is not TOML: {lower}{rest}"), remedy_for(message))
        }
    };
    Problem::input(what).at(text.place(span)).remedy(remedy)
}

/// What usually mends a mistake of syntax.
fn remedy_for(message: &str) -> &'static str {
    match message {
        m if m.contains("string values must be quoted") => "put the text in quotes",
        m if m.contains("basic string") || m.contains("literal string") => {
            "close the text with the quote that opened it; write a backslash as two, or the text in single quotes"
        }
        m if m.contains("recur") => "nest less deeply: nothing in a scenario is more than a few levels deep",
        m if m.contains("key with no value") => "write `key = value`, or `[table]` for a table",
        m if m.contains("unclosed") || m.contains("missing") || m.contains("unterminated") => {
            "close what was opened before"
        }
        _ => "write `key = value`, with text in double quotes, and tables as `[name]`",
    }
}

/// Turns the parser's tree into ours.
struct Converter<'a> {
    base: usize,
    text: &'a Text,
    wrong: Vec<Problem>,
}

impl Converter<'_> {
    fn span(&self, span: Range<usize>) -> Range<usize> {
        span.start + self.base..span.end + self.base
    }

    fn table(&mut self, table: DeTable) -> Table {
        let mut entries = Table::new();
        for (key, value) in table {
            let entry = Entry { key: self.span(key.span()), node: self.node(value) };
            entries.insert(key.into_inner().into_owned(), entry);
        }
        entries
    }

    fn node(&mut self, value: Spanned<DeValue>) -> Node {
        let span = self.span(value.span());
        let content = match value.into_inner() {
            DeValue::String(text) => Content::Text(text.into_owned()),
            DeValue::Boolean(flag) => Content::Flag(flag),
            DeValue::Float(float) => Content::Float(float.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Integer(integer) => match i128::from_str_radix(integer.as_str(), integer.radix()) {
                Ok(number) => Content::Integer(number),
                Err(_) => self.wrong(span.clone(), "a number with too many digits", "write a smaller number"),
            },
            DeValue::Array(items) => Content::Array(items.into_iter().map(|item| self.node(item)).collect()),
            DeValue::Table(table) => Content::Table(self.table(table)),
            DeValue::Datetime(_) => self.wrong(
                span.clone(),
                "a date is not a value of scenario files",
                "write a length of time from the start of the run, such as `\"90s\"`",
            ),
        };
        Node { span, content }
    }

    fn wrong(&mut self, span: Range<usize>, what: &str, remedy: &str) -> Content {
        self.wrong.push(Problem::input(what).at(self.text.place(span)).remedy(remedy));
        Content::Text(String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (Parsed, Text) {
        let text = Text::new("a.toml", text.into());
        (parse(&text), text)
    }

    #[test]
    fn tables_stand_at_their_headers_and_values_at_themselves() {
        let (parsed, text) = parsed("a = 1_000\n[b.c]\nx = 0x1F\n[[d]]\ny = 'q'\n");
        let Content::Table(root) = &parsed.root.content else { panic!("no table") };
        let place = |node: &Node| text.place(node.span.clone()).to_string();
        assert_eq!(root["a"].node.content, Content::Integer(1_000));
        assert_eq!(place(&root["a"].node), "a.toml:1:5");
        let Content::Table(b) = &root["b"].node.content else { panic!("no table") };
        assert_eq!(place(&b["c"].node), "a.toml:2:1");
        let Content::Table(c) = &b["c"].node.content else { panic!("no table") };
        assert_eq!(c["x"].node.content, Content::Integer(31));
        let Content::Array(d) = &root["d"].node.content else { panic!("no list") };
        assert_eq!(place(&d[0]), "a.toml:4:1");
    }

    #[test]
    fn several_mistakes_of_syntax_are_found_at_once() {
        let (parsed, _) = parsed("a = fast\nb = \n[c\nd = 1\n");
        let lines: Vec<usize> =
            parsed.broken.iter().filter_map(|p| p.place.as_ref().map(|place| place.line)).collect();
        assert!(lines.contains(&1) && lines.contains(&2) && lines.contains(&3), "{lines:?}");
    }

    #[test]
    fn a_key_that_stands_twice_does_not_hide_what_else_is_wrong() {
        let (parsed, _) = parsed("a = 1\na = 2\n[t]\n[t]\n");
        assert!(parsed.broken.is_empty());
        assert_eq!(parsed.repeated.len(), 2);
    }
}
