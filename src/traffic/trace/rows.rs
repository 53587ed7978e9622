//! The rows of a trace file, one after another, with their hash.

use super::TraceSpec;
use super::clock::TimeUnit;
use super::hashed::Hashed;
use crate::problem::{Place, Problem, did_you_mean};
use crate::records::{Records, Shape};
use std::fs::File;
use std::io;

/// A column that is read: its name and its place in a row.
pub(super) struct Column {
    pub name: String,
    pub index: usize,
}

/// The columns that a specification names.
pub(super) struct Columns {
    pub time: Column,
    pub input_tokens: Option<Column>,
    pub output_tokens: Option<Column>,
    pub max_output_tokens: Option<Column>,
    pub tenant: Option<Column>,
    pub user: Option<Column>,
    pub feature: Option<Column>,
}

/// An open trace, read up to some row.
pub(super) struct Rows {
    records: Records<Hashed<File>>,
    /// The file as the user gave it, for messages.
    file: String,
    pub columns: Columns,
    header_len: usize,
    /// Rows read so far.
    pub count: u64,
}

/// Something wrong in a row: in which field, what, and what instead.
pub(super) struct Fault {
    index: usize,
    what: String,
    remedy: String,
}

impl Fault {
    pub fn new(column: &Column, what: String, remedy: &str) -> Fault {
        Fault { index: column.index, what, remedy: remedy.into() }
    }
}

impl Rows {
    /// Opens the file of `spec` and reads its header. All that is wrong with the header is reported together.
    pub fn open(spec: &TraceSpec) -> Result<Rows, Vec<Problem>> {
        let file = spec.file.display().to_string();
        // A pipe or a device can't be read twice, and may never end.
        if std::fs::metadata(&spec.file).is_ok_and(|found| !found.is_file()) {
            let problem = Problem::input(format!("the trace `{file}` is not a regular file"));
            return Err(vec![problem.remedy("name a CSV file that stays where it is")]);
        }
        let opened = File::open(&spec.file).map_err(|e| vec![Problem::io(&file, "read the trace", &e)])?;
        let unreadable = |error| vec![unreadable(&file, &error)];
        let mut records = Records::new(Hashed::new(opened)).map_err(unreadable)?;
        if !records.next().map_err(unreadable)? {
            let place = Place { file: file.clone(), line: 1, column: 1, span: 0..0 };
            let problem = Problem::input(format!("the trace `{file}` is empty")).at(place);
            return Err(vec![
                problem.remedy("it needs a header that names the columns, then one row per call"),
            ]);
        }
        let names: Vec<&str> = records.fields().map(|n| str::from_utf8(n).unwrap_or("?").trim()).collect();
        let columns = find_columns(spec, &file, &names)?;
        let header_len = names.len();
        Ok(Rows { records, file, columns, header_len, count: 0 })
    }

    /// Goes on to the next row; false at the end of the file.
    pub fn next(&mut self) -> Result<bool, Problem> {
        let more = self.records.next().map_err(|error| unreadable(&self.file, &error))?;
        self.count += more as u64;
        Ok(more)
    }

    /// The line on which the current row begins, from 1.
    pub fn line(&self) -> u64 {
        self.records.line
    }

    /// The row's number of fields and its text are as they must be.
    pub fn check_shape(&self) -> Result<(), Fault> {
        let fields = self.records.len();
        if fields != self.header_len {
            return Err(Fault {
                // The first field too many, or the last there is.
                index: if self.header_len < fields { self.header_len } else { fields - 1 },
                what: format!("the row has {fields} fields, the header {}", self.header_len),
                remedy: "give every row one field per column, in quotes if it holds a comma".into(),
            });
        }
        if self.records.shape() == Shape::Ascii {
            return Ok(());
        }
        let controls = |field: &[u8]| field.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t');
        if let Some(index) = self.records.fields().position(controls) {
            return Err(Fault {
                index,
                what: "the field goes over several lines, or has characters that can't be seen".into(),
                remedy: "close the quote that it begins with, and keep each call on one line".into(),
            });
        }
        let not_utf8 = |field: &[u8]| str::from_utf8(field).is_err();
        match self.records.fields().position(not_utf8) {
            None => Ok(()),
            Some(index) => Err(Fault {
                index,
                what: "the field is not UTF-8".into(),
                remedy: "save the file as UTF-8".into(),
            }),
        }
    }

    /// The text of the row in `column`, without blanks around it.
    pub fn text(&self, column: &Column) -> &str {
        self.bytes(column).and_then(|field| str::from_utf8(field).ok()).unwrap_or_default().trim()
    }

    /// The bytes of the row in `column`.
    fn bytes(&self, column: &Column) -> Option<&[u8]> {
        self.records.field(column.index)
    }

