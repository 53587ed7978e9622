//! Checks that several readers of stages share: numbers within bounds, and pairs in order.

use crate::section::Section;
use std::fmt::Display;

/// A number that must lie from `least` to `most`.
pub(in crate::scenario) fn within<T: PartialOrd + Display>(
    s: &mut Section,
    key: &str,
    value: T,
    least: T,
    most: T,
) -> T {
    if !(least <= value && value <= most) {
        s.problem(key, format!("`{}` is {value}", s.path_of(key)), format!("write {least} to {most}"));
    }
    value
}

/// Two numbers of which the first may not be above the second.
pub(in crate::scenario) fn in_order<T: PartialOrd + Display>(s: &Section, low: (&str, T), high: (&str, T)) {
    if high.1 < low.1 {
        let what = format!("`{}` is {}, above `{}`, which is {}", s.path_of(low.0), low.1, high.0, high.1);
        s.problem(low.0, what, "write the smaller number first");
    }
}
