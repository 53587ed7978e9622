//! The accounts of a run, reckoned again from its rows.
//!
//! In every row, per class: what was offered is accounted for once, the queue and the work in flight change by what
//! enters and leaves, and rejections add up to their reasons. Over all rows the outcomes and the summary say the same.

use super::graph::{Ends, Graph, check_edges};
use crate::problem::{Place, Problem};
use crate::report::csv::Table;
use crate::report::run_json::RunJson;
use csv::{ReaderBuilder, StringRecord};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// Columns of the timeline that are counted, in no particular order.
const COUNTS: [&str; 31] = [
    "offered_count",
    "offered_first_count",
    "offered_retry_count",
    "admitted_direct_count",
    "admitted_from_queue_count",
    "admitted_from_deferred_count",
    "enqueued_direct_count",
    "enqueued_from_deferred_count",
    "deferred_count",
    "rejected_at_arrival_count",
    "rejected_from_queue_count",
    "rejected_from_deferred_count",
    "rejected_rate_limited_count",
    "rejected_concurrency_count",
    "rejected_queue_full_count",
    "rejected_queue_timeout_count",
    "rejected_budget_count",
    "rejected_circuit_open_count",
    "rejected_shed_count",
    "rejected_other_count",
    "completed_count",
    "goodput_count",
    "wasted_count",
    "failed_count",
    "cancelled_count",
    "unfinished_count",
    "abandoned_queued_count",
    "abandoned_deferred_count",
    "degraded_count",
    "queue_depth_last",
    "inflight_last",
];

/// Policy, seed and class.
type Key = (String, String, String);

/// Sums over the rows of one policy, seed and class.
#[derive(Default)]
struct Account {
    rows: u64,
    sums: BTreeMap<&'static str, i128>,
}

/// What is wrong with a row.
pub(super) type Fault = String;

/// Reckons all tables again; the first thing that is wrong in each is a problem.
pub fn check_accounts(dir: &Path, run: &RunJson) -> Vec<Problem> {
    let mut accounts: BTreeMap<Key, Account> = BTreeMap::new();
    let timeline = check_timeline(dir, &mut accounts);
    if let Err(problem) = timeline {
        return vec![problem]; // nothing can be compared with it
    }
    let mut problems = Vec::new();
    problems.extend(check_outcomes(dir, run, &accounts).err());
    if !run.incomplete {
        problems.extend(check_summary(dir, &accounts).err());
    }
    problems
}

fn check_timeline(dir: &Path, accounts: &mut BTreeMap<Key, Account>) -> Result<(), Problem> {
    let columns = [&["policy", "seed", "class", "interval_index"], &COUNTS[..]].concat();
    walk(dir, Table::Timeline, &columns, |cells| {
        let account = accounts.entry(key(cells)).or_default();
        if count(cells[3])? != account.rows as i128 {
            return Err(format!("interval {} does not follow {}", cells[3], account.rows as i128 - 1));
        }
        account.rows += 1;
        let mut row = BTreeMap::new();
        for (name, cell) in COUNTS.iter().zip(&cells[4..]) {
            let value = count(cell)?;
            row.insert(*name, value);
            *account.sums.entry(name).or_default() += value;
        }
        balance(&row, &account.sums)
    })
}

