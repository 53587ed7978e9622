//! From a checked description to simulations: one for each policy and seed.

mod calls;
mod clients;
mod draws;
mod gate;
mod names;
mod queue;

use super::Scenario;
use super::graph::{self, Post};
use super::rate::Law;
use super::trace::Call;
use super::traffic::Arrivals;
use crate::engine::{self, Setup};
use crate::observe::{EdgeLayout, GateLayout, Layout};
use crate::problem::{Problem, Problems};
use crate::request::{ClassId, Key};
use crate::rng::Stream;
use crate::traffic::AnySource;
use crate::traffic::Known;
use crate::traffic::arrivals::{Listed, Paced, Poisson};
use crate::traffic::draws::Draws;
use crate::traffic::trace::{TraceFacts, TraceSpec};
pub use names::Names;
use names::{Renumber, Renumbered};
use std::sync::Arc;

/// A scenario whose traces were read once and whose draws are laid out: everything that its simulations share.
pub struct Prepared {
    /// The description.
    pub scenario: Scenario,
    /// What is replayed, by number of the traffic.
    traces: Vec<Option<Replay>>,
    draws: Vec<Draws>,
    /// All tenants, those of traces too.
    pub tenants: Names,
    /// All users.
    pub users: Names,
    /// All features.
    pub features: Names,
}

/// A trace and what it was found to hold.
struct Replay {
    spec: TraceSpec,
    facts: TraceFacts,
    renumber: Arc<Renumber>,
}

/// A trace that a scenario replays, as results name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceUsed {
    /// Its base name.
    pub name: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// Its rows.
    pub rows: u64,
}

impl Prepared {
    /// Reads the scenario's traces once and lays out its draws.
    pub fn new(scenario: Scenario) -> Result<Prepared, Problems> {
        let mut tenants = Names::new(&scenario.tenants);
        let mut users = Names::new(&scenario.users);
        let mut features = Names::new(&scenario.features);
        let (mut traces, mut problems) = (Vec::new(), Vec::new());
        for traffic in &scenario.traffics {
            let Arrivals::Trace(spec) = &traffic.arrivals else {
                traces.push(None);
                continue;
            };
            match spec.inspect() {
                Ok(facts) => {
                    let renumber = Arc::new(Renumber {
                        tenants: facts.tenants.iter().map(|name| tenants.number(name)).collect(),
                        users: facts.users.iter().map(|name| users.number(name)).collect(),
                        features: facts.features.iter().map(|name| features.number(name)).collect(),
                    });
                    traces.push(Some(Replay { spec: spec.clone(), facts, renumber }));
                }
                Err(Problems(found)) => problems.extend(found),
            }
        }
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        let draws: Result<Vec<Draws>, Problem> =
            scenario.traffics.iter().map(|traffic| draws::of(&scenario, traffic)).collect();
        Ok(Prepared { draws: draws?, scenario, traces, tenants, users, features })
    }

    /// The traces that the scenario replays.
    pub fn traces(&self) -> Vec<TraceUsed> {
        let used = |replay: &Replay| TraceUsed {
            name: replay.spec.name.clone(),
            sha256: replay.facts.sha256.clone(),
            rows: replay.facts.rows,
        };
        self.traces.iter().flatten().map(used).collect()
    }

