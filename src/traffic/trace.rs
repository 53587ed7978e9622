//! Replay of a trace: a CSV file with one row per call.
//!
//! The first row of the file (with `sort`, the earliest) is the trace's time 0. `from` and `until` cut a window out
//! of the trace's time, whose start becomes the start of the run; `speed` then divides what is left, rounded down to
//! the nanosecond. Rows at one instant keep their order. The whole file is checked once, in one pass, before a run
//! begins; the replay reads it again, row by row, and fails if it is no longer the same file. Only `sort` holds it in
//! memory.

mod clock;
mod hashed;
mod inspect;
mod replay;
mod rows;
#[cfg(test)]
mod tests;

pub use clock::TimeUnit;
pub use replay::TraceSource;

use crate::time::{Nanos, SimTime};
use crate::units::MAX_LENGTH;
use std::path::PathBuf;

/// Which file, which of its columns mean what, and which part of it is replayed how fast.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSpec {
    /// Where the file lies.
    pub file: PathBuf,
    /// What results call it: its base name.
    pub name: String,
    /// The column of the time.
    pub time: String,
    /// How the time is written; guessed from the column's name or the first value if absent.
    pub time_unit: Option<TimeUnit>,
    /// The column of tokens sent.
    pub input_tokens: Option<String>,
    /// The column of tokens answered.
    pub output_tokens: Option<String>,
    /// The column of the most tokens that the answer may have.
    pub max_output_tokens: Option<String>,
    /// The column of the tenant's name.
    pub tenant: Option<String>,
    /// The column of the user's name.
    pub user: Option<String>,
    /// The column of the feature's name.
    pub feature: Option<String>,
    /// How many times as fast as recorded.
    pub speed: Speed,
    /// The first instant of the trace that is replayed; its beginning if absent.
    pub from: Option<Nanos>,
    /// The first instant of the trace that no longer is; none if absent.
    pub until: Option<Nanos>,
    /// Whether rows may come in any order.
    pub sort: bool,
}

impl TraceSpec {
    /// All of a file, as fast as recorded, its times in a column `time`, nothing else read.
    pub fn of(file: PathBuf) -> TraceSpec {
        let name = file.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
        TraceSpec {
            file,
            name,
            time: "time".into(),
            time_unit: None,
            input_tokens: None,
            output_tokens: None,
            max_output_tokens: None,
            tenant: None,
            user: None,
            feature: None,
            speed: Speed::ONE,
            from: None,
            until: None,
            sort: false,
        }
    }
}

/// What a trace was found to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFacts {
    /// SHA-256 of the file's bytes, in hexadecimal.
    pub sha256: String,
    /// Rows in the file.
    pub rows: u64,
    /// Rows in the window that is replayed.
    pub kept: u64,
    /// When the first of them arrives in the run.
    pub first: SimTime,
    /// When the last of them arrives in the run.
    pub last: SimTime,
    /// The tenants' names in the order of their numbers, which is that of the alphabet.
    pub tenants: Vec<String>,
    /// The users' names in the order of their numbers.
    pub users: Vec<String>,
    /// The features' names in the order of their numbers.
    pub features: Vec<String>,
    /// How the time is written.
    unit: TimeUnit,
    /// The time of the first row, in nanoseconds on the trace's own clock.
    origin: i64,
}

/// How many times as fast as recorded: an exact fraction above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    over: u64,
    under: u64,
}

impl Speed {
    /// As fast as recorded.
    pub const ONE: Speed = Speed { over: 1, under: 1 };

    /// Reads a decimal number: `2`, `0.5`, `1.25`.
    pub fn parse(text: &str) -> Result<Speed, String> {
        let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
        let digits = format!("{whole}{fraction}");
        let over = match digits.parse::<u64>() {
            Ok(over) if digits.len() <= 18 && digits.bytes().all(|b| b.is_ascii_digit()) => over,
            _ => return Err(format!("`{text}` is no speed: write a number as in `2` or `0.5`")),
        };
        if over == 0 {
            return Err(format!(
                "`{text}` is a speed of 0, at which nothing ever arrives: write a larger one"
            ));
        }
        Ok(Speed { over, under: 10u64.pow(fraction.len() as u32) })
    }

    /// How long `length` takes at this speed, rounded down to the nanosecond, if that is not too long.
    fn scale(self, length: Nanos) -> Option<Nanos> {
        if self == Speed::ONE {
            return Some(length).filter(|length| *length <= MAX_LENGTH);
        }
        let scaled = length.0 as u128 * self.under as u128 / self.over as u128;
        u64::try_from(scaled).ok().map(Nanos).filter(|scaled| *scaled <= MAX_LENGTH)
    }
}

/// Where a row falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fall {
    /// Before the window.
    Before,
    /// In it, at this instant of the run.
    At(SimTime),
    /// After the window.
    After,
    /// Further from the first row than a run can last.
    TooFar,
}

impl TraceSpec {
    /// Where a row at `ns` falls when the first row is at `origin`.
    fn fall(&self, origin: i64, ns: i64) -> Fall {
        let Some(since) = ns.checked_sub(origin).and_then(|d| u64::try_from(d).ok()).map(Nanos) else {
            return Fall::TooFar;
        };
        if since < self.from.unwrap_or(Nanos::ZERO) {
            return Fall::Before;
        }
        if self.until.is_some_and(|until| until <= since) {
            return Fall::After;
        }
        let into_window = Nanos(since.0 - self.from.map_or(0, |from| from.0));
        self.speed.scale(into_window).map_or(Fall::TooFar, |at| Fall::At(SimTime(at.0)))
    }
}
