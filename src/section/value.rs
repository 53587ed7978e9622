//! What a key can hold, how it is written, and what is said when it is not.

use super::node::{Content, Node, quote};
use crate::time::Nanos;
use crate::units::{
    MAX_AMOUNT, MAX_COUNT, Rate, parse_amount, parse_count, parse_nanos, parse_rate, parse_share,
};
use std::ops::Range;

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where: the value, or the item of a list.
    pub span: Range<usize>,
    /// What, without the key's name.
    pub what: String,
}

/// A single fault of `node`.
pub fn one_fault(node: &Node, what: impl Into<String>) -> Vec<Fault> {
    vec![Fault { span: node.span.clone(), what: what.into() }]
}

/// A value that a key can hold.
pub trait Value: Sized {
    /// What is written, in words that follow "takes": ``a rate such as `40/s` ``.
    const SHAPE: &'static str;
    /// The value that `node` says, or all that is wrong with it.
    fn read(node: &Node) -> Result<Self, Vec<Fault>>;
    /// A harmless value that stands in for a missing one, so that reading goes on.
    fn dummy() -> Self;
    /// The value as a file would write it.
    fn show(&self) -> String;
}

/// A value with its place, for names that are looked up later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub span: Range<usize>,
}

/// A plain value or a table, whichever the file has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Either<T, U> {
    /// A plain value.
    Value(T),
    /// A table.
    Table(U),
}

/// A share between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Share(pub f64);

/// What a limit holds or takes: a count up to 2^63.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(pub u64);

/// A count, or no bound at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(pub Option<u64>);

/// The text of `node`, if it is one and short enough to be a quantity.
fn words<'n>(node: &'n Node, wanted: &str) -> Result<&'n str, Vec<Fault>> {
    match &node.content {
        Content::Text(text) if text.len() > 60 || text.chars().any(char::is_control) => {
            Err(one_fault(node, format!("{} is not {wanted}", quote(text))))
        }
        Content::Text(text) => Ok(text),
        _ => Err(one_fault(node, format!("{} is not {wanted}", node.found()))),
    }
}

/// A number that stands without the unit it needs.
fn unitless(node: &Node, example: &str) -> Option<Vec<Fault>> {
    match node.content {
        Content::Integer(n) => {
            Some(one_fault(node, format!("`{n}` is a number without a unit: write `\"{n}{example}\"`")))
        }
        Content::Float(x) if x.is_finite() => {
            Some(one_fault(node, format!("`{x}` is a number without a unit: write `\"{x}{example}\"`")))
        }
        _ => None,
    }
}

impl Value for Nanos {
    const SHAPE: &'static str = "a length of time such as `500ms` or `1h30m`";
    fn read(node: &Node) -> Result<Nanos, Vec<Fault>> {
        if let Some(faults) = unitless(node, "s") {
            return Err(faults);
        }
        parse_nanos(words(node, "a length of time")?).map_err(|why| one_fault(node, why))
    }
    fn dummy() -> Nanos {
        Nanos::SECOND
    }
    fn show(&self) -> String {
        format!("\"{self}\"")
    }
}

impl Value for Rate {
    const SHAPE: &'static str = "a rate such as `40/s` or `60k/min`";
    fn read(node: &Node) -> Result<Rate, Vec<Fault>> {
        if let Some(faults) = unitless(node, "/s") {
            return Err(faults);
        }
        parse_rate(words(node, "a rate")?).map_err(|why| one_fault(node, why))
    }
    fn dummy() -> Rate {
        Rate::new(1, Nanos::SECOND).expect("one per second is a rate")
    }
    fn show(&self) -> String {
        format!("\"{self}\"")
    }
}

/// A whole number between `least` and `most`, as a number or as text with k, M or G.
fn whole(node: &Node, least: i128, most: i128) -> Result<i128, Vec<Fault>> {
    whole_as(node, least, most, parse_count)
}

