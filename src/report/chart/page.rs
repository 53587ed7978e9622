//! What every chart has around its plots: title, subtitle, keys, footer; and one plot beside its key.

use super::bands::{self, Band};
use super::canvas::{Anchor, Canvas, Font};
use super::clock::Span;
use super::frame::Frame;
use super::palette::{INK, MUTED};
use super::scale::Scale;
use super::text;
use super::timeline::{Phase, Policy};
use super::{Drawing, Scene};

/// Left end of every title.
pub const MARGIN: f64 = 24.0;
/// Room at the left for the marks of the value axis.
pub const AXIS: f64 = 72.0;
/// Fonts of the labels of bands.
pub const BAND_FONT: Font = Font::plain(11.5, INK);
/// Columns at most on a plot that fills a page.
pub const COLUMNS_MAX: usize = 600;
const HEIGHT: u32 = 560;

/// The stretch of time that charts of these policies show.
///
/// A drain may last ten times as long as the run; then only its beginning is shown, a quarter of the rest.
pub fn span(policies: &[Policy]) -> Span {
    let from_s =
        policies.iter().filter_map(|p| p.intervals.first()).map(|i| i.from_s).fold(f64::MAX, f64::min);
    let until_s = policies.iter().map(Policy::until_s).fold(0.0, f64::max);
    let drain_s = policies
        .iter()
        .filter_map(|p| p.phase(Phase::Drain))
        .map(|(drain_s, _)| drain_s)
        .filter(|drain_s| from_s < *drain_s)
        .fold(f64::MAX, f64::min);
    let shown_s = if drain_s < until_s { drain_s + 0.25 * (drain_s - from_s) } else { until_s };
    Span { from_s, until_s: until_s.min(shown_s) }
}

/// Title and subtitle.
pub fn head(canvas: &mut Canvas, title: &str, subtitle: &str) {
    let room = canvas.width() - 2.0 * MARGIN;
    let (title_font, subtitle_font) = (Font::bold(21.0), Font::plain(13.25, MUTED));
    canvas.text(&text::fit(title, 21.0 * 1.08, room), (MARGIN, 32.0), Anchor::Left, title_font);
    canvas.text(&text::fit(subtitle, 13.25, room), (MARGIN, 57.0), Anchor::Left, subtitle_font);
}

/// The last line: which run this is, and what the page leaves out.
pub fn foot(canvas: &mut Canvas, scene: &Scene, notes: &[String]) {
    let mut line = format!("run {}", scene.timeline.run_id);
    for note in notes {
        line.push_str(" · ");
        line.push_str(note);
    }
    let at = (MARGIN, canvas.height() - 16.0);
    let line = text::fit(&line, 10.5, canvas.width() - 2.0 * MARGIN);
    canvas.text(&line, at, Anchor::Left, Font::plain(10.5, MUTED));
}

/// `what`, with the scenario's name in front if it is known.
pub fn title(scene: &Scene, what: &str) -> String {
    match &scene.scenario {
        Some(scenario) => format!("{scenario}: {what}"),
        None => {
            let mut letters = what.chars();
            letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
        }
    }
}

/// What a page of these policies can't show in full.
pub fn notes(
    scene: &Scene,
    policies: &[Policy],
    span: Span,
    columns_max: usize,
    labels_left_out: usize,
) -> Vec<String> {
    let mut notes = Vec::new();
    let intervals = policies.iter().map(|p| visible(p, span)).max().unwrap_or(0);
    let each = intervals.div_ceil(columns_max);
    if 1 < each {
        notes.push(format!(
            "{each} intervals share a column: rates are means, lines the middle interval, shades the lowest to the highest"
        ));
    }
    let until_s = policies.iter().map(Policy::until_s).fold(0.0, f64::max);
    if span.until_s < until_s {
        notes.push(format!("the drain goes on until {until_s:.0}s"));
    }
    if bands::EVENTS_MAX < scene.events.len() {
        notes.push(format!("the first {} of {} events", bands::EVENTS_MAX, scene.events.len()));
    }
    if 0 < labels_left_out {
        notes.push(format!("labels of events left out: {labels_left_out}"));
    }
    notes
}

