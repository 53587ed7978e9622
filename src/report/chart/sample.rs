//! A small made-up run for tests.

use super::{Scene, events, reader, timeline};
use std::fmt::Write;
use tempfile::TempDir;

/// Columns of the sample that are not counts.
const OTHERS: [&str; 12] = [
    "run_id",
    "policy",
    "seed",
    "t_start_s",
    "interval_s",
    "phase",
    "class",
    "inflight_avg",
    "queue_depth_avg",
    "limit_avg",
    "latency_p50_ms",
    "latency_p99_ms",
];

/// A run directory with a slow third in the middle, in which half of the attempts are rejected.
pub fn directory(policies: &[&str], intervals: usize, label: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut csv = format!("{},{}\n", OTHERS.join(","), timeline::COUNTS.join(","));
    for policy in policies {
        for i in 0..intervals {
            let is_slow = intervals / 3 <= i && i < intervals * 2 / 3;
            let (queued, latency) = if is_slow { (60, 3000) } else { (i % 3, 200 + i % 17) };
            write!(csv, "r1,{policy},1,{i},1,main,default,{},{queued},32,", 20 + i % 7).unwrap();
            write!(csv, "{latency},{}", latency * 2).unwrap();
            for name in timeline::COUNTS {
                let count = match name {
                    "offered_count" => 40 + i % 11,
                    "offered_first_count" => 38,
                    "goodput_count" => 20 + i % 5,
                    "rejected_queue_full_count" => 12 + i % 6,
                    "abandoned_queued_count" => i % 4,
                    _ => 0,
                };
                write!(csv, ",{count}").unwrap();
            }
            csv.push('\n');
        }
    }
    std::fs::write(dir.path().join("timeline.csv"), csv).unwrap();
    let quoted = label.replace('"', "\"\"");
    let events =
        format!("run_id,name,at_s,until_s,label,target,value\nr1,slow,{},,\"{quoted}\",x,1\n", intervals / 3);
    std::fs::write(dir.path().join("events.csv"), events).unwrap();
    dir
}

/// The same, read.
pub fn run(policies: &[&str], intervals: usize) -> Scene {
    let dir = directory(policies, intervals, "slow");
    Scene {
        scenario: None,
        width: 1200,
        timeline: reader::timeline(dir.path(), None).unwrap(),
        events: events::read(dir.path()).unwrap(),
    }
}