fn whole_as(
    node: &Node,
    least: i128,
    most: i128,
    parse: fn(&str) -> Result<u64, String>,
) -> Result<i128, Vec<Fault>> {
    let number = match &node.content {
        Content::Integer(n) => *n,
        Content::Float(x) => return Err(one_fault(node, format!("`{x:?}` is not a whole number"))),
        _ => match parse(words(node, "a whole number")?) {
            Ok(n) => i128::from(n),
            Err(why) => return Err(one_fault(node, why)),
        },
    };
    if number < least {
        let why = if least == 0 { "is negative".into() } else { format!("is less than {least}") };
        return Err(one_fault(node, format!("`{number}` {why}")));
    }
    if number > most {
        return Err(one_fault(node, format!("`{number}` is more than {most}")));
    }
    Ok(number)
}

macro_rules! whole_number {
    ($type:ty, $least:expr, $most:expr, $dummy:expr) => {
        impl Value for $type {
            const SHAPE: &'static str = "a whole number such as `100` or `150k`";
            fn read(node: &Node) -> Result<$type, Vec<Fault>> {
                whole(node, i128::from($least), i128::from($most)).map(|n| n as $type)
            }
            fn dummy() -> $type {
                $dummy
            }
            fn show(&self) -> String {
                self.to_string()
            }
        }
    };
}

whole_number!(u64, 0u64, MAX_COUNT, 1);
whole_number!(u32, 0u32, u32::MAX, 1);
whole_number!(i32, i32::MIN, i32::MAX, 0);

impl Value for Amount {
    const SHAPE: &'static str = "a whole number such as `100` or `150k`";
    fn read(node: &Node) -> Result<Amount, Vec<Fault>> {
        whole_as(node, 0, i128::from(MAX_AMOUNT), parse_amount).map(|n| Amount(n as u64))
    }
    fn dummy() -> Amount {
        Amount(1)
    }
    fn show(&self) -> String {
        self.0.to_string()
    }
}

