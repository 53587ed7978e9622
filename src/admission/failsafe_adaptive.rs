//! The adaptive limiter of Failsafe-go: queue length as Vegas, and what more in flight did to throughput and time.
//!
//! When a *recent window* of `recent_window_min_duration` and more holds enough samples: its quantile goes through a
//! median of five and a moving average, and is `recent`; `baseline` is a moving average of that. queue = ⌈limit · (1 −
//! baseline / recent)⌉, L = max(1, ⌊log10 limit⌋). The first that holds: queue > 6 L: down; while the limit is used up:
//! throughput falls as more are in flight: down; throughput hardly grows (correlation below 0.3), or hardly varies
//! (below 0.2), and times grow (correlation above 0.5): down; queue < 3 L: up; else it stays. Steps are L. Then it is at
//! most `max_limit_factor` times the most that was in flight: what is above falls by a step. The window's quantile is
//! to within a hundredth. With *queueing*, part of those who come while many wait are turned away at once. Source:
//! Failsafe-go, `adaptivelimiter.go`, `queueinglimiter.go` and `internal/util/windows.go`.

use super::adaptive::{Law, Sample, Settings as Described, log10};
use super::correlation::Correlation;
use super::log_sketch::LogSketch;
use super::moving_average::MovingAverage;
use crate::admission::Habits;
use crate::rng::Dice;
use crate::time::{Nanos, SimTime};

/// Its parameters.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The first limit.
    pub initial_limit: u64,
    /// The least limit.
    pub min_limit: u64,
    /// The largest limit.
    pub max_limit: u64,
    /// The limit is at most so many times what was in flight.
    pub max_limit_factor: f64,
    /// The shortest window.
    pub recent_window_min_duration: Nanos,
    /// The longest time up to the next window's end; it may last longer for want of samples.
    pub recent_window_max_duration: Nanos,
    /// The fewest samples of a window.
    pub recent_window_min_samples: u64,
    /// Which of its times stands for a window, as a share.
    pub recent_quantile: f64,
    /// Windows of the baseline.
    pub baseline_window_age: u64,
    /// Windows of the correlations.
    pub correlation_window_size: usize,
    /// From where on, in limits, those who come are turned away, and from where on all of them.
    pub queueing: Option<(f64, f64)>,
}

impl Settings {
    /// What holds unless said.
    pub const DEFAULT: Settings = Settings {
        initial_limit: 20,
        min_limit: 1,
        max_limit: 200,
        max_limit_factor: 5.0,
        recent_window_min_duration: Nanos::SECOND,
        recent_window_max_duration: Nanos::secs(30),
        recent_window_min_samples: 50,
        recent_quantile: 0.9,
        baseline_window_age: 10,
        correlation_window_size: 50,
        queueing: None,
    };
}

/// Windows of the median and of the moving average behind it.
const SMOOTHED: usize = 5;

/// Averages begin with the mean of so many windows; with fewer there is no correlation.
pub(super) const WARM_UP: u32 = 10;

/// The law at work.
#[derive(Clone, Debug)]
pub struct FailsafeAdaptive {
    settings: Settings,
    limit: f64,
    times: LogSketch,
    shortest: Nanos,
    in_flight: u64,
    next_update: SimTime,
    median: Median,
    recent: MovingAverage,
    baseline: MovingAverage,
    throughput: Correlation,
    rtt: Correlation,
}

impl Described for Settings {
    type Law = FailsafeAdaptive;

    fn law(&self, _luck: Dice) -> FailsafeAdaptive {
        FailsafeAdaptive {
            limit: self.initial_limit as f64,
            times: LogSketch::default(),
            shortest: Nanos(u64::MAX),
            in_flight: 0,
            next_update: SimTime::ZERO,
            median: Median::default(),
            recent: MovingAverage::new(SMOOTHED as u64, WARM_UP),
            baseline: MovingAverage::new(self.baseline_window_age, WARM_UP),
            throughput: Correlation::new(self.correlation_window_size),
            rtt: Correlation::new(self.correlation_window_size),
            settings: self.clone(),
        }
    }
}

