//! Several bandwidths on one bucket: an ask passes if each of them lets it, and is taken from all.
//!
//! The wait is the longest, what is left the least. Each bandwidth is filled continuously or at intervals. Source:
//! Bucket4j's buckets with several limits.

use super::interval_bucket::{self, IntervalBucket};
use super::token_bucket::{self, TokenBucket};
use super::{Level, Rule, Verdict};
use crate::time::{Nanos, SimTime};

/// A bucket of several bandwidths, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bandwidths(pub Vec<Bandwidth>);

/// One bandwidth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bandwidth {
    /// Filled continuously.
    Continuous(TokenBucket),
    /// Filled at intervals.
    Interval(IntervalBucket),
}

/// The state of one bandwidth.
#[derive(Clone, Debug)]
pub enum State {
    /// Filled continuously.
    Continuous(token_bucket::State),
    /// Filled at intervals.
    Interval(interval_bucket::State),
}

/// Does the same with a bandwidth and its state, whichever it is.
macro_rules! each {
    ($bandwidth:expr, $state:expr, $rule:ident, $own:ident => $does:expr) => {
        match ($bandwidth, $state) {
            (Bandwidth::Continuous($rule), State::Continuous($own)) => $does,
            (Bandwidth::Interval($rule), State::Interval($own)) => $does,
            _ => unreachable!("a state is that of its bandwidth"),
        }
    };
}

impl Bandwidths {
    fn levels<'s>(&'s self, states: &'s [State], now: SimTime) -> impl Iterator<Item = Level> + 's {
        self.0
            .iter()
            .zip(states)
            .map(move |(each, state)| each!(each, state, rule, own => rule.level(own, now)))
    }
}

impl Rule for Bandwidths {
    type State = Vec<State>;
    const JUMPS: bool = true;

    fn fresh(&self) -> Vec<State> {
        let fresh = |each: &Bandwidth| match each {
            Bandwidth::Continuous(rule) => State::Continuous(rule.fresh()),
            Bandwidth::Interval(rule) => State::Interval(rule.fresh()),
        };
        self.0.iter().map(fresh).collect()
    }

    fn check(&self, states: &Vec<State>, now: SimTime, cost: u64) -> Verdict {
        let mut longest = Verdict::Pass;
        for (each, state) in self.0.iter().zip(states) {
            longest = match (longest, each!(each, state, rule, own => rule.check(own, now, cost))) {
                (Verdict::Never, _) | (_, Verdict::Never) => Verdict::Never,
                (Verdict::At(one), Verdict::At(other)) => Verdict::At(one.max(other)),
                (Verdict::At(at), _) | (_, Verdict::At(at)) => Verdict::At(at),
                (other, _) => other,
            };
        }
        longest
    }

    fn take(&self, states: &mut Vec<State>, now: SimTime, cost: u64) {
        for (each, state) in self.0.iter().zip(states) {
            each!(each, state, rule, own => rule.take(own, now, cost));
        }
    }

    fn give_back(&self, states: &mut Vec<State>, now: SimTime, cost: u64) {
        for (each, state) in self.0.iter().zip(states) {
            each!(each, state, rule, own => rule.give_back(own, now, cost));
        }
    }

    fn charge(&self, states: &mut Vec<State>, now: SimTime, cost: u64) {
        for (each, state) in self.0.iter().zip(states) {
            each!(each, state, rule, own => rule.charge(own, now, cost));
        }
    }

    fn refuse(&self, states: &mut Vec<State>, now: SimTime, cost: u64) {
        for (each, state) in self.0.iter().zip(states) {
            each!(each, state, rule, own => rule.refuse(own, now, cost));
        }
    }

    /// That of the bandwidth with the least left, until its line may end or another has less.
    fn level(&self, states: &Vec<State>, now: SimTime) -> Level {
        let least = self.levels(states, now).min_by(|a, b| a.units().total_cmp(&b.units()));
        let least = least.expect("a bucket has a bandwidth");
        let turns = self
            .levels(states, now)
            .flat_map(|other| [other.until, other.full_at(now), crossing(now, &least, &other)]);
        Level { until: turns.flatten().filter(|at| now < *at).min(), ..least }
    }

    fn reset(&self, states: &Vec<State>, now: SimTime) -> Option<SimTime> {
        let resets = self
            .0
            .iter()
            .zip(states)
            .map(|(each, state)| each!(each, state, rule, own => rule.reset(own, now)));
        resets.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    fn capacity(&self) -> Option<(u64, &'static str)> {
        let bursts = self.0.iter().map(|each| match each {
            Bandwidth::Continuous(rule) => rule.burst,
            Bandwidth::Interval(rule) => rule.burst,
        });
        bursts.min().map(|burst| (burst, "burst"))
    }

    fn steps_back(&self) -> bool {
        self.0.iter().all(|each| match each {
            Bandwidth::Continuous(rule) => rule.clamps,
            Bandwidth::Interval(rule) => rule.clamps,
        })
    }
}

/// When `other` may have less than `least`, which grows faster; a nanosecond on at the earliest.
fn crossing(now: SimTime, least: &Level, other: &Level) -> Option<SimTime> {
    let grows = |level: &Level| level.credits < level.full;
    let gain = |level: &Level| if grows(level) { level.gain as f64 / level.price as f64 } else { 0.0 };
    let (gap, closes) = (other.units() - least.units(), gain(least) - gain(other));
    (0.0 < closes).then(|| now.saturating_add(Nanos((gap / closes) as u64)).saturating_add(Nanos(1)))
}
