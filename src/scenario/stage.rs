//! Stages (limiters and admission) as files describe them: one registry, one file per kind.

mod adaptive;
mod admission;
pub(super) mod bounds;
mod bulkheads;
mod clients;
mod concurrency;
mod deployment;
mod fixed_window;
mod gcra;
mod leaky_meter;
mod leaky_queue;
mod llm;
mod markers;
mod measured;
mod options;
mod overrides;
mod priority_levels;
mod provider_quota;
mod retry_after;
mod shedders;
mod signals;
mod sliding_counter;
mod sliding_log;
mod throttles;
mod token_bucket;
mod token_budget;
mod warm_up;

use crate::admission::{Admission, Cast, Options, Plan};
use crate::limiter::{self, Blueprint, Limiter};
use crate::request::{Ask, ClassId, Key, Knob, Unit};
use crate::rng::Dice;
use crate::section::{At, Section};
pub use overrides::Override;
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
#[allow(clippy::large_enum_variant, reason = "a scenario has few stages, and most are limiters")]
pub enum StageSpec {
    /// A limiter.
    Limiter(Limit),
    /// An admission stage.
    Admission(Room),
}

/// A limiter: its rule, and what it is given beside it.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The rule.
    pub rule: Arc<dyn Blueprint>,
    /// Charge, key, waiting and what is wrapped around it, but for what names somebody.
    pub options: limiter::Options,
    /// Keys with a rule of their own.
    pub overrides: Vec<Override>,
    /// Classes that pass uncharged, by name.
    pub exempt: Vec<At<String>>,
}

/// An admission stage: its plan, and what it is given beside it.
#[derive(Clone, Debug)]
pub struct Room {
    /// What builds it.
    pub plan: Arc<dyn Plan>,
    /// Whether it only counts what it would refuse.
    pub shadow: bool,
    /// Classes that pass without being asked, by name.
    pub exempt: Vec<At<String>>,
    /// Further classes that its table names.
    pub classes: Vec<At<String>>,
}

/// A kind of stage: its name in files, a line about it, and its reader, which leaves finishing to the caller.
pub struct Kind {
    /// The word in `kind = "…"`.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// What the reference says of it.
    pub page: Page,
    /// Reads its keys.
    pub read: fn(&mut Section) -> StageSpec,
}

/// What the reference says of a kind beside its keys, in Markdown.
pub struct Page {
    /// The question that it answers.
    pub question: &'static str,
    /// How it decides, and the bound on what passes in a window where there is one.
    pub formula: &'static str,
    /// Who defined it: papers, standards, products.
    pub source: &'static str,
    /// The words of its dialects or presets, and what is particular to each.
    pub dialects: &'static [(&'static str, &'static str)],
    /// Limiters as `tidegate probe` takes them, one for each dialect or setting that lets another most pass.
    pub examples: &'static [&'static str],
}

/// Every kind of stage.
pub const KINDS: &[Kind] = &[
    token_bucket::KIND,
    gcra::KIND,
    leaky_meter::KIND,
    leaky_queue::KIND,
    fixed_window::KIND,
    sliding_log::KIND,
    sliding_counter::KIND,
    warm_up::KIND,
    markers::SINGLE_RATE,
    markers::TWO_RATES,
    provider_quota::KIND,
    concurrency::KIND,
    bulkheads::BULKHEAD,
    bulkheads::PARTITIONED,
    bulkheads::RESERVED,
    token_budget::KIND,
    adaptive::AIMD,
    adaptive::VEGAS,
    adaptive::GRADIENT,
    adaptive::GRADIENT2,
    measured::ENVOY,
    measured::FAILSAFE,
    shedders::KRATOS,
    shedders::GO_ZERO,
    shedders::SENTINEL,
    throttles::ADAPTIVE,
    throttles::ENVOY,
    signals::QUEUE_DELAY,
    signals::UTILIZATION,
    signals::DAGOR,
    signals::OVERLOAD_MANAGER,
    signals::PID,
    priority_levels::KIND,
    clients::BREAKWATER,
    clients::SEDA,
    clients::AUTHENTICATE,
    llm::ASYNC_BULKHEAD,
    llm::FLOOR_LENDING,
    llm::GIE_SATURATION,
    llm::LITELLM,
];

