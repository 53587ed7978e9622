//! `run.json`: what was run, and what it wrote.
//!
//! It says enough to run again and to compare: the canonical scenario, seeds, policies, the hashes of traces and of
//! every file. It names no clock, host or path, so the same input writes the same bytes.

use crate::problem::Problem;
use crate::report::csv::{Table, Written, hex};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The version of the model: raised whenever the same scenario and seed may give other results than before.
pub const MODEL_VERSION: u32 = 1;

/// The file's name.
pub const FILE: &str = "run.json";

/// Longest `run.json` that is read.
const LONGEST: u64 = 64 << 20;

/// The whole of `run.json`. Keys stand sorted in the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunJson {
    /// What identifies the run; see [`run_id`].
    pub run_id: String,
    /// The scenario's name.
    pub name: String,
    /// The scenario as it was run, every default and override filled in.
    pub scenario: Value,
    /// The seeds, in the order of the rows.
    pub seeds: Vec<u64>,
    /// The policies, in the order of the rows.
    pub policies: Vec<String>,
    /// The traces that the scenario replays.
    pub traces: Vec<TraceFile>,
    /// A hash over everything that happened, per policy and seed.
    pub fingerprints: Vec<Fingerprint>,
    /// True if the run was interrupted; absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
    /// Every other file that the run wrote.
    pub outputs: Vec<Written>,
    /// See [`MODEL_VERSION`].
    pub model_version: u32,
    /// What wrote it.
    pub tool: Tool,
}

/// A program and its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A trace by what it is, not by where it lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceFile {
    /// The last part of its path.
    pub name: String,
    /// The hash of its bytes.
    pub sha256: String,
    /// Its rows.
    pub rows: u64,
}

/// The hash over all facts of one job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// The policy.
    pub policy: String,
    /// The seed.
    pub seed: u64,
    /// The hash in hexadecimal.
    pub fingerprint: String,
}

impl Tool {
    /// This program.
    pub fn this() -> Tool {
        Tool { name: env!("CARGO_PKG_NAME").into(), version: env!("CARGO_PKG_VERSION").into() }
    }
}

/// What identifies a run: `r` and the first twelve hexadecimal digits of a SHA-256.
///
/// It is taken over the compact JSON, keys sorted, of `{model_version, policies, scenario, seeds, traces}`, where
/// `scenario` is the canonical scenario and `traces` are the hashes of the traces in the scenario's order. How rows
/// are written (charts, request log, threads) does not enter.
pub fn run_id(scenario: &Value, policies: &[String], seeds: &[u64], traces: &[TraceFile]) -> String {
    let hashes: Vec<&str> = traces.iter().map(|trace| trace.sha256.as_str()).collect();
    let identity = sorted(serde_json::json!({
        "model_version": MODEL_VERSION,
        "policies": policies,
        "scenario": scenario,
        "seeds": seeds,
        "traces": hashes,
    }));
    format!("r{}", &hex(&Sha256::digest(identity.to_string()))[..12])
}

/// The same value with every object's keys in order, whatever order the map type keeps.
fn sorted(mut value: Value) -> Value {
    value.sort_all_objects();
    value
}

impl RunJson {
    /// The text of the file: indented, keys sorted, one line feed at the end.
    pub fn to_text(&self) -> String {
        let value = sorted(serde_json::to_value(self).expect("plain fields become JSON"));
        format!("{value:#}\n")
    }

    /// Reads the file in `directory` and refuses what no run writes.
    pub fn read(directory: &Path) -> Result<RunJson, Problem> {
        let path = directory.join(FILE);
        let text = read_bounded(&path).map_err(|error| {
            let problem = Problem::io(path.display(), "read", &error);
            match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                    problem.remedy("name the directory that `tidegate run` has written")
                }
                _ => problem,
            }
        })?;
        let refused = |why: String| {
            Problem::input(format!("`{}` is no description of a run: {why}", path.display()))
                .remedy("write it anew with `tidegate run`")
        };
        let run: RunJson = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
        match run.fault() {
            Some(fault) => Err(refused(fault)),
            None => Ok(run),
        }
    }

    /// What is wrong with it, whatever its shape.
    fn fault(&self) -> Option<String> {
        if self.tool.name != Tool::this().name {
            return Some(format!("it was written by {}", shown(&self.tool.name)));
        }
        if self.policies.is_empty() || self.seeds.is_empty() {
            return Some("it names no policy or no seed".into());
        }
        if let Some(written) = self.outputs.iter().find(|written| !is_inside(&written.file)) {
            return Some(format!("the output {} does not lie in the directory", shown(&written.file)));
        }
        let mut traces = self.traces.iter();
        if let Some(trace) = traces.find(|trace| !is_inside(&trace.name) || trace.name.contains('/')) {
            return Some(format!("the trace {} is no plain file name", shown(&trace.name)));
        }
        None
    }

    /// The listed file named `name`.
    pub fn output(&self, name: &str) -> Option<&Written> {
        self.outputs.iter().find(|written| written.file == name)
    }
}

