//! Problems as a person reads them: what, where with the line itself, what instead.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::ops::Range;
use tidegate::problem::{Place, Problem, Severity};

/// Longest line that is drawn; a longer one is named by its place alone.
const LONGEST_LINE: usize = 400;

/// The texts that problems point into, by the name in their places.
#[derive(Debug, Default)]
pub struct Texts(BTreeMap<String, String>);

impl Texts {
    /// Adds the text of the file called `name`.
    pub fn add(&mut self, name: &str, text: &str) {
        self.0.insert(name.to_string(), text.to_string());
    }

    /// The text of the file called `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// Whether it is more than a warning.
pub fn is_error(problem: &Problem) -> bool {
    problem.severity == Severity::Error
}

/// One problem, drawn under its line if the text is at hand.
pub fn draw(problem: &Problem, texts: &Texts, styled: bool) -> String {
    let level = if is_error(problem) { Level::ERROR } else { Level::WARNING };
    let mut group = Group::with_title(level.primary_title(problem.what.as_str()));
    if let Some(place) = &problem.place {
        group = match texts.0.get(&place.file).and_then(|text| lines(text, place)) {
            Some((source, span)) => group.element(
                Snippet::source(source)
                    .line_start(place.line)
                    .path(place.file.as_str())
                    .annotation(AnnotationKind::Primary.span(span)),
            ),
            None => {
                group.element(Origin::path(place.file.as_str()).line(place.line).char_column(place.column))
            }
        };
    }
    if !problem.remedy.is_empty() {
        group = group.element(Level::HELP.message(problem.remedy.as_str()));
    }
    let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group])
}

/// The first line that a problem is about, and the span within it.
fn lines<'t>(text: &'t str, place: &Place) -> Option<(&'t str, Range<usize>)> {
    let Range { start, end } = place.span;
    let line_start = text.get(..start)?.rfind('\n').map_or(0, |i| i + 1);
    let line = text[line_start..].lines().next().unwrap_or("");
    if LONGEST_LINE < line.len() {
        return None;
    }
    let from = (start - line_start).min(line.len());
    let to = (end.max(start) - line_start).min(line.len());
    Some((line, from..to.max(from)))
}

/// Tells of a fault of the program itself.
pub fn fault(what: &str) {
    let _ = writeln!(
        std::io::stderr(),
        "error: tidegate has a fault: {what}\n  please report it with the scenario and the command that led here"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> (Texts, &'static str) {
        let text = "name = \"x\"\nrate = 40\n";
        let mut texts = Texts::default();
        texts.add("a.toml", text);
        (texts, text)
    }

    #[test]
    fn a_problem_is_drawn_under_its_line_with_its_place() {
        let (texts, text) = texts();
        let place = Place::in_text("a.toml", text, 18..20);
        let shown = draw(&Problem::input("no unit").at(place).remedy("write `40/s`"), &texts, false);
        assert!(shown.contains("error: no unit") && shown.contains("a.toml:2:8"), "{shown}");
        assert!(shown.contains("rate = 40") && shown.contains("^^"), "{shown}");
        assert!(shown.contains("write `40/s`"), "{shown}");
    }

    #[test]
    fn a_place_whose_text_is_not_at_hand_or_has_shrunk_is_named() {
        let (texts, _) = texts();
        for (file, span) in [("b.csv", 0..1), ("a.toml", 900..901)] {
            let place = Place { file: file.into(), line: 7, column: 3, span };
            let shown = draw(&Problem::input("wrong").at(place), &texts, false);
            assert!(shown.contains(&format!("{file}:7:3")), "{shown}");
        }
    }
}
