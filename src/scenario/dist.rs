//! Distributions as files write them: `{ dist = "lognormal", median = "500ms", p99 = "1s" }`.

use super::source::Document;
use crate::dist::Dist;
use crate::section::{Content, Fault, Node, Section, Value};
use crate::time::Nanos;

/// What a distribution can be over.
pub trait Quantity: Value {
    /// Nanoseconds or tokens.
    fn number(&self) -> f64;
    /// What a unit in a file of examples multiplies, with its names; the first is the default.
    const UNITS: &'static [(&'static str, f64)];
}

impl Quantity for Nanos {
    fn number(&self) -> f64 {
        self.0 as f64
    }
    const UNITS: &'static [(&'static str, f64)] = &[("ms", 1e6), ("s", 1e9), ("us", 1e3), ("ns", 1.0)];
}

/// A number of tokens, as a mean or a bound; need not be whole.
pub struct TokenCount(f64);

impl Value for TokenCount {
    const SHAPE: &'static str = "a number of tokens such as `900` or `6k`";
    fn read(node: &Node) -> Result<TokenCount, Vec<Fault>> {
        match node.content {
            Content::Text(_) => u64::read(node).map(|count| TokenCount(count as f64)),
            _ => f64::read(node).map(TokenCount),
        }
    }
    fn dummy() -> TokenCount {
        TokenCount(1.0)
    }
    fn show(&self) -> String {
        self.0.to_string()
    }
}

impl Quantity for TokenCount {
    fn number(&self) -> f64 {
        self.0
    }
    const UNITS: &'static [(&'static str, f64)] = &[("1", 1.0)];
}

#[derive(Clone, Copy, PartialEq)]
enum Family {
    Constant,
    Uniform,
    Exponential,
    Lognormal,
    Gamma,
    Weibull,
    Pareto,
    Empirical,
}

const FAMILIES: [(&str, Family); 8] = [
    ("constant", Family::Constant),
    ("uniform", Family::Uniform),
    ("exponential", Family::Exponential),
    ("lognormal", Family::Lognormal),
    ("gamma", Family::Gamma),
    ("weibull", Family::Weibull),
    ("pareto", Family::Pareto),
    ("empirical", Family::Empirical),
];

/// Reads a distribution over `T`; the caller finishes the table. A wrong one is a problem and reads as 0.
pub fn read<T: Quantity>(s: &mut Section, files: Option<&Document>) -> Dist {
    let family = s.choice("dist", &FAMILIES, "which distribution");
    if s.is_description() {
        FAMILIES.iter().for_each(|(_, family)| drop(read_family::<T>(*family, s, files)));
    }
    let Some(family) = family else {
        s.skip_all();
        return constant(0.0);
    };
    let before = s.log().len();
    read_family::<T>(family, s, files).unwrap_or_else(|why| {
        if s.log().len() == before {
            s.problem("", format!("`{}` is no distribution: {why}", s.path()), "change its parameters");
        }
        constant(0.0)
    })
}

fn read_family<T: Quantity>(
    family: Family,
    s: &mut Section,
    files: Option<&Document>,
) -> Result<Dist, String> {
    match family {
        Family::Constant => Dist::constant(s.need::<T>("value", "the value it always has").number()),
        Family::Uniform => {
            let low = s.need::<T>("low", "the least").number();
            Dist::uniform(low, s.need::<T>("high", "the most").number())
        }
        Family::Exponential => Dist::exponential(positive::<T>(s, "mean", "the mean")),
        Family::Lognormal if s.has("mean") => {
            let mean = positive::<T>(s, "mean", "the mean; with `sigma`, instead of `median` and `p99`");
            Dist::lognormal_by_mean(mean, s.need("sigma", "with `mean`: deviation of the logarithms"))
        }
        Family::Lognormal => {
            let median = positive::<T>(s, "median", "half lie below");
            Dist::lognormal(median, positive::<T>(s, "p99", "99 in 100 lie below"))
        }
        Family::Gamma => {
            let mean = positive::<T>(s, "mean", "the mean");
            Dist::gamma(s.need("shape", "1 is exponential, more is narrower"), mean)
        }
        Family::Weibull if s.has("mean") => {
            let mean = positive::<T>(s, "mean", "the mean; instead of `scale`");
            Dist::weibull(s.need("shape", "1 is exponential, more is narrower"), mean)
        }
        Family::Weibull => {
            let scale = positive::<T>(s, "scale", "63 in 100 lie below");
            Dist::weibull_by_scale(s.need("shape", "1 is exponential, more is narrower"), scale)
        }
        Family::Pareto => {
            let minimum = positive::<T>(s, "minimum", "the least");
            Dist::pareto(s.need("shape", "exponent of the tail; the mean exists above 1"), minimum)
        }
        Family::Empirical => Dist::empirical(examples::<T>(s, files)),
    }
}

/// Always `value`, which must not be negative.
pub fn constant(value: f64) -> Dist {
    Dist::constant(value).expect("a value that is not negative has a distribution")
}

/// A quantity above zero.
fn positive<T: Quantity>(s: &mut Section, key: &str, doc: &'static str) -> f64 {
    let value = s.need::<T>(key, doc);
    let number = value.number();
    if s.has(key) && number <= 0.0 {
        let what = format!("`{}` is {}, and must be more than 0", s.path_of(key), value.show());
        s.problem(key, what, "write a larger value");
    }
    number
}

/// The examples of an empirical distribution: a list, or a column of a file.
fn examples<T: Quantity>(s: &mut Section, files: Option<&Document>) -> Vec<f64> {
    let values: Option<Vec<T>> = s.get("values", "the examples; or `file`");
    let file: Option<String> = s.get("file", "a CSV file of examples, beside the scenario");
    let column: Option<String> = s.get("column", "its column; the first unless said");
    let unit = s.one_of("unit", T::UNITS, Some(T::UNITS[0].1), "unit of the file's numbers");
    let wrong = |number: &f64| !(0.0..=crate::units::MAX_LENGTH.0 as f64).contains(number);
    let examples: Vec<f64> = match (values, file) {
        (Some(values), None) => values.iter().map(T::number).collect(),
        (None, Some(file)) => match files.map(|files| files.numbers(&file, column.as_deref())) {
            Some(Ok(numbers)) => numbers.iter().map(|number| number * unit).collect(),
            Some(Err(why)) => {
                let what = format!("`{}`: {}: {why}", s.path_of("file"), crate::section::quote(&file));
                s.problem(
                    "file",
                    what,
                    "name a CSV file with a header and one number a row, relative to the scenario",
                );
                return Vec::new();
            }
            None => return Vec::new(),
        },
        _ if s.has("values") != s.has("file") => return Vec::new(),
        _ => {
            let what = format!("`{}` takes either `values` or `file`", s.path());
            s.problem("", what, "write `values = [ … ]`, or `file = \"x.csv\"` and `column`");
            return Vec::new();
        }
    };
    let key = if s.has("values") { "values" } else { "file" };
    if examples.is_empty() || examples.iter().any(wrong) {
        s.problem(key, format!("`{}` has no usable examples", s.path_of(key)), "give numbers of 0 or more");
    }
    examples
}
