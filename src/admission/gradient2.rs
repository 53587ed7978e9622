//! Gradient2: the limit shrinks as the present time in service grows over its long average.
//!
//! gradient = rtt_tolerance · long / rtt, between 1/2 and 1; limit ← limit · gradient + queue_size, smoothed and held
//! between its bounds; while less than half of the limit is in use it stays. The long average is the mean of the first
//! ten samples, then exponential with 2 / (long_window + 1); while it is over twice the present time it loses 5 % with
//! each sample. A drop says nothing but its time, and under lasting overload the average follows the load, so that the
//! limit creeps up to its bound. Source: Netflix concurrency-limits, `Gradient2Limit.java`.

use super::adaptive::{Law, Sample, Settings as Described};
use super::moving_average::MovingAverage;
use crate::rng::Dice;

/// Its parameters.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The first limit.
    pub initial_limit: u64,
    /// The least limit.
    pub min_limit: u64,
    /// The largest limit.
    pub max_concurrency: u64,
    /// The share of a step that is taken.
    pub smoothing: f64,
    /// What may wait behind the limit.
    pub queue_size: u64,
    /// So many times the long average is no sign of load.
    pub rtt_tolerance: f64,
    /// Samples of the long average.
    pub long_window: u64,
}

impl Settings {
    /// What holds unless said.
    pub const DEFAULT: Settings = Settings {
        initial_limit: 20,
        min_limit: 20,
        max_concurrency: 200,
        smoothing: 0.2,
        queue_size: 4,
        rtt_tolerance: 1.5,
        long_window: 600,
    };
}

/// The mean of so many samples begins the long average.
const WARM_UP: u32 = 10;

/// The law at work.
#[derive(Clone, Debug)]
pub struct Gradient2 {
    settings: Settings,
    limit: f64,
    long: MovingAverage,
}

impl Described for Settings {
    type Law = Gradient2;

    fn law(&self, _luck: Dice) -> Gradient2 {
        let long = MovingAverage::new(self.long_window, WARM_UP);
        Gradient2 { limit: self.initial_limit as f64, long, settings: self.clone() }
    }
}

impl Law for Gradient2 {
    fn limit(&self) -> u64 {
        self.limit as u64
    }

    fn sample(&mut self, sample: &Sample) {
        let rtt = sample.rtt.0.max(1) as f64;
        let long = self.long.add(rtt);
        if 2.0 < long / rtt {
            self.long.scale(0.95);
        }
        if (sample.in_flight as f64) < self.limit / 2.0 {
            return;
        }
        let settings = &self.settings;
        let gradient = (settings.rtt_tolerance * long / rtt).clamp(0.5, 1.0);
        let wanted = self.limit * gradient + settings.queue_size as f64;
        let next = self.limit * (1.0 - settings.smoothing) + wanted * settings.smoothing;
        self.limit = next.min(settings.max_concurrency as f64).max(settings.min_limit as f64);
    }

    fn baseline(&self) -> f64 {
        self.long.value()
    }
}
