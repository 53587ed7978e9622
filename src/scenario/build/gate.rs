//! A policy's gate: its stages, its queue and its downstream as the engine takes them.

use super::{Prepared, queue};
use crate::admission::{Admission, Cast};
use crate::downstream::AnyDownstream;
use crate::downstream::preemptive::Preemptive;
use crate::downstream::slots::Slots;
use crate::engine::{Call, Change, Gate, Parking, Target};
use crate::limiter::{Limiter, Options};
use crate::request::Key;
use crate::rng::{Dice, Stream};
use crate::scenario::graph::Post;
use crate::scenario::stage::{Stage, StageSpec};
use crate::scenario::{self, Scenario, event, policy};

/// The gate at a post of the policy, and the names of what can turn work away in it. `calls` are what its work calls.
pub(super) fn build(
    prepared: &Prepared,
    policy: &policy::Policy,
    (posts, number): (&[Post], usize),
    calls: Vec<Call>,
    seed: u64,
) -> (Gate, Vec<String>) {
    let scenario = &prepared.scenario;
    let post = &posts[number];
    let downstream = &scenario.downstreams[post.downstream];
    // A stage that stands before two downstreams has a name for each.
    let named =
        |name: &String| if number == 0 { name.clone() } else { format!("{}.{name}", downstream.name) };
    let post_number = number;
    let number = &|key, name: &str| prepared.number(key, name);
    let classes: Vec<String> = scenario.classes.iter().map(|class| class.name.clone()).collect();
    let priorities = &queue::priorities(prepared);
    let cast = Cast { classes: &classes, priorities, luck: Dice::default(), number };
    let (mut limiters, mut parking) = (Vec::new(), Vec::new());
    let mut admissions = Vec::new();
    let (mut limiter_names, mut admission_names) = (Vec::new(), Vec::new());
    for stage in post.stages.iter().map(|number| &scenario.stages[*number]) {
        match part(stage, &named(&stage.name), number, &cast, seed) {
            Part::Limiter(limiter, parks) => {
                limiters.push(limiter);
                parking.push(parks);
                limiter_names.push(named(&stage.name));
            }
            Part::Admission(admission) => {
                admissions.push(admission);
                admission_names.push(named(&stage.name));
            }
        }
    }
    let queue = post.queue.map(|number| &scenario.queues[number]);
    let names = [limiter_names, admission_names]
        .concat()
        .into_iter()
        .chain(queue.map(|queue| named(&queue.name)))
        .chain([downstream.name.clone()]);
    let queue = queue.map(|queue| queue::build(prepared, queue));
    let quota = downstream.quota.as_ref().map(|quota| {
        let luck = Stream::new(seed, &format!("downstream/{}/quota", downstream.name)).dice();
        quota.build_among(number, luck)
    });
    let gate = Gate {
        limiters,
        parking,
        admissions,
        queue,
        downstream: post_number,
        quota,
        take: policy.take,
        calls,
        frees_slot: downstream.hop.frees_slot,
    };
    (gate, names.collect())
}

/// A stage as the engine takes it.
enum Part {
    Limiter(Box<dyn Limiter>, Parking),
    Admission(Box<dyn Admission>),
}

fn part(
    stage: &Stage,
    name: &str,
    number: &dyn Fn(Key, &str) -> Option<u32>,
    cast: &Cast<'_>,
    seed: u64,
) -> Part {
    match &stage.spec {
        StageSpec::Limiter(limit) => {
            let luck = Stream::new(seed, &format!("limiter/{name}")).dice();
            Part::Limiter(limit.build_among(number, luck), parking(&limit.options))
        }
        StageSpec::Admission(room) => {
            let luck = Stream::new(seed, &format!("admission/{name}")).dice();
            Part::Admission(room.build(&Cast { luck, ..*cast }))
        }
    }
}

fn parking(options: &Options) -> Parking {
    // The reader lets nothing wait for several keys together.
    match (options.wait, options.key.map(|keys| keys.alone())) {
        (false, _) | (true, Some(None)) => Parking::No,
        (true, None) => Parking::OneLine,
        (true, Some(Some(key))) => Parking::PerKey(key),
    }
}

pub(super) fn downstream(prepared: &Prepared, spec: &scenario::downstream::Downstream) -> AnyDownstream {
    let slots = Slots::new(spec.concurrency, spec.service_time.clone())
        .load_factor(spec.load_factor)
        .error_rate(spec.error_rate)
        .stretch_running(spec.stretch_running);
    if spec.preempts {
        let preemptive = Preemptive::new(slots, spec.backlog, queue::priorities(prepared));
        return AnyDownstream::Other(Box::new(preemptive));
    }
    slots.backlog(spec.backlog).into()
}

/// The change as it meets the posts of a policy: nothing if it changes something that none of them has.
pub(super) fn changes(scenario: &Scenario, posts: &[Post], change: &event::Change) -> Vec<Change> {
    let targets =
        posts.iter().enumerate().filter_map(|(gate, post)| target(scenario, gate, post, change.target));
    targets.map(|target| Change { at: change.at, target, knob: change.knob }).collect()
}

fn target(scenario: &Scenario, gate: usize, post: &Post, target: event::Target) -> Option<Target> {
    let is_admission = |number: &usize| scenario.stages[*number].spec.is_admission();
    Some(match target {
        event::Target::Traffic(_) => return None,
        event::Target::Downstream(number) => {
            (post.downstream == number).then_some(Target::Downstream(gate))?
        }
        event::Target::Queue(number) => (post.queue == Some(number)).then_some(Target::Queue { gate })?,
        event::Target::Stage(number) => {
            let admission = is_admission(&number);
            let mut same_sort = post.stages.iter().filter(|other| is_admission(other) == admission);
            let stage = same_sort.position(|other| *other == number)?;
            if admission { Target::Admission { gate, stage } } else { Target::Limiter { gate, stage } }
        }
    })
}
