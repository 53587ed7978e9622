//! SEDA's adaptive admission: each client has a token bucket whose rate follows the tail of its response times.
//!
//! After `responses` responses, or at one that comes more than `timeout` after the last reckoning: cur ← 0.7 · cur + 0.3
//! · p99 of the responses since, err = (cur − target) / target. Above 0 the rate is divided by 1.1; below −0.5 it gains
//! −(err + 0.1) · `increase`. Rates begin uniform between `least` and twice that and never fall below it; a bucket begins
//! empty and holds four. A response time lasts from the call's arrival to its end. Source: M. Welsh, D. Culler, Adaptive
//! Overload Control for Busy Internet Servers, USITS 2003; Breakwater's artefact, `sd_client.c`.

use super::sessions::Sessions;
use super::{Admission, Cast, Denial, Entrant, Habits, Plan, Scene};
use crate::gauge::{Gauge, Reading};
use crate::request::{End, Reason};
use crate::rng::Purpose;
use crate::time::{Nanos, SimTime};

/// A controller, as it is described.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The clients.
    pub sessions: Sessions,
    /// The response time that is aimed at.
    pub target: Nanos,
    /// So many responses make a sample.
    pub responses: u64,
    /// Or fewer, so long after the last.
    pub timeout: Nanos,
    /// The least rate of a client, per second.
    pub least: f64,
    /// How fast rates rise, per second and unit of error.
    pub increase: f64,
}

/// What a bucket holds.
const DEPTH: f64 = 4.0;

impl Plan for Settings {
    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        let client = |number: u64| Client {
            rate: self.least * (1.0 + cast.luck.share(Purpose::Policy, number as u32)),
            tokens: 0.0,
            filled: SimTime::ZERO,
            current: 0.0,
            reckoned: SimTime::ZERO,
            responses: Vec::with_capacity(self.responses as usize),
        };
        let clients = (0..self.sessions.count).map(client).collect();
        Box::new(Seda { settings: self.clone(), clients, in_use: Gauge::new(0) })
    }
}

/// What a client knows.
#[derive(Clone, Debug)]
struct Client {
    rate: f64,
    tokens: f64,
    filled: SimTime,
    current: f64,
    reckoned: SimTime,
    responses: Vec<u64>,
}

/// Clients at work.
#[derive(Clone, Debug)]
pub struct Seda {
    settings: Settings,
    clients: Vec<Client>,
    in_use: Gauge,
}

impl Client {
    fn reckon(&mut self, now: SimTime, settings: &Settings) {
        self.responses.sort_unstable();
        let rank = (self.responses.len() * 99).div_ceil(100);
        let sample = self.responses[rank - 1] as f64;
        self.current = 0.7 * self.current + 0.3 * sample;
        let error = self.current / settings.target.0 as f64 - 1.0;
        if 0.0 < error {
            self.rate /= 1.1;
        } else if error < -0.5 {
            self.rate += -(error + 0.1) * settings.increase;
        }
        self.rate = self.rate.max(settings.least);
        self.reckoned = now;
        self.responses.clear();
    }
}

impl Admission for Seda {
    fn habits(&self) -> Habits {
        Habits { sheds: true, ..Habits::default() }
    }

    fn sheds(&mut self, now: SimTime, entrant: &Entrant<'_>, _scene: &Scene) -> Option<Denial> {
        let client = &mut self.clients[self.settings.sessions.of(entrant.ask)];
        let seconds = now.since(client.filled).0 as f64 / 1e9;
        client.tokens = (client.tokens + client.rate * seconds).min(DEPTH);
        client.filled = now;
        if client.tokens < 1.0 {
            return Some(Denial { reason: Reason::Shed, scope: "client" });
        }
        client.tokens -= 1.0;
        None
    }

    fn take(&mut self, now: SimTime, _entrant: &Entrant<'_>) {
        self.in_use.up(now, 1);
    }

    fn settle(&mut self, now: SimTime, entrant: &Entrant<'_>, end: End) {
        self.in_use.down(now, 1);
        if end == End::Unused {
            return;
        }
        let client = &mut self.clients[self.settings.sessions.of(entrant.ask)];
        client.responses.push(entrant.waited.0);
        let is_late = self.settings.timeout < now.since(client.reckoned);
        if self.settings.responses <= client.responses.len() as u64 || is_late {
            client.reckon(now, &self.settings);
        }
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
        visit("rate", Reading::of(self.clients.iter().map(|client| client.rate).sum()));
    }
}
