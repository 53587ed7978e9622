//! Bands behind a chart: scheduled events, warmup and drain, with labels that never overlap.
//!
//! Labels stand in a strip above the values, so that they meet no line. Each takes the first place that is free:
//! inside its band in one line, inside it in several, beside it, cut. One that finds none is left out and counted.

use super::canvas::{Anchor, Canvas, Font};
use super::clock::Span;
use super::events::Event;
use super::frame::Frame;
use super::palette;
use super::text;
use super::timeline::{Phase, Policy};

/// Height of a line of the strip.
pub const LINE: f64 = 15.0;
const LINES_MAX: usize = 4;
const PADDING: f64 = 5.0;
/// The most events that are drawn; the footer tells when there are more.
pub const EVENTS_MAX: usize = 32;
/// The longest label in characters.
const LABEL_MAX: usize = 64;

/// One band.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// Its start in seconds.
    pub from_s: f64,
    /// Its end; the same as the start for what lasts no time.
    pub until_s: f64,
    /// Its label.
    pub label: String,
    /// Whether it is a phase of the run and not an event.
    pub is_phase: bool,
}

/// The bands of a policy's chart within a span, in the order of their starts.
pub fn bands(policy: &Policy, events: &[Event], span: Span) -> Vec<Band> {
    let mut bands = Vec::new();
    for (phase, label) in [(Phase::Warmup, "warmup"), (Phase::Drain, "drain")] {
        if let Some((from_s, until_s)) = policy.phase(phase) {
            bands.push(Band { from_s, until_s, label: label.to_string(), is_phase: true });
        }
    }
    bands.extend(events.iter().take(EVENTS_MAX).map(|event| Band {
        from_s: event.at_s,
        until_s: event.until_s.unwrap_or(span.until_s),
        label: text::tame(&event.label, LABEL_MAX),
        is_phase: false,
    }));
    bands.retain(|band| band.from_s <= span.until_s && span.from_s <= band.until_s);
    for band in &mut bands {
        band.from_s = band.from_s.max(span.from_s);
        band.until_s = band.until_s.min(span.until_s);
    }
    bands
}

/// A label in its place: lines of the strip from `line` on.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// What it says, line by line.
    pub lines: Vec<String>,
    /// Its left or right end.
    pub x: f64,
    /// Which of both.
    pub anchor: Anchor,
    /// Its first line in the strip.
    pub line: usize,
    /// Whether it belongs to a phase.
    pub is_phase: bool,
}

impl Placed {
    fn overlaps(&self, other: &Placed, font: Font) -> bool {
        let (left, right) = self.sides(font);
        let (other_left, other_right) = other.sides(font);
        left < other_right + PADDING
            && other_left < right + PADDING
            && self.line < other.line + other.lines.len()
            && other.line < self.line + self.lines.len()
    }

    /// Left and right end on the page.
    pub fn sides(&self, font: Font) -> (f64, f64) {
        let width = self.lines.iter().map(|line| font.width(line)).fold(0.0, f64::max);
        match self.anchor {
            Anchor::Right => (self.x - width, self.x),
            _ => (self.x, self.x + width),
        }
    }
}

/// Places the labels of bands on a page whose plot reaches from `left` to `right`.
pub fn place(bands: &[Band], span: Span, left: f64, right: f64, font: Font) -> Vec<Placed> {
    let mut placed: Vec<Placed> = Vec::new();
    for band in bands {
        let x = |at_s: f64| left + span.share(at_s) * (right - left);
        let free = candidates(band, x(band.from_s), x(band.until_s), (left, right), font)
            .into_iter()
            .flat_map(|label| (0..LINES_MAX).map(move |line| Placed { line, ..label.clone() }))
            .find(|label| {
                label.line + label.lines.len() <= LINES_MAX
                    && !placed.iter().any(|other| other.overlaps(label, font))
            });
        placed.extend(free);
    }
    placed
}

