//! How traces write times: numbers of a unit, or dates with a time of day.

/// How a time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds, with decimals if need be.
    Seconds,
    /// Milliseconds, with decimals if need be.
    Millis,
    /// Microseconds, with decimals if need be.
    Micros,
    /// Nanoseconds.
    Nanos,
    /// `2023-11-16 18:17:03.9799600`, with `T` or a blank, at most nine decimals, then nothing, `Z` or `+01:00`.
    DateTime,
}

impl TimeUnit {
    /// Every unit with the name that files give it.
    pub const NAMES: [(&'static str, TimeUnit); 5] = [
        ("s", TimeUnit::Seconds),
        ("ms", TimeUnit::Millis),
        ("us", TimeUnit::Micros),
        ("ns", TimeUnit::Nanos),
        ("datetime", TimeUnit::DateTime),
    ];

    /// The unit that a column named `header` and its first value suggest; seconds if neither says anything.
    pub(super) fn guess(header: &str, value: &str) -> TimeUnit {
        // A minus in front is a sign, further on it stands in a date.
        if value.contains(':') || value.trim().get(1..).is_some_and(|rest| rest.contains('-')) {
            return TimeUnit::DateTime;
        }
        let suffix = header.rsplit('_').next().unwrap_or_default().to_ascii_lowercase();
        let named = TimeUnit::NAMES.into_iter().find(|(name, _)| *name == suffix && header.contains('_'));
        named.map_or(TimeUnit::Seconds, |(_, unit)| unit)
    }

    /// Nanoseconds since the clock's own zero (for dates, 1970). What is finer than a nanosecond is cut off.
    pub(super) fn read(self, text: &str) -> Result<i64, String> {
        let text = text.trim();
        let decimals = match self {
            TimeUnit::Seconds => 9,
            TimeUnit::Millis => 6,
            TimeUnit::Micros => 3,
            TimeUnit::Nanos => 0,
            TimeUnit::DateTime => return date_time(text).ok_or_else(|| not_a_date(text)),
        };
        if text.starts_with('-') {
            return Err(format!("the time `{text}` is negative"));
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) {
            return Err(format!("`{text}` is no time in {}", self.plural()));
        }
        let cut = &fraction[..fraction.len().min(decimals)];
        let scale = 10i64.pow((decimals - cut.len()) as u32);
        let number = format!("{whole}{cut}").parse::<i64>().ok().and_then(|n| n.checked_mul(scale));
        number.ok_or_else(|| format!("the time `{text}` is too large: at most 2^63 ns can be told apart"))
    }

    /// As [`TimeUnit::read`], of short numbers of digits and a point alone; `None` is to be read by that.
    pub(super) fn read_plain(self, text: &[u8]) -> Option<i64> {
        let decimals = match self {
            TimeUnit::Seconds => 9,
            TimeUnit::Millis => 6,
            TimeUnit::Micros => 3,
            TimeUnit::Nanos => 0,
            TimeUnit::DateTime => return None,
        };
        if text.is_empty() || 18 < text.len() {
            return None;
        }
        let (whole, at) = digits(text, 0);
        let Some(fraction) = text.get(at + 1..) else {
            return (at == text.len()).then_some(whole)?.checked_mul(10i64.pow(decimals));
        };
        let cut = &fraction[..fraction.len().min(decimals as usize)];
        let (number, _) = digits(cut, whole);
        let plain = 0 < at && text[at] == b'.' && fraction.iter().all(u8::is_ascii_digit);
        plain.then_some(number)?.checked_mul(10i64.pow(decimals - cut.len() as u32))
    }

    fn plural(self) -> &'static str {
        match self {
            TimeUnit::Seconds => "seconds",
            TimeUnit::Millis => "milliseconds",
            TimeUnit::Micros => "microseconds",
            TimeUnit::Nanos => "nanoseconds",
            TimeUnit::DateTime => "dates",
        }
    }
}

/// The number that `number` and the digits in front of the text make, and how many digits they are: so few that it
/// can't be too large.
#[inline]
fn digits(text: &[u8], mut number: i64) -> (i64, usize) {
    for (at, byte) in text.iter().enumerate() {
        match byte.wrapping_sub(b'0') {
            digit @ 0..10 => number = 10 * number + i64::from(digit),
            _ => return (number, at),
        }
    }
    (number, text.len())
}

fn not_a_date(text: &str) -> String {
    format!("`{text}` is no date and time as in `2023-11-16 18:17:03.97`")
}

/// Reads `YYYY-MM-DD hh:mm:ss[.fffffffff][Z|±hh:mm]`.
fn date_time(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let separators = [(4, b"-"), (7, b"-"), (13, b":"), (16, b":")];
    if bytes.len() < 19 || separators.iter().any(|(i, sign)| bytes[*i] != sign[0]) {
        return None;
    }
    if !matches!(bytes[10], b' ' | b'T' | b't') || !text.is_ascii() {
        return None;
    }
    let day = civil_day(number(&text[0..4])?, number(&text[5..7])?, number(&text[8..10])?)?;
    let time_of_day = seconds(&text[11..13], &text[14..16])? + below(60, &text[17..19])?;
    let (fraction, zone) = match text[19..].strip_prefix('.') {
        Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())),
        None => ("0", &text[19..]),
    };
    if fraction.is_empty() || 9 < fraction.len() {
        return None;
    }
    let nanos = number(fraction)? * 10i64.pow(9 - fraction.len() as u32);
    let east = match zone.as_bytes() {
        [] | [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let offset = seconds(&zone[1..3], &zone[4..6])?;
            if *sign == b'+' { offset } else { -offset }
        }
        _ => return None,
    };
    (day * 86_400 + time_of_day - east).checked_mul(1_000_000_000)?.checked_add(nanos)
}

