//! `tidegate verify`.

use super::progress::Progress;
use super::run::{Charts, cores, stop_on_interrupt};
use super::screen::{Screen, Stop};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use tidegate::problem::{Kind, Problem, Problems};
use tidegate::report::directory::RunDirectory;
use tidegate::report::record::Recording;
use tidegate::report::run_json::{FILE, MODEL_VERSION, RunJson, TraceFile};
use tidegate::report::verify::{check_accounts, check_files, first_difference};
use tidegate::scenario::Scenario;
use tidegate::scenario::build::Prepared;
use tidegate::scenario::source::Document;
use tidegate::study::{self, Control};

/// Prove that a run's files are what its scenario and seed give
#[derive(Debug, Args)]
pub struct Verify {
    /// The directory of a run
    run: PathBuf,
    /// Where the traces lie, besides the current folder and scenarios/
    #[arg(long, value_name = "DIR")]
    inputs: Option<PathBuf>,
    /// Threads; as many as there are cores unless said
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

impl Verify {
    pub fn run(self, screen: &Screen) -> Result<(), Stop> {
        let run = RunJson::read(&self.run)?;
        let mut problems = check_files(&self.run, &run);
        let changed = !problems.is_empty();
        problems.extend(check_accounts(&self.run, &run));
        let again =
            if run.incomplete { Again::Not("it was interrupted".into()) } else { self.again(screen, &run)? };
        let redone = match again {
            Again::Same => "running it again gave the same bytes".to_string(),
            Again::Not(why) => {
                screen.note(&format!("not run again: {why}"));
                format!("it was not run again: {why}")
            }
            Again::Differs(differences) => {
                for problem in differences {
                    // A file that was edited is named once, with the line that running again has found.
                    let file = |problem: &Problem| problem.what.split('`').nth(1).map(str::to_string);
                    match problems.iter_mut().find(|other| changed && file(other) == file(&problem)) {
                        Some(edited) => edited.place = problem.place,
                        None => problems.push(problem),
                    }
                }
                String::new()
            }
        };
        if !problems.is_empty() {
            return Err(Problems(problems).into());
        }
        let name = self.run.display();
        let files = run.outputs.len();
        Ok(screen.optional_result(&format!(
            "{name}: {files} files are as they were written, their accounts balance; {redone}\n"
        ))?)
    }

    /// Runs the scenario of `run.json` again, if its inputs are found, and compares every file.
    fn again(&self, screen: &Screen, run: &RunJson) -> Result<Again, Stop> {
        if run.model_version != MODEL_VERSION {
            return Ok(Again::Not(format!(
                "it was made by version {} of the model, and this is version {MODEL_VERSION}",
                run.model_version
            )));
        }
        let folder = match self.folder(&run.traces) {
            Ok(folder) => folder,
            Err(why) => return Ok(Again::Not(why)),
        };
        let name = self.run.join(FILE).display().to_string();
        let document = Document::from_text(&name, &run.scenario.to_string(), &folder);
        let read = document.and_then(|document| {
            let (scenario, _) = Scenario::read(&document)?;
            Ok((document, Prepared::new(scenario)?))
        });
        let (document, prepared) = read.map_err(|problems| unplaced(problems, &name))?;
        let mut recording = Recording::of(&document, &prepared)?;
        if let Some(policy) = run.policies.iter().find(|policy| !recording.policies.contains(policy)) {
            let what =
                format!("`{FILE}` names the policy `{}`, which its scenario lacks", policy.escape_debug());
            return Err(Problem::input(what).into());
        }
        recording.policies = run.policies.clone();
        recording.seeds = run.seeds.clone();
        recording.requests = run.output("requests.csv").is_some();

        let scratch = Scratch::new()?;
        let directory = RunDirectory::claim(&scratch.0.join("run"))?;
        let stop = stop_on_interrupt()?;
        let progress = Progress::new(screen, recording.jobs().len() as u64 * study::STEPS);
        let threads = self.jobs.map_or_else(cores, usize::from);
        let control = Control { threads, stop, progress: &|steps| progress.add(steps) };
        let charts = Charts::of(run);
        let recorded = recording.write(&directory, &control, &|dir| charts.draw(dir, &run.name));
        progress.end();
        let mut recorded = recorded?;
        if recorded.results.stopped {
            return Err(Problem::interrupted("interrupted: the run was not verified").into());
        }
        // Another version of the program may give the same results; its files say which it was.
        recorded.run.tool = run.tool.clone();
        let path = directory.staging().join(FILE);
        fs::write(&path, recorded.run.to_text())
            .map_err(|error| Problem::io(path.display(), "write", &error))?;
        let differences = self.compare(run, &recorded.run, directory.staging())?;
        Ok(if differences.is_empty() { Again::Same } else { Again::Differs(differences) })
    }

