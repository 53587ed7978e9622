//! What a simulation is made of, before it starts.

use super::gate::LiveGate;
use crate::admission::Admission;
use crate::client::Client;
use crate::dist::Dist;
use crate::downstream::{AnyDownstream, Downstream, Use};
use crate::gauge::Reading;
use crate::limiter::Limiter;
use crate::observe::Layout;
use crate::queue::{AnyQueue, Queue};
use crate::request::{ClassId, Knob};
use crate::rng::Stream;
use crate::time::{Nanos, SimTime};
use crate::traffic::AnySource;
use crate::traffic::draws::Draws;

/// One policy under one seed, ready to run.
pub struct Setup {
    /// Names and times.
    pub layout: Layout,
    /// How long after its birth a call's answer still counts, by class.
    pub deadlines: Vec<Option<Nanos>>,
    /// Who calls.
    pub traffics: Vec<Traffic>,
    /// What callers do around a call.
    pub clients: Vec<Client>,
    /// What protects the downstreams; the first is the policy that traffic meets.
    pub gates: Vec<Gate>,
    /// What does the work.
    pub downstreams: Vec<AnyDownstream>,
    /// Changes in the order of time.
    pub changes: Vec<Change>,
}

/// A stream of calls.
pub struct Traffic {
    /// Its name.
    pub name: String,
    /// When its calls come.
    pub source: AnySource,
    /// Where its calls' luck comes from.
    pub dice: Stream,
    /// What is drawn for each call.
    pub draws: Draws,
    /// The class of its calls.
    pub class: ClassId,
    /// Number of its client.
    pub client: usize,
    /// Number of the gate that its calls meet.
    pub gate: usize,
}

/// Stages, a queue and the downstream behind them.
pub struct Gate {
    /// Stages that ask how fast, in order.
    pub limiters: Vec<Box<dyn Limiter>>,
    /// Which of them park what they refuse.
    pub parking: Vec<Parking>,
    /// Stages that ask for room, in order.
    pub admissions: Vec<Box<dyn Admission>>,
    /// Where work waits for room; without one, what has no room is turned away.
    pub queue: Option<AnyQueue>,
    /// Number of the downstream.
    pub downstream: usize,
    /// What the downstream itself refuses when work would start, as a provider does.
    pub quota: Option<Box<dyn Limiter>>,
    /// How the limiters are charged.
    pub take: Take,
    /// What work at the downstream calls when its own time is over, in order.
    pub calls: Vec<Call>,
    /// Whether it gives up its slot while it waits for them.
    pub frees_slot: bool,
}

/// A call that work makes.
#[derive(Clone, Debug)]
pub struct Call {
    /// Number of the gate that is called.
    pub gate: usize,
    /// Number of the client through which it is called.
    pub client: usize,
    /// Number of the edge in the [`Layout`].
    pub edge: u16,
    /// The class of the call; `None` is that of the work.
    pub class: Option<ClassId>,
    /// How often it is made.
    pub times: Dist,
    /// The share of the work that makes it.
    pub share: f64,
    /// Whether all of these calls are made at once.
    pub at_once: bool,
    /// Whether it begins with the one listed before it.
    pub beside: bool,
    /// How much the work wants an answer.
    pub wanted: Wanted,
    /// Only work that so many calls or fewer separate from the traffic makes it: 1 is work for the traffic itself.
    pub max_depth: Option<u16>,
}

/// How much work wants an answer to a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// Without it, it fails.
    #[default]
    Needed,
    /// It waits for it, and goes on without.
    Optional,
    /// It does not wait.
    Background,
}

impl Wanted {
    /// Every way with the name that files give it.
    pub const NAMES: [(&'static str, Wanted); 3] =
        [("needed", Wanted::Needed), ("optional", Wanted::Optional), ("background", Wanted::Background)];
}

/// What a limiter does with what it refuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parking {
    /// Turns it away.
    #[default]
    No,
    /// Lets it wait, first come, first served, all in one line.
    OneLine,
    /// Lets it wait in a line for each key.
    PerKey(crate::request::Key),
}

/// How the limiters of a gate are charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Take {
    /// All are checked, then all are charged.
    #[default]
    AllOrNone,
    /// One after the other; what was charged before a refusal stays charged.
    Sequential,
}

impl Take {
    /// Every way with the name that files give it.
    pub const NAMES: [(&'static str, Take); 2] =
        [("all_or_none", Take::AllOrNone), ("sequential", Take::Sequential)];
}

/// A change of one number at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// When.
    pub at: SimTime,
    /// Of what.
    pub target: Target,
    /// To what.
    pub knob: Knob,
}

/// Part of a simulation that can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Limiter number `stage` of a gate.
    Limiter {
        /// The gate's number.
        gate: usize,
        /// The limiter's number.
        stage: usize,
    },
    /// Admission stage number `stage` of a gate.
    Admission {
        /// The gate's number.
        gate: usize,
        /// The stage's number.
        stage: usize,
    },
    /// The queue of a gate.
    Queue {
        /// The gate's number.
        gate: usize,
    },
    /// A downstream.
    Downstream(usize),
}

/// The smallest limit on work in flight among a gate's stages and its downstream.
pub(super) fn limit(gate: &Gate, downstream: &AnyDownstream) -> Option<u64> {
    let stages = gate.admissions.iter().filter_map(|stage| stage.limit());
    stages.chain(downstream.capacity()).min()
}

/// Reads the gauges of everything; returns how busy the first gate's downstream was.
pub(super) fn read_gauges(
    gates: &mut [LiveGate],
    downstreams: &mut [AnyDownstream],
    now: SimTime,
    visit: &mut dyn FnMut(&str, &'static str, Reading),
) -> Use {
    let mut first = Use::default();
    for (index, live) in gates.iter_mut().enumerate() {
        let (gate, names) = (&mut live.gate, &live.names);
        for (name, limiter) in names.iter().zip(&mut gate.limiters) {
            limiter.gauges(now, &mut |gauge, reading| visit(name, gauge, reading));
        }
        for (name, stage) in names[gate.limiters.len()..].iter().zip(&mut gate.admissions) {
            stage.gauges(now, &mut |gauge, reading| visit(name, gauge, reading));
        }
        if let Some(queue) = &mut gate.queue {
            let name = &names[gate.limiters.len() + gate.admissions.len()];
            queue.gauges(now, &mut |gauge, reading| visit(name, gauge, reading));
        }
        let name = names.last().map_or("", String::as_str);
        if let Some(quota) = &mut gate.quota {
            quota.gauges(now, &mut |gauge, reading| visit(name, gauge, reading));
        }
        let usage =
            downstreams[gate.downstream].gauges(now, &mut |gauge, reading| visit(name, gauge, reading));
        if index == 0 {
            first = usage;
        }
    }
    first
}
