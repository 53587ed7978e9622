//! How long answered calls took: the median as a line, up to the 99th percentile as a band, per class.
//!
//! Percentiles of classes don't add up, so each class has its own line. Intervals without an answer are gaps.
//! The axis is logarithmic when the values span a decade or more.

use super::canvas::{Canvas, Dash, Font};
use super::clock::Span;
use super::frame::Frame;
use super::keys::Swatch;
use super::labels::{self, Label};
use super::page::{self, Page, Plot};
use super::palette::{self, Colour};
use super::scale::{self, Scale};
use super::shrink::{self, Extent};
use super::text;
use super::timeline::{Latency, Phase, Policy};
use super::{Drawing, Scene};

const WHAT: &str = "how long answers take";
/// The axis title of every chart of latencies.
pub const AXIS: &str = "latency of answered calls";
/// What an empty stretch says.
const NOBODY: &str = "no call answered";
/// The longest name of a class in characters.
const NAME_MAX: usize = 24;
/// The font size of labels.
const LABEL: f64 = 12.5;
/// Line styles of the classes, those with most attempts first.
const STYLES: [(Colour, Dash); 4] = [
    (palette::CLASSES[0], Dash::Solid),
    (palette::CLASSES[1], Dash::Dashed),
    (palette::CLASSES[2], Dash::Solid),
    (palette::CLASSES[3], Dash::Mixed),
];

/// One class's latencies over columns.
#[derive(Clone, Debug)]
struct Class {
    name: String,
    colour: Colour,
    dash: Dash,
    /// Median and 99th percentile, where anything was answered.
    columns: Vec<Option<(Extent, Extent)>>,
}

/// What a plot of latencies shows of one policy.
#[derive(Clone, Debug)]
pub struct Latencies {
    columns: Vec<(f64, f64)>,
    /// The first column of the drain, in which answers may end.
    drain: usize,
    classes: Vec<Class>,
}

impl Latencies {
    /// The latencies of those classes with most attempts, as many as there are styles.
    pub fn of(policy: &Policy, classes: &[String], span: Span, columns_max: usize) -> Latencies {
        let intervals = &policy.intervals[..page::visible(policy, span)];
        let ranges = shrink::columns(intervals.len(), columns_max);
        let each = ranges.first().map_or(1, |range| range.len());
        let class = |(name, (colour, dash)): (&String, (Colour, Dash))| {
            let mut columns = vec![None; ranges.len()];
            let latencies = policy.latencies.get(name).map_or(&[][..], Vec::as_slice);
            for column in latencies.chunk_by(|a, b| a.interval / each == b.interval / each) {
                if let Some(place) = columns.get_mut(column[0].interval / each) {
                    *place = extents(column);
                }
            }
            Class { name: text::tame(name, NAME_MAX), colour, dash, columns }
        };
        let drain = intervals.partition_point(|interval| interval.phase != Phase::Drain);
        Latencies {
            drain: drain / each,
            columns: ranges
                .iter()
                .map(|r| (intervals[r.start].from_s, intervals[r.end - 1].until_s))
                .collect(),
            classes: classes.iter().zip(STYLES).map(class).collect(),
        }
    }

    /// The lowest value above 0 and the highest, in milliseconds.
    pub fn range_ms(&self) -> (f64, f64) {
        let defined = || self.classes.iter().flat_map(|class| class.columns.iter().flatten());
        let low = defined().map(|(p50, _)| p50.low).filter(|v| 0.0 < *v).fold(f64::MAX, f64::min);
        (low, defined().map(|(_, p99)| p99.high).fold(0.0, f64::max))
    }

    /// Draws bands, then lines, `weight` times as thick as usual, into the frame.
    pub fn draw(&self, canvas: &mut Canvas, frame: &Frame, weight: f64) {
        for class in &self.classes {
            for stretch in shrink::unbroken(&class.columns) {
                let (p50, p99): (Vec<Extent>, Vec<Extent>) =
                    class.columns[stretch.clone()].iter().flatten().copied().unzip();
                let (low, high) = (p50.iter().map(|p| p.low).collect(), p99.iter().map(|p| p.high).collect());
                let outline = frame.between(&self.columns[stretch], low, high);
                canvas.named(&format!("{} p50–p99", class.name), |c| c.area(&outline, class.colour, 0.22));
            }
        }
        for class in &self.classes {
            for stretch in shrink::unbroken(&class.columns) {
                let p50 = class.columns[stretch.clone()].iter().flatten().map(|(p50, _)| p50.middle);
                let path = frame.path(&self.columns[stretch], p50);
                canvas.named(&format!("{} p50", class.name), |c| {
                    c.line(&path, class.colour, 1.8 * weight, class.dash)
                });
            }
        }
        self.note_gap(canvas, frame);
    }

