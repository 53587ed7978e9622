//! Virtual time: instants and lengths in whole nanoseconds.
//!
//! Nothing here reads a clock. An instant counts nanoseconds since the start of the run, a length is the
//! difference of two instants; both are `u64`, which holds 584 years.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// An instant: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimTime(pub u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl SimTime {
    /// The start of the run.
    pub const ZERO: SimTime = SimTime(0);

    /// Length from `earlier` to this instant; zero if `earlier` is not earlier.
    pub fn since(self, earlier: SimTime) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// This instant moved on by `length`; the last representable instant if it would be later than that.
    pub fn saturating_add(self, length: Nanos) -> SimTime {
        SimTime(self.0.saturating_add(length.0))
    }

    /// This instant moved on by `length`, or `None` past the end of representable time.
    pub fn checked_add(self, length: Nanos) -> Option<SimTime> {
        self.0.checked_add(length.0).map(SimTime)
    }
}

impl Nanos {
    /// No time.
    pub const ZERO: Nanos = Nanos(0);
    /// One second.
    pub const SECOND: Nanos = Nanos(1_000_000_000);

    /// A length of whole seconds.
    pub const fn secs(secs: u64) -> Nanos {
        Nanos(secs * 1_000_000_000)
    }

    /// A length of whole milliseconds.
    pub const fn millis(millis: u64) -> Nanos {
        Nanos(millis * 1_000_000)
    }

    /// The one door from a float to a length: rounds to the nearest nanosecond, half away from zero.
    ///
    /// Negative and NaN become zero; what is too large becomes the longest length. Callers check their
    /// inputs at load, so that a run never meets either.
    pub fn from_f64(nanos: f64) -> Nanos {
        // `as` saturates and maps NaN to zero; adding one half and truncating is exact below 2^52, where the signed
        // conversion is the cheaper one.
        if (0.0..4_503_599_627_370_496.0).contains(&nanos) {
            Nanos((nanos + 0.5) as i64 as u64)
        } else {
            Nanos(nanos as u64)
        }
    }

    /// The length in seconds, for statistics and reports.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add<Nanos> for SimTime {
    type Output = SimTime;
    fn add(self, length: Nanos) -> SimTime {
        SimTime(self.0 + length.0)
    }
}

impl AddAssign<Nanos> for SimTime {
    fn add_assign(&mut self, length: Nanos) {
        self.0 += length.0;
    }
}

impl Sub for SimTime {
    type Output = Nanos;
    fn sub(self, earlier: SimTime) -> Nanos {
        Nanos(self.0 - earlier.0)
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0 + other.0)
    }
}

/// Seconds with nine decimals: `1.500000000`.
impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// The shortest exact form in one unit: `90s`, `1.5s`, `250ms`, `20us`, `7ns`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            0 => return f.write_str("0s"),
            n if n >= 1_000_000_000 => (1_000_000_000, "s"),
            n if n >= 1_000_000 => (1_000_000, "ms"),
            n if n >= 1_000 => (1_000, "us"),
            _ => (1, "ns"),
        };
        let (whole, rest) = (self.0 / unit, self.0 % unit);
        if rest == 0 {
            return write!(f, "{whole}{name}");
        }
        let digits = unit.ilog10() as usize;
        let rest = format!("{rest:0digits$}");
        write!(f, "{whole}.{}{name}", rest.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_round_to_the_nearest_nanosecond_and_never_wrap() {
        assert_eq!(Nanos::from_f64(1.5), Nanos(2));
        assert_eq!(Nanos::from_f64(1.4999), Nanos(1));
        assert_eq!(Nanos::from_f64(-3.0), Nanos(0));
        assert_eq!(Nanos::from_f64(f64::NAN), Nanos(0));
        assert_eq!(Nanos::from_f64(f64::INFINITY), Nanos(u64::MAX));
    }

    #[test]
    fn lengths_print_in_the_largest_unit_that_they_reach() {
        let shown: Vec<String> =
            [0, 7, 20_000, 250_000_000, 1_500_000_000, 90_000_000_000].map(|n| Nanos(n).to_string()).into();
        assert_eq!(shown, ["0s", "7ns", "20us", "250ms", "1.5s", "90s"]);
    }
}
