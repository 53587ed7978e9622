//! The rows that a run writes, and where they go.
//!
//! Counts are whole numbers of attempts, times are whole nanoseconds, averages and ratios are floats that a writer
//! rounds. `None` is what is undefined, an empty cell.

use super::Percentiles;
use super::layout::EdgeLayout;
use crate::gauge::Reading;
use crate::problem::Problem;
use crate::request::{Ask, Reason};
use crate::time::{Nanos, SimTime};

/// Which part of the run an interval belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Before the time from which results count.
    Warmup,
    /// What results are about.
    Main,
    /// After the last arrival, until everything has ended.
    Drain,
}

impl Phase {
    /// The name that files give it.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Warmup => "warmup",
            Phase::Main => "main",
            Phase::Drain => "drain",
        }
    }
}

macro_rules! counts {
    ($($(#[$doc:meta])* $variant:ident => $name:literal,)*) => {
        /// What is counted per interval and class, in the order of the columns.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Count { $($(#[$doc])* $variant,)* }

        impl Count {
            /// Every count's column, in order.
            pub const COLUMNS: &'static [&'static str] = &[$($name,)*];
            /// How many there are.
            pub const LEN: usize = Count::COLUMNS.len();
        }
    };
}

counts! {
    /// Attempts that arrived.
    Offered => "offered_count",
    /// First attempts among them.
    First => "offered_first_count",
    /// Retries among them.
    Retry => "offered_retry_count",
    /// Started at once.
    AdmittedDirect => "admitted_direct_count",
    /// Started after waiting in the queue.
    AdmittedFromQueue => "admitted_from_queue_count",
    /// Started after being deferred.
    AdmittedFromDeferred => "admitted_from_deferred_count",
    /// Began to wait in the queue on arrival.
    EnqueuedDirect => "enqueued_direct_count",
    /// Began to wait in the queue after being deferred.
    EnqueuedFromDeferred => "enqueued_from_deferred_count",
    /// Parked by a limiter, or backing off in a degrade chain.
    Deferred => "deferred_count",
    /// Turned away on arrival.
    RejectedAtArrival => "rejected_at_arrival_count",
    /// Turned away while queued.
    RejectedFromQueue => "rejected_from_queue_count",
    /// Turned away while deferred.
    RejectedFromDeferred => "rejected_from_deferred_count",
    /// Turned away by a limiter.
    RejectedRateLimited => "rejected_rate_limited_count",
    /// Turned away for lack of a slot.
    RejectedConcurrency => "rejected_concurrency_count",
    /// Turned away by a full queue.
    RejectedQueueFull => "rejected_queue_full_count",
    /// Turned away after the longest wait.
    RejectedQueueTimeout => "rejected_queue_timeout_count",
    /// Turned away by a budget in flight.
    RejectedBudget => "rejected_budget_count",
    /// Turned away by an open breaker.
    RejectedCircuitOpen => "rejected_circuit_open_count",
    /// Turned away by a shedder.
    RejectedShed => "rejected_shed_count",
    /// Turned away otherwise.
    RejectedOther => "rejected_other_count",
    /// Waits in a degrade chain.
    Backoff => "backoff_count",
    /// Answered by something lesser.
    Degraded => "degraded_count",
    /// Served to the end, well.
    Completed => "completed_count",
    /// Completed before the caller gave up and before the deadline.
    Goodput => "goodput_count",
    /// Completed for nobody.
    Wasted => "wasted_count",
    /// Failed in service.
    Failed => "failed_count",
    /// Taken back by the caller while in service.
    Cancelled => "cancelled_count",
    /// Still alive when the run was cut off.
    Unfinished => "unfinished_count",
    /// Callers' timers that fired.
    TimedOut => "timed_out_count",
    /// Left the queue because the caller had stopped waiting.
    AbandonedQueued => "abandoned_queued_count",
    /// Left the deferred because the caller had stopped waiting.
    AbandonedDeferred => "abandoned_deferred_count",
}

impl Count {
    /// The count of a reason.
    pub fn of(reason: Reason) -> Count {
        match reason {
            Reason::RateLimited => Count::RejectedRateLimited,
            Reason::Concurrency => Count::RejectedConcurrency,
            Reason::QueueFull => Count::RejectedQueueFull,
            Reason::QueueTimeout => Count::RejectedQueueTimeout,
            Reason::Budget => Count::RejectedBudget,
            Reason::CircuitOpen => Count::RejectedCircuitOpen,
            Reason::Shed => Count::RejectedShed,
            Reason::Other => Count::RejectedOther,
        }
    }
}

/// Tokens that moved in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Estimates of what arrived.
    pub offered: u64,
    /// Estimates of what was admitted.
    pub reserved: u64,
    /// Actual tokens of what completed.
    pub settled: u64,
    /// Reserved and not used, of what ended.
    pub refunded: u64,
}

