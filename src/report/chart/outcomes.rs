//! How attempts end: a stack of ends that exclude each other, under the line of what was offered.
//!
//! All are rates: attempts of an interval over its length. An attempt stands where it ended, so the stack may
//! rise above the offered line while a backlog is worked off.

use super::canvas::{Anchor, Canvas, Dash, Font};
use super::clock::Span;
use super::frame::Frame;
use super::keys::{self, Swatch};
use super::page::{self, Page, Plot};
use super::palette::{self, Colour, INK, MUTED};
use super::scale::{self, Scale};
use super::shrink;
use super::timeline::{COUNTS, Interval, Phase, Policy};
use super::{Drawing, Scene};

const WHAT: &str = "how attempts end";
/// The axis title of every chart of rates.
pub const AXIS: &str = "attempts per second";

/// An end of an attempt: its name on charts, the columns that count it, its colour.
type Outcome = (&'static str, &'static [&'static str], Colour);

/// The ends from the bottom of the stack to its top.
const BY_REASON: [Outcome; 13] = [
    ("goodput", &["goodput_count"], palette::GOODPUT),
    ("wasted", &["wasted_count"], palette::WASTED),
    ("failed", &["failed_count"], palette::FAILED),
    ("cancelled", &["cancelled_count"], palette::CANCELLED),
    ("rejected: rate limited", &["rejected_rate_limited_count"], palette::REJECTED_BY_REASON[0]),
    ("rejected: concurrency", &["rejected_concurrency_count"], palette::REJECTED_BY_REASON[1]),
    ("rejected: queue full", &["rejected_queue_full_count"], palette::REJECTED_BY_REASON[2]),
    ("rejected: queue timeout", &["rejected_queue_timeout_count"], palette::REJECTED_BY_REASON[3]),
    ("rejected: budget", &["rejected_budget_count"], palette::REJECTED_BY_REASON[4]),
    ("rejected: circuit open", &["rejected_circuit_open_count"], palette::REJECTED_BY_REASON[5]),
    ("rejected: shed", &["rejected_shed_count"], palette::REJECTED_BY_REASON[6]),
    ("rejected: other", &["rejected_other_count"], palette::REJECTED_BY_REASON[7]),
    ("timed out", &["abandoned_queued_count", "abandoned_deferred_count"], palette::TIMED_OUT),
];

/// The same with one end for all reasons of a rejection.
const IN_SHORT: [Outcome; 6] = [
    BY_REASON[0],
    BY_REASON[1],
    BY_REASON[2],
    BY_REASON[3],
    (
        "rejected",
        &[
            "rejected_rate_limited_count",
            "rejected_concurrency_count",
            "rejected_queue_full_count",
            "rejected_queue_timeout_count",
            "rejected_budget_count",
            "rejected_circuit_open_count",
            "rejected_shed_count",
            "rejected_other_count",
        ],
        palette::REJECTED,
    ),
    BY_REASON[12],
];

/// Something counted, as rates over columns.
#[derive(Clone, Debug)]
struct Series {
    name: &'static str,
    colour: Colour,
    per_second: Vec<f64>,
    /// How many after the warmup.
    total: f64,
}

impl Series {
    fn occurs(&self) -> bool {
        self.per_second.iter().any(|rate| 0.0 < *rate)
    }
}

/// What a plot of outcomes shows of one policy.
#[derive(Clone, Debug)]
pub struct Outcomes {
    columns: Vec<(f64, f64)>,
    /// Ends that occur, from the bottom.
    stack: Vec<Series>,
    offered: Series,
    /// What was offered for the first time, if there were retries.
    first: Option<Series>,
    /// What was answered otherwise than asked, if anything was.
    degraded: Option<Series>,
}

impl Outcomes {
    /// Every reason of a rejection for itself.
    pub fn by_reason(policy: &Policy, span: Span, columns_max: usize) -> Outcomes {
        Outcomes::of(policy, span, columns_max, &BY_REASON)
    }

    /// All rejections as one.
    pub fn in_short(policy: &Policy, span: Span, columns_max: usize) -> Outcomes {
        Outcomes::of(policy, span, columns_max, &IN_SHORT)
    }

    fn of(policy: &Policy, span: Span, columns_max: usize, outcomes: &[Outcome]) -> Outcomes {
        let intervals = &policy.intervals[..page::visible(policy, span)];
        let ranges = shrink::columns(intervals.len(), columns_max);
        let columns: Vec<&[Interval]> = ranges.into_iter().map(|range| &intervals[range]).collect();
        let series = |&(name, counts, colour): &Outcome| {
            let indexes: Vec<usize> =
                counts.iter().filter_map(|c| COUNTS.iter().position(|n| n == c)).collect();
            let count = |i: &Interval| indexes.iter().map(|at| i.counts[*at]).sum::<f64>();
            let sum = |column: &[Interval]| column.iter().map(count).sum::<f64>();
            let length_s = |column: &[Interval]| column.iter().map(|i| i.until_s - i.from_s).sum::<f64>();
            let per_second = columns.iter().map(|column| sum(column) / length_s(column)).collect();
            let total = policy.intervals.iter().filter(|i| i.phase != Phase::Warmup).map(count).sum();
            Series { name, colour, per_second, total }
        };
        let offered = series(&("offered", &["offered_count"], INK));
        let first = series(&("first attempts", &["offered_first_count"], INK));
        let degraded = series(&("degraded", &["degraded_count"], palette::DEGRADED));
        Outcomes {
            columns: columns.iter().map(|c| (c[0].from_s, c[c.len() - 1].until_s)).collect(),
            stack: outcomes.iter().map(series).filter(Series::occurs).collect(),
            first: (first.per_second != offered.per_second).then_some(first),
            degraded: degraded.occurs().then_some(degraded),
            offered,
        }
    }

    /// The highest rate.
    pub fn max(&self) -> f64 {
        let stacked = self.cumulated().last().cloned().unwrap_or_default();
        stacked.into_iter().chain(self.offered.per_second.iter().copied()).fold(0.0, f64::max)
    }

    /// The upper edge of each end, the ends below it included.
    fn cumulated(&self) -> Vec<Vec<f64>> {
        let mut edge = vec![0.0; self.columns.len()];
        let mut edges = Vec::with_capacity(self.stack.len());
        for series in &self.stack {
            edge.iter_mut().zip(&series.per_second).for_each(|(edge, rate)| *edge += rate);
            edges.push(edge.clone());
        }
        edges
    }

    /// Draws the stack and the lines, `weight` times as thick as usual, into the frame.
    pub fn draw(&self, canvas: &mut Canvas, frame: &Frame, weight: f64) {
        // From the top down, each to the axis: half the points, and no seams.
        for (series, edge) in self.stack.iter().zip(self.cumulated()).rev() {
            let path = frame.path(&self.columns, edge);
            canvas.named(series.name, |canvas| canvas.area(&frame.filled(&path), series.colour, 1.0));
        }
        self.draw_lines(canvas, frame, weight);
        if !self.offered.occurs() {
            frame.note(canvas, "no attempts");
        }
    }

    fn draw_lines(&self, canvas: &mut Canvas, frame: &Frame, weight: f64) {
        let lines = [
            (self.degraded.as_ref(), Dash::Solid),
            (self.first.as_ref(), Dash::Dotted),
            (Some(&self.offered), Dash::Solid),
        ];
        for (series, dash) in lines.into_iter().filter_map(|(series, dash)| Some((series?, dash))) {
            let rates = from_first_to_last(&series.per_second);
            for stretch in shrink::unbroken(&rates) {
                let path =
                    frame.path(&self.columns[stretch.clone()], rates[stretch].iter().flatten().copied());
                // A light line below keeps what is drawn over dark areas visible.
                if series.name != self.offered.name {
                    let wide = if dash == Dash::Dotted { 2.0 } else { 3.4 };
                    canvas.line(&path, palette::HALO, wide * weight, Dash::Solid);
                }
                canvas.named(series.name, |canvas| canvas.line(&path, series.colour, 1.6 * weight, dash));
            }
        }
    }

    /// Names, swatches and totals from the top of the plot down.
    pub fn key(&self) -> Vec<(&'static str, Swatch, f64)> {
        let line = |series: &Series, dash| (series.name, Swatch::Line(series.colour, dash), series.total);
        let mut key = vec![line(&self.offered, Dash::Solid)];
        key.extend(self.first.as_ref().map(|series| line(series, Dash::Dotted)));
        key.extend(self.degraded.as_ref().map(|series| line(series, Dash::Solid)));
        key.extend(self.stack.iter().rev().map(|s| (s.name, Swatch::Area(s.colour), s.total)));
        key
    }
}

/// The rates from the last 0 before anything to the first 0 after everything: a line along the axis outside of that
/// would say no more.
fn from_first_to_last(rates: &[f64]) -> Vec<Option<f64>> {
    let something = |rate: &f64| 0.0 < *rate;
    let first = rates.iter().position(something).unwrap_or(rates.len());
    let last = rates.iter().rposition(something).unwrap_or(0);
    let within = |(i, rate): (usize, &f64)| (first <= i + 1 && i <= last + 1).then_some(*rate);
    rates.iter().enumerate().map(within).collect()
}

/// Where an end stands in the stack, from the top; lines come first.
pub fn rank(name: &str) -> usize {
    IN_SHORT.iter().position(|(known, ..)| *known == name).map_or(0, |at| IN_SHORT.len() - at)
}

/// One chart per policy.
pub fn draw(scene: &Scene) -> Vec<Drawing> {
    scene.timeline.policies.iter().map(|policy| chart(scene, policy)).collect()
}

fn chart(scene: &Scene, policy: &Policy) -> Drawing {
    let span = page::span(std::slice::from_ref(policy));
    let outcomes = Outcomes::by_reason(policy, span, page::COLUMNS_MAX);
    let scale = Scale::linear(outcomes.max());
    let plot = Plot { what: WHAT, more: "", axis: AXIS, scale, shown: scale::count, key: 268.0 };
    let mut page = Page::new(scene, policy, &plot);
    outcomes.draw(&mut page.canvas, &page.frame, 1.0);
    let heading =
        if policy.phase(Phase::Warmup).is_some() { "share after warmup" } else { "share of attempts" };
    let shares = write_key(&mut page.canvas, &page.frame, &outcomes, heading);
    page.finish(scene, policy, "outcomes", &format!("Attempts per second over simulated time. {shares}"))
}

/// The key in the order of the stack, with each end's share of all attempts; returned in words too.
fn write_key(canvas: &mut Canvas, frame: &Frame, outcomes: &Outcomes, heading: &str) -> String {
    let (left, right) = (frame.right + 18.0, canvas.width() - page::MARGIN);
    let mut y = frame.top + 8.0;
    let mut words = Vec::new();
    canvas.text(heading, (right, y), Anchor::Right, Font::plain(11.5, MUTED));
    for (name, swatch, total) in outcomes.key() {
        y += 22.0;
        let share = share(total, outcomes.offered.total);
        keys::draw_swatch(canvas, swatch, left, y);
        canvas.text(name, (left + 24.0, y), Anchor::Left, Font::plain(12.5, INK));
        canvas.text(&share, (right, y), Anchor::Right, Font::plain(12.5, INK));
        words.push(format!("{name} {share}"));
    }
    format!("Shares: {}.", words.join(", "))
}

/// A share in percent; `–` of nothing.
fn share(part: f64, whole: f64) -> String {
    if whole <= 0.0 {
        return "–".to_string();
    }
    let percent = part / whole * 100.0;
    if 0.0 < percent && percent < 0.05 { "<0.1 %".to_string() } else { format!("{percent:.1} %") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::chart::sample;

    #[test]
    fn every_column_of_an_end_is_a_column_of_the_timeline() {
        for (name, counts, _) in BY_REASON.iter().chain(&IN_SHORT) {
            assert!(counts.iter().all(|count| COUNTS.contains(count)), "{name}");
        }
    }

    #[test]
    fn rates_over_columns_add_up_to_the_counts() {
        let run = sample::run(&["a"], 1000);
        let policy = &run.timeline.policies[0];
        let outcomes = Outcomes::by_reason(policy, page::span(&run.timeline.policies), 60);
        assert!(outcomes.columns.len() <= 60);
        for series in &outcomes.stack {
            let lengths = outcomes.columns.iter().map(|(from_s, until_s)| until_s - from_s);
            let sum: f64 =
                series.per_second.iter().zip(lengths).map(|(rate, length_s)| rate * length_s).sum();
            assert!((sum - series.total).abs() < 1e-6 * series.total, "{}", series.name);
        }
    }

    #[test]
    fn shares_are_readable_at_the_edges() {
        assert_eq!(share(0.0, 0.0), "–");
        assert_eq!(share(1.0, 10_000.0), "<0.1 %");
        assert_eq!(share(1.0, 4.0), "25.0 %");
    }
}
