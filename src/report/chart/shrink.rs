//! Brings any number of intervals down to what a page can show, without losing what matters.
//!
//! Adjacent intervals share a column. Counts are summed, so a rate stays the true rate of the column and the sum
//! over the page stays the sum over the run; gauges and percentiles keep their middle, lowest and
//! highest value, so no peak disappears.

use std::ops::Range;

/// Ranges of adjacent intervals, all equally many but the last, at most `most` of them.
pub fn columns(intervals: usize, most: usize) -> Vec<Range<usize>> {
    let each = intervals.div_ceil(most.max(1)).max(1);
    (0..intervals).step_by(each).map(|start| start..intervals.min(start + each)).collect()
}

/// The values of a column in short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// The lowest.
    pub low: f64,
    /// The one in the middle of them in order; the mean of two.
    pub middle: f64,
    /// The highest.
    pub high: f64,
}

impl Extent {
    /// The extent of those values that are defined; `None` if none is.
    pub fn of(values: impl IntoIterator<Item = Option<f64>>) -> Option<Extent> {
        let mut sorted: Vec<f64> = values.into_iter().flatten().collect();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (*sorted.first()?, *sorted.last()?);
        let middle = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
        Some(Extent { low, middle, high })
    }
}

/// The stretches of adjacent columns that have a value; a line is drawn within each and never across a gap.
pub fn unbroken<T>(values: &[Option<T>]) -> Vec<Range<usize>> {
    let mut stretches: Vec<Range<usize>> = Vec::new();
    for (i, _) in values.iter().enumerate().filter(|(_, value)| value.is_some()) {
        match stretches.last_mut() {
            Some(last) if last.end == i => last.end = i + 1,
            _ => stretches.push(i..i + 1),
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_cover_every_interval_once() {
        for intervals in [0, 1, 599, 600, 601, 100_000] {
            let columns = columns(intervals, 600);
            assert!(columns.len() <= 600);
            assert_eq!(columns.iter().map(Range::len).sum::<usize>(), intervals);
            assert!(columns.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }

    #[test]
    fn sums_and_peaks_survive() {
        let values: Vec<f64> = (0..100_000).map(|i| f64::from(i * 7919 % 1000)).collect();
        let columns = columns(values.len(), 600);
        let sums: f64 = columns.iter().map(|column| values[column.clone()].iter().sum::<f64>()).sum();
        assert_eq!(sums, values.iter().sum::<f64>());
        for column in columns {
            let extent = Extent::of(values[column.clone()].iter().copied().map(Some)).unwrap();
            assert_eq!(extent.high, values[column.clone()].iter().copied().fold(0.0, f64::max));
            assert_eq!(extent.low, values[column].iter().copied().fold(f64::MAX, f64::min));
        }
    }

    #[test]
    fn the_middle_has_as_many_values_below_as_above() {
        let extent = Extent::of([Some(9.0), None, Some(1.0), Some(2.0), Some(4.0)]).unwrap();
        assert_eq!(extent, Extent { low: 1.0, middle: 3.0, high: 9.0 });
        assert_eq!(Extent::of([None, None]), None);
    }

    #[test]
    fn a_gap_ends_a_line() {
        assert_eq!(unbroken(&[Some(1), None, Some(2), Some(3), None]), [0..1, 2..4]);
    }
}
