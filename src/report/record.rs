//! A study written down: simulated, its rows in files, `run.json` beside them.

use crate::engine::Setup;
use crate::problem::Problem;
use crate::report::csv::{EventRow, Files, Naming, Rows, Table, Written, weigh};
use crate::report::directory::RunDirectory;
use crate::report::run_json::{self, Fingerprint, MODEL_VERSION, RunJson, Tool, TraceFile, run_id};
use crate::scenario::Scenario;
use crate::scenario::build::Prepared;
use crate::scenario::source::Document;
use crate::section::{Content, Node};
use crate::study::{self, Control, Job, Results, Shelf};
use serde_json::Value;
use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

/// What is to be simulated and written.
pub struct Recording<'a> {
    /// The scenario, its traces read.
    pub prepared: &'a Prepared,
    /// The same in its canonical form.
    pub canonical: Value,
    /// The files that it names: traces, then examples of distributions.
    pub traces: Vec<TraceFile>,
    /// Names of its policies, in the order of the rows.
    pub policies: Vec<String>,
    /// Seeds, in the order of the rows.
    pub seeds: Vec<u64>,
    /// Whether to write `requests.csv`.
    pub requests: bool,
}

/// What was written.
pub struct Recorded {
    /// The text of `run.json` as a value.
    pub run: RunJson,
    /// What came out.
    pub results: Results,
}

