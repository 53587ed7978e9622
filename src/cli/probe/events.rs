//! The list of asks that `probe` reads: CSV with a column of times, and maybe of costs and keys.

use super::super::messages::Texts;
use csv::{ReaderBuilder, StringRecord};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use tidegate::problem::{Place, Problem, Problems, did_you_mean};
use tidegate::study::probe::Event;
use tidegate::time::SimTime;
use tidegate::units::{MAX_COUNT, MAX_LENGTH};

/// So many wrong rows are shown.
const MOST_PROBLEMS: usize = 20;

/// The columns that a list may have.
const COLUMNS: [&str; 5] = ["t_ns", "t_ms", "t_s", "cost", "key"];

/// The asks in order, and the names of their keys by number; number 0 is no key.
pub struct Asks {
    pub events: Vec<Event>,
    pub keys: Vec<String>,
}

/// Where the columns stand.
struct Columns {
    time: usize,
    /// Decimals of the time that a nanosecond takes.
    decimals: usize,
    cost: Option<usize>,
    key: Option<usize>,
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
        let mut asks = Asks { events: Vec::new(), keys: vec![String::new()] };
        let mut numbers = BTreeMap::from([(String::new(), 0)]);
        let mut problems = Problems::default();
        while reader.read_record(&mut record).unwrap_or(false) {
            let before = asks.events.last().map(|event| event.at);
            match columns.event(&record, width, before) {
                Ok((at, cost, key)) => {
                    let next = numbers.len() as u32;
                    let number = *numbers.entry(key.to_string()).or_insert_with(|| {
                        asks.keys.push(key.to_string());
                        next
                    });
                    asks.events.push(Event { at, cost, key: number });
                }
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
        if problems.0.is_empty() { Ok(asks) } else { Err(problems) }
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
                return Ok(Columns { time, decimals, cost: found[3], key: found[4] });
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

    /// Time, cost and key of a row, or what is wrong with it and what to do.
    fn event<'r>(
        &self,
        record: &'r StringRecord,
        width: usize,
        before: Option<SimTime>,
    ) -> Result<(SimTime, u64, &'r str), (String, String)> {
        if record.len() != width {
            let what = format!("the line has {} cells, the header {width}", record.len());
            return Err((what, "give every line a cell for each column".into()));
        }
        let time = record[self.time].trim();
        let at = instant(time, self.decimals).ok_or_else(|| {
            let shown: String = time.chars().take(40).flat_map(char::escape_debug).collect();
            let what = format!("`{shown}` is no time");
            (what, format!("write a number such as `12` or `12.5`, with at most {} decimals", self.decimals))
        })?;
        if before.is_some_and(|before| at < before) {
            let before = before.unwrap_or_default();
            return Err((
                format!("time runs backwards: {at} s comes after {before} s"),
                "sort the lines by time".into(),
            ));
        }
        let cost = match self.cost.map(|column| record[column].trim()) {
            None | Some("") => 1,
            Some(text) => text
                .parse()
                .ok()
                .filter(|cost| {
                    (1..=MAX_COUNT).contains(cost) && text.starts_with(|c: char| c.is_ascii_digit())
                })
                .ok_or_else(|| {
                    let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
                    (format!("`{shown}` is no cost"), format!("write a whole number from 1 to {MAX_COUNT}"))
                })?,
        };
        Ok((at, cost, self.key.map_or("", |column| &record[column])))
    }
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
    (nanos <= MAX_LENGTH.0).then_some(SimTime(nanos))
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
    fn a_wrong_line_is_named_whatever_ends_the_lines() {
        for end in ["\n", "\r\n"] {
            let text = ["t_ms,cost", "100,1", "99,1", "100,0"].join(end);
            let problems = Asks::parse("a.csv", &text).err().expect("time runs backwards");
            let places: Vec<String> =
                problems.0.iter().map(|p| p.place.as_ref().expect("a place").to_string()).collect();
            assert_eq!(places, ["a.csv:3:1", "a.csv:4:1"]);
        }
    }

    #[test]
    fn an_unknown_column_is_answered_with_the_near_one() {
        let problems = Asks::parse("a.csv", "t_ms,costs\n0,1\n").err().expect("no such column");
        assert!(problems.to_string().contains("did you mean `cost`?"), "{problems}");
    }
}