/// Where the limit goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    Up,
    Down,
    Stays,
}

impl FailsafeAdaptive {
    /// A window has ended: its time, smoothed, and the most that was in flight in it.
    fn update(&mut self, recent: f64, in_flight: f64, full: bool) {
        let baseline = self.baseline.add(recent);
        let queue = (self.limit * (1.0 - baseline / recent)).ceil();
        let throughput = self.throughput.add(in_flight, in_flight / (recent / 1e9));
        let rtt = self.rtt.add(in_flight, recent);
        let step = log10(self.limit);
        let times_grow = 0.5 < rtt.coefficient;
        let overloaded = throughput.coefficient < 0.0
            || (throughput.coefficient < 0.3 && times_grow)
            || (throughput.variation < 0.2 && times_grow);
        let course = if 6.0 * step < queue || (full && overloaded) {
            Course::Down
        } else if queue < 3.0 * step {
            Course::Up
        } else {
            Course::Stays
        };
        let mut next = match course {
            Course::Up => self.limit + step,
            Course::Down => self.limit - step,
            Course::Stays => self.limit,
        };
        let cap = self.settings.max_limit_factor * in_flight;
        if cap < next {
            next = if cap < self.limit { self.limit - step } else { cap };
        }
        self.limit = next.min(self.settings.max_limit as f64).max(self.settings.min_limit as f64);
    }
}

impl Law for FailsafeAdaptive {
    fn limit(&self) -> u64 {
        self.limit as u64
    }

    fn sample(&mut self, sample: &Sample) {
        if !sample.dropped {
            self.times.add(sample.rtt.0.max(1));
            self.shortest = self.shortest.min(sample.rtt);
            self.in_flight = self.in_flight.max(sample.in_flight);
        }
        let settings = &self.settings;
        if sample.now <= self.next_update || self.times.count() < settings.recent_window_min_samples {
            return;
        }
        let length = Nanos(self.shortest.0.saturating_mul(2))
            .max(settings.recent_window_min_duration)
            .min(settings.recent_window_max_duration);
        let filtered = self.median.add(self.times.quantile(settings.recent_quantile));
        let recent = self.recent.add(filtered);
        let in_flight = self.in_flight as f64;
        self.times.clear();
        (self.shortest, self.in_flight) = (Nanos(u64::MAX), 0);
        self.next_update = sample.now.saturating_add(length);
        self.update(recent, in_flight, sample.full);
    }

    fn baseline(&self) -> f64 {
        self.baseline.value()
    }

    fn habits(&self) -> Habits {
        Habits { sheds: self.settings.queueing.is_some(), ..Habits::default() }
    }

    fn rejection(&self, waiting: u64) -> f64 {
        let Some((from, all)) = self.settings.queueing else { return 0.0 };
        let limit = self.limit() as f64;
        let (from, all) = ((limit * from) as u64, (limit * all) as u64);
        if waiting < from {
            0.0
        } else if all <= waiting {
            1.0
        } else {
            (waiting - from) as f64 / (all - from) as f64
        }
    }
}

/// The median of the last five values; until there are five, the last one.
#[derive(Clone, Debug, Default)]
struct Median {
    values: [f64; SMOOTHED],
    count: usize,
}

impl Median {
    fn add(&mut self, value: f64) -> f64 {
        self.values[self.count % SMOOTHED] = value;
        self.count += 1;
        if self.count < SMOOTHED {
            return value;
        }
        let mut sorted = self.values;
        sorted.sort_unstable_by(f64::total_cmp);
        sorted[SMOOTHED / 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_begins_with_the_fifth_value() {
        let mut median = Median::default();
        let given = [9.0, 1.0, 8.0, 2.0, 5.0, 7.0, 7.0];
        assert_eq!(given.map(|value| median.add(value)), [9.0, 1.0, 8.0, 2.0, 5.0, 5.0, 7.0]);
    }
}
