//! Keys that take one of several words, and what another word would have made of a table's other keys.

use super::log::listing;
use super::node::{Content, Entry, Node, quote};
use super::{At, Log, Section};

/// A key that takes one of several words.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The key: `dialect`.
    pub key: String,
    /// Its words.
    pub words: Vec<&'static str>,
    /// The word that stands there, or the one that an absent key means.
    pub word: String,
}

impl<'a> Section<'a> {
    /// The meaning of the word that stands at `key`; without a default the key must be there.
    pub fn one_of<T: Copy + PartialEq>(
        &mut self,
        key: &str,
        names: &[(&'static str, T)],
        default: Option<T>,
        doc: &'static str,
    ) -> T {
        let shown = default.and_then(|d| names.iter().find(|(_, value)| *value == d));
        let shown = shown.map(|(name, _)| format!("\"{name}\""));
        self.word(key, names, shown, default.is_none(), doc).or(default).unwrap_or(names[0].1)
    }

    /// The meaning of the word that stands at `key`; `None` if it is absent or wrong, both of which are problems.
    pub fn choice<T: Copy>(
        &mut self,
        key: &str,
        names: &[(&'static str, T)],
        doc: &'static str,
    ) -> Option<T> {
        self.word(key, names, None, true, doc)
    }

    /// The same for a key that may be absent, which means the first word; `None` only if it is wrong.
    pub fn choice_or_first<T: Copy>(
        &mut self,
        key: &str,
        names: &[(&'static str, T)],
        doc: &'static str,
    ) -> Option<T> {
        let absent = !self.has(key);
        let found = self.word(key, names, Some(format!("\"{}\"", names[0].0)), false, doc);
        if absent { Some(names[0].1) } else { found }
    }

    fn word<T: Copy>(
        &mut self,
        key: &str,
        names: &[(&'static str, T)],
        default: Option<String>,
        required: bool,
        doc: &'static str,
    ) -> Option<T> {
        let listed = listing(names.iter().map(|(name, _)| *name));
        let words = names.iter().map(|(name, _)| *name).collect();
        let usual = default.clone().unwrap_or_default().trim_matches('"').to_string();
        self.choices.push(Choice { key: key.to_string(), words, word: usual });
        self.note(key, &listed, doc, default, required);
        self.asked.insert(key.to_string());
        if required && !self.has(key) {
            self.lacks(key, &listed);
        }
        let At { value, span } = self.read::<At<String>>(key)?;
        let found = names.iter().find(|(name, _)| *name == value);
        if let Some(choice) = self.choices.last_mut() {
            choice.word.clone_from(&value);
        }
        if found.is_none() {
            let what = format!("`{}` is {}, which is none of its words", self.path_of(key), quote(&value));
            self.log.error(span, what, self.log.suggest(&value, names.iter().map(|(name, _)| *name)));
        }
        found.map(|(_, meaning)| *meaning)
    }

    /// Reports keys that nobody asked for, but that `read` would ask for if another word stood at one of the choices.
    pub fn finish_choices(&mut self, read: impl Fn(&mut Section)) {
        let Some(text) = self.log.text.filter(|_| !self.log.is_full()) else { return };
        for key in self.keys() {
            if self.asked.contains(&key) {
                continue;
            }
            let asks = |choice: &Choice, word: &str| {
                let Some(node) = self.with_word(&choice.key, word) else { return false };
                let silent = Log::new(text);
                let mut other = Section::of(&node, &silent, self.path.clone());
                read(&mut other);
                other.asked.contains(&key)
            };
            let found = self.choices.iter().find_map(|choice| {
                let words: Vec<&str> =
                    choice.words.iter().copied().filter(|word| asks(choice, word)).collect();
                (!words.is_empty()).then_some((choice, words))
            });
            let Some((choice, words)) = found else { continue };
            let (name, word) = (&choice.key, &choice.word);
            let what = format!("`{}` has no key `{key}` with `{name} = \"{word}\"`", self.path);
            let words: Vec<String> = words.iter().map(|word| format!("`{name} = \"{word}\"`")).collect();
            let remedy = format!("take it out, or write {}", words.join(" or "));
            self.log.error(self.key_span(&key), what, remedy);
            self.skip(&key);
        }
    }

    /// The same table with another word at `key`.
    fn with_word(&self, key: &str, word: &str) -> Option<Node> {
        let mut table = self.table?.clone();
        let node = Node { span: self.span(), content: Content::Text(word.to_string()) };
        table.insert(key.to_string(), Entry { key: self.span(), node });
        Some(Node { span: self.span(), content: Content::Table(table) })
    }
}
