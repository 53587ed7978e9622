//! `tidegate check`.

use super::screen::{Screen, Stop};
use super::source::Source;
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::PathBuf;
use tidegate::problem::{Problem, Problems, Severity};
use tidegate::scenario::build::Prepared;

/// Say everything that is wrong with scenario files
#[derive(Debug, Args)]
pub struct Check {
    /// Scenario files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How the findings are written
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
}

impl Check {
    pub fn run(self, screen: &Screen) -> Result<(), Stop> {
        let mut all = Vec::new();
        for path in &self.files {
            let (problems, texts, summary) = match Source::read(path, &[]) {
                Ok(source) => {
                    let summary = summary(&source);
                    let mut found = source.warnings;
                    // Only a look at its traces shows whether they can be replayed.
                    match Prepared::new(source.scenario) {
                        Ok(_) => (found, source.texts, summary),
                        Err(Problems(wrong)) => {
                            found.0.extend(wrong);
                            (found, source.texts, String::new())
                        }
                    }
                }
                Err(stop) => (stop.problems, stop.texts, String::new()),
            };
            if self.format == Format::Human {
                screen.problems(&problems, &texts);
                if !summary.is_empty() {
                    screen.optional_result(&format!("{}: {summary}\n", path.display()))?;
                }
            }
            all.extend(problems.0.into_iter().map(|problem| (path, problem)));
        }
        if self.format == Format::Json {
            let list: Vec<_> = all.iter().map(|(path, problem)| finding(&path.display(), problem)).collect();
            screen.result(&format!("{:#}\n", json!(list)))?;
        }
        let problems = Problems(all.into_iter().map(|(_, problem)| problem).collect());
        if problems.any_error() { Err(Stop::told(problems)) } else { Ok(()) }
    }
}

fn summary(source: &Source) -> String {
    let scenario = &source.scenario;
    let count =
        |number: usize, one: &str, many: &str| format!("{number} {}", if number == 1 { one } else { many });
    format!(
        "right; `{}`, {}, {}, {}, {}",
        scenario.name,
        count(scenario.policies.len(), "policy", "policies"),
        count(scenario.traffics.len(), "traffic", "traffics"),
        count(scenario.events.len(), "event", "events"),
        scenario.duration,
    )
}

fn finding(file: &dyn std::fmt::Display, problem: &Problem) -> serde_json::Value {
    let place = problem.place.as_ref();
    json!({
        "severity": if problem.severity == Severity::Error { "error" } else { "warning" },
        "file": place.map_or_else(|| file.to_string(), |place| place.file.clone()),
        "line": place.map(|place| place.line),
        "column": place.map(|place| place.column),
        "what": problem.what,
        "remedy": problem.remedy,
    })
}
