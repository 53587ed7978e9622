//! Events: what changes while a run goes on, and back.
//!
//! At every instant the value in force is that of the latest-started event that has not ended (one without `for` never
//! ends; of two that start together, the later in the file), else the file's own. The events of a file are flattened
//! into the changes that this makes.

use super::client::not_zero;
use super::directory::Directory;
use super::downstream::Downstream;
use super::queue::Queue;
use super::stage::{Stage, StageSpec};
use crate::request::Knob;
use crate::section::{Amount, Limit, Section, Share, quote};
use crate::time::{Nanos, SimTime};
use crate::traffic::profile;
use crate::units::Rate;
use std::collections::{BTreeMap, BTreeSet};

/// A scheduled event, as charts and tables show it.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its name.
    pub name: String,
    /// What is written beside it; its name unless the file says otherwise.
    pub label: String,
    /// When it begins.
    pub at: SimTime,
    /// When it ends; `None` never.
    pub until: Option<SimTime>,
    /// The paths that it sets, with their values as the file writes them.
    pub sets: Vec<(String, String)>,
}

/// A value that changes at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// When.
    pub at: SimTime,
    /// What changes.
    pub target: Target,
    /// What holds from then on.
    pub knob: Knob,
}

/// What an event can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// The rate of the traffic with this number.
    Traffic(usize),
    /// The downstream with this number.
    Downstream(usize),
    /// The stage with this number.
    Stage(usize),
    /// The queue with this number.
    Queue(usize),
}

/// The parts whose values events can change.
pub struct Parts<'d, 'a> {
    /// Traffics by name.
    pub traffics: &'d Directory<'a>,
    /// The file's own rates; `None` for a traffic without one.
    pub rates: &'d [Option<Rate>],
    /// Downstreams by name.
    pub downstream_names: &'d Directory<'a>,
    /// Downstreams.
    pub downstreams: &'d [Downstream],
    /// Limiters and admission by name.
    pub stage_names: &'d Directory<'a>,
    /// Limiters and admission.
    pub stages: &'d [Stage],
    /// Queues by name.
    pub queue_names: &'d Directory<'a>,
    /// Queues.
    pub queues: &'d [Queue],
}

/// A value that an event sets for a while.
struct Setting {
    target: Target,
    key: &'static str,
    from: SimTime,
    until: Option<SimTime>,
    knob: Knob,
}

/// All events of a file, and the changes that they make in the order of time.
pub struct Schedule {
    /// The events, in the order of time.
    pub events: Vec<Event>,
    /// The changes of parts.
    pub changes: Vec<Change>,
    /// The changes of rates, with the number of the traffic; they hold by the same rule.
    pub rates: Vec<(usize, profile::Change)>,
}

impl Schedule {
    /// Reads and finishes every `[[event]]`.
    pub fn read(sections: Vec<Section>, parts: &Parts) -> Schedule {
        let (mut events, mut settings) = (Vec::new(), Vec::new());
        let mut names = BTreeSet::new();
        for section in sections {
            let span = section.span_of("name");
            let log = section.log();
            let event = read_event(section, parts, &mut settings);
            if !event.name.is_empty() && !names.insert(event.name.clone()) {
                let what = format!("there is another event {}", quote(&event.name));
                log.error(span, what, "give each a name of its own");
            }
            events.push(event);
        }
        events.sort_by_key(|event| event.at);
        let rates = settings.iter().filter_map(Setting::of_a_rate).collect();
        settings.retain(|setting| !matches!(setting.target, Target::Traffic(_)));
        let changes = flatten(settings).into_iter().filter_map(|(target, at, key, knob)| {
            let knob = knob.or_else(|| parts.own(target, key))?;
            Some(Change { at, target, knob })
        });
        Schedule { events, changes: changes.collect(), rates }
    }
}

impl Setting {
    /// What it does to the rate of a traffic, if it is one's.
    fn of_a_rate(&self) -> Option<(usize, profile::Change)> {
        let (Target::Traffic(traffic), Knob::Rate(rate)) = (self.target, self.knob) else { return None };
        let (at, rate) = (self.from, Some(rate));
        let change = match self.until {
            Some(until) => profile::Change::Burst { at, length: until.since(at), rate },
            None => profile::Change::Step { at, rate },
        };
        Some((traffic, change))
    }
}