/// The ways to write a band's label, the best first.
fn candidates(band: &Band, from: f64, until: f64, (left, right): (f64, f64), font: Font) -> Vec<Placed> {
    let inside = until - from - 2.0 * PADDING;
    let beside = right - from - 2.0 * PADDING;
    let before = from - left - 2.0 * PADDING;
    let put =
        |lines: Vec<String>, x: f64, anchor| Placed { lines, x, anchor, line: 0, is_phase: band.is_phase };
    let mut found = Vec::new();
    for lines_max in [1, LINES_MAX - 1] {
        if let Some(lines) = text::wrap(&band.label, font.size, inside, lines_max) {
            found.push(put(lines, from + PADDING, Anchor::Left));
        }
    }
    if font.width(&band.label) <= beside {
        found.push(put(vec![band.label.clone()], from + PADDING, Anchor::Left));
    }
    if font.width(&band.label) <= before {
        found.push(put(vec![band.label.clone()], from - PADDING, Anchor::Right));
    }
    for (room, x, anchor) in [
        (inside, from + PADDING, Anchor::Left),
        (beside, from + PADDING, Anchor::Left),
        (before, from - PADDING, Anchor::Right),
    ] {
        let cut = text::fit(&band.label, font.size, room);
        if 8 <= cut.chars().count() {
            found.push(put(vec![cut], x, anchor));
        }
    }
    found.retain(|label| !label.lines.is_empty());
    found
}

/// The height that labels need above the values.
pub fn strip_height(labels: &[Placed]) -> f64 {
    let lines = labels.iter().map(|label| label.line + label.lines.len()).max().unwrap_or(0);
    if lines == 0 { 6.0 } else { lines as f64 * LINE + 8.0 }
}

/// Draws the bands over the whole height of the frame.
pub fn draw(canvas: &mut Canvas, frame: &Frame, bands: &[Band]) {
    for is_phase in [true, false] {
        let (fill, edge) = if is_phase {
            (palette::PHASE, palette::PHASE_EDGE)
        } else {
            (palette::EVENT, palette::EVENT_EDGE)
        };
        for band in bands.iter().filter(|band| band.is_phase == is_phase) {
            let (from, until) = (frame.x(band.from_s), frame.x(band.until_s));
            canvas.named(&band.label, |canvas| {
                canvas.rectangle((from, frame.top), (until, frame.bottom), fill, 0.5);
                canvas.rectangle((from, frame.top), (from + 1.0, frame.bottom), edge, 1.0);
            });
        }
    }
}

/// Writes the labels into the strip of the frame.
pub fn write(canvas: &mut Canvas, frame: &Frame, labels: &[Placed], font: Font) {
    for label in labels {
        let colour = if label.is_phase { palette::MUTED } else { palette::EVENT_TEXT };
        for (i, text) in label.lines.iter().enumerate() {
            let y = frame.top + 4.0 + ((label.line + i) as f64 + 0.5) * LINE;
            canvas.text(text, (label.x, y), label.anchor, Font { colour, ..font });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FONT: Font = Font::plain(11.0, palette::INK);
    const SPAN: Span = Span { from_s: 0.0, until_s: 100.0 };

    fn band(from_s: f64, until_s: f64, label: &str) -> Band {
        Band { from_s, until_s, label: label.to_string(), is_phase: false }
    }

    #[test]
    fn labels_never_overlap_and_never_leave_the_plot() {
        for bands_count in 1..30 {
            let bands: Vec<Band> = (0..bands_count)
                .map(|i| {
                    let from_s = f64::from(i * 37 % 100);
                    band(
                        from_s,
                        (from_s + f64::from(i * 13 % 40)).min(100.0),
                        &"a slowdown of some kind "[..5 + i as usize % 18],
                    )
                })
                .collect();
            let labels = place(&bands, SPAN, 60.0, 500.0, FONT);
            assert!(!labels.is_empty());
            for (i, label) in labels.iter().enumerate() {
                let (left, right) = label.sides(FONT);
                assert!(60.0 <= left && right <= 500.0, "{label:?}");
                assert!(labels[..i].iter().all(|other| !other.overlaps(label, FONT)), "{label:?}");
            }
        }
    }

    #[test]
    fn a_label_too_wide_for_its_band_is_wrapped_inside_it() {
        let labels = place(&[band(20.0, 45.0, "downstream 500 ms → 8 s")], SPAN, 0.0, 400.0, FONT);
        assert_eq!(labels.len(), 1);
        let (left, right) = labels[0].sides(FONT);
        assert!(1 < labels[0].lines.len() && 80.0 <= left && right <= 180.0, "{labels:?}");
    }

    #[test]
    fn a_label_at_the_end_grows_to_the_left() {
        let labels = place(&[band(99.0, 100.0, "power is gone")], SPAN, 0.0, 400.0, FONT);
        assert_eq!((labels[0].anchor, labels[0].lines.len()), (Anchor::Right, 1));
    }
}
