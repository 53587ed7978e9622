//! The scenarios that ship: right without a warning, and the recording among them is the one that can be made again.

use crate::support::{Interval, no_faults, run_setup, setup};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tidegate::observe::Count;
use tidegate::scenario::Scenario;
use tidegate::scenario::build::Prepared;
use tidegate::scenario::source::Document;

#[allow(dead_code)]
#[path = "../../examples/make_trace.rs"]
mod make_trace;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

/// A scenario that ships.
fn shipped(name: &str) -> Prepared {
    let document = Document::open(&folder().join(format!("{name}.toml")));
    let read = document.and_then(|document| Scenario::read(&document));
    read.and_then(|(scenario, _)| Prepared::new(scenario)).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn each_is_right_without_a_warning_and_compares_policies() {
    let (mut count, mut faults) = (0, Vec::new());
    for entry in fs::read_dir(folder()).expect("scenarios") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        count += 1;
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let document = Document::open(&path).unwrap_or_else(|problems| panic!("{problems}"));
        let (scenario, warnings) = Scenario::read(&document).unwrap_or_else(|problems| panic!("{problems}"));
        faults.extend(warnings.iter().map(ToString::to_string));
        if scenario.name != name || scenario.policies.len() < 2 {
            faults.push(format!(
                "{name}: is called `{}`, {} policies",
                scenario.name,
                scenario.policies.len()
            ));
        }
        Prepared::new(scenario).unwrap_or_else(|problems| panic!("{problems}"));
    }
    assert!(5 <= count);
    no_faults(faults);
}

#[test]
fn the_recording_is_made_again_byte_for_byte() {
    let committed = fs::read_to_string(folder().join("replay.csv")).expect("text");
    assert!(make_trace::trace().expect("its numbers are right") == committed);
    assert!(committed.len() < 60_000);
}

#[test]
fn each_gives_the_summary_that_was_looked_at() {
    for name in [
        "adaptive",
        "burst",
        "heavy-background",
        "metastable-collapse",
        "overload",
        "queue-overload",
        "replay",
        "retry-layers",
        "retry-storm",
        "shared-slots",
        "slow-downstream",
        "token-memory",
    ] {
        let output = tempfile::tempdir().expect("a folder");
        let run = output.path().join("run");
        let scenario = folder().join(format!("{name}.toml"));
        assert_cmd::Command::cargo_bin("tidegate")
            .expect("the command")
            .arg("run")
            .arg(scenario)
            .args(["--charts", "none", "-q", "-o"])
            .arg(&run)
            .assert()
            .success();
        let summary = fs::read_to_string(run.join("summary.csv")).expect("a summary");
        // The run's own name changes with every word of the file; the numbers should not.
        let numbers: Vec<&str> =
            summary.lines().filter_map(|line| line.split_once(',')).map(|(_, rest)| rest).collect();
        insta::assert_snapshot!(format!("summary_{name}"), numbers.join("\n"));
    }
}