    /// A folder in which all traces lie; without traces any.
    fn folder(&self, traces: &[TraceFile]) -> Result<PathBuf, String> {
        let usual = [PathBuf::from("."), PathBuf::from("scenarios")];
        let folders: Vec<PathBuf> = self.inputs.iter().cloned().chain(usual).collect();
        let holds = |folder: &Path, trace: &TraceFile| {
            let path = folder.join(&trace.name);
            path.is_file()
                && tidegate::report::csv::weigh(&path).is_ok_and(|(_, sha256)| sha256 == trace.sha256)
        };
        for folder in &folders {
            if traces.iter().all(|trace| holds(folder, trace)) {
                return Ok(folder.clone());
            }
        }
        let lacking: Vec<&str> = traces
            .iter()
            .filter(|trace| !folders.iter().any(|folder| holds(folder, trace)))
            .map(|trace| trace.name.as_str())
            .collect();
        Err(if lacking.is_empty() {
            "its traces lie in several folders: put them into one and name it with --inputs".into()
        } else {
            format!("the same {} was not found: name its folder with --inputs", lacking.join(" and "))
        })
    }

    /// Compares what the run lists with what running again has written.
    fn compare(&self, run: &RunJson, again: &RunJson, fresh: &Path) -> Result<Vec<Problem>, Problem> {
        let mut differences = Vec::new();
        let listed = run.outputs.iter().map(|written| &written.file);
        let unlisted =
            again.outputs.iter().map(|written| &written.file).filter(|file| run.output(file).is_none());
        for file in listed.chain(unlisted).map(String::as_str).chain([FILE]) {
            let (old, new) = (self.run.join(file), fresh.join(file));
            if !old.is_file() || !new.is_file() {
                let who = if new.is_file() { "is missing" } else { "is not written by running it again" };
                differences.push(Problem::not_reproducible(format!("`{file}` {who}")));
                continue;
            }
            let line =
                first_difference(&old, &new).map_err(|error| Problem::io(old.display(), "read", &error))?;
            if let Some(line) = line {
                let what =
                    format!("`{file}` is not what running it again gives: they differ first in line {line}");
                let place =
                    tidegate::problem::Place { file: old.display().to_string(), line, column: 1, span: 0..0 };
                differences.push(Problem::not_reproducible(what).at(place));
            }
        }
        Ok(differences)
    }
}

/// What came of running again.
enum Again {
    /// The same bytes.
    Same,
    /// It could not be, for this reason.
    Not(String),
    /// These files differ.
    Differs(Vec<Problem>),
}

/// Problems of a scenario inside run.json: its places count in another text.
fn unplaced(problems: Problems, name: &str) -> Problems {
    let told = |problem: Problem| Problem {
        what: format!("the scenario in `{name}` is wrong: {}", problem.what),
        place: None,
        kind: if problem.kind == Kind::Io { Kind::Io } else { Kind::Input },
        ..problem
    };
    Problems(problems.0.into_iter().map(told).collect())
}

/// A directory of our own among the machine's temporary files, removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, Problem> {
        let mut number = 0;
        loop {
            let path = std::env::temp_dir().join(format!("tidegate-verify-{}-{number}", process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Scratch(path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < 1_000 => {
                    number += 1
                }
                Err(error) => return Err(Problem::io(path.display(), "create", &error)),
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What can't be removed is left to whoever tidies up temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
