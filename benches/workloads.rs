//! What a simulation costs, beside the least that it could cost on the same machine in the same minute.
//!
//! `cargo bench --bench workloads` measures it in a few minutes, with `-- quick` a part of it roughly. CPU time, programs in turn, medians; nothing is read from an earlier
//! run. docs/performance.md says what the figures mean.
#![allow(missing_docs)]

mod limit;
mod measure;
mod parts;
mod setups;
mod table;

use limit::{Fastest, Same, Tally};
use measure::{Program, in_turn, median, ratio, seconds};
use setups::workload;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use table::Table;
use tidegate::engine::{self, Outcome, Setup, Unwatched};
use tidegate::observe::rows::Nowhere;
use tidegate::observe::{Count, Sink, SummaryRow};
use tidegate::report::csv::Files;
use tidegate::study::{self, Control};
use tidegate::time::Nanos;

/// How much is measured.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    /// Calls of one run of W1 and W2; W3 has a ninth of it for each of its seeds.
    calls: u64,
    quick: bool,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let asked = |word: &str| arguments.iter().any(|argument| argument == word);
    if asked("one-large-run") {
        return one_large_run();
    }
    let effort = match asked("quick") {
        true => Effort { rounds: 3, calls: 200_000, quick: true },
        false => Effort { rounds: 9, calls: 2_000_000, quick: false },
    };
    let dir = tempfile::tempdir().expect("a directory for what is written");
    let mut table = Table::default();
    println!("results agree to the count:");
    for which in 1..=3 {
        paired(which, effort, &mut table);
    }
    if !asked("pairs") {
        growth(effort, &mut table);
        width(effort, &mut table);
        parts(effort, dir.path(), &mut table);
        whole(effort, &mut table);
    }
    println!("\n{}{}\n", machine(), if effort.quick { " Quick: rough figures." } else { "" });
    table.print();
}

/// Cores and processor, for the table's head.
fn machine() -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let models: Vec<&str> = cpus
        .lines()
        .filter(|line| line.starts_with("model name"))
        .filter_map(|line| line.split(": ").nth(1))
        .collect();
    format!("{} × {}; CPU time, medians.", models.len(), models.first().unwrap_or(&"unknown processor"))
}

/// Runs a simulation; answers its outcome and its summary.
fn simulate<S: Sink>(setup: Setup, rows: S) -> (Outcome, SummaryRow<'static>, S) {
    let mut sink = study::Tally::new(rows, true);
    let outcome = engine::run(setup, &mut sink, &mut Unwatched).expect("the accounts balance");
    let (rows, memory) = sink.into_parts();
    (outcome, memory.total.expect("it was not stopped"), rows)
}

/// Runs simulations as the command does, all files but the request log and the charts included; answers the calls.
fn simulate_to_files(setups: impl Iterator<Item = Setup>) -> u64 {
    let run = |files: &Files<'_>| {
        let one = |(job, setup)| {
            let (outcome, _, rows) = simulate(setup, files.open(job, "policy", 1));
            files.close(rows).expect("room on the disk");
            outcome.calls
        };
        setups.enumerate().map(one).sum()
    };
    setups::with_files(false, run).0
}

/// The seeds of a workload and the length of each run.
fn runs(which: u32, calls: u64) -> (u64, Nanos) {
    match which {
        1 => (1, Nanos::secs(calls / 800)),
        2 => (1, Nanos::secs(calls / 1000)),
        _ => ((calls / 9 / 108_000).max(1), Nanos::secs(120)),
    }
}

fn by_hand<C: limit::Chance>(which: u32, chance: C, duration: Nanos) -> Tally {
    match which {
        1 => limit::w1(chance, duration.0),
        2 => limit::w2(chance, duration.0),
        _ => limit::w3(chance, duration.0),
    }
}

/// What the library says of the same things.
fn tally(total: &SummaryRow<'_>) -> Tally {
    let count = |count: Count| total.counts[count as usize];
    Tally {
        calls: total.calls,
        attempts: count(Count::Offered),
        goodput: count(Count::Goodput),
        rejected: count(Count::RejectedAtArrival),
        timed_out: count(Count::TimedOut),
        abandoned: count(Count::AbandonedQueued),
        waits: total.queue_wait.sum,
    }
}

