//! AIMD: one more for each answer that comes in time, a tenth less for each that doesn't.
//!
//! A drop, or more than `timeout` in service: limit ← ⌊limit · backoff_ratio⌋. Else, if at least half of the limit
//! was in use: limit ← limit + 1. Then it is held between its bounds. Without a window this is one more for each
//! *answer*, not for each round trip. Source: Netflix concurrency-limits, `AIMDLimit.java`.

use super::adaptive::{Law, Sample, Settings as Described};
use crate::rng::Dice;
use crate::time::Nanos;

/// Its parameters.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The first limit.
    pub initial_limit: u64,
    /// The least limit.
    pub min_limit: u64,
    /// The largest limit.
    pub max_limit: u64,
    /// What is left of the limit after a drop.
    pub backoff_ratio: f64,
    /// What takes longer counts as a drop.
    pub timeout: Nanos,
}

impl Settings {
    /// What holds unless said.
    pub const DEFAULT: Settings = Settings {
        initial_limit: 20,
        min_limit: 20,
        max_limit: 200,
        backoff_ratio: 0.9,
        timeout: Nanos::secs(5),
    };
}

/// The law at work.
#[derive(Clone, Debug)]
pub struct Aimd {
    settings: Settings,
    limit: u64,
}

impl Described for Settings {
    type Law = Aimd;

    fn law(&self, _luck: Dice) -> Aimd {
        Aimd { limit: self.initial_limit, settings: self.clone() }
    }
}

impl Law for Aimd {
    fn limit(&self) -> u64 {
        self.limit
    }

    fn sample(&mut self, sample: &Sample) {
        let Settings { min_limit, max_limit, backoff_ratio, timeout, .. } = self.settings;
        if sample.dropped || timeout < sample.rtt {
            self.limit = (self.limit as f64 * backoff_ratio) as u64;
        } else if self.limit <= 2 * sample.in_flight {
            self.limit += 1;
        }
        self.limit = self.limit.max(min_limit).min(max_limit);
    }

    fn baseline(&self) -> f64 {
        0.0
    }
}
