//! What only the whole scenario shows: costs no limit passes, numbers too large together, listings that mislead.

mod costs;

use super::directory::Directory;
use super::queue::Queue;
use super::stage::{Override, Stage, StageSpec};
use super::traffic::{Arrivals, Traffic};
use super::{Scenario, graph, policy::Policy};
use crate::engine::Take;
use crate::request::Key;
use crate::section::{At, Log, Section, quote};
use crate::time::{Nanos, SimTime};

/// Where the parts of the scenario stand.
pub struct Places<'d, 'a> {
    /// Where problems go.
    pub log: &'a Log<'a>,
    /// Limiters and admission.
    pub stages: &'d Directory<'a>,
    /// Downstreams.
    pub downstreams: &'d Directory<'a>,
    /// Policies.
    pub policies: &'d Directory<'a>,
    /// Traffics.
    pub traffics: &'d Directory<'a>,
    /// The whole file.
    pub root: &'d Section<'a>,
    /// Whether the duration could be read.
    pub time_is_known: bool,
}

/// The most rows of a timeline per policy and class.
pub const MOST_INTERVALS: u64 = 10_000_000;
/// The most features: their numbers have 16 bits.
const MOST_FEATURES: usize = 65_535;
/// The most classes in a call graph: each has two numbers of 16 bits.
const MOST_CLASSES: usize = 32_000;
/// The most changes of a traffic's rate.
const MOST_CHANGES: usize = 10_000;
/// The most calls that a traffic may be expected to make.
const MOST_CALLS: f64 = 1e12;

/// Reports what is wrong with the scenario as a whole.
pub fn check(scenario: &Scenario, places: &Places) {
    if places.time_is_known {
        check_sizes(scenario, places);
    }
    if MOST_FEATURES < scenario.features.len() {
        places.root.problem(
            "",
            format!("there are more than {MOST_FEATURES} features"),
            "merge some of them",
        );
    }
    costs::check(scenario, places);
    for (number, policy) in scenario.policies.iter().enumerate() {
        for post in graph::posts(scenario, policy) {
            check_order(scenario, (policy, &post.stages), number, places);
            check_take(scenario, (policy, &post.stages), number, places);
        }
    }
    for (number, what, remedy) in graph::faults(scenario) {
        places.log.error(places.downstreams.span(number), what, remedy);
    }
    let calls = scenario.downstreams.iter().any(|downstream| !downstream.hop.calls.is_empty());
    if calls && MOST_CLASSES < scenario.classes.len() {
        let what =
            format!("there are more than {MOST_CLASSES} classes, and downstreams that call each other");
        places.root.problem("class", what, "merge some of them");
    }
    check_names(scenario, places);
    scenario.queues.iter().for_each(|queue| check_weights(scenario, queue, places));
}

/// Classes that limits exempt, and keys that have numbers of their own.
fn check_names(scenario: &Scenario, places: &Places) {
    // A trace may bring names of its own.
    let all_known = !scenario.traffics.iter().any(|traffic| matches!(traffic.arrivals, Arrivals::Trace(_)));
    for (number, stage) in scenario.stages.iter().enumerate() {
        check_classes(scenario, stage, places);
        let StageSpec::Limiter(limit) = &stage.spec else { continue };
        let known = |key: Key, name: &str| match key {
            Key::Class => scenario.class(name).is_some(),
            Key::Tenant => scenario.tenants.number(name).is_some(),
            Key::Feature => scenario.features.number(name).is_some(),
            Key::User => scenario.users.number(name).is_some(),
        };
        let keys = limit.options.key;
        let is_nobody = |over: &&Override| {
            let mut named = keys.iter().flat_map(|keys| keys.iter()).zip(&over.names);
            !named.all(|(key, name)| known(key, name))
        };
        for over in limit.overrides.iter().filter(|over| all_known && is_nobody(over)) {
            let what = format!(
                "`{}` has numbers for {}, and nobody is called so",
                stage.name,
                quote(&over.names.join("/"))
            );
            places.log.warning(places.stages.span(number), what, "take them out, or mend the name");
        }
    }
}

/// The classes that a stage's table names.
fn check_classes(scenario: &Scenario, stage: &Stage, places: &Places) {
    let named: Vec<&At<String>> = match &stage.spec {
        StageSpec::Limiter(limit) => limit.exempt.iter().collect(),
        StageSpec::Admission(room) => room.named().collect(),
    };
    for class in named.into_iter().filter(|class| scenario.class(&class.value).is_none()) {
        let what = format!("`{}` names {}, which is no class", stage.name, quote(&class.value));
        let classes = scenario.classes.iter().map(|class| class.name.as_str());
        places.log.error(class.span.clone(), what, places.log.suggest(&class.value, classes));
    }
}