impl Tokens {
    /// Adds those of others.
    pub(super) fn include(&mut self, others: &Tokens) {
        self.offered += others.offered;
        self.reserved += others.reserved;
        self.settled += others.settled;
        self.refunded += others.refunded;
    }
}

/// One interval of one class.
#[derive(Clone, Copy, Debug)]
pub struct TimelineRow<'a> {
    /// Number of the interval, from 0.
    pub index: u64,
    /// Its first instant.
    pub start: SimTime,
    /// Its length.
    pub length: Nanos,
    /// Its phase.
    pub phase: Phase,
    /// The class's name.
    pub class: &'a str,
    /// Counts, by [`Count`].
    pub counts: &'a [u64; Count::LEN],
    /// Attempts that wait.
    pub queue_depth: Reading,
    /// Attempts in service.
    pub in_flight: Reading,
    /// The policy's limit on work in flight, if it has one.
    pub limit: Option<Reading>,
    /// Busy slot time over slot time of the policy's downstream, if its slots are limited.
    pub utilization: Option<f64>,
    /// Tokens, if any call has some.
    pub tokens: Option<Tokens>,
    /// Average of reserved tokens in service, if any call has some.
    pub tokens_in_flight: Option<f64>,
    /// Waits of the attempts that started.
    pub queue_wait: Percentiles,
    /// From a call's birth to its answer, of the calls answered well.
    pub latency: Percentiles,
    /// Service times of the attempts that ended in service, finished or failed.
    pub service: Percentiles,
}

/// How many attempts of a class ended in one way in one interval.
#[derive(Clone, Copy, Debug)]
pub struct OutcomeRow<'a> {
    /// Number of the interval.
    pub index: u64,
    /// Its first instant.
    pub start: SimTime,
    /// Its phase.
    pub phase: Phase,
    /// The class's name.
    pub class: &'a str,
    /// `goodput`, `wasted`, `failed`, `cancelled`, `abandoned`, `rejected`, `unfinished`.
    pub outcome: &'static str,
    /// Why it was rejected; empty otherwise.
    pub reason: &'static str,
    /// The stage, queue or downstream that rejected it; empty otherwise.
    pub stage: &'a str,
    /// The downstream that it was meant for.
    pub target: &'a str,
    /// Attempts, never 0.
    pub count: u64,
}

/// Latencies of a class in one interval that fall into one bucket.
#[derive(Clone, Copy, Debug)]
pub struct LatencyRow<'a> {
    /// Number of the interval.
    pub index: u64,
    /// Its first instant.
    pub start: SimTime,
    /// Its phase.
    pub phase: Phase,
    /// The class's name.
    pub class: &'a str,
    /// The largest latency that falls into the bucket.
    pub le: Nanos,
    /// Calls, never 0.
    pub count: u64,
}

/// One gauge of one stage over one interval.
#[derive(Clone, Copy, Debug)]
pub struct GaugeRow<'a> {
    /// Number of the interval.
    pub index: u64,
    /// Its first instant.
    pub start: SimTime,
    /// Its phase.
    pub phase: Phase,
    /// The stage, queue or downstream.
    pub stage: &'a str,
    /// What is measured.
    pub gauge: &'static str,
    /// Average, smallest, largest, last.
    pub reading: Reading,
}

/// One attempt, when it has ended.
#[derive(Clone, Copy, Debug)]
pub struct RequestRow<'a> {
    /// Number of the call, from 0 in the order of birth.
    pub call: u64,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// The traffic's name.
    pub traffic: &'a str,
    /// The class's name.
    pub class: &'a str,
    /// What the call carries.
    pub ask: &'a Ask,
    /// When the attempt arrived.
    pub arrived: SimTime,
    /// When its service started, if it did.
    pub started: Option<SimTime>,
    /// When it ended.
    pub ended: SimTime,
    /// As in [`OutcomeRow`].
    pub outcome: &'static str,
    /// As in [`OutcomeRow`].
    pub reason: &'static str,
    /// As in [`OutcomeRow`].
    pub stage: &'a str,
    /// As in [`OutcomeRow`].
    pub target: &'a str,
    /// When a refused attempt would pass, if a limiter refused it and a wait helps.
    pub retry_after: Option<Nanos>,
    /// Which of the stage's limits it was; empty if it has but one.
    pub scope: &'static str,
    /// The downstream that makes the call; empty if a traffic does.
    pub caller: &'a str,
}

