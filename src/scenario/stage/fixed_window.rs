//! `kind = "fixed_window"`.

use super::options::{boxed, keeping, limit_and_window, max_wait};
use super::{Kind, Page, StageSpec};
use crate::limiter::clamped::Clamped;
use crate::limiter::fixed_window::{FixedWindow, Opens};
use crate::limiter::ticks::Ticks;
use crate::section::Section;
use crate::time::Nanos;
use std::sync::Arc;

pub(super) const KIND: Kind = Kind {
    name: "fixed_window",
    about: "lets so many pass in each window, and begins the next anew",
    page: PAGE,
    read,
};

const PAGE: Page = Page {
    question: "How many may pass in each minute, hour or day of the clock?",
    formula: "The window is ⌊now / W⌋; a new one begins with count 0. An ask of n passes if count + n ≤ limit, and adds \
        n; else it waits for the window's end. Across a boundary 2 · limit pass within one length of the \
        window.",
    source: "The counter that every store can keep (Redis, INCR and EXPIRE); tower's `RateLimit`; Resilience4j, \
        `AtomicRateLimiter`",
    dialects: &[
        ("exact", "windows aligned to the clock, or opened by the first ask after the last one (`opens`)"),
        (
            "redis_countdown",
            "opened by the first hit; counts down, and a clock that steps back opens a new window",
        ),
        (
            "resilience4j",
            "cycles from the start; what comes too early takes from later cycles and starts there, at most \
        `max_wait` later",
        ),
        ("tower", "opened by the first hit; a window is over at its last instant; only what passes counts"),
    ],
    examples: &[
        r#"{ kind = "fixed_window", limit = 10, window = "1s" }"#,
        r#"{ kind = "fixed_window", limit = 10, window = "1s", count_rejected = true }"#,
        r#"{ kind = "fixed_window", limit = 10, window = "1s", opens = "first_hit" }"#,
        r#"{ kind = "fixed_window", limit = 10, window = "1s", dialect = "redis_countdown" }"#,
        r#"{ kind = "fixed_window", limit = 10, window = "1s", dialect = "resilience4j" }"#,
        r#"{ kind = "fixed_window", limit = 10, window = "1s", dialect = "tower" }"#,
    ],
};

#[derive(Clone, Copy, PartialEq)]
enum Dialect {
    Exact,
    RedisCountdown,
    Resilience4j,
    Tower,
}

/// How long Resilience4j lets wait unless told.
const RESILIENCE4J_WAIT: Nanos = Nanos::secs(5);

fn read(s: &mut Section) -> StageSpec {
    const DIALECTS: [(&str, Dialect); 4] = [
        ("exact", Dialect::Exact),
        ("redis_countdown", Dialect::RedisCountdown),
        ("resilience4j", Dialect::Resilience4j),
        ("tower", Dialect::Tower),
    ];
    let dialect = s.one_of("dialect", &DIALECTS, Some(Dialect::Exact), "whose windows");
    let (limit, window) = limit_and_window(s);
    if dialect == Dialect::Resilience4j || s.is_description() {
        let max_wait = max_wait(s, Some(RESILIENCE4J_WAIT));
        if !s.is_description() {
            let cycles = Ticks {
                quantum: limit,
                period: window,
                burst: limit,
                initial: limit,
                max_wait,
                holds: "limit",
            };
            return boxed(s, Arc::new(cycles), false);
        }
    }
    let usual = if dialect == Dialect::Exact { Opens::Aligned } else { Opens::FirstHit };
    let words = [("aligned", Opens::Aligned), ("first_hit", Opens::FirstHit)];
    let opens = s.one_of(
        "opens",
        &words,
        Some(usual),
        "what begins a window: the clock, or the first ask after the last",
    );
    if dialect != Dialect::Exact && opens == Opens::Aligned {
        let what = format!(
            "`{}` contradicts the dialect, whose windows are opened by the first hit",
            s.path_of("opens")
        );
        s.problem("opens", what, "take one out");
    }
    let count_rejected = s.get_or("count_rejected", false, "whether what is refused counts too");
    if dialect == Dialect::Tower && count_rejected {
        let what =
            format!("`{}` contradicts the dialect, which counts what passes", s.path_of("count_rejected"));
        s.problem("count_rejected", what, "take one out");
    }
    let spread = s.get_or("spread", false, "whether what passes is spread over the rest of its window");
    let restarts = dialect == Dialect::RedisCountdown;
    let rule = FixedWindow { limit, window, opens, count_rejected, spread, restarts };
    // Tower's clock is monotonic.
    if dialect == Dialect::Tower { keeping(s, Clamped(rule)) } else { keeping(s, rule) }
}
