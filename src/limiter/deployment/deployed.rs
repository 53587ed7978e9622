//! A rule in a deployment, with the ideal limit beside it.

use super::{Access, Deployment, Expiry};
use crate::limiter::{Level, Rule, Verdict};
use crate::request::Knob;
use crate::time::{Nanos, SimTime};
use std::collections::BTreeMap;

/// A rule whose state lies in a store.
#[derive(Clone, Debug)]
pub struct Deployed<R> {
    /// The limit that was meant.
    pub rule: R,
    /// What stands around it.
    pub deployment: Deployment,
    /// The limit that was meant, before it was rounded to what the store can count.
    meant: R,
}

/// What the store and the gateways hold of one limit.
#[derive(Clone, Debug)]
pub struct State<S> {
    stored: S,
    /// Writes on their way, by their arrival and the number of the ask.
    writes: BTreeMap<(SimTime, u64), S>,
    /// Each gateway's copy, and what it has taken since the last exchange.
    copies: Vec<(S, u64)>,
    exchanged: SimTime,
    /// When the lock is free.
    free: SimTime,
    /// When a key was made that never expires: time stands still for it.
    stuck: Option<SimTime>,
    /// The latest time that the store was shown: its script lets time stand still for who shows an earlier one, unless
    /// the dialect has an answer of its own.
    latest: SimTime,
    /// Asks so far, and the gateway of the last.
    asks: u64,
    last: u32,
    ideal: S,
    pub(super) over_admitted: u64,
    pub(super) falsely_refused: u64,
}

impl<R: Rule> Deployed<R> {
    /// A rule in a deployment.
    pub fn new(rule: R, deployment: Deployment) -> Deployed<R> {
        Deployed { meant: rule.meant(), rule, deployment }
    }

    /// What the gateway's clock shows, unless the key has no expiry: then no time passes for it.
    fn shown(&self, state: &State<R::State>, at: SimTime, gateway: u32) -> SimTime {
        let shown = self.deployment.clocks.shows(at, gateway, self.deployment.gateways);
        let own_clock = self.rule.steps_back() || matches!(self.deployment.access, Access::Local { .. });
        let shown = if own_clock { shown } else { shown.max(state.latest) };
        state.stuck.map_or(shown, |stuck| shown.min(stuck))
    }

    /// The first instant after `now` at which the gateway's clock shows a time.
    fn in_store_time(&self, shown: SimTime, now: SimTime, gateway: u32) -> Option<SimTime> {
        self.deployment.clocks.when(shown, now, gateway, self.deployment.gateways)
    }

    /// What the gateway reads at `now`.
    fn read<'s>(&self, state: &'s State<R::State>, now: SimTime, gateway: u32) -> &'s R::State {
        match self.deployment.access {
            Access::Local { .. } => &state.copies[gateway as usize].0,
            _ => {
                let due = state.writes.range(..=(now, u64::MAX)).next_back();
                due.map_or(&state.stored, |(_, written)| written)
            }
        }
    }

    /// When the ask is decided: when it has the lock, if it needs one, or `Err` of when the wait would be short enough.
    fn turn(&self, state: &State<R::State>, now: SimTime) -> Result<SimTime, SimTime> {
        match self.deployment.access {
            Access::Lock { timeout } if timeout < state.free.since(now) => {
                Err(SimTime(state.free.0.saturating_sub(timeout.0)))
            }
            Access::Lock { .. } => Ok(now.max(state.free)),
            _ => Ok(now),
        }
    }

    /// When the key goes that stands in the store as `state`, if keys come and go in two steps.
    fn gone_at(&self, state: &R::State, shown: SimTime) -> Option<SimTime> {
        match self.deployment.expiry {
            Expiry::Together => None,
            Expiry::TwoSteps { .. } => self.rule.gone_at(state, shown),
        }
    }

    /// Whether the key is there when it is looked for and gone when it is read.
    fn expires_between(&self, state: &R::State, shown: SimTime, latency: Nanos) -> bool {
        self.gone_at(state, shown).is_some_and(|at| shown < at && at <= shown.saturating_add(latency))
    }

    /// Brings what was written, and what is exchanged, up to `now`.
    fn advance(&self, state: &mut State<R::State>, now: SimTime) {
        while let Some(write) = state.writes.first_entry()
            && write.key().0 <= now
        {
            state.stored = write.remove();
        }
        let Access::Local { every } = self.deployment.access else { return };
        if now.since(state.exchanged) < every {
            return;
        }
        let exchange = SimTime(now.0 - now.0 % every.0);
        state.exchanged = exchange;
        let total: u64 = state.copies.iter().map(|(_, taken)| taken).sum();
        for (gateway, (copy, taken)) in state.copies.iter_mut().enumerate() {
            let shown = self.deployment.clocks.shows(exchange, gateway as u32, self.deployment.gateways);
            let others = total - std::mem::take(taken);
            if others > 0 {
                self.rule.charge(copy, shown, others);
            }
        }
    }

    /// What the ideal limit says of the same ask.
    fn ideal(&self, state: &mut State<R::State>, now: SimTime, cost: u64) -> bool {
        let passes = self.meant.check(&state.ideal, now, cost).passes();
        if passes {
            self.meant.take(&mut state.ideal, now, cost);
        } else {
            self.meant.refuse(&mut state.ideal, now, cost);
        }
        passes
    }
}

