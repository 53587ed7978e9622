//! `tidegate chart`.

use super::run::Charts;
use super::screen::{Screen, Stop};
use clap::Args;
use std::path::PathBuf;
use tidegate::problem::Problem;
use tidegate::report::chart::{self, Kind};
use tidegate::report::run_json::{self, RunJson};

/// Draw the charts of a run from its CSV files
#[derive(Debug, Args)]
pub struct Chart {
    /// The directory of a run
    run: PathBuf,
    /// Draw these kinds alone: outcomes, latency, limits, compare
    #[arg(long = "kind", value_name = "KIND,…", value_delimiter = ',')]
    kinds: Vec<String>,
    /// What charts are written as; as the run did unless said
    #[arg(long, value_name = "svg|png")]
    charts: Option<String>,
}

impl Chart {
    pub fn run(self, screen: &Screen) -> Result<(), Stop> {
        let kinds =
            self.kinds.iter().map(|name| Kind::parse(name)).collect::<Result<Vec<Kind>, Problem>>()?;
        // Without run.json there are still the tables, which say all but the scenario's name.
        let described = self.run.join(run_json::FILE).exists();
        let run = if described { Some(RunJson::read(&self.run)?) } else { None };
        let format = match (&self.charts, run.as_ref().map(Charts::of)) {
            (Some(name), _) => chart::Format::parse(name)?,
            (None, Some(Charts::Png)) => chart::Format::Png,
            (None, _) => chart::Format::Svg,
        };
        let options = chart::Options { scenario: run.map(|run| run.name), ..chart::Options::default() };
        let drawn = chart::draw(&self.run, &kinds, format, &options)?;
        let lines = drawn.iter().map(|name| format!("{}\n", self.run.join(name).display()));
        Ok(screen.optional_result(&lines.collect::<String>())?)
    }
}
