//! A concurrency limit that learns from every answer: what stages of that sort share.
//!
//! One may start while fewer are in flight than the limit. As it starts, the stage remembers how many are in flight
//! then, itself included; when it ends, that number and its time in service are a *sample*, from which a [`Law`]
//! makes the next limit. What is taken back by its caller is no sample. The edge: a limit that falls below what is in
//! flight ends nothing, and lets no one in until enough have left. Source: Netflix concurrency-limits,
//! `AbstractLimiter.java` and `SimpleLimiter.java`.

use super::chance::Chance;
use super::sample_window::{SampleWindow, Settings as WindowSettings};
use super::{Admission, Answer, Cast, Denial, Entrant, Habits, Plan, Scene};
use crate::gauge::{Gauge, Reading};
use crate::request::End;
use crate::rng::Dice;
use crate::time::{Nanos, SimTime};
use std::fmt::Debug;

/// What an answer tells a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it ended.
    pub now: SimTime,
    /// How long it was in service.
    pub rtt: Nanos,
    /// How many were in flight when it started, itself included.
    pub in_flight: u64,
    /// Whether it failed in a way that speaks of overload.
    pub dropped: bool,
    /// Whether the limit was used up before it left.
    pub full: bool,
}

/// How a limit follows from samples.
pub trait Law: Send {
    /// The limit now.
    fn limit(&self) -> u64;
    /// One more answer.
    fn sample(&mut self, sample: &Sample);
    /// The time in service that it takes for that without load; 0 while it knows none.
    fn baseline(&self) -> f64;
    /// What it does beside; that its limit moves goes without saying.
    fn habits(&self) -> Habits {
        Habits::default()
    }
    /// The share of those who come while the limit is used up and so many wait that is turned away at once.
    fn rejection(&self, _waiting: u64) -> f64 {
        0.0
    }
    /// When it wants to be rung.
    fn alarm(&self) -> Option<SimTime> {
        None
    }
    /// Time has passed, up to the alarm.
    fn ring(&mut self, _now: SimTime) {}
    /// Whether it measures its baseline at present, if it does that in phases.
    fn measures(&self) -> Option<bool> {
        None
    }
}

/// What a law is built from.
pub trait Settings: Debug + Send + Sync {
    /// The law.
    type Law: Law + 'static;
    /// A law that has seen nothing; `luck` is for its own draws.
    fn law(&self, luck: Dice) -> Self::Law;
}

/// What an attempt that fails in service tells the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// That the downstream is overloaded.
    Drop,
    /// Nothing.
    Ignore,
    /// Its time in service, as if it had been served well.
    Sample,
}

/// An adaptive limit, as it is described.
#[derive(Clone, Debug)]
pub struct Limit<S> {
    /// The law.
    pub law: S,
    /// What gathers samples before the law hears of them; `None` tells it each.
    pub window: Option<WindowSettings>,
    /// What failures tell it.
    pub failure: Failure,
}

impl<S: Settings> Plan for Limit<S> {
    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        Box::new(Adaptive::new(cast, self.law.law(cast.luck), self.window, self.failure))
    }
}

/// A stage with a limit that follows a law.
#[derive(Clone, Debug)]
pub struct Adaptive<L> {
    law: L,
    window: Option<SampleWindow>,
    failure: Failure,
    chance: Chance,
    in_use: Gauge,
    limit: Gauge,
    /// By place: how many were in flight when what is in it started.
    at_start: Vec<u64>,
}

impl<L: Law> Adaptive<L> {
    /// A stage of a law that has seen nothing.
    pub fn new(cast: &Cast<'_>, law: L, window: Option<WindowSettings>, failure: Failure) -> Adaptive<L> {
        let limit = Gauge::new(law.limit());
        let window = window.map(SampleWindow::new);
        let chance = Chance::new(cast);
        Adaptive { law, window, failure, chance, in_use: Gauge::new(0), limit, at_start: Vec::new() }
    }

    fn is_full(&self) -> bool {
        self.law.limit() <= self.in_use.value()
    }

    fn tell(&mut self, sample: Sample) {
        let sample = match &mut self.window {
            None => Some(sample),
            Some(window) => window.add(sample),
        };
        if let Some(sample) = sample {
            self.law.sample(&sample);
            self.limit.set(sample.now, self.law.limit());
        }
    }
}

impl<L: Law> Admission for Adaptive<L> {
    fn habits(&self) -> Habits {
        self.law.habits().or(Habits { adapts: true, ..Habits::default() })
    }

    fn sheds(&mut self, now: SimTime, entrant: &Entrant<'_>, scene: &Scene) -> Option<Denial> {
        if !self.is_full() {
            return None;
        }
        let share = self.law.rejection(scene.waiting);
        let rejected = share > 0.0 && self.chance.draw(entrant) < share;
        rejected.then(|| self.denial(now, entrant))
    }

    fn admit(&self, _now: SimTime, _entrant: &Entrant<'_>) -> Answer {
        if self.is_full() { Answer::Wait } else { Answer::Pass }
    }

    fn take(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        self.in_use.up(now, 1);
        let place = entrant.place as usize;
        if self.at_start.len() <= place {
            self.at_start.resize(place + 1, 0);
        }
        self.at_start[place] = self.in_use.value();
    }

    fn settle(&mut self, now: SimTime, entrant: &Entrant<'_>, end: End) {
        let sample = |rtt, dropped| {
            let in_flight = self.at_start[entrant.place as usize];
            Some(Sample { now, rtt, in_flight, dropped, full: self.is_full() })
        };
        let sample = match (end, self.failure) {
            (End::Completed(rtt), _) | (End::Failed(rtt), Failure::Sample) => sample(rtt, false),
            (End::Failed(rtt), Failure::Drop) => sample(rtt, true),
            (End::Failed(_), Failure::Ignore) | (End::Cancelled(_) | End::Unused, _) => None,
        };
        if let Some(sample) = sample {
            self.tell(sample);
        }
        self.in_use.down(now, 1);
    }

    fn alarm(&self) -> Option<SimTime> {
        self.law.alarm()
    }

    fn ring(&mut self, now: SimTime, _scene: &Scene) {
        self.law.ring(now);
        self.limit.set(now, self.law.limit());
    }

    fn limit(&self) -> Option<u64> {
        Some(self.law.limit())
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("limit", self.limit.read(now));
        visit("in_use", self.in_use.read(now));
        visit("baseline_ms", Reading::of(self.law.baseline() / 1e6));
        if let Some(measures) = self.law.measures() {
            visit("measuring", Reading::of(f64::from(u8::from(measures))));
        }
    }
}

/// The whole part of a number's logarithm to the base of 10, but 1 at least: the steps of Netflix and Failsafe-go.
pub(super) fn log10(limit: f64) -> f64 {
    (limit as u64).max(1).ilog10().max(1) as f64
}
