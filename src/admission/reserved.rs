//! A share of the slots that is always kept for critical work.
//!
//! Critical classes may start while fewer than `limit` are in flight, all others while fewer than `limit` − ⌈limit ·
//! reserved⌉ are. Source: P. Tarjan, Scaling your API with rate limiters (Stripe), 2017: the fleet usage load shedder,
//! which keeps a fifth of the workers.

use super::{Admission, Answer, Cast, Denial, Entrant, Plan};
use crate::gauge::{Gauge, Reading};
use crate::request::{End, Knob, Reason};
use crate::time::SimTime;

/// The slots, as they are described.
#[derive(Clone, Debug)]
pub struct Settings {
    /// All slots.
    pub limit: u64,
    /// The share that is kept.
    pub reserved: f64,
    /// For which classes, by name.
    pub critical: Vec<String>,
}

impl Plan for Settings {
    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        let critical = cast.classes.iter().map(|class| self.critical.contains(class)).collect();
        Box::new(Reserved { limit: self.limit, reserved: self.reserved, critical, in_use: Gauge::new(0) })
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        (key == "limit").then_some(Knob::Limit(Some(self.limit)))
    }
}

/// The slots at work.
#[derive(Clone, Debug)]
pub struct Reserved {
    limit: u64,
    reserved: f64,
    /// By class.
    critical: Vec<bool>,
    in_use: Gauge,
}

impl Admission for Reserved {
    fn admit(&self, _now: SimTime, entrant: &Entrant<'_>) -> Answer {
        let kept = (self.limit as f64 * self.reserved).ceil() as u64;
        let critical = self.critical[entrant.ask.class.0 as usize];
        let limit = if critical { self.limit } else { self.limit.saturating_sub(kept) };
        if self.in_use.value() < limit { Answer::Pass } else { Answer::Wait }
    }

    fn take(&mut self, now: SimTime, _entrant: &Entrant<'_>) {
        self.in_use.up(now, 1);
    }

    fn settle(&mut self, now: SimTime, _entrant: &Entrant<'_>, _end: End) {
        self.in_use.down(now, 1);
    }

    fn per_key(&self) -> bool {
        true
    }

    fn denial(&self, _now: SimTime, _entrant: &Entrant<'_>) -> Denial {
        let scope = if self.in_use.value() < self.limit { "reserved" } else { "limit" };
        Denial { reason: Reason::Concurrency, scope }
    }

    fn limit(&self) -> Option<u64> {
        Some(self.limit)
    }

    fn change(&mut self, _now: SimTime, knob: Knob) {
        if let Knob::Limit(limit) = knob {
            self.limit = limit.unwrap_or(u64::MAX);
        }
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
    }
}
