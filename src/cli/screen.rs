//! Where words go: results to stdout, messages to stderr.

use super::messages::{self, Texts};
use clap::ValueEnum;
use std::io::{self, ErrorKind, IsTerminal, Write};
use tidegate::problem::{Problem, Problems};

/// When messages are coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How a result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Human,
    /// JSON
    Json,
    /// Comma-separated values
    Csv,
    /// Markdown
    Md,
}

/// The command's way to its user.
#[derive(Debug)]
pub struct Screen {
    quiet: bool,
    styled: bool,
}

/// Why a command ends early: problems, and the texts that they point into.
#[derive(Debug, Default)]
pub struct Stop {
    /// What is wrong.
    pub problems: Problems,
    /// What it is wrong with.
    pub texts: Texts,
    /// Whether they were shown already.
    pub told: bool,
}

impl Stop {
    /// Problems that were shown already.
    pub fn told(problems: Problems) -> Stop {
        Stop { problems, told: true, ..Stop::default() }
    }
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Stop {
        Problems::from(problem).into()
    }
}

impl From<Problems> for Stop {
    fn from(problems: Problems) -> Stop {
        Stop { problems, ..Stop::default() }
    }
}

impl Screen {
    /// A screen that says only what it must if it is `quiet`.
    pub fn new(quiet: bool, color: ColorChoice) -> Screen {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let styled = match color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => io::stderr().is_terminal() && !set("NO_COLOR"),
        };
        Screen { quiet, styled }
    }

    /// Writes a result. A reader that has gone away ends the program in peace.
    pub fn result(&self, text: &str) -> Result<(), Problem> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
            written => written.map_err(|error| Problem::io("standard output", "write to", &error)),
        }
    }

    /// Writes a result that `--quiet` leaves out.
    pub fn optional_result(&self, text: &str) -> Result<(), Problem> {
        if self.quiet { Ok(()) } else { self.result(text) }
    }

    /// Says something in passing.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            // Nobody can be told that messages can't be told.
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// Shows problems; warnings only unless quiet.
    pub fn problems(&self, problems: &Problems, texts: &Texts) {
        let mut err = io::stderr().lock();
        for problem in &problems.0 {
            if messages::is_error(problem) || !self.quiet {
                let _ = writeln!(err, "{}", messages::draw(problem, texts, self.styled));
            }
        }
    }

    /// Whether a progress bar would be seen and is wanted.
    pub fn shows_progress(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }
}
