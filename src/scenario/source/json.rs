//! JSON text to the same tree (RFC 8259), with places; refuses duplicates and null.
//!
//! Recursive descent over the bytes. Nesting is bounded, so that no text can exhaust the stack; everything else costs
//! no more than the text is long.

use super::Parsed;
use crate::problem::Problem;
use crate::section::{Content, Entry, Node, Table, Text, quote};
use std::collections::btree_map::Entry as MapEntry;

/// The deepest nesting. Nothing in a scenario comes near it.
const DEEPEST: usize = 64;

/// Parses a whole file; stops at the first mistake.
pub fn parse(text: &Text) -> Parsed {
    let mut parser = Parser { text, source: text.as_str(), at: 0, repeated: Vec::new() };
    let root = parser.document();
    let (root, broken) = match root {
        Ok(root) => (root, Vec::new()),
        Err(problem) => (Node { span: 0..0, content: Content::Flag(false) }, vec![*problem]),
    };
    Parsed { root, repeated: parser.repeated, broken }
}

struct Parser<'a> {
    text: &'a Text,
    source: &'a str,
    at: usize,
    repeated: Vec<Problem>,
}

type Step<T> = Result<T, Box<Problem>>;

impl Parser<'_> {
    fn document(&mut self) -> Step<Node> {
        let root = self.value(0)?;
        match self.peek() {
            None => Ok(Node { span: 0..0, ..root }),
            Some(_) => Err(self.wrong(self.at, "something follows the end of the scenario", "take it out")),
        }
    }

    /// The next byte that is no space.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.source.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.source.as_bytes().get(self.at).copied()
    }

    fn wrong(&self, at: usize, what: &str, remedy: &str) -> Box<Problem> {
        let what = format!("this is not JSON: {what}");
        Box::new(Problem::input(what).at(self.text.place(at..at + 1)).remedy(remedy))
    }

    fn value(&mut self, depth: usize) -> Step<Node> {
        let next = self.peek();
        let start = self.at;
        if depth > DEEPEST {
            let remedy = "nest less deeply: nothing in a scenario is more than a few levels deep";
            return Err(self.wrong(start, "it is nested too deeply", remedy));
        }
        let content = match next {
            Some(b'{') => Content::Table(self.table(depth)?),
            Some(b'[') => Content::Array(self.array(depth)?),
            Some(b'"') => Content::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(byte) if byte.is_ascii_alphabetic() => self.word()?,
            Some(_) => return Err(self.wrong(start, "a value is missing", "write a value here")),
            None => return Err(self.wrong(start, "the file ends too early", "close what was opened before")),
        };
        Ok(Node { span: start..self.at, content })
    }

    fn table(&mut self, depth: usize) -> Step<Table> {
        let mut table = Table::new();
        self.at += 1;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(table);
        }
        loop {
            if self.peek() != Some(b'"') {
                let remedy = "write keys in double quotes, and no comma before the closing brace";
                return Err(self.wrong(self.at, "a key in double quotes is missing", remedy));
            }
            let start = self.at;
            let key = self.string()?;
            let span = start..self.at;
            if self.peek() != Some(b':') {
                return Err(self.wrong(self.at, "a colon is missing", "write `\"key\": value`"));
            }
            self.at += 1;
            let node = self.value(depth + 1)?;
            match table.entry(key) {
                MapEntry::Vacant(place) => {
                    place.insert(Entry { key: span, node });
                }
                MapEntry::Occupied(first) if self.repeated.len() < 20 => {
                    let what = format!("{} stands here a second time", quote(first.key()));
                    let problem = Problem::input(what).at(self.text.place(span));
                    self.repeated.push(problem.remedy("keep one of the two"));
                }
                MapEntry::Occupied(_) => {}
            }
            if self.end(b'}')? {
                return Ok(table);
            }
        }
    }

    fn array(&mut self, depth: usize) -> Step<Vec<Node>> {
        let mut items = Vec::new();
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(items);
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.end(b']')? {
                return Ok(items);
            }
        }
    }

    /// Steps over a comma (false) or over `close` (true).
    fn end(&mut self, close: u8) -> Step<bool> {
        let next = self.peek();
        match next {
            Some(b',') => {}
            Some(byte) if byte == close => {}
            Some(_) => {
                return Err(self.wrong(self.at, "a comma is missing", "put a comma between two items"));
            }
            None => {
                return Err(self.wrong(self.at, "the file ends too early", "close what was opened before"));
            }
        }
        self.at += 1;
        Ok(next == Some(close))
    }

    fn word(&mut self) -> Step<Content> {
        let start = self.at;
        let rest = &self.source[start..];
        let word = &rest[..rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len())];
        self.at += word.len();
        match word {
            "true" => Ok(Content::Flag(true)),
            "false" => Ok(Content::Flag(false)),
            "null" => Err(self.wrong(start, "null is no value here", "leave the key out")),
            "NaN" | "Infinity" => Err(self.wrong(start, "it is no number to reckon with", "write a number")),
            _ => Err(self.wrong(start, &format!("{} is no value", quote(word)), "put text in double quotes")),
        }
    }

    fn number(&mut self) -> Step<Content> {
        let start = self.at;
        let rest = &self.source[start..];
        let end = rest.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).unwrap_or(rest.len());
        let number = &rest[..end];
        self.at += end;
        let digits = number.strip_prefix('-').unwrap_or(number);
        let whole = &digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())];
        let strict = !(whole.is_empty() || (whole.len() > 1 && whole.starts_with('0')));
        let strict = strict && !digits.ends_with('.') && !digits.contains(".e") && !digits.contains(".E");
        let content = if digits.len() == whole.len() {
            number.parse().map(Content::Integer).ok()
        } else {
            number.parse().map(Content::Float).ok()
        };
        content.filter(|_| strict).ok_or_else(|| {
            self.wrong(
                start,
                &format!("{} is no number", quote(number)),
                "write a number such as `1200` or `0.5`",
            )
        })
    }

    fn string(&mut self) -> Step<String> {
        let start = self.at;
        let mut text = String::new();
        self.at += 1;
        loop {
            let rest = &self.source[self.at..];
            let plain =
                rest.find(|c: char| c == '"' || c == '\\' || c.is_ascii_control()).unwrap_or(rest.len());
            text.push_str(&rest[..plain]);
            self.at += plain;
            match self.source.as_bytes().get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                _ => {
                    return Err(self.wrong(
                        start,
                        "a text is not closed on its line",
                        "close it with a double quote",
                    ));
                }
            }
        }
    }

    fn escape(&mut self) -> Step<char> {
        let start = self.at;
        let letter = self.source.as_bytes().get(start + 1).copied();
        self.at += 2;
        let plain = match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(start),
            _ => return Err(self.wrong(start, "an unknown escape", "write a backslash as `\\\\`")),
        };
        Ok(plain)
    }

    /// `\u1234`, or two of them for what lies beyond the first 65,536 characters.
    fn unicode(&mut self, start: usize) -> Step<char> {
        let mut unit = || {
            let unit = self
                .source
                .get(self.at..self.at + 4)
                .filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
            self.at += 4;
            unit.and_then(|hex| u16::from_str_radix(hex, 16).ok())
        };
        let first = unit();
        let pair = matches!(first, Some(0xd800..=0xdbff))
            && self.source[..].get(self.at..self.at + 2) == Some("\\u");
        let mut units = Vec::from_iter(first);
        if pair {
            self.at += 2;
            let hex = self.source.get(self.at..self.at + 4).and_then(|hex| u16::from_str_radix(hex, 16).ok());
            self.at += 4;
            units.extend(hex);
        }
        match char::decode_utf16(units).next() {
            Some(Ok(c)) => Ok(c),
            _ => Err(self.wrong(start, "an escape is no character", "write the character itself")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(text: &str) -> String {
        let parsed = parse(&Text::new("a.json", text.into()));
        parsed.broken.first().map(ToString::to_string).unwrap_or_default()
    }

    #[test]
    fn values_are_those_of_the_standard() {
        let text = Text::new("a", r#"{"a": [1, -2.5e1, true, "x\n\u00e9\ud83d\ude00"], "b": {}}"#.into());
        let Content::Table(root) = parse(&text).root.content else { panic!("no table") };
        let Content::Array(a) = &root["a"].node.content else { panic!("no list") };
        let content: Vec<Content> = a.iter().map(|n| n.content.clone()).collect();
        assert_eq!(content[..3], [Content::Integer(1), Content::Float(-25.0), Content::Flag(true)]);
        assert_eq!(content[3], Content::Text("x\né😀".into()));
        assert_eq!(root["b"].key, 50..53);
    }

    #[test]
    fn mistakes_have_a_place_and_a_remedy() {
        for (text, place, words) in [
            (r#"{"a": 1,}"#, "1:9", "no comma before the closing brace"),
            (r#"{"a": null}"#, "1:7", "leave the key out"),
            (r#"{"a": NaN}"#, "1:7", "write a number"),
            (r#"{"a": 01}"#, "1:7", "is no number"),
            (r#"{"a": 1 "b": 2}"#, "1:9", "a comma is missing"),
            (r#"{"a": fast}"#, "1:7", "double quotes"),
            ("{\"a\": \"x\n\"}", "1:7", "is not closed"),
            (r#"{"a": "\ud800x"}"#, "1:8", "no character"),
            (r#"{"a": "\u12é"}"#, "1:8", "no character"),
            (r#"{"a": "\"#, "1:8", "unknown escape"),
            ("", "1:1", "ends too early"),
            ("{} {}", "1:4", "something follows"),
        ] {
            let shown = broken(text);
            assert!(
                shown.starts_with(&format!("a.json:{place}: ")) && shown.contains(words),
                "{text}: {shown}"
            );
        }
    }

    #[test]
    fn nesting_is_bounded_and_no_prefix_of_a_text_panics() {
        assert!(broken(&"[".repeat(1_000_000)).contains("too deeply"));
        let text = r#"{"a": [1, -2.5e1, true, "x\n\u00e9\ud83d\ude00é"], "b": {}}"#;
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            assert!(!broken(&text[..end]).is_empty());
        }
    }
}
