//! Studies: every policy under every seed, side by side on several threads, always with the same results.
//!
//! A job is one policy under one seed. Jobs start in their order and may run at the same time; nothing that they
//! compute depends on which thread runs them, and what they hand over is numbered. A job never starts far ahead of
//! the first that is still running, so that what waits for its turn stays little.

pub mod probe;
mod tally;

use crate::engine::{self, Engine, Outcome, Setup, Watch};
use crate::observe::rows::Nowhere;
use crate::observe::{Sink, SummaryRow};
use crate::problem::Problem;
use crate::time::{Nanos, SimTime};
use std::collections::BTreeMap;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
pub use tally::{Memory, Series, Tally};

/// How many jobs per thread may be ahead of the first unfinished one.
const AHEAD: usize = 8;

/// Steps of progress that one job makes in all.
pub const STEPS: u64 = 1_000;

/// One policy under one seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The policy's name.
    pub policy: String,
    /// The seed.
    pub seed: u64,
    /// Whether it is the first seed of its policy.
    pub first: bool,
}

/// All jobs of a study, in the order of its rows: by policy, then by seed.
pub fn jobs(policies: &[String], seeds: &[u64]) -> Vec<Job> {
    let of = |policy: &String| -> Vec<Job> {
        let job = |(i, seed): (usize, &u64)| Job { policy: policy.clone(), seed: *seed, first: i == 0 };
        seeds.iter().enumerate().map(job).collect()
    };
    policies.iter().flat_map(of).collect()
}

/// Makes a simulation of a job, the same one however often it is asked.
pub trait Build: Sync {
    /// The simulation before it starts.
    fn build(&self, job: &Job) -> Result<Setup, Problem>;
}

impl<F: Fn(&Job) -> Result<Setup, Problem> + Sync> Build for F {
    fn build(&self, job: &Job) -> Result<Setup, Problem> {
        self(job)
    }
}

/// Where the rows of jobs go.
pub trait Shelf: Sync {
    /// What takes the rows of one job.
    type Rows: Sink;
    /// Begins job number `number`.
    fn open(&self, number: usize, job: &Job) -> Result<Self::Rows, Problem>;
    /// Ends job number `number`; jobs end in any order.
    fn close(&self, number: usize, rows: Self::Rows) -> Result<(), Problem>;
}

/// Keeps no rows.
impl Shelf for Nowhere {
    type Rows = Nowhere;
    fn open(&self, _number: usize, _job: &Job) -> Result<Nowhere, Problem> {
        Ok(Nowhere)
    }
    fn close(&self, _number: usize, _rows: Nowhere) -> Result<(), Problem> {
        Ok(())
    }
}

/// How a study is run; nothing of it changes a result.
pub struct Control<'a> {
    /// Threads, at least one.
    pub threads: usize,
    /// Set from outside to stop at the end of the present intervals.
    pub stop: &'a AtomicBool,
    /// Told of every few of the [`STEPS`] that each job makes.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// What is left of one job when it has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The job.
    pub job: Job,
    /// How it ended.
    pub outcome: Outcome,
    /// The summary of all classes; `None` if it was stopped.
    pub total: Option<SummaryRow<'static>>,
    /// What turned attempts away, by stage and reason.
    pub refusals: BTreeMap<(String, &'static str), u64>,
    /// How long each class had work in the main phase and got nothing done.
    pub starved: BTreeMap<String, Nanos>,
    /// Attempts that downstreams made at others, by the one that was called.
    pub attempts: BTreeMap<String, u64>,
    /// What was offered and admitted over time; of a policy's first seed only.
    pub series: Series,
}

/// A study that has ended.
#[derive(Clone, Debug)]
pub struct Results {
    /// The jobs that ran, in their order.
    pub jobs: Vec<Finished>,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

/// Runs all jobs. The first that fails, in their order, fails the study.
pub fn run<S: Shelf>(
    jobs: &[Job],
    build: &dyn Build,
    shelf: &S,
    control: &Control<'_>,
) -> Result<Results, Problem> {
    let turns = Turns::new(jobs.len(), control.threads.max(1) * AHEAD);
    let work = || {
        while let Some(number) = turns.take(control.stop) {
            let done = run_job(number, &jobs[number], build, shelf, control);
            turns.give(number, done);
        }
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..control.threads.min(jobs.len())).map(|_| scope.spawn(work)).collect();
        work();
        for other in others {
            if let Err(fault) = other.join() {
                panic::resume_unwind(fault);
            }
        }
    });
    let finished = turns.into_results()?;
    let stopped = finished.len() < jobs.len() || finished.iter().any(|job| job.outcome.stopped);
    Ok(Results { jobs: finished, stopped })
}

