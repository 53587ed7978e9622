//! Breakwater: a server hands out credits, by its own queueing delay; a client calls only with one.
//!
//! Every `rtt`, with the queueing delay d: if d ≥ target, W ← ⌊W · max(1 − b · (d − target) / target, 1/2)⌋; else W gains a
//! for each session, fractions carried over. W lies between the slots and 64 for each session. Spare credits go one by
//! one to sessions that have asked and hold none.
//!
//! At each response a session's credits are set: with open = W − all credits, over = max(1, ⌊open / sessions⌋), what it
//! has called and what it wants: if credits are left, min(called + wants + over, its credits + open); if too many are out,
//! one less. They stay between what it has called and 63. A session that asks without a credit gets `over` at once if
//! there are spare ones. What it wants is what it was refused since. A client that has no credit gives a call up at once
//! (`credit`), where the original lets it wait for a microsecond or ten; what arrives while d is twice the target or more
//! is dropped (`delay`). Source: I. Cho and others, Overload Control for µs-scale RPCs with Breakwater, OSDI 2020, and its
//! artefact, `bw_server.c`.

use super::sessions::Sessions;
use super::{Admission, Cast, Denial, Entrant, Habits, Plan, Scene};
use crate::gauge::{Gauge, Reading};
use crate::request::{Ask, End, Reason};
use crate::time::{Nanos, SimTime};
use std::collections::VecDeque;

/// A server, as it is described.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The clients.
    pub sessions: Sessions,
    /// How often the delay is looked at.
    pub rtt: Nanos,
    /// The queueing delay that is aimed at.
    pub target: Nanos,
    /// Credits gained for each session while the delay is short.
    pub a: f64,
    /// How strongly they are taken back.
    pub b: f64,
}

/// Credits of a session, at most.
const MOST: u64 = 63;
/// Credits of the server for each session, at most.
const POOL: u64 = 64;

impl Plan for Settings {
    fn build(&self, _cast: &Cast<'_>) -> Box<dyn Admission> {
        Box::new(Breakwater {
            settings: self.clone(),
            sessions: vec![Session::default(); self.sessions.count as usize],
            drained: VecDeque::new(),
            pool: 1,
            out: 0,
            carry: 0.0,
            in_use: Gauge::new(0),
            next: SimTime::ZERO.saturating_add(self.rtt),
        })
    }
}

/// A client's connection.
#[derive(Clone, Copy, Debug, Default)]
struct Session {
    credits: u64,
    /// Calls that have been sent and not been answered.
    called: u64,
    /// Calls that were given up for want of a credit since the last answer.
    wants: u64,
    is_drained: bool,
}

/// A server at work.
#[derive(Clone, Debug)]
pub struct Breakwater {
    settings: Settings,
    sessions: Vec<Session>,
    /// Those that have asked and hold no spare credit, the first to ask in front.
    drained: VecDeque<usize>,
    pool: u64,
    /// All credits of all sessions.
    out: u64,
    carry: f64,
    in_use: Gauge,
    next: SimTime,
}

impl Breakwater {
    fn over(&self) -> u64 {
        (self.pool.saturating_sub(self.out) / self.settings.sessions.count).max(1)
    }

    fn set(&mut self, number: usize, credits: u64) {
        let session = &mut self.sessions[number];
        self.out = self.out - session.credits + credits;
        session.credits = credits;
    }

    /// A session hears of its credits with an answer.
    fn answered(&mut self, ask: &Ask) {
        let number = self.settings.sessions.of(ask);
        let over = self.over();
        let session = &mut self.sessions[number];
        session.called -= 1;
        let Session { credits, called, wants, .. } = *session;
        session.wants = 0;
        let most = called + wants + over;
        let wanted = match self.pool.checked_sub(self.out) {
            Some(0) => credits,
            Some(open) => most.min(credits + open),
            None => credits.saturating_sub(1),
        };
        self.set(number, wanted.min(most).clamp(called, MOST.max(called)));
    }
}

impl Admission for Breakwater {
    fn habits(&self) -> Habits {
        Habits { sheds: true, keeps_time: true, minds_losses: true, ..Habits::default() }
    }

    fn sheds(&mut self, _now: SimTime, entrant: &Entrant<'_>, scene: &Scene) -> Option<Denial> {
        let refuse = |scope| Some(Denial { reason: Reason::Shed, scope });
        // Before the first look at the delay there is a credit for each slot.
        self.pool = self.pool.max(scene.slots.unwrap_or(u64::MAX).min(POOL * self.settings.sessions.count));
        let number = self.settings.sessions.of(entrant.ask);
        let over = self.over();
        if self.sessions[number].credits <= self.sessions[number].called {
            if self.pool <= self.out {
                let session = &mut self.sessions[number];
                session.wants += 1;
                if !std::mem::replace(&mut session.is_drained, true) {
                    self.drained.push_back(number);
                }
                return refuse("credit");
            }
            let credits = (self.sessions[number].called + over).min(MOST);
            self.set(number, credits.max(self.sessions[number].credits));
            if credits <= self.sessions[number].called {
                return refuse("credit");
            }
        }
        if self.settings.target.0.saturating_mul(2) <= scene.delay.0 {
            return refuse("delay");
        }
        self.sessions[number].called += 1;
        None
    }

    fn take(&mut self, now: SimTime, _entrant: &Entrant<'_>) {
        self.in_use.up(now, 1);
    }

    fn settle(&mut self, now: SimTime, entrant: &Entrant<'_>, _end: End) {
        self.in_use.down(now, 1);
        self.answered(entrant.ask);
    }

    fn lost(&mut self, _now: SimTime, entrant: &Entrant<'_>, _reason: Option<Reason>) -> Option<Nanos> {
        self.answered(entrant.ask);
        None
    }

    fn alarm(&self) -> Option<SimTime> {
        Some(self.next)
    }

    fn ring(&mut self, now: SimTime, scene: &Scene) {
        let Settings { target, a, b, rtt, sessions } = self.settings.clone();
        let (delay, target) = (scene.delay.0 as f64, target.0 as f64);
        if target <= delay {
            let factor = (1.0 - b * (delay - target) / target).max(0.5);
            self.pool = (self.pool as f64 * factor) as u64;
            self.carry = 0.0;
        } else {
            self.carry += a * sessions.count as f64;
            self.pool += self.carry as u64;
            self.carry -= self.carry.floor();
        }
        let most = POOL * sessions.count;
        self.pool = self.pool.clamp(scene.slots.unwrap_or(1).min(most).max(1), most);
        while self.out < self.pool
            && let Some(number) = self.drained.pop_front()
        {
            self.sessions[number].is_drained = false;
            let Session { credits, called, .. } = self.sessions[number];
            if credits <= called && credits < MOST {
                self.set(number, credits + 1);
            }
        }
        self.next = now.saturating_add(rtt);
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
        visit("credits", Reading::of(self.pool as f64));
        visit("credits_out", Reading::of(self.out as f64));
    }
}
