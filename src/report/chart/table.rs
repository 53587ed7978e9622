//! Reads a run's own CSV files by column name, trusting nothing in them.
//!
//! A missing file, a missing column and a broken number are each a [`Problem`] that names file, line and column.

use super::text;
use crate::problem::{Place, Problem};
use csv::{ByteRecord, Position, Reader};
use std::fs::File;
use std::path::Path;

/// The largest number a cell may hold: far above anything simulated, far below where axes lose their digits.
const LARGEST: f64 = 1e15;

/// Positive numbers below this are 0: nothing is written with more than nine decimals.
const SMALLEST: f64 = 1e-12;

/// An open CSV file that stands at one of its rows.
pub struct Table {
    file: String,
    reader: Reader<File>,
    header: ByteRecord,
    row: ByteRecord,
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
        let mut reader = Reader::from_reader(opened);
        let header = reader.byte_headers().map_err(|e| broken(&file, &e))?.clone();
        Ok(Table { file, reader, header, row: ByteRecord::new() })
    }

    /// The column called `name`, wherever it stands.
    pub fn column(&self, name: &'static str) -> Result<Column, Problem> {
        let index = self.header.iter().position(|cell| cell == name.as_bytes()).ok_or_else(|| {
            Problem::input(format!("column `{name}` is missing"))
                .at(Place { file: self.file.clone(), line: 1, column: 1, span: 0..0 })
                .remedy("columns may stand in any order, but this one is needed")
        })?;
        Ok(Column { index, name })
    }

    /// Moves to the next row; false at the end.
    pub fn advance(&mut self) -> Result<bool, Problem> {
        self.reader.read_byte_record(&mut self.row).map_err(|e| broken(&self.file, &e))
    }

    /// The cell's bytes as they are.
    pub fn bytes(&self, column: Column) -> &[u8] {
        self.row.get(column.index).unwrap_or_default()
    }

    /// The cell as text that can be shown: control characters gone, overlong text cut.
    pub fn text(&self, column: Column) -> String {
        text::tame(&String::from_utf8_lossy(self.bytes(column)), text::LONGEST)
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
        match std::str::from_utf8(cell).ok().and_then(|text| text.parse::<f64>().ok()) {
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
        let line = self.row.position().map_or(0, Position::line) as usize;
        let before: usize = self
            .row
            .iter()
            .take(column.index)
            .map(|cell| String::from_utf8_lossy(cell).chars().count() + 1)
            .sum();
        Problem::input(format!("column `{}` {what}", column.name)).at(Place {
            file: self.file.clone(),
            line,
            column: before + 1,
            span: 0..0,
        })
    }
}

/// A row that is not CSV, or has more or fewer cells than the header.
fn broken(file: &str, error: &csv::Error) -> Problem {
    match error.kind() {
        csv::ErrorKind::Io(error) => Problem::io(file, "read", error),
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, Position::line) as usize;
            Problem::input(format!("the row has {len} cells, the header has {expected_len}")).at(Place {
                file: file.to_string(),
                line,
                column: 1,
                span: 0..0,
            })
        }
        _ => Problem::input(format!("`{file}` is not CSV: {error}")),
    }
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
