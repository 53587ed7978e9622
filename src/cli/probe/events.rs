//! The list of asks that `probe` reads: CSV with a column of times, and maybe of costs, keys and names.

use super::super::messages::Texts;
use csv::{ReaderBuilder, StringRecord};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use tidegate::problem::{Place, Problem, Problems, did_you_mean};
use tidegate::request::{Ask, ClassId, Key};
use tidegate::rng::Dice;
use tidegate::study::probe::Event;
use tidegate::time::SimTime;
use tidegate::units::MAX_AMOUNT;

/// So many wrong rows are shown.
const MOST_PROBLEMS: usize = 20;

/// The columns that a list may have: of times, of costs, and of who asks.
const COLUMNS: [&str; 9] = ["t_ns", "t_ms", "t_s", "cost", "key", "user", "feature", "tenant", "class"];

/// Where the columns of who asks begin: `key`, then what it stands for where they are missing.
const WHO: usize = 4;

/// The asks in order, and the names of their keys by number; number 0 is no key.
#[derive(Debug)]
pub struct Asks {
    pub name: String,
    pub events: Vec<Event>,
    /// For each ask, the number of what the table shows as its key.
    pub shown: Vec<u32>,
    pub keys: Names,
    /// Lines of asks that come before the one above them.
    pub backward: Vec<Range<usize>>,
    /// Lines of asks that cost nothing.
    pub free: Vec<Range<usize>>,
    /// Whether there are more names than a limit per feature or class can tell apart.
    pub crowded: bool,
    /// The names of each column of who asks.
    names: [Names; COLUMNS.len() - WHO],
    /// Whether a column of its own says who the user, feature, tenant and class is; `key` does otherwise.
    own: [bool; COLUMNS.len() - WHO],
}

/// Names and their numbers from 0, the empty one first.
#[derive(Debug)]
pub struct Names {
    numbers: BTreeMap<String, u32>,
    names: Vec<String>,
}

impl Names {
    fn new() -> Names {
        Names { numbers: BTreeMap::from([(String::new(), 0)]), names: vec![String::new()] }
    }

    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let next = self.names.len() as u32;
        self.numbers.insert(name.to_string(), next);
        self.names.push(name.to_string());
        next
    }

    fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// The name with this number.
    pub fn name(&self, number: u32) -> &str {
        &self.names[number as usize]
    }
}

/// Where the columns stand.
struct Columns {
    time: usize,
    /// Decimals of the time that a nanosecond takes.
    decimals: usize,
    cost: Option<usize>,
    /// `key`, user, feature, tenant, class.
    who: [Option<usize>; COLUMNS.len() - WHO],
}

impl Asks {
    /// Reads the file called `name`, or standard input for `-`.
    pub fn read(name: &str, texts: &mut Texts) -> Result<Asks, Problems> {
        let bytes = if name == "-" {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
        } else {
            fs::read(name)
        };
        let bytes = bytes.map_err(|error| {
            Problem::io(name, "read", &error).remedy("name a CSV file, or `-` for standard input")
        })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let before = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
            let place = Place::in_text(name, &before, valid..valid);
            Problem::input("the list is not UTF-8 text").at(place).remedy("save it with the encoding UTF-8")
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        texts.add(name, text);
        Asks::parse(name, text)
    }

    fn parse(name: &str, text: &str) -> Result<Asks, Problems> {
        let mut reader = ReaderBuilder::new().flexible(true).has_headers(false).from_reader(text.as_bytes());
        let mut record = StringRecord::new();
        let at_start = |what: &str, remedy: &str| {
            Problem::input(what).at(Place::in_text(name, text, 0..0)).remedy(remedy)
        };
        let header = "write a header such as `t_ms,cost,key`, then one line per ask";
        if !reader.read_record(&mut record).unwrap_or(false) {
            return Err(at_start("the list is empty", header).into());
        }
        let columns = Columns::find(&record, |what, remedy| at_start(&what, &remedy))?;
        let width = record.len();
        let mut asks = Asks {
            name: name.to_string(),
            events: Vec::new(),
            shown: Vec::new(),
            keys: Names::new(),
            backward: Vec::new(),
            free: Vec::new(),
            crowded: false,
            names: std::array::from_fn(|_| Names::new()),
            own: columns.who.map(|column| column.is_some()),
        };
        let mut problems = Problems::default();
        while reader.read_record(&mut record).unwrap_or(false) {
            let line = line_of(text, &record);
            let quoted = columns.cost.is_some_and(|column| is_quoted(&text[line.clone()], column));
            let read =
                if quoted { Err(quoted_cost(&record, columns.cost)) } else { columns.ask(&record, width) };
            let added = read.map(|(at, cost)| {
                let (ask, shown) = columns.who(&record, cost, &mut asks.names);
                asks.add(Event { at, ask }, cost, &shown, line);
            });
            match added {
                Ok(()) => {}
                Err((what, remedy)) if problems.0.len() < MOST_PROBLEMS => {
                    let place = Place::in_text(name, text, line_of(text, &record));
                    problems.0.push(Problem::input(what).at(place).remedy(remedy));
                }
                Err(_) => {
                    problems.0.push(Problem::input("more lines are wrong").remedy("mend these first"));
                    break;
                }
            }
        }
        if problems.0.is_empty() && asks.events.is_empty() {
            return Err(at_start("the list has a header and no ask", header).into());
        }
        asks.crowded = asks.names.iter().any(|names| u16::MAX as usize <= names.names.len());
        if problems.0.is_empty() { Ok(asks) } else { Err(problems) }
    }

