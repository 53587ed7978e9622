//! Samples gathered in windows, of which a law hears but one each: their mean.
//!
//! A window ends with the first sample that comes after its end. If it then holds enough samples, the law is told
//! their mean, the most that was in flight at the start of any, and whether any was dropped; else they are forgotten.
//! The next lasts twice the shortest sample, within bounds. The mean is cut to whole nanoseconds. Source: Netflix
//! concurrency-limits, `WindowedLimit.java` and `ImmutableAverageSampleWindow.java`.

use super::adaptive::Sample;
use crate::time::{Nanos, SimTime};

/// How long windows are, and what they take in.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The shortest window.
    pub min: Nanos,
    /// The longest window.
    pub max: Nanos,
    /// The fewest samples that say something.
    pub size: u64,
    /// Shorter samples are left out.
    pub min_rtt_threshold: Nanos,
}

impl Settings {
    /// What holds unless said.
    pub const DEFAULT: Settings =
        Settings { min: Nanos::SECOND, max: Nanos::SECOND, size: 10, min_rtt_threshold: Nanos(100_000) };
}

/// A window at work.
#[derive(Clone, Debug)]
pub struct SampleWindow {
    settings: Settings,
    ends: SimTime,
    count: u64,
    sum: u128,
    shortest: Nanos,
    in_flight: u64,
    dropped: bool,
}

impl SampleWindow {
    /// An empty window, which the first sample ends.
    pub fn new(settings: Settings) -> SampleWindow {
        let shortest = Nanos(u64::MAX);
        SampleWindow {
            settings,
            ends: SimTime::ZERO,
            count: 0,
            sum: 0,
            shortest,
            in_flight: 0,
            dropped: false,
        }
    }

    /// One more sample; answers what the law is told, if the window ends with it.
    pub fn add(&mut self, sample: Sample) -> Option<Sample> {
        if sample.rtt < self.settings.min_rtt_threshold {
            return None;
        }
        self.count += 1;
        self.sum += u128::from(sample.rtt.0);
        self.shortest = self.shortest.min(sample.rtt);
        self.in_flight = self.in_flight.max(sample.in_flight);
        self.dropped |= sample.dropped;
        if sample.now <= self.ends {
            return None;
        }
        let length = Nanos(self.shortest.0.saturating_mul(2)).max(self.settings.min).min(self.settings.max);
        let whole = std::mem::replace(self, SampleWindow::new(self.settings));
        self.ends = sample.now.saturating_add(length);
        let rtt = Nanos((whole.sum / u128::from(whole.count)) as u64);
        (self.settings.size <= whole.count).then_some(Sample {
            rtt,
            in_flight: whole.in_flight,
            dropped: whole.dropped,
            ..sample
        })
    }
}