/// Weights of names that nobody has. Those of classes are looked up where they are read; traces may bring any.
fn check_weights(scenario: &Scenario, queue: &Queue, places: &Places) {
    let Some(shares) = queue.order.shares() else { return };
    let population = match shares.key {
        Key::Class => return,
        Key::Tenant => &scenario.tenants,
        Key::User => &scenario.users,
        Key::Feature => &scenario.features,
    };
    let recorded = |traffic: &Traffic| matches!(traffic.arrivals, Arrivals::Trace(_));
    if scenario.traffics.iter().any(recorded) {
        return;
    }
    for (name, _) in shares.listed().iter().filter(|(name, _)| population.number(&name.value).is_none()) {
        let what =
            format!("`queue.{}` gives a weight to {}, whom no call is of", queue.name, quote(&name.value));
        places.log.warning(name.span.clone(), what, "take it out, or name it in a traffic");
    }
}

fn check_sizes(scenario: &Scenario, places: &Places) {
    let Scenario { duration, interval, .. } = scenario;
    if interval.0 > 0 && MOST_INTERVALS < duration.0 / interval.0 {
        let what = format!("`interval` cuts the run into more than {MOST_INTERVALS} rows");
        let least = Nanos(duration.0.div_ceil(MOST_INTERVALS));
        places.root.problem("interval", what, format!("write an interval of {least} or more"));
    }
    if interval.0 > 0 && MOST_INTERVALS < scenario.drain_bound().0 / interval.0 {
        let what = format!("`drain` may last more than {MOST_INTERVALS} rows");
        places.root.problem("drain", what, "shorten it, or lengthen `interval`");
    }
    for (number, traffic) in scenario.traffics.iter().enumerate() {
        let span = places.traffics.span(number);
        let name = &traffic.name;
        match &traffic.arrivals {
            Arrivals::Rate(profile) => {
                let cycles = profile.on_off.map_or(0, |cycle| duration.0 / (cycle.on + cycle.off).0.max(1));
                if MOST_CHANGES < profile.changes.len() {
                    let what = format!("the rate of `traffic.{name}` changes more than {MOST_CHANGES} times");
                    places.log.error(span, what, "put what was recorded into a trace");
                } else if MOST_INTERVALS < cycles {
                    let what = format!("`traffic.{name}` goes on and off more than {MOST_INTERVALS} times");
                    places.log.error(span, what, "lengthen `on_off` or shorten the duration");
                } else if MOST_CALLS < profile.build().expected_calls(SimTime(duration.0)) {
                    let what = format!("`traffic.{name}` would make more than {MOST_CALLS} calls");
                    places.log.error(span, what, "lower its highest rate or shorten the duration");
                }
            }
            Arrivals::Calls(calls) => {
                if calls.last().is_some_and(|call| duration.0 <= call.at.0) {
                    let what =
                        format!("`traffic.{name}` has calls after the end at {duration}, which never come");
                    places.log.warning(span, what, "take them out, or lengthen `duration`");
                }
            }
            Arrivals::Trace(_) => {}
        }
    }
    for event in scenario.events.iter().filter(|event| duration.0 <= event.at.0) {
        let what = format!("the event `{}` begins when no more calls arrive", event.name);
        places.root.warning("event", what, "move it, or lengthen `duration`");
    }
}

/// Limiters that are charged one by one would be charged again at every look at what waits before them.
fn check_take(scenario: &Scenario, (policy, stages): (&Policy, &[usize]), number: usize, places: &Places) {
    let waits = |stage: &&usize| scenario.stages[**stage].spec.waits();
    if let Some(stage) = stages.iter().find(waits)
        && policy.take == Take::Sequential
    {
        let (policy, limiter) = (&policy.name, &scenario.stages[*stage].name);
        let what = format!("`policy.{policy}` takes one by one, but calls wait before `{limiter}`");
        let remedy = "take out `wait` there, or write `take = \"all_or_none\"`";
        places.log.error(places.policies.span(number), what, remedy);
    }
}

/// Limiters are asked before admission, wherever they are listed.
fn check_order(scenario: &Scenario, (policy, stages): (&Policy, &[usize]), number: usize, places: &Places) {
    let asks_for_room = |stage: &usize| scenario.stages[*stage].spec.is_admission();
    let first = stages.iter().position(asks_for_room).unwrap_or(stages.len());
    if let Some(late) = stages[first..].iter().find(|stage| !asks_for_room(stage)) {
        let (limiter, room) = (&scenario.stages[*late].name, &scenario.stages[stages[first]].name);
        let what = format!(
            "`policy.{}` lists `{limiter}` after `{room}`, but limiters are asked first",
            policy.name
        );
        places.log.warning(places.policies.span(number), what, format!("list `{limiter}` before `{room}`"));
    }
}
