//! `tidegate completions`.

use super::screen::{Screen, Stop};
use clap::Args;
use clap_complete::Shell;

/// Write a completion script for a shell
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub fn run(self, screen: &Screen, mut command: clap::Command) -> Result<(), Stop> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "tidegate", &mut script);
        Ok(screen.result(&String::from_utf8_lossy(&script))?)
    }
}
