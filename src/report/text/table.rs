//! Tables for people, programs and pages.

use super::Sums;
use crate::observe::Count;
use crate::report::csv::Cells;
use crate::study::Finished;

/// What a table is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Columns in line.
    Human,
    /// A list of objects.
    Json,
    /// RFC 4180 with a header.
    Csv,
    /// GitHub's tables.
    Markdown,
}

/// A table of text: every cell is written as it stands, an empty one is undefined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Names of the columns in files.
    pub columns: Vec<&'static str>,
    /// Their titles for people.
    pub titles: Vec<&'static str>,
    /// Whether a column holds numbers.
    pub numeric: Vec<bool>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows; each column has its name, its title and whether it holds numbers.
    pub fn new(columns: &[(&'static str, &'static str, bool)]) -> Table {
        Table {
            columns: columns.iter().map(|c| c.0).collect(),
            titles: columns.iter().map(|c| c.1).collect(),
            numeric: columns.iter().map(|c| c.2).collect(),
            rows: Vec::new(),
        }
    }

    /// The text of the table.
    pub fn to_text(&self, layout: Layout) -> String {
        match layout {
            Layout::Human => self.human(),
            Layout::Json => self.json(),
            Layout::Csv => self.csv(),
            Layout::Markdown => self.markdown(),
        }
    }

    fn human(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.chain([self.titles[column].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.titles.len()).map(width).collect();
        let line = |cells: Vec<&str>| {
            let padded = cells.iter().zip(&widths).zip(&self.numeric).map(|((cell, width), numeric)| {
                if *numeric { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
        };
        let mut text = line(self.titles.clone());
        for row in &self.rows {
            text += &line(row.iter().map(String::as_str).collect());
        }
        text
    }

    fn json(&self) -> String {
        let cell = |row: &[String], i: usize| match (row[i].as_str(), self.numeric[i]) {
            ("", true) => "null".to_string(),
            // What only looks like a number for its exactness stays as it is written.
            (number, true) if number.parse::<f64>().is_ok() => number.to_string(),
            (text, _) => serde_json::Value::from(text).to_string(),
        };
        let object = |row: &Vec<String>| {
            let pairs = (0..row.len()).map(|i| format!("\"{}\": {}", self.columns[i], cell(row, i)));
            format!("  {{{}}}", pairs.collect::<Vec<_>>().join(", "))
        };
        let objects: Vec<String> = self.rows.iter().map(object).collect();
        if objects.is_empty() { "[]\n".into() } else { format!("[\n{}\n]\n", objects.join(",\n")) }
    }

    fn csv(&self) -> String {
        let mut cells = Cells::new();
        for column in &self.columns {
            cells.name(column);
        }
        cells.end();
        for row in &self.rows {
            for cell in row {
                cells.text(cell);
            }
            cells.end();
        }
        String::from_utf8_lossy(cells.bytes()).into_owned()
    }

    fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let escaped = |cell: &String| cell.replace('|', "\\|");
        let titles: Vec<String> = self.titles.iter().map(|title| title.to_string()).collect();
        let rules: Vec<String> =
            self.numeric.iter().map(|numeric| if *numeric { "--:" } else { "---" }.to_string()).collect();
        let mut text = line(&titles) + &line(&rules);
        for row in &self.rows {
            text += &line(&row.iter().map(escaped).collect::<Vec<_>>());
        }
        text
    }
}

/// One row per policy and seed: how many calls were answered in time, and at what price.
///
/// For people shares are in percent and times have one decimal; for programs everything is as in `summary.csv`.
pub fn results(jobs: &[Finished], layout: Layout) -> Table {
    let people = matches!(layout, Layout::Human | Layout::Markdown);
    let mut table = Table::new(&[
        ("policy", "policy", false),
        ("seed", "seed", true),
        ("calls_count", "calls", true),
        ("goodput_ratio", "goodput %", true),
        ("rejected_ratio", "rejected %", true),
        ("retry_amplification", "attempts/call", true),
        ("wasted_ratio", "wasted %", true),
        ("latency_p50_ms", "answered p50 ms", true),
        ("latency_p99_ms", "answered p99 ms", true),
        ("queue_depth_max", "max queue", true),
        ("timed_out_count", "timeouts", true),
    ]);
    for job in jobs {
        let Some(total) = &job.total else { continue };
        let sums = Sums::of([job]);
        let ratio = |part: u64, whole: u64, percent: bool| match (whole, people, percent) {
            (0, ..) => String::new(),
            (_, true, true) => format!("{:.1}", 100.0 * part as f64 / whole as f64),
            (_, true, false) => format!("{:.2}", part as f64 / whole as f64),
            _ => format!("{:.6}", part as f64 / whole as f64),
        };
        let millis = |nanos: u64| match total.latency.some(nanos) {
            None => String::new(),
            Some(nanos) if people => format!("{:.1}", nanos.0 as f64 / 1e6),
            Some(nanos) => format!("{}.{:06}", nanos.0 / 1_000_000, nanos.0 % 1_000_000),
        };
        table.rows.push(vec![
            job.job.policy.clone(),
            job.job.seed.to_string(),
            sums.calls.to_string(),
            ratio(sums.goodput, sums.calls, true),
            ratio(sums.rejected, sums.offered, true),
            ratio(sums.offered, sums.calls, false),
            ratio(sums.wasted, sums.completed, true),
            millis(total.latency.p50),
            millis(total.latency.p99),
            total.queue_depth_max.to_string(),
            total.counts[Count::TimedOut as usize].to_string(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn people_and_programs_get_the_same_numbers_in_their_ways() {
        let jobs = [sample::job("patient", 1, 1_000, 252)];
        let human = results(&jobs, Layout::Human).to_text(Layout::Human);
        let mut lines = human.lines();
        assert_eq!(
            lines.next(),
            Some(
                "policy   seed  calls  goodput %  rejected %  attempts/call  wasted %  answered p50 ms  answered p99 ms  max queue  timeouts"
            )
        );
        assert!(
            lines.next().is_some_and(|row| row.starts_with("patient     1   1000       25.2")),
            "{human}"
        );
        let csv = results(&jobs, Layout::Csv).to_text(Layout::Csv);
        assert!(csv.contains("\npatient,1,1000,0.252000,"), "{csv}");
        let json = results(&jobs, Layout::Json).to_text(Layout::Json);
        assert!(json.contains("\"goodput_ratio\": 0.252000"), "{json}");
        assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
    }
}