    /// Says so where nobody was answered for long, since an empty plot reads like a fault of the chart.
    fn note_gap(&self, canvas: &mut Canvas, frame: &Frame) {
        let is_silent =
            |i: usize| i < self.drain && self.classes.iter().all(|class| class.columns[i].is_none());
        let silent: Vec<Option<()>> = (0..self.columns.len()).map(|i| is_silent(i).then_some(())).collect();
        let longest = shrink::unbroken(&silent).into_iter().max_by_key(|stretch| stretch.len());
        let Some(stretch) = longest else { return };
        let (left, right) =
            (frame.x(self.columns[stretch.start].0), frame.x(self.columns[stretch.end - 1].1));
        if text::width(NOBODY, 13.25) + 12.0 < right - left {
            Frame { left, right, ..*frame }.note(canvas, NOBODY);
        }
    }

    /// Names and swatches of the classes.
    pub fn key(&self) -> Vec<(String, Swatch)> {
        let line = |class: &Class| (self.named(class, "p50"), Swatch::Line(class.colour, class.dash));
        let mut key: Vec<(String, Swatch)> = self.classes.iter().map(line).collect();
        if let Some(class) = self.classes.first() {
            key.push(("p50–p99".to_string(), Swatch::Area(pale(class.colour))));
        }
        key
    }

    /// A percentile's name, with its class if there are several.
    fn named(&self, class: &Class, percentile: &str) -> String {
        if self.classes.len() == 1 { percentile.to_string() } else { format!("{} {percentile}", class.name) }
    }

    /// The room that labels need beside the plot.
    fn room(&self) -> f64 {
        let font = Font::bold(LABEL);
        let widest = self.key().iter().map(|(name, _)| font.width(name)).fold(0.0, f64::max);
        (widest + 32.0).clamp(80.0, 240.0)
    }

    /// Labels beside the last values, and where those end.
    fn labels(&self, frame: &Frame) -> (Vec<Label>, f64) {
        let mut labels = Vec::new();
        let mut end = frame.left;
        for class in &self.classes {
            let Some((at, (p50, p99))) =
                class.columns.iter().enumerate().rev().find_map(|(i, c)| c.map(|c| (i, c)))
            else {
                continue;
            };
            end = end.max(frame.x(self.columns[at].1));
            for (percentile, value) in [("p99", p99.high), ("p50", p50.middle)] {
                labels.push(Label {
                    text: self.named(class, percentile),
                    y: frame.y(value),
                    colour: class.colour,
                });
            }
        }
        (labels, end)
    }
}

/// Lowest and highest median and 99th percentile of adjacent intervals.
fn extents(column: &[Latency]) -> Option<(Extent, Extent)> {
    let p50 = Extent::of(column.iter().map(|latency| Some(latency.p50_ms)))?;
    let p99 = Extent::of(column.iter().map(|latency| Some(latency.p99_ms)))?;
    Some((p50, p99))
}

/// The colour as a band of it looks on paper.
fn pale(Colour { 0: red, 1: green, 2: blue }: Colour) -> Colour {
    let mix = |part: u8| (255 - (255 - u16::from(part)) * 22 / 100) as u8;
    plotters::style::RGBColor(mix(red), mix(green), mix(blue))
}

/// An axis for values between these two; of a second when there are none.
pub fn scale((low_ms, high_ms): (f64, f64)) -> Scale {
    if high_ms <= 0.0 {
        return Scale::Linear { max: 1000.0 };
    }
    Scale::spanning(low_ms.min(high_ms), high_ms)
}

/// One chart per policy.
pub fn draw(scene: &Scene) -> Vec<Drawing> {
    scene.timeline.policies.iter().map(|policy| chart(scene, policy)).collect()
}

fn chart(scene: &Scene, policy: &Policy) -> Drawing {
    let span = page::span(std::slice::from_ref(policy));
    let latencies = Latencies::of(policy, &scene.timeline.classes, span, page::COLUMNS_MAX);
    let classes = scene.timeline.classes.len();
    let more = if STYLES.len() < classes {
        format!("the {} of {classes} classes with most attempts", STYLES.len())
    } else {
        String::new()
    };
    let scale = scale(latencies.range_ms());
    let plot = Plot {
        what: WHAT,
        more: &more,
        axis: AXIS,
        scale,
        shown: scale::milliseconds,
        key: latencies.room(),
    };
    let mut page = Page::new(scene, policy, &plot);
    latencies.draw(&mut page.canvas, &page.frame, 1.0);
    let (labels, end) = latencies.labels(&page.frame);
    // Beside the last value if there is room for it within the plot, beside the plot otherwise.
    let x = if end + latencies.room() < page.frame.right { end } else { page.frame.right };
    let (top, bottom) = (page.frame.top + page.frame.strip, page.frame.bottom - 8.0);
    labels::write(&mut page.canvas, &labels, x + 8.0, top, bottom, LABEL);
    let description = "Median and 99th percentile of the latency of answered calls over simulated time.";
    page.finish(scene, policy, "latency", description)
}
