//! `tidegate run`.

mod seeds;

use super::progress::Progress;
use super::screen::{Format, Screen, Stop};
use super::source::Source;
use clap::{Args, ValueEnum};
use seeds::Seeds;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tidegate::observe::rows::Nowhere;
use tidegate::problem::{Problem, Problems, did_you_mean};
use tidegate::report::chart;
use tidegate::report::directory::{MARKER, RunDirectory};
use tidegate::report::record::{Recorded, Recording};
use tidegate::report::run_json::RunJson;
use tidegate::report::text::{self, Layout};
use tidegate::scenario::build::Prepared;
use tidegate::study::{self, Control, Job, Results};

/// Simulate every policy of a scenario and write its timeline, its charts and the rest
#[derive(Debug, Args)]
pub struct Run {
    /// The scenario; `-` is standard input
    file: PathBuf,
    /// Simulate these policies alone, in the order of the file
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    policy: Vec<String>,
    /// Use this seed instead of the scenario's
    #[arg(long, value_name = "N", conflicts_with = "seeds")]
    seed: Option<Seeds>,
    /// Use each of these seeds: 1..10 (both included) or 1,2,5
    #[arg(long, value_name = "SEEDS")]
    seeds: Option<Seeds>,
    /// Override a value: traffic.api.rate=40/s
    #[arg(long = "set", value_name = "PATH=VALUE")]
    settings: Vec<String>,
    /// Let calls arrive until then: the same as --set duration=TIME
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Length of a row of the timeline: the same as --set interval=TIME
    #[arg(long, value_name = "TIME")]
    interval: Option<String>,
    /// Directory of the run's files; output/NAME/RUN_ID unless said
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Write a row for each attempt to requests.csv
    #[arg(long)]
    requests: bool,
    /// Charts to draw
    #[arg(long, value_name = "svg|png|none", default_value = "svg", hide_possible_values = true)]
    charts: Charts,
    /// Threads; as many as there are cores unless said. Results never depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Simulate everything twice and name the first difference
    #[arg(long)]
    verify: bool,
    /// How the table of results is written
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

/// What charts are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Charts {
    Svg,
    Png,
    None,
}

impl Charts {
    /// Draws the usual charts of the run in `dir` and names them.
    pub fn draw(self, dir: &Path, scenario: &str) -> Result<Vec<String>, Problem> {
        let format = match self {
            Charts::Svg => chart::Format::Svg,
            Charts::Png => chart::Format::Png,
            Charts::None => return Ok(Vec::new()),
        };
        let options = chart::Options { scenario: Some(scenario.to_string()), ..chart::Options::default() };
        chart::draw(dir, &[], format, &options)
    }

    /// The charts that a run has drawn.
    pub fn of(run: &RunJson) -> Charts {
        let drawn = |ending: &str| run.outputs.iter().any(|written| written.file.ends_with(ending));
        match (drawn(".png"), drawn(".svg")) {
            (true, _) => Charts::Png,
            (_, true) => Charts::Svg,
            _ => Charts::None,
        }
    }
}

/// Threads that the machine runs at once.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

impl Run {
    pub fn run(self, screen: &Screen) -> Result<(), Stop> {
        let source = Source::read(&self.file, &self.settings())?;
        screen.problems(&source.warnings, &source.texts);
        let Source { document, scenario, texts, .. } = source;
        let prepared = Prepared::new(scenario).map_err(|problems| Stop { problems, texts, told: false })?;
        let mut recording = Recording::of(&document, &prepared)?;
        recording.policies = chosen(&self.policy, recording.policies)?;
        if let Some(seeds) = self.seed.as_ref().or(self.seeds.as_ref()) {
            recording.seeds = seeds.0.clone();
        }
        recording.requests = self.requests;

        let target = self.output.clone().unwrap_or_else(|| recording.usual_directory());
        let directory = RunDirectory::claim(&target)?;
        let stop = stop_on_interrupt()?;
        let threads = self.jobs.map_or_else(cores, usize::from);
        let jobs = recording.jobs();
        let passes = 1 + self.verify as u64;
        let progress = Progress::new(screen, jobs.len() as u64 * study::STEPS * passes);
        let control = Control { threads, stop, progress: &|steps| progress.add(steps) };
        let draw = |dir: &Path| self.charts.draw(dir, &prepared.scenario.name);
        let recorded = recording.write(&directory, &control, &draw);
        let recorded = recorded.and_then(|recorded| {
            if self.verify && !recorded.results.stopped {
                simulate_again(&recording, &jobs, &recorded.results, &control)?;
            }
            Ok(recorded)
        });
        progress.end();
        let recorded = recorded?;
        // What was written before an interrupt came is whole; only an unfinished check leaves it in doubt.
        if recorded.results.stopped || self.verify && stop.load(Ordering::Relaxed) {
            let kept = directory.keep_incomplete()?;
            let problem = Problem::interrupted(format!(
                "interrupted: what was written until then is in `{}`, marked by the file `{MARKER}`",
                kept.display()
            ));
            return Err(problem.into());
        }
        directory.publish()?;
        self.tell(screen, &recorded, &target)?;
        Ok(())
    }

    /// Every value that is overridden, as `--set` takes it.
    fn settings(&self) -> Vec<String> {
        let time = |key: &str, time: &Option<String>| time.as_ref().map(|time| format!("{key}={time}"));
        let times = [time("duration", &self.until), time("interval", &self.interval)];
        self.settings.iter().cloned().chain(times.into_iter().flatten()).collect()
    }