/// The rows of a file of the run of a scenario, each by its columns.
fn rows(name: &str, file: &str) -> Vec<BTreeMap<String, String>> {
    let output = tempfile::tempdir().expect("a folder");
    let run = output.path().join("run");
    assert_cmd::Command::cargo_bin("tidegate")
        .expect("the command")
        .arg("run")
        .arg(folder().join(format!("{name}.toml")))
        .args(["--charts", "none", "-q", "-o"])
        .arg(&run)
        .assert()
        .success();
    let mut reader = csv::Reader::from_path(run.join(file)).expect("a file");
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

/// A number of the summary of a policy and a class, or of all classes.
fn of(summary: &[BTreeMap<String, String>], policy: &str, class: &str, column: &str) -> f64 {
    let row = summary.iter().find(|row| row["policy"] == policy && row["class"] == class).expect("a row");
    row[column].parse().unwrap_or(0.0)
}

#[test]
fn without_a_defence_an_overload_outlasts_its_cause_and_a_rate_limit_is_none() {
    let timeline = rows("overload", "timeline.csv");
    // Three minutes after the dependency is fast again, and before it was slow.
    let goodput = |policy: &str, from: f64, until: f64| -> f64 {
        let start = |row: &BTreeMap<String, String>| row["t_start_s"].parse::<f64>().expect("a time");
        let inside =
            |row: &&BTreeMap<String, String>| row["policy"] == policy && (from..until).contains(&start(row));
        timeline.iter().filter(inside).map(|row| row["goodput_count"].parse::<f64>().expect("a count")).sum()
    };
    for policy in ["undefended", "rate_limit", "bounded_queue", "adaptive", "codel", "shedding"] {
        let (before, after) = (goodput(policy, 30.0, 60.0), goodput(policy, 270.0, 300.0));
        assert!(1_000.0 < before, "{policy}: {before}");
        match policy {
            "undefended" | "rate_limit" => assert!(after < 10.0, "{policy}: {after}"),
            _ => assert!(1_000.0 < after, "{policy}: {after}"),
        }
    }
}

#[test]
fn lent_slots_are_used_and_people_do_not_wait_for_jobs() {
    let summary = rows("shared-slots", "summary.csv");
    let busy = |policy| of(&summary, policy, "", "utilization_ratio");
    let wait = |policy| of(&summary, policy, "interactive", "queue_wait_p99_ms");
    assert!(busy("static") + 0.2 < busy("elastic"), "{} and {}", busy("static"), busy("elastic"));
    // Jobs take two seconds: no person waits longer for one to end.
    assert!(
        wait("elastic") < 2_000.0 && 10_000.0 < wait("shared"),
        "{} and {}",
        wait("elastic"),
        wait("shared")
    );
}

#[test]
fn a_limit_on_requests_drains_the_memory_that_a_budget_keeps() {
    let timeline = rows("token-memory", "timeline.csv");
    let most = |policy: &str| {
        let mut by_time: BTreeMap<&str, f64> = BTreeMap::new();
        for row in timeline.iter().filter(|row| row["policy"] == policy) {
            *by_time.entry(&row["t_start_s"]).or_default() +=
                row["tokens_inflight_avg"].parse().unwrap_or(0.0);
        }
        by_time.into_values().fold(0.0, f64::max)
    };
    assert!(most("token_budget") <= 200_000.0 && 400_000.0 < most("requests_only"));
    let summary = rows("token-memory", "summary.csv");
    assert_eq!(of(&summary, "token_budget", "chat", "goodput_ratio"), 1.0);
}

#[test]
fn a_person_behind_twenty_heavy_calls_is_served_at_once_where_slots_are_kept() {
    let summary = rows("heavy-background", "summary.csv");
    let served = |policy| of(&summary, policy, "person", "goodput_ratio");
    assert_eq!(served("elastic"), 1.0);
    assert!(served("shared_cap") < 0.5 && served("priority_queue") < 0.5 && served("rate_limit") < 0.5);
}

#[test]
fn limits_that_adapt_keep_answers_in_time_and_differ_in_what_they_make_of_the_weather() {
    let summary = rows("adaptive", "summary.csv");
    let late = of(&summary, "unlimited", "default", "wasted_ratio");
    for policy in ["vegas", "gradient2", "envoy"] {
        assert!(of(&summary, policy, "default", "wasted_ratio") < late / 3.0, "{policy}");
    }
    let gauges = rows("adaptive", "gauges.csv");
    let limit = |policy: &str, at: f64| -> f64 {
        let is_there = |row: &&BTreeMap<String, String>| {
            row["policy"] == policy && row["gauge"] == "limit" && row["t_start_s"].parse() == Ok(at)
        };
        gauges.iter().find(is_there).expect("a row")["last"].parse().expect("a limit")
    };
    for policy in ["vegas", "gradient2", "envoy"] {
        // Cold it begins low, and in a step to three times the time it falls to a third or less.
        assert!(limit(policy, 0.0) < limit(policy, 58.0), "{policy}");
        assert!(limit(policy, 280.0) * 2.0 < limit(policy, 238.0), "{policy}");
    }
    // Vegas takes drift for a queue; Gradient2's long average follows it.
    assert!(limit("vegas", 160.0) < 30.0 && 45.0 < limit("gradient2", 160.0));
    // The lucky sample is the shortest time that Vegas knows from then on, and nothing to the others.
    assert!(limit("vegas", 598.0) < limit("vegas", 538.0));
    assert!(limit("gradient2", 538.0) <= limit("gradient2", 598.0));
}

#[test]
fn a_spike_collapses_a_service_whose_callers_do_not_wait_before_they_retry() {
    let prepared = shipped("metastable-collapse");
    let goodput = |policy: usize, seed: u64, from: u64, until: u64| {
        let rows = run_setup(setup(&prepared, policy, seed));
        let within = |row: &&Interval| (from..until).contains(&(row.start.0 / 1_000_000_000));
        let good: u64 = rows.timeline.iter().filter(within).map(|row| row.count(Count::Goodput)).sum();
        good as f64 / (until - from) as f64
    };
    for seed in 1..=10 {
        let before = goodput(0, seed, 10, 20);
        assert!((30.0..50.0).contains(&before), "{seed}: {before}");
        assert!(goodput(0, seed, 60, 90) < 2.0, "seed {seed} comes back without backoff");
        assert!(34.0 < goodput(1, seed, 57, 87), "seed {seed} stays down with it");
    }
}

#[test]
fn three_layers_of_retries_make_64_attempts_of_a_call_and_budgets_next_to_none() {
    let prepared = shipped("retry-layers");
    let at_the_database = |policy: usize| {
        let rows = run_setup(setup(&prepared, policy, 1));
        let (_, _, edge) = rows.edges.last().expect("it is called");
        edge.attempts as f64 / rows.total().calls as f64
    };
    assert_eq!(at_the_database(0), 64.0);
    assert_eq!(at_the_database(1), 4.0);
    // A tenth more at each of three layers.
    let budget = at_the_database(2);
    assert!((1.2..=1.1 * 1.1 * 1.1).contains(&budget), "{budget}");
}