/// The identities of one row, and of all rows up to it.
fn balance(row: &BTreeMap<&str, i128>, sums: &BTreeMap<&str, i128>) -> Result<(), Fault> {
    let of = |name: &str| row[format!("{name}_count").as_str()];
    let so_far =
        |names: &[&str]| names.iter().map(|name| sums[format!("{name}_count").as_str()]).sum::<i128>();
    let rejected = of("rejected_at_arrival") + of("rejected_from_queue") + of("rejected_from_deferred");
    let reasons: i128 = row
        .iter()
        .filter(|(name, _)| {
            name.starts_with("rejected_") && !name.contains("_at_") && !name.contains("_from_")
        })
        .map(|(_, count)| count)
        .sum();
    let waits = so_far(&["enqueued_direct", "enqueued_from_deferred"])
        - so_far(&["admitted_from_queue", "rejected_from_queue", "abandoned_queued"]);
    let serves = so_far(&["admitted_direct", "admitted_from_queue", "admitted_from_deferred"])
        - so_far(&["completed", "failed", "cancelled"]);
    let deferred = so_far(&["deferred"])
        - so_far(&[
            "admitted_from_deferred",
            "enqueued_from_deferred",
            "rejected_from_deferred",
            "abandoned_deferred",
        ]);
    let direct = of("admitted_direct") + of("enqueued_direct") + of("rejected_at_arrival") + of("deferred");
    for (left, right, says) in [
        (of("offered"), of("offered_first") + of("offered_retry"), "offered is not first + retries"),
        (of("offered"), direct, "offered is not admitted + enqueued + rejected + deferred"),
        (of("completed"), of("goodput") + of("wasted"), "completed is not goodput + wasted"),
        (rejected, reasons, "rejected is not the sum of its reasons"),
        (row["queue_depth_last"], waits, "queue_depth_last is not what entered the queue and has not left"),
        (row["inflight_last"], serves, "inflight_last is not what was admitted and has not ended"),
        (deferred.max(0), deferred, "more left the deferred than were deferred"),
    ] {
        if left != right {
            return Err(format!("{says}: {left} ≠ {right}"));
        }
    }
    Ok(())
}

fn check_outcomes(dir: &Path, run: &RunJson, accounts: &BTreeMap<Key, Account>) -> Result<(), Problem> {
    let graph = Graph::of(&run.scenario);
    let (mut ends, mut own) = (Ends::new(), Ends::new());
    let mut found: BTreeMap<Key, BTreeMap<String, i128>> = BTreeMap::new();
    let columns = ["policy", "seed", "class", "outcome", "reason", "count", "target"];
    walk(dir, Table::Outcomes, &columns, |cells| {
        let key = key(cells);
        if !accounts.contains_key(&key) {
            return Err(format!(
                "the timeline has no class `{}` under policy `{}` and seed {}",
                cells[2], cells[0], cells[1]
            ));
        }
        let name = if cells[4].is_empty() { cells[3].to_string() } else { format!("rejected_{}", cells[4]) };
        let (count, target) = (count(cells[5])?, cells[6]);
        *ends.entry((cells[0].into(), cells[1].into(), target.into())).or_default() += count;
        if !graph.calls() || target == graph.behind(cells[0]) {
            *found.entry(key).or_default().entry(name).or_default() += count;
        }
        Ok(())
    })?;
    for (key, account) in accounts {
        let none = BTreeMap::new();
        let outcomes = found.get(key).unwrap_or(&none);
        let said = |name: &str| outcomes.get(name).copied().unwrap_or(0);
        let sum = |name: &str| account.sums[format!("{name}_count").as_str()];
        let reasons = COUNTS[12..20].iter().map(|name| name.trim_end_matches("_count"));
        let same = ["goodput", "wasted", "failed", "cancelled", "unfinished"].into_iter().chain(reasons);
        let pairs = same.map(|name| (name, said(name), sum(name)));
        let abandoned = sum("abandoned_queued") + sum("abandoned_deferred");
        for (name, said, counted) in pairs.chain([("abandoned", said("abandoned"), abandoned)]) {
            // What other downstreams call has their attempts too, which are told apart all together below.
            if !(graph.is_called(&key.0) && counted <= said) {
                agree(Table::Outcomes, key, name, said, counted)?;
            }
            let behind = graph.behind(&key.0).to_string();
            *own.entry((key.0.clone(), key.1.clone(), behind)).or_default() += counted;
        }
    }
    if graph.calls() && !run.incomplete { check_edges(dir, &graph, &ends, &own) } else { Ok(()) }
}

