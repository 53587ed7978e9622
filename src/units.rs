//! Exact quantities and how people write them: rates, lengths, shares.

use crate::time::Nanos;
use std::fmt;

/// A rate as a reduced fraction: `units` per `per` nanoseconds. Never zero, never infinite, both at most 2^62.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    units: u64,
    per: u64,
}

impl Rate {
    /// `units` per `per`, reduced; `None` if either is zero, or more than 2^62 when reduced.
    pub fn new(units: u64, per: Nanos) -> Option<Rate> {
        if units == 0 || per.0 == 0 {
            return None;
        }
        let divisor = gcd(units, per.0);
        let rate = Rate { units: units / divisor, per: per.0 / divisor };
        (rate.units.max(rate.per) <= MAX_TERM).then_some(rate)
    }

    /// Units of the reduced fraction.
    pub fn units(self) -> u64 {
        self.units
    }

    /// Nanoseconds of the reduced fraction.
    pub fn per(self) -> Nanos {
        Nanos(self.per)
    }

    /// Units per second, for statistics and reports.
    pub fn per_second(self) -> f64 {
        self.units as f64 * 1e9 / self.per as f64
    }

    /// Units per nanosecond, for distributions.
    pub fn per_nano(self) -> f64 {
        self.units as f64 / self.per as f64
    }
}

