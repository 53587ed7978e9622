//! What the other files share: scenarios from text, runs with all their rows, vectors, and comparing means.

use serde_json::Value;
use std::path::{Path, PathBuf};
use tidegate::admission::Admission;
use tidegate::engine::{self, Outcome, Setup, Unwatched};
use tidegate::gauge::Reading;
use tidegate::limiter::Limiter;
use tidegate::observe::{
    Count, EdgeCounts, EdgeRow, GaugeRow, LatencyRow, OutcomeRow, Percentiles, Phase, RequestRow, Sink,
    SummaryRow, TimelineRow,
};
use tidegate::problem::Problem;
use tidegate::queue::AnyQueue;
use tidegate::request::Ask;
use tidegate::scenario::Scenario;
use tidegate::scenario::build::Prepared;
use tidegate::scenario::source::Document;
use tidegate::scenario::stage::{Kind, Stage, StageSpec};
use tidegate::section::{Log, Section, describe};
use tidegate::time::{Nanos, SimTime};

/// The scenario of `text`, whose traces lie in `folder`; panics with every problem if it is wrong.
pub fn prepared_in(folder: &Path, text: &str) -> Prepared {
    let document = Document::from_text("test.toml", text, folder);
    let read = document.and_then(|document| Scenario::read(&document));
    let prepared = read.and_then(|(scenario, _warnings)| Prepared::new(scenario));
    prepared.unwrap_or_else(|problems| panic!("{problems}\nin\n{text}"))
}

/// The scenario of `text`.
pub fn prepared(text: &str) -> Prepared {
    prepared_in(Path::new(""), text)
}

/// The simulation of policy number `policy` under `seed`.
pub fn setup(prepared: &Prepared, policy: usize, seed: u64) -> Setup {
    prepared.setup(policy, seed).unwrap_or_else(|problem| panic!("{problem}"))
}

/// Runs the first policy under the scenario's seed and keeps every row.
pub fn run(text: &str) -> Rows {
    let prepared = prepared(text);
    run_setup(setup(&prepared, 0, prepared.scenario.seed))
}

/// Runs a simulation and keeps every row; panics if the engine finds a fault in its accounts.
pub fn run_setup(setup: Setup) -> Rows {
    try_run(setup).unwrap_or_else(|problem| panic!("{problem}"))
}

/// Runs a simulation and keeps every row.
pub fn try_run(setup: Setup) -> Result<Rows, Problem> {
    let mut rows = Rows::default();
    rows.outcome = Some(engine::run(setup, &mut rows, &mut Unwatched)?);
    Ok(rows)
}

/// Limiters, and admission stages.
pub type Stages = (Vec<Box<dyn Limiter>>, Vec<Box<dyn Admission>>);

/// The limiters and admission stages that `stages` describe, in the order of their names: the text of each is what
/// stands under `[limiter.NAME]`.
pub fn stages(stages: &[(&str, &str)]) -> Stages {
    let mut text = "version = 1\nduration = \"1s\"\n[traffic.t]\nat = [\"0s\"]\n".to_string();
    text += "[downstream.d]\nconcurrency = \"unlimited\"\nservice_time = \"1s\"\n";
    for (name, keys) in stages {
        text += &format!("[limiter.{name}]\n{keys}\n");
    }
    let names: Vec<&str> = stages.iter().map(|(name, _)| *name).collect();
    text += &format!("[policy.p]\nstages = {names:?}\ndownstream = \"d\"\n");
    let gate = setup(&prepared(&text), 0, 1).gates.remove(0);
    (gate.limiters, gate.admissions)
}

/// Whether a kind of stage asks for room.
pub fn is_admission(kind: &Kind) -> bool {
    let mut is_admission = false;
    describe(|section| is_admission = (kind.read)(section).is_admission());
    is_admission
}

/// The one admission stage that `keys` describe, among the classes `interactive`, of priority 10, and `batch`.
pub fn room(keys: &str) -> Box<dyn Admission> {
    let text = format!(
        "version = 1\nduration = \"1s\"\n[class.interactive]\npriority = 10\n[class.batch]\n\
         [traffic.t]\nclass = \"interactive\"\nat = [\"0s\"]\n[traffic.u]\nclass = \"batch\"\nat = [\"0s\"]\n\
         [downstream.d]\nconcurrency = \"unlimited\"\nservice_time = \"1s\"\n\
         [policy.p]\nstages = [\"room\"]\ndownstream = \"d\"\n[admission.room]\n{keys}\n"
    );
    setup(&prepared(&text), 0, 1).gates.remove(0).admissions.remove(0)
}