fn run_job<S: Shelf>(
    number: usize,
    job: &Job,
    build: &dyn Build,
    shelf: &S,
    control: &Control<'_>,
) -> Result<Finished, Problem> {
    let setup = build.build(job)?;
    let mut watcher = Watcher { control, duration: setup.layout.duration, steps: 0 };
    let mut tally = Tally::new(shelf.open(number, job)?, job.first);
    let outcome = engine::run(setup, &mut tally, &mut watcher)?;
    (control.progress)(STEPS - watcher.steps);
    if outcome.calls == 0 && !outcome.stopped {
        let what = format!("no call arrived under policy `{}` and seed {}", job.policy, job.seed);
        return Err(Problem::input(what)
            .remedy("raise a rate, lengthen `duration`, or look at `from` and `until` of the trace"));
    }
    let (rows, memory) = tally.into_parts();
    shelf.close(number, rows)?;
    let Memory { total, refusals, starved, attempts, series } = memory;
    Ok(Finished { job: job.clone(), outcome, total, refusals, starved, attempts, series })
}

/// Passes on progress, and the wish to stop.
struct Watcher<'a> {
    control: &'a Control<'a>,
    duration: Nanos,
    steps: u64,
}

impl Watch for Watcher<'_> {
    fn tick(&mut self, now: SimTime) -> bool {
        let share = now.0 as u128 * STEPS as u128 / (self.duration.0 as u128).max(1);
        let steps = (share as u64).min(STEPS);
        if self.steps < steps {
            (self.control.progress)(steps - self.steps);
            self.steps = steps;
        }
        !self.control.stop.load(Ordering::Relaxed)
    }
}

/// Hands out job numbers in order and collects what comes of them.
struct Turns {
    count: usize,
    window: usize,
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Default)]
struct State {
    next: usize,
    /// Every job before this one is done.
    done_before: usize,
    done: BTreeMap<usize, Result<Finished, Problem>>,
    failed: bool,
}

impl Turns {
    fn new(count: usize, window: usize) -> Turns {
        Turns { count, window, state: Mutex::default(), moved: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked ends the study anyway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job, once it is not too far ahead; `None` when there is nothing left to start.
    fn take(&self, stop: &AtomicBool) -> Option<usize> {
        let mut state = self.lock();
        loop {
            if state.failed || state.next == self.count || stop.load(Ordering::Relaxed) {
                return None;
            }
            if state.next < state.done_before + self.window {
                state.next += 1;
                return Some(state.next - 1);
            }
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give(&self, number: usize, done: Result<Finished, Problem>) {
        let mut state = self.lock();
        state.failed |= done.is_err();
        state.done.insert(number, done);
        while state.done.contains_key(&state.done_before) {
            state.done_before += 1;
        }
        self.moved.notify_all();
    }

    fn into_results(self) -> Result<Vec<Finished>, Problem> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.done.into_values().collect()
    }
}

/// Runs a job twice in step and says where the two first differ; `None` if they never do.
pub fn first_difference(job: &Job, build: &dyn Build) -> Result<Option<String>, Problem> {
    let (mut left_sink, mut right_sink) = (Nowhere, Nowhere);
    let mut left = Engine::new(build.build(job)?, &mut left_sink)?;
    let mut right = Engine::new(build.build(job)?, &mut right_sink)?;
    for number in 1u64.. {
        let facts = [left.step(&mut engine::Unwatched)?, right.step(&mut engine::Unwatched)?];
        if facts[0] != facts[1] || left.fingerprint() != right.fingerprint() {
            let shown = facts.map(|fact| {
                fact.map_or("nothing more".to_string(), |due| format!("{:?} at {} s", due.moment, due.time))
            });
            return Ok(Some(format!("event {number}: {}, then {}", shown[0], shown[1])));
        }
        if facts[0].is_none() {
            break;
        }
    }
    Ok(None)
}
