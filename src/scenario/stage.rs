//! Stages (limiters and admission) as files describe them.

use crate::limiter::gcra::Gcra;
use crate::limiter::token_bucket::TokenBucket;
use crate::request::{Key, Knob, Unit};
use crate::section::{Limit, Section};
use crate::units::Rate;

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
    /// A token bucket.
    TokenBucket {
        /// Rate, burst, start, unit and refund.
        rule: TokenBucket,
        /// What has a bucket of its own each; `None` is one for all.
        key: Option<Key>,
        /// Whether it parks what it would refuse.
        wait: bool,
    },
    /// GCRA.
    Gcra {
        /// Rate, burst, unit and refund.
        rule: Gcra,
        /// What has a limit of its own each; `None` is one for all.
        key: Option<Key>,
        /// Whether it parks what it would refuse.
        wait: bool,
    },
    /// A limit on work in flight.
    Concurrency {
        /// The limit; `None` is unlimited.
        limit: Option<u64>,
        /// What has a limit of its own each; `None` is one for all.
        key: Option<Key>,
    },
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
pub const KINDS: &[Kind] = &[
    Kind {
        name: "token_bucket",
        about: "passes what its bucket holds; the bucket gains a rate up to a burst",
        read: token_bucket,
    },
    Kind { name: "gcra", about: "spaces calls by a rate, with a burst of tolerance", read: gcra },
    Kind { name: "concurrency", about: "lets at most so many be in flight", read: concurrency },
];

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

impl StageSpec {
    /// The keys that an event may change.
    pub const CHANGEABLE: [&'static str; 3] = ["rate", "burst", "limit"];

    /// What holds for a key that an event may change, when no event does; `None` if this stage has no such key.
    pub fn own(&self, key: &str) -> Option<Knob> {
        match (self, key) {
            (StageSpec::TokenBucket { rule, .. }, "rate") => Some(Knob::Rate(rule.rate)),
            (StageSpec::TokenBucket { rule, .. }, "burst") => Some(Knob::Burst(rule.burst)),
            (StageSpec::Gcra { rule, .. }, "rate") => Some(Knob::Rate(rule.rate)),
            (StageSpec::Gcra { rule, .. }, "burst") => Some(Knob::Burst(rule.burst)),
            (StageSpec::Concurrency { limit, .. }, "limit") => Some(Knob::Limit(*limit)),
            _ => None,
        }
    }

    /// The most that one call may cost, and in which unit; `None` if any call may pass.
    pub fn capacity(&self) -> Option<(u64, Unit)> {
        match self {
            StageSpec::TokenBucket { rule, .. } => Some((rule.burst, rule.unit)),
            StageSpec::Gcra { rule, .. } => Some((rule.burst, rule.unit)),
            StageSpec::Concurrency { .. } => None,
        }
    }

    /// Whether calls wait before it instead of being refused.
    pub fn waits(&self) -> bool {
        match self {
            StageSpec::TokenBucket { wait, .. } | StageSpec::Gcra { wait, .. } => *wait,
            StageSpec::Concurrency { .. } => false,
        }
    }

    /// Whether it asks for room rather than for speed, and so is asked after every limiter.
    pub fn is_admission(&self) -> bool {
        matches!(self, StageSpec::Concurrency { .. })
    }
}

fn token_bucket(s: &mut Section) -> StageSpec {
    let (rate, burst) = rate_and_burst(s);
    let unit = s.one_of("unit", &Unit::NAMES, Some(Unit::Requests), "what is counted");
    let key = key(s);
    let initial =
        s.get("initial", "what the bucket holds at the start; the burst unless said").unwrap_or(burst);
    if burst < initial {
        let what = format!("`{}` is more than the burst of {burst}", s.path_of("initial"));
        s.problem("initial", what, "lower it, or take it out to start with a full bucket");
    }
    let refund = s.get_or(
        "refund",
        true,
        "whether work that is turned away later, or leaves the queue, is given back what it took",
    );
    let wait = s.get_or("wait", false, "whether calls wait here for their turn instead of being refused");
    StageSpec::TokenBucket { rule: TokenBucket { rate, burst, initial, unit, refund }, key, wait }
}

fn gcra(s: &mut Section) -> StageSpec {
    let (rate, burst) = rate_and_burst(s);
    let unit = s.one_of("unit", &Unit::NAMES, Some(Unit::Requests), "what is counted");
    let key = key(s);
    let refund = s.get_or(
        "refund",
        true,
        "whether work that is turned away later, or leaves the queue, is given back what it took",
    );
    let wait = s.get_or("wait", false, "whether calls wait here for their turn instead of being refused");
    StageSpec::Gcra { rule: Gcra { rate, burst, unit, refund }, key, wait }
}

fn concurrency(s: &mut Section) -> StageSpec {
    let limit: Limit = s.need("limit", "how many may be in flight");
    if limit == Limit(Some(0)) {
        s.problem("limit", format!("`{}` is 0: nothing ever passes", s.path_of("limit")), "write 1 or more");
    }
    StageSpec::Concurrency { limit: limit.0, key: key(s) }
}

fn rate_and_burst(s: &mut Section) -> (Rate, u64) {
    let rate = s.need("rate", "how fast it fills");
    let burst = s.need("burst", "the most that may pass at once");
    if burst == 0 {
        s.problem("burst", format!("`{}` is 0: nothing ever passes", s.path_of("burst")), "write 1 or more");
    }
    (rate, burst)
}

fn key(s: &mut Section) -> Option<Key> {
    let names = Key::NAMES.map(|(name, key)| (name, Some(key)));
    let names = [&names[..], &[("none", None)]].concat();
    s.one_of("key", &names, Some(None), "what has a limit of its own each; one for all unless said")
}
