//! `tidegate probe`: limiters alone, one list of asks, the decision table.

mod events;
mod limiters;

use super::messages::Texts;
use super::screen::{Screen, Stop};
use clap::{Args, ValueEnum};
use events::Asks;
use limiters::Limiters;
use std::ops::Range;
use tidegate::engine;
use tidegate::problem::{Place, Problem, Problems};
use tidegate::report::csv::Cells;
use tidegate::report::text::{Layout, Table};
use tidegate::request::{Key, Unit};
use tidegate::scenario::stage::Limit;
use tidegate::study::probe::{Chain, Decision, Event};
use tidegate::units::MAX_AMOUNT;

/// Replay a list of (time, cost, key) through limiters and print every decision
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub struct Probe {
    /// A limiter as TOML, or several in brackets
    limiter: String,
    /// A CSV file with a column t_ns, t_ms or t_s, and maybe cost, key, user, feature, tenant and class; `-` is
    /// standard input
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

`cost` counts units of the limiters, 1 unless given. `key` stands for whichever of `user`, `feature`, `tenant` and
`class` has no column, for limiters with `key = …`. `remaining` is the least that is left in any of the limiters.
`retry_after_s` is `never` if no wait helps. Time that steps back is refused, except by kinds whose product has an
answer of its own.";

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

/// Name, title, whether it holds numbers.
const COLUMNS: [(&str, &str, bool); 10] = [
    ("t_s", "t_s", true),
    ("key", "key", false),
    ("cost", "cost", true),
    ("decision", "decision", false),
    ("remaining", "remaining", true),
    ("retry_after_s", "retry_after_s", true),
    ("delay_s", "delay_s", true),
    ("reset_s", "reset_s", true),
    ("colour", "colour", false),
    ("limited_by", "limited_by", false),
];

/// The columns that people see. Of the delay and the colour, those that say something.
const FOR_PEOPLE: [usize; 9] = [0, KEY, 2, 3, 4, 5, DELAY, COLOUR, 9];
const KEY: usize = 1;
const DELAY: usize = 6;
const COLOUR: usize = 8;

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
        let few = |key: Key| matches!(key, Key::Feature | Key::Class);
        let by_few = |limit: &Limit| limit.options.key.is_some_and(|keys| keys.iter().any(few));
        if asks.crowded && limiters.limits.iter().any(by_few) {
            let what = format!("the list has more than {} features or classes", u16::MAX);
            return Err(Problem::input(what).remedy("tell them apart by `user` or `tenant`").into());
        }
        if let Some(problems) = free_asks(&asks, &limiters, &texts) {
            return Err(Stop { problems, texts, told: false });
        }
        screen.problems(&limiters.warnings, &texts);
        for (name, _) in limiters.named().filter(|(_, limit)| limit.options.wait) {
            screen.note(&format!("`{name}`: a list of asks has no queue, so what would wait is refused"));
        }
        let take = match self.take {
            Take::AllOrNone => engine::Take::AllOrNone,
            Take::Sequential => engine::Take::Sequential,
        };
        let number = |key, name: &str| asks.number(key, name);
        let mut chain = Chain::new(limiters.build(&number), take);
        let decided =
            asks.events.iter().zip(&asks.shown).map(|(event, shown)| {
                row(event, asks.keys.name(*shown), &chain.decide(event), &limiters.names)
            });
        match self.format {
            Format::Csv => write_csv(screen, decided)?,
            Format::Json => screen.result(&table(&COLUMNS, decided).to_text(Layout::Json))?,
            Format::Human => screen.result(&for_people(decided).to_text(Layout::Human))?,
        }
        chain.counts(&mut |number, name, count| {
            screen.note(&format!("`{}`: {count} {}", limiters.names[number], name.replace('_', " ")));
        });
        match backward_asks(&asks, &limiters, &texts) {
            None => Ok(()),
            Some(problems) => Err(Stop { problems, texts, told: false }),
        }
    }
}

