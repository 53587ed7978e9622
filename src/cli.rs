//! The command line: one command per file, stdout for results, stderr for messages.

mod chart;
mod check;
mod completions;
mod man;
mod messages;
mod new;
mod policies;
mod probe;
mod progress;
mod run;
mod screen;
mod source;
mod verify;

use clap::{CommandFactory, Parser, Subcommand};
use screen::{ColorChoice, Screen};
use std::panic;
use std::process::ExitCode;
use tidegate::problem::{Kind, Problems};

/// Simulates traffic through limiters, admission policies and queues, and writes CSV timelines and charts.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Write files and errors, and results only where a format was asked for
    #[arg(short, long, global = true)]
    quiet: bool,
    /// When to use colours; NO_COLOR is respected
    #[arg(
        long,
        global = true,
        value_name = "auto|always|never",
        default_value = "auto",
        hide_possible_values = true,
        hide_default_value = true
    )]
    color: ColorChoice,
}

const EXIT_CODES: &str = "Exit codes: 0 ok · 2 usage · 3 bad scenario, trace or list of events · 4 input/output · \
6 not reproducible · 70 a fault of tidegate · 130 interrupted";

#[derive(Debug, Subcommand)]
enum Command {
    New(new::New),
    Check(check::Check),
    Run(run::Run),
    Chart(chart::Chart),
    Verify(verify::Verify),
    Policies(policies::Policies),
    Probe(probe::Probe),
    Completions(completions::Completions),
    Man(man::Man),
}

/// Runs the command that the arguments name and returns its exit code.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let screen = Screen::new(arguments.quiet, arguments.color);
    panic::set_hook(Box::new(|panic| messages::fault(&panic.to_string())));
    let done = panic::catch_unwind(|| dispatch(arguments.command, &screen));
    match done {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(problems)) => ExitCode::from(problems.exit_code()),
        Err(_) => ExitCode::from(Kind::Bug.exit_code()),
    }
}

/// Runs one command and shows the problems that it returns.
fn dispatch(command: Command, screen: &Screen) -> Result<(), Problems> {
    let done = match command {
        Command::New(new) => new.run(screen),
        Command::Check(check) => check.run(screen),
        Command::Run(run) => run.run(screen),
        Command::Chart(chart) => chart.run(screen),
        Command::Verify(verify) => verify.run(screen),
        Command::Policies(policies) => policies.run(screen),
        Command::Probe(probe) => probe.run(screen),
        Command::Completions(completions) => completions.run(screen, Arguments::command()),
        Command::Man(man) => man.run(screen, Arguments::command()),
    };
    done.map_err(|stop| {
        if !stop.told {
            screen.problems(&stop.problems, &stop.texts);
        }
        stop.problems
    })
}
