//! The page: plotters draws every shape, this file says where, and frames the result as one SVG document.
//!
//! Plotters counts whole pixels. The page is therefore eight times as fine as it is shown, and lines are smooth.
//! What plotters can't say (dashes, clipping, a spoken title) is said by groups around its shapes.

use super::palette::{Colour, INK, PAPER};
use super::text;
use plotters::backend::SVGBackend;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::fmt::Write;

/// Steps per pixel.
const FINE: f64 = 8.0;
/// What plotters divides a font size by when it writes it.
const PLOTTERS_FONT_RATIO: f64 = 1.24;
/// Fonts by preference; the PNG maps them to the one it has.
const FONTS: &str = "Helvetica Neue, Arial, Liberation Sans, sans-serif";

/// A point on the page in pixels, from the top left.
pub type Point = (f64, f64);

/// How a line is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dash {
    /// Not at all.
    Solid,
    /// Long strokes.
    Dashed,
    /// Dots.
    Dotted,
    /// Strokes and dots.
    Mixed,
}

impl Dash {
    fn attributes(self) -> &'static str {
        match self {
            Dash::Solid => "stroke-linejoin=\"round\"",
            Dash::Dashed => "stroke-linejoin=\"round\" stroke-dasharray=\"48 28\"",
            Dash::Dotted => "stroke-linejoin=\"round\" stroke-linecap=\"round\" stroke-dasharray=\"1 26\"",
            Dash::Mixed => "stroke-linejoin=\"round\" stroke-dasharray=\"72 24 16 24\"",
        }
    }
}

/// Where a text's position lies in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// At its left end.
    Left,
    /// At its middle.
    Middle,
    /// At its right end.
    Right,
}

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub struct Font {
    /// Height of the font in pixels.
    pub size: f64,
    /// Colour.
    pub colour: Colour,
    /// Whether it is bold.
    pub bold: bool,
}

impl Font {
    /// A plain font.
    pub const fn plain(size: f64, colour: Colour) -> Font {
        Font { size, colour, bold: false }
    }

    /// A bold font in ink.
    pub const fn bold(size: f64) -> Font {
        Font { size, colour: INK, bold: true }
    }

    /// The estimated width of a text in this font.
    pub fn width(&self, text: &str) -> f64 {
        text::width(text, self.size) * if self.bold { 1.08 } else { 1.0 }
    }
}

/// A page under work.
pub struct Canvas {
    width: u32,
    height: u32,
    body: String,
}

impl Canvas {
    /// An empty page.
    pub fn new(width: u32, height: u32) -> Canvas {
        let mut canvas = Canvas { width, height, body: String::new() };
        canvas.rectangle((0.0, 0.0), (width.into(), height.into()), PAPER, 1.0);
        canvas
    }

    /// Width in pixels.
    pub fn width(&self) -> f64 {
        self.width.into()
    }

    /// Height in pixels.
    pub fn height(&self) -> f64 {
        self.height.into()
    }

    /// A line through the points.
    pub fn line(&mut self, points: &[Point], colour: Colour, width: f64, dash: Dash) {
        let points = thinned(points);
        let style = ShapeStyle::from(&colour).stroke_width((width * FINE).round() as u32);
        if dash != Dash::Solid || 2 < points.len() {
            let _ = writeln!(self.body, "<g {}>", dash.attributes());
            self.plot(|area| area.draw(&PathElement::new(points, style)));
            self.body.push_str("</g>\n");
        } else {
            self.plot(|area| area.draw(&PathElement::new(points, style)));
        }
    }

    /// A filled shape.
    pub fn area(&mut self, outline: &[Point], colour: Colour, opacity: f64) {
        let outline = thinned(outline);
        self.plot(|area| area.draw(&Polygon::new(outline, colour.mix(opacity))));
    }

    /// A filled rectangle between two corners.
    pub fn rectangle(&mut self, corner: Point, other: Point, colour: Colour, opacity: f64) {
        let corners = [fine(corner), fine(other)];
        self.plot(|area| area.draw(&Rectangle::new(corners, colour.mix(opacity).filled())));
    }

    /// A text whose middle height is at `at`.
    pub fn text(&mut self, text: &str, at: Point, anchor: Anchor, font: Font) {
        if text.is_empty() {
            return;
        }
        let h_pos = match anchor {
            Anchor::Left => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::Right => HPos::Right,
        };
        let style = if font.bold { FontStyle::Bold } else { FontStyle::Normal };
        let size = font.size * FINE * PLOTTERS_FONT_RATIO;
        let style = TextStyle::from(FontDesc::new(FontFamily::Name(FONTS), size, style))
            .color(&font.colour)
            .pos(Pos::new(h_pos, VPos::Center));
        self.plot(|area| area.draw_text(text, &style, fine(at)));
    }