/// A workload through the library and by hand.
fn paired(which: u32, effort: Effort, table: &mut Table) {
    let (seeds, duration) = runs(which, effort.calls);
    let mut fingerprint = 0u64;
    for seed in 1..=seeds {
        let (outcome, total, _) = simulate(workload(which, seed, duration), Nowhere);
        assert_eq!(tally(&total), by_hand(which, Same::new(seed), duration), "W{which}, seed {seed}");
        fingerprint = fingerprint.rotate_left(1) ^ outcome.fingerprint;
    }
    let all = by_hand(which, Same::new(1), duration);
    println!("W{which}, fingerprint {fingerprint:016x}, seed 1: {all:?}");
    let fast = by_hand(which, Fastest::new(1), duration);
    let off = fast.goodput as f64 / all.goodput as f64 - 1.0;
    assert!(off.abs() < 0.2, "other random numbers tell another story: {fast:?}");

    let each = |run: &dyn Fn(u64) -> u64| (1..=seeds).map(run).sum();
    let library = || simulate_to_files((1..=seeds).map(|seed| workload(which, seed, duration)));
    let dropped = |seed| simulate(workload(which, seed, duration), Nowhere).0.calls;
    let same = |seed| by_hand(which, Same::new(seed), duration).calls;
    let fastest = |seed| by_hand(which, Fastest::new(seed), duration).calls;
    let programs: Vec<Program<'_>> = vec![
        Box::new(library),
        Box::new(|| each(&dropped)),
        Box::new(|| each(&same)),
        Box::new(|| each(&fastest)),
    ];
    let costs = in_turn(effort.rounds, programs);
    let [library, dropped, same, fastest] = [0, 1, 2, 3].map(|i| median(costs[i].clone()));
    let name = ["", "W1 one server", "W2 token bucket, 64 servers", "W3 retry storm"][which as usize];
    table.add(name, library, "ns/call", Some((same, ratio(&costs[0], &costs[2]))), "at most 2 × the limit");
    table.add("   without writing rows", dropped, "ns/call", Some((same, ratio(&costs[1], &costs[2]))), "");
    let floor = Some((fastest, ratio(&costs[0], &costs[3])));
    table.add("   limit: fastest random numbers", library, "ns/call", floor, "");
}

/// Runs without keeping rows; answers the calls.
fn calls(setup: Setup) -> u64 {
    engine::run(setup, &mut Nowhere, &mut Unwatched).expect("the accounts balance").calls
}

