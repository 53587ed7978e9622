//! Two-rate three-colour marker, colour-blind: red above the peak, yellow above the committed rate, else green.
//!
//! Bucket P is filled at the peak rate, bucket C at the committed one; both start full. An ask that P does not hold is red
//! and takes nothing; else one that C does not hold is yellow and is taken from P alone; else it is green and taken from
//! both. What is red is refused, so what passes is what a token bucket of the peak lets pass. Source: RFC 2698, section 3.

use super::token_bucket::{State as Bucket, TokenBucket};
use super::{Level, Rule, Verdict};
use crate::request::Knob;
use crate::time::SimTime;

/// A marker's rule. The edge: a full bucket holds a cost equal to its burst.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrTcm {
    /// The committed rate and burst.
    pub committed: TokenBucket,
    /// The peak rate and burst.
    pub peak: TokenBucket,
}

/// Both buckets.
#[derive(Clone, Debug)]
pub struct State {
    committed: Bucket,
    peak: Bucket,
}

impl Rule for TrTcm {
    type State = State;

    fn fresh(&self) -> State {
        State { committed: self.committed.fresh(), peak: self.peak.fresh() }
    }

    fn check(&self, state: &State, now: SimTime, cost: u64) -> Verdict {
        self.peak.check(&state.peak, now, cost)
    }

    fn take(&self, state: &mut State, now: SimTime, cost: u64) {
        self.peak.take(&mut state.peak, now, cost);
        if self.committed.check(&state.committed, now, cost) == Verdict::Pass {
            self.committed.take(&mut state.committed, now, cost);
        }
    }

    fn give_back(&self, state: &mut State, now: SimTime, cost: u64) {
        self.peak.give_back(&mut state.peak, now, cost);
        self.committed.give_back(&mut state.committed, now, cost);
    }

    fn charge(&self, state: &mut State, now: SimTime, cost: u64) {
        self.peak.charge(&mut state.peak, now, cost);
        self.committed.charge(&mut state.committed, now, cost);
    }

    fn refuse(&self, state: &mut State, now: SimTime, cost: u64) {
        self.peak.refuse(&mut state.peak, now, cost);
    }

    /// Of the peak's bucket.
    fn level(&self, state: &State, now: SimTime) -> Level {
        self.peak.level(&state.peak, now)
    }

    fn reset(&self, state: &State, now: SimTime) -> Option<SimTime> {
        let peak = self.peak.reset(&state.peak, now)?;
        Some(peak.max(self.committed.reset(&state.committed, now)?))
    }

    fn colour(&self, state: &State, now: SimTime, cost: u64) -> Option<&'static str> {
        Some(match () {
            () if self.peak.check(&state.peak, now, cost) != Verdict::Pass => "red",
            () if self.committed.check(&state.committed, now, cost) != Verdict::Pass => "yellow",
            () => "green",
        })
    }

    fn is_idle(&self, state: &State, fresh: &State, now: SimTime) -> bool {
        self.committed.is_idle(&state.committed, &fresh.committed, now)
            && self.peak.is_idle(&state.peak, &fresh.peak, now)
    }

    fn capacity(&self) -> Option<(u64, &'static str)> {
        Some((self.peak.burst, "peak_burst"))
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        self.committed.knob(key)
    }

    /// The committed rate and burst.
    fn with(&self, knob: Knob) -> Option<TrTcm> {
        let committed = self.committed.with(knob)?;
        Some(TrTcm { committed, peak: self.peak.clone() })
    }

    fn carry(&self, old: &TrTcm, state: &State, now: SimTime) -> State {
        let committed = self.committed.carry(&old.committed, &state.committed, now);
        State { committed, peak: state.peak.clone() }
    }
}
