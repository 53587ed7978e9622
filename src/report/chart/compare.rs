//! All policies on one page: one column each, three rows with shared axes, so that eyes compare and not numbers.

use super::bands::{self, Band, Placed};
use super::canvas::{Anchor, Canvas, Font};
use super::clock::Span;
use super::frame::Frame;
use super::keys::{self, Swatch};
use super::latency::{self, Latencies};
use super::limits::{self, Limits};
use super::outcomes::{self, Outcomes};
use super::page;
use super::palette::{INK, MUTED};
use super::scale::{self, Scale};
use super::text;
use super::timeline::Policy;
use super::{Drawing, Scene};

/// More policies than this are illegible on one page.
const POLICIES_MAX: usize = 12;
const GAP: f64 = 22.0;
const ROW: f64 = 176.0;
const HEADING: f64 = 38.0;
const TOP: f64 = 84.0;
const AXIS: f64 = 30.0;
const BLOCK_GAP: f64 = 26.0;
const FOOT: f64 = 46.0;
/// Lines are thinner than on a page of their own.
const WEIGHT: f64 = 0.8;
const TITLE_FONT: Font = Font::bold(12.5);
const BAND_FONT: Font = Font::plain(11.0, INK);

/// What one policy shows.
struct Column<'a> {
    policy: &'a Policy,
    bands: Vec<Band>,
    labels: Vec<Placed>,
    outcomes: Outcomes,
    latencies: Latencies,
    limits: Limits,
}

/// One of the three rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    Outcomes,
    Latency,
    Limits,
}

const ROWS: [Row; 3] = [Row::Outcomes, Row::Latency, Row::Limits];

/// What all panels share.
struct Grid {
    span: Span,
    per_line: usize,
    panel: f64,
    /// Heights of the rows' titles with their keys.
    headings: [f64; 3],
    /// Height of the names above the columns.
    names: f64,
    strip: f64,
    rates: Scale,
    latencies: Scale,
    calls: Scale,
}

/// The page.
pub fn draw(scene: &Scene) -> Vec<Drawing> {
    let policies = &scene.timeline.policies[..scene.timeline.policies.len().min(POLICIES_MAX)];
    let span = page::span(policies);
    let per_line = per_line(policies.len());
    let panel =
        (f64::from(scene.width) - page::AXIS - page::MARGIN - GAP * (per_line - 1) as f64) / per_line as f64;
    let columns_max = (900 / policies.len().max(1)).clamp(120, 360);
    let columns: Vec<Column> =
        policies.iter().map(|policy| column(scene, policy, span, panel, columns_max)).collect();
    let grid = grid(&columns, span, per_line, panel, scene.width.into());
    let block = grid.names + grid.headings.iter().map(|heading| heading + ROW).sum::<f64>() + AXIS;
    let blocks = columns.len().div_ceil(per_line) as f64;
    let height = TOP + block * blocks + BLOCK_GAP * (blocks - 1.0) + FOOT;
    let mut canvas = Canvas::new(scene.width, height as u32);
    let (what, subtitle) = head(scene, policies);
    page::head(&mut canvas, &page::title(scene, &what), &subtitle);
    for (i, line) in columns.chunks(per_line).enumerate() {
        draw_block(&mut canvas, &grid, line, &columns, TOP + i as f64 * (block + BLOCK_GAP));
    }
    let left_out = columns.iter().map(|c| c.bands.len() - c.labels.len()).max().unwrap_or(0);
    let mut notes = page::notes(scene, policies, span, columns_max, left_out);
    if POLICIES_MAX < scene.timeline.policies.len() {
        notes.insert(0, format!("the first {POLICIES_MAX} of {}", scene.timeline.policies.len()));
    }
    page::foot(&mut canvas, scene, &notes);
    let names: Vec<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
    let description = format!(
        "Attempts per second by outcome, latency of answered calls, and calls in flight and queued over simulated \
         time, side by side for {}.",
        names.join(", ")
    );
    vec![Drawing {
        name: "compare".to_string(),
        svg: canvas.finish(&page::title(scene, &what), &description),
    }]
}

/// What the page shows, and more about it.
fn head(scene: &Scene, policies: &[Policy]) -> (String, String) {
    let seed = scene.timeline.seed_in_words();
    match policies {
        [only] => {
            let share = goodput(only).map_or(String::new(), |share| format!("{share} · "));
            (format!("{} at a glance", only.name), format!("{share}{seed}"))
        }
        _ => {
            let what = format!("{} policies compared", scene.timeline.policies.len());
            (what, format!("the same calls under each policy · {seed}"))
        }
    }
}

/// Policies side by side: up to four in one line, more in lines of equal length.
fn per_line(policies: usize) -> usize {
    let lines = policies.div_ceil(4).max(1);
    policies.div_ceil(lines).max(1)
}

fn column<'a>(scene: &Scene, policy: &'a Policy, span: Span, panel: f64, columns_max: usize) -> Column<'a> {
    let bands = bands::bands(policy, &scene.events, span);
    Column {
        policy,
        labels: bands::place(&bands, span, 0.0, panel, BAND_FONT),
        bands,
        outcomes: Outcomes::in_short(policy, span, columns_max),
        latencies: Latencies::of(policy, &scene.timeline.classes, span, columns_max),
        limits: Limits::of(policy, span, columns_max),
    }
}

/// The share of calls answered well, in words.
fn goodput(policy: &Policy) -> Option<String> {
    policy.goodput_ratio.map(|ratio| format!("goodput {:.1} % of calls", ratio * 100.0))
}

fn names_height(columns: &[Column]) -> f64 {
    match columns {
        [_] => 0.0,
        _ if columns.iter().any(|column| goodput(column.policy).is_some()) => 52.0,
        _ => 32.0,
    }
}

