//! One plot: its rectangle, its two axes, and the paths of values in it.

use super::canvas::{Anchor, Canvas, Font, Point};
use super::clock::Span;
use super::palette::{GRID, INK, MUTED};
use super::scale::Scale;

/// A rectangle of the page with a time axis and a value axis.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Left end of the plot.
    pub left: f64,
    /// Right end.
    pub right: f64,
    /// Top, including the strip for labels.
    pub top: f64,
    /// Bottom: the time axis.
    pub bottom: f64,
    /// Height of the strip above the highest value.
    pub strip: f64,
    /// What the time axis spans.
    pub span: Span,
    /// What the value axis spans.
    pub scale: Scale,
    /// About how many of its values are marked.
    pub ticks: usize,
}

impl Frame {
    /// Where an instant stands.
    pub fn x(&self, at_s: f64) -> f64 {
        self.left + self.span.share(at_s) * (self.right - self.left)
    }

    /// Where a value stands.
    pub fn y(&self, value: f64) -> f64 {
        self.bottom - self.scale.share(value) * (self.bottom - self.top - self.strip)
    }

    /// Draws grid lines at round values, labelled by `shown` when there is one.
    pub fn value_axis(&self, canvas: &mut Canvas, shown: Option<fn(f64) -> String>) {
        for value in self.scale.ticks(self.ticks) {
            let y = self.y(value);
            canvas.rectangle((self.left, y - 0.4), (self.right, y + 0.4), GRID, 1.0);
            if let Some(shown) = shown {
                canvas.text(&shown(value), (self.left - 8.0, y), Anchor::Right, Font::plain(11.5, MUTED));
            }
        }
    }

    /// Draws the time axis with round instants, labelled if asked for.
    pub fn time_axis(&self, canvas: &mut Canvas, labelled: bool) {
        canvas.rectangle((self.left, self.bottom - 0.5), (self.right, self.bottom + 0.5), INK, 1.0);
        let most = ((self.right - self.left) / 62.0) as usize;
        for (at_s, label) in self.span.ticks(most.min(10)) {
            let x = self.x(at_s);
            canvas.rectangle((x - 0.5, self.bottom), (x + 0.5, self.bottom + 5.0), INK, 1.0);
            if labelled {
                let font = Font::plain(11.5, MUTED);
                // At the end it keeps clear of the first label of a plot to the right.
                let end = self.right + 4.0;
                let (x, anchor) = if end < x + font.width(&label) / 2.0 {
                    (end, Anchor::Right)
                } else {
                    (x, Anchor::Middle)
                };
                canvas.text(&label, (x, self.bottom + 14.0), anchor, font);
            }
        }
    }

    /// The path of one unbroken stretch of columns, level over each.
    pub fn steps(&self, columns: &[(f64, f64)], values: impl IntoIterator<Item = f64>) -> Vec<Point> {
        let step = |((from_s, until_s), value): (&(f64, f64), f64)| {
            [(self.x(*from_s), self.y(value)), (self.x(*until_s), self.y(value))]
        };
        columns.iter().zip(values).flat_map(step).collect()
    }

    /// The path of one unbroken stretch of columns through their middles, level to its ends.
    pub fn path(&self, columns: &[(f64, f64)], values: impl IntoIterator<Item = f64>) -> Vec<Point> {
        let mut path = Vec::with_capacity(columns.len() + 2);
        for ((from_s, until_s), value) in columns.iter().zip(values) {
            let y = self.y(value);
            if path.is_empty() {
                path.push((self.x(*from_s), y));
            }
            path.push((self.x((from_s + until_s) / 2.0), y));
        }
        if let (Some(last), Some((_, until_s))) = (path.last().copied(), columns.last()) {
            // A single narrow column would be invisible.
            let wide_enough = path[0].0 + 2.0;
            path.push((self.x(*until_s).max(wide_enough), last.1));
        }
        path
    }

    /// The outline between two paths of the same stretch.
    pub fn between(&self, columns: &[(f64, f64)], low: Vec<f64>, high: Vec<f64>) -> Vec<Point> {
        let mut outline = self.path(columns, high);
        outline.extend(self.path(columns, low).into_iter().rev());
        outline
    }

    /// The outline between a path and the time axis.
    pub fn filled(&self, path: &[Point]) -> Vec<Point> {
        let mut outline = path.to_vec();
        if let (Some(first), Some(last)) = (path.first(), path.last()) {
            outline.extend([(last.0, self.bottom), (first.0, self.bottom)]);
        }
        outline
    }

    /// Says near the middle of the plot, between two grid lines, why it is empty.
    pub fn note(&self, canvas: &mut Canvas, text: &str) {
        let middle = (self.top + self.strip + self.bottom) / 2.0;
        let lines: Vec<f64> = self.scale.ticks(self.ticks).into_iter().map(|value| self.y(value)).collect();
        let between =
            lines.windows(2).filter(|pair| 18.0 < pair[0] - pair[1]).map(|pair| (pair[0] + pair[1]) / 2.0);
        let nearest = between.min_by(|a, b| (a - middle).abs().total_cmp(&(b - middle).abs()));
        let at = ((self.left + self.right) / 2.0, nearest.unwrap_or(middle));
        canvas.text(text, at, Anchor::Middle, Font::plain(13.25, MUTED));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Frame {
        Frame {
            left: 0.0,
            right: 100.0,
            top: 0.0,
            bottom: 100.0,
            strip: 0.0,
            span: Span { from_s: 0.0, until_s: 10.0 },
            scale: Scale::Linear { max: 10.0 },
            ticks: 4,
        }
    }

    #[test]
    fn a_single_interval_is_a_level_line_over_its_whole_length() {
        let path = frame().path(&[(0.0, 10.0)], [5.0]);
        assert_eq!(path, [(0.0, 50.0), (50.0, 50.0), (100.0, 50.0)]);
    }

    #[test]
    fn a_lone_short_interval_can_be_seen() {
        let path = frame().path(&[(3.0, 3.001)], [5.0]);
        assert!(2.0 <= path.last().unwrap().0 - path[0].0);
    }
}