    /// Everything drawn by `draw` as one group whose name a viewer shows when asked.
    pub fn named(&mut self, name: &str, draw: impl FnOnce(&mut Canvas)) {
        let _ = writeln!(self.body, "<g><title>{}</title>", escaped(name));
        draw(self);
        self.body.push_str("</g>\n");
    }

    /// The whole document, with a title and a description for those who can't see it.
    pub fn finish(self, title: &str, description: &str) -> String {
        let Canvas { width, height, body } = self;
        let (fine_width, fine_height) = (f64::from(width) * FINE, f64::from(height) * FINE);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {fine_width} {fine_height}\" role=\"img\" font-family=\"{FONTS}\">\n\
             <title>{}</title>\n<desc>{}</desc>\n{body}</svg>\n",
            escaped(title),
            escaped(description),
        )
    }

    /// Adds one shape as plotters writes it, without the document that it writes around it.
    fn plot<E: std::fmt::Debug>(
        &mut self,
        draw: impl FnOnce(&DrawingArea<SVGBackend, plotters::coord::Shift>) -> Result<(), E>,
    ) {
        let mut document = String::new();
        let size = ((f64::from(self.width) * FINE) as u32, (f64::from(self.height) * FINE) as u32);
        let area = SVGBackend::with_string(&mut document, size).into_drawing_area();
        draw(&area).expect("writing to a string can't fail");
        area.present().expect("writing to a string can't fail");
        drop(area);
        let start = document.find('\n').map_or(0, |end| end + 1);
        let shapes =
            document[start..].trim_end().strip_suffix("</svg>").expect("plotters closes its document");
        // Attributes that say what holds anyway; a text can't contain them, since its quotes are escaped.
        let font = format!(" font-family=\"{FONTS}\"");
        self.body.push_str(
            &shapes.replace(" opacity=\"1\"", "").replace(" stroke=\"none\"", "").replace(&font, ""),
        );
    }
}

/// The nearest step of the page.
fn fine((x, y): Point) -> (i32, i32) {
    ((x * FINE).round() as i32, (y * FINE).round() as i32)
}

/// The points in steps of the page, without those inside a level run: the shape stays, the file shrinks.
fn thinned(points: &[Point]) -> Vec<(i32, i32)> {
    let mut kept: Vec<(i32, i32)> = Vec::with_capacity(points.len());
    for &point in points {
        let point = fine(point);
        match kept[..] {
            [.., last] if last == point => continue,
            [.., before, last]
                if before.1 == last.1
                    && last.1 == point.1
                    && (last.0 - before.0).signum() == (point.0 - last.0).signum() =>
            {
                kept.pop();
            }
            _ => {}
        }
        kept.push(point);
    }
    kept
}

/// The text as it may stand between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_a_text_stays_text() {
        let mut canvas = Canvas::new(100, 50);
        let bad = "<script>alert(\"&\")</script>";
        canvas.text(bad, (0.0, 10.0), Anchor::Left, Font::plain(10.0, INK));
        canvas.named(bad, |_| ());
        let svg = canvas.finish(bad, bad);
        assert!(!svg.contains("<script"), "{svg}");
        assert_eq!(svg.matches("&lt;script&gt;").count(), 4);
    }

    #[test]
    fn level_runs_keep_only_their_ends() {
        let level: Vec<Point> = (0..100).map(|x| (f64::from(x), 5.0)).collect();
        assert_eq!(thinned(&level), [(0, 40), (792, 40)]);
        assert_eq!(thinned(&[(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)]).len(), 3);
    }

    #[test]
    fn a_document_is_closed_once_and_can_be_read_aloud() {
        let mut canvas = Canvas::new(100, 50);
        canvas.line(&[(0.0, 0.0), (9.0, 9.0), (20.0, 0.0)], INK, 1.5, Dash::Dashed);
        let svg = canvas.finish("what", "how");
        assert_eq!((svg.matches("<svg").count(), svg.matches("</svg>").count()), (1, 1));
        assert!(svg.contains("role=\"img\"") && svg.contains("<title>what</title>"));
        assert!(svg.contains("stroke-dasharray"));
    }
}