/// Text of a file in a message: short, without control characters.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(60).flat_map(char::escape_default).collect();
    format!("`{short}`")
}

/// Whether a name is a relative path that stays below where it starts.
fn is_inside(name: &str) -> bool {
    let plain = !name.is_empty() && !name.contains(['\\', '\0', ':']) && !name.ends_with('/');
    plain && PathBuf::from(name).components().all(|part| matches!(part, Component::Normal(_)))
}

fn read_bounded(path: &Path) -> io::Result<String> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if found.len() > LONGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than 64 MiB"));
    }
    fs::read_to_string(path)
}

/// The files that the `run.json` at `path` lists; `None` if it is not one of ours.
pub fn files_of(path: &Path) -> Option<Vec<String>> {
    let run: RunJson = serde_json::from_str(&read_bounded(path).ok()?).ok()?;
    (run.tool.name == Tool::this().name)
        .then(|| run.outputs.into_iter().map(|written| written.file).collect())
}

/// Whether `name` is a CSV file that only a run writes.
pub fn is_table(name: &str) -> bool {
    ["events.csv", "assertions.csv"].contains(&name) || Table::ALL.iter().any(|table| table.file() == name)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn example() -> RunJson {
        RunJson {
            run_id: "r0123456789ab".into(),
            name: "burst".into(),
            scenario: serde_json::json!({ "version": 1, "name": "burst" }),
            seeds: vec![1, 2],
            policies: vec!["b".into(), "a".into()],
            traces: Vec::new(),
            fingerprints: Vec::new(),
            incomplete: false,
            outputs: vec![Written {
                file: "charts/outcomes.svg".into(),
                rows: None,
                bytes: 3,
                sha256: "00".into(),
            }],
            model_version: MODEL_VERSION,
            tool: Tool::this(),
        }
    }

    /// The text of a `run.json` that lists one chart.
    pub(crate) fn smallest() -> String {
        example().to_text()
    }

    fn read(text: &str) -> Result<RunJson, Problem> {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join(FILE), text).expect("written");
        RunJson::read(dir.path())
    }

    #[test]
    fn what_is_written_can_be_read_and_keys_are_sorted() {
        let text = smallest();
        assert_eq!(read(&text).expect("ours"), example());
        let keys: Vec<&str> = text.lines().filter(|l| l.starts_with("  \"")).collect();
        assert!(keys.is_sorted(), "{text}");
        assert!(text.ends_with("}\n") && !text.contains('\r'));
    }

    #[test]
    fn a_run_is_identified_by_what_it_computes() {
        let base = example();
        let id = |run: &RunJson| run_id(&run.scenario, &run.policies, &run.seeds, &run.traces);
        assert_eq!(id(&base), id(&base));
        assert_eq!((id(&base).len(), &id(&base)[..1]), (13, "r"));
        let other_seed = RunJson { seeds: vec![1], ..base.clone() };
        let other_policy = RunJson { policies: vec!["b".into()], ..base.clone() };
        let trace = TraceFile { name: "a.csv".into(), sha256: "ab".into(), rows: 1 };
        let renamed = TraceFile { name: "b.csv".into(), ..trace.clone() };
        let traced = RunJson { traces: vec![trace], ..base.clone() };
        let moved = RunJson { traces: vec![renamed], ..base.clone() };
        assert_ne!(id(&base), id(&other_seed));
        assert_ne!(id(&base), id(&other_policy));
        assert_ne!(id(&base), id(&traced));
        assert_eq!(id(&traced), id(&moved), "a trace is known by its bytes");
    }

    #[test]
    fn hostile_files_are_refused_with_a_message() {
        let text = smallest();
        for (from, to, says) in [
            ("charts/outcomes.svg", "../outside.svg", "does not lie in the directory"),
            ("charts/outcomes.svg", "/etc/passwd", "does not lie in the directory"),
            ("charts/outcomes.svg", "c:\\\\x", "does not lie in the directory"),
            ("\"tidegate\"", "\"other\"", "written by `other`"),
            ("\"bytes\": 3", "\"bytes\": -3", "invalid value"),
            ("\"seeds\"", "\"seed\"", "unknown field"),
            ("{", "[", "expected"),
        ] {
            let refusal = read(&text.replacen(from, to, 1)).expect_err(to);
            assert!(refusal.what.contains(says), "{to}: {refusal}");
        }
        assert!(read(&"[".repeat(100_000)).is_err());
        assert!(read("").is_err());
    }
}
