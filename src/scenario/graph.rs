//! The call graph: what stands before each downstream, and which others its work calls.

use super::Scenario;
use super::callers::Size;
use super::directory::Directory;
use super::dist;
use super::policy::Policy;
use super::source::Document;
use super::stage::bounds::within;
use crate::engine::Wanted;
use crate::section::{At, Either, Section, Share, quote};
use std::collections::BTreeSet;

/// The names that a downstream refers to.
pub struct Scope<'d, 'a> {
    /// Limiters and admission, in one namespace.
    pub stages: &'d Directory<'a>,
    /// Queues.
    pub queues: &'d Directory<'a>,
    /// Downstreams.
    pub downstreams: &'d Directory<'a>,
    /// Clients.
    pub clients: &'d Directory<'a>,
    /// Classes.
    pub classes: &'d Directory<'a>,
}

/// What stands before a downstream itself, and what its work calls.
#[derive(Clone, Debug, Default)]
pub struct Hop {
    /// Numbers of its stages.
    pub stages: Vec<usize>,
    /// Number of its queue.
    pub queue: Option<usize>,
    /// Number of the client through which it calls others; `None` is the patient one.
    pub client: Option<usize>,
    /// What its work calls, in order.
    pub calls: Vec<Call>,
    /// Whether work gives up its slot while it waits for its calls.
    pub frees_slot: bool,
}

/// A call that the work of a downstream makes.
#[derive(Clone, Debug)]
pub struct Call {
    /// Number of the downstream that is called.
    pub to: usize,
    /// Number of the client; `None` is the downstream's.
    pub client: Option<usize>,
    /// Name of the class; `None` is that of the work.
    pub class: Option<String>,
    /// How often.
    pub times: Size,
    /// The share of the work that makes it.
    pub share: f64,
    /// Whether all are made at once.
    pub at_once: bool,
    /// Whether it begins with the one before.
    pub beside: bool,
    /// How much an answer is wanted.
    pub wanted: Wanted,
    /// Only work with fewer calls between it and the traffic makes it.
    pub max_depth: Option<u16>,
}

impl Hop {
    /// Reads the keys of a downstream that say what it calls and what stands before it.
    pub fn read(s: &mut Section, files: Option<&Document>, scope: &Scope) -> Hop {
        let stages =
            read_stages(s, scope.stages, "limiters and admission of its own, before all that comes to it");
        let queue: Option<At<String>> =
            s.get("queue", "where those wait who find no room, whoever calls; none unless said");
        let client: Option<At<String>> =
            s.get("client", "through which it calls others; it waits for ever unless said");
        let words = [("hold", false), ("release", true)];
        let frees_slot = s.one_of(
            "while_calling",
            &words,
            Some(false),
            "whether work that waits for its calls holds its slot or releases it",
        );
        let doc = "what its work calls, one after the other, when its own time is over";
        let calls: Vec<Call> =
            s.sections("calls", doc).into_iter().filter_map(|s| Call::read(s, files, scope)).collect();
        if calls.first().is_some_and(|call| call.beside) && !s.is_description() {
            let what = format!("the first of `{}` has none to stand beside", s.path_of("calls"));
            s.problem("calls", what, "take `beside` out of it");
        }
        for (key, given) in [("while_calling", s.has("while_calling")), ("client", client.is_some())] {
            if given && calls.is_empty() && !s.is_description() {
                let what = format!("`{}` changes nothing: it calls nobody", s.path_of(key));
                s.warning(key, what, "take it out, or add `calls = [{ to = \"…\" }]`");
            }
        }
        Hop {
            stages,
            queue: queue.and_then(|queue| scope.queues.find(&queue)),
            client: client.and_then(|client| scope.clients.find(&client)),
            calls,
            frees_slot,
        }
    }
}

impl Call {
    fn read(mut s: Section, files: Option<&Document>, scope: &Scope) -> Option<Call> {
        let to: Option<At<String>> = s.require("to", "the downstream that is called");
        let client: Option<At<String>> = s.get("client", "through which; the downstream's unless said");
        let class: Option<At<String>> = s.get("class", "class of the call; that of the work unless said");
        let times = match s.either::<u32>("times", "how often: a number or a distribution; once unless said")
        {
            None => Size::Fixed(1),
            Some(Either::Value(count)) => Size::Fixed(within(&mut s, "times", count, 1, MOST_TIMES)),
            Some(Either::Table(mut table)) => {
                let dist = dist::read::<dist::TokenCount>(&mut table, files);
                table.finish();
                Size::Drawn(dist)
            }
        };
        let Share(share) = s.get_or("share", Share(1.0), "the share of the work that makes it");
        let at_once = s.get_or("at_once", false, "whether all are made at once, or one after the other");
        let beside = s.get_or("beside", false, "whether it begins together with the call listed before it");
        let wanted = s.one_of(
            "answer",
            &Wanted::NAMES,
            Some(Wanted::Needed),
            "whether work fails without it, goes on without it, or doesn't wait for it",
        );
        let max_depth: Option<u32> =
            s.get("max_depth", "only work with fewer calls between it and the traffic makes it");
        if let Some(most) = max_depth {
            within(&mut s, "max_depth", most, 1, DEEPEST.into());
        }
        s.finish();
        Some(Call {
            to: scope.downstreams.find(&to?)?,
            client: client.and_then(|client| scope.clients.find(&client)),
            class: class.filter(|class| scope.classes.find(class).is_some()).map(|class| class.value),
            times,
            share,
            at_once,
            beside,
            wanted,
            max_depth: max_depth.map(|most| most.min(DEEPEST.into()) as u16),
        })
    }