    /// The row's time in nanoseconds on the trace's clock.
    pub fn time(&self, unit: TimeUnit) -> Result<i64, Fault> {
        let column = &self.columns.time;
        if let Some(ns) = self.bytes(column).and_then(|field| unit.read_plain(field)) {
            return Ok(ns);
        }
        unit.read(self.text(column))
            .map_err(|what| Fault::new(column, what, "set `time_unit` if it is guessed wrongly"))
    }

    /// The row's count in `column`, if that is read: a whole number.
    #[inline]
    pub fn count_in(&self, column: Option<&Column>) -> Result<Option<u32>, Fault> {
        let Some(column) = column else { return Ok(None) };
        match self.bytes(column).and_then(plain_count) {
            None => self.any_count(column),
            count => Ok(count),
        }
    }

    fn any_count(&self, column: &Column) -> Result<Option<u32>, Fault> {
        let text = self.text(column);
        let whole =
            text.split_once('.').filter(|(_, rest)| rest.bytes().all(|b| b == b'0')).map_or(text, |(w, _)| w);
        match whole.parse() {
            Ok(count) if !whole.starts_with('+') => Ok(Some(count)),
            _ => Err(Fault::new(
                column,
                format!("`{text}` in column `{}` is no count", column.name),
                "write a whole number from 0 to 4294967295",
            )),
        }
    }

    /// The row's name in `column`, if that is read.
    #[inline]
    pub fn name_in(&self, column: Option<&Column>) -> Result<Option<&str>, Fault> {
        match column {
            Some(column) => self.name(column).map(Some),
            None => Ok(None),
        }
    }

    fn name(&self, column: &Column) -> Result<&str, Fault> {
        match self.text(column) {
            "" => Err(Fault::new(
                column,
                format!("column `{}` is empty", column.name),
                "write a name in every row",
            )),
            name => Ok(name),
        }
    }

    /// A fault of the row as a problem with its place.
    pub fn problem(&self, fault: Fault) -> Problem {
        // Fields may have been quoted: the column is that of the field in the plain form of the row.
        let before = self.records.fields().take(fault.index);
        let column =
            1 + before.map(|field| String::from_utf8_lossy(field).chars().count() + 1).sum::<usize>();
        let place = Place { file: self.file.clone(), line: self.line() as usize, column, span: 0..0 };
        Problem::input(fault.what).at(place).remedy(fault.remedy)
    }

    /// SHA-256 of all that was read, in hexadecimal.
    pub fn sha256(self) -> String {
        self.records.into_source().sha256()
    }
}

/// A count of digits alone that can't be too large.
fn plain_count(text: &[u8]) -> Option<u32> {
    if text.is_empty() || 9 < text.len() {
        return None;
    }
    let mut count = 0;
    for byte in text {
        match byte.wrapping_sub(b'0') {
            digit @ 0..10 => count = 10 * count + u32::from(digit),
            _ => return None,
        }
    }
    Some(count)
}

fn unreadable(file: &str, error: &io::Error) -> Problem {
    Problem::io(file, "read the trace", error)
}

/// Finds every column that `spec` names in the header's `names`.
fn find_columns(spec: &TraceSpec, file: &str, names: &[&str]) -> Result<Columns, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut find = |option: &str, wanted: &str| {
        let mut matches = names.iter().enumerate().filter(|(_, name)| **name == wanted);
        let problem = match (matches.next(), matches.next()) {
            (Some((index, name)), None) => return Some(Column { name: (*name).into(), index }),
            (Some(_), Some(_)) => Problem::input(format!("column `{wanted}` occurs twice"))
                .remedy("give every column a name of its own"),
            (None, _) => {
                let remedy = match did_you_mean(wanted, names.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`? set `{option} = \"{near}\"`"),
                    None => format!("set `{option}` to one of its columns: {}", names.join(", ")),
                };
                Problem::input(format!("the trace has no column `{wanted}`")).remedy(remedy)
            }
        };
        problems.push(problem.at(Place { file: file.into(), line: 1, column: 1, span: 0..0 }));
        None
    };
    let time = find("time", &spec.time);
    let mut optional =
        |option: &str, wanted: &Option<String>| wanted.as_ref().and_then(|name| find(option, name));
    let input_tokens = optional("input_tokens", &spec.input_tokens);
    let output_tokens = optional("output_tokens", &spec.output_tokens);
    let max_output_tokens = optional("max_output_tokens", &spec.max_output_tokens);
    let tenant = optional("tenant", &spec.tenant);
    let user = optional("user", &spec.user);
    let feature = optional("feature", &spec.feature);
    match time {
        Some(time) if problems.is_empty() => {
            Ok(Columns { time, input_tokens, output_tokens, max_output_tokens, tenant, user, feature })
        }
        _ => Err(problems),
    }
}