    /// The number under which asks have a name; `None` if none has it.
    pub fn number(&self, key: Key, name: &str) -> Option<u32> {
        let column = match key {
            Key::User => 1,
            Key::Feature => 2,
            Key::Tenant => 3,
            Key::Class => 4,
        };
        self.names[if self.own[column] { column } else { 0 }].find(name)
    }

    fn add(&mut self, event: Event, cost: u64, shown: &str, line: Range<usize>) {
        if self.events.last().is_some_and(|before| event.at < before.at)
            && self.backward.len() < MOST_PROBLEMS
        {
            self.backward.push(line.clone());
        }
        if cost == 0 && self.free.len() < MOST_PROBLEMS {
            self.free.push(line);
        }
        let dice = Dice(self.events.len() as u64);
        self.events.push(Event { ask: Ask { dice, ..event.ask }, ..event });
        self.shown.push(self.keys.number(shown));
    }
}

/// The bytes of a record's line.
fn line_of(text: &str, record: &StringRecord) -> std::ops::Range<usize> {
    let from = record.position().map_or(0, |position| position.byte() as usize).min(text.len());
    // The position may be that of the line's end before.
    let start = text.len() - text[from..].trim_start_matches(['\r', '\n']).len();
    let end = text[start..].find(['\r', '\n']).map_or(text.len(), |length| start + length);
    start..end
}

impl Columns {
    fn find(header: &StringRecord, problem: impl Fn(String, String) -> Problem) -> Result<Columns, Problems> {
        let mut problems = Vec::new();
        let mut found = [None; COLUMNS.len()];
        for (at, title) in header.iter().enumerate() {
            let title = title.trim();
            let shown: String = title.chars().take(40).flat_map(char::escape_debug).collect();
            match COLUMNS.iter().position(|column| *column == title) {
                Some(column) if found[column].is_none() => found[column] = Some(at),
                Some(_) => {
                    problems.push(problem(format!("the column `{shown}` stands twice"), "leave one".into()))
                }
                None => {
                    let near = did_you_mean(title, COLUMNS)
                        .map_or(String::new(), |n| format!("did you mean `{n}`? "));
                    let remedy = format!("{near}known: {}", COLUMNS.join(", "));
                    problems.push(problem(format!("`{shown}` is no column of a list of asks"), remedy));
                }
            }
        }
        let times: Vec<(usize, usize)> = [(0, 0), (1, 6), (2, 9)]
            .into_iter()
            .filter_map(|(c, decimals)| Some((found[c]?, decimals)))
            .collect();
        match times[..] {
            [(time, decimals)] if problems.is_empty() => {
                let who = std::array::from_fn(|column| found[WHO + column]);
                return Ok(Columns { time, decimals, cost: found[3], who });
            }
            [_] => {}
            [] => problems.push(problem(
                "there is no column of times".into(),
                "name one `t_ns`, `t_ms` or `t_s`".into(),
            )),
            _ => problems.push(problem("there are several columns of times".into(), "leave one".into())),
        }
        Err(Problems(problems))
    }

    /// Time and cost of a row, or what is wrong with it and what to do.
    fn ask(&self, record: &StringRecord, width: usize) -> Result<(SimTime, u64), (String, String)> {
        if record.len() != width {
            let what = format!("the line has {} cells, the header {width}", record.len());
            return Err((what, "give every line a cell for each column".into()));
        }
        let time = record[self.time].trim();
        let at = instant(time, self.decimals).ok_or_else(|| {
            let what = format!("`{}` is no time", shown(time));
            (what, format!("write a number such as `12` or `12.5`, with at most {} decimals", self.decimals))
        })?;
        let cost = match self.cost.map(|column| record[column].trim()) {
            None => 1,
            Some(text) => text
                .parse()
                .ok()
                .filter(|cost| *cost <= MAX_AMOUNT && text.starts_with(|c: char| c.is_ascii_digit()))
                .ok_or_else(|| {
                    let what = format!("`{}` is no cost{}", shown(text), kind_of(text));
                    (what, format!("write a whole number from 1 to {MAX_AMOUNT}"))
                })?,
        };
        Ok((at, cost))
    }