/// The one limiter that `keys` describe.
pub fn limiter(keys: &str) -> Box<dyn Limiter> {
    let (mut limiters, _) = stages(&[("limit", keys)]);
    limiters.pop().expect("it is a limiter")
}

/// Whole units that are left.
pub fn units_left(limiter: &dyn Limiter, now: SimTime, ask: &Ask) -> i128 {
    let (units, per) = limiter.remaining(now, ask);
    units.div_euclid(per as i128)
}

/// The one limiter that `keys` describe, before it is built.
pub fn limit(keys: &str) -> tidegate::scenario::stage::Limit {
    let document = Document::from_text("test.toml", keys, Path::new("")).unwrap_or_else(|p| panic!("{p}"));
    let log = Log::new(document.text());
    let stage = Stage::read("limit".to_string(), Section::root(document.root(), &log));
    assert!(log.is_empty(), "{:?} in {keys}", log.into_problems());
    match stage.spec {
        StageSpec::Limiter(limit) => limit,
        _ => panic!("{keys} is no limiter"),
    }
}

/// The queue that `keys` describe, under `[queue.q]`; `more` are further tables, such as classes.
pub fn queue(keys: &str, more: &str) -> AnyQueue {
    let text = format!(
        "version = 1\nduration = \"1s\"\n[traffic.t]\nat = [\"0s\"]\n[downstream.d]\nconcurrency = 1\n\
         service_time = \"1s\"\n[policy.p]\nqueue = \"q\"\ndownstream = \"d\"\n{more}\n[queue.q]\n{keys}\n"
    );
    setup(&prepared(&text), 0, 1).gates.remove(0).queue.expect("the policy has a queue")
}

/// A call of so many tokens.
pub fn cost(tokens: u64) -> Ask {
    Ask { input_tokens: u32::try_from(tokens).expect("a test's cost is small"), ..Ask::default() }
}

/// A row of the timeline, owned.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    pub index: u64,
    pub start: SimTime,
    pub length: Nanos,
    pub phase: Phase,
    pub class: String,
    pub counts: [u64; Count::LEN],
    pub queue_depth: Reading,
    pub in_flight: Reading,
    pub limit: Option<Reading>,
    pub queue_wait: Percentiles,
    pub latency: Percentiles,
}

impl Interval {
    pub fn count(&self, count: Count) -> u64 {
        self.counts[count as usize]
    }
}

/// A row of the outcomes, owned.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ends {
    pub index: u64,
    pub class: String,
    pub outcome: &'static str,
    pub reason: &'static str,
    pub stage: String,
    pub target: String,
    pub count: u64,
}

/// An attempt, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub call: u64,
    pub attempt: u32,
    pub traffic: String,
    pub class: String,
    pub tenant: u32,
    pub arrived: SimTime,
    pub started: Option<SimTime>,
    pub ended: SimTime,
    pub outcome: &'static str,
    pub reason: &'static str,
    pub stage: String,
    pub retry_after: Option<Nanos>,
    pub scope: &'static str,
    pub caller: String,
    pub target: String,
    pub ask: Ask,
}

impl Attempt {
    /// How long it waited for its start, if it started.
    pub fn wait(&self) -> Option<u64> {
        self.started.map(|started| (started - self.arrived).0)
    }
}

/// A row of the summary, owned.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub class: Option<String>,
    pub calls: u64,
    pub counts: [u64; Count::LEN],
    pub queue_wait: Percentiles,
    pub latency: Percentiles,
    pub queue_depth_max: u64,
    pub in_flight_avg: f64,
    pub utilization: Option<f64>,
}

impl Summary {
    pub fn count(&self, count: Count) -> u64 {
        self.counts[count as usize]
    }

    /// One count over another.
    pub fn share(&self, part: Count, whole: Count) -> f64 {
        self.count(part) as f64 / self.count(whole) as f64
    }
}

/// Everything that a run has written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    pub timeline: Vec<Interval>,
    pub ends: Vec<Ends>,
    pub latency: Vec<(u64, String, Nanos, u64)>,
    pub gauges: Vec<(u64, String, &'static str, Reading)>,
    pub summaries: Vec<Summary>,
    pub attempts: Vec<Attempt>,
    pub outcome: Option<Outcome>,
    pub edges: Vec<(String, String, EdgeCounts)>,
}

impl Rows {
    pub fn outcome(&self) -> Outcome {
        self.outcome.expect("the run has ended")
    }

    pub fn total(&self) -> &Summary {
        &self.summaries[0]
    }

    /// One count over all intervals and classes.
    pub fn count(&self, count: Count) -> u64 {
        self.timeline.iter().map(|row| row.count(count)).sum()
    }

