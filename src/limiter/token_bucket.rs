//! Token bucket with continuous refill, exact to the nanosecond.
//!
//! The bucket holds at most `burst` units and gains `rate` units over time. An ask passes when the bucket holds
//! its cost, which is then taken out.
//!
//! Everything is integer. With the rate reduced to p units per q nanoseconds, the level counts credits: one unit
//! costs q, one nanosecond brings p. So nothing is rounded but the wait, which is ⌈lack / p⌉, the first instant
//! that passes. Source: the leaky bucket as a meter of ITU-T I.371, in the form that Bucket4j calls greedy.

use super::{Level, Rule, Verdict};
use crate::request::{Ask, End, Knob, Unit};
use crate::time::SimTime;
use crate::units::{MAX_COUNT, Rate};

/// A token bucket's rule. The edge: a full bucket passes a cost equal to its burst, a larger cost never passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Refill.
    pub rate: Rate,
    /// Most units that the bucket holds, at most 10^15.
    pub burst: u64,
    /// Units that it starts with; a start above the burst is a full bucket.
    pub initial: u64,
    /// What is counted.
    pub unit: Unit,
    /// Whether work that was turned away later, or left the queue, is given back what it took.
    pub refund: bool,
}

/// A bucket: its credits when it was last touched.
#[derive(Clone, Debug)]
pub struct State {
    credits: u128,
    touched: SimTime,
}

impl TokenBucket {
    /// A bucket that starts full, counts requests and gives back what was not used.
    pub fn new(rate: Rate, burst: u64) -> TokenBucket {
        assert!(burst <= MAX_COUNT, "a burst is at most 10^15");
        TokenBucket { rate, burst, initial: burst, unit: Unit::Requests, refund: true }
    }

    #[inline]
    fn credits(&self, units: u64) -> u128 {
        units as u128 * self.rate.per().0 as u128
    }

    #[inline]
    fn at(&self, state: &State, now: SimTime) -> u128 {
        let gained = self.rate.units() as u128 * now.since(state.touched).0 as u128;
        state.credits.saturating_add(gained).min(self.credits(self.burst))
    }
}

impl Rule for TokenBucket {
    type State = State;

    fn fresh(&self) -> State {
        State { credits: self.credits(self.initial.min(self.burst)), touched: SimTime::ZERO }
    }

    #[inline]
    fn check(&self, state: &State, now: SimTime, ask: &Ask) -> Verdict {
        let (cost, level) = (self.credits(ask.estimate(self.unit)), self.at(state, now));
        if cost <= level {
            return Verdict::Pass;
        }
        if self.credits(self.burst) < cost {
            return Verdict::Never;
        }
        Verdict::after(now, cost - level, self.rate.units())
    }

    #[inline]
    fn take(&self, state: &mut State, now: SimTime, ask: &Ask) {
        let (cost, level) = (self.credits(ask.estimate(self.unit)), self.at(state, now));
        assert!(cost <= level, "taken without a pass");
        *state = State { credits: level - cost, touched: now };
    }

    /// Gives back up to the burst.
    fn settle(&self, state: &mut State, now: SimTime, ask: &Ask, end: End) {
        if end == End::Unused && self.refund {
            let level = self.at(state, now) + self.credits(ask.estimate(self.unit));
            *state = State { credits: level.min(self.credits(self.burst)), touched: now };
        }
    }

    #[inline]
    fn left(&self, state: &State, now: SimTime) -> u128 {
        self.at(state, now)
    }

    fn level(&self, state: &State, now: SimTime) -> Level {
        Level {
            credits: self.at(state, now),
            full: self.credits(self.burst),
            gain: self.rate.units(),
            price: self.rate.per().0,
        }
    }

    fn with(&self, knob: Knob) -> Option<TokenBucket> {
        match knob {
            Knob::Rate(rate) => Some(TokenBucket { rate, ..self.clone() }),
            Knob::Burst(burst) => Some(TokenBucket { burst, ..self.clone() }),
            _ => None,
        }
    }

    /// The units in the bucket stay, rounded down to the new credit; what is above a smaller burst spills.
    fn carry(&self, old: &TokenBucket, state: &State, now: SimTime) -> State {
        let (level, price) = (old.at(state, now), old.rate.per().0 as u128);
        let rest = level % price * self.rate.per().0 as u128 / price;
        let credits = level / price * self.rate.per().0 as u128 + rest;
        State { credits: credits.min(self.credits(self.burst)), touched: now }
    }
}