/// The whole main phase of one class, or of all together.
#[derive(Clone, Debug)]
pub struct SummaryRow<'a> {
    /// The class's name; `None` for the total.
    pub class: Option<&'a str>,
    /// Length of the main phase.
    pub duration: Nanos,
    /// Length of the warm-up before it.
    pub warmup: Nanos,
    /// Calls born.
    pub calls: u64,
    /// Sums of the intervals of the main phase, by [`Count`].
    pub counts: [u64; Count::LEN],
    /// Waits of the attempts that started.
    pub queue_wait: Percentiles,
    /// From a call's birth to its answer, of the calls answered well.
    pub latency: Percentiles,
    /// Most that waited at once.
    pub queue_depth_max: u64,
    /// Average in service.
    pub in_flight_avg: f64,
    /// Busy slot time over slot time of the policy's downstream, if its slots are limited.
    pub utilization: Option<f64>,
    /// Jain's index over tenants of goodput per call, if there are tenants.
    pub fairness: Option<f64>,
    /// Time in which the class had work and got nothing done.
    pub starved: Nanos,
    /// From the end of the last passing event until the goodput was back, if it came back.
    pub recovery: Option<Nanos>,
}

/// What is counted of the calls over an edge of the call graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeCounts {
    /// Calls made.
    pub calls: u64,
    /// Attempts of them.
    pub attempts: u64,
    /// Calls answered well.
    pub answered: u64,
    /// Calls whose client gave up.
    pub failed: u64,
}

/// The whole main phase of one edge of the call graph.
#[derive(Clone, Copy, Debug)]
pub struct EdgeRow<'a> {
    /// Who calls whom.
    pub edge: &'a EdgeLayout,
    /// What was counted.
    pub counts: EdgeCounts,
    /// Calls of the traffics in the same time.
    pub of_calls: u64,
}

/// Where rows go. Rows come sorted: by interval, then by class, then as their columns.
pub trait Sink {
    /// Takes a row of `timeline.csv`.
    fn timeline(&mut self, row: &TimelineRow<'_>) -> Result<(), Problem>;
    /// Takes a row of `outcomes.csv`.
    fn outcome(&mut self, row: &OutcomeRow<'_>) -> Result<(), Problem>;
    /// Takes a row of `latency_hist.csv`.
    fn latency(&mut self, row: &LatencyRow<'_>) -> Result<(), Problem>;
    /// Takes a row of `gauges.csv`.
    fn gauge(&mut self, row: &GaugeRow<'_>) -> Result<(), Problem>;
    /// Takes a row of `summary.csv`.
    fn summary(&mut self, row: &SummaryRow<'_>) -> Result<(), Problem>;
    /// Takes a row of `edges.csv`.
    fn edge(&mut self, _row: &EdgeRow<'_>) -> Result<(), Problem> {
        Ok(())
    }
    /// Whether rows of `requests.csv` are wanted.
    fn wants_requests(&self) -> bool {
        false
    }
    /// Takes a row of `requests.csv`.
    fn request(&mut self, _row: &RequestRow<'_>) -> Result<(), Problem> {
        Ok(())
    }
}

/// A sink that drops everything, for runs of which only the totals matter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere;

impl Sink for Nowhere {
    fn timeline(&mut self, _row: &TimelineRow<'_>) -> Result<(), Problem> {
        Ok(())
    }
    fn outcome(&mut self, _row: &OutcomeRow<'_>) -> Result<(), Problem> {
        Ok(())
    }
    fn latency(&mut self, _row: &LatencyRow<'_>) -> Result<(), Problem> {
        Ok(())
    }
    fn gauge(&mut self, _row: &GaugeRow<'_>) -> Result<(), Problem> {
        Ok(())
    }
    fn summary(&mut self, _row: &SummaryRow<'_>) -> Result<(), Problem> {
        Ok(())
    }
}
