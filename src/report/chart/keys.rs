//! Keys: a swatch and a name for each line or area, in rows as wide as the page.

use super::canvas::{Anchor, Canvas, Dash, Font, Point};
use super::palette::{Colour, INK};

/// Height of one line of a key.
pub const LINE: f64 = 20.0;
const FONT: Font = Font::plain(12.0, INK);
/// From a swatch's left end to its name.
const NAME: f64 = 22.0;
const GAP: f64 = 18.0;

/// How a line or an area is named in a key.
#[derive(Clone, Copy, Debug)]
pub enum Swatch {
    /// A filled area.
    Area(Colour),
    /// A line.
    Line(Colour, Dash),
}

/// Draws a swatch whose left end and middle height are given; 16 pixels wide.
pub fn draw_swatch(canvas: &mut Canvas, swatch: Swatch, x: f64, y: f64) {
    match swatch {
        Swatch::Area(colour) => canvas.rectangle((x + 2.0, y - 6.0), (x + 14.0, y + 6.0), colour, 1.0),
        Swatch::Line(colour, dash) => canvas.line(&[(x, y), (x + 17.0, y)], colour, 2.0, dash),
    }
}

/// Left end and line of each name's entry between `left` and `right`: in as many lines as they need.
fn places(names: &[(String, Swatch)], left: f64, right: f64) -> Vec<(f64, usize)> {
    let (mut x, mut line) = (left, 0);
    let mut places = Vec::with_capacity(names.len());
    for (name, _) in names {
        let width = NAME + FONT.width(name);
        if right < x + width && left < x {
            (x, line) = (left, line + 1);
        }
        places.push((x, line));
        x += width + GAP;
    }
    places
}

/// How many lines the key needs between `left` and `right`, at least one.
pub fn lines(key: &[(String, Swatch)], left: f64, right: f64) -> usize {
    places(key, left, right).last().map_or(1, |(_, line)| line + 1)
}

/// Draws the key from `left` and the middle height of its first line on, no further than `right`.
pub fn draw(canvas: &mut Canvas, key: &[(String, Swatch)], (left, y): Point, right: f64) {
    for ((name, swatch), (x, line)) in key.iter().zip(places(key, left, right)) {
        let y = y + line as f64 * LINE;
        draw_swatch(canvas, *swatch, x, y);
        canvas.text(name, (x + NAME, y), Anchor::Left, FONT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_do_not_fit_go_to_the_next_line() {
        let key: Vec<_> = (0..7).map(|i| (format!("outcome {i}"), Swatch::Area(INK))).collect();
        assert_eq!(lines(&key, 0.0, 2000.0), 1);
        assert_eq!(lines(&key, 0.0, 10.0), 7);
        for (x, _) in places(&key, 100.0, 400.0) {
            assert!(100.0 <= x && x + NAME + FONT.width("outcome 0") <= 400.0);
        }
    }
}
