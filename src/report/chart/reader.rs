//! Reads `timeline.csv` under one seed, and what `summary.csv` says of it.

use super::table::{Column, Table};
use super::text;
use super::timeline::{COUNTS, Interval, Latency, Phase, Policy, Timeline};
use crate::problem::Problem;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The most policies that a run may have to be drawn.
const POLICIES_MAX: usize = 256;

/// The columns that are read.
struct Columns {
    run_id: Column,
    policy: Column,
    seed: Column,
    start: Column,
    length: Column,
    phase: Column,
    class: Column,
    inflight: Column,
    queued: Column,
    limit: Column,
    p50: Column,
    p99: Column,
    counts: [Column; COUNTS.len()],
}

impl Columns {
    fn find(table: &Table) -> Result<Columns, Problem> {
        let mut counts = [table.column(COUNTS[0])?; COUNTS.len()];
        for (column, name) in counts.iter_mut().zip(COUNTS) {
            *column = table.column(name)?;
        }
        Ok(Columns {
            run_id: table.column("run_id")?,
            policy: table.column("policy")?,
            seed: table.column("seed")?,
            start: table.column("t_start_s")?,
            length: table.column("interval_s")?,
            phase: table.column("phase")?,
            class: table.column("class")?,
            inflight: table.column("inflight_avg")?,
            queued: table.column("queue_depth_avg")?,
            limit: table.column("limit_avg")?,
            p50: table.column("latency_p50_ms")?,
            p99: table.column("latency_p99_ms")?,
            counts,
        })
    }
}

/// Reads the run in `dir` under `seed`, or under its first seed.
pub fn timeline(dir: &Path, seed: Option<u64>) -> Result<Timeline, Problem> {
    let mut table = Table::open(dir, "timeline.csv")?;
    let columns = Columns::find(&table)?;
    let mut chosen = seed.map(|seed| seed.to_string());
    let mut seeds = BTreeSet::new();
    let mut traffic: BTreeMap<Vec<u8>, f64> = BTreeMap::new();
    let mut policies: Vec<Policy> = Vec::new();
    let mut run_id = String::new();
    let mut last_seed = Vec::new();
    while table.advance()? {
        if last_seed != table.bytes(columns.seed) || seeds.is_empty() {
            last_seed = table.bytes(columns.seed).to_vec();
            seeds.insert(table.text(columns.seed));
        }
        let chosen = chosen.get_or_insert_with(|| table.text(columns.seed));
        if table.bytes(columns.seed) != chosen.as_bytes() {
            continue;
        }
        if run_id.is_empty() {
            run_id = table.text(columns.run_id);
        }
        let policy = policy_of(&table, &columns, &mut policies)?;
        let offered = add_row(&table, &columns, policy)?;
        let class = table.bytes(columns.class);
        match traffic.get_mut(class) {
            Some(sum) => *sum += offered,
            None => _ = traffic.insert(class.to_vec(), offered),
        }
    }
    let mut shown: BTreeMap<String, f64> = BTreeMap::new();
    traffic.iter().for_each(|(class, sum)| *shown.entry(text::shown(class)).or_default() += sum);
    let Some(seed) = chosen.filter(|_| !policies.is_empty()) else {
        return Err(nothing_to_draw(dir, seed));
    };
    let classes = busiest_first(shown);
    let mut timeline = Timeline { run_id, seed, seeds: seeds.len(), policies, classes };
    read_summary(&mut timeline, dir)?;
    Ok(timeline)
}

/// Takes each policy's share of good answers from `summary.csv`, if there is one: no number is worked out twice.
fn read_summary(timeline: &mut Timeline, dir: &Path) -> Result<(), Problem> {
    if !dir.join("summary.csv").exists() {
        return Ok(());
    }
    let mut table = Table::open(dir, "summary.csv")?;
    let [policy, seed, scope, ratio] =
        ["policy", "seed", "scope", "goodput_ratio"].map(|name| table.column(name));
    let (policy, seed, scope, ratio) = (policy?, seed?, scope?, ratio?);
    while table.advance()? {
        if table.bytes(seed) == timeline.seed.as_bytes() && table.bytes(scope) == b"total" {
            let name = table.bytes(policy);
            if let Some(policy) = timeline.policies.iter_mut().find(|p| p.name.as_bytes() == name) {
                policy.goodput_ratio = table.optional(ratio)?;
            }
        }
    }
    Ok(())
}

/// Classes by their attempts, equal ones by name.
fn busiest_first(traffic: BTreeMap<String, f64>) -> Vec<String> {
    let mut classes: Vec<(String, f64)> = traffic.into_iter().collect();
    classes.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    classes.into_iter().map(|(name, _)| name).collect()
}

fn nothing_to_draw(dir: &Path, seed: Option<u64>) -> Problem {
    let file = dir.join("timeline.csv");
    match seed {
        Some(seed) => Problem::input(format!("`{}` has no row of seed {seed}", file.display())),
        None => Problem::input(format!("`{}` has no rows", file.display())),
    }
}

