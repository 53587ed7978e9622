//! Typed reading of tables, with everything wrong reported at its place.
//!
//! A file becomes a tree of [`Node`]s that know where they stand in the [`Text`]. A part's settings are read through
//! a [`Section`], one table that remembers which keys were asked for: so an unknown key is found by what nobody
//! asked, and [`describe`], which runs the same readers over nothing, lists every key with its meaning.

mod choices;
mod describe;
mod log;
mod name;
mod node;
mod overlay;
mod value;

pub use describe::{Param, describe};
pub use log::Log;
pub use name::Name;
pub use node::{Content, Entry, Node, Table, Text, quote};
pub use value::{Amount, At, Either, Fault, Limit, Share, Value, one_fault};

use choices::Choice;
use std::collections::BTreeSet;
use std::ops::Range;

/// How many tables of one group are read, so that what grows with the product of two groups stays small.
const MOST_NAMED: usize = 10_000;

/// One table being read: what was asked for, where it stands, and where problems go.
pub struct Section<'a> {
    log: &'a Log<'a>,
    table: Option<&'a Table>,
    span: Range<usize>,
    path: String,
    asked: BTreeSet<String>,
    choices: Vec<Choice>,
}

impl<'a> Section<'a> {
    /// The whole tree, read as a table.
    pub fn root(root: &'a Node, log: &'a Log<'a>) -> Section<'a> {
        Section::of(root, log, String::new())
    }

    /// The table `node` that stands at `path`; a node that is no table is a problem and reads as an empty table.
    pub fn of(node: &'a Node, log: &'a Log<'a>, path: String) -> Section<'a> {
        let table = match &node.content {
            Content::Table(table) => Some(table),
            _ => {
                let (owner, remedy) = match &path[..] {
                    "" => ("the scenario".into(), "write its keys in braces".into()),
                    path => (quote(path), format!("write its keys in braces or under `[{path}]`")),
                };
                let what = format!("{owner} is {}, where a table is wanted", node.found());
                log.error(node.span.clone(), what, remedy);
                None
            }
        };
        Section { log, table, span: node.span.clone(), path, asked: BTreeSet::new(), choices: Vec::new() }
    }

    /// The dotted path of the table: `limiter.tpm_user`; empty for the whole file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Where the table stands.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Where problems of this file go.
    pub fn log(&self) -> &'a Log<'a> {
        self.log
    }

    /// The keys that stand in the table, sorted.
    pub fn keys(&self) -> Vec<String> {
        self.table.map_or(Vec::new(), |table| table.keys().cloned().collect())
    }

    /// Whether `key` stands in the table, without asking for it.
    pub fn has(&self, key: &str) -> bool {
        self.table.is_some_and(|table| table.contains_key(key))
    }

    /// The dotted path of `key` in this table.
    pub fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_string() } else { format!("{}.{key}", self.path) }
    }

    /// Where the value of `key` stands, or the table if it has none.
    pub fn span_of(&self, key: &str) -> Range<usize> {
        self.table.and_then(|table| table.get(key)).map_or(self.span(), |entry| entry.node.span.clone())
    }

    /// Where `key` itself stands, or the table if it has none.
    pub fn key_span(&self, key: &str) -> Range<usize> {
        self.table.and_then(|table| table.get(key)).map_or(self.span(), |entry| entry.key.clone())
    }

    /// The value of `key`, if it is there and right; a wrong one is a problem.
    pub fn get<T: Value>(&mut self, key: &str, doc: &'static str) -> Option<T> {
        self.param::<T>(key, doc, None, false);
        self.read(key)
    }

    /// The value of `key`, or `default` if it is absent or wrong.
    pub fn get_or<T: Value>(&mut self, key: &str, default: T, doc: &'static str) -> T {
        self.param::<T>(key, doc, Some(default.show()), false);
        self.read(key).unwrap_or(default)
    }

    /// The value of `key`; if it is absent or wrong, a problem and a stand-in, so that reading goes on.
    pub fn need<T: Value>(&mut self, key: &str, doc: &'static str) -> T {
        self.require(key, doc).unwrap_or_else(T::dummy)
    }

    /// The value of `key`; `None` if it is absent or wrong, both of which are problems.
    pub fn require<T: Value>(&mut self, key: &str, doc: &'static str) -> Option<T> {
        self.param::<T>(key, doc, None, true);
        if !self.has(key) {
            self.lacks(key, T::SHAPE);
        }
        self.read(key)
    }

