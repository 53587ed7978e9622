//! `overrides = { NAME = { … } }`: other numbers for some keys of a limit.
//!
//! What an override leaves out is as in the limit's own table: the reader of the kind reads the two together, so an
//! override may say whatever the kind has a key for, and is told what is wrong in the same words.

use super::{Kind, Limit, StageSpec};
use crate::limiter::Blueprint;
use crate::request::Keys;
use crate::section::{Section, quote};
use std::sync::Arc;

/// The rule of one key.
#[derive(Clone, Debug)]
pub struct Override {
    /// Whose: a name for each of the limit's keys, in their order.
    pub names: Vec<String>,
    /// The rule.
    pub rule: Arc<dyn Blueprint>,
}

const KEY: &str = "overrides";
const DOC: &str = "other numbers for some keys: `NAME = { … }`, or `\"NAME/NAME\"` where several make a key";

/// Keys that hold for a limit as a whole.
const OF_ALL: [&str; 14] = [
    "name",
    "kind",
    "unit",
    "price",
    "charge",
    "key",
    KEY,
    "max_idle_keys",
    "refund",
    "wait",
    "shadow",
    "exempt",
    "retry_after",
    "deployment",
];

/// Takes note of the key, for the description of a kind.
pub(super) fn note(s: &mut Section) {
    if s.is_description() {
        s.section(KEY, DOC);
    }
    s.skip(KEY);
}

/// The names that `name` is made of, one for each of the keys; as many as that or a problem.
pub(super) fn names(s: &Section, table: &Section, name: &str, keys: Keys) -> Option<Vec<String>> {
    let count = keys.iter().count();
    let names: Vec<String> = match count {
        1 => vec![name.to_string()],
        _ => name.split('/').map(str::to_string).collect(),
    };
    if names.len() == count {
        return Some(names);
    }
    let what = format!("{} is no key of `{}`, which has {count} names", quote(name), s.path());
    s.log().error(table.key_span(name), what, "write the names in the order of `key` with `/` between them");
    None
}

/// Reads the overrides of `limit`, which `kind` has read from the same table.
pub(super) fn read(s: &mut Section, kind: &Kind, limit: &Limit) -> Vec<Override> {
    let mut overrides = Vec::new();
    if !s.has(KEY) {
        return overrides;
    }
    let Some(table) = s.section(KEY, DOC) else { return overrides };
    let Some(keys) = limit.options.key else {
        let what = format!("`{}` names keys, and there is one limit for all", table.path());
        s.problem(KEY, what, "add `key`, or take it out");
        return overrides;
    };
    for name in table.keys() {
        let Some(names) = names(s, &table, &name, keys) else { continue };
        let before = s.log().len();
        let Some(merged) = table.over(&name, s) else { continue };
        let mut section = Section::of(&merged, s.log(), format!("{}.{name}", table.path()));
        for key in OF_ALL.iter().filter(|key| table.has_below(&name, key)) {
            let what = format!("`{}` holds for all keys alike", section.path_of(key));
            s.log().error(section.key_span(key), what, "write it in the table of the limit");
        }
        let spec = (kind.read)(&mut section);
        OF_ALL.iter().for_each(|key| section.skip(key));
        section.finish();
        match spec {
            StageSpec::Limiter(own) if limit.rule.is_like(&*own.rule) => {
                overrides.push(Override { names, rule: own.rule });
            }
            _ if before < s.log().len() => {} // told by the reader
            _ => {
                let what = format!("`{}.{name}` is a limit of another form", table.path());
                s.log().error(table.span_of(&name), what, "an override changes numbers alone");
            }
        }
    }
    overrides
}
