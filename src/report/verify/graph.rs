//! The attempts that downstreams make at each other: `edges.csv` against `outcomes.csv`, and both against the timeline.

use super::accounts::{Fault, count, walk};
use crate::problem::Problem;
use crate::report::csv::Table;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Attempts by policy, seed and downstream.
pub(super) type Ends = BTreeMap<(String, String, String), i128>;

/// Who stands behind each policy, and who is called by others, as the scenario has it.
pub(super) struct Graph<'a> {
    scenario: &'a Value,
    called: BTreeSet<&'a str>,
}

impl<'a> Graph<'a> {
    pub(super) fn of(scenario: &'a Value) -> Graph<'a> {
        let downstreams = scenario["downstream"].as_object().into_iter().flatten();
        let calls = downstreams.filter_map(|(_, keys)| keys["calls"].as_array()).flatten();
        Graph { scenario, called: calls.filter_map(|call| call["to"].as_str()).collect() }
    }

    /// Whether any downstream calls another.
    pub(super) fn calls(&self) -> bool {
        !self.called.is_empty()
    }

    /// The downstream behind a policy.
    pub(super) fn behind(&self, policy: &str) -> &'a str {
        self.scenario["policy"][policy]["downstream"].as_str().unwrap_or_default()
    }

    /// Whether attempts at the policy's downstream may be others' than the traffics'.
    pub(super) fn is_called(&self, policy: &str) -> bool {
        self.called.contains(self.behind(policy))
    }

    fn has_warmup(&self) -> bool {
        self.scenario.get("warmup").is_some()
    }
}

/// Compares the edges with the ends of all attempts; `own` are those of the traffics.
pub(super) fn check_edges(dir: &Path, graph: &Graph<'_>, ends: &Ends, own: &Ends) -> Result<(), Problem> {
    let columns =
        ["policy", "seed", "target", "calls_count", "attempts_count", "answered_count", "failed_count"];
    let mut attempts = Ends::new();
    walk(dir, Table::Edges, &columns, |cells| {
        let [calls, tried, answered, failed] =
            [count(cells[3])?, count(cells[4])?, count(cells[5])?, count(cells[6])?];
        if tried < calls {
            return Err(format!("calls without an attempt: {calls} and {tried}"));
        }
        if calls < answered + failed {
            return Err(format!("more answers than calls: {} and {calls}", answered + failed));
        }
        *attempts.entry((cells[0].into(), cells[1].into(), cells[2].into())).or_default() += tried;
        Ok::<(), Fault>(())
    })?;
    for place in ends.keys().chain(attempts.keys()) {
        let of = |ends: &Ends| ends.get(place).copied().unwrap_or(0);
        let (ended, tried) = (of(ends) - of(own), of(&attempts));
        // Attempts of calls that were born in the warm-up are in the outcomes and not among the edges.
        let agrees = if graph.has_warmup() { tried <= ended } else { tried == ended };
        if !agrees {
            let (policy, seed, target) = place;
            return Err(Problem::not_reproducible(format!(
                "`{}` does not agree with `{}`: attempts that downstreams made at `{target}` under policy `{policy}` and \
                 seed {seed}: {tried} ≠ {ended}",
                Table::Edges.file(),
                Table::Outcomes.file(),
            )));
        }
    }
    Ok(())
}