impl Value for f64 {
    const SHAPE: &'static str = "a number such as `2` or `1.5`";
    fn read(node: &Node) -> Result<f64, Vec<Fault>> {
        match node.content {
            Content::Integer(n) => Ok(n as f64),
            Content::Float(x) if x.is_finite() => Ok(x),
            Content::Float(x) => Err(one_fault(node, format!("`{x}` is no number to reckon with"))),
            _ => Err(one_fault(node, format!("{} is not a number", node.found()))),
        }
    }
    fn dummy() -> f64 {
        1.0
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for Share {
    const SHAPE: &'static str = "a share between 0 and 1, such as `0.9` or `90%`";
    fn read(node: &Node) -> Result<Share, Vec<Fault>> {
        if let Content::Text(_) = node.content {
            let words = words(node, "a share")?;
            return parse_share(words).map(Share).map_err(|why| one_fault(node, why));
        }
        match f64::read(node)? {
            x if (0.0..=1.0).contains(&x) => Ok(Share(x)),
            x if (1.0..=100.0).contains(&x) => Err(one_fault(
                node,
                format!("`{x}` is more than the whole: write `\"{x}%\"` if you mean percent"),
            )),
            x => Err(one_fault(node, format!("`{x}` is not between 0 and 1"))),
        }
    }
    fn dummy() -> Share {
        Share(0.0)
    }
    fn show(&self) -> String {
        self.0.to_string()
    }
}

impl Value for String {
    const SHAPE: &'static str = "text in quotes";
    fn read(node: &Node) -> Result<String, Vec<Fault>> {
        match &node.content {
            Content::Text(text) => Ok(text.clone()),
            _ => Err(one_fault(node, format!("{} is not text", node.found()))),
        }
    }
    fn dummy() -> String {
        String::new()
    }
    fn show(&self) -> String {
        format!("\"{self}\"")
    }
}

impl Value for bool {
    const SHAPE: &'static str = "`true` or `false`, without quotes";
    fn read(node: &Node) -> Result<bool, Vec<Fault>> {
        match node.content {
            Content::Flag(flag) => Ok(flag),
            _ => Err(one_fault(node, format!("{} is neither true nor false", node.found()))),
        }
    }
    fn dummy() -> bool {
        false
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for Limit {
    const SHAPE: &'static str = "a whole number such as `100`, or `unlimited`";
    fn read(node: &Node) -> Result<Limit, Vec<Fault>> {
        match &node.content {
            Content::Text(text) if text == "unlimited" => Ok(Limit(None)),
            _ => u64::read(node).map(|n| Limit(Some(n))),
        }
    }
    fn dummy() -> Limit {
        Limit(None)
    }
    fn show(&self) -> String {
        self.0.map_or("\"unlimited\"".into(), |n| n.to_string())
    }
}

impl<T: Value> Value for At<T> {
    const SHAPE: &'static str = T::SHAPE;
    fn read(node: &Node) -> Result<At<T>, Vec<Fault>> {
        Ok(At { value: T::read(node)?, span: node.span.clone() })
    }
    fn dummy() -> At<T> {
        At { value: T::dummy(), span: 0..0 }
    }
    fn show(&self) -> String {
        self.value.show()
    }
}

/// A list; every wrong item is a fault of its own.
impl<T: Value> Value for Vec<T> {
    const SHAPE: &'static str = "a list in brackets";
    fn read(node: &Node) -> Result<Vec<T>, Vec<Fault>> {
        let Content::Array(items) = &node.content else {
            return Err(one_fault(node, format!("{} is not a list: put it in brackets", node.found())));
        };
        let (mut values, mut faults) = (Vec::with_capacity(items.len()), Vec::new());
        for item in items {
            match T::read(item) {
                Ok(value) => values.push(value),
                Err(wrong) => faults.extend(wrong),
            }
        }
        if faults.is_empty() { Ok(values) } else { Err(faults) }
    }
    fn dummy() -> Vec<T> {
        Vec::new()
    }
    fn show(&self) -> String {
        let items: Vec<String> = self.iter().map(T::show).collect();
        format!("[{}]", items.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Name;
    use super::*;

    fn read<T: Value>(content: Content) -> Result<T, String> {
        T::read(&Node { span: 0..1, content }).map_err(|faults| faults[0].what.clone())
    }
    fn text(text: &str) -> Content {
        Content::Text(text.into())
    }

    #[test]
    fn a_number_without_its_unit_is_told_which_to_add() {
        assert_eq!(
            read::<Rate>(Content::Integer(40)).unwrap_err(),
            "`40` is a number without a unit: write `\"40/s\"`"
        );
        assert_eq!(
            read::<Nanos>(Content::Float(1.5)).unwrap_err(),
            "`1.5` is a number without a unit: write `\"1.5s\"`"
        );
    }

    #[test]
    fn counts_are_bounded_and_bounds_may_be_absent() {
        assert_eq!(read::<u64>(text("150k")), Ok(150_000));
        assert!(read::<u64>(Content::Integer(1 << 63)).unwrap_err().contains("more than"));
        assert!(read::<u64>(Content::Integer(-1)).unwrap_err().contains("negative"));
        assert!(read::<u32>(Content::Float(1.5)).unwrap_err().contains("whole"));
        assert_eq!(read::<Limit>(text("unlimited")), Ok(Limit(None)));
        assert_eq!(read::<Limit>(Content::Integer(3)), Ok(Limit(Some(3))));
    }

    #[test]
    fn what_is_not_finite_is_no_number() {
        assert!(read::<f64>(Content::Float(f64::NAN)).is_err());
        assert!(read::<Share>(Content::Float(f64::INFINITY)).is_err());
        assert!(read::<Share>(Content::Integer(50)).unwrap_err().contains("\"50%\""));
    }

    #[test]
    fn every_wrong_item_of_a_list_is_named() {
        let item = |at, content| Node { span: at..at + 1, content };
        let list = Content::Array(vec![item(1, text("a")), item(2, Content::Integer(1)), item(3, text("B"))]);
        let faults = Vec::<Name>::read(&Node { span: 0..9, content: list }).unwrap_err();
        assert_eq!(faults.iter().map(|f| f.span.start).collect::<Vec<_>>(), [2, 3]);
    }
}
