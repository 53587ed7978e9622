//! A policy's gate: its stages, its queue and its downstream as the engine takes them.

use super::{Prepared, queue};
use crate::admission::{Admission, Cast};
use crate::downstream::AnyDownstream;
use crate::downstream::preemptive::Preemptive;
use crate::downstream::slots::Slots;
use crate::engine::{Change, Gate, Parking, Target};
use crate::limiter::{Limiter, Options};
use crate::request::Key;
use crate::rng::{Dice, Stream};
use crate::scenario::stage::{Stage, StageSpec};
use crate::scenario::{self, Scenario, event, policy};

/// The policy's gate, and the names of what can turn work away in it.
pub(super) fn build(prepared: &Prepared, policy: &policy::Policy, seed: u64) -> (Gate, Vec<String>) {
    let scenario = &prepared.scenario;
    let number = &|key, name: &str| prepared.number(key, name);
    let classes: Vec<String> = scenario.classes.iter().map(|class| class.name.clone()).collect();
    let priorities = &queue::priorities(prepared);
    let cast = Cast { classes: &classes, priorities, luck: Dice::default(), number };
    let (mut limiters, mut parking) = (Vec::new(), Vec::new());
    let mut admissions = Vec::new();
    let (mut limiter_names, mut admission_names) = (Vec::new(), Vec::new());
    for stage in policy.stages.iter().map(|number| &scenario.stages[*number]) {
        match part(stage, number, &cast, seed) {
            Part::Limiter(limiter, parks) => {
                limiters.push(limiter);
                parking.push(parks);
                limiter_names.push(stage.name.clone());
            }
            Part::Admission(admission) => {
                admissions.push(admission);
                admission_names.push(stage.name.clone());
            }
        }
    }
    let queue = policy.queue.map(|number| &scenario.queues[number]);
    let names = [limiter_names, admission_names]
        .concat()
        .into_iter()
        .chain(queue.map(|queue| queue.name.clone()))
        .chain([scenario.downstreams[policy.downstream].name.clone()]);
    let queue = queue.map(|queue| queue::build(prepared, queue));
    let downstream = &scenario.downstreams[policy.downstream];
    let quota = downstream.quota.as_ref().map(|quota| {
        let luck = Stream::new(seed, &format!("downstream/{}/quota", downstream.name)).dice();
        quota.build_among(number, luck)
    });
    (Gate { limiters, parking, admissions, queue, downstream: 0, quota, take: policy.take }, names.collect())
}

/// A stage as the engine takes it.
enum Part {
    Limiter(Box<dyn Limiter>, Parking),
    Admission(Box<dyn Admission>),
}

fn part(stage: &Stage, number: &dyn Fn(Key, &str) -> Option<u32>, cast: &Cast<'_>, seed: u64) -> Part {
    match &stage.spec {
        StageSpec::Limiter(limit) => {
            let luck = Stream::new(seed, &format!("limiter/{}", stage.name)).dice();
            Part::Limiter(limit.build_among(number, luck), parking(&limit.options))
        }
        StageSpec::Admission(room) => {
            let luck = Stream::new(seed, &format!("admission/{}", stage.name)).dice();
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

/// The change as it meets this policy; `None` if it changes something that the policy does not have.
pub(super) fn change(scenario: &Scenario, policy: &policy::Policy, change: &event::Change) -> Option<Change> {
    let is_admission = |number: &usize| scenario.stages[*number].spec.is_admission();
    let target = match change.target {
        event::Target::Traffic(_) => return None,
        event::Target::Downstream(number) => {
            (policy.downstream == number).then_some(Target::Downstream(0))?
        }
        event::Target::Queue(number) => {
            (policy.queue == Some(number)).then_some(Target::Queue { gate: 0 })?
        }
        event::Target::Stage(number) => {
            let admission = is_admission(&number);
            let mut same_sort = policy.stages.iter().filter(|other| is_admission(other) == admission);
            let stage = same_sort.position(|other| *other == number)?;
            if admission { Target::Admission { gate: 0, stage } } else { Target::Limiter { gate: 0, stage } }
        }
    };
    Some(Change { at: change.at, target, knob: change.knob })
}