/// How many intervals of the policy begin within the span.
pub fn visible(policy: &Policy, span: Span) -> usize {
    policy.intervals.partition_point(|interval| interval.from_s < span.until_s)
}

/// What a page that one plot fills is to show.
pub struct Plot<'a> {
    /// What the chart shows, for the title.
    pub what: &'a str,
    /// More for the subtitle; may be empty.
    pub more: &'a str,
    /// The title of the value axis.
    pub axis: &'a str,
    /// The value axis.
    pub scale: Scale,
    /// How its values are written.
    pub shown: fn(f64) -> String,
    /// Room at the right for a key or labels, in pixels.
    pub key: f64,
}

/// One plot that fills a page, with room for a key or labels at its right.
pub struct Page {
    /// The page.
    pub canvas: Canvas,
    /// The plot.
    pub frame: Frame,
    title: String,
    labels: Vec<bands::Placed>,
    left_out: usize,
}

impl Page {
    /// A page with head, bands and axes, ready for the values.
    pub fn new(scene: &Scene, policy: &Policy, plot: &Plot) -> Page {
        let mut canvas = Canvas::new(scene.width, HEIGHT);
        let title = title(scene, plot.what);
        let mut subtitle = format!("policy {} · {}", policy.name, scene.timeline.seed_in_words());
        if !plot.more.is_empty() {
            subtitle = format!("{subtitle} · {}", plot.more);
        }
        head(&mut canvas, &title, &subtitle);
        let span = span(std::slice::from_ref(policy));
        let (left, right) = (AXIS, canvas.width() - plot.key);
        let bands: Vec<Band> = bands::bands(policy, &scene.events, span);
        let labels = bands::place(&bands, span, left, right, BAND_FONT);
        let strip = bands::strip_height(&labels);
        let bottom = f64::from(HEIGHT) - 76.0;
        let frame = Frame { left, right, top: 108.0, bottom, strip, span, scale: plot.scale, ticks: 6 };
        canvas.text(plot.axis, (MARGIN, 93.0), Anchor::Left, Font::bold(12.5));
        bands::draw(&mut canvas, &frame, &bands);
        frame.value_axis(&mut canvas, Some(plot.shown));
        frame.time_axis(&mut canvas, true);
        let middle = (left + right) / 2.0;
        canvas.text("simulated time", (middle, frame.bottom + 34.0), Anchor::Middle, Font::plain(12.5, INK));
        let title = format!("{title}, policy {}", policy.name);
        Page { canvas, frame, title, left_out: bands.len() - labels.len(), labels }
    }

    /// The finished page as the policy's drawing called `name`, with a description for those who can't see it.
    pub fn finish(mut self, scene: &Scene, policy: &Policy, name: &str, description: &str) -> Drawing {
        bands::write(&mut self.canvas, &self.frame, &self.labels, BAND_FONT);
        let only = std::slice::from_ref(policy);
        let notes = notes(scene, only, self.frame.span, COLUMNS_MAX, self.left_out);
        foot(&mut self.canvas, scene, &notes);
        Drawing { name: format!("{}-{name}", policy.name), svg: self.canvas.finish(&self.title, description) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::chart::sample;

    #[test]
    fn a_page_speaks_of_its_own_policies_only() {
        let mut scene = sample::run(&["short", "long"], 20);
        scene.timeline.policies[0].intervals.truncate(10);
        let short = &scene.timeline.policies[..1];
        assert_eq!(notes(&scene, short, span(short), 600, 0), Vec::<String>::new());
    }

    #[test]
    fn a_long_drain_is_cut_and_said_to_go_on() {
        let mut scene = sample::run(&["a"], 500);
        scene.timeline.policies[0].intervals[100..].iter_mut().for_each(|i| i.phase = Phase::Drain);
        let policies = &scene.timeline.policies;
        let span = span(policies);
        assert_eq!((span.from_s, span.until_s), (0.0, 125.0));
        assert_eq!(notes(&scene, policies, span, 600, 0), ["the drain goes on until 500s"]);
    }
}