/// A number of digits alone.
fn number(text: &str) -> Option<i64> {
    if text.is_empty() || 18 < text.len() {
        return None;
    }
    text.bytes().try_fold(0, |n, byte| byte.is_ascii_digit().then(|| 10 * n + i64::from(byte - b'0')))
}

fn below(limit: i64, text: &str) -> Option<i64> {
    number(text).filter(|n| *n < limit)
}

fn seconds(hours: &str, minutes: &str) -> Option<i64> {
    Some(below(24, hours)? * 3_600 + below(60, minutes)? * 60)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn civil_day(year: i64, month: i64, day: i64) -> Option<i64> {
    const DAYS: [i64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let index = usize::try_from(month - 1).ok().filter(|i| *i < 12)?;
    let days_in_month = DAYS[index] + (leap && month == 2) as i64;
    if year < 1 || !(1..=days_in_month).contains(&day) {
        return None;
    }
    let past = year - 1;
    let before_year = past * 365 + past / 4 - past / 100 + past / 400;
    let before_month = DAYS[..index].iter().sum::<i64>() + (leap && 2 < month) as i64;
    Some(before_year + before_month + day - 1 - DAYS_BEFORE_1970)
}

/// Days from 0001-01-01 to 1970-01-01.
const DAYS_BEFORE_1970: i64 = 719_162;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // Computed with Python's datetime, times 10^9.
        for (text, expected) in [
            ("1970-01-01 00:00:00", 0),
            ("2023-11-16 18:17:03.9799600", 1_700_158_623_979_960_000),
            ("2024-02-29T23:59:59.999999999Z", 1_709_251_199_999_999_999),
            ("2000-03-01 00:00:00+01:30", 951_863_400_000_000_000),
            ("1969-12-31T23:59:59-00:00", -1_000_000_000),
            ("2100-03-01 00:00:00.5-05:00", 4_107_560_400_500_000_000),
        ] {
            assert_eq!(TimeUnit::DateTime.read(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn dates_that_do_not_exist_are_refused() {
        for text in [
            "2023-02-29 00:00:00",
            "2023-13-01 00:00:00",
            "2023-00-01 00:00:00",
            "2023-01-00 00:00:00",
            "2023-01-01 24:00:00",
            "2023-01-01 00:60:00",
            "2023-01-01 00:00:00.",
            "2023-01-01 00:00:00.1234567890",
            "2023-01-01 00:00:00 +1",
            "2023-01-01",
            "2023-01-01 00:00:0é",
            "9999-01-01 00:00:00",
            "now",
        ] {
            assert!(TimeUnit::DateTime.read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_are_exact_in_every_unit() {
        assert_eq!(TimeUnit::Seconds.read("1.000000001"), Ok(1_000_000_001));
        assert_eq!(TimeUnit::Seconds.read(" 45 "), Ok(45_000_000_000));
        assert_eq!(TimeUnit::Seconds.read("0.30000000000000004"), Ok(300_000_000));
        assert_eq!(TimeUnit::Millis.read("1700158623979.96"), Ok(1_700_158_623_979_960_000));
        assert_eq!(TimeUnit::Micros.read("0.5"), Ok(500));
        assert_eq!(TimeUnit::Nanos.read("9223372036854775807"), Ok(i64::MAX));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "NaN", "inf", "-1", "1e9", "1,5", "9223372036854775808", "0x10", ".5", "+1"] {
            assert!(TimeUnit::Seconds.read(text).is_err(), "{text}");
        }
        assert!(TimeUnit::Nanos.read("9223372036854775808").is_err());
    }

    proptest! {
        #[test]
        fn the_short_way_says_the_same_or_nothing(text in "[0-9]{0,19}[.]?[0-9]{0,12}|[-+ .0-9e]{0,8}") {
            for (_, unit) in TimeUnit::NAMES {
                if let Some(ns) = unit.read_plain(text.as_bytes()) {
                    prop_assert_eq!(unit.read(&text), Ok(ns));
                }
            }
            if let Ok(ns) = text.parse::<u32>() {
                prop_assert_eq!(TimeUnit::Nanos.read_plain(text.as_bytes()), Some(ns as i64).filter(|_| !text.starts_with('+')));
            }
        }
    }

    #[test]
    fn the_unit_is_guessed_from_the_name_or_the_first_value() {
        assert_eq!(TimeUnit::guess("arrived_at_ms", "12"), TimeUnit::Millis);
        assert_eq!(TimeUnit::guess("TIMESTAMP", "2023-11-16 18:17:03"), TimeUnit::DateTime);
        assert_eq!(TimeUnit::guess("Timestamp", "5"), TimeUnit::Seconds);
        assert_eq!(TimeUnit::guess("ms", "5"), TimeUnit::Seconds);
        assert_eq!(TimeUnit::guess("t", "-5"), TimeUnit::Seconds);
    }
}