/// The axes that all columns share.
fn grid(columns: &[Column], span: Span, per_line: usize, panel: f64, width: f64) -> Grid {
    let most = |value: &dyn Fn(&Column) -> f64| columns.iter().map(value).fold(0.0, f64::max);
    let least = columns.iter().map(|c| c.latencies.range_ms().0).fold(f64::MAX, f64::min);
    let calls = Scale::bent(most(&|c| c.limits.range().0), most(&|c| c.limits.range().1));
    let heading = |row| {
        let lines = keys::lines(&key(row, columns), key_start(&title_of(calls, row)), width - page::MARGIN);
        HEADING + keys::LINE * (lines - 1) as f64
    };
    Grid {
        headings: ROWS.map(heading),
        span,
        per_line,
        panel,
        names: names_height(columns),
        strip: most(&|c| bands::strip_height(&c.labels)),
        rates: Scale::linear(most(&|c| c.outcomes.max())),
        latencies: latency::scale((least, most(&|c| c.latencies.range_ms().1))),
        calls,
    }
}

/// One line of policies with its three rows.
fn draw_block(canvas: &mut Canvas, grid: &Grid, line: &[Column], all: &[Column], top: f64) {
    let left = |i: usize| page::AXIS + i as f64 * (grid.panel + GAP);
    // A single policy stands in the title already.
    for (i, column) in line.iter().enumerate().filter(|_| 1 < all.len()) {
        let name = text::fit(&column.policy.name, 15.5 * 1.08, grid.panel);
        canvas.text(&name, (left(i), top + 12.0), Anchor::Left, Font::bold(15.5));
        if let Some(share) = goodput(column.policy) {
            canvas.text(&share, (left(i), top + 32.0), Anchor::Left, Font::plain(12.5, MUTED));
        }
    }
    let mut heading = top + grid.names;
    for (row, heading_height) in ROWS.into_iter().zip(grid.headings) {
        draw_heading(canvas, grid, row, all, heading + 16.0);
        for (i, column) in line.iter().enumerate() {
            let panel_top = heading + heading_height;
            let frame = Frame {
                left: left(i),
                right: left(i) + grid.panel,
                top: panel_top,
                bottom: panel_top + ROW - 22.0,
                strip: if row == Row::Outcomes { grid.strip } else { 6.0 },
                span: grid.span,
                scale: scale_of(grid, row),
                ticks: 4,
            };
            draw_panel(canvas, &frame, row, column, i == 0);
        }
        heading += heading_height + ROW;
    }
    let middle = page::AXIS + (grid.panel * grid.per_line as f64 + GAP * (grid.per_line - 1) as f64) / 2.0;
    canvas.text("simulated time", (middle, heading + 14.0), Anchor::Middle, Font::plain(12.5, INK));
}

fn scale_of(grid: &Grid, row: Row) -> Scale {
    match row {
        Row::Outcomes => grid.rates,
        Row::Latency => grid.latencies,
        Row::Limits => grid.calls,
    }
}

/// The row's axis title.
fn title_of(calls: Scale, row: Row) -> String {
    match row {
        Row::Outcomes => outcomes::AXIS.to_string(),
        Row::Latency => latency::AXIS.to_string(),
        Row::Limits => limits::axis_title(calls),
    }
}

/// The row's axis title with the key of all policies beside it.
fn draw_heading(canvas: &mut Canvas, grid: &Grid, row: Row, all: &[Column], y: f64) {
    let title = title_of(grid.calls, row);
    canvas.text(&title, (page::MARGIN, y), Anchor::Left, TITLE_FONT);
    let right = canvas.width() - page::MARGIN;
    keys::draw(canvas, &key(row, all), (key_start(&title), y), right);
}

/// Where the key begins beside a title.
fn key_start(title: &str) -> f64 {
    page::MARGIN + TITLE_FONT.width(title) + 22.0
}

/// The key of a row: what any of the policies shows, each once.
fn key(row: Row, all: &[Column]) -> Vec<(String, Swatch)> {
    let mut key: Vec<(String, Swatch)> = Vec::new();
    for column in all {
        let entries = match row {
            Row::Outcomes => column.outcomes.key().into_iter().map(|(n, s, _)| (n.to_string(), s)).collect(),
            Row::Latency => column.latencies.key(),
            Row::Limits => column.limits.key(),
        };
        for entry in entries {
            if !key.iter().any(|(name, _)| *name == entry.0) {
                key.push(entry);
            }
        }
    }
    if row == Row::Outcomes {
        key.sort_by_key(|(name, _)| outcomes::rank(name));
    }
    key
}

fn draw_panel(canvas: &mut Canvas, frame: &Frame, row: Row, column: &Column, first: bool) {
    bands::draw(canvas, frame, &column.bands);
    let shown: fn(f64) -> String = if row == Row::Latency { scale::milliseconds } else { scale::count };
    frame.value_axis(canvas, first.then_some(shown));
    frame.time_axis(canvas, row == Row::Limits);
    match row {
        Row::Outcomes => {
            column.outcomes.draw(canvas, frame, WEIGHT);
            let moved = column.labels.iter().map(|label| Placed { x: frame.left + label.x, ..label.clone() });
            bands::write(canvas, frame, &moved.collect::<Vec<_>>(), BAND_FONT);
        }
        Row::Latency => column.latencies.draw(canvas, frame, WEIGHT),
        Row::Limits => column.limits.draw(canvas, frame, WEIGHT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_wrap_into_lines_of_equal_length() {
        assert_eq!([1, 2, 3, 4, 5, 6, 7, 9].map(per_line), [1, 2, 3, 4, 3, 3, 4, 3]);
    }
}
