//! Lists the keys of a table by running its reader over nothing.

use super::{Log, Section};

/// One key that a reader asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// The key with its path below the described table: `backoff.base`; `NAME` and `[]` stand for many.
    pub key: String,
    /// What it takes, in words.
    pub shape: String,
    /// What holds when it is absent, as a file would write it; `None` if nothing is assumed.
    pub default: Option<String>,
    /// Whether it must be there.
    pub required: bool,
    /// What it means.
    pub doc: &'static str,
}

/// Runs `reader` over nothing and returns what it asked for, in that order, each key once.
pub fn describe<T>(reader: impl FnOnce(&mut Section) -> T) -> Vec<Param> {
    let log = Log::describing();
    let mut section = Section {
        log: &log,
        table: None,
        span: 0..0,
        path: String::new(),
        asked: std::collections::BTreeSet::new(),
        choices: Vec::new(),
    };
    reader(&mut section);
    let mut params: Vec<Param> = Vec::new();
    for param in log.params.into_inner() {
        if !params.iter().any(|p| p.key == param.key && p.shape == param.shape) {
            params.push(param);
        }
    }
    params
}
