//! Token bucket with continuous refill, exact to the nanosecond.
//!
//! The bucket holds at most `burst` units and gains `rate` units over time. An ask passes when the bucket holds
//! its cost, which is then taken out.
//!
//! Everything is integer. With the rate reduced to p units per q nanoseconds, the level counts credits: one unit
//! costs q, one nanosecond brings p. So nothing is rounded but the wait, which is ⌈lack / p⌉, the first instant
//! that passes. Source: the leaky bucket as a meter of ITU-T I.371, in the form that Bucket4j calls
//! greedy.

use super::{Level, Rule, Verdict};
use crate::request::Knob;
use crate::time::SimTime;
use crate::units::{MAX_AMOUNT, Rate};

/// A token bucket's rule. The edge: a full bucket passes a cost equal to its burst, a larger cost never passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Refill.
    pub rate: Rate,
    /// Most units that the bucket holds, at most 2^63.
    pub burst: u64,
    /// Units that it starts with; a start above the burst is a full bucket.
    pub initial: u64,
    /// Whether time that steps back just brings nothing, as in Bucket4j; else it is refused.
    pub clamps: bool,
}

/// A bucket: its credits when it was last touched.
#[derive(Clone, Debug)]
pub struct State {
    credits: i128,
    touched: SimTime,
}

impl TokenBucket {
    /// A bucket that starts full.
    pub fn new(rate: Rate, burst: u64) -> TokenBucket {
        assert!(burst <= MAX_AMOUNT, "a burst is at most 2^63");
        TokenBucket { rate, burst, initial: burst, clamps: false }
    }

    /// At most 2^63 units of 2^62 credits each, so that sums of a few stay in 128 bits with their sign.
    #[inline]
    fn credits(&self, units: u64) -> i128 {
        (units as u128 * self.rate.per().0 as u128) as i128
    }

    #[inline]
    fn at(&self, state: &State, now: SimTime) -> i128 {
        let gained = self.rate.units() as u128 * now.since(state.touched).0 as u128;
        (state.credits + gained as i128).min(self.credits(self.burst))
    }
}

impl Rule for TokenBucket {
    type State = State;

    fn fresh(&self) -> State {
        State { credits: self.credits(self.initial.min(self.burst)), touched: SimTime::ZERO }
    }

    #[inline]
    fn check(&self, state: &State, now: SimTime, cost: u64) -> Verdict {
        let (wanted, level) = (self.credits(cost), self.at(state, now));
        if wanted <= level && (state.touched <= now || self.clamps) {
            return Verdict::Pass;
        }
        if self.burst < cost {
            return Verdict::Never;
        }
        // Time that went back to before the last use brings nothing until it has caught up.
        let lack = u128::try_from(wanted.saturating_sub(level)).unwrap_or(0);
        Verdict::after(now.max(state.touched), lack, self.rate.units())
    }

    #[inline]
    fn take(&self, state: &mut State, now: SimTime, cost: u64) {
        let (wanted, level) = (self.credits(cost), self.at(state, now));
        assert!(wanted <= level, "taken without a pass");
        *state = State { credits: level - wanted, touched: now.max(state.touched) };
    }

    fn give_back(&self, state: &mut State, now: SimTime, cost: u64) {
        let credits = (self.at(state, now) + self.credits(cost)).min(self.credits(self.burst));
        *state = State { credits, touched: now.max(state.touched) };
    }

    /// A debt that 128 bits can't hold outlasts time itself.
    fn charge(&self, state: &mut State, now: SimTime, cost: u64) {
        let credits = self.at(state, now).saturating_sub(self.credits(cost));
        *state = State { credits, touched: now.max(state.touched) };
    }

    /// Moves the clock on, which changes no level.
    fn refuse(&self, state: &mut State, now: SimTime, cost: u64) {
        if cost <= self.burst && state.touched <= now {
            *state = State { credits: self.at(state, now), touched: now };
        }
    }

    #[inline]
    fn left(&self, state: &State, now: SimTime) -> i128 {
        self.at(state, now)
    }

    fn level(&self, state: &State, now: SimTime) -> Level {
        Level {
            credits: self.at(state, now),
            full: self.credits(self.burst),
            gain: self.rate.units(),
            price: self.rate.per().0,
            until: None,
        }
    }

    fn reset(&self, state: &State, now: SimTime) -> Option<SimTime> {
        self.level(state, now).full_at(now.max(state.touched))
    }

    fn capacity(&self) -> Option<(u64, &'static str)> {
        Some((self.burst, "burst"))
    }

    /// Both are full; a bucket that does not start full is as good as unused once a fresh one would be full too.
    fn is_idle(&self, state: &State, fresh: &State, now: SimTime) -> bool {
        let full = self.credits(self.burst);
        self.at(state, now) == full && self.at(fresh, now) == full
    }

    fn steps_back(&self) -> bool {
        self.clamps
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        match key {
            "rate" => Some(Knob::Rate(self.rate)),
            "burst" => Some(Knob::Burst(self.burst)),
            _ => None,
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
        let credits = exchange(old.at(state, now), old.rate, self.rate);
        State { credits: credits.min(self.credits(self.burst)), touched: now }
    }
}

/// Credits at the price of `new` for credits at the price of `old`, rounded down.
pub(super) fn exchange(credits: i128, old: Rate, new: Rate) -> i128 {
    let (old, new) = (i128::from(old.per().0), i128::from(new.per().0));
    let (whole, rest) = (credits.div_euclid(old), credits.rem_euclid(old));
    // A debt that is larger than 128 bits hold at the new price outlasts time itself.
    whole.saturating_mul(new).saturating_add(rest * new / old)
}