/// The costs of several simulations beside that of the first.
fn beside_the_first(rounds: usize, table: &mut Table, target: &str, cases: Vec<(String, Program<'_>)>) {
    let (names, programs): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
    let costs = in_turn(rounds, programs);
    let base = median(costs[0].clone());
    for (i, name) in names.iter().enumerate() {
        let against = (i > 0).then(|| (base, ratio(&costs[i], &costs[0])));
        table.add(name, median(costs[i].clone()), "ns/call", against, if i > 0 { target } else { "" });
    }
}

/// Longer runs, and more that is pending.
fn growth(effort: Effort, table: &mut Table) {
    let rounds = if effort.quick { 1 } else { 3 };
    let most = if effort.quick { 100_000 } else { 10_000_000 };
    let lengths = [10_000, 1_000_000, 10_000_000u64].into_iter().filter(|n| *n <= most);
    let length = |n: u64| -> (String, Program<'_>) {
        let repeats = (200_000 / n).max(1);
        let program = move || (0..repeats).map(|_| calls(setups::w1(1, Nanos::secs(n / 800)))).sum();
        (format!("W1, {} calls", grouped(n)), Box::new(program))
    };
    beside_the_first(rounds, table, "below 1.3 × the first", lengths.map(length).collect());

    let seconds = if effort.quick { 100 } else { 1_000 };
    let sizes = || [100, 10_000, 1_000_000u64].into_iter().filter(|n| *n <= most);
    let waiting = |n| -> (String, Program<'_>) {
        let program = move || calls(setups::waiting(n, Nanos::secs(seconds)));
        (format!("{} pending timers", grouped(n)), Box::new(program))
    };
    beside_the_first(rounds, table, "below 2 × the first", sizes().map(waiting).collect());
    let in_service = |n| -> (String, Program<'_>) {
        let program =
            move || calls(setups::in_service(n, Nanos::millis(if n > 100_000 { 4_000 } else { 1_000 })));
        (format!("{} pending timers and finishes", grouped(n)), Box::new(program))
    };
    beside_the_first(rounds, table, "", sizes().map(in_service).collect());
}

/// More of everything, side by side.
fn width(effort: Effort, table: &mut Table) {
    let seconds = effort.calls / 4_000;
    let cases: Vec<(String, Program<'_>)> = vec![
        ("W2, one of each".into(), Box::new(move || calls(setups::w2(1, Nanos::secs(seconds))))),
        (
            "50 gates and downstreams".into(),
            Box::new(move || calls(setups::side_by_side(50, Nanos::secs(seconds / 50)))),
        ),
        (
            "a bucket for each of 1,000 tenants".into(),
            Box::new(move || calls(setups::keyed(Nanos::secs(seconds)))),
        ),
        ("20 classes".into(), Box::new(move || calls(setups::classes(20, Nanos::secs(seconds))))),
    ];
    beside_the_first(effort.rounds.min(5), table, "below 1.5 × the first", cases);
}

/// Parts by themselves.
fn parts(effort: Effort, dir: &Path, table: &mut Table) {
    let (rounds, times) = (effort.rounds.min(5), effort.calls / 2);
    for per_interval in [1_000, 100_000] {
        let name = format!("percentiles of {} values", grouped(per_interval));
        table.add(
            &name,
            parts::sketch(rounds, times.next_multiple_of(100_000), per_interval),
            "ns/value",
            None,
            "",
        );
    }
    let (ns, bytes) = parts::request_log(rounds, times);
    table.add("request log, CSV", bytes / ns * 1e3, "MB/s", None, "at least 400");
    let (check, replay, bytes) = parts::trace(rounds, times, dir);
    table.add("trace, CSV: the check before a run", bytes / check * 1e3, "MB/s", None, "");
    table.add("trace, CSV: the replay", bytes / replay * 1e3, "MB/s", None, "at least 200");
    table.add("   in rows", 1e3 / replay, "M rows/s", None, "");
}

/// Processes and threads.
fn whole(effort: Effort, table: &mut Table) {
    let this = std::env::current_exe().expect("a path");
    let argument = if effort.quick { "1000000" } else { "10000000" };
    let child = Command::new(this).args(["one-large-run", argument]).output().expect("it starts");
    let peak: f64 = String::from_utf8_lossy(&child.stdout).trim().parse().expect("a number");
    table.add(&format!("memory of {argument} calls of W1"), peak / 1024.0, "MB", None, "below 64 for 10^8");

    let seeds: Vec<u64> = (1..=if effort.quick { 100 } else { 1_000 }).collect();
    let jobs = study::jobs(&["policy".into()], &seeds);
    let build = |job: &study::Job| Ok(setups::w2(job.seed, Nanos::secs(1)));
    let threads = |threads| {
        let once = || {
            let control = Control { threads, stop: &AtomicBool::new(false), progress: &|_| () };
            seconds(|| study::run(&jobs, &build, &Nowhere, &control).expect("the accounts balance")).0
        };
        median((0..5).map(|_| once()).collect())
    };
    let (one, two) = (threads(1), threads(2));
    let what = format!("{} seeds of 1,000 calls, two threads", grouped(seeds.len() as u64));
    table.add(&what, two, "s", None, "below 2 for 1,000");
    table.add("   one thread beside two", one, "s", Some((two, one / two)), "at least 1.9");

    // Without the feature `cli` there is no command to start.
    if let Some(command) = option_env!("CARGO_BIN_EXE_tidegate").filter(|path| Path::new(path).exists()) {
        let start =
            || seconds(|| Command::new(command).arg("--version").output().expect("it starts")).0 * 1e3;
        table.add("tidegate --version", median((0..21).map(|_| start()).collect()), "ms", None, "below 5");
    }
}

/// Prints the most memory that this process ever had, in kB, after one run of W1.
fn one_large_run() {
    let calls =
        std::env::args().filter_map(|argument| argument.parse::<u64>().ok()).next().unwrap_or(1_000_000);
    let met = simulate_to_files(std::iter::once(setups::w1(1, Nanos::secs(calls / 800))));
    assert!(calls / 2 < met);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    println!("{}", peak.trim().trim_end_matches(" kB"));
}

/// With commas between thousands.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap_or("")).collect();
    groups.join(",")
}