fn read_event(mut s: Section, parts: &Parts, settings: &mut Vec<Setting>) -> Event {
    let name = s.need::<crate::section::Name>("name", "its name").0;
    let at = SimTime(s.need::<Nanos>("at", "when it begins").0);
    let length: Option<Nanos> = s.get("for", "how long it lasts; for good unless said");
    not_zero(&s, "for", length);
    let label = s.get("label", "what charts write beside it; its name unless said").unwrap_or(name.clone());
    let until = length.map(|length| at.saturating_add(length));
    let mut sets = Vec::new();
    if let Some(mut table) =
        s.section("set", "what it changes, as `\"PATH\" = value`; nothing makes a mark on charts")
    {
        for path in table.keys() {
            let Some((target, key, own)) = parts.find(&mut table, &path) else { continue };
            let Some(knob) = read_knob(&mut table, &path, own) else { continue };
            sets.push((path, show(knob)));
            settings.push(Setting { target, key, from: at, until, knob });
        }
        table.finish();
    }
    s.finish();
    Event { name, label, at, until, sets }
}

impl Parts<'_, '_> {
    /// What `path` names, and what holds there when no event does; a path that names nothing is a problem.
    fn find(&self, s: &mut Section, path: &str) -> Option<(Target, &'static str, Knob)> {
        s.skip(path);
        let mut steps = path.splitn(3, '.');
        let group = steps.next().unwrap_or_default();
        let (name, key) = (steps.next().unwrap_or_default(), steps.next().unwrap_or_default());
        let (directory, keys): (&Directory, &[&'static str]) = match group {
            "traffic" => (self.traffics, &["rate"]),
            "downstream" => (self.downstream_names, &Downstream::CHANGEABLE),
            "limiter" | "admission" => (self.stage_names, &StageSpec::CHANGEABLE),
            "queue" => (self.queue_names, &Queue::CHANGEABLE),
            _ => {
                const GROUPS: [&str; 5] = ["traffic", "downstream", "limiter", "admission", "queue"];
                let what = format!("an event can't set {}: it begins with {}", quote(path), quote(group));
                s.log().error(s.key_span(path), what, s.log().suggest(group, GROUPS));
                return None;
            }
        };
        let Some(number) = directory.number(name) else {
            let what = format!("an event can't set {}: there is no {group} {}", quote(path), quote(name));
            s.log().error(s.key_span(path), what, s.log().suggest(name, directory.names()));
            return None;
        };
        let target = match group {
            "traffic" => Target::Traffic(number),
            "downstream" => Target::Downstream(number),
            "queue" => Target::Queue(number),
            _ => Target::Stage(number),
        };
        let has = |key: &&'static str| self.own(target, key).is_some();
        let found = keys.iter().copied().filter(has).find(|known| *known == key);
        let Some(found) = found else {
            let what = format!(
                "an event can't set {}: `{group}.{name}` has no {} to change",
                quote(path),
                quote(key)
            );
            s.log().error(s.key_span(path), what, s.log().suggest(key, keys.iter().copied().filter(has)));
            return None;
        };
        self.own(target, found).map(|own| (target, found, own))
    }

    /// What holds when no event does.
    fn own(&self, target: Target, key: &str) -> Option<Knob> {
        match target {
            Target::Traffic(number) => self.rates[number].map(Knob::Rate),
            Target::Downstream(number) => self.downstreams[number].own(key),
            Target::Stage(number) => self.stages[number].spec.own(key),
            Target::Queue(number) => self.queues[number].own(key),
        }
    }
}

/// Reads a value of the kind that stands there otherwise.
fn read_knob(s: &mut Section, path: &str, own: Knob) -> Option<Knob> {
    const DOC: &str = "the value while the event lasts";
    let knob = match own {
        Knob::Rate(_) => Knob::Rate(s.require(path, DOC)?),
        Knob::Burst(_) => Knob::Burst(s.require::<Amount>(path, DOC)?.0),
        Knob::Limit(_) => Knob::Limit(s.require::<Limit>(path, DOC)?.0),
        Knob::Slowdown(_) => Knob::Slowdown(s.require(path, DOC)?),
        Knob::Concurrency(_) => Knob::Concurrency(s.require::<Limit>(path, DOC)?.0),
        Knob::ErrorRate(_) => Knob::ErrorRate(s.require::<Share>(path, DOC)?.0),
        Knob::Outage(_) => Knob::Outage(s.require(path, DOC)?),
        Knob::MaxLength(_) => Knob::MaxLength(s.require::<Limit>(path, DOC)?.0),
        Knob::MaxWait(_) => Knob::MaxWait(Some(s.require(path, DOC)?)),
    };
    match knob {
        Knob::Slowdown(factor) if !(0.001..=1e6).contains(&factor) => {
            let what = format!("the slowdown {} is {factor}", quote(path));
            s.problem(path, what, "write how many times as long work takes, between 0.001 and 1000000");
        }
        Knob::Burst(0) => {
            s.problem(path, format!("{} is 0: nothing ever passes", quote(path)), "write 1 or more")
        }
        Knob::MaxWait(Some(Nanos::ZERO)) => {
            s.problem(path, format!("{} is 0", quote(path)), "write a length above 0");
        }
        _ => {}
    }
    Some(knob)
}

fn show(knob: Knob) -> String {
    let limit = |limit: Option<u64>| limit.map_or("unlimited".into(), |n| n.to_string());
    match knob {
        Knob::Rate(rate) => rate.to_string(),
        Knob::Burst(burst) => burst.to_string(),
        Knob::Limit(n) | Knob::Concurrency(n) | Knob::MaxLength(n) => limit(n),
        Knob::Slowdown(x) | Knob::ErrorRate(x) => x.to_string(),
        Knob::Outage(flag) => flag.to_string(),
        Knob::MaxWait(wait) => wait.map_or("unlimited".into(), |wait| wait.to_string()),
    }
}

/// The changes that the settings make, in the order of time: target, instant, key, and the value from then on, or
/// `None` where no event holds any more.
fn flatten(settings: Vec<Setting>) -> Vec<(Target, SimTime, &'static str, Option<Knob>)> {
    let mut groups: BTreeMap<(Target, &'static str), Vec<Setting>> = BTreeMap::new();
    for setting in settings {
        groups.entry((setting.target, setting.key)).or_default().push(setting);
    }
    let mut changes = Vec::new();
    for ((target, key), settings) in groups {
        let mut edges: Vec<(SimTime, usize, bool)> = Vec::new();
        for (order, setting) in settings.iter().enumerate() {
            edges.push((setting.from, order, true));
            edges.extend(setting.until.map(|until| (until, order, false)));
        }
        edges.sort_unstable();
        let mut active = BTreeSet::new();
        let mut last = None;
        let mut edges = edges.into_iter().peekable();
        while let Some((at, order, starts)) = edges.next() {
            let place = (settings[order].from, order);
            if starts {
                active.insert(place)
            } else {
                active.remove(&place)
            };
            if edges.peek().is_some_and(|(next, ..)| *next == at) {
                continue;
            }
            let now = active.last().map(|(_, order)| settings[*order].knob);
            if now != last {
                changes.push((target, at, key, now));
                last = now;
            }
        }
    }
    changes.sort_by_key(|(target, at, ..)| (*at, *target));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings of one burst: from, until (0 for never), value. Returns instant and value, 0 for the file's own.
    fn flat(settings: &[(u64, u64, u64)]) -> Vec<(u64, u64)> {
        let setting = |&(from, until, value): &(u64, u64, u64)| Setting {
            target: Target::Stage(0),
            key: "burst",
            from: SimTime(from),
            until: (until > 0).then_some(SimTime(until)),
            knob: Knob::Burst(value),
        };
        let value = |knob| if let Some(Knob::Burst(value)) = knob { value } else { 0 };
        let changes = flatten(settings.iter().map(setting).collect());
        changes.into_iter().map(|(_, at, _, knob)| (at.0, value(knob))).collect()
    }

    #[test]
    fn the_latest_started_event_holds_and_then_the_one_before() {
        assert_eq!(flat(&[(10, 40, 1), (20, 30, 2)]), [(10, 1), (20, 2), (30, 1), (40, 0)]);
        assert_eq!(flat(&[(20, 50, 2), (10, 30, 1)]), [(10, 1), (20, 2), (50, 0)]);
    }

    #[test]
    fn one_without_an_end_holds_until_a_later_one_starts_and_after_it() {
        assert_eq!(flat(&[(10, 0, 1), (20, 30, 2)]), [(10, 1), (20, 2), (30, 1)]);
        assert_eq!(flat(&[(10, 30, 1), (20, 0, 2)]), [(10, 1), (20, 2)]);
    }

    #[test]
    fn of_two_that_start_together_the_later_in_the_file_holds() {
        assert_eq!(flat(&[(10, 20, 1), (10, 30, 2)]), [(10, 2), (30, 0)]);
        assert_eq!(flat(&[(10, 30, 1), (10, 20, 2)]), [(10, 2), (20, 1), (30, 0)]);
    }

    #[test]
    fn events_that_meet_make_one_change_and_the_same_value_none() {
        assert_eq!(flat(&[(10, 20, 1), (20, 30, 2)]), [(10, 1), (20, 2), (30, 0)]);
        assert_eq!(flat(&[(10, 20, 1), (20, 30, 1)]), [(10, 1), (30, 0)]);
    }
}
