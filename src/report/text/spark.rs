//! Offered and admitted work over time as lines of blocks.

use super::by_policy;
use crate::study::{Finished, Series};
use std::fmt::Write as _;

/// Columns of a line.
const WIDTH: usize = 60;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Two lines per policy, of its first seed, all on one scale of time and of rate.
///
/// A long drain is cut after a quarter of the time before it. Where nothing at all happened a column is blank.
pub fn sparklines(jobs: &[Finished]) -> String {
    let firsts: Vec<(&str, &Series)> =
        by_policy(jobs).into_iter().map(|(policy, jobs)| (policy, &jobs[0].series)).collect();
    let intervals = firsts.iter().map(|(_, series)| shown(series)).max().unwrap_or(0);
    let each = intervals.div_ceil(WIDTH).max(1);
    let lines: Vec<(&str, &str, Vec<Option<f64>>)> = firsts
        .iter()
        .flat_map(|(policy, series)| {
            [
                (*policy, "offered", rates(series, each, |i| i.0)),
                ("", "admitted", rates(series, each, |i| i.1)),
            ]
        })
        .collect();
    let highest = lines.iter().flat_map(|line| line.2.iter().flatten()).copied().fold(0.0, f64::max);
    let width = firsts.iter().map(|(policy, _)| policy.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (policy, what, rates) in lines {
        let peak = rates.iter().flatten().copied().fold(0.0, f64::max);
        let blocks: String = rates.iter().map(|rate| block(*rate, highest)).collect();
        let _ = writeln!(text, "{policy:<width$}  {what:<8}  {}  peak {peak:.1}/s", blocks.trim_end());
    }
    text
}

/// How many intervals of a series are shown.
fn shown(series: &Series) -> usize {
    series.intervals.len().min(series.before_drain + series.before_drain.div_ceil(4))
}

/// Rates per second, each over `each` intervals.
fn rates(series: &Series, each: usize, of: fn((u64, u64)) -> u64) -> Vec<Option<f64>> {
    series.intervals[..shown(series)]
        .chunks(each)
        .map(|chunk| {
            let count: u64 = chunk.iter().map(|(_, _, offered, admitted)| of((*offered, *admitted))).sum();
            let seconds: f64 = chunk.iter().map(|(_, length, ..)| length.as_secs_f64()).sum();
            (count > 0 && seconds > 0.0).then(|| count as f64 / seconds)
        })
        .collect()
}

fn block(rate: Option<f64>, highest: f64) -> char {
    match rate {
        None => ' ',
        Some(rate) => BLOCKS[((rate / highest * 8.0) as usize).min(7)],
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn lines_share_one_scale_and_a_long_drain_is_cut() {
        let mut job = sample::job("p", 1, 10, 10);
        job.series = sample::series(&[(80, 40), (40, 40), (10, 0), (0, 0)], 100);
        let text = sparklines(&[job]);
        assert_eq!(text, "p  offered   █▅▂  peak 80.0/s\n   admitted  ▅▅  peak 40.0/s\n");
    }

    #[test]
    fn many_intervals_share_columns() {
        let mut job = sample::job("p", 1, 10, 10);
        job.series = sample::series(&[(6, 6); 240], 0);
        assert!(
            sparklines(&[job]).lines().all(|line| line.contains(&"█".repeat(60)) && line.ends_with("6.0/s"))
        );
    }
}
