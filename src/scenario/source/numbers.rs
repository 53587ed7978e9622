//! The numbers of one column of a CSV file, for distributions that are given by examples.

use std::path::Path;

/// The most numbers that are kept.
const MOST: usize = 1_000_000;

/// Reads the column called `column`, or the first; says in words what is wrong.
pub fn read(path: &Path, column: Option<&str>) -> Result<Vec<f64>, String> {
    let mut reader = csv::Reader::from_path(path).map_err(|error| error.to_string())?;
    let headers = reader.headers().map_err(|error| error.to_string())?;
    let index = match column {
        None => 0,
        Some(column) => headers
            .iter()
            .position(|header| header == column)
            .ok_or_else(|| format!("it has no column `{column}`"))?,
    };
    let mut numbers = Vec::new();
    for (row, record) in reader.records().enumerate() {
        let line = row + 2;
        let record = record.map_err(|error| error.to_string())?;
        let field = record.get(index).unwrap_or_default().trim();
        match field.parse::<f64>() {
            Ok(number) if number.is_finite() && 0.0 <= number => numbers.push(number),
            _ => return Err(format!("row {line} holds {}, no number", crate::section::quote(field))),
        }
        if MOST < numbers.len() {
            return Err(format!("it has more than {MOST} numbers"));
        }
    }
    if numbers.is_empty() { Err("it has no numbers".into()) } else { Ok(numbers) }
}
