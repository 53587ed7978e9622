//! Where readers put what they find: problems at their places, and remedies that know the words in use.

use super::describe::Param;
use super::node::Text;
use crate::problem::{Problem, Severity, did_you_mean};
use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::ops::Range;

/// How many problems of one file are kept; the rest is counted.
const MOST_PROBLEMS: usize = 100;

/// Longest mistyped word for which a near one is looked up.
const LONGEST_WORD: usize = 80;

/// The nearest of `candidates` to a mistyped word; `None` for words too long to be a slip.
fn near<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST_WORD { None } else { did_you_mean(word, candidates) }
}

/// Where readers put what they find: problems, or in a description the keys they ask for.
pub struct Log<'a> {
    pub(super) text: Option<&'a Text>,
    problems: RefCell<Vec<Problem>>,
    beyond: Cell<usize>,
    pub(super) params: RefCell<Vec<Param>>,
}

impl<'a> Log<'a> {
    /// An empty log for a tree that was read from `text`.
    pub fn new(text: &'a Text) -> Log<'a> {
        Log { text: Some(text), ..Log::describing() }
    }

    pub(super) fn describing() -> Log<'a> {
        Log { text: None, problems: RefCell::default(), beyond: Cell::new(0), params: RefCell::default() }
    }

    /// Adds an error at `span`.
    pub fn error(&self, span: Range<usize>, what: impl Into<String>, remedy: impl Into<String>) {
        self.add(span, Problem::input(what).remedy(remedy));
    }

    /// Adds a warning at `span`.
    pub fn warning(&self, span: Range<usize>, what: impl Into<String>, remedy: impl Into<String>) {
        self.add(span, Problem::input(what).remedy(remedy).warning());
    }

    fn add(&self, span: Range<usize>, problem: Problem) {
        let Some(text) = self.text else { return };
        let mut problems = self.problems.borrow_mut();
        if problems.len() < MOST_PROBLEMS {
            problems.push(problem.at(text.place(span)));
        } else if problem.severity == Severity::Error {
            self.beyond.set(self.beyond.get() + 1);
        }
    }

    /// How many problems it holds or has counted.
    pub fn len(&self) -> usize {
        self.problems.borrow().len() + self.beyond.get()
    }

    /// Whether an error was found.
    pub fn any_error(&self) -> bool {
        self.beyond.get() > 0 || self.problems.borrow().iter().any(|p| p.severity == Severity::Error)
    }

    /// The remedy for a word that is none of `known`; nothing once it would not be shown, since it costs a search.
    pub fn suggest<'w>(&self, word: &str, known: impl IntoIterator<Item = &'w str>) -> String {
        if self.is_full() { String::new() } else { suggestion(word, known) }
    }

    /// Whether further problems are counted only.
    pub(super) fn is_full(&self) -> bool {
        MOST_PROBLEMS <= self.problems.borrow().len()
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Everything found, in the order of the text.
    pub fn into_problems(self) -> Vec<Problem> {
        let mut problems = self.problems.into_inner();
        // The file stands before the arguments of `--set`, which have a name of their own.
        problems.sort_by_key(|p| {
            p.place.as_ref().map(|place| (place.file == Text::SETTINGS, place.line, place.column))
        });
        if self.beyond.get() > 0 {
            problems.push(
                Problem::input(format!("{} more problems are not shown", self.beyond.get()))
                    .remedy("mend these first"),
            );
        }
        problems
    }
}

/// `` `a`, `b` or `c` ``.
pub(super) fn listing<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let mut text = String::new();
    for (i, name) in names.iter().enumerate() {
        let joint = match i {
            0 => "",
            _ if i + 1 == names.len() => " or ",
            _ => ", ",
        };
        let _ = write!(text, "{joint}`{name}`");
    }
    text
}

/// The remedy for a word that is none of `known`: the near one if there is one, and all of them if they are few.
fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let near = near(word, known.iter().copied());
    let few = (1..=30).contains(&known.len());
    match (near, few) {
        (Some(near), true) if known.len() > 1 => {
            format!("did you mean `{near}`? known: {}", listing(known).replace(" or ", ", "))
        }
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, true) => format!("use {}", listing(known)),
        (None, false) if known.is_empty() => "take it out: there is none to name".into(),
        (None, false) => format!("use one of the {} that are defined", known.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_a_hundred_is_counted() {
        let text = Text::new("a.toml", "x".into());
        let log = Log::new(&text);
        (0..150).for_each(|_| log.error(0..1, "wrong", "mend it"));
        let problems = log.into_problems();
        assert_eq!(problems.len(), 101);
        assert!(problems[100].what.starts_with("50 more"));
    }

    #[test]
    fn a_remedy_names_the_near_word_and_the_others_if_they_are_few() {
        assert_eq!(suggestion("fsat", ["fast", "slow"]), "did you mean `fast`? known: `fast`, `slow`");
        assert_eq!(suggestion("blue", ["fast", "slow"]), "use `fast` or `slow`");
        assert_eq!(suggestion("fsat", ["fast"]), "did you mean `fast`?");
        assert_eq!(suggestion(&"f".repeat(1_000_000), ["fast"]), "use `fast`");
    }
}
