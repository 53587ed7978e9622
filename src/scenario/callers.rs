//! What the calls of a traffic carry: tenant, user, feature and tokens.

use super::dist;
use super::source::Document;
use crate::dist::Dist;
use crate::section::{Either, Name, Section, Share};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The largest population that can be drawn from.
const MOST: u32 = 1_000_000;

/// How the tenant or the user of a call is found.
#[derive(Clone, Debug, PartialEq)]
pub enum Who {
    /// Always the same one.
    Fixed(String),
    /// One of so many, each as likely as the other.
    Uniform(u32),
    /// One of so many, the k-th in proportion to 1 / k^exponent.
    Zipf {
        /// How many there are.
        count: u32,
        /// How much the first ones are preferred.
        exponent: f64,
    },
}

impl Who {
    /// Reads `tenant` or `user`: a name, `{ fixed }` or `{ count, pick, exponent }`.
    pub fn read(s: &mut Section, key: &str, doc: &'static str) -> Option<Who> {
        let mut table = match s.either::<Name>(key, doc)? {
            Either::Value(name) => return Some(Who::Fixed(name.0)),
            Either::Table(table) => table,
        };
        if let Some(name) = table.get::<Name>("fixed", "the one; or `count`") {
            table.finish();
            return Some(Who::Fixed(name.0));
        }
        let count: u32 = if table.has("fixed") { 1 } else { table.need("count", "how many there are") };
        let zipf =
            table.one_of("pick", &[("uniform", false), ("zipf", true)], Some(false), "how one is drawn");
        let exponent: f64 = table.get_or("exponent", 1.0, "with zipf, how much the first ones are preferred");
        if count == 0 || MOST < count {
            let what = format!("`{}` is {count}", table.path_of("count"));
            table.problem("count", what, format!("write a number between 1 and {MOST}"));
        }
        if !(0.0..=20.0).contains(&exponent) {
            let what = format!("`{}` is {exponent}", table.path_of("exponent"));
            table.problem("exponent", what, "write a number between 0 and 20");
        }
        table.finish();
        Some(if zipf { Who::Zipf { count, exponent } } else { Who::Uniform(count) })
    }

    fn count(&self) -> u32 {
        match self {
            Who::Fixed(_) => 0,
            Who::Uniform(count) | Who::Zipf { count, .. } => *count,
        }
    }
}

/// Reads `feature`: a name, or names with shares that make up the whole.
pub fn read_features(s: &mut Section) -> Vec<(String, f64)> {
    let table = match s.either::<Name>("feature", "a name, or names with the shares of calls that have them")
    {
        None => return Vec::new(),
        Some(Either::Value(name)) => return vec![(name.0, 1.0)],
        Some(Either::Table(table)) => table,
    };
    let mut table = table;
    let before = table.log().len();
    let mut features = Vec::new();
    for name in table.keys() {
        if let Err(why) = Name::check(&name) {
            table.log().error(
                table.key_span(&name),
                why,
                format!("a name is {}", <Name as crate::section::Value>::SHAPE),
            );
        }
        let share: Share = table.need(&name, "share of the calls");
        features.push((name, share.0));
    }
    let sum: f64 = features.iter().map(|(_, share)| share).sum();
    if table.log().len() == before && 1e-9 < (sum - 1.0).abs() {
        let what = format!("the shares of `{}` make up {}%", table.path(), (sum * 1e6).round() / 1e4);
        table.problem("", what, "change them so that they make up 100%");
    }
    table.finish();
    features
}

/// A number of tokens.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// Always the same.
    Fixed(u32),
    /// Drawn for each call.
    Drawn(Dist),
}

/// The tokens of a call; what is absent is 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tokens {
    /// Tokens sent.
    pub input: Option<Size>,
    /// Tokens of the answer.
    pub output: Option<Size>,
    /// The most that the caller allows; the answer's own number if absent.
    pub max_output: Option<Size>,
}

