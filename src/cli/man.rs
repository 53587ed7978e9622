//! `tidegate man`.

use super::screen::{Screen, Stop};
use clap::Args;
use clap_mangen::Man as Page;
use tidegate::problem::{Problem, did_you_mean};

/// Write the manual page of the program or of one command
#[derive(Debug, Args)]
pub struct Man {
    /// The command; the program itself if none is named
    command: Option<String>,
}

impl Man {
    pub fn run(self, screen: &Screen, mut program: clap::Command) -> Result<(), Stop> {
        program.build();
        let page = match &self.command {
            None => program,
            Some(name) => match program.find_subcommand(name) {
                Some(command) => command.clone(),
                None => {
                    let names: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
                    let near = did_you_mean(name, names.iter().copied())
                        .map_or(String::new(), |near| format!("did you mean `{near}`? "));
                    let problem = Problem::usage(format!("there is no command `{name}`"));
                    return Err(problem.remedy(format!("{near}known: {}", names.join(", "))).into());
                }
            },
        };
        let mut roff = Vec::new();
        Page::new(page).render(&mut roff).map_err(|error| Problem::io("the page", "write", &error))?;
        Ok(screen.result(&String::from_utf8_lossy(&roff))?)
    }
}
