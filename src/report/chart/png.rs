//! SVG to PNG with the font that a crate ships, never one of the system, so that the bytes are the same everywhere.

use crate::problem::Problem;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{FontResolver, Options, Tree, fontdb};
use std::sync::Arc;

/// Draws the document at `ratio` pixels per pixel of it.
pub fn render(svg: &str, ratio: u32) -> Result<Vec<u8>, Problem> {
    // Every sign names its font. A fallback would set the whole text in the font that has the one sign.
    let font_resolver = FontResolver {
        select_fallback: Box::new(|_, _, _| None),
        select_font: FontResolver::default_font_selector(),
    };
    let font_family = "Ubuntu".to_string();
    let options = Options { fontdb: Arc::new(fonts()), font_family, font_resolver, ..Options::default() };
    let broken = |what: &str| Problem::bug(format!("a chart can't be drawn as PNG: {what}"));
    let tree = Tree::from_str(&prepared(svg), &options).map_err(|e| broken(&e.to_string()))?;
    let size = tree.size();
    let (width, height) = ((size.width() * ratio as f32) as u32, (size.height() * ratio as f32) as u32);
    let mut pixmap = Pixmap::new(width, height).ok_or_else(|| broken("it has no size"))?;
    resvg::render(&tree, Transform::from_scale(ratio as f32, ratio as f32), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|e| broken(&e.to_string()))
}

/// The fonts: one for text, two for the signs that it lacks.
fn fonts() -> fontdb::Database {
    let mut fonts = fontdb::Database::new();
    for font in [
        epaint_default_fonts::UBUNTU_LIGHT,
        epaint_default_fonts::HACK_REGULAR,
        epaint_default_fonts::NOTO_EMOJI_REGULAR,
    ] {
        fonts.load_font_data(font.to_vec());
    }
    fonts.set_sans_serif_family("Ubuntu");
    fonts
}

/// The document as this font needs it.
///
/// The font is a light one and has no bold: a stroke around its letters makes up for both. A sign that it lacks is
/// set apart, or the whole text would be set in the font that has it.
fn prepared(svg: &str) -> String {
    let mut prepared = String::with_capacity(svg.len() + svg.len() / 8);
    let mut inside = false;
    for line in svg.lines() {
        if line.starts_with("<text ") {
            prepared.push_str(&stroked(line));
            inside = true;
        } else if inside && !line.starts_with("</text>") {
            line.chars().for_each(|c| match c {
                c if is_in_font(c) => prepared.push(c),
                c => prepared.push_str(&format!("<tspan font-family=\"{}\">{c}</tspan>", font_of(c))),
            });
        } else {
            prepared.push_str(line);
            inside = false;
        }
        prepared.push('\n');
    }
    prepared
}

/// Letters, digits and common marks; whatever else is looked for in the other fonts.
fn is_in_font(c: char) -> bool {
    c < '\u{250}' || matches!(c, '–' | '—' | '…' | '‘' | '’' | '“' | '”' | '•' | '€')
}

/// The font for a sign that the text's font lacks.
fn font_of(c: char) -> &'static str {
    if ('\u{2600}'..='\u{27bf}').contains(&c) || '\u{1f000}' <= c { "Noto Emoji" } else { "Hack" }
}

/// The opening of a text with a stroke in its own colour, thicker for bold.
fn stroked(opening: &str) -> String {
    let attribute = |name: &str| {
        let rest = opening.split_once(&format!(" {name}=\"")).map_or("", |(_, rest)| rest);
        rest.split('"').next().unwrap_or_default()
    };
    let size: f64 = attribute("font-size").parse().unwrap_or(0.0);
    let share = if attribute("font-weight") == "bold" { 0.055 } else { 0.02 };
    let stroke = format!("<text stroke=\"{}\" stroke-width=\"{:.1}\" ", attribute("fill"), size * share);
    opening.replacen("<text ", &stroke, 1)
}
