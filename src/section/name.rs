//! Names of parts, as files and tables bear them.

use super::node::{Node, quote};
use super::value::{Fault, Value, one_fault};

/// A name that tables and CSV readers can bear.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(pub String);

impl Name {
    /// Says what is wrong with `text` as a name.
    pub fn check(text: &str) -> Result<(), String> {
        let shown = quote(text);
        if text.is_empty() {
            return Err("a name is empty".into());
        }
        if text.len() > 64 {
            return Err(format!("the name {shown} has more than 64 characters"));
        }
        if ["na", "nan", "null", "none", "true", "false", "inf"].contains(&text) {
            return Err(format!("{shown} is no name: readers of CSV files take it for a missing value"));
        }
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
        if text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(fits) {
            return Ok(());
        }
        Err(format!("{shown} is no name"))
    }
}

impl Value for Name {
    const SHAPE: &'static str =
        "a lower-case word of letters, digits, `_` and `-` that begins with a letter, at most 64 long";
    fn read(node: &Node) -> Result<Name, Vec<Fault>> {
        let text = String::read(node)?;
        Name::check(&text).map_err(|why| one_fault(node, why))?;
        Ok(Name(text))
    }
    fn dummy() -> Name {
        Name("unnamed".into())
    }
    fn show(&self) -> String {
        format!("\"{}\"", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_csv_readers_leave_alone() {
        assert!(Name::check("a-b_2").is_ok());
        for wrong in ["", "2x", "A", "nan", "a.b", "a b", &"x".repeat(65)] {
            assert!(Name::check(wrong).is_err(), "{wrong}");
        }
    }
}