impl<R: Rule> Rule for Deployed<R> {
    type State = State<R::State>;
    const JUMPS: bool = R::JUMPS;

    fn fresh(&self) -> State<R::State> {
        let copies = match self.deployment.access {
            Access::Local { .. } => self.deployment.gateways as usize,
            _ => 0,
        };
        State {
            stored: self.rule.fresh(),
            writes: BTreeMap::new(),
            copies: vec![(self.rule.fresh(), 0); copies],
            exchanged: SimTime::ZERO,
            free: SimTime::ZERO,
            stuck: None,
            asks: 0,
            last: 0,
            latest: SimTime::ZERO,
            ideal: self.meant.fresh(),
            over_admitted: 0,
            falsely_refused: 0,
        }
    }

    fn check(&self, state: &State<R::State>, now: SimTime, cost: u64) -> Verdict {
        let deployment = &self.deployment;
        if let Some(until) = deployment.away_until(now) {
            return if deployment.fails_open { Verdict::Pass } else { Verdict::At(until) };
        }
        let (gateway, latency) = (deployment.gateway(state.asks, now), deployment.latency(state.asks, now));
        let turn = match self.turn(state, now) {
            Ok(turn) => turn,
            Err(at) => return Verdict::At(at),
        };
        let shown = self.shown(state, turn, gateway);
        let exchanged;
        let read = match deployment.access {
            Access::Local { every } if every <= now.since(state.exchanged) => {
                let mut copy = state.clone();
                self.advance(&mut copy, now);
                exchanged = copy;
                self.read(&exchanged, turn, gateway)
            }
            _ => self.read(state, turn, gateway),
        };
        if state.stuck.is_none() && self.expires_between(read, shown, latency) {
            return Verdict::At(now.saturating_add(latency));
        }
        let answered = turn.saturating_add(latency);
        let in_store_time = |at| self.in_store_time(at, now, gateway);
        match self.rule.check(read, shown, cost) {
            Verdict::Pass if answered == now => Verdict::Pass,
            Verdict::Pass => Verdict::Delay(answered),
            // A turn that time brings doesn't come for a key for which time stands still.
            Verdict::At(_) | Verdict::Delay(_) if state.stuck.is_some() => Verdict::Never,
            Verdict::Delay(at) => Verdict::Delay(answered.max(in_store_time(at).unwrap_or(answered))),
            Verdict::At(at) => in_store_time(at).map_or(Verdict::Never, Verdict::At),
            Verdict::Never => Verdict::Never,
        }
    }

    fn take(&self, state: &mut State<R::State>, now: SimTime, cost: u64) {
        let deployment = &self.deployment;
        let ask = state.asks;
        state.asks += 1;
        state.over_admitted += u64::from(!self.ideal(state, now, cost));
        if deployment.away_until(now).is_some() {
            return;
        }
        self.advance(state, now);
        let (gateway, latency) = (deployment.gateway(ask, now), deployment.latency(ask, now));
        state.last = gateway;
        let turn = self.turn(state, now).unwrap_or(now);
        let shown = self.shown(state, turn, gateway);
        let made = self.gone_at(self.read(state, turn, gateway), shown).is_some_and(|gone| gone <= shown);
        state.latest = state.latest.max(shown);
        match deployment.access {
            Access::Atomic => self.rule.take(&mut state.stored, shown, cost),
            Access::Optimistic => {
                let mut written = state.stored.clone();
                self.rule.take(&mut written, shown, cost);
                let at = now.saturating_add(latency);
                state.writes.insert((at, ask), written);
            }
            Access::Lock { .. } => {
                self.rule.take(&mut state.stored, shown, cost);
                state.free = turn.saturating_add(Nanos(latency.0.saturating_mul(2)));
            }
            Access::Local { .. } => {
                let (copy, taken) = &mut state.copies[gateway as usize];
                self.rule.take(copy, shown, cost);
                *taken += cost;
            }
        }
        if made && deployment.crashes(ask, now) {
            state.stuck = Some(shown);
        }
    }

    fn refuse(&self, state: &mut State<R::State>, now: SimTime, cost: u64) {
        let deployment = &self.deployment;
        let ask = state.asks;
        state.asks += 1;
        state.falsely_refused += u64::from(self.ideal(state, now, cost));
        if deployment.away_until(now).is_some() {
            return;
        }
        self.advance(state, now);
        let Ok(turn) = self.turn(state, now) else { return };
        let gateway = deployment.gateway(ask, now);
        state.last = gateway;
        let shown = self.shown(state, turn, gateway);
        state.latest = state.latest.max(shown);
        match deployment.access {
            Access::Local { .. } => self.rule.refuse(&mut state.copies[gateway as usize].0, shown, cost),
            Access::Lock { .. } => {
                self.rule.refuse(&mut state.stored, shown, cost);
                state.free = turn.saturating_add(Nanos(deployment.latency(ask, now).0.saturating_mul(2)));
            }
            _ => self.rule.refuse(&mut state.stored, shown, cost),
        }
    }

