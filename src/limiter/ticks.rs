//! Bucket that is filled at ticks of a clock, and may be taken into debt for as long as one would wait.
//!
//! Ticks lie at multiples of the period P from the start. Each brings `quantum` tokens, up to `burst`. Who asks for
//! more than is there gets it in advance: it starts at the tick that makes up for the debt, ⌈debt / quantum⌉ ticks from
//! the present one, if that is not further away than `max_wait`. What is refused takes nothing.
//!
//! This is juju/ratelimit's bucket, and with quantum = burst = limit the cycles of Resilience4j's AtomicRateLimiter and
//! of Failsafe's bursty limiter. When time steps back the ticks between are taken away again, as juju does.

use super::meter::Staircase;
use super::{Level, Rule, Verdict};
use crate::time::{Nanos, SimTime};

/// A bucket's rule. The edge: what a tick brings is there at its instant; a wait of exactly `max_wait` is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticks {
    /// Tokens that a tick brings, at least 1.
    pub quantum: u64,
    /// Time between ticks, at least 1 ns.
    pub period: Nanos,
    /// Most tokens that the bucket holds.
    pub burst: u64,
    /// Tokens that it starts with.
    pub initial: u64,
    /// The longest wait that is reserved; `None` waits for ever.
    pub max_wait: Option<Nanos>,
    /// The key in files that says how much it holds.
    pub holds: &'static str,
}

/// Tokens at a tick; below zero what is reserved of later ones.
#[derive(Clone, Debug)]
pub struct State {
    tokens: i128,
    tick: u64,
}

impl Ticks {
    fn tick(&self, now: SimTime) -> u64 {
        now.0 / self.period.0
    }

    fn at(&self, state: &State, now: SimTime) -> i128 {
        if i128::from(self.burst) <= state.tokens {
            return state.tokens;
        }
        let ticks = i128::from(self.tick(now)) - i128::from(state.tick);
        let gained = ticks.saturating_mul(self.quantum.into());
        state.tokens.saturating_add(gained).min(self.burst.into())
    }

    /// Ticks that bring so many tokens.
    fn ticks(&self, tokens: i128) -> u128 {
        u128::try_from(tokens).unwrap_or(0).div_ceil(self.quantum.into())
    }

    fn instant(&self, tick: u128) -> u128 {
        tick.saturating_mul(self.period.0.into())
    }

    /// When an ask that would wait too long now would wait no longer than it may.
    fn later(&self, tokens: i128, now: SimTime, cost: u64, max_wait: Nanos) -> Verdict {
        let (tick, wait) = (u128::from(self.tick(now)), u128::from(max_wait.0));
        let at = self.instant(tick + self.ticks(i128::from(cost) - tokens)).saturating_sub(wait);
        // While the bucket fills, the tick that makes up for the debt stays the same. Once it is full, it moves on.
        let full = tick + self.ticks(i128::from(self.burst) - tokens);
        if cost <= self.burst || at < self.instant(full) {
            return instant(at);
        }
        let beyond = self.ticks(i128::from(cost) - i128::from(self.burst));
        let at = self.instant(full + beyond).saturating_sub(wait).max(self.instant(full));
        if at < self.instant(full + 1) { instant(at) } else { Verdict::Never }
    }
}

fn instant(at: u128) -> Verdict {
    u64::try_from(at).map_or(Verdict::Never, |at| Verdict::At(SimTime(at)))
}

impl Rule for Ticks {
    type State = State;
    const JUMPS: bool = true;

    fn fresh(&self) -> State {
        State { tokens: self.initial.into(), tick: 0 }
    }

    fn check(&self, state: &State, now: SimTime, cost: u64) -> Verdict {
        let tokens = self.at(state, now);
        let debt = i128::from(cost) - tokens;
        if debt <= 0 || cost == 0 {
            return Verdict::Pass;
        }
        let start = self.instant(u128::from(self.tick(now)) + self.ticks(debt));
        let wait = start - u128::from(now.0);
        match (self.max_wait, u64::try_from(start)) {
            (Some(most), _) if u128::from(most.0) < wait => self.later(tokens, now, cost, most),
            (_, Ok(start)) => Verdict::Delay(SimTime(start)),
            (_, Err(_)) => Verdict::Never, // past the end of representable time
        }
    }

    fn take(&self, state: &mut State, now: SimTime, cost: u64) {
        self.charge(state, now, cost);
    }

    fn give_back(&self, state: &mut State, now: SimTime, cost: u64) {
        let tokens = (self.at(state, now) + i128::from(cost)).min(self.burst.into());
        *state = State { tokens, tick: self.tick(now) };
    }

    fn charge(&self, state: &mut State, now: SimTime, cost: u64) {
        let tokens = self.at(state, now).saturating_sub(cost.into());
        *state = State { tokens, tick: self.tick(now) };
    }

    fn refuse(&self, state: &mut State, now: SimTime, _cost: u64) {
        *state = State { tokens: self.at(state, now), tick: self.tick(now) };
    }

    fn level(&self, state: &State, now: SimTime) -> Level {
        let tokens = self.at(state, now);
        let next = u64::try_from(self.instant(u128::from(self.tick(now)) + 1)).ok().map(SimTime);
        let until = next.filter(|_| tokens < self.burst.into());
        Level { credits: tokens, full: self.burst.into(), gain: 0, price: 1, until }
    }

    fn area(&self, state: &State, from: SimTime, to: SimTime) -> Option<f64> {
        let stairs = Staircase {
            level: self.at(state, from) as f64,
            fill: self.quantum as f64,
            full: self.burst as f64,
            next: (self.period.0 - from.0 % self.period.0) as f64,
            period: self.period.0 as f64,
        };
        Some(stairs.area(to.since(from).0 as f64))
    }

    fn reset(&self, state: &State, now: SimTime) -> Option<SimTime> {
        let lack = i128::from(self.burst).saturating_sub(self.at(state, now));
        if lack <= 0 {
            return Some(now);
        }
        u64::try_from(self.instant(u128::from(self.tick(now)) + self.ticks(lack))).ok().map(SimTime)
    }

    /// What a full bucket passes right before a tick.
    fn is_idle(&self, state: &State, fresh: &State, now: SimTime) -> bool {
        self.at(state, now) == i128::from(self.burst) && self.at(fresh, now) == i128::from(self.burst)
    }

    fn capacity(&self) -> Option<(u64, &'static str)> {
        let waited = u128::from(self.max_wait?.0).div_ceil(self.period.0.into());
        let most = waited.saturating_mul(self.quantum.into()).saturating_add(self.burst.into());
        Some((u64::try_from(most).unwrap_or(u64::MAX), self.holds))
    }

    fn steps_back(&self) -> bool {
        true
    }
}