/// The policy of the row, made on its first row. Its name becomes a file's name and is checked for that.
fn policy_of<'a>(
    table: &Table,
    columns: &Columns,
    policies: &'a mut Vec<Policy>,
) -> Result<&'a mut Policy, Problem> {
    let name = table.bytes(columns.policy);
    let at = match policies.iter().rposition(|policy| policy.name.as_bytes() == name) {
        Some(at) => at,
        None => {
            let plain = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-');
            if name.is_empty() || 100 < name.len() || !name.iter().all(plain) {
                let what = format!("is `{}`, which can't name a file", table.text(columns.policy));
                return Err(table.problem(columns.policy, what));
            }
            if policies.len() == POLICIES_MAX {
                let what = format!("names more than {POLICIES_MAX} policies, which are too many to draw");
                return Err(table.problem(columns.policy, what));
            }
            policies.push(Policy {
                name: table.text(columns.policy),
                intervals: Vec::new(),
                latencies: BTreeMap::new(),
                goodput_ratio: None,
            });
            policies.len() - 1
        }
    };
    Ok(&mut policies[at])
}

/// Adds one class's row to its policy and returns its attempts.
fn add_row(table: &Table, columns: &Columns, policy: &mut Policy) -> Result<f64, Problem> {
    let from_s = table.number(columns.start)?;
    let last_s = policy.intervals.last().map(|interval| interval.from_s);
    if last_s.is_some_and(|last_s| from_s < last_s) {
        return Err(table.problem(columns.start, "goes back in time: rows must be sorted".to_string()));
    }
    if last_s != Some(from_s) {
        let interval = empty_interval(table, columns, from_s)?;
        policy.intervals.push(interval);
    }
    let at = policy.intervals.len() - 1;
    let interval = &mut policy.intervals[at];
    for (sum, column) in interval.counts.iter_mut().zip(columns.counts) {
        *sum += table.number(column)?;
    }
    interval.inflight += table.number(columns.inflight)?;
    interval.queued += table.number(columns.queued)?;
    // The limit is the policy's and repeated on each class's row.
    interval.limit = table.optional(columns.limit)?;
    if let (Some(p50_ms), Some(p99_ms)) = (table.optional(columns.p50)?, table.optional(columns.p99)?) {
        let latency = Latency { interval: at, p50_ms, p99_ms };
        let class = table.bytes(columns.class);
        match policy.latencies.iter_mut().find(|(name, _)| name.as_bytes() == class) {
            Some((_, latencies)) => latencies.push(latency),
            None => policy.latencies.entry(text::shown(class)).or_default().push(latency),
        }
    }
    table.number(columns.counts[0])
}

fn empty_interval(table: &Table, columns: &Columns, from_s: f64) -> Result<Interval, Problem> {
    let length_s = table.number(columns.length)?;
    let until_s = from_s + length_s;
    if until_s <= from_s {
        return Err(table.problem(columns.length, "is 0: an interval takes time".to_string()));
    }
    let phase = match table.bytes(columns.phase) {
        b"warmup" => Phase::Warmup,
        b"main" => Phase::Main,
        b"drain" => Phase::Drain,
        _ => {
            let what = format!("is `{}`: use warmup, main or drain", table.text(columns.phase));
            return Err(table.problem(columns.phase, what));
        }
    };
    let counts = [0.0; COUNTS.len()];
    Ok(Interval { from_s, until_s, phase, counts, inflight: 0.0, queued: 0.0, limit: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::chart::sample;
    use std::fs;

    /// The sample of one policy with its rows changed.
    fn changed(change: impl Fn(&str) -> String) -> Result<Timeline, Problem> {
        let dir = sample::directory(&["a"], 6, "slow");
        let path = dir.path().join("timeline.csv");
        let text = fs::read_to_string(&path).unwrap();
        let (header, rows) = text.split_once('\n').unwrap();
        fs::write(&path, format!("{header}\n{}", change(rows))).unwrap();
        timeline(dir.path(), None)
    }

    #[test]
    fn counts_add_up_over_classes_and_percentiles_stay_apart() {
        let one = changed(str::to_string).unwrap();
        let second = |row: &str| format!("{row}\n{}\n", row.replace("default", "batch"));
        let two = changed(|rows| rows.lines().map(second).collect()).unwrap();
        let (one, two_of) = (&one.policies[0], &two.policies[0]);
        assert_eq!(two_of.intervals.len(), one.intervals.len());
        assert_eq!(two_of.intervals[0].counts[0], 2.0 * one.intervals[0].counts[0]);
        assert_eq!(two_of.intervals[0].limit, one.intervals[0].limit);
        assert_eq!(two.classes, ["batch", "default"]);
        assert_eq!(two_of.latencies["batch"][0].p50_ms, one.latencies["default"][0].p50_ms);
    }

    #[test]
    fn several_seeds_are_drawn_under_the_first() {
        let seeds = |rows: &str| format!("{}{}", rows.replace("r1,a,1,", "r1,a,7,"), rows);
        let timeline = changed(seeds).unwrap();
        assert_eq!(
            (timeline.seed.as_str(), timeline.seeds, timeline.policies[0].intervals.len()),
            ("7", 2, 6)
        );
    }

    #[test]
    fn a_seed_that_the_run_has_not_is_named() {
        let dir = sample::directory(&["a"], 6, "slow");
        let problem = timeline(dir.path(), Some(9)).unwrap_err().to_string();
        assert!(problem.contains("timeline.csv` has no row of seed 9"), "{problem}");
    }

    #[test]
    fn rows_out_of_order_are_refused() {
        let backwards = |rows: &str| rows.lines().rev().map(|row| format!("{row}\n")).collect();
        let problem = changed(backwards).unwrap_err().to_string();
        assert!(problem.contains("timeline.csv:3:8: column `t_start_s` goes back in time"), "{problem}");
    }

    #[test]
    fn a_run_without_rows_has_nothing_to_draw() {
        let problem = changed(|_| String::new()).unwrap_err().to_string();
        assert!(problem.contains("timeline.csv` has no rows"), "{problem}");
    }
}