impl Tokens {
    /// Reads `tokens = { input, output, max_output }`.
    pub fn read(s: &mut Section, files: Option<&Document>) -> Tokens {
        let Some(mut table) = s.section("tokens", "tokens of a call, each a number or a distribution") else {
            return Tokens::default();
        };
        let tokens = Tokens {
            input: size(&mut table, "input", "tokens sent", files),
            output: size(&mut table, "output", "tokens of the answer", files),
            max_output: size(
                &mut table,
                "max_output",
                "most tokens that the caller allows; `output` unless said",
                files,
            ),
        };
        table.finish();
        tokens
    }

    /// Whether calls have any.
    pub fn any(&self) -> bool {
        self.input.is_some() || self.output.is_some() || self.max_output.is_some()
    }
}

fn size(s: &mut Section, key: &str, doc: &'static str, files: Option<&Document>) -> Option<Size> {
    Some(match s.either::<u32>(key, doc)? {
        Either::Value(count) => Size::Fixed(count),
        Either::Table(mut table) => {
            let dist = dist::read::<dist::TokenCount>(&mut table, files);
            table.finish();
            Size::Drawn(dist)
        }
    })
}

/// All tenants, users or features of a scenario, numbered: 0 is none, then the counted ones, then the named ones.
///
/// The counted ones are shared by all traffics and called by a letter and their number, `t1` and so on, so that
/// `tenant = "t7"` is the seventh of `tenant = { count = 40 }`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Population {
    letter: char,
    counted: u32,
    named: Vec<String>,
}

impl Population {
    /// The population of `whos`, and of the names in `more`; counted ones are called by `letter`.
    pub(super) fn new<'a>(
        letter: char,
        whos: impl Iterator<Item = &'a Who> + Clone,
        more: impl Iterator<Item = &'a str>,
    ) -> Population {
        let counted = whos.clone().map(Who::count).max().unwrap_or(0);
        let fixed =
            whos.filter_map(|who| if let Who::Fixed(name) = who { Some(name.as_str()) } else { None });
        let none = Population { letter, counted, named: Vec::new() };
        let named: BTreeSet<&str> = fixed.chain(more).filter(|name| none.number(name).is_none()).collect();
        Population { named: named.into_iter().map(str::to_string).collect(), ..none }
    }

    /// How many numbers there are, the 0 of none included.
    pub fn len(&self) -> usize {
        1 + self.counted as usize + self.named.len()
    }

    /// Whether there is nobody but none.
    pub fn is_empty(&self) -> bool {
        self.len() == 1
    }

    /// The number of `name`, if it is one of them.
    pub fn number(&self, name: &str) -> Option<u32> {
        let counted = name.strip_prefix(self.letter).and_then(|digits| digits.parse::<u32>().ok());
        if let Some(number) = counted.filter(|n| (1..=self.counted).contains(n) && self.name(*n) == name) {
            return Some(number);
        }
        let index = self.named.binary_search_by(|named| named.as_str().cmp(name)).ok()?;
        Some(1 + self.counted + index as u32)
    }

    /// The name of the one with `number`; empty for 0 and for numbers beyond.
    pub fn name(&self, number: u32) -> Cow<'_, str> {
        match number {
            0 => "".into(),
            n if n <= self.counted => format!("{}{n}", self.letter).into(),
            n => self.named.get((n - self.counted - 1) as usize).map_or("".into(), |name| name.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_and_named_ones_share_one_numbering() {
        let whos =
            [Who::Uniform(3), Who::Fixed("etl".into()), Who::Fixed("t2".into()), Who::Fixed("t03".into())];
        let all = Population::new('t', whos.iter(), ["admin"].into_iter());
        assert_eq!(all.len(), 7);
        for (number, name) in [(0, ""), (1, "t1"), (3, "t3"), (4, "admin"), (5, "etl"), (6, "t03"), (7, "")] {
            assert_eq!(all.name(number), name);
        }
        assert_eq!(all.number("t2"), Some(2));
        assert_eq!(all.number("etl"), Some(5));
        assert_eq!(all.number("t4"), None);
    }
}