/// Asks that cost nothing, if one of the limiters has no answer to them.
fn free_asks(asks: &Asks, limiters: &Limiters, texts: &Texts) -> Option<Problems> {
    limiters.limits.iter().find(|limit| !limit.rule.peeks())?;
    let problem = |place: Place| {
        Problem::input("`0` is no cost")
            .at(place)
            .remedy(format!("write a whole number from 1 to {MAX_AMOUNT}"))
    };
    problems(asks, &asks.free, texts, problem)
}

/// Asks before the one above them, if one of the limiters is exact about time.
fn backward_asks(asks: &Asks, limiters: &Limiters, texts: &Texts) -> Option<Problems> {
    let exact = limiters.limits.iter().position(|limit| !limit.rule.steps_back())?;
    let problem = |place: Place| {
        let what = format!("time runs backwards, which `{}` refuses", limiters.names[exact]);
        Problem::input(what).at(place).remedy("sort the lines by time")
    };
    problems(asks, &asks.backward, texts, problem)
}

fn problems(
    asks: &Asks,
    lines: &[Range<usize>],
    texts: &Texts,
    problem: impl Fn(Place) -> Problem,
) -> Option<Problems> {
    let text = texts.get(&asks.name).unwrap_or_default();
    let all = lines.iter().map(|line| problem(Place::in_text(&asks.name, text, line.clone())));
    (!lines.is_empty()).then(|| Problems(all.collect()))
}

fn table<Row: Into<Vec<String>>>(
    columns: &[(&'static str, &'static str, bool)],
    rows: impl Iterator<Item = Row>,
) -> Table {
    let mut table = Table::new(columns);
    table.rows = rows.map(Into::into).collect();
    table
}

fn for_people(decided: impl Iterator<Item = [String; COLUMNS.len()]>) -> Table {
    let mut rows: Vec<[String; COLUMNS.len()]> = decided.collect();
    rows.iter_mut().for_each(|row| row[KEY] = row[KEY].escape_debug().to_string());
    let says = |column: usize| match column {
        DELAY => rows.iter().any(|row| row[DELAY].contains(|c: char| c.is_ascii_digit() && c != '0')),
        COLOUR => rows.iter().any(|row| !row[COLOUR].is_empty()),
        _ => true,
    };
    let shown: Vec<usize> = FOR_PEOPLE.into_iter().filter(|column| says(*column)).collect();
    let columns: Vec<_> = shown.iter().map(|column| COLUMNS[*column]).collect();
    table(
        &columns,
        rows.iter().map(|row| shown.iter().map(|column| row[*column].clone()).collect::<Vec<_>>()),
    )
}

fn write_csv(screen: &Screen, rows: impl Iterator<Item = [String; COLUMNS.len()]>) -> Result<(), Problem> {
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

fn row(event: &Event, key: &str, decision: &Decision, names: &[String]) -> [String; COLUMNS.len()] {
    let (retry_after, limited_by) = match &decision.refusal {
        None => (String::new(), String::new()),
        Some(refusal) => {
            let wait = refusal.advice.map_or("never".into(), |wait| seconds(wait.0));
            let dot = if refusal.limit.is_empty() { "" } else { "." };
            (wait, format!("{}{dot}{}", names[refusal.by], refusal.limit))
        }
    };
    [
        seconds(event.at.0),
        key.to_string(),
        event.ask.estimate(Unit::Given).to_string(),
        if decision.refusal.is_none() { "admit" } else { "refuse" }.into(),
        fixed(decision.remaining_billionths),
        retry_after,
        decision.delay.map_or(String::new(), |delay| seconds(delay.0)),
        decision.reset.map_or("never".into(), |reset| seconds(reset.0)),
        decision.colour.unwrap_or_default().into(),
        limited_by,
    ]
}

/// Billionths as a number with nine decimals.
fn fixed(billionths: i128) -> String {
    let (sign, size) = (if billionths < 0 { "-" } else { "" }, billionths.unsigned_abs());
    format!("{sign}{}.{:09}", size / 1_000_000_000, size % 1_000_000_000)
}

fn seconds(nanos: u64) -> String {
    format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}
