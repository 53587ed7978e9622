//! The engine: one loop over one calendar, for one policy and one seed.
//!
//! It owns the clock, the calls that are alive and the order of events; what is decided in an event is decided by
//! the parts, which know neither the engine nor each other. `flow` follows one attempt through its life.

pub mod calendar;
mod calls;
mod changes;
mod floor;
mod flow;
mod gate;
mod heap;
mod key;
mod kin;
mod live;
mod parked;
mod pending;
mod service;
mod setup;
mod sources;
mod wheel;

use crate::admission::Habits;
use crate::client::Client;
use crate::downstream::Downstream;
use crate::observe::{GateLayout, Recorder, Sink};
use crate::problem::Problem;
use crate::queue::Queue;
use crate::time::{Nanos, SimTime};
use crate::traffic::Known;
use calendar::{Calendar, Due, Lane, Moment, Slot};
use floor::{Floor, whose_alarm};
use gate::LiveGate;
use kin::Family;
use live::{Attempt, Slab, State, resolve};
use setup::limit;
pub use setup::{Call, Change, Gate, Parking, Setup, Take, Target, Traffic, Wanted};
use std::collections::BTreeMap;

/// Watches a run while it goes on.
pub trait Watch {
    /// Called at the end of each interval; answers whether to go on.
    fn tick(&mut self, now: SimTime) -> bool;
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn tick(&mut self, _now: SimTime) -> bool {
        true
    }
}

/// What is left to say of a run when it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The hash of all facts in order.
    pub fingerprint: u64,
    /// Calls born, those of the warm-up too.
    pub calls: u64,
    /// Events handled.
    pub events: u64,
    /// When it ended.
    pub ended: SimTime,
    /// Whether the watcher stopped it.
    pub stopped: bool,
}

/// Runs a simulation to its end and hands every row to `sink`.
pub fn run(setup: Setup, sink: &mut dyn Sink, watch: &mut dyn Watch) -> Result<Outcome, Problem> {
    let mut engine = Engine::new(setup, sink)?;
    while engine.advance(watch, false)?.is_some() {}
    engine.end()
}

/// A simulation under way.
pub struct Engine<'a> {
    attempts: Slab<Attempt>,
    family: Family,
    floor: Floor,
    traffics: Vec<LiveTraffic>,
    clients: Vec<LiveClient>,
    changes: std::vec::IntoIter<Change>,
    next_change: Option<Change>,
    sample: Slot,
    change: Option<Slot>,
    sink: &'a mut dyn Sink,
    wants_requests: bool,
    now: SimTime,
    born: u64,
    events: u64,
    over: bool,
    stopped: bool,
    /// What went wrong while reading a trace or writing a row; ends the run at the end of the interval.
    failure: Option<Problem>,
}

struct LiveTraffic {
    traffic: Traffic,
    slot: Slot,
    /// What the source said of the call that comes next.
    pending: Known,
    draws_something: bool,
    /// How long after its birth a call's answer still counts.
    deadline: Nanos,
}

struct LiveClient {
    client: Client,
    timers: Lane,
}

impl LiveTraffic {
    /// Asks for the next call and waits for it.
    #[inline(always)]
    fn await_call(&mut self, now: SimTime, calendar: &mut Calendar) -> Result<(), Problem> {
        match self.traffic.source.next(&mut self.pending) {
            Ok(Some(at)) => {
                assert!(now <= at, "a source went back in time");
                calendar.put(self.slot, at, Moment::Arrive);
                Ok(())
            }
            end => {
                calendar.clear(self.slot);
                end.map(|_| ())
            }
        }
    }
}

