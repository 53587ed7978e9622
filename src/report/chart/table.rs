//! Reads a run's own CSV files by column name, trusting nothing in them.
//!
//! A missing file, a missing column and a broken number are each a [`Problem`] that names file, line and column.

use super::text;
use crate::problem::{Place, Problem};
use crate::records::Records;
use std::fs::File;
use std::path::Path;

/// The largest number a cell may hold: far above anything simulated, far below where axes lose their digits.
const LARGEST: f64 = 1e15;

/// Positive numbers below this are 0: nothing is written with more than nine decimals.
const SMALLEST: f64 = 1e-12;

/// An open CSV file that stands at one of its rows.
pub struct Table {
    file: String,
    records: Records<File>,
    header: Vec<Vec<u8>>,
}

/// A column found by its name.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    index: usize,
    name: &'static str,
}

impl Table {
    /// Opens `dir/name` and reads its header.
    pub fn open(dir: &Path, name: &str) -> Result<Table, Problem> {
        let path = dir.join(name);
        let file = path.display().to_string();
        // A pipe or a device would never end.
        if std::fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
            let what = format!("`{file}` is not a regular file");
            return Err(
                Problem::input(what).remedy("charts are drawn from the CSV files that `tidegate run` writes")
            );
        }
        let opened = File::open(&path).map_err(|e| {
            Problem::io(&file, "read", &e)
                .remedy("charts are drawn from the CSV files that `tidegate run` writes")
        })?;
        let unreadable = |e| Problem::io(&file, "read", &e);
        let mut records = Records::new(opened).map_err(unreadable)?;
        records.next().map_err(unreadable)?;
        let header = records.fields().map(<[u8]>::to_vec).collect();
        Ok(Table { file, records, header })
    }

    /// The column called `name`, wherever it stands.
    pub fn column(&self, name: &'static str) -> Result<Column, Problem> {
        let index = self.header.iter().position(|cell| *cell == name.as_bytes()).ok_or_else(|| {
            Problem::input(format!("column `{name}` is missing"))
                .at(Place { file: self.file.clone(), line: 1, column: 1, span: 0..0 })
                .remedy("columns may stand in any order, but this one is needed")
        })?;
        Ok(Column { index, name })
    }

    /// Moves to the next row; false at the end.
    pub fn advance(&mut self) -> Result<bool, Problem> {
        let more = self.records.next().map_err(|e| Problem::io(&self.file, "read", &e))?;
        let (cells, columns) = (self.records.len(), self.header.len());
        if more && cells != columns {
            let what = format!("the row has {cells} cells, the header has {columns}");
            return Err(Problem::input(what).at(self.place(1)));
        }
        Ok(more)
    }

    /// The cell's bytes as they are.
    pub fn bytes(&self, column: Column) -> &[u8] {
        self.records.field(column.index).unwrap_or_default()
    }

    /// The cell as text that can be shown: control characters gone, overlong text cut.
    pub fn text(&self, column: Column) -> String {
        text::shown(self.bytes(column))
    }

    /// The cell as a number; an empty cell is a mistake.
    pub fn number(&self, column: Column) -> Result<f64, Problem> {
        self.optional(column)?.ok_or_else(|| self.problem(column, "is empty".to_string()))
    }

    /// The cell as a number; `None` when it is empty, that is undefined.
    pub fn optional(&self, column: Column) -> Result<Option<f64>, Problem> {
        let cell = self.bytes(column);
        if cell.is_empty() {
            return Ok(None);
        }
        let parsed = || std::str::from_utf8(cell).ok()?.parse::<f64>().ok();
        match plain(cell).or_else(parsed) {
            Some(number) if (0.0..SMALLEST).contains(&number) => Ok(Some(0.0)),
            Some(number) if (SMALLEST..=LARGEST).contains(&number) => Ok(Some(number)),
            Some(number) if number.is_finite() => {
                Err(self
                    .problem(column, format!("is `{}`, which is negative or above 10^15", self.text(column))))
            }
            _ => Err(self.problem(column, format!("is `{}`, which is not a number", self.text(column)))),
        }
    }

    /// A problem with one cell of the row.
    pub fn problem(&self, column: Column, what: String) -> Problem {
        let before = self.records.fields().take(column.index);
        let before: usize = before.map(|cell| String::from_utf8_lossy(cell).chars().count() + 1).sum();
        Problem::input(format!("column `{}` {what}", column.name)).at(self.place(before + 1))
    }

    /// A place in the row.
    fn place(&self, column: usize) -> Place {
        Place { file: self.file.clone(), line: self.records.line as usize, column, span: 0..0 }
    }
}

