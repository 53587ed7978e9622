//! What is wrong with a user's file or input: place, cause and remedy.
//!
//! A broken contract inside the program is an assert; everything that a person can get wrong is a [`Problem`].
//! Readers collect as many as they can and return them together as [`Problems`].

use std::fmt;
use std::ops::Range;

/// How serious a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file can be run; the reader may not have meant this.
    Warning,
    /// The file can't be run.
    Error,
}

/// The exit code that a problem leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Wrong use of the command or the library (exit code 2).
    Usage,
    /// A wrong scenario, trace or list of events (exit code 3).
    Input,
    /// Reading or writing failed (exit code 4).
    Io,
    /// Not the bytes that were promised (exit code 6).
    NotReproducible,
    /// Our mistake (exit code 70).
    Bug,
    /// Stopped by the user (exit code 130).
    Interrupted,
}

impl Kind {
    /// The exit code of the command.
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::Usage => 2,
            Kind::Input => 3,
            Kind::Io => 4,
            Kind::NotReproducible => 6,
            Kind::Bug => 70,
            Kind::Interrupted => 130,
        }
    }
}

/// Where in a text a problem lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file's name as the user gave it; `-` is standard input.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The bytes of the text that are meant, for a drawing under the line.
    pub span: Range<usize>,
}

impl Place {
    /// The place of `span` in `text`; line and column are counted from 1, the column in characters.
    pub fn in_text(file: &str, text: &str, span: Range<usize>) -> Place {
        let mut start = span.start.min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        Place {
            file: file.to_string(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            span,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// One thing that is wrong: what, where, and what instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How serious it is.
    pub severity: Severity,
    /// Which exit code it leads to.
    pub kind: Kind,
    /// What is wrong: lower case, no full stop, names in backticks.
    pub what: String,
    /// Where, if it lies in a text.
    pub place: Option<Place>,
    /// What to do instead; empty when the message says it already.
    pub remedy: String,
}

impl Problem {
    fn new(kind: Kind, what: impl Into<String>) -> Problem {
        Problem { severity: Severity::Error, kind, what: what.into(), place: None, remedy: String::new() }
    }

    /// A wrong scenario, trace or list of events.
    pub fn input(what: impl Into<String>) -> Problem {
        Problem::new(Kind::Input, what)
    }

    /// A wrong use of the command.
    pub fn usage(what: impl Into<String>) -> Problem {
        Problem::new(Kind::Usage, what)
    }

    /// A failure to read or write `path`.
    pub fn io(path: impl fmt::Display, doing: &str, error: &std::io::Error) -> Problem {
        Problem::new(Kind::Io, format!("cannot {doing} `{path}`: {error}"))
    }

    /// A broken promise of our own.
    pub fn bug(what: impl Into<String>) -> Problem {
        Problem::new(Kind::Bug, what)
            .remedy("this is a fault of tidegate: please report it with the scenario and the seed")
    }

    /// Results that differ from what was promised.
    pub fn not_reproducible(what: impl Into<String>) -> Problem {
        Problem::new(Kind::NotReproducible, what)
    }

    /// Stopped by the user.
    pub fn interrupted(what: impl Into<String>) -> Problem {
        Problem::new(Kind::Interrupted, what)
    }

    /// The same, as a warning.
    pub fn warning(mut self) -> Problem {
        self.severity = Severity::Warning;
        self
    }

    /// Adds where it is.
    pub fn at(mut self, place: Place) -> Problem {
        self.place = Some(place);
        self
    }

    /// Adds what to do instead.
    pub fn remedy(mut self, remedy: impl Into<String>) -> Problem {
        self.remedy = remedy.into();
        self
    }
}

/// `error: what` or `file:line:column: what`, then the remedy on a line of its own.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.what)?;
        if !self.remedy.is_empty() {
            write!(f, "\n  {}", self.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

/// Everything that is wrong, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// Whether any of them is an error.
    pub fn any_error(&self) -> bool {
        self.0.iter().any(|p| p.severity == Severity::Error)
    }

    /// The exit code: that of the first error.
    pub fn exit_code(&self) -> u8 {
        self.0.iter().find(|p| p.severity == Severity::Error).map_or(0, |p| p.kind.exit_code())
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Problems {
        Problems(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// The nearest of `candidates` to a mistyped `name`, if one is near enough to be meant.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(name, c), c))
        .filter(|(distance, c)| *distance <= (c.len().max(name.len()) / 3).max(1))
        .min()
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let place = Place::in_text("a.toml", "é = 1\nß = x\n", 12..13);
        assert_eq!((place.line, place.column), (2, 5));
        assert_eq!(place.to_string(), "a.toml:2:5");
    }

    #[test]
    fn a_near_name_is_proposed_and_a_far_one_is_not() {
        let names = ["rate", "burst", "limit"];
        assert_eq!(did_you_mean("brust", names), Some("burst"));
        assert_eq!(did_you_mean("colour", names), None);
    }
}
