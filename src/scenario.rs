//! Scenario files: from text to a checked description of what to simulate.
//!
//! [`source`] turns a file into a tree with places, each part of the description reads its own table, and a last look is at what only the whole can show. Everything that is wrong is reported at once. What comes out is plain data:
//! parts refer to each other by number, and nothing in it can fail later but a trace.

pub mod build;
pub mod callers;
mod check;
pub mod client;
mod directory;
pub mod dist;
pub mod downstream;
pub mod event;
pub mod graph;
pub mod policy;
pub mod queue;
pub mod rate;
pub mod source;
pub mod stage;
pub mod trace;
pub mod traffic;
mod width;

use crate::problem::{Problem, Problems};
use crate::section::{self, Log, Node, Param, Section, Value, one_fault};
use crate::time::Nanos;
use callers::{Population, Who};
use directory::Directory;
use event::{Change, Event, Parts, Schedule};
use queue::Queue;
use source::Document;
use traffic::{Arrivals, DEFAULT_CLASS, Traffic};

/// A checked scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name, which its results carry.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// How long calls arrive.
    pub duration: Nanos,
    /// Length of a row of the timeline.
    pub interval: Nanos,
    /// How long at the start results are kept apart.
    pub warmup: Nanos,
    /// The longest that live work may go on after the last call; `None` is ten times the duration.
    pub drain: Option<Nanos>,
    /// The seed of all chance.
    pub seed: u64,
    /// Classes, sorted by name; `default` is among them if a traffic has it.
    pub classes: Vec<Class>,
    /// All tenants.
    pub tenants: Population,
    /// All users.
    pub users: Population,
    /// All features.
    pub features: Population,
    /// Traffics, sorted by name.
    pub traffics: Vec<Traffic>,
    /// Clients, sorted by name.
    pub clients: Vec<client::Client>,
    /// Downstreams, sorted by name.
    pub downstreams: Vec<downstream::Downstream>,
    /// Limiters, then admission, each sorted by name.
    pub stages: Vec<stage::Stage>,
    /// Queues, sorted by name.
    pub queues: Vec<Queue>,
    /// Policies, in the order of the file.
    pub policies: Vec<policy::Policy>,
    /// Events, in the order of time.
    pub events: Vec<Event>,
    /// What they change, in the order of time. Rates of traffics are in the traffics.
    pub changes: Vec<Change>,
}

/// A class of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// The larger, the more important.
    pub priority: i32,
    /// Its part where classes share.
    pub weight: u32,
    /// How long after a call's birth an answer is still of use; `None` is for ever.
    pub deadline: Option<Nanos>,
}

/// The longest that calls may arrive: ten years. Ten times as much and more stays representable.
const LONGEST: Nanos = Nanos(3_650 * 86_400_000_000_000);

/// The most policies of a file.
const MOST_POLICIES: usize = 1_000;

impl Scenario {
    /// Reads a document; returns the scenario and warnings, or everything that is wrong.
    pub fn read(document: &Document) -> Result<(Scenario, Vec<Problem>), Problems> {
        let log = document.log();
        let mut root = Section::root(document.root(), &log);
        let scenario = read(&mut root, Some(document));
        root.finish();
        let any_error = log.any_error();
        let problems = log.into_problems();
        if any_error { Err(Problems(problems)) } else { Ok((scenario, problems)) }
    }

    /// Every key of a scenario file but those that depend on the kind of a stage, in the order of reading.
    pub fn describe() -> Vec<Param> {
        section::describe(|s| read(s, None))
    }

    /// The longest that live work may go on after the last call.
    pub fn drain_bound(&self) -> Nanos {
        let usual =
            Nanos(self.duration.0 * 10).min(Nanos(self.interval.0.saturating_mul(check::MOST_INTERVALS)));
        self.drain.unwrap_or(usual)
    }

    /// The number of the class called `name`.
    pub fn class(&self, name: &str) -> Option<usize> {
        self.classes.iter().position(|class| class.name == name)
    }
}

/// A seed: below 2^53, so that every reader of CSV files and JSON keeps it whole.
struct Seed(u64);

impl Value for Seed {
    const SHAPE: &'static str = "a whole number from 0 to 9007199254740991";
    fn read(node: &Node) -> Result<Seed, Vec<section::Fault>> {
        match node.content {
            section::Content::Integer(n) if (0..1 << 53).contains(&n) => Ok(Seed(n as u64)),
            _ => Err(one_fault(node, format!("{} is no seed", node.found()))),
        }
    }
    fn dummy() -> Seed {
        Seed(1)
    }
    fn show(&self) -> String {
        self.0.to_string()
    }
}