    fn tell(&self, screen: &Screen, recorded: &Recorded, target: &Path) -> Result<(), Problem> {
        let jobs = &recorded.results.jobs;
        let layout = match self.format {
            Format::Human => Layout::Human,
            Format::Json => Layout::Json,
            Format::Csv => Layout::Csv,
            Format::Md => Layout::Markdown,
        };
        let table = text::results(jobs, layout).to_text(layout);
        match self.format {
            Format::Human => screen.optional_result(&format!(
                "{table}\n{}\n{}\n",
                text::sparklines(jobs),
                text::finding(jobs)
            ))?,
            _ => screen.result(&table)?,
        }
        let files: Vec<&str> = recorded.run.outputs.iter().map(|written| written.file.as_str()).collect();
        let charts = files.iter().filter(|file| file.starts_with("charts/")).count();
        let tables: Vec<&str> = files.iter().copied().filter(|file| !file.starts_with("charts/")).collect();
        screen.note(&format!(
            "\nwrote {}/: {}, run.json{}",
            target.display(),
            tables.join(", "),
            if charts > 0 { format!(" and {charts} charts in charts/") } else { String::new() }
        ));
        if self.file != Path::new("-") {
            screen.note(&format!("the same again: {}", self.command(target)));
        }
        Ok(())
    }

    /// The command that writes the same files.
    fn command(&self, target: &Path) -> String {
        let mut words = vec!["tidegate".to_string(), "run".into(), self.file.display().to_string()];
        let mut add = |name: &str, value: String| words.extend([name.to_string(), value]);
        if !self.policy.is_empty() {
            add("--policy", self.policy.join(","));
        }
        for (name, seeds) in [("--seed", &self.seed), ("--seeds", &self.seeds)] {
            if let Some(seeds) = seeds {
                add(name, seeds.to_string());
            }
        }
        self.settings.iter().for_each(|setting| add("--set", setting.clone()));
        for (name, time) in [("--until", &self.until), ("--interval", &self.interval)] {
            if let Some(time) = time {
                add(name, time.clone());
            }
        }
        if self.charts != Charts::Svg {
            add("--charts", if self.charts == Charts::Png { "png" } else { "none" }.into());
        }
        add("-o", target.display().to_string());
        if self.requests {
            words.push("--requests".into());
        }
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:%+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The policies that were asked for, in the order of the file; all if none was.
fn chosen(asked: &[String], all: Vec<String>) -> Result<Vec<String>, Problems> {
    let unknown = |name: &String| {
        let near = did_you_mean(name, all.iter().map(String::as_str))
            .map_or(String::new(), |near| format!("did you mean `{near}`? "));
        Problem::usage(format!("the scenario has no policy `{}`", name.escape_debug()))
            .remedy(format!("{near}it has {}", all.join(", ")))
    };
    let wrong: Vec<Problem> = asked.iter().filter(|name| !all.contains(name)).map(unknown).collect();
    if !wrong.is_empty() {
        return Err(Problems(wrong));
    }
    Ok(all.into_iter().filter(|name| asked.is_empty() || asked.contains(name)).collect())
}

/// Simulates all jobs a second time and fails at the first whose facts differ.
fn simulate_again(
    recording: &Recording<'_>,
    jobs: &[Job],
    first: &Results,
    control: &Control<'_>,
) -> Result<(), Problem> {
    let build = |job: &Job| recording.build(job);
    let second = study::run(jobs, &build, &Nowhere, control)?;
    if second.stopped {
        return Ok(());
    }
    for (left, right) in first.jobs.iter().zip(&second.jobs) {
        if left.outcome.fingerprint == right.outcome.fingerprint {
            continue;
        }
        let job = &left.job;
        let place = study::first_difference(job, &build)?;
        let place = place.unwrap_or_else(|| "and a third and fourth time they were the same".into());
        return Err(Problem::not_reproducible(format!(
            "policy `{}` under seed {} went differently the second time: {place}",
            job.policy, job.seed
        ))
        .remedy("please report it with the scenario: the same seed must give the same run"));
    }
    Ok(())
}

/// A flag that is set when the user interrupts; a second time ends the program at once.
pub fn stop_on_interrupt() -> Result<&'static AtomicBool, Problem> {
    static STOP: AtomicBool = AtomicBool::new(false);
    static SET: OnceLock<bool> = OnceLock::new();
    let set = SET.get_or_init(|| {
        ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        })
        .is_ok()
    });
    if *set { Ok(&STOP) } else { Err(Problem::bug("interrupts can't be caught")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell_where_they_must_be() {
        assert_eq!(quoted("a/b.toml"), "a/b.toml");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn policies_keep_the_order_of_the_file_and_a_wrong_one_is_named() {
        let all = || ["a", "b", "c"].map(String::from).to_vec();
        assert_eq!(chosen(&["c".into(), "a".into()], all()), Ok(vec!["a".into(), "c".into()]));
        assert_eq!(chosen(&[], all()), Ok(all()));
        let wrong = chosen(&["d".into(), "e".into()], all());
        assert!(wrong.is_err_and(|problems| problems.0.len() == 2 && problems.0[0].what.contains("`d`")));
    }
}
