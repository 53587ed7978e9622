//! The engine: one loop over one calendar, for one policy and one seed.
//!
//! It owns the clock, the calls that are alive and the order of events; what is decided in an event is decided by
//! the parts, which know neither the engine nor each other. `flow` follows one attempt through its life.

pub mod calendar;
mod changes;
mod flow;
mod gate;
mod heap;
mod live;
mod parked;
mod service;
mod setup;

use crate::client::Client;
use crate::downstream::Downstream;
use crate::observe::{Recorder, Sink};
use crate::problem::Problem;
use crate::time::SimTime;
use crate::traffic::Known;
use calendar::{Calendar, Due, Lane, Moment, Slot};
use gate::LiveGate;
use live::{Attempt, Call, Slab, State, resolve};
pub use setup::{Change, Gate, Parking, Setup, Take, Target, Traffic};

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
    while engine.step(watch)?.is_some() {}
    engine.end()
}

/// A simulation under way.
pub struct Engine<'a> {
    calendar: Calendar,
    calls: Slab<Call>,
    attempts: Slab<Attempt>,
    traffics: Vec<LiveTraffic>,
    clients: Vec<LiveClient>,
    gates: Vec<LiveGate>,
    downstreams: Vec<Box<dyn Downstream>>,
    deadlines: Vec<Option<crate::time::Nanos>>,
    changes: std::vec::IntoIter<Change>,
    next_change: Option<Change>,
    sample: Slot,
    change: Slot,
    recorder: Recorder,
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
}

struct LiveClient {
    client: Client,
    timers: Lane,
}

impl<'a> Engine<'a> {
    /// A simulation before its first event. Fails when a trace can't be read.
    pub fn new(setup: Setup, sink: &'a mut dyn Sink) -> Result<Engine<'a>, Problem> {
        let mut calendar = Calendar::default();
        let (sample, change) = (calendar.add_slot(0), calendar.add_slot(0));
        let limit = setup.limit();
        let mut engine = Engine {
            calls: Slab::default(),
            attempts: Slab::default(),
            traffics: Vec::new(),
            clients: Vec::new(),
            gates: Vec::new(),
            downstreams: setup.downstreams,
            deadlines: setup.deadlines,
            changes: setup.changes.into_iter(),
            next_change: None,
            sample,
            change,
            recorder: Recorder::new(setup.layout, limit),
            wants_requests: sink.wants_requests(),
            sink,
            now: SimTime::ZERO,
            born: 0,
            events: 0,
            over: false,
            stopped: false,
            failure: None,
            calendar,
        };
        for client in setup.clients {
            let timers = engine.calendar.add_lane();
            engine.clients.push(LiveClient { client, timers });
        }
        for (gate, layout) in setup.gates.into_iter().zip(engine.recorder.layout().gates.clone()) {
            let expiries = engine.calendar.add_lane();
            engine.gates.push(LiveGate {
                gate,
                names: layout.stages,
                expiries,
                parked: parked::Parked::default(),
            });
        }
        for (index, traffic) in setup.traffics.into_iter().enumerate() {
            let slot = engine.calendar.add_slot(index as u64);
            let draws_something = traffic.draws.any();
            engine.traffics.push(LiveTraffic { traffic, slot, pending: Known::default(), draws_something });
            engine.await_arrival(index);
        }
        engine.calendar.put(sample, engine.recorder.interval_end(), Moment::Sample);
        engine.await_change();
        Ok(engine)
    }

    /// Asks the traffic for its next call and waits for it.
    #[inline(always)]
    fn await_arrival(&mut self, index: usize) {
        let live = &mut self.traffics[index];
        match live.traffic.source.next(&mut live.pending) {
            Ok(None) => {}
            Ok(Some(at)) => {
                assert!(self.now <= at, "a source went back in time");
                self.calendar.put(live.slot, at, Moment::Arrive);
            }
            Err(problem) => self.failure = Some(problem),
        }
    }

    fn await_change(&mut self) {
        self.next_change = self.changes.next();
        if let Some(change) = &self.next_change {
            self.calendar.put(self.change, change.at, Moment::Change);
        }
    }

    /// Handles the next event and says which it was; `None` when the run is over.
    #[inline]
    pub fn step(&mut self, watch: &mut dyn Watch) -> Result<Option<Due>, Problem> {
        if self.over {
            return Ok(None);
        }
        let attempts = &self.attempts;
        let Some(due) = self.calendar.next(|due| alive(attempts, due)) else {
            return Err(Problem::bug("the calendar ran empty before the run was over"));
        };
        self.now = due.time;
        match due.moment {
            Moment::Sample => self.sample(watch)?,
            Moment::Change => self.apply_change(),
            Moment::Arrive => self.arrive(due.about as usize),
            Moment::Retry => self.attempt(due.about as u32),
            _ if !alive(&self.attempts, &due) => return Ok(Some(due)),
            Moment::Finish => self.finish(due.about as u32),
            Moment::Wake => self.wake(due.about as u32),
            Moment::Expire => self.expire(due.about as u32),
            Moment::Timeout => self.time_out(due.about as u32),
        }
        self.events += 1;
        self.recorder.fact(due.time, due.about << 3 | due.moment as u64);
        Ok(Some(due))
    }

    /// Ends an interval, and the run when arrivals are over and nothing is alive.
    fn sample(&mut self, watch: &mut dyn Watch) -> Result<(), Problem> {
        if let Some(problem) = self.failure.take() {
            return Err(problem);
        }
        let now = self.now;
        let layout = self.recorder.layout();
        let (arrivals_over, cut) = (layout.duration.0 <= now.0, layout.last() <= now);
        if cut {
            self.cut_off();
        }
        let (gates, downstreams) = (&mut self.gates, &mut self.downstreams);
        self.recorder
            .end_interval(now, self.sink, |visit| setup::read_gauges(gates, downstreams, now, visit))?;
        self.over = cut || arrivals_over && self.calls.len() == 0;
        if !watch.tick(now) {
            (self.over, self.stopped) = (true, true);
        }
        if !self.over {
            self.calendar.put(self.sample, self.recorder.interval_end(), Moment::Sample);
        }
        Ok(())
    }

    /// Hands over the summaries and says how the run ended.
    pub fn end(mut self) -> Result<Outcome, Problem> {
        if let Some(problem) = self.failure.take() {
            return Err(problem);
        }
        if !self.stopped {
            self.recorder.check_littles_law()?;
            self.recorder.summaries(self.sink)?;
        }
        self.over = true;
        Ok(Outcome {
            fingerprint: self.recorder.fingerprint(),
            calls: self.born,
            events: self.events,
            ended: self.now,
            stopped: self.stopped,
        })
    }

    /// The hash of all facts so far.
    pub fn fingerprint(&self) -> u64 {
        self.recorder.fingerprint()
    }
}

/// Whether the attempt that an event is about still waits for it.
#[inline]
fn alive(attempts: &Slab<Attempt>, due: &Due) -> bool {
    if matches!(due.moment, Moment::Sample | Moment::Change | Moment::Arrive | Moment::Retry) {
        return true;
    }
    let (index, generation) = resolve(due.about);
    let attempt = &attempts[index];
    attempt.generation == generation
        && match due.moment {
            Moment::Finish => attempt.state == State::Serving && attempt.finish == due.time,
            Moment::Expire => attempt.state == State::Queued,
            Moment::Wake => attempt.state == State::Deferred,
            _ => attempt.timed,
        }
}
