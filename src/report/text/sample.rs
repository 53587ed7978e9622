//! Finished jobs for tests.

use crate::engine::Outcome;
use crate::observe::{Count, Percentiles, SummaryRow};
use crate::study::{Finished, Job, Series};
use crate::time::{Nanos, SimTime};
use std::collections::BTreeMap;

/// A job in which each call made one attempt, and so many were answered in time.
pub fn job(policy: &str, seed: u64, calls: u64, goodput: u64) -> Finished {
    let mut counts = [0; Count::LEN];
    for (count, value) in [
        (Count::Offered, calls),
        (Count::First, calls),
        (Count::Completed, goodput),
        (Count::Goodput, goodput),
    ] {
        counts[count as usize] = value;
    }
    let latency = Percentiles { count: goodput, p50: 5_000_000, p99: 9_000_000, ..Percentiles::default() };
    let total = SummaryRow {
        class: None,
        duration: Nanos::secs(1),
        warmup: Nanos::ZERO,
        calls,
        counts,
        queue_wait: Percentiles::default(),
        latency,
        queue_depth_max: 3,
        in_flight_avg: 1.0,
        utilization: None,
        fairness: None,
        starved: Nanos::ZERO,
        recovery: None,
    };
    let ended = SimTime(1_000_000_000);
    Finished {
        job: Job { policy: policy.into(), seed, first: true },
        outcome: Outcome { fingerprint: 1, calls, events: 0, ended, stopped: false },
        total: Some(total),
        refusals: BTreeMap::new(),
        starved: BTreeMap::new(),
        attempts: BTreeMap::new(),
        series: Series::default(),
    }
}

fn add(job: &mut Finished, count: Count, value: u64) {
    job.total.as_mut().expect("it has ended").counts[count as usize] += value;
}

/// A class had work for so many milliseconds and got nothing done.
pub fn starve(job: &mut Finished, class: &str, millis: u64) {
    job.starved.insert(class.into(), Nanos::millis(millis));
}

/// So many attempts were completed for nobody.
pub fn waste(job: &mut Finished, count: u64) {
    add(job, Count::Completed, count);
    add(job, Count::Wasted, count);
}

/// So many attempts were turned away.
pub fn refuse(job: &mut Finished, stage: &str, reason: &'static str, count: u64) {
    add(job, Count::RejectedAtArrival, count);
    job.refusals.insert((stage.into(), reason), count);
}

/// Intervals of a second with so many offered and admitted, then so many of nothing in the drain.
pub fn series(counts: &[(u64, u64)], drain: usize) -> Series {
    let all = counts.iter().copied().chain(std::iter::repeat_n((0, 0), drain));
    let intervals = all
        .enumerate()
        .map(|(i, (offered, admitted))| (SimTime(i as u64 * 1_000_000_000), Nanos::SECOND, offered, admitted))
        .collect();
    Series { intervals, before_drain: counts.len() }
}