    /// The simulation of policy number `policy` under `seed`, before it starts.
    pub fn setup(&self, policy: usize, seed: u64) -> Result<Setup, Problem> {
        let scenario = &self.scenario;
        let policy = &scenario.policies[policy];
        let posts = graph::posts(scenario, policy);
        let mut clients = clients::Clients::default();
        let client_of: Vec<usize> =
            policy.clients.iter().map(|client| clients.of_traffic(scenario, *client)).collect();
        let traffics: Result<Vec<_>, Problem> =
            (0..scenario.traffics.len()).map(|index| self.traffic(index, client_of[index], seed)).collect();
        let calls = calls::of(scenario, &posts, &mut clients)?;
        let edges = calls::edges(scenario, &posts, &calls);
        let (mut gates, mut layouts) = (Vec::new(), Vec::new());
        for (number, calls) in calls.into_iter().enumerate() {
            let (gate, stages) = gate::build(self, policy, (&posts, number), calls, seed);
            gates.push(gate);
            let target = scenario.downstreams[posts[number].downstream].name.clone();
            layouts.push(GateLayout { target, stages });
        }
        let changes = scenario.changes.iter().flat_map(|change| gate::changes(scenario, &posts, change));
        let downstream = |post: &Post| gate::downstream(self, &scenario.downstreams[post.downstream]);
        Ok(Setup {
            layout: self.layout(layouts, edges),
            deadlines: scenario.classes.iter().map(|class| class.deadline).collect(),
            traffics: traffics?,
            clients: clients.build(),
            changes: changes.collect(),
            gates,
            downstreams: posts.iter().map(downstream).collect(),
        })
    }

    /// The number of a name; `None` if nobody has it.
    fn number(&self, key: Key, name: &str) -> Option<u32> {
        match key {
            Key::Class => self.scenario.class(name).map(|class| class as u32),
            Key::Tenant => self.tenants.find(name),
            Key::Feature => self.features.find(name),
            Key::User => self.users.find(name),
        }
    }

    fn layout(&self, gates: Vec<GateLayout>, edges: Vec<EdgeLayout>) -> Layout {
        let scenario = &self.scenario;
        let passing = scenario.events.iter().filter_map(|event| event.until.map(|until| (event.at, until)));
        Layout {
            classes: scenario.classes.iter().map(|class| class.name.clone()).collect(),
            gates,
            edges,
            interval: scenario.interval,
            warmup: scenario.warmup,
            duration: scenario.duration,
            tokens: scenario.traffics.iter().any(draws::has_tokens),
            tenants: !self.tenants.is_empty(),
            drain: scenario.drain_bound(),
            passing_event: passing.max_by_key(|(_, until)| *until),
        }
    }

    fn traffic(&self, index: usize, client: usize, seed: u64) -> Result<engine::Traffic, Problem> {
        let traffic = &self.scenario.traffics[index];
        let stream = |what: &str| Stream::new(seed, &format!("traffic/{}/{what}", traffic.name));
        let duration = self.scenario.duration;
        let source: AnySource = match &traffic.arrivals {
            Arrivals::Rate(profile) => {
                let walk = profile.build();
                match profile.law {
                    Law::Poisson => {
                        AnySource::Poisson(Box::new(Poisson::new(&walk, stream("arrivals"), duration)))
                    }
                    Law::Paced => Paced::new(&walk, duration).into(),
                }
            }
            Arrivals::Calls(calls) => {
                let calls = calls.iter().map(|call| (call.at, self.known(call))).collect();
                Listed::new(calls, duration).map_err(Problem::bug)?.into()
            }
            Arrivals::Trace(_) => {
                let replay =
                    self.traces[index].as_ref().ok_or_else(|| Problem::bug("a trace was not read"))?;
                let source = replay.spec.open(&replay.facts, duration)?;
                Renumbered { source, numbers: Arc::clone(&replay.renumber) }.into()
            }
        };
        let class = self.scenario.class(&traffic.class).unwrap_or(0);
        Ok(engine::Traffic {
            name: traffic.name.clone(),
            source,
            dice: stream("calls"),
            draws: self.draws[index].clone(),
            class: ClassId(class as u16),
            client,
            gate: 0,
        })
    }

    fn known(&self, call: &Call) -> Known {
        let number = |names: &Names, name: &Option<String>| name.as_ref().and_then(|name| names.known(name));
        Known {
            input_tokens: call.input_tokens,
            output_tokens: call.output_tokens,
            max_output_tokens: call.max_output_tokens,
            tenant: number(&self.tenants, &call.tenant),
            user: number(&self.users, &call.user),
            feature: number(&self.features, &call.feature).map(|number| number as u16),
        }
    }
}
