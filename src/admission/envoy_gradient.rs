//! Envoy's adaptive concurrency: the limit follows the ratio of a measured time without load to the present one.
//!
//! Every `concurrency_update_interval` in which something ended: gradient = min_rtt · (1 + buffer) / sample_rtt, between
//! 1/2 and 2; L = limit · gradient; limit ← ⌊L + √L⌋ within its bounds. Each `interval`, and up to `jitter` of it later,
//! min_rtt is measured in a *window*: the limit is `min_concurrency` until `request_count` have ended that started in
//! it; min_rtt is the percentile of theirs, and the limit is what it was. The first window begins at once. When five
//! updates in a row leave the limit at its least, the next window begins at once. With `fixed_value` there are no
//! windows. Times are in whole microseconds, cut. The edge: of both timers at one instant the window's is first.
//! Source: Envoy, `gradient_controller.cc` and its API v3.

use super::adaptive::{Law, Sample, Settings as Described};
use super::decimal_histogram::DecimalHistogram;
use crate::admission::Habits;
use crate::rng::{Dice, Purpose};
use crate::time::{Nanos, SimTime};

/// Its parameters.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which percentile stands for the samples, as a share.
    pub sample_aggregate_percentile: f64,
    /// How often the limit is reckoned.
    pub concurrency_update_interval: Nanos,
    /// The largest limit.
    pub max_concurrency_limit: u64,
    /// The least limit, which also holds in a window.
    pub min_concurrency: u64,
    /// How the time without load is known.
    pub min_rtt: MinRtt,
    /// What is added to the time without load, as a share.
    pub buffer: f64,
}

/// How the time without load is known.
#[derive(Clone, Debug)]
pub enum MinRtt {
    /// It is given.
    Fixed(Nanos),
    /// It is measured now and then.
    Measured {
        /// The time between the end of a window and the next.
        interval: Nanos,
        /// What may be added to that, as a share.
        jitter: f64,
        /// So many that end end the window.
        request_count: u64,
    },
}

/// So many updates in a row at the least limit call for a window.
const UPDATES_AT_LEAST: u32 = 5;

/// The law at work.
#[derive(Clone, Debug)]
pub struct EnvoyGradient {
    settings: Settings,
    limit: u64,
    /// In a window, the limit from before it.
    deferred: Option<u64>,
    min_rtt_us: u64,
    samples: DecimalHistogram,
    /// What started before says nothing.
    epoch: SimTime,
    at_least: u32,
    next_update: SimTime,
    next_window: Option<SimTime>,
    luck: Dice,
    windows: u32,
}

impl Described for Settings {
    type Law = EnvoyGradient;

    fn law(&self, luck: Dice) -> EnvoyGradient {
        let mut law = EnvoyGradient {
            settings: self.clone(),
            limit: self.min_concurrency,
            deferred: None,
            min_rtt_us: 0,
            samples: DecimalHistogram::default(),
            epoch: SimTime::ZERO,
            at_least: 0,
            next_update: SimTime::ZERO.saturating_add(self.concurrency_update_interval),
            next_window: None,
            luck,
            windows: 0,
        };
        match self.min_rtt {
            MinRtt::Fixed(time) => law.min_rtt_us = (time.0 / 1_000).max(1),
            MinRtt::Measured { .. } => law.open_window(SimTime::ZERO),
        }
        law
    }
}

impl EnvoyGradient {
    fn open_window(&mut self, now: SimTime) {
        self.deferred = Some(self.limit);
        self.limit = self.settings.min_concurrency;
        self.samples.clear();
        self.epoch = now;
        self.next_window = None;
        self.at_least = 0;
    }

    /// The samples' percentile in whole microseconds, 1 at least, and forgets them.
    fn percentile_us(&mut self) -> u64 {
        let value = self.samples.quantile(self.settings.sample_aggregate_percentile) as u64;
        self.samples.clear();
        value.max(1)
    }

    fn close_window(&mut self, now: SimTime, before: u64, interval: Nanos, jitter: f64) {
        self.min_rtt_us = self.percentile_us();
        self.limit = before;
        self.deferred = None;
        self.at_least = 0;
        let range_ms = (interval.0 as f64 / 1e6 * jitter).ceil();
        let later_ms = (self.luck.share(Purpose::Policy, self.windows) * range_ms) as u64;
        self.windows = self.windows.wrapping_add(1);
        let next = now.saturating_add(interval).saturating_add(Nanos(later_ms.saturating_mul(1_000_000)));
        self.next_window = Some(next);
        self.next_update = now.saturating_add(self.settings.concurrency_update_interval);
    }

    fn update(&mut self) {
        if self.samples.count() == 0 {
            return;
        }
        let sample_us = self.percentile_us();
        let min_rtt = self.min_rtt_us as f64;
        let gradient = ((min_rtt + min_rtt * self.settings.buffer) / sample_us as f64).clamp(0.5, 2.0);
        let scaled = self.limit as f64 * gradient;
        let least = self.settings.min_concurrency;
        let next = ((scaled + scaled.sqrt()) as u64).min(self.settings.max_concurrency_limit).max(least);
        let stays = self.limit == least && next == least;
        self.at_least = if stays { self.at_least + 1 } else { 0 };
        self.limit = next;
    }
}

impl Law for EnvoyGradient {
    fn limit(&self) -> u64 {
        self.limit
    }

    fn sample(&mut self, sample: &Sample) {
        if sample.now.0 - sample.rtt.0 < self.epoch.0 {
            return;
        }
        self.samples.add(sample.rtt.0 / 1_000);
        if let (Some(before), MinRtt::Measured { interval, jitter, request_count }) =
            (self.deferred, self.settings.min_rtt.clone())
            && request_count <= self.samples.count()
        {
            self.close_window(sample.now, before, interval, jitter);
        }
    }

    fn baseline(&self) -> f64 {
        self.min_rtt_us as f64 * 1e3
    }

    fn habits(&self) -> Habits {
        Habits { keeps_time: true, ..Habits::default() }
    }

    fn alarm(&self) -> Option<SimTime> {
        // A window ends with a sample, and then sets both anew.
        if self.deferred.is_some() {
            return None;
        }
        Some(self.next_window.map_or(self.next_update, |window| window.min(self.next_update)))
    }

    fn ring(&mut self, now: SimTime) {
        if self.next_window.is_some_and(|window| window <= now) {
            return self.open_window(now);
        }
        if self.next_update <= now {
            self.update();
            self.next_update = now.saturating_add(self.settings.concurrency_update_interval);
            let measures = matches!(self.settings.min_rtt, MinRtt::Measured { .. });
            if measures && UPDATES_AT_LEAST <= self.at_least {
                self.open_window(now);
            }
        }
    }

    fn measures(&self) -> Option<bool> {
        Some(self.deferred.is_some())
    }
}
