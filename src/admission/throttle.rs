//! Throttles that follow the share of calls that come back well: the fewer, the more are turned away at the door.
//!
//! - *sre*: with probability max(0, (requests − K · accepts) / (requests + 1)) over two minutes. All requests count as they
//!   come, those that are turned away here too, so that it begins before the first timeout. Source: B. Beyer and others,
//!   Site Reliability Engineering, 2016, Handling Overload, equation 21.1.
//! - *failsafe*: with min(max_rejection, max(0, (n − s / threshold) / (n + 1))) over a minute in twenty buckets, of those
//!   that were let through and have ended. Source: Failsafe-go, `adaptivethrottler.go`.
//! - *envoy*: with min(max_rejection, max(0, (n − s / threshold) / (n + 1))^(1 / aggression)) over 30 s, of those that were
//!   let through and have ended; below `rps_threshold` a second none. The probability is compared in ten thousandths.
//!   Source: Envoy, `admission_control.cc`, API v3 `AdmissionControl`.
//! - *envoy_alpha*: with (n − aggression · s) / (n + 1), as Envoy's filter began. Source: its API v3alpha.
//!
//! What fails counts as not well, and so does what a later stage or the queue turns away or its caller takes back, since no
//! answer came; what the downstream's own quota refuses is an answer, which Envoy counts as well.

use super::chance::Chance;
use super::recent::Recent;
use super::{Admission, Cast, Denial, Entrant, Habits, Plan, Scene};
use crate::gauge::{Gauge, Reading};
use crate::math;
use crate::request::{End, Reason};
use crate::time::{Nanos, SimTime};

/// Whose formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Formula {
    /// Google's, with its K.
    Sre {
        /// So many times what is accepted is let through.
        k: f64,
    },
    /// Failsafe-go's.
    Failsafe {
        /// The share that is good enough.
        threshold: f64,
    },
    /// Envoy's.
    Envoy {
        /// The share that is good enough.
        threshold: f64,
        /// The larger, the more are turned away while few fail.
        aggression: f64,
        /// Below so many a second none is turned away.
        rps_threshold: f64,
    },
    /// Envoy's first.
    EnvoyAlpha {
        /// As K.
        aggression: f64,
    },
}

/// A throttle, as it is described.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whose formula.
    pub formula: Formula,
    /// How long calls count.
    pub window: Nanos,
    /// The largest probability.
    pub max_rejection: f64,
}

impl Settings {
    /// The probability with which one is turned away, of so many and so many of them well.
    pub fn probability(&self, all: u64, well: u64) -> f64 {
        let (n, s) = (all as f64, well as f64);
        let probability = match self.formula {
            Formula::Sre { k } | Formula::EnvoyAlpha { aggression: k } => (n - k * s) / (n + 1.0),
            Formula::Failsafe { threshold } => (n - s / threshold) / (n + 1.0),
            Formula::Envoy { rps_threshold, .. } if n / (self.window.0 as f64 / 1e9) < rps_threshold => 0.0,
            Formula::Envoy { threshold, aggression, .. } => {
                let share = ((n - s / threshold) / (n + 1.0)).max(0.0);
                if aggression == 1.0 || share == 0.0 {
                    share
                } else {
                    math::exp(math::ln(share) / aggression)
                }
            }
        };
        probability.max(0.0).min(self.max_rejection)
    }

    /// Whether calls count as they come, those that are turned away too.
    fn counts_requests(&self) -> bool {
        matches!(self.formula, Formula::Sre { .. })
    }

    /// Whether the draw is in whole ten thousandths.
    fn draws_coarsely(&self) -> bool {
        matches!(self.formula, Formula::Envoy { .. } | Formula::EnvoyAlpha { .. })
    }

    /// In how many parts the window moves on.
    fn buckets(&self) -> u64 {
        match self.formula {
            Formula::Failsafe { .. } => 20,
            _ => (self.window.0 / 1_000_000_000).max(1),
        }
    }
}

impl Plan for Settings {
    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        Box::new(Throttle {
            settings: self.clone(),
            recent: Recent::new(self.window, self.buckets()),
            chance: Chance::new(cast),
            in_use: Gauge::new(0),
            probability: 0.0,
        })
    }
}

/// A throttle at work.
#[derive(Clone, Debug)]
pub struct Throttle {
    settings: Settings,
    recent: Recent,
    chance: Chance,
    in_use: Gauge,
    probability: f64,
}

impl Admission for Throttle {
    fn habits(&self) -> Habits {
        let minds_losses = !self.settings.counts_requests();
        Habits { sheds: true, minds_losses, ..Habits::default() }
    }

    fn sheds(&mut self, now: SimTime, entrant: &Entrant<'_>, _scene: &Scene) -> Option<Denial> {
        let (all, well) = self.recent.sums(now);
        self.probability = self.settings.probability(all, well);
        if self.settings.counts_requests() {
            self.recent.add(now, 1, 0);
        }
        let luck = self.chance.draw(entrant);
        let luck = if self.settings.draws_coarsely() { (luck * 10_000.0).floor() / 10_000.0 } else { luck };
        (luck < self.probability).then_some(Denial::of(Reason::Shed))
    }

    fn take(&mut self, now: SimTime, _entrant: &Entrant<'_>) {
        self.in_use.up(now, 1);
    }

    fn settle(&mut self, now: SimTime, _entrant: &Entrant<'_>, end: End) {
        self.in_use.down(now, 1);
        let well = u64::from(matches!(end, End::Completed(_)));
        self.recent.add(now, u64::from(!self.settings.counts_requests()), well);
    }

    fn lost(&mut self, now: SimTime, _entrant: &Entrant<'_>, reason: Option<Reason>) -> Option<Nanos> {
        let answered = self.settings.draws_coarsely() && reason == Some(Reason::RateLimited);
        self.recent.add(now, u64::from(!self.settings.counts_requests()), u64::from(answered));
        None
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
        visit("probability", Reading::of(self.probability));
    }
}