/// A number of up to fifteen digits, as files have them by the million: its digits and the power of ten are exact, so
/// that their quotient is the nearest double (W. Clinger, How to read floating point numbers accurately, 1990).
fn plain(cell: &[u8]) -> Option<f64> {
    const TENS: [f64; 16] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    if 16 < cell.len() {
        return None;
    }
    let (mut digits, mut decimals) = (0u64, None);
    for byte in cell {
        match byte {
            b'0'..=b'9' => {
                digits = 10 * digits + u64::from(byte - b'0');
                decimals = decimals.map(|decimals: usize| decimals + 1);
            }
            b'.' if decimals.is_none() => decimals = Some(0),
            _ => return None,
        }
    }
    let is_short = (1..=15).contains(&(cell.len() - usize::from(decimals.is_some())));
    is_short.then(|| digits as f64 / TENS[decimals.unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.csv"), text).unwrap();
        Table::open(dir.path(), "a.csv").unwrap()
    }

    #[test]
    fn a_missing_column_is_named_with_its_file() {
        let problem = table("x,y\n").column("z").unwrap_err();
        assert!(problem.to_string().contains("a.csv:1:1: column `z` is missing"), "{problem}");
    }

    #[test]
    fn a_broken_number_is_named_with_file_line_and_column() {
        for cell in ["abc", "NaN", "inf", "-1", "1e999", "1e16"] {
            let mut table = table(&format!("x,y\n1,2\n12,{cell}\n"));
            let y = table.column("y").unwrap();
            assert!(table.advance().unwrap());
            assert_eq!(table.number(y).unwrap(), 2.0);
            assert!(table.advance().unwrap());
            let problem = table.number(y).unwrap_err().to_string();
            assert!(problem.contains("a.csv:3:4: column `y` is `"), "{problem}");
        }
    }

    #[test]
    fn numbers_are_read_as_the_standard_library_reads_them() {
        let cells =
            ["0", "7.", ".5", "0.1", "123.456789", "99999999999999.9", "3.141592653589793", "1e3", "00012.5"];
        for cell in cells {
            let mut table = table(&format!("x\n{cell}\n"));
            let x = table.column("x").unwrap();
            table.advance().unwrap();
            assert_eq!(table.number(x).unwrap(), cell.parse::<f64>().unwrap(), "{cell}");
        }
        assert_eq!(plain(b"."), None);
        assert_eq!(plain(b"1.2.3"), None);
        let mut state = 1u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let text = format!("{}.{:06}", (state >> 20) % 1_000_000_000, state % 1_000_000);
            assert_eq!(plain(text.as_bytes()), text.parse().ok(), "{text}");
        }
    }

    #[test]
    fn a_short_row_is_named_with_its_line() {
        let mut table = table("x,y\n1,2\n3\n");
        assert!(table.advance().unwrap());
        let problem = table.advance().unwrap_err().to_string();
        assert!(problem.contains("a.csv:3:1: the row has 1 cells"), "{problem}");
    }

    #[test]
    fn an_empty_cell_is_undefined_and_not_zero() {
        let mut table = table("x,y\n,2\n");
        let x = table.column("x").unwrap();
        table.advance().unwrap();
        assert_eq!(table.optional(x).unwrap(), None);
        assert!(table.number(x).is_err());
    }
}
