//! How full it was: calls in flight against their limit, and the queue behind it.
//!
//! In flight and queued are averages of an interval. A queue far longer than the limit bends the axis:
//! linear up to a knee above the limit, logarithmic beyond.

use super::canvas::{Canvas, Dash, Font};
use super::clock::Span;
use super::frame::Frame;
use super::keys::Swatch;
use super::labels::{self, Label};
use super::page::{self, Page, Plot};
use super::palette::{self, Colour};
use super::scale::{self, Scale};
use super::shrink::{self, Extent};
use super::timeline::{Interval, Policy};
use super::{Drawing, Scene};

const WHAT: &str = "calls in flight and queued";
/// The axis title of every chart of calls in flight.
pub const AXIS: &str = "calls";

/// A gauge over columns.
#[derive(Clone, Debug)]
struct Gauge {
    name: &'static str,
    colour: Colour,
    dash: Dash,
    columns: Vec<Option<Extent>>,
}

impl Gauge {
    fn max(&self) -> f64 {
        self.columns.iter().flatten().map(|extent| extent.high).fold(0.0, f64::max)
    }

    fn min(&self) -> f64 {
        self.columns.iter().flatten().map(|extent| extent.low).fold(f64::MAX, f64::min)
    }

    fn last(&self) -> Option<f64> {
        self.columns.iter().rev().flatten().next().map(|extent| extent.middle)
    }

    /// The name, and what of the values is worth a number.
    fn label(&self) -> String {
        match self.name {
            "limit" if self.min() < self.max() => "limit".to_string(),
            "limit" => format!("limit {}", scale::count(self.max())),
            "queued" => format!("queued, up to {}", scale::count(libm::ceil(self.max()))),
            name => name.to_string(),
        }
    }
}

/// What a plot of limits shows of one policy.
#[derive(Clone, Debug)]
pub struct Limits {
    columns: Vec<(f64, f64)>,
    queued: Gauge,
    inflight: Gauge,
    limit: Gauge,
}

impl Limits {
    /// The gauges of a policy within a span.
    pub fn of(policy: &Policy, span: Span, columns_max: usize) -> Limits {
        let intervals = &policy.intervals[..page::visible(policy, span)];
        let ranges = shrink::columns(intervals.len(), columns_max);
        let gauge = |name, colour, dash, value: fn(&Interval) -> Option<f64>| {
            let extent =
                |range: &std::ops::Range<usize>| Extent::of(intervals[range.clone()].iter().map(value));
            Gauge { name, colour, dash, columns: ranges.iter().map(extent).collect() }
        };
        Limits {
            queued: gauge("queued", palette::QUEUED, Dash::Solid, |i| Some(i.queued)),
            inflight: gauge("in flight", palette::GOODPUT, Dash::Solid, |i| Some(i.inflight)),
            limit: gauge("limit", palette::INK, Dash::Dashed, |i| i.limit),
            columns: ranges
                .iter()
                .map(|r| (intervals[r.start].from_s, intervals[r.end - 1].until_s))
                .collect(),
        }
    }

    /// The highest of limit and in flight, and the highest of all.
    pub fn range(&self) -> (f64, f64) {
        let usual = self.inflight.max().max(self.limit.max());
        (usual, usual.max(self.queued.max()))
    }

    /// Draws the queue as an area, then the lines, `weight` times as thick as usual, into the frame.
    pub fn draw(&self, canvas: &mut Canvas, frame: &Frame, weight: f64) {
        for gauge in [&self.queued, &self.inflight, &self.limit] {
            for stretch in shrink::unbroken(&gauge.columns) {
                let values: Vec<Extent> = gauge.columns[stretch.clone()].iter().flatten().copied().collect();
                let columns = &self.columns[stretch];
                let middles = values.iter().map(|v| v.middle);
                // A limit changes at once, what it holds back does not.
                let path = match gauge.dash {
                    Dash::Dashed => frame.steps(columns, middles),
                    _ => frame.path(columns, middles),
                };
                canvas.named(gauge.name, |canvas| {
                    if values.iter().any(|v| v.low < v.high) {
                        let (low, high) = (values.iter().map(|v| v.low), values.iter().map(|v| v.high));
                        canvas.area(
                            &frame.between(columns, low.collect(), high.collect()),
                            gauge.colour,
                            0.5,
                        );
                    }
                    if gauge.name == "queued" {
                        canvas.area(&frame.filled(&path), gauge.colour, 0.16);
                    }
                    canvas.line(&path, gauge.colour, 1.8 * weight, gauge.dash);
                });
            }
        }
    }

    /// Names and swatches.
    pub fn key(&self) -> Vec<(String, Swatch)> {
        let mut key = vec![
            ("in flight".to_string(), Swatch::Line(self.inflight.colour, Dash::Solid)),
            ("queued".to_string(), Swatch::Line(self.queued.colour, Dash::Solid)),
        ];
        if self.limit.last().is_some() {
            key.insert(0, ("limit".to_string(), Swatch::Line(self.limit.colour, Dash::Dashed)));
        }
        key
    }

    fn labels(&self, frame: &Frame) -> Vec<Label> {
        let label = |gauge: &Gauge| {
            gauge.last().map(|last| Label { text: gauge.label(), y: frame.y(last), colour: gauge.colour })
        };
        [&self.limit, &self.inflight, &self.queued].into_iter().filter_map(label).collect()
    }
}

/// One chart per policy.
pub fn draw(scene: &Scene) -> Vec<Drawing> {
    scene.timeline.policies.iter().map(|policy| chart(scene, policy)).collect()
}

fn chart(scene: &Scene, policy: &Policy) -> Drawing {
    let span = page::span(std::slice::from_ref(policy));
    let limits = Limits::of(policy, span, page::COLUMNS_MAX);
    let (usual, max) = limits.range();
    let scale = Scale::bent(usual, max);
    let room = Font::bold(12.5).width(&limits.queued.label()) + 32.0;
    let axis = axis_title(scale);
    let plot = Plot { what: WHAT, more: "", axis: &axis, scale, shown: scale::count, key: room };
    let mut page = Page::new(scene, policy, &plot);
    limits.draw(&mut page.canvas, &page.frame, 1.0);
    let labels = limits.labels(&page.frame);
    let (x, top) = (page.frame.right + 10.0, page.frame.top + page.frame.strip);
    labels::write(&mut page.canvas, &labels, x, top, page.frame.bottom - 8.0, 12.5);
    let description = "Calls in flight against their limit, and calls queued, over simulated time.";
    page.finish(scene, policy, "limits", description)
}

/// The axis title, with a warning where the axis bends.
pub fn axis_title(scale: Scale) -> String {
    match scale {
        Scale::Bent { knee, .. } => format!("{AXIS} (logarithmic above {})", scale::count(knee)),
        _ => AXIS.to_string(),
    }
}