    /// The attempts in the order in which they arrived: by call, then by number.
    pub fn sorted_attempts(&self) -> Vec<Attempt> {
        let mut attempts = self.attempts.clone();
        attempts.sort_by_key(|attempt| (attempt.call, attempt.attempt));
        attempts
    }
}

impl Sink for Rows {
    fn timeline(&mut self, row: &TimelineRow<'_>) -> Result<(), Problem> {
        self.timeline.push(Interval {
            index: row.index,
            start: row.start,
            length: row.length,
            phase: row.phase,
            class: row.class.to_string(),
            counts: *row.counts,
            queue_depth: row.queue_depth,
            in_flight: row.in_flight,
            limit: row.limit,
            queue_wait: row.queue_wait,
            latency: row.latency,
        });
        Ok(())
    }

    fn outcome(&mut self, row: &OutcomeRow<'_>) -> Result<(), Problem> {
        self.ends.push(Ends {
            index: row.index,
            class: row.class.to_string(),
            outcome: row.outcome,
            reason: row.reason,
            stage: row.stage.to_string(),
            target: row.target.to_string(),
            count: row.count,
        });
        Ok(())
    }

    fn latency(&mut self, row: &LatencyRow<'_>) -> Result<(), Problem> {
        self.latency.push((row.index, row.class.to_string(), row.le, row.count));
        Ok(())
    }

    fn gauge(&mut self, row: &GaugeRow<'_>) -> Result<(), Problem> {
        self.gauges.push((row.index, row.stage.to_string(), row.gauge, row.reading));
        Ok(())
    }

    fn summary(&mut self, row: &SummaryRow<'_>) -> Result<(), Problem> {
        self.summaries.push(Summary {
            class: row.class.map(str::to_string),
            calls: row.calls,
            counts: row.counts,
            queue_wait: row.queue_wait,
            latency: row.latency,
            queue_depth_max: row.queue_depth_max,
            in_flight_avg: row.in_flight_avg,
            utilization: row.utilization,
        });
        Ok(())
    }

    fn edge(&mut self, row: &EdgeRow<'_>) -> Result<(), Problem> {
        self.edges.push((row.edge.caller.clone(), row.edge.target.clone(), row.counts));
        Ok(())
    }

    fn wants_requests(&self) -> bool {
        true
    }

    fn request(&mut self, row: &RequestRow<'_>) -> Result<(), Problem> {
        self.attempts.push(Attempt {
            call: row.call,
            attempt: row.attempt,
            traffic: row.traffic.to_string(),
            class: row.class.to_string(),
            tenant: row.ask.tenant,
            arrived: row.arrived,
            started: row.started,
            ended: row.ended,
            outcome: row.outcome,
            reason: row.reason,
            stage: row.stage.to_string(),
            retry_after: row.retry_after,
            scope: row.scope,
            caller: row.caller.to_string(),
            target: row.target.to_string(),
            ask: *row.ask,
        });
        Ok(())
    }
}

/// The vectors of `tests/vectors/NAME.json`.
pub fn vectors(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rows of a table of vectors.
pub fn rows(table: &Value) -> &[Value] {
    table["rows"].as_array().expect("a table has rows")
}

/// A number of a vector.
pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// A whole number of a vector.
pub fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

/// A recorded trace, which is read where it lies and never committed. `None`, with a word, where it is not there;
/// under `CI=true` that is a failure.
pub fn trace(file: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces").join(file);
    if path.is_file() {
        return Some(path);
    }
    assert!(std::env::var("CI").is_err(), "{file} is not where it should be: {}", path.display());
    println!("skipped: {file} is not there ({})", path.display());
    None
}

/// A quantity estimated from independent runs, one value of each.
pub struct Estimate {
    pub mean: f64,
    pub standard_error: f64,
}

impl Estimate {
    pub fn of(values: &[f64]) -> Estimate {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        Estimate { mean, standard_error: (squares / (n - 1.0) / n).sqrt() }
    }

    /// Why it is not within four standard errors of `expected`; `None` if it is. `least` is the standard error that
    /// independent samples would have: where nearly nothing happens, the runs may all agree by chance.
    pub fn fault(&self, what: &str, expected: f64, least: f64) -> Option<String> {
        let bound = 4.0 * self.standard_error.max(least) + 1e-9 * expected.abs();
        let off = (self.mean - expected).abs();
        (bound < off)
            .then(|| format!("{what}: {} instead of {expected}, {off} off, {bound} allowed", self.mean))
    }
}

/// Fails with every fault there is.
pub fn no_faults(faults: impl IntoIterator<Item = String>) {
    let faults: Vec<String> = faults.into_iter().collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