fn read<'a>(s: &mut Section<'a>, files: Option<&Document>) -> Scenario {
    read_version(s);
    let name = s.get_or("name", section::Name("scenario".into()), "name that its results carry").0;
    let description = s.get_or("description", String::new(), "what it is about");
    let time = read_time(s);
    let seed = s.get_or("seed", Seed(1), "seed of all chance").0;

    let log = s.log();
    let classes = s.named("class", "classes of calls");
    let class_names = Directory::new("class", log, &classes);
    let queues = s.named("queue", "where work waits for room");
    let queue_names = Directory::new("queue", log, &queues);
    let queues: Vec<_> = queues.into_iter().map(|(name, s)| Queue::read(name, s, &class_names)).collect();
    let clients = s.named("client", "what callers do around each call");
    let client_names = Directory::new("client", log, &clients);
    let clients = clients.into_iter().map(|(name, s)| client::Client::read(name, s)).collect();
    let downstreams = s.named("downstream", "what does the work");
    let downstream_names = Directory::new("downstream", log, &downstreams);
    let (stage_names, stages) = read_stages(s, log);
    let scope = graph::Scope {
        stages: &stage_names,
        queues: &queue_names,
        downstreams: &downstream_names,
        clients: &client_names,
        classes: &class_names,
    };
    let read_downstream = |(name, s)| downstream::Downstream::read(name, s, files, &scope);
    let downstreams: Vec<_> = downstreams.into_iter().map(read_downstream).collect();
    let by_priority = queues.iter().any(Queue::looks_at_priority)
        || downstreams.iter().any(|downstream| downstream.preempts)
        || stages.iter().any(|stage| stage.spec.looks_at_priority());
    let by_weight = queues.iter().any(Queue::looks_at_weight);
    let mut classes: Vec<Class> =
        classes.into_iter().map(|(name, s)| Class::read(name, s, by_priority, by_weight)).collect();

    let traffics = s.named("traffic", "who calls, and when");
    let traffic_names = Directory::new("traffic", log, &traffics);
    let mut traffics: Vec<Traffic> = traffics
        .into_iter()
        .map(|(name, s)| Traffic::read(name, s, files, &class_names, &client_names))
        .collect();
    if traffics.is_empty() {
        s.problem("traffic", "the scenario has no traffic", "add `[traffic.NAME]` with `rate = \"40/s\"`");
    }
    let usual: Vec<Option<usize>> = traffics.iter().map(|traffic| traffic.client).collect();

    let scope = policy::Scope {
        stages: &stage_names,
        queues: &queue_names,
        downstreams: &downstream_names,
        traffics: &traffic_names,
        clients: &client_names,
        usual: &usual,
    };
    let mut policies = s.named("policy", "protections to compare");
    policies.sort_by_key(|(_, s)| s.span().start);
    if MOST_POLICIES < policies.len() {
        let what = format!("there are {} policies", policies.len());
        s.problem("policy", what, format!("compare {MOST_POLICIES} at most"));
        policies.truncate(MOST_POLICIES);
    }
    if policies.is_empty() {
        s.problem("policy", "the scenario has no policy", "add `[policy.NAME]` with `downstream = \"…\"`");
    }
    let policy_names = Directory::new("policy", log, &policies);
    let policies: Vec<policy::Policy> =
        policies.into_iter().map(|(name, s)| policy::Policy::read(name, s, &scope)).collect();

    let rates: Vec<_> = traffics.iter().map(|traffic| traffic.own_rate()).collect();
    let parts = Parts {
        traffics: &traffic_names,
        rates: &rates,
        downstream_names: &downstream_names,
        downstreams: &downstreams,
        stage_names: &stage_names,
        stages: &stages,
        queue_names: &queue_names,
        queues: &queues,
    };
    let schedule = Schedule::read(s.sections("event", "what changes while the run goes on"), &parts);
    for (traffic, change) in schedule.rates {
        if let Arrivals::Rate(profile) = &mut traffics[traffic].arrivals {
            profile.changes.push(change);
        }
    }
    if traffics.iter().any(|traffic| traffic.class == DEFAULT_CLASS)
        && class_names.number(DEFAULT_CLASS).is_none()
    {
        classes.push(Class { name: DEFAULT_CLASS.into(), priority: 0, weight: 1, deadline: None });
        classes.sort_by(|a, b| a.name.cmp(&b.name));
    }

    let scenario = Scenario {
        name,
        description,
        duration: time.duration.unwrap_or(Nanos::SECOND),
        interval: time.interval,
        warmup: time.warmup,
        drain: time.drain,
        seed,
        classes,
        tenants: population('t', &traffics, |t| &t.tenant, |call| &call.tenant),
        users: population('u', &traffics, |t| &t.user, |call| &call.user),
        features: features(&traffics),
        traffics,
        clients,
        downstreams,
        stages,
        queues,
        policies,
        events: schedule.events,
        changes: schedule.changes,
    };
    let places = check::Places {
        log,
        stages: &stage_names,
        downstreams: &downstream_names,
        policies: &policy_names,
        traffics: &traffic_names,
        root: s,
        time_is_known: time.duration.is_some(),
    };
    check::check(&scenario, &places);
    for (names, by) in [
        (&class_names, "traffic"),
        (&client_names, "traffic, policy or downstream"),
        (&downstream_names, "policy or downstream"),
        (&stage_names, "policy or downstream"),
        (&queue_names, "policy or downstream"),
    ] {
        names.warn_of_unused(by);
    }
    scenario
}

