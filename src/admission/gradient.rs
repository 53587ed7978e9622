//! Gradient: the limit shrinks as the present time in service grows over the shortest one.
//!
//! gradient = rtt_tolerance · shortest / rtt, between 1/2 and 1; limit ← limit · gradient + queue, where the queue that
//! is allowed is ⌊√limit⌋, but 4 at least. A drop: limit ← limit · backoff_ratio; while less than half of the limit is
//! in use it stays. Only what lowers the limit is smoothed. After `probe_interval` samples, and up to as many again by
//! chance, the shortest time is forgotten and the limit falls to the queue, so that the next one is measured without
//! load. That interval does not follow the limit. Source: Netflix concurrency-limits, `GradientLimit.java`.

use super::adaptive::{Law, Sample, Settings as Described};
use crate::rng::{Dice, Purpose};

/// Its parameters.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The first limit.
    pub initial_limit: u64,
    /// The least limit.
    pub min_limit: u64,
    /// The largest limit.
    pub max_concurrency: u64,
    /// The share of a step down that is taken.
    pub smoothing: f64,
    /// What may wait behind the limit; `None` is its root.
    pub queue_size: Option<u64>,
    /// So many times the shortest time is no sign of load.
    pub rtt_tolerance: f64,
    /// The fewest samples between two probes; `None` never probes.
    pub probe_interval: Option<u64>,
    /// What is left of the limit after a drop.
    pub backoff_ratio: f64,
}

impl Settings {
    /// What holds unless said.
    pub const DEFAULT: Settings = Settings {
        initial_limit: 50,
        min_limit: 1,
        max_concurrency: 1000,
        smoothing: 0.2,
        queue_size: None,
        rtt_tolerance: 2.0,
        probe_interval: Some(1000),
        backoff_ratio: 0.9,
    };
}

/// The law at work.
#[derive(Clone, Debug)]
pub struct Gradient {
    settings: Settings,
    limit: f64,
    /// The shortest time since the last probe; `None` before the first sample.
    shortest: Option<f64>,
    luck: Dice,
    probes: u32,
    /// Samples up to the next probe.
    left: u64,
}

impl Described for Settings {
    type Law = Gradient;

    fn law(&self, luck: Dice) -> Gradient {
        let limit = self.initial_limit as f64;
        let mut law = Gradient { settings: self.clone(), limit, shortest: None, luck, probes: 0, left: 0 };
        law.left = law.next_probe();
        law
    }
}

impl Gradient {
    /// Samples up to the next probe: the interval and up to as many again.
    fn next_probe(&mut self) -> u64 {
        let interval = self.settings.probe_interval.unwrap_or(0);
        let more = (self.luck.share(Purpose::Policy, self.probes) * interval as f64) as u64;
        self.probes = self.probes.wrapping_add(1);
        interval + more
    }

    fn queue(&self) -> f64 {
        self.settings.queue_size.unwrap_or_else(|| (self.limit as u64).isqrt().max(4)) as f64
    }
}

impl Law for Gradient {
    fn limit(&self) -> u64 {
        self.limit as u64
    }

    fn sample(&mut self, sample: &Sample) {
        let (queue, least) = (self.queue(), self.settings.min_limit as f64);
        if self.settings.probe_interval.is_some() {
            if self.left == 0 {
                self.left = self.next_probe();
                self.limit = queue.max(least);
                self.shortest = None;
                return;
            }
            self.left -= 1;
        }
        let rtt = sample.rtt.0.max(1) as f64;
        let shortest = self.shortest.map_or(rtt, |shortest| shortest.min(rtt));
        self.shortest = Some(shortest);
        let wanted = if sample.dropped {
            self.limit * self.settings.backoff_ratio
        } else if (sample.in_flight as f64) < self.limit / 2.0 {
            return;
        } else {
            let gradient = (self.settings.rtt_tolerance * shortest / rtt).clamp(0.5, 1.0);
            self.limit * gradient + queue
        };
        let smoothing = self.settings.smoothing;
        let next = if wanted < self.limit {
            (self.limit * (1.0 - smoothing) + smoothing * wanted).max(least)
        } else {
            wanted
        };
        self.limit = next.min(self.settings.max_concurrency as f64).max(queue);
    }

    fn baseline(&self) -> f64 {
        self.shortest.unwrap_or(0.0)
    }
}