impl<'a> Recording<'a> {
    /// All policies of a scenario and its own seed. Fails when a file that it names can't be read.
    pub fn of(document: &Document, prepared: &'a Prepared) -> Result<Recording<'a>, Problem> {
        let canonical = serde_json::from_str(&document.canonical())
            .map_err(|error| Problem::bug(format!("the canonical scenario is no JSON: {error}")))?;
        let used = prepared.traces().into_iter();
        let mut traces: Vec<TraceFile> = Vec::new();
        let examples =
            named_files(document.root()).into_iter().map(|file| trace_file(&document.resolve(file)));
        let used = used.map(|used| Ok(TraceFile { name: used.name, sha256: used.sha256, rows: used.rows }));
        for trace in used.chain(examples) {
            let trace = trace?;
            if !traces.contains(&trace) {
                traces.push(trace);
            }
        }
        Ok(Recording {
            prepared,
            canonical,
            traces,
            policies: prepared.scenario.policies.iter().map(|policy| policy.name.clone()).collect(),
            seeds: vec![prepared.scenario.seed],
            requests: false,
        })
    }

    /// What identifies the run.
    pub fn run_id(&self) -> String {
        run_id(&self.canonical, &self.policies, &self.seeds, &self.traces)
    }

    /// Where the run goes unless someone says otherwise.
    pub fn usual_directory(&self) -> PathBuf {
        ["output", &self.prepared.scenario.name, &self.run_id()].iter().collect()
    }

    /// The jobs of the study.
    pub fn jobs(&self) -> Vec<Job> {
        study::jobs(&self.policies, &self.seeds)
    }

    /// The files that say nothing here, or are not wanted.
    fn left_out(&self) -> Vec<Table> {
        let calls =
            self.prepared.scenario.downstreams.iter().any(|downstream| !downstream.hop.calls.is_empty());
        let left_out = [(Table::Requests, self.requests), (Table::Edges, calls)];
        left_out.into_iter().filter(|(_, wanted)| !wanted).map(|(table, _)| table).collect()
    }

    /// Simulates everything and writes all files into the staging directory; `draw` adds charts and names them.
    ///
    /// A study that was stopped has its rows up to then, and no charts.
    pub fn write(
        &self,
        directory: &RunDirectory,
        control: &Control<'_>,
        draw: &dyn Fn(&Path) -> Result<Vec<String>, Problem>,
    ) -> Result<Recorded, Problem> {
        let (staging, run_id) = (directory.staging(), self.run_id());
        let events = events(&self.prepared.scenario);
        let left_out = self.left_out();
        let files = Files::create(staging, directory.parts(), &run_id, &events, self.prepared, &left_out)?;
        let results = study::run(&self.jobs(), &|job: &Job| self.build(job), &&files, control)?;
        let mut outputs = files.finish()?;
        if !results.stopped {
            for file in draw(staging)? {
                let path = staging.join(&file);
                let (bytes, sha256) =
                    weigh(&path).map_err(|error| Problem::io(path.display(), "read", &error))?;
                outputs.push(Written { file, rows: None, bytes, sha256 });
            }
        }
        outputs.sort();
        let run = self.describe(run_id, &results, outputs);
        let path = staging.join(run_json::FILE);
        fs::write(&path, run.to_text()).map_err(|error| Problem::io(path.display(), "write", &error))?;
        Ok(Recorded { run, results })
    }

    /// A simulation of one job.
    pub fn build(&self, job: &Job) -> Result<Setup, Problem> {
        let policy = self.prepared.scenario.policies.iter().position(|policy| policy.name == job.policy);
        let policy = policy.ok_or_else(|| Problem::bug(format!("there is no policy `{}`", job.policy)))?;
        self.prepared.setup(policy, job.seed)
    }

    fn describe(&self, run_id: String, results: &Results, outputs: Vec<Written>) -> RunJson {
        let fingerprint = |finished: &study::Finished| Fingerprint {
            policy: finished.job.policy.clone(),
            seed: finished.job.seed,
            fingerprint: format!("{:016x}", finished.outcome.fingerprint),
        };
        RunJson {
            run_id,
            name: self.prepared.scenario.name.clone(),
            scenario: self.canonical.clone(),
            seeds: self.seeds.clone(),
            policies: self.policies.clone(),
            traces: self.traces.clone(),
            fingerprints: results.jobs.iter().map(fingerprint).collect(),
            incomplete: results.stopped,
            outputs,
            model_version: MODEL_VERSION,
            tool: Tool::this(),
        }
    }
}

/// The names of files other than traces that a scenario mentions, in the order of its canonical form.
fn named_files(node: &Node) -> Vec<&str> {
    match &node.content {
        Content::Table(table) => table
            .iter()
            .filter(|(key, _)| *key != "trace")
            .flat_map(|(key, entry)| match &entry.node.content {
                Content::Text(file) if key == "file" => vec![file.as_str()],
                _ => named_files(&entry.node),
            })
            .collect(),
        Content::Array(items) => items.iter().flat_map(named_files).collect(),
        _ => Vec::new(),
    }
}

/// What identifies a file of examples: its bytes, and for people its name and its length.
fn trace_file(path: &Path) -> Result<TraceFile, Problem> {
    let failed = |error| Problem::io(path.display(), "read", &error);
    let (_, sha256) = weigh(path).map_err(failed)?;
    let mut rows = 0;
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).from_reader(fs::File::open(path).map_err(failed)?);
    let mut record = csv::ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(|error| failed(error.into()))? {
        rows += 1;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(TraceFile { name, sha256, rows })
}

/// The rows of `events.csv`: one for each value that an event changes, or one for an event that only marks a time.
fn events(scenario: &Scenario) -> Vec<EventRow> {
    let mut rows = Vec::new();
    for event in &scenario.events {
        let row = EventRow {
            name: event.name.clone(),
            at: event.at,
            until: event.until,
            label: event.label.clone(),
            target: String::new(),
            value: String::new(),
        };
        if event.sets.is_empty() {
            rows.push(row.clone());
        }
        for (target, value) in &event.sets {
            rows.push(EventRow { target: target.clone(), value: value.clone(), ..row.clone() });
        }
    }
    rows
}

/// Each job has rows of its own, which come into the files in turn.
impl<'a> Shelf for &'a Files<'a> {
    type Rows = Rows<'a>;

    fn open(&self, number: usize, job: &Job) -> Result<Rows<'a>, Problem> {
        Ok(Files::open(self, number, &job.policy, job.seed))
    }

    fn close(&self, _number: usize, rows: Rows<'a>) -> Result<(), Problem> {
        Files::close(self, rows)
    }
}

impl Naming for Prepared {
    fn tenant(&self, number: u32) -> Cow<'_, str> {
        self.tenants.name(number)
    }
    fn feature(&self, number: u32) -> Cow<'_, str> {
        self.features.name(number)
    }
    fn user(&self, number: u32) -> Cow<'_, str> {
        self.users.name(number)
    }
}