    /// The ask of a row, and what the table shows as its key.
    fn who(
        &self,
        record: &StringRecord,
        cost: u64,
        names: &mut [Names; COLUMNS.len() - WHO],
    ) -> (Ask, String) {
        let cell = |column: usize| self.who[column].map(|at| &record[at]);
        let mut number = |column: usize| match cell(column) {
            Some(name) => names[column].number(name),
            None => cell(0).map_or(0, |key| names[0].number(key)),
        };
        let (user, feature, tenant, class) = (number(1), number(2), number(3), number(4));
        let ask =
            Ask { user, tenant, feature: feature as u16, class: ClassId(class as u16), ..Ask::costing(cost) };
        let named = (1..self.who.len()).filter_map(cell).collect::<Vec<_>>().join("/");
        (ask, cell(0).map_or(named, str::to_string))
    }
}

/// What a cell is that is no cost, to be added to saying so.
fn kind_of(text: &str) -> &'static str {
    match text {
        "true" | "false" => ": it is true or false, not a number",
        _ if text.parse::<f64>().is_ok_and(|x| x.is_nan()) => ": it is not a number",
        _ if text.parse::<i128>().is_ok_and(|n| n < 0) => ": it is below 0",
        _ if text.parse::<f64>().is_ok_and(|x| x.is_finite()) && text.contains(['.', 'e', 'E']) => {
            ": it is a fraction, or written as one"
        }
        _ => "",
    }
}

/// Whether the cell number `column` of a line stands in quotes, which make text of a number.
fn is_quoted(line: &str, column: usize) -> bool {
    if !line.contains('"') {
        return false;
    }
    let (mut cell, mut inside, mut at_start) = (0, false, true);
    for c in line.chars() {
        match c {
            '"' if at_start && cell == column => return true,
            '"' => inside = !inside,
            ',' if !inside => {
                (cell, at_start) = (cell + 1, true);
                continue;
            }
            _ => {}
        }
        at_start = at_start && c == ' ';
    }
    false
}

/// What is wrong with a cost in quotes.
fn quoted_cost(record: &StringRecord, column: Option<usize>) -> (String, String) {
    let cell = column.and_then(|column| record.get(column)).unwrap_or_default();
    (format!("`\"{}\"` is no cost: it is text in quotes", shown(cell)), "write it without quotes".into())
}

/// A cell as messages show it.
fn shown(cell: &str) -> String {
    cell.chars().take(40).flat_map(char::escape_debug).collect()
}

/// A decimal number of a unit in which a nanosecond has so many decimals; exact.
fn instant(text: &str, decimals: usize) -> Option<SimTime> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let ends_in_point = text.ends_with('.');
    if whole.is_empty() || ends_in_point || !digits(whole) || !digits(fraction) || decimals < fraction.len() {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let fraction: u64 = format!("{fraction:0<decimals$}0").parse::<u64>().ok()? / 10;
    let nanos = whole.checked_mul(10u64.pow(decimals as u32))?.checked_add(fraction)?;
    Some(SimTime(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_exactly_or_not_at_all() {
        assert_eq!(instant("0.000000001", 9), Some(SimTime(1)));
        assert_eq!(instant("12.5", 6), Some(SimTime(12_500_000)));
        assert_eq!(instant("7", 0), Some(SimTime(7)));
        for wrong in ["", ".5", "1.", "-1", "+1", "1e3", "0.0000000001", "99999999999999999999", "nan"] {
            assert_eq!(instant(wrong, 9), None, "{wrong}");
        }
    }

    #[test]
    fn lines_that_step_back_or_cost_nothing_are_remembered() {
        let asks = Asks::parse("a.csv", "t_ms,cost\n100,1\n99,0\n").expect("a list");
        assert_eq!([&asks.backward[..], &asks.free[..]].concat(), [16..20, 16..20]);
    }

    #[test]
    fn the_key_stands_for_the_names_that_have_no_column() {
        let asks = Asks::parse("a.csv", "t_s,key,user\n0,k,u\n0,l,u\n").expect("a list");
        let told_apart: Vec<_> = asks.events.iter().map(|event| (event.ask.user, event.ask.tenant)).collect();
        assert_eq!(told_apart, [(1, 1), (1, 2)]);
        assert_eq!(asks.keys.name(asks.shown[1]), "l");
    }

    #[test]
    fn a_wrong_line_is_named_whatever_ends_the_lines() {
        for end in ["\n", "\r\n"] {
            let text = ["t_ms,cost", "100,1", "1_0,1", "100,-1"].join(end);
            let problems = Asks::parse("a.csv", &text).expect_err("two wrong lines");
            let places: Vec<String> =
                problems.0.iter().map(|p| p.place.as_ref().expect("a place").to_string()).collect();
            assert_eq!(places, ["a.csv:3:1", "a.csv:4:1"]);
        }
    }

    #[test]
    fn an_unknown_column_is_answered_with_the_near_one() {
        let problems = Asks::parse("a.csv", "t_ms,costs\n0,1\n").expect_err("no such column");
        assert!(problems.to_string().contains("did you mean `cost`?"), "{problems}");
    }
}
