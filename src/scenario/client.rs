//! Clients as files describe them.

use crate::client::backoff::{Exponential, Jitter};
use crate::client::{Failure, Failures};
use crate::section::{At, Section, Share, quote};
use crate::time::Nanos;

/// What a caller does around each call.
#[derive(Clone, Debug)]
pub struct Client {
    /// Its name.
    pub name: String,
    /// How long it waits for one attempt; `None` is for ever.
    pub timeout: Option<Nanos>,
    /// Whether work that has started is taken back when the caller stops waiting.
    pub cancel: bool,
    /// Retries; `None` gives up at once.
    pub retry: Option<Retry>,
}

/// When and how often a client tries again.
#[derive(Clone, Debug)]
pub struct Retry {
    /// Attempts in all, the first included.
    pub max_attempts: u32,
    /// What is tried again.
    pub on: Failures,
    /// The wait before each retry.
    pub backoff: Exponential,
    /// What bounds the retries of all this client's calls together.
    pub budget: Option<Budget>,
}

/// A retry budget.
#[derive(Clone, Debug, PartialEq)]
pub enum Budget {
    /// Finagle's: a share of recent calls and a few per second.
    Finagle {
        /// Retries per call.
        ratio: f64,
        /// How long a call counts.
        ttl: Nanos,
        /// Retries per second that need no call.
        min_per_second: u32,
    },
}

impl Client {
    /// Reads and finishes `[client.NAME]`.
    pub fn read(name: String, mut s: Section) -> Client {
        let timeout = s.get("timeout", "how long it waits for one attempt; for ever unless said");
        not_zero(&s, "timeout", timeout);
        let client = Client {
            name,
            timeout,
            cancel: s.get_or(
                "cancel",
                false,
                "whether started work is taken back when the caller stops waiting",
            ),
            retry: s.section("retry", "retries; none unless said").map(Retry::read),
        };
        if client.cancel && timeout.is_none() && !s.has("timeout") {
            let what = format!("`{}` never comes to pass without a timeout", s.path_of("cancel"));
            s.warning("cancel", what, "add `timeout`, or take it out");
        }
        s.finish();
        client
    }
}

impl Retry {
    fn read(mut s: Section) -> Retry {
        let max_attempts = s.need("max_attempts", "attempts in all, the first included");
        if s.has("max_attempts") && !(1..=1_000).contains(&max_attempts) {
            let what = format!("`{}` is {max_attempts}", s.path_of("max_attempts"));
            s.problem(
                "max_attempts",
                what,
                "write a number between 1 and 1000: it counts the first attempt too",
            );
        }
        let retry = Retry {
            max_attempts,
            on: failures(&mut s),
            backoff: backoff(&mut s),
            budget: s
                .section("budget", "bounds the retries of all calls together; none unless said")
                .map(Budget::read),
        };
        s.finish();
        retry
    }
}

fn failures(s: &mut Section) -> Failures {
    let usual = ["429", "503", "timeout"].map(|name| At { value: name.to_string(), span: 0..0 });
    let words = s.get_or("on", usual.to_vec(), "what is tried again: 429, 503, 500 (or error), timeout");
    let mut on = Vec::new();
    for At { value: word, span } in words {
        match Failure::NAMES.iter().find(|(name, _)| *name == word) {
            Some((_, failure)) => on.push(*failure),
            None => {
                let what = format!("`{}` holds {}, which is no outcome", s.path_of("on"), quote(&word));
                let remedy = s.log().suggest(&word, Failure::NAMES.iter().map(|(name, _)| *name));
                s.log().error(span, what, remedy);
            }
        }
    }
    on.into_iter().collect()
}

fn backoff(s: &mut Section) -> Exponential {
    const DEFAULT: Exponential =
        Exponential { base: Nanos::millis(100), factor: 2.0, max: Nanos::secs(10), jitter: Jitter::Full };
    let Some(mut table) =
        s.section("backoff", "wait before each retry: 100 ms doubling up to 10 s, full jitter")
    else {
        return DEFAULT;
    };
    let base = table.need("base", "wait before the first retry");
    let backoff = Exponential {
        base,
        factor: table.get_or("factor", 2.0, "growth from one retry to the next"),
        max: table.get("max", "longest wait; none unless said").unwrap_or(crate::units::MAX_LENGTH),
        jitter: table.one_of("jitter", &Jitter::NAMES, Some(Jitter::None), "how a wait is spread"),
    };
    if !(1.0..=1_000.0).contains(&backoff.factor) {
        let what = format!("`{}` is {}", table.path_of("factor"), backoff.factor);
        table.problem("factor", what, "write a number between 1 and 1000");
    }
    if backoff.max < backoff.base {
        let what = format!("`{}` is less than `base`", table.path_of("max"));
        table.problem("max", what, "raise `max` or lower `base`");
    }
    table.finish();
    backoff
}

impl Budget {
    fn read(mut s: Section) -> Budget {
        s.one_of("kind", &[("finagle", ())], Some(()), "which budget");
        let ratio: Share = s.need("ratio", "retries as a share of calls");
        let ttl = s.get_or("ttl", Nanos::secs(10), "how long a call counts");
        let min_per_second = s.get_or("min_per_second", 10, "retries per second that need no call");
        if !(Nanos::SECOND..=Nanos::secs(3_600)).contains(&ttl) {
            s.problem("ttl", format!("`{}` is {ttl}", s.path_of("ttl")), "write a length between 1s and 1h");
        }
        s.finish();
        Budget::Finagle { ratio: ratio.0, ttl, min_per_second }
    }
}

/// A length that is given must not be zero.
pub(super) fn not_zero(s: &Section, key: &str, length: Option<Nanos>) {
    if length == Some(Nanos::ZERO) {
        s.problem(key, format!("`{}` is 0", s.path_of(key)), "write a length above 0, or take it out");
    }
}
