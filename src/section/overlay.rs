//! One table laid over another: what it does not say is as there.

use super::Section;
use super::node::{Content, Node};

impl<'a> Section<'a> {
    /// The table under `key` laid over the table `base`: what it does not say is as there.
    pub fn over(&self, key: &str, base: &Section<'a>) -> Option<Node> {
        let entry = self.table?.get(key)?;
        let Content::Table(own) = &entry.node.content else {
            Section::of(&entry.node, self.log, self.path_of(key)); // which tells that it is no table
            return None;
        };
        let mut table = base.table?.clone();
        table.extend(own.iter().map(|(key, entry)| (key.clone(), entry.clone())));
        Some(Node { span: entry.node.span.clone(), content: Content::Table(table) })
    }

    /// Whether `below` stands in the table under `key`.
    pub fn has_below(&self, key: &str, below: &str) -> bool {
        match self.table.and_then(|table| table.get(key)).map(|entry| &entry.node.content) {
            Some(Content::Table(own)) => own.contains_key(below),
            _ => false,
        }
    }
}