fn read_version(s: &mut Section) {
    const REMEDY: &str = "write `version = 1`";
    let version: Option<u64> = s.require("version", "version of this format: 1");
    if let Some(version) = version.filter(|version| *version != 1) {
        s.problem("version", format!("this tidegate does not know version {version} of scenarios"), REMEDY);
    }
}

struct Time {
    duration: Option<Nanos>,
    interval: Nanos,
    warmup: Nanos,
    drain: Option<Nanos>,
}

fn read_time(s: &mut Section) -> Time {
    let duration: Option<Nanos> = s.require("duration", "how long calls arrive");
    client::not_zero(s, "duration", duration);
    let mut duration = duration.filter(|duration| *duration != Nanos::ZERO);
    if duration.is_some_and(|duration| LONGEST < duration) {
        s.problem("duration", "`duration` is more than 3650 days", "write a shorter one");
        duration = None;
    }
    let interval = s.get_or("interval", Nanos::SECOND, "length of a row of the timeline");
    client::not_zero(s, "interval", Some(interval));
    let warmup = s.get_or("warmup", Nanos::ZERO, "how long at the start results are kept apart");
    if let Some(duration) = duration.filter(|duration| *duration <= warmup) {
        let what = format!("`warmup` of {warmup} leaves nothing of a `duration` of {duration}");
        s.problem("warmup", what, "write a shorter warmup or a longer duration");
    }
    let drain = s.get(
        "drain",
        "longest that live work goes on after the last call; ten times the duration unless said",
    );
    Time { duration, interval, warmup, drain }
}

impl Class {
    fn read(name: String, mut s: Section, by_priority: bool, by_weight: bool) -> Class {
        let class = Class {
            name,
            priority: s.get_or("priority", 0, "the larger, the more important"),
            weight: s.get_or("weight", 1, "its part where classes share"),
            deadline: s
                .get("deadline", "how long after its birth a call's answer is of use; for ever unless said"),
        };
        client::not_zero(&s, "deadline", class.deadline);
        for (key, matters, kind) in [
            ("priority", by_priority, "queue of `kind = \"priority\"`, or a stage that looks at it"),
            ("weight", by_weight, "queue of `kind = \"sfq\"` and `key = \"class\"`"),
        ] {
            if s.has(key) && !matters {
                let what = format!("`{}` changes nothing: nothing looks at it", s.path_of(key));
                s.warning(key, what, format!("take it out, or define a {kind}"));
            }
        }
        if class.weight == 0 {
            s.problem("weight", format!("`{}` is 0", s.path_of("weight")), "write 1 or more");
        }
        s.finish();
        class
    }
}

/// Limiters and admission have one namespace, so that policies can list them by name alone.
fn read_stages<'a>(s: &mut Section<'a>, log: &'a Log<'a>) -> (Directory<'a>, Vec<stage::Stage>) {
    let mut sections = s.named("limiter", "stages that ask how fast work arrives");
    let limiters = sections.len();
    sections.extend(s.named("admission", "stages that ask whether there is room"));
    let (limiters, admission) = sections.split_at(limiters);
    for (name, section) in admission {
        // Both are sorted by name.
        if !s.is_description() && limiters.binary_search_by(|(limiter, _)| limiter.cmp(name)).is_ok() {
            let what = format!("`{name}` is a limiter and an admission stage");
            log.error(section.span(), what, "rename one: a policy lists both by name alone");
        }
    }
    let names = Directory::new("limiter or admission stage", log, &sections);
    (names, sections.into_iter().map(|(name, s)| stage::Stage::read(name, s)).collect())
}

fn population(
    letter: char,
    traffics: &[Traffic],
    who: fn(&Traffic) -> &Option<Who>,
    caller: fn(&trace::Call) -> &Option<String>,
) -> Population {
    let whos = traffics.iter().filter_map(|traffic| who(traffic).as_ref());
    Population::new(letter, whos, listed_calls(traffics).filter_map(|call| caller(call).as_deref()))
}

fn features(traffics: &[Traffic]) -> Population {
    let shares = traffics.iter().flat_map(|traffic| traffic.features.iter().map(|(name, _)| name.as_str()));
    let calls = listed_calls(traffics).filter_map(|call| call.feature.as_deref());
    Population::new('f', std::iter::empty(), shares.chain(calls))
}

fn listed_calls(traffics: &[Traffic]) -> impl Iterator<Item = &trace::Call> {
    traffics.iter().flat_map(|traffic| match &traffic.arrivals {
        Arrivals::Calls(calls) => &calls[..],
        _ => &[],
    })
}

#[cfg(test)]
mod tests;