    /// The table under `key`, if there is one.
    pub fn section(&mut self, key: &str, doc: &'static str) -> Option<Section<'a>> {
        self.note(key, "a table", doc, None, false);
        self.child(key)
    }

    /// The tables of the list under `key`, in the order of the file.
    pub fn sections(&mut self, key: &str, doc: &'static str) -> Vec<Section<'a>> {
        self.note(&format!("{key}[]"), "tables", doc, None, false);
        self.asked.insert(key.to_string());
        let path = self.path_of(key);
        let Some(table) = self.table else {
            return self.nothing(format!("{path}[]")).into_iter().collect();
        };
        let Some(entry) = table.get(key) else { return Vec::new() };
        let Content::Array(items) = &entry.node.content else {
            let what = format!("`{path}` is {}, where a list of tables is wanted", entry.node.found());
            self.log.error(entry.node.span.clone(), what, format!("write each as a table `[[{path}]]`"));
            return Vec::new();
        };
        let child = |(i, item)| Section::of(item, self.log, format!("{path}.{i}"));
        items.iter().enumerate().map(child).collect()
    }

    /// The tables under the table `key`, with their names, sorted by name. Names must be names of this format.
    pub fn named(&mut self, key: &str, doc: &'static str) -> Vec<(String, Section<'a>)> {
        self.note(&format!("{key}.NAME"), "a table", doc, None, false);
        self.asked.insert(key.to_string());
        if self.table.is_none() {
            let path = self.path_of(&format!("{key}.NAME"));
            return self.nothing(path).map(|s| ("name".to_string(), s)).into_iter().collect();
        }
        let Some(group) = self.child(key) else { return Vec::new() };
        let Some(table) = group.table else { return Vec::new() };
        if MOST_NAMED < table.len() {
            let what = format!("there are {} tables under `{}`", table.len(), group.path);
            self.log.error(group.span(), what, format!("define {MOST_NAMED} at most"));
        }
        for (name, entry) in table.iter().take(MOST_NAMED) {
            if let Err(why) = Name::check(name) {
                self.log.error(entry.key.clone(), why, format!("a name is {}", Name::SHAPE));
            }
        }
        table
            .iter()
            .take(MOST_NAMED)
            .map(|(name, entry)| {
                (name.clone(), Section::of(&entry.node, self.log, format!("{}.{name}", group.path)))
            })
            .collect()
    }

    /// A value or a table, whichever stands at `key`.
    pub fn either<T: Value>(&mut self, key: &str, doc: &'static str) -> Option<Either<T, Section<'a>>> {
        self.note(key, &format!("{}, or a table", T::SHAPE), doc, None, false);
        self.asked.insert(key.to_string());
        let Some(table) = self.table else { return self.child(key).map(Either::Table) };
        match &table.get(key)?.node.content {
            Content::Table(_) => self.child(key).map(Either::Table),
            _ => self.read(key).map(Either::Value),
        }
    }

    fn child(&mut self, key: &str) -> Option<Section<'a>> {
        self.asked.insert(key.to_string());
        match self.table {
            Some(table) => table.get(key).map(|entry| Section::of(&entry.node, self.log, self.path_of(key))),
            None => self.nothing(self.path_of(key)),
        }
    }

    /// Whether this is a description, which asks for every key there could be.
    pub fn is_description(&self) -> bool {
        self.log.text.is_none()
    }

    /// In a description, a table of nothing whose reader will say what it asks for.
    fn nothing(&self, path: String) -> Option<Section<'a>> {
        self.is_description().then(|| Section {
            log: self.log,
            table: None,
            span: 0..0,
            path,
            asked: BTreeSet::new(),
            choices: Vec::new(),
        })
    }

    /// Adds an error about `key`, at its value, or at the table if it has none.
    pub fn problem(&self, key: &str, what: impl Into<String>, remedy: impl Into<String>) {
        self.log.error(self.span_of(key), what, remedy);
    }

    /// Adds a warning about `key`, at its value, or at the table if it has none.
    pub fn warning(&self, key: &str, what: impl Into<String>, remedy: impl Into<String>) {
        self.log.warning(self.span_of(key), what, remedy);
    }

    /// Takes note that `key` was dealt with by other means, so that it is not unknown.
    pub fn skip(&mut self, key: &str) {
        self.asked.insert(key.to_string());
    }

    /// Takes note that no key can be told right from wrong, because what decides it is wrong itself.
    pub fn skip_all(&mut self) {
        self.asked.extend(self.keys());
    }

    /// Reports the keys that nobody asked for.
    pub fn finish(self) {
        for (key, entry) in self.table.into_iter().flatten() {
            if self.asked.contains(key) {
                continue;
            }
            let owner = if self.path.is_empty() { "a scenario".into() } else { format!("`{}`", self.path) };
            let what = format!("{owner} has no key {}", quote(key));
            let remedy = self.log.suggest(key, self.asked.iter().map(String::as_str));
            self.log.error(entry.key.clone(), what, remedy);
        }
    }

    fn lacks(&self, key: &str, shape: &str) {
        let owner = if self.path.is_empty() { "the scenario".into() } else { format!("`{}`", self.path) };
        let what = format!("{owner} lacks `{key}`");
        self.log.error(self.span(), what, format!("add `{key} = …`: {shape}"));
    }

    fn read<T: Value>(&mut self, key: &str) -> Option<T> {
        let node = &self.table?.get(key)?.node;
        let faults = match T::read(node) {
            Ok(value) => return Some(value),
            Err(faults) => faults,
        };
        for fault in faults {
            let what = format!("`{}`: {}", self.path_of(key), fault.what);
            self.log.error(fault.span, what, format!("`{key}` takes {}", T::SHAPE));
        }
        None
    }

    fn param<T: Value>(&mut self, key: &str, doc: &'static str, default: Option<String>, required: bool) {
        self.note(key, T::SHAPE, doc, default, required);
        self.asked.insert(key.to_string());
    }

    fn note(&mut self, key: &str, shape: &str, doc: &'static str, default: Option<String>, required: bool) {
        if self.log.text.is_none() {
            let param = Param { key: self.path_of(key), shape: shape.to_string(), default, required, doc };
            self.log.params.borrow_mut().push(param);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;
    use std::collections::BTreeMap;

    /// `rate = "40/s"`, `limit = 3`, `mode = "fsat"`, `brust = 1` on four lines of one table.
    fn sample() -> (Text, Node) {
        let text = Text::new("a.toml", "rate = '40/s'\nlimit = 3\nmode = 'fsat'\nbrust = 1\n".into());
        let mut table: Table = BTreeMap::new();
        let mut put = |key: &str, at: usize, content: Content| {
            let start = at + key.len() + 3;
            let entry = Entry { key: at..at + key.len(), node: Node { span: start..start + 1, content } };
            table.insert(key.to_string(), entry);
        };
        put("rate", 0, Content::Text("40/s".into()));
        put("limit", 14, Content::Integer(3));
        put("mode", 24, Content::Text("fsat".into()));
        put("brust", 38, Content::Integer(1));
        (text, Node { span: 0..0, content: Content::Table(table) })
    }

    fn read(s: &mut Section) -> (Rate, u64, Option<u64>, u8) {
        let rate = s.need("rate", "how fast");
        let limit = s.get_or("limit", 7, "how many");
        let burst = s.get("burst", "how many at once");
        let mode = s.one_of("mode", &[("fast", 1), ("slow", 2)], Some(2), "how");
        (rate, limit, burst, mode)
    }

    #[test]
    fn right_values_come_back_and_wrong_ones_are_reported_in_the_order_of_the_text() {
        let (text, root) = sample();
        let log = Log::new(&text);
        let mut section = Section::root(&root, &log);
        let (rate, limit, burst, mode) = read(&mut section);
        section.need::<u64>("size", "needed");
        section.finish();
        assert_eq!((rate.per_second(), limit, burst, mode), (40.0, 3, None, 2));
        let shown: Vec<String> =
            log.into_problems().iter().map(|p| p.to_string().replace('\n', " /")).collect();
        assert_eq!(
            shown,
            [
                "a.toml:1:1: the scenario lacks `size` /  add `size = …`: a whole number such as `100` or `150k`",
                "a.toml:3:8: `mode` is `fsat`, which is none of its words /  did you mean `fast`? known: `fast`, `slow`",
                "a.toml:4:1: a scenario has no key `brust` /  did you mean `burst`? known: `burst`, `limit`, `mode`, `rate`, `size`",
            ]
        );
    }

    #[test]
    fn a_description_lists_what_the_reader_asks_for() {
        let params = describe(|s| {
            read(s);
            for (_, mut each) in s.named("class", "classes") {
                each.get::<bool>("on", "whether");
            }
        });
        let keys: Vec<&str> = params.iter().map(|p| p.key.as_str()).collect();
        assert_eq!(keys, ["rate", "limit", "burst", "mode", "class.NAME", "class.NAME.on"]);
        assert!(params[0].required && !params[1].required);
        assert_eq!(params[1].default.as_deref(), Some("7"));
        assert_eq!(params[3].shape, "`fast` or `slow`");
    }
}