    /// Given back in the store, in one step; with copies, to the first gateway's.
    fn give_back(&self, state: &mut State<R::State>, now: SimTime, cost: u64) {
        self.advance(state, now);
        self.meant.give_back(&mut state.ideal, now, cost);
        let shown = self.shown(state, now, 0);
        match state.copies.first_mut() {
            Some((copy, _)) => self.rule.give_back(copy, shown, cost),
            None => self.rule.give_back(&mut state.stored, shown, cost),
        }
    }

    fn charge(&self, state: &mut State<R::State>, now: SimTime, cost: u64) {
        self.advance(state, now);
        self.meant.charge(&mut state.ideal, now, cost);
        let shown = self.shown(state, now, 0);
        match state.copies.first_mut() {
            Some((copy, taken)) => {
                self.rule.charge(copy, shown, cost);
                *taken = taken.saturating_add(cost);
            }
            None => self.rule.charge(&mut state.stored, shown, cost),
        }
    }

    /// What the store, or the first gateway, would say is left.
    fn level(&self, state: &State<R::State>, now: SimTime) -> Level {
        let shown = self.shown(state, now, 0);
        let level = self.rule.level(self.read(state, now, 0), shown);
        let until = level.until.filter(|_| state.stuck.is_none());
        Level { until: until.and_then(|until| self.in_store_time(until, now, 0)), ..level }
    }

    /// As the gateway that decided last tells it.
    fn remaining(&self, state: &State<R::State>, now: SimTime) -> (i128, u128) {
        self.rule.remaining(self.read(state, now, state.last), self.shown(state, now, state.last))
    }

    /// As the gateway that decided last tells it.
    fn reset(&self, state: &State<R::State>, now: SimTime) -> Option<SimTime> {
        let shown = self.shown(state, now, state.last);
        let reset = self.rule.reset(self.read(state, now, state.last), shown)?;
        match reset <= shown {
            true => Some(now),
            false if state.stuck.is_some() => None,
            false => self.in_store_time(reset, now, state.last),
        }
    }

    /// As the gateway that it comes to tells it.
    fn colour(&self, state: &State<R::State>, now: SimTime, cost: u64) -> Option<&'static str> {
        let gateway = self.deployment.gateway(state.asks, now);
        self.rule.colour(self.read(state, now, gateway), self.shown(state, now, gateway), cost)
    }

    fn capacity(&self) -> Option<(u64, &'static str)> {
        self.rule.capacity()
    }

    /// A key that has been counted for something is kept.
    fn is_idle(&self, state: &State<R::State>, fresh: &State<R::State>, now: SimTime) -> bool {
        let lost = state.over_admitted + state.falsely_refused > 0 || state.stuck.is_some();
        let shown = self.shown(state, now, 0);
        !lost
            && state.writes.is_empty()
            && state.copies.is_empty()
            && state.free <= now
            && self.rule.is_idle(&state.stored, &fresh.stored, shown)
    }

    /// Who can't have the lock waits for it as long as may be.
    fn holds(&self, state: &State<R::State>, now: SimTime) -> Nanos {
        match self.deployment.access {
            Access::Lock { timeout } if self.turn(state, now).is_err() => timeout,
            _ => Nanos::ZERO,
        }
    }

    fn counts_refusals(&self) -> bool {
        self.rule.counts_refusals()
    }

    fn steps_back(&self) -> bool {
        self.rule.steps_back()
    }

    fn peeks(&self) -> bool {
        self.rule.peeks()
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        self.rule.knob(key)
    }

    fn with(&self, knob: Knob) -> Option<Deployed<R>> {
        let rule = self.rule.with(knob)?;
        Some(Deployed::new(rule, self.deployment.clone()))
    }

    /// Every copy is carried over; what is still on its way is dropped.
    fn carry(&self, old: &Deployed<R>, state: &State<R::State>, now: SimTime) -> State<R::State> {
        let mut state = state.clone();
        self.advance(&mut state, now);
        state.writes.clear();
        let shown = self.shown(&state, now, 0);
        state.stored = self.rule.carry(&old.rule, &state.stored, shown);
        state.ideal = self.meant.carry(&old.meant, &state.ideal, now);
        for (copy, _) in &mut state.copies {
            *copy = self.rule.carry(&old.rule, copy, shown);
        }
        state
    }

    fn counts(&self, state: &State<R::State>, visit: &mut dyn FnMut(&'static str, u64)) {
        visit("over_admitted", state.over_admitted);
        visit("falsely_refused", state.falsely_refused);
    }
}
