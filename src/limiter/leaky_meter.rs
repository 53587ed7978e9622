//! Leaky bucket as a meter, exact: what is above a level waits, what would overflow is refused.
//!
//! The excess over one request at a time drains at the rate. An ask of n adds n; the first request of an idle meter is
//! no excess: e ← max(0, e + 1 − r·Δ) + n − 1. It is refused if e would be more than `burst`, and starts (e − `delay`) / r
//! later if e is more than `delay`. In water w = e + 1 this is a token bucket of burst + 1 that starts full, which is
//! what reckons here. Source: nginx's `limit_req`, of which this is the limit of fine clocks; the product itself is
//! in `nginx.rs`.

use super::token_bucket::{State, TokenBucket};
use super::{Level, Rule, Verdict};
use crate::request::Knob;
use crate::time::SimTime;
use crate::units::Rate;

/// A meter's rule. The edge: an excess equal to `burst` passes, one equal to `delay` starts at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeakyMeter {
    bucket: TokenBucket,
    delay: Option<u64>,
}

impl LeakyMeter {
    /// A meter that drains at `rate`, holds `burst` above the one that is served, and delays what is above `delay`;
    /// `None` delays nothing. A burst is less than 2^63.
    pub fn new(rate: Rate, burst: u64, delay: Option<u64>) -> LeakyMeter {
        LeakyMeter { bucket: TokenBucket::new(rate, burst + 1), delay }
    }

    /// When an ask may start that leaves so many credits.
    fn start(&self, left: i128, now: SimTime) -> Verdict {
        let level = self.bucket.level(&self.bucket.fresh(), SimTime::ZERO);
        let Some(delay) = self.delay else { return Verdict::Pass };
        let excess = level.full - left - i128::from(level.price);
        let late = excess - i128::from(delay) * i128::from(level.price);
        match u128::try_from(late) {
            Ok(late) if 0 < late => match Verdict::after(now, late, level.gain) {
                Verdict::At(start) => Verdict::Delay(start),
                other => other,
            },
            _ => Verdict::Pass,
        }
    }
}

impl Rule for LeakyMeter {
    type State = State;

    fn fresh(&self) -> State {
        self.bucket.fresh()
    }

    fn check(&self, state: &State, now: SimTime, cost: u64) -> Verdict {
        let verdict = self.bucket.check(state, now, cost);
        if verdict != Verdict::Pass || cost == 0 {
            return verdict;
        }
        let level = self.bucket.level(state, now);
        self.start(level.credits - i128::from(cost) * i128::from(level.price), now)
    }

    fn take(&self, state: &mut State, now: SimTime, cost: u64) {
        self.bucket.take(state, now, cost);
    }

    fn give_back(&self, state: &mut State, now: SimTime, cost: u64) {
        self.bucket.give_back(state, now, cost);
    }

    fn charge(&self, state: &mut State, now: SimTime, cost: u64) {
        self.bucket.charge(state, now, cost);
    }

    fn refuse(&self, state: &mut State, now: SimTime, cost: u64) {
        self.bucket.refuse(state, now, cost);
    }

    fn level(&self, state: &State, now: SimTime) -> Level {
        self.bucket.level(state, now)
    }

    fn reset(&self, state: &State, now: SimTime) -> Option<SimTime> {
        self.bucket.reset(state, now)
    }

    fn is_idle(&self, state: &State, fresh: &State, now: SimTime) -> bool {
        self.bucket.is_idle(state, fresh, now)
    }

    fn capacity(&self) -> Option<(u64, &'static str)> {
        Some((self.bucket.burst, "room of burst + 1"))
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        match key {
            "burst" => Some(Knob::Burst(self.bucket.burst - 1)),
            other => self.bucket.knob(other),
        }
    }

    fn with(&self, knob: Knob) -> Option<LeakyMeter> {
        let knob = match knob {
            Knob::Burst(burst) => Knob::Burst(burst.saturating_add(1)),
            other => other,
        };
        self.bucket.with(knob).map(|bucket| LeakyMeter { bucket, delay: self.delay })
    }

    fn carry(&self, old: &LeakyMeter, state: &State, now: SimTime) -> State {
        self.bucket.carry(&old.bucket, state, now)
    }
}