impl<'a> Engine<'a> {
    /// A simulation before its first event. Fails when a trace can't be read.
    pub fn new(setup: Setup, sink: &'a mut dyn Sink) -> Result<Engine<'a>, Problem> {
        let mut calendar = Calendar::default();
        let sample = calendar.add_slot(0);
        let change = (!setup.changes.is_empty()).then(|| calendar.add_slot(0));
        let first = &setup.gates[0];
        let recorder = Recorder::new(setup.layout, limit(first, &setup.downstreams[first.downstream]));
        let live_client = |client| LiveClient { client, timers: calendar.add_lane() };
        let clients = setup.clients.into_iter().map(live_client).collect();
        let layouts = &recorder.layout().gates;
        let live_gate = |(gate, layout): (Gate, &GateLayout)| LiveGate {
            habits: gate.admissions.iter().fold(Habits::default(), |habits, stage| habits.or(stage.habits())),
            alarms: vec![None; gate.admissions.len()],
            queue_minds_ends: gate.queue.as_ref().is_some_and(|queue| queue.minds_ends()),
            may_go_on: !gate.calls.is_empty() || setup.downstreams[gate.downstream].pauses(),
            settles: !gate.admissions.is_empty()
                || gate.queue.as_ref().is_some_and(|queue| queue.minds_ends()),
            gate,
            names: layout.stages.clone(),
            expiries: calendar.add_lane(),
            parked: parked::Parked::default(),
            held: BTreeMap::new(),
        };
        let gates = setup.gates.into_iter().zip(layouts).map(live_gate).collect();
        let mut engine = Engine {
            attempts: Slab::default(),
            family: Family::default(),
            floor: Floor { gates, downstreams: setup.downstreams, calendar, recorder },
            traffics: Vec::new(),
            clients,
            changes: setup.changes.into_iter(),
            next_change: None,
            sample,
            change,
            wants_requests: sink.wants_requests(),
            sink,
            now: SimTime::ZERO,
            born: 0,
            events: 0,
            over: false,
            stopped: false,
            failure: None,
        };
        for (index, traffic) in setup.traffics.into_iter().enumerate() {
            let calendar = &mut engine.floor.calendar;
            let (slot, draws_something) = (calendar.add_slot(index as u64), traffic.draws.any());
            let deadline = setup.deadlines[traffic.class.0 as usize].unwrap_or(Nanos(u64::MAX));
            let mut live =
                LiveTraffic { traffic, slot, pending: Known::default(), draws_something, deadline };
            engine.failure = live.await_call(SimTime::ZERO, calendar).err().or(engine.failure);
            engine.traffics.push(live);
        }
        let end = engine.floor.recorder.interval_end();
        engine.floor.calendar.put(sample, end, Moment::Sample);
        engine.await_change();
        (0..engine.floor.gates.len())
            .for_each(|gate| engine.floor.post(SimTime::ZERO, gate as u16).set_alarms());
        Ok(engine)
    }

    fn await_change(&mut self) {
        self.next_change = self.changes.next();
        match (self.change, &self.next_change) {
            (Some(slot), Some(change)) => self.floor.calendar.put(slot, change.at, Moment::Change),
            (Some(slot), None) => self.floor.calendar.clear(slot),
            (None, _) => {}
        }
    }

    /// Handles the next event and says which it was; `None` when the run is over.
    pub fn step(&mut self, watch: &mut dyn Watch) -> Result<Option<Due>, Problem> {
        self.advance(watch, true)
    }

    /// Handles the next event, or all up to the end of the interval; answers the last of them.
    fn advance(&mut self, watch: &mut dyn Watch, single: bool) -> Result<Option<Due>, Problem> {
        if self.over {
            return Ok(None);
        }
        loop {
            let attempts = &self.attempts;
            if self.events.is_multiple_of(TIDY_EVERY) {
                self.floor.calendar.tidy(|due| is_of_a_slot(due.moment) || alive(attempts, due));
            }
            let Some(due) = self.floor.calendar.next(|due| alive(attempts, due)) else {
                return Err(Problem::bug("the calendar ran empty before the run was over"));
            };
            self.now = due.time;
            let about = due.about as u32;
            let what = match due.moment {
                Moment::Sample => {
                    self.sample(watch)?;
                    0
                }
                Moment::Change => {
                    match whose_alarm(due.about) {
                        None => self.apply_change(),
                        Some((gate, stage)) => self.ring(gate, stage),
                    }
                    due.about
                }
                Moment::Arrive => self.arrive(due.about as usize),
                _ if !alive(&self.attempts, &due) => {
                    if single {
                        return Ok(Some(due));
                    }
                    continue;
                }
                Moment::Finish => self.finish(about),
                Moment::Retry => self.retry(about),
                Moment::Wake => self.wake(about),
                Moment::Expire => self.expire(about),
                Moment::Timeout => self.time_out(about),
            };
            if !self.family.answers.is_empty() {
                self.read_answers();
            }
            self.events += 1;
            self.floor.recorder.fact(due.time, what << 3 | due.moment as u64);
            if single || due.moment == Moment::Sample {
                return Ok(Some(due));
            }
        }
    }

    /// Ends an interval, and the run when arrivals are over and nothing is alive.
    fn sample(&mut self, watch: &mut dyn Watch) -> Result<(), Problem> {
        if let Some(problem) = self.failure.take() {
            return Err(problem);
        }
        let now = self.now;
        let layout = self.floor.recorder.layout();
        let (arrivals_over, cut) = (layout.duration.0 <= now.0, layout.last() <= now);
        if cut {
            self.cut_off();
        }
        let (gates, downstreams) = (&mut self.floor.gates, &mut self.floor.downstreams);
        self.floor
            .recorder
            .end_interval(now, self.sink, |visit| setup::read_gauges(gates, downstreams, now, visit))?;
        self.over = cut || arrivals_over && self.attempts.is_empty();
        if !watch.tick(now) {
            (self.over, self.stopped) = (true, true);
        }
        if !self.over {
            self.floor.calendar.put(self.sample, self.floor.recorder.interval_end(), Moment::Sample);
        }
        Ok(())
    }

    /// Hands over the summaries and says how the run ended.
    pub fn end(mut self) -> Result<Outcome, Problem> {
        if let Some(problem) = self.failure.take() {
            return Err(problem);
        }
        if !self.stopped {
            self.floor.recorder.check_littles_law()?;
            self.floor.recorder.summaries(self.sink)?;
        }
        self.over = true;
        Ok(Outcome {
            fingerprint: self.floor.recorder.fingerprint(),
            calls: self.born,
            events: self.events,
            ended: self.now,
            stopped: self.stopped,
        })
    }

    /// The hash of all facts so far.
    pub fn fingerprint(&self) -> u64 {
        self.floor.recorder.fingerprint()
    }
}

/// So many events go by before the calendar is looked through for dead ones that it would be better without.
const TIDY_EVERY: u64 = 1024;

/// Whether an event is about no attempt. It is in the heap if all slots were taken.
fn is_of_a_slot(moment: Moment) -> bool {
    matches!(moment, Moment::Arrive | Moment::Change | Moment::Sample)
}

/// Whether the attempt that an event is about still waits for it.
#[inline(always)]
fn alive(attempts: &Slab<Attempt>, due: &Due) -> bool {
    let (index, generation) = resolve(due.about);
    let attempt = &attempts[index];
    attempt.generation == generation
        && match due.moment {
            Moment::Finish => attempt.state == State::Serving && attempt.finish == due.time,
            Moment::Expire => attempt.state == State::Queued,
            Moment::Wake => matches!(attempt.state, State::Deferred | State::Delayed | State::Held),
            Moment::Timeout => attempt.timed,
            Moment::Retry | Moment::Arrive | Moment::Change | Moment::Sample => true,
        }
}
