//! The tree that a file becomes, and where each part of it stands.

use crate::problem::Place;
use std::collections::BTreeMap;
use std::ops::Range;

/// A value and where it stands: bytes of the [`Text`].
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The bytes of the text that say it; those of the header for a table that has one.
    pub span: Range<usize>,
    /// What it says.
    pub content: Content,
}

/// What a node says.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Keys and values.
    Table(Table),
    /// A list.
    Array(Vec<Node>),
    /// Text in quotes.
    Text(String),
    /// A whole number.
    Integer(i128),
    /// A number with a point or an exponent; may be infinite or not a number.
    Float(f64),
    /// True or false.
    Flag(bool),
}

/// Keys and values, sorted by key.
pub type Table = BTreeMap<String, Entry>;

/// A value with the place of its key.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Where the key stands.
    pub key: Range<usize>,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// What stands here, in words: `the text "fast"`, `the number 3`, `a list`.
    pub fn found(&self) -> String {
        match &self.content {
            Content::Table(_) => "a table".into(),
            Content::Array(_) => "a list".into(),
            Content::Text(text) => format!("the text {}", quote(text)),
            Content::Integer(number) => format!("the number `{number}`"),
            Content::Float(number) => format!("the number `{number:?}`"),
            Content::Flag(flag) => format!("`{flag}`"),
        }
    }
}

/// A user's text in a message: in backticks, shortened, with its control characters spelled out.
pub fn quote(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut shown = String::from("`");
    for (i, c) in text.chars().enumerate() {
        if i == LONGEST {
            shown.push('…');
            break;
        }
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown.push('`');
    shown
}

/// The text that a tree was read from: a file, followed by the arguments of `--set`, one a line.
#[derive(Clone, Debug)]
pub struct Text {
    file: Lines,
    settings: Lines,
}

impl Text {
    /// The name under which arguments of `--set` appear in messages.
    pub const SETTINGS: &'static str = "--set";

    /// The text of the file called `name`.
    pub fn new(name: &str, text: String) -> Text {
        Text { file: Lines::new(name, text), settings: Lines::new(Text::SETTINGS, String::new()) }
    }

    /// The file's name as the user gave it.
    pub fn name(&self) -> &str {
        &self.file.name
    }

    /// The file's text.
    pub fn as_str(&self) -> &str {
        &self.file.text
    }

    /// The text in which the places of `file` count, for a drawing under the line.
    pub fn of(&self, file: &str) -> Option<&str> {
        [&self.file, &self.settings].into_iter().find(|lines| lines.name == file).map(|l| l.text.as_str())
    }

    /// Appends an argument of `--set`, a line of its own, and returns the first byte of its spans.
    pub fn add_setting(&mut self, argument: &str) -> usize {
        let start = self.settings.text.len();
        let line = argument.replace(['\n', '\r'], " ");
        self.settings = Lines::new(Text::SETTINGS, format!("{}{line}\n", self.settings.text));
        self.base() + start
    }

    /// The first byte of spans in the arguments of `--set`; one after the file's end is still the file's.
    fn base(&self) -> usize {
        self.file.text.len() + 1
    }

    /// Where `span` stands.
    pub fn place(&self, span: Range<usize>) -> Place {
        match span.start.checked_sub(self.base()) {
            None => self.file.place(span),
            Some(start) => self.settings.place(start..span.end - self.base()),
        }
    }
}

/// A text whose lines can be found without reading it again.
#[derive(Clone, Debug)]
struct Lines {
    name: String,
    text: String,
    starts: Vec<usize>,
}

impl Lines {
    fn new(name: &str, text: String) -> Lines {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(i, _)| i + 1);
        let starts = std::iter::once(0).chain(breaks).collect();
        Lines { name: name.to_string(), text, starts }
    }

    fn place(&self, span: Range<usize>) -> Place {
        let mut at = span.start.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= at);
        let column = self.text[self.starts[line - 1]..at].chars().count() + 1;
        Place { file: self.name.clone(), line, column, span }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_agree_with_those_counted_from_the_start() {
        let sample = "é = 1\n\nß = x\nlast";
        let text = Text::new("a.toml", sample.into());
        for at in (0..=sample.len()).filter(|at| sample.is_char_boundary(*at)) {
            assert_eq!(text.place(at..at), Place::in_text("a.toml", sample, at..at), "{at}");
        }
    }

    #[test]
    fn arguments_of_set_have_places_of_their_own_one_a_line() {
        let mut text = Text::new("a.toml", "x = 1".into());
        text.add_setting("a=1");
        let second = text.add_setting("b.c=2");
        assert_eq!(text.place(second + 4..second + 5).to_string(), "--set:2:5");
        assert_eq!(text.place(5..5).to_string(), "a.toml:1:6");
        assert_eq!(text.of("--set"), Some("a=1\nb.c=2\n"));
    }

    #[test]
    fn quoted_text_is_short_and_shows_its_control_characters() {
        assert_eq!(quote("a\u{1b}[2J"), "`a\\u{1b}[2J`");
        assert!(quote(&"x".repeat(1_000_000)).len() < 80);
    }
}
