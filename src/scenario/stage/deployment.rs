//! `deployment = { gateways = 3, access = "optimistic", latency = "2ms" }`, which every limiter may have.

use crate::dist::Dist;
use crate::limiter::deployment::{Access, Clocks, Deployment, Expiry};
use crate::scenario::dist;
use crate::section::{Content, Either, Fault, Node, Section, Share, Value, one_fault, quote};
use crate::time::{Nanos, SimTime};

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Atomic,
    Optimistic,
    Lock,
    Local,
}

const WAYS: [(&str, Way); 4] =
    [("atomic", Way::Atomic), ("optimistic", Way::Optimistic), ("lock", Way::Lock), ("local", Way::Local)];

/// Reads and finishes the table, if there is one.
pub(super) fn read(s: &mut Section) -> Option<Deployment> {
    let mut t =
        s.section("deployment", "the store and the gateways that share this limit; none unless said")?;
    let gateways = t.get_or("gateways", 1u64, "how many gateways share it");
    if gateways == 0 || MOST_GATEWAYS < gateways {
        let what = format!("`{}` is {gateways}", t.path_of("gateways"));
        t.problem("gateways", what, format!("write a number from 1 to {MOST_GATEWAYS}"));
    }
    let way = t.one_of(
        "access",
        &WAYS,
        Some(Way::Atomic),
        "in one step, read and write apart, under a lock, or on local copies",
    );
    let atomic: Option<Atomic> = t.get("atomic", "the same as `access`: `true`, or a word of it");
    if atomic.is_some() && t.has("access") && !t.is_description() {
        let what = format!("`{}` and `{}` say the same", t.path_of("atomic"), t.path_of("access"));
        t.problem("atomic", what, "take one out");
    }
    let way = atomic.map_or(way, |Atomic(way)| way);
    let timeout = t.get("lock_timeout", "the longest wait for the lock; 5 s unless said");
    let every = t.get("sync_every", "how often local copies are exchanged; 1 s unless said");
    only_for(&t, "lock_timeout", way == Way::Lock, "lock");
    only_for(&t, "sync_every", way == Way::Local, "local");
    if every == Some(Nanos::ZERO) {
        let what = format!("`{}` is no time", t.path_of("sync_every"));
        t.problem("sync_every", what, "write a length above 0, or `access = \"atomic\"`");
    }
    let access = match way {
        Way::Atomic => Access::Atomic,
        Way::Optimistic => Access::Optimistic,
        Way::Lock => Access::Lock { timeout: timeout.unwrap_or(Nanos::secs(5)) },
        Way::Local => Access::Local { every: every.filter(|every| every.0 > 0).unwrap_or(Nanos::SECOND) },
    };
    let latency = latency(&mut t);
    let deployment = Deployment {
        gateways: gateways.clamp(1, MOST_GATEWAYS) as u32,
        access,
        latency,
        clocks: clocks(&mut t),
        outages: outages(&mut t),
        fails_open: t.one_of(
            "on_outage",
            &[("open", true), ("closed", false)],
            Some(false),
            "whether calls pass or are refused while the store is away",
        ),
        expiry: expiry(&mut t),
        ..Deployment::ideal()
    };
    t.finish();
    Some(deployment)
}

/// Whether a gateway decides in one step, or how it does otherwise.
struct Atomic(Way);

impl Value for Atomic {
    const SHAPE: &'static str = "`true`, `false`, `\"optimistic\"`, `\"lock\"` or `\"local\"`";

    fn read(node: &Node) -> Result<Atomic, Vec<Fault>> {
        if let Content::Flag(atomic) = node.content {
            return Ok(Atomic(if atomic { Way::Atomic } else { Way::Optimistic }));
        }
        let word = String::read(node)?;
        let way = WAYS.iter().find(|(known, _)| *known == word);
        way.map(|(_, way)| Atomic(*way))
            .ok_or_else(|| one_fault(node, format!("{} is none of its words", quote(&word))))
    }

    fn dummy() -> Atomic {
        Atomic(Way::Atomic)
    }

    fn show(&self) -> String {
        WAYS.iter().find(|(_, way)| *way == self.0).map_or("", |(word, _)| word).into()
    }
}

/// More copies than any fleet has would only fill the memory.
const MOST_GATEWAYS: u64 = 10_000;

fn latency(t: &mut Section) -> Option<Dist> {
    match t.either::<Nanos>("latency", "from a question to the store's answer, or a distribution of it")? {
        Either::Value(length) => Some(dist::constant(length.0 as f64)),
        Either::Table(mut table) => {
            let latency = dist::read::<Nanos>(&mut table, None);
            table.finish();
            Some(latency)
        }
    }
}

fn only_for(t: &Section, key: &str, fits: bool, way: &str) {
    if t.has(key) && !fits {
        let what = format!("`{}` has a meaning for `access = \"{way}\"` alone", t.path_of(key));
        t.problem(key, what, "take it out, or change `access`");
    }
}

fn clocks(t: &mut Section) -> Clocks {
    let skew = t.get_or(
        "clock_skew",
        Nanos::ZERO,
        "how far the gateways' clocks lie behind and ahead of the store's",
    );
    let drift: f64 = t.get_or(
        "clock_drift",
        0.0,
        "what the fastest clock gains and the slowest loses, as a share of time",
    );
    let resolution = t.get_or("clock_resolution", Nanos(1), "what the clocks round down to");
    if !(-0.5..=0.5).contains(&drift) {
        let what = format!("`{}` is {drift}", t.path_of("clock_drift"));
        t.problem("clock_drift", what, "write a share of time such as 20e-6, at most 0.5");
    }
    if resolution == Nanos::ZERO {
        let what = format!("`{}` is no time", t.path_of("clock_resolution"));
        t.problem("clock_resolution", what, "write `1s` for a clock of whole seconds, or take it out");
    }
    let drift = if (-0.5..=0.5).contains(&drift) { drift } else { 0.0 };
    Clocks { skew, drift, resolution: resolution.max(Nanos(1)) }
}

fn outages(t: &mut Section) -> Vec<(SimTime, SimTime)> {
    let read = |mut outage: Section| {
        let from: Nanos = outage.need("at", "when the store goes away");
        let length: Nanos = outage.need("for", "for how long");
        outage.finish();
        (SimTime(from.0), SimTime(from.0).saturating_add(length))
    };
    t.sections("outage", "when the store is away").into_iter().map(read).collect()
}

fn expiry(t: &mut Section) -> Expiry {
    let two_steps = t.one_of(
        "expiry",
        &[("together", false), ("two_steps", true)],
        Some(false),
        "whether a key is made with its expiry, or given it afterwards",
    );
    let crash: Option<Share> =
        t.get("crash", "share of new keys whose maker dies before they have an expiry");
    only_for_expiry(t, two_steps);
    match two_steps {
        true => Expiry::TwoSteps { crash: crash.map_or(0.0, |crash| crash.0) },
        false => Expiry::Together,
    }
}

fn only_for_expiry(t: &Section, two_steps: bool) {
    if t.has("crash") && !two_steps {
        let what = format!("`{}` has a meaning for `expiry = \"two_steps\"` alone", t.path_of("crash"));
        t.problem("crash", what, "take it out, or change `expiry`");
    }
}
