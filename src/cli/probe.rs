//! `tidegate probe`: limiters alone, one list of asks, the decision table.

mod events;
mod limiters;

use super::messages::Texts;
use super::screen::{Screen, Stop};
use clap::{Args, ValueEnum};
use events::Asks;
use limiters::Limiters;
use tidegate::engine;
use tidegate::problem::Problem;
use tidegate::report::csv::Cells;
use tidegate::report::text::{Layout, Table};
use tidegate::study::probe::{Chain, Decision, Event};

/// Replay a list of (time, cost, key) through limiters and print every decision
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct Probe {
    /// A limiter as TOML, or several in brackets, each with a name
    limiter: String,
    /// A CSV file with a column t_ns, t_ms or t_s, and maybe cost and key; `-` is standard input
    events: String,
    /// Whether all limiters are charged or none, or one after the other until one refuses
    #[arg(long, value_name = "HOW", default_value = "all_or_none")]
    take: Take,
    /// How the table is written
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

const AFTER: &str = "\
Example:
  printf 't_ms,cost\\n0,2\\n0,2\\n500,2\\n' |
  tidegate probe '{ kind = \"token_bucket\", rate = \"2/s\", burst = 3 }' -

`cost` counts units of the limiters, 1 unless given. `key` is whoever a limiter with `key = …` tells apart.
`remaining` is the least that is left in any of the limiters. `retry_after_s` is `never` if no wait helps.";

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Take {
    /// Check all, then charge all
    AllOrNone,
    /// Charge one after the other; what was charged before a refusal stays charged
    Sequential,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Human,
    Csv,
    Json,
}

const COLUMNS: [(&str, &str, bool); 7] = [
    ("t_s", "t_s", true),
    ("key", "key", false),
    ("cost", "cost", true),
    ("decision", "decision", false),
    ("remaining", "remaining", true),
    ("retry_after_s", "retry_after_s", true),
    ("limited_by", "limited_by", false),
];

/// Rows that are written at a time.
const PIECE: usize = 1 << 16;

impl Probe {
    pub fn run(self, screen: &Screen) -> Result<(), Stop> {
        let mut texts = Texts::default();
        let limiters = Limiters::read(&self.limiter, &mut texts);
        let asks = Asks::read(&self.events, &mut texts);
        let (limiters, asks) = match (limiters, asks) {
            (Ok(limiters), Ok(asks)) => (limiters, asks),
            (limiters, asks) => {
                let mut problems = limiters.err().unwrap_or_default();
                problems.0.extend(asks.err().unwrap_or_default().0);
                return Err(Stop { problems, texts, told: false });
            }
        };
        let take = match self.take {
            Take::AllOrNone => engine::Take::AllOrNone,
            Take::Sequential => engine::Take::Sequential,
        };
        let mut chain = Chain::new(limiters.parts, take);
        let decided =
            asks.events.iter().map(|event| row(event, &chain.decide(event), &asks, &limiters.names));
        match self.format {
            Format::Csv => write_csv(screen, decided)?,
            Format::Human | Format::Json => {
                let mut table = Table::new(&COLUMNS);
                table.rows = decided.map(Vec::from).collect();
                let layout = if matches!(self.format, Format::Json) { Layout::Json } else { Layout::Human };
                if matches!(layout, Layout::Human) {
                    table.rows.iter_mut().for_each(|row| row[1] = row[1].escape_debug().to_string());
                }
                screen.result(&table.to_text(layout))?;
            }
        }
        Ok(())
    }
}

fn write_csv(screen: &Screen, rows: impl Iterator<Item = [String; 7]>) -> Result<(), Problem> {
    let mut cells = Cells::new();
    COLUMNS.iter().for_each(|(name, ..)| {
        cells.name(name);
    });
    cells.end();
    for row in rows {
        row.iter().for_each(|cell| {
            cells.text(cell);
        });
        cells.end();
        if PIECE < cells.bytes().len() {
            screen.result(&String::from_utf8_lossy(cells.bytes()))?;
            cells.clear();
        }
    }
    screen.result(&String::from_utf8_lossy(cells.bytes()))
}

fn row(event: &Event, decision: &Decision, asks: &Asks, names: &[String]) -> [String; 7] {
    let remaining = decision.remaining_billionths;
    let (retry_after, limited_by) = match &decision.refusal {
        None => (String::new(), String::new()),
        Some(refusal) => {
            let wait = refusal.wait.map_or("never".into(), |wait| seconds(wait.0));
            (wait, names[refusal.by].clone())
        }
    };
    [
        seconds(event.at.0),
        asks.keys[event.key as usize].clone(),
        event.cost.to_string(),
        if decision.refusal.is_none() { "admit" } else { "refuse" }.into(),
        format!("{}.{:09}", remaining / 1_000_000_000, remaining % 1_000_000_000),
        retry_after,
        limited_by,
    ]
}

fn seconds(nanos: u64) -> String {
    format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}