fn check_summary(dir: &Path, accounts: &BTreeMap<Key, Account>) -> Result<(), Problem> {
    const SAME: [&str; 4] = ["offered_count", "goodput_count", "unfinished_count", "degraded_count"];
    let columns = [&["policy", "seed", "class", "scope", "warmup_s"], &SAME[..]].concat();
    let mut rows: Vec<(Key, String, bool, Vec<i128>)> = Vec::new();
    walk(dir, Table::Summary, &columns, |cells| {
        let values = cells[5..].iter().map(|cell| count(cell)).collect::<Result<Vec<_>, _>>()?;
        let warm = cells[4].bytes().any(|byte| (b'1'..=b'9').contains(&byte));
        rows.push((key(cells), cells[3].to_string(), warm, values));
        Ok(())
    })?;
    let mut totals: BTreeMap<(&str, &str), Vec<i128>> = BTreeMap::new();
    for (key, _, warm, values) in rows.iter().filter(|(_, scope, ..)| scope != "total") {
        let total = totals.entry((&key.0, &key.1)).or_insert(vec![0; SAME.len()]);
        for (i, name) in SAME.iter().enumerate() {
            total[i] += values[i];
            let counted = accounts.get(key).map_or(0, |account| account.sums[name]);
            // Calls that were born in the warm-up are in the timeline and not in the summary.
            if !(*warm && values[i] <= counted) {
                agree(Table::Summary, key, name, values[i], counted)?;
            }
        }
    }
    for (key, _, _, values) in rows.iter().filter(|(_, scope, ..)| scope == "total") {
        let none = vec![0; SAME.len()];
        let total = totals.get(&(key.0.as_str(), key.1.as_str())).unwrap_or(&none);
        for (i, name) in SAME.iter().enumerate() {
            agree(Table::Summary, key, name, values[i], total[i])?;
        }
    }
    match accounts.keys().find(|key| !rows.iter().any(|(other, ..)| other == *key)) {
        Some(key) => agree(Table::Summary, key, "rows", 0, 1),
        None => Ok(()),
    }
}

fn agree(table: Table, key: &Key, name: &str, said: i128, counted: i128) -> Result<(), Problem> {
    if said == counted {
        return Ok(());
    }
    let (policy, seed, class) = key;
    Err(Problem::not_reproducible(format!(
        "`{}` does not agree with `timeline.csv`: {name} of class `{class}` under policy `{policy}` and seed {seed}: \
         {said} ≠ {counted}",
        table.file()
    )))
}

fn key(cells: &[&str]) -> Key {
    (cells[0].into(), cells[1].into(), cells[2].into())
}

pub(super) fn count(cell: &str) -> Result<i128, Fault> {
    let plain = !cell.is_empty() && cell.bytes().all(|byte| byte.is_ascii_digit());
    let count = cell.parse::<u64>().ok().filter(|_| plain);
    count.map(i128::from).ok_or_else(|| format!("`{}` is no count", cell.escape_debug()))
}

/// Hands the named cells of every row to `row`; what that finds wrong becomes a problem with its line.
pub(super) fn walk(
    dir: &Path,
    table: Table,
    columns: &[&str],
    mut row: impl FnMut(&[&str]) -> Result<(), Fault>,
) -> Result<(), Problem> {
    let name = table.file();
    let path = dir.join(name);
    let at = |line: usize, what: String| {
        let place = Place { file: path.display().to_string(), line, column: 1, span: 0..0 };
        Problem::not_reproducible(format!("`{name}`: {what}")).at(place)
    };
    let unreadable = |error: csv::Error| {
        let line = error.position().map_or(1, |position| position.line() as usize);
        at(line, format!("it can't be read: {error}"))
    };
    // A pipe or a device would never end.
    if !path.symlink_metadata().is_ok_and(|found| found.is_file()) {
        return Err(at(1, "it can't be read: it is not a regular file".into()));
    }
    let file = File::open(&path).map_err(|error| at(1, format!("it can't be read: {error}")))?;
    let mut reader = ReaderBuilder::new().from_reader(file);
    let header = reader.headers().map_err(unreadable)?.clone();
    let mut places = Vec::new();
    for column in columns {
        let place = header.iter().position(|title| title == *column);
        places.push(place.ok_or_else(|| at(1, format!("the column `{column}` is missing")))?);
    }
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(unreadable)? {
        let cells: Vec<&str> = places.iter().map(|place| &record[*place]).collect();
        let line = record.position().map_or(0, |position| position.line() as usize);
        row(&cells).map_err(|fault| at(line, fault))?;
    }
    Ok(())
}
