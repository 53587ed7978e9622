//! Stages (limiters and admission) as files describe them: one registry, one file per kind.

mod concurrency;
mod gcra;
mod options;
mod token_bucket;

use crate::limiter::{Blueprint, Limiter, Options};
use crate::request::{Key, Knob, Unit};
use crate::section::Section;
use std::sync::Arc;

/// A stage with its name.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// The word that chose it: `token_bucket`.
    pub kind: &'static str,
    /// What it does.
    pub spec: StageSpec,
}

/// What a stage does.
#[derive(Clone, Debug)]
pub enum StageSpec {
    /// A limiter.
    Limiter(Limit),
    /// A limit on work in flight.
    Concurrency {
        /// The limit; `None` is unlimited.
        limit: Option<u64>,
        /// What has a limit of its own each; `None` is one for all.
        key: Option<Key>,
    },
}

/// A limiter: its rule, and what it is given beside it.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The rule.
    pub rule: Arc<dyn Blueprint>,
    /// Charge, key and waiting.
    pub options: Options,
}

/// A kind of stage: its name in files, a line about it, and its reader, which leaves finishing to the caller.
pub struct Kind {
    /// The word in `kind = "…"`.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Reads its keys.
    pub read: fn(&mut Section) -> StageSpec,
}

/// Every kind of stage.
pub const KINDS: &[Kind] = &[token_bucket::KIND, gcra::KIND, concurrency::KIND];

impl Stage {
    /// Reads and finishes `[limiter.NAME]` or `[admission.NAME]`.
    pub fn read(name: String, mut s: Section) -> Stage {
        let unknown =
            Stage { name: name.clone(), kind: "", spec: StageSpec::Concurrency { limit: None, key: None } };
        // Without a kind that is known, the keys can't be told right from wrong.
        let words: Vec<(&'static str, &Kind)> = KINDS.iter().map(|kind| (kind.name, kind)).collect();
        let Some(kind) = s.choice("kind", &words, "what it does") else { return unknown };
        let spec = (kind.read)(&mut s);
        s.finish();
        Stage { name, kind: kind.name, spec }
    }
}

impl Limit {
    /// A limiter that nothing has used yet.
    pub fn build(&self) -> Box<dyn Limiter> {
        self.rule.build(&self.options)
    }
}

impl StageSpec {
    /// The keys that an event may change.
    pub const CHANGEABLE: [&'static str; 3] = ["rate", "burst", "limit"];

    /// What holds for a key that an event may change, when no event does; `None` if this stage has no such key.
    pub fn own(&self, key: &str) -> Option<Knob> {
        match self {
            StageSpec::Limiter(limit) => limit.rule.knob(key),
            StageSpec::Concurrency { limit, .. } => (key == "limit").then_some(Knob::Limit(*limit)),
        }
    }

    /// The most that one call may cost, in which unit, and the key that says so; `None` if any call may pass.
    pub fn capacity(&self) -> Option<(u64, Unit, &'static str)> {
        match self {
            StageSpec::Limiter(limit) => {
                let (most, key) = limit.rule.capacity()?;
                Some((most, limit.options.charge.unit, key))
            }
            StageSpec::Concurrency { .. } => None,
        }
    }

    /// Whether calls wait before it instead of being refused.
    pub fn waits(&self) -> bool {
        match self {
            StageSpec::Limiter(limit) => limit.options.wait,
            StageSpec::Concurrency { .. } => false,
        }
    }

    /// Whether it asks for room rather than for speed, and so is asked after every limiter.
    pub fn is_admission(&self) -> bool {
        matches!(self, StageSpec::Concurrency { .. })
    }
}