    fn mean(&self) -> f64 {
        self.share
            * match &self.times {
                Size::Fixed(count) => f64::from(*count),
                Size::Drawn(dist) => dist.mean(),
            }
    }
}

/// The most times that work makes a call of one sort.
const MOST_TIMES: u32 = 10_000;
/// The most calls between work and the traffic.
const DEEPEST: u16 = 64;
/// The most calls that one call of a traffic may be expected to make, all together and without retries.
const MOST_CALLS: f64 = 1e6;

/// Reads a list of stages, each once.
pub(super) fn read_stages(s: &mut Section, stages: &Directory, doc: &'static str) -> Vec<usize> {
    let names: Vec<At<String>> = s.get_or("stages", Vec::new(), doc);
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for stage in names {
        match stages.find(&stage) {
            Some(number) if seen.insert(number) => found.push(number),
            Some(_) => {
                let what = format!("`{}` has {} twice", s.path_of("stages"), quote(&stage.value));
                s.log().error(stage.span, what, "take one out: a stage is asked once");
            }
            None => {}
        }
    }
    found
}

/// A downstream with what stands before it under a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// Number of the downstream.
    pub downstream: usize,
    /// Numbers of the stages before it, in order.
    pub stages: Vec<usize>,
    /// Number of the queue.
    pub queue: Option<usize>,
    /// Number of the client through which it calls others.
    pub client: Option<usize>,
}

/// The policy's downstream with what the policy puts before it, then all that are called, each once.
pub fn posts(scenario: &Scenario, policy: &Policy) -> Vec<Post> {
    let mut posts: Vec<Post> = Vec::new();
    let mut waiting = std::collections::VecDeque::from([policy.downstream]);
    while let Some(number) = waiting.pop_front() {
        let Some(downstream) = scenario.downstreams.get(number) else { continue };
        if posts.iter().any(|post| post.downstream == number) {
            continue;
        }
        let hop = &downstream.hop;
        let inner = policy.inner.iter().find(|inner| inner.downstream == number);
        let mut stages = inner.and_then(|inner| inner.stages.clone()).unwrap_or_else(|| hop.stages.clone());
        let mut queue = inner.and_then(|inner| inner.queue).or(hop.queue);
        if posts.is_empty() {
            let own = std::mem::replace(&mut stages, policy.stages.clone());
            stages.extend(own.into_iter().filter(|stage| !policy.stages.contains(stage)));
            queue = policy.queue.or(queue);
        }
        let client = inner.and_then(|inner| inner.client).or(hop.client);
        posts.push(Post { downstream: number, stages, queue, client });
        waiting.extend(hop.calls.iter().map(|call| call.to));
    }
    posts
}

/// What is wrong with the graph as a whole: where it stands, what, and the remedy.
pub(super) fn faults(scenario: &Scenario) -> Vec<(usize, String, String)> {
    let mut faults = Vec::new();
    for number in 0..scenario.downstreams.len() {
        let name = &scenario.downstreams[number].name;
        if let Some(path) = cycle(scenario, number) {
            let names: Vec<&str> = path.iter().map(|n| scenario.downstreams[*n].name.as_str()).collect();
            let what = format!("`{}` calls itself without an end: {}", name, names.join(" → "));
            faults.push((number, what, "add `max_depth` to one of these calls, or take it out".into()));
        }
    }
    if !faults.is_empty() {
        return faults;
    }
    for number in 0..scenario.downstreams.len() {
        let mut memo = vec![None; scenario.downstreams.len() * (DEEPEST as usize + 1)];
        let name = &scenario.downstreams[number].name;
        match expected(scenario, number, 0, &mut memo) {
            Some(calls) if calls <= MOST_CALLS => {}
            Some(_) => {
                let what = format!("one call of `{name}` makes more than {MOST_CALLS} calls in all");
                faults.push((number, what, "lower `times`, or set a smaller `max_depth`".into()));
            }
            None => {
                let what =
                    format!("calls of `{name}` go on to more than {DEEPEST} others, one inside the other");
                faults.push((number, what, "make the chain shorter".into()));
            }
        }
    }
    faults
}

/// A way from a downstream back to itself over calls of unlimited depth.
fn cycle(scenario: &Scenario, from: usize) -> Option<Vec<usize>> {
    let mut seen = vec![false; scenario.downstreams.len()];
    let mut paths = vec![vec![from]];
    while let Some(path) = paths.pop() {
        let last = *path.last()?;
        for call in scenario.downstreams[last].hop.calls.iter().filter(|call| call.max_depth.is_none()) {
            let longer = [&path[..], &[call.to]].concat();
            if call.to == from {
                return Some(longer);
            }
            if !std::mem::replace(&mut seen[call.to], true) {
                paths.push(longer);
            }
        }
    }
    None
}

/// How many calls work at a downstream makes in all, so deep; `None` if they go too deep.
fn expected(scenario: &Scenario, number: usize, depth: u16, memo: &mut [Option<f64>]) -> Option<f64> {
    let calls = &scenario.downstreams[number].hop.calls;
    let made = |call: &&Call| call.max_depth.is_none_or(|most| depth < most);
    if depth == DEEPEST {
        return if calls.iter().any(|call| made(&call)) { None } else { Some(0.0) };
    }
    let place = number * (DEEPEST as usize + 1) + depth as usize;
    if let Some(known) = memo[place] {
        return Some(known);
    }
    let mut sum = 0.0;
    for call in calls.iter().filter(made) {
        sum += call.mean() * (1.0 + expected(scenario, call.to, depth + 1, memo)?);
    }
    memo[place] = Some(sum);
    Some(sum)
}
