//! `retry_after = …`: what a limiter tells those it refuses.

use crate::limiter::{Advice, Basis, Jitter};
use crate::scenario::client::not_zero;
use crate::section::{Either, Section};
use crate::time::Nanos;

const DOC: &str = "what those it refuses are told to wait: `exact`, `seconds`, `reset`, `doubling`, or \
     `{ constant = … }`, `{ basis = …, jitter = … }`";

const WORDS: [(&str, Basis); 4] = [
    ("exact", Basis::Exact),
    ("seconds", Basis::Seconds),
    ("reset", Basis::Reset),
    ("doubling", Basis::Doubling),
];

/// Reads the key.
pub(super) fn read(s: &mut Section) -> Advice {
    match s.either::<String>("retry_after", DOC) {
        None => Advice::default(),
        Some(Either::Table(table)) => read_table(table),
        // A word alone is read again as one of the words, which tells what they are.
        Some(Either::Value(_)) => {
            let basis = s.one_of("retry_after", &WORDS, Some(Basis::Exact), DOC);
            Advice { basis, jitter: Jitter::default() }
        }
    }
}

fn read_table(mut s: Section) -> Advice {
    let constant: Option<Nanos> = s.get("constant", "always the same");
    not_zero(&s, "constant", constant);
    let basis = s.one_of("basis", &WORDS, Some(Basis::Exact), "what it is reckoned from");
    if constant.is_some() && s.has("basis") {
        let what = format!("`{}` has a constant and a basis", s.path());
        s.problem("basis", what, "take one out");
    }
    let by = s.get_or("jitter", Nanos::ZERO, "how much later it may be, by chance");
    let around =
        s.get_or("around", false, "whether the jitter may also make it earlier, never below nothing");
    if around && by == Nanos::ZERO && !s.is_description() {
        s.problem("around", format!("`{}` spreads a jitter of nothing", s.path_of("around")), "add `jitter`");
    }
    s.finish();
    Advice { basis: constant.map_or(basis, Basis::Constant), jitter: Jitter { by, around } }
}
