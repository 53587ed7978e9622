//! The names that a scenario defines, to be looked up by the tables that refer to them.

use crate::section::{At, Log, Section, quote};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

/// The names of one group of tables, with what is looked up taken note of.
pub struct Directory<'a> {
    log: &'a Log<'a>,
    kind: &'static str,
    places: Vec<(String, Range<usize>)>,
    index: BTreeMap<String, usize>,
    used: Vec<Cell<bool>>,
}

impl<'a> Directory<'a> {
    /// The names of `sections`, numbered in their order; `kind` is what one of them is called in messages.
    pub fn new(kind: &'static str, log: &'a Log<'a>, sections: &[(String, Section<'a>)]) -> Directory<'a> {
        let places: Vec<_> = sections.iter().map(|(name, section)| (name.clone(), section.span())).collect();
        let index = places.iter().enumerate().map(|(i, (name, _))| (name.clone(), i)).collect();
        Directory { log, kind, index, used: vec![Cell::new(false); places.len()], places }
    }

    /// The number of `name`; a name that is not defined is a problem.
    pub fn find(&self, name: &At<String>) -> Option<usize> {
        let found = self.number(&name.value);
        match found {
            Some(number) => self.used[number].set(true),
            None => {
                let what = format!("there is no {} {}", self.kind, quote(&name.value));
                let remedy = self.log.suggest(&name.value, self.names());
                let remedy = if self.places.is_empty() {
                    format!("define one, or take the name out: the scenario has no {}", self.kind)
                } else {
                    remedy
                };
                self.log.error(name.span.clone(), what, remedy);
            }
        }
        found
    }

    /// The number of `name`, if it is defined; this is no use of it.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// Takes note that something uses `name` without naming it, if it is defined.
    pub fn use_if_defined(&self, name: &str) {
        if let Some(number) = self.number(name) {
            self.used[number].set(true);
        }
    }

    /// Where the definition number `number` stands.
    pub fn span(&self, number: usize) -> Range<usize> {
        self.places[number].1.clone()
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.places.iter().map(|(name, _)| name.as_str())
    }

    /// Warns of what nothing refers to.
    pub fn warn_of_unused(&self, by: &str) {
        for ((name, span), used) in self.places.iter().zip(&self.used) {
            if !used.get() {
                let what = format!("the {} `{name}` is not used by any {by}", self.kind);
                self.log.warning(span.clone(), what, "take it out, or refer to it");
            }
        }
    }
}
