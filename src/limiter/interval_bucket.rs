//! Token bucket that is filled at intervals: whole periods bring their tokens at once.
//!
//! Every period P brings `fill` tokens, up to `burst`; between the boundaries nothing comes. The boundaries count from
//! the first ask, or are aligned: `first` + k·P, none before `first`. With adaptive start a bucket that is first used
//! before `first` holds what is guaranteed, max(0, burst − fill), and the part of `fill` for the time that is left, in
//! whole tokens. Sources: Bucket4j's interval refills; Envoy's token bucket, whose periods are aligned to its start.

use super::meter::Staircase;
use super::{Level, Rule, Verdict};
use crate::request::Knob;
use crate::time::{Nanos, SimTime};

/// A bucket's rule. The edge: what a boundary brings is there at its instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntervalBucket {
    /// Tokens that a period brings, at least 1.
    pub fill: u64,
    /// The period, at least 1 ns.
    pub period: Nanos,
    /// Most tokens that the bucket holds.
    pub burst: u64,
    /// Tokens that it starts with.
    pub initial: u64,
    /// Where the boundaries lie.
    pub boundaries: Boundaries,
    /// Whether time that steps back just brings nothing, as in Bucket4j; else it is refused.
    pub clamps: bool,
}

/// Where the boundaries of periods lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundaries {
    /// A period after the first ask, and so on.
    FromFirstUse,
    /// At this instant, and every period from then on.
    Aligned {
        /// The first boundary.
        first: SimTime,
        /// Whether the start follows from the time that is left to it.
        adaptive: bool,
    },
}

/// Whole tokens, and the next boundary once there was an ask.
#[derive(Clone, Debug)]
pub struct State {
    tokens: i128,
    next: Option<u128>,
    touched: SimTime,
}

impl IntervalBucket {
    /// The state as it stands at `now`, filled up to then.
    fn at(&self, state: &State, now: SimTime) -> State {
        let now = now.max(state.touched);
        let (tokens, next) = match state.next {
            Some(next) => (state.tokens, next),
            None => self.opened(now),
        };
        if u128::from(now.0) < next {
            return State { tokens, next: Some(next), touched: now };
        }
        let periods = (u128::from(now.0) - next) / u128::from(self.period.0) + 1;
        let gained = i128::try_from(periods * u128::from(self.fill)).unwrap_or(i128::MAX);
        let tokens = tokens.saturating_add(gained).min(self.burst.into());
        State { tokens, next: Some(next + periods * u128::from(self.period.0)), touched: now }
    }

    /// Tokens and next boundary of a bucket that is first used now.
    fn opened(&self, now: SimTime) -> (i128, u128) {
        let (at, period) = (u128::from(now.0), u128::from(self.period.0));
        match self.boundaries {
            Boundaries::FromFirstUse => (self.initial.into(), at + period),
            Boundaries::Aligned { first, adaptive } => {
                let first = u128::from(first.0);
                if first <= at {
                    return (self.initial.into(), first + ((at - first) / period + 1) * period);
                }
                if !adaptive {
                    return (self.initial.into(), first);
                }
                let part = (first - at).saturating_mul(self.fill.into()) / period;
                let tokens = u128::from(self.burst.saturating_sub(self.fill)).saturating_add(part);
                (tokens.min(self.burst.into()) as i128, first)
            }
        }
    }

    /// The instant of the boundary after which `lack` more tokens are there.
    fn brings(&self, state: &State, lack: i128) -> Option<SimTime> {
        let more = u128::try_from(lack).unwrap_or(0).div_ceil(self.fill.into()).saturating_sub(1);
        let at = more.checked_mul(self.period.0.into())?.checked_add(state.next?)?;
        u64::try_from(at).ok().map(SimTime)
    }
}

impl Rule for IntervalBucket {
    type State = State;
    const JUMPS: bool = true;

    /// Aligned boundaries fill a bucket from the start of the run on, used or not.
    fn fresh(&self) -> State {
        let unused = State { tokens: self.initial.into(), next: None, touched: SimTime::ZERO };
        match self.boundaries {
            Boundaries::Aligned { adaptive: false, .. } => self.at(&unused, SimTime::ZERO),
            _ => unused,
        }
    }

    fn check(&self, state: &State, now: SimTime, cost: u64) -> Verdict {
        let then = self.at(state, now);
        let lack = i128::from(cost) - then.tokens;
        if lack <= 0 {
            return if state.touched <= now || self.clamps {
                Verdict::Pass
            } else {
                Verdict::At(state.touched)
            };
        }
        if self.burst < cost {
            return Verdict::Never;
        }
        self.brings(&then, lack).map_or(Verdict::Never, Verdict::At)
    }

    fn take(&self, state: &mut State, now: SimTime, cost: u64) {
        *state = self.at(state, now);
        assert!(i128::from(cost) <= state.tokens, "taken without a pass");
        state.tokens -= i128::from(cost);
    }

    fn give_back(&self, state: &mut State, now: SimTime, cost: u64) {
        *state = self.at(state, now);
        state.tokens = (state.tokens + i128::from(cost)).min(self.burst.into());
    }

    fn charge(&self, state: &mut State, now: SimTime, cost: u64) {
        *state = self.at(state, now);
        state.tokens = state.tokens.saturating_sub(cost.into());
    }

    fn refuse(&self, state: &mut State, now: SimTime, cost: u64) {
        if cost <= self.burst {
            *state = self.at(state, now);
        }
    }

    fn level(&self, state: &State, now: SimTime) -> Level {
        let then = self.at(state, now);
        let fills = state.next.is_some() && then.tokens < self.burst.into();
        let next = then.next.and_then(|next| u64::try_from(next).ok()).map(SimTime);
        Level {
            credits: then.tokens,
            full: self.burst.into(),
            gain: 0,
            price: 1,
            until: next.filter(|_| fills),
        }
    }

    fn area(&self, state: &State, from: SimTime, to: SimTime) -> Option<f64> {
        let then = self.at(state, from);
        let stairs = Staircase {
            level: then.tokens as f64,
            fill: self.fill as f64,
            full: self.burst as f64,
            next: (then.next? - u128::from(then.touched.0)) as f64,
            period: self.period.0 as f64,
        };
        Some(stairs.area(to.since(then.touched).0 as f64))
    }

    fn reset(&self, state: &State, now: SimTime) -> Option<SimTime> {
        let then = self.at(state, now);
        let lack = i128::from(self.burst).saturating_sub(then.tokens);
        if lack <= 0 { Some(then.touched) } else { self.brings(&then, lack) }
    }

    fn capacity(&self) -> Option<(u64, &'static str)> {
        Some((self.burst, "burst"))
    }

    fn steps_back(&self) -> bool {
        self.clamps
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        (key == "burst").then_some(Knob::Burst(self.burst))
    }

    fn with(&self, knob: Knob) -> Option<IntervalBucket> {
        match knob {
            Knob::Burst(burst) => Some(IntervalBucket { burst, ..self.clone() }),
            _ => None,
        }
    }

    /// What is above a smaller burst spills.
    fn carry(&self, old: &IntervalBucket, state: &State, now: SimTime) -> State {
        let then = if state.next.is_some() { old.at(state, now) } else { state.clone() };
        State { tokens: then.tokens.min(self.burst.into()), ..then }
    }
}