/// The most that either part of a reduced rate may be. It times any instant, or any amount, fits 127 bits.
const MAX_TERM: u64 = 1 << 62;

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Units per second with what decimals it needs: `0.5/s`, `40/s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.per_second())
    }
}

/// A decimal number as an exact fraction, `numerator / 10^decimals`: `"1.5k"` is 15000 / 10^1.
struct Decimal {
    numerator: u128,
    scale: u128,
}

/// Splits `text` into its leading decimal number and the rest, trimmed.
fn decimal(text: &str) -> Result<(Decimal, &str), String> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let digits: String = number.chars().filter(|c| *c != '_').collect();
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    if whole.is_empty() || fraction.contains('.') || (digits.contains('.') && fraction.is_empty()) {
        let shown =
            if text.starts_with('-') { "a negative number is not allowed" } else { "a number is missing" };
        return Err(format!("{shown} in `{text}`"));
    }
    // 10^20 times the longest unit or the largest multiplier stays far inside 128 bits.
    if whole.len() + fraction.len() > 20 || fraction.len() > 15 {
        return Err(format!("`{number}` has too many digits"));
    }
    let numerator: u128 = format!("{whole}{fraction}").parse().expect("digits only, at most 20 of them");
    Ok((Decimal { numerator, scale: 10u128.pow(fraction.len() as u32) }, rest.trim()))
}

/// Nanoseconds of a unit's name, if it is one.
fn unit_of_time(name: &str) -> Option<u64> {
    Some(match name {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" | "sec" | "second" | "seconds" => 1_000_000_000,
        "m" | "min" | "minute" | "minutes" => 60_000_000_000,
        "h" | "hour" | "hours" => 3_600_000_000_000,
        "d" | "day" | "days" => 86_400_000_000_000,
        _ => return None,
    })
}

/// Reads a length: `500ms`, `1h30m`, `1.5s`. Every number needs its unit; the result is exact.
pub fn parse_nanos(text: &str) -> Result<Nanos, String> {
    let mut rest = text.trim();
    let mut total: u128 = 0;
    if rest.is_empty() {
        return Err("an empty length: write for example `500ms`".into());
    }
    while !rest.is_empty() {
        let (number, after) = decimal(rest)?;
        let end =
            after.find(|c: char| c.is_ascii_digit() || c == '.' || c.is_whitespace()).unwrap_or(after.len());
        let (name, next) = after.split_at(end);
        if name.is_empty() {
            return Err(format!("`{text}` has no unit: write `{}s` or `{}ms`", text.trim(), text.trim()));
        }
        let unit = unit_of_time(name)
            .ok_or_else(|| format!("`{name}` is no unit of time: use ns, us, ms, s, m, h or d"))?;
        let scaled = number.numerator * unit as u128;
        if !scaled.is_multiple_of(number.scale) {
            return Err(format!("`{text}` is finer than a nanosecond"));
        }
        total += scaled / number.scale;
        rest = next.trim_start();
    }
    u64::try_from(total)
        .ok()
        .filter(|n| *n <= MAX_LENGTH.0)
        .map(Nanos)
        .ok_or_else(|| format!("`{text}` is longer than {} days", MAX_LENGTH.0 / 86_400_000_000_000))
}

/// The longest length that a file may name: 36,525 days, a century. Sums of a few of them stay representable.
pub const MAX_LENGTH: Nanos = Nanos(36_525 * 86_400_000_000_000);

/// The multiplier of a suffix `k`, `M` or `G` in front of the rest of a unit.
fn multiplier(text: &str) -> (u128, &str) {
    for (prefix, factor) in [("k", 1_000), ("K", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)] {
        if let Some(rest) = text.strip_prefix(prefix) {
            return (factor, rest.trim_start());
        }
    }
    (1, text)
}

/// Reads a rate: `40/s`, `60k/min`, `30r/m`, `10/500ms`, `90k tpm`, `600 rpm`, `5 rps`. The result is exact.
pub fn parse_rate(text: &str) -> Result<Rate, String> {
    let (units, scale, per) = over_time(text)?;
    // units / scale per `per` = units per (per × scale), reduced before it is narrowed.
    let per = per.0 as u128 * scale;
    let divisor = gcd_wide(units, per);
    if units == 0 {
        return Err(format!("`{text}` is a rate of 0, which nothing ever passes"));
    }
    match (u64::try_from(units / divisor), u64::try_from(per / divisor)) {
        (Ok(units), Ok(per)) if units.max(per) <= MAX_TERM => Ok(Rate { units, per }),
        _ => Err(format!("`{text}` has more digits than a rate can hold")),
    }
}

/// Reads a rate as it is written, so many whole units for each length: `20/1000ms` is not `1/50ms`. It may be 0.
pub fn parse_quota(text: &str) -> Result<(u64, Nanos), String> {
    let (units, scale, per) = over_time(text)?;
    if units % scale != 0 {
        return Err(format!("`{text}` brings a part of a unit: write whole ones for a longer time"));
    }
    match u64::try_from(units / scale) {
        Ok(units) if units <= MAX_AMOUNT => Ok((units, per)),
        _ => Err(format!("`{text}` has more digits than a rate can hold")),
    }
}

/// Units over a power of ten, and the length that they are for.
fn over_time(text: &str) -> Result<(u128, u128, Nanos), String> {
    let (number, rest) = decimal(text)?;
    let (factor, rest) = multiplier(rest);
    let per = match rest {
        "rps" | "qps" | "tps" => Nanos::SECOND,
        "rpm" | "tpm" | "qpm" => Nanos(60_000_000_000),
        "rph" | "tph" => Nanos(3_600_000_000_000),
        "rpd" | "tpd" => Nanos(86_400_000_000_000),
        _ => per_unit(text, rest)?,
    };
    Ok((number.numerator * factor, number.scale, per))
}

/// The length after the slash of a rate.
fn per_unit(text: &str, rest: &str) -> Result<Nanos, String> {
    let Some((thing, unit)) = rest.split_once('/') else {
        return Err(format!(
            "`{text}` has no unit of time: write for example `{}/s` or `{}/min`",
            text.trim(),
            text.trim()
        ));
    };
    let thing = thing.trim();
    if !(thing.is_empty() || ["r", "req", "requests", "t", "tok", "tokens", "calls"].contains(&thing)) {
        return Err(format!(
            "`{thing}` in `{text}` is not understood: write a number, k or M before the slash"
        ));
    }
    let unit = unit.trim();
    match unit_of_time(unit) {
        Some(nanos) => Ok(Nanos(nanos)),
        None => match parse_nanos(unit) {
            Ok(Nanos(0)) => Err(format!("`{text}` is a rate over no time")),
            // What begins with a number is a length with something wrong.
            Err(why) if unit.starts_with(|c: char| c.is_ascii_digit()) => Err(why),
            Err(_) => {
                Err(format!("`{unit}` is no unit of time: use s, min, h, d, or a length as in `10/500ms`"))
            }
            Ok(nanos) => Ok(nanos),
        },
    }
}

fn gcd_wide(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Reads a share: `90%` or `0.9`, between 0 and 1.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let (number, rest) = decimal(text)?;
    let hundredths = match rest {
        "%" => 100,
        "" => 1,
        _ => return Err(format!("`{text}` is no share: write `90%` or `0.9`")),
    };
    let share = number.numerator as f64 / (number.scale * hundredths) as f64;
    if share <= 1.0 {
        Ok(share)
    } else {
        Err(format!("`{text}` is more than the whole: a share lies between 0% and 100%"))
    }
}

/// Reads a count: `1200`, `150k`, `1.5M`, at most 10^15. The result is exact.
pub fn parse_count(text: &str) -> Result<u64, String> {
    whole(text, MAX_COUNT)
}

/// Reads an amount that a limit holds: as a count, but up to 2^63.
pub fn parse_amount(text: &str) -> Result<u64, String> {
    whole(text, MAX_AMOUNT)
}

fn whole(text: &str, most: u64) -> Result<u64, String> {
    let (number, rest) = decimal(text)?;
    let (factor, rest) = multiplier(rest);
    if !rest.is_empty() {
        return Err(format!(
            "`{rest}` in `{text}` is not understood: write a whole number, with k or M if you like"
        ));
    }
    let scaled = number.numerator * factor;
    if scaled % number.scale != 0 {
        return Err(format!("`{text}` is not a whole number"));
    }
    u64::try_from(scaled / number.scale)
        .ok()
        .filter(|n| *n <= most)
        .ok_or_else(|| format!("`{text}` is more than {most}"))
}

/// The largest count that a file may name: 10^15, far above any limit in use, far below overflow.
pub const MAX_COUNT: u64 = 1_000_000_000_000_000;

/// The most that a limit may hold, and an ask may cost: 2^63.
pub const MAX_AMOUNT: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_exact_sums_of_numbers_with_units() {
        for (text, nanos) in [
            ("500ms", 500_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5s", 1_500_000_000),
            ("2us", 2_000),
            ("0s", 0),
        ] {
            assert_eq!(parse_nanos(text), Ok(Nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn a_length_without_a_unit_or_below_a_nanosecond_is_refused() {
        for text in ["5", "1.5", "-1s", "", "0.1ns", "1e3s", "NaN", "9223372036854775808s", "5 parsecs"] {
            assert!(parse_nanos(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_reduced_fractions() {
        for (text, units, per) in [
            ("40/s", 1, 25_000_000),
            ("60k/min", 1, 1_000_000),
            ("90k tpm", 3, 2_000_000),
            ("30r/m", 1, 2_000_000_000),
            ("0.5/s", 1, 2_000_000_000),
            ("3/s", 3, 1_000_000_000),
            ("10/500ms", 1, 50_000_000),
        ] {
            let rate = parse_rate(text).expect(text);
            assert_eq!((rate.units(), rate.per().0), (units, per), "{text}");
        }
    }

    #[test]
    fn rates_print_as_they_were_written() {
        for text in ["60/s", "40/s", "0.5/s", "7/s", "1000/s", "2.5/s"] {
            assert_eq!(parse_rate(text).expect(text).to_string(), text);
        }
    }

    #[test]
    fn a_rate_of_zero_or_without_a_time_is_refused() {
        for text in ["0/s", "5", "fast", "-3/s", "5/parsec", "5 apples/s", "1/0s"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn more_digits_than_can_be_reckoned_with_are_refused() {
        let digits = "99999999999999999999.999999999999999";
        assert!(parse_nanos(&format!("{digits}d")).is_err());
        assert!(parse_rate(&format!("{digits}G/s")).is_err());
        assert!(parse_count(&format!("{digits}G")).is_err());
    }

    #[test]
    fn shares_and_counts_are_read_with_their_signs() {
        assert_eq!(parse_share("90%"), Ok(0.9));
        assert_eq!(parse_share("0.25"), Ok(0.25));
        assert!(parse_share("120%").is_err());
        assert_eq!(parse_count("1.5k"), Ok(1_500));
        assert!(parse_count("1.5").is_err());
    }
}