impl Stage {
    /// Reads and finishes `[limiter.NAME]` or `[admission.NAME]`.
    pub fn read(name: String, mut s: Section) -> Stage {
        let unknown = Stage { name: name.clone(), kind: "", spec: concurrency::unlimited() };
        // Without a kind that is known, the keys can't be told right from wrong.
        let words: Vec<(&'static str, &Kind)> = KINDS.iter().map(|kind| (kind.name, kind)).collect();
        let Some(kind) = s.choice("kind", &words, "what it does") else { return unknown };
        let mut spec = (kind.read)(&mut s);
        if let StageSpec::Limiter(limit) = &mut spec {
            limit.overrides = overrides::read(&mut s, kind, limit);
        }
        s.finish_choices(|other| _ = (kind.read)(other));
        s.finish();
        Stage { name, kind: kind.name, spec }
    }
}

impl Limit {
    /// Reads and finishes the quota of another part, in whose table it has a key.
    pub fn read_quota(mut s: Section) -> Option<Limit> {
        let mut spec = (provider_quota::KIND.read)(&mut s);
        if let StageSpec::Limiter(limit) = &mut spec {
            limit.overrides = overrides::read(&mut s, &provider_quota::KIND, limit);
            if limit.options.wait {
                s.problem("wait", format!("nothing waits for `{}`", s.path()), "take it out");
            }
        }
        s.finish();
        match spec {
            StageSpec::Limiter(limit) => Some(limit),
            StageSpec::Admission(_) => None,
        }
    }

    /// The most that one call may cost, in which unit, and the key that says so, for each of its limits that any call may
    /// be too large for. Where keys have rules of their own it is that of the largest.
    pub fn capacities(&self) -> Vec<(u64, Unit, &'static str)> {
        let mut capacities = self.rule.capacities(self.options.charge.unit);
        for over in &self.overrides {
            let own = over.rule.capacities(self.options.charge.unit);
            let most = |key| own.iter().find(|(.., of)| *of == key).map_or(u64::MAX, |(most, ..)| *most);
            capacities.iter_mut().for_each(|(capacity, _, key)| *capacity = (*capacity).max(most(*key)));
        }
        capacities
    }

    /// A limiter that nothing has used yet, among nobody that has a name.
    pub fn build(&self) -> Box<dyn Limiter> {
        self.build_among(&|_, _| None, Dice::default())
    }

    /// The same among those whose numbers `number` knows; who has none never asks. `luck` is the run's.
    pub fn build_among(&self, number: &dyn Fn(Key, &str) -> Option<u32>, luck: Dice) -> Box<dyn Limiter> {
        let mut options = self.options.clone();
        if let Some(deployment) = &mut options.deployment {
            deployment.luck = luck;
        }
        if let Some(keys) = options.key {
            let mut own: Vec<(_, Arc<dyn Blueprint>)> = Vec::new();
            for over in &self.overrides {
                let ask = keys
                    .iter()
                    .zip(&over.names)
                    .try_fold(Ask::default(), |ask, (key, name)| Some(ask.with_key(key, number(key, name)?)));
                own.extend(ask.map(|ask| (ask.key_id(keys), Arc::clone(&over.rule))));
            }
            options.overrides = own;
        }
        let class = |name: &At<String>| Some(ClassId(number(Key::Class, &name.value)? as u16));
        options.exempt = self.exempt.iter().filter_map(class).collect();
        options.build(&*self.rule)
    }
}

impl Room {
    /// A stage that nothing has used yet.
    pub fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        let exempt = self.exempt.iter().filter_map(|class| cast.class(&class.value)).collect();
        Options { shadow: self.shadow, exempt }.build(&*self.plan, cast)
    }

    /// The classes that its table names.
    pub fn named(&self) -> impl Iterator<Item = &At<String>> {
        self.exempt.iter().chain(&self.classes)
    }
}

impl StageSpec {
    /// The keys that an event may change.
    pub const CHANGEABLE: [&'static str; 3] = ["rate", "burst", "limit"];

    /// What holds for a key that an event may change, when no event does; `None` if this stage has no such key.
    pub fn own(&self, key: &str) -> Option<Knob> {
        match self {
            StageSpec::Limiter(limit) => limit.rule.knob(key),
            StageSpec::Admission(room) => room.plan.knob(key),
        }
    }

    /// Whether priorities of classes matter to it.
    pub fn looks_at_priority(&self) -> bool {
        matches!(self, StageSpec::Admission(room) if room.plan.looks_at_priority())
    }

    /// Whether calls wait before it instead of being refused.
    pub fn waits(&self) -> bool {
        match self {
            StageSpec::Limiter(limit) => limit.options.wait,
            StageSpec::Admission(_) => false,
        }
    }

    /// Whether it asks for room rather than for speed, and so is asked after every limiter.
    pub fn is_admission(&self) -> bool {
        matches!(self, StageSpec::Admission(_))
    }
}
