//! Vegas: the limit keeps a few in the queue behind it, as it judges from the shortest time in service.
//!
//! queue = ⌈limit · (1 − rtt_noload / rtt)⌉ and L = max(1, ⌊log10 limit⌋). After a drop the limit falls by L; while
//! less than half of it is in use it stays; up to L in the queue it grows by beta · L, below alpha · L by L, and above
//! beta · L it falls by L. The shortest time is measured anew after each `probe_multiplier · limit` samples or so,
//! between half and all of that by chance, and whenever a sample is shorter; such a sample moves nothing else. Source:
//! L. Brakmo, L. Peterson, TCP Vegas, 1995; Netflix concurrency-limits, `VegasLimit.java`.

use super::adaptive::{Law, Sample, Settings as Described, log10};
use crate::rng::{Dice, Purpose};
use crate::time::Nanos;

/// Its parameters.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The first limit.
    pub initial_limit: u64,
    /// The largest limit.
    pub max_concurrency: u64,
    /// The share of a step that is taken.
    pub smoothing: f64,
    /// Below so many times L in the queue it grows.
    pub alpha: f64,
    /// Above so many times L in the queue it falls.
    pub beta: f64,
    /// After so many samples for each one of the limit, at most, the shortest time is measured anew.
    pub probe_multiplier: u64,
    /// How it falls.
    pub decrease: Decrease,
}

/// How the limit falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decrease {
    /// By L.
    Log10,
    /// To its half.
    Half,
}

impl Settings {
    /// What holds unless said.
    pub const DEFAULT: Settings = Settings {
        initial_limit: 20,
        max_concurrency: 1000,
        smoothing: 1.0,
        alpha: 3.0,
        beta: 6.0,
        probe_multiplier: 30,
        decrease: Decrease::Log10,
    };
}

/// The law at work.
#[derive(Clone, Debug)]
pub struct Vegas {
    settings: Settings,
    limit: f64,
    rtt_noload: Nanos,
    samples: u64,
    luck: Dice,
    probes: u32,
    jitter: f64,
}

impl Described for Settings {
    type Law = Vegas;

    fn law(&self, luck: Dice) -> Vegas {
        let limit = self.initial_limit as f64;
        let settings = self.clone();
        Vegas {
            settings,
            limit,
            rtt_noload: Nanos::ZERO,
            samples: 0,
            luck,
            probes: 0,
            jitter: jitter(luck, 0),
        }
    }
}

/// A share between one half and one for each probe.
fn jitter(luck: Dice, probe: u32) -> f64 {
    0.5 + 0.5 * luck.share(Purpose::Policy, probe)
}

impl Vegas {
    fn is_to_probe(&self) -> bool {
        self.jitter * self.settings.probe_multiplier as f64 * self.limit <= self.samples as f64
    }

    fn fallen(&self) -> f64 {
        match self.settings.decrease {
            Decrease::Log10 => self.limit - log10(self.limit),
            Decrease::Half => self.limit / 2.0,
        }
    }

    /// The limit that the sample calls for; `None` leaves it.
    fn wanted(&self, sample: &Sample) -> Option<f64> {
        if sample.dropped {
            return Some(self.fallen());
        }
        if 2.0 * (sample.in_flight as f64) < self.limit {
            return None;
        }
        let queue = (self.limit * (1.0 - self.rtt_noload.0 as f64 / sample.rtt.0 as f64)).ceil();
        let step = log10(self.limit);
        let (alpha, beta) = (self.settings.alpha * step, self.settings.beta * step);
        if queue <= step {
            Some(self.limit + beta)
        } else if queue < alpha {
            Some(self.limit + step)
        } else if beta < queue {
            Some(self.fallen())
        } else {
            None
        }
    }
}

impl Law for Vegas {
    fn limit(&self) -> u64 {
        self.limit as u64
    }

    fn sample(&mut self, sample: &Sample) {
        self.samples += 1;
        if self.is_to_probe() {
            self.probes = self.probes.wrapping_add(1);
            self.jitter = jitter(self.luck, self.probes);
            self.samples = 0;
            self.rtt_noload = sample.rtt;
            return;
        }
        if self.rtt_noload == Nanos::ZERO || sample.rtt < self.rtt_noload {
            self.rtt_noload = sample.rtt;
            return;
        }
        if let Some(wanted) = self.wanted(sample) {
            let wanted = wanted.min(self.settings.max_concurrency as f64).max(1.0);
            let smoothing = self.settings.smoothing;
            self.limit = (1.0 - smoothing) * self.limit + smoothing * wanted;
        }
    }

    fn baseline(&self) -> f64 {
        self.rtt_noload.0 as f64
    }
}
