//! `tidegate new`.

use super::screen::{Screen, Stop};
use clap::Args;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use tidegate::problem::{Problem, did_you_mean};

/// Write a commented scenario to start from
#[derive(Debug, Args)]
pub struct New {
    /// Which one; `minimal` if none is named
    template: Option<String>,
    /// List the templates and what each asks
    #[arg(long, conflicts_with_all = ["template", "output"])]
    list: bool,
    /// Write to this file, which must not be there yet
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Every template by name: the scenarios that ship, and the smallest that shows something.
///
/// `replay.toml` is not among them: it needs the trace beside it.
const TEMPLATES: &[(&str, &str)] = &[
    ("minimal", include_str!("new/minimal.toml")),
    ("burst", include_str!("../../scenarios/burst.toml")),
    ("retry-storm", include_str!("../../scenarios/retry-storm.toml")),
    ("slow-downstream", include_str!("../../scenarios/slow-downstream.toml")),
    ("queue-overload", include_str!("../../scenarios/queue-overload.toml")),
];

impl New {
    pub fn run(self, screen: &Screen) -> Result<(), Stop> {
        if self.list {
            let width = TEMPLATES.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            let line = |(name, text): &(&str, &str)| format!("{name:<width$}  {}\n", question(text));
            return Ok(screen.result(&TEMPLATES.iter().map(line).collect::<String>())?);
        }
        let text = find(self.template.as_deref().unwrap_or("minimal"))?;
        let Some(path) = self.output else { return Ok(screen.result(text)?) };
        let written = File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| {
            let problem = Problem::io(path.display(), "create", &error);
            match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    problem.remedy("choose another name: no file is ever replaced")
                }
                _ => problem,
            }
        })?;
        screen.note(&format!("wrote {0}\nrun it with: tidegate run {0}", path.display()));
        Ok(())
    }
}

fn find(name: &str) -> Result<&'static str, Problem> {
    let found = TEMPLATES.iter().find(|(template, _)| *template == name);
    found.map(|(_, text)| *text).ok_or_else(|| {
        let names = || TEMPLATES.iter().map(|(template, _)| *template);
        let near =
            did_you_mean(name, names()).map_or(String::new(), |near| format!("did you mean `{near}`? "));
        Problem::usage(format!("there is no template `{}`", name.escape_debug()))
            .remedy(format!("{near}known: {}", names().collect::<Vec<_>>().join(", ")))
    })
}

/// The question that a template answers: its first line.
fn question(text: &str) -> &str {
    text.lines().next().unwrap_or("").trim_start_matches(['#', ' '])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use tidegate::scenario::Scenario;
    use tidegate::scenario::source::Document;

    #[test]
    fn every_template_is_a_right_scenario_that_asks_a_question() {
        for (name, text) in TEMPLATES {
            assert!(question(text).ends_with('?'), "{name}");
            let document = Document::from_text(name, text, Path::new("scenarios")).expect("it can be parsed");
            let (_, warnings) = Scenario::read(&document).expect("it is right");
            assert!(warnings.is_empty(), "{name}: {warnings:?}");
        }
    }
}
