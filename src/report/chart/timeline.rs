//! What the charts know of a run: its policies under one seed, interval by interval.
//!
//! Rows are one per class. Counts, queues and calls in flight add up over classes; percentiles don't, and stay
//! with their class.

use std::collections::BTreeMap;

/// The columns of `timeline.csv` that count attempts, each an index into [`Interval::counts`].
pub const COUNTS: [&str; 17] = [
    "offered_count",
    "offered_first_count",
    "degraded_count",
    "goodput_count",
    "wasted_count",
    "failed_count",
    "cancelled_count",
    "rejected_rate_limited_count",
    "rejected_concurrency_count",
    "rejected_queue_full_count",
    "rejected_queue_timeout_count",
    "rejected_budget_count",
    "rejected_circuit_open_count",
    "rejected_shed_count",
    "rejected_other_count",
    "abandoned_queued_count",
    "abandoned_deferred_count",
];

/// The part of a run that an interval belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before anything counts.
    Warmup,
    /// What is measured.
    Main,
    /// After the last call has arrived.
    Drain,
}

/// One interval of one policy, all classes together.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Its start in seconds.
    pub from_s: f64,
    /// Its end in seconds.
    pub until_s: f64,
    /// Its phase.
    pub phase: Phase,
    /// Attempts by column, see [`COUNTS`].
    pub counts: [f64; COUNTS.len()],
    /// Calls in flight, on average.
    pub inflight: f64,
    /// Calls waiting, on average.
    pub queued: f64,
    /// How many may be in flight; `None` when unlimited.
    pub limit: Option<f64>,
}

/// The latencies of one class in one interval, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Latency {
    /// The interval's position in [`Policy::intervals`].
    pub interval: usize,
    /// Half of the answered calls took at most this long.
    pub p50_ms: f64,
    /// 99 of 100 did.
    pub p99_ms: f64,
}

/// One policy's run.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// Its intervals in order.
    pub intervals: Vec<Interval>,
    /// Per class, the latencies of the intervals that have any.
    pub latencies: BTreeMap<String, Vec<Latency>>,
    /// Share of its calls that were answered well, if `summary.csv` says so.
    pub goodput_ratio: Option<f64>,
}

/// All policies of a run under one seed.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// The run's id.
    pub run_id: String,
    /// The seed that is drawn.
    pub seed: String,
    /// How many seeds the run has.
    pub seeds: usize,
    /// The policies in the order of the file.
    pub policies: Vec<Policy>,
    /// The classes, those with most attempts first.
    pub classes: Vec<String>,
}

impl Timeline {
    /// The seed and how many there are, in words.
    pub fn seed_in_words(&self) -> String {
        match self.seeds {
            0 | 1 => format!("seed {}", self.seed),
            seeds => format!("seed {} of a run with {seeds} seeds", self.seed),
        }
    }
}

impl Policy {
    /// When the phase starts and ends, if the policy has one.
    pub fn phase(&self, phase: Phase) -> Option<(f64, f64)> {
        let first = self.intervals.iter().find(|interval| interval.phase == phase)?;
        let last = self.intervals.iter().rfind(|interval| interval.phase == phase)?;
        Some((first.from_s, last.until_s))
    }

    /// The end of the last interval.
    pub fn until_s(&self) -> f64 {
        self.intervals.last().map_or(0.0, |interval| interval.until_s)
    }
}
