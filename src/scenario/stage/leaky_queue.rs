//! `kind = "leaky_queue"`.

use super::options::{keeping, max_wait};
use super::{Kind, Page, StageSpec};
use crate::limiter::sentinel_pacer::SentinelPacer;
use crate::limiter::smooth_pacer::SmoothPacer;
use crate::limiter::uber_pacer::UberPacer;
use crate::section::{Section, Value};
use crate::time::Nanos;
use crate::units::Rate;

pub(super) const KIND: Kind = Kind {
    name: "leaky_queue",
    about: "lets calls start in equal gaps, each waiting for its turn",
    page: PAGE,
    read,
};

const PAGE: Page = Page {
    question: "Can bursts be smoothed away, so that work starts at an even pace?",
    formula: "turn ← max(now, turn + n / rate); the ask starts at its turn, or is refused if that is more than \
        max_wait away. In a window W about rate · W start, and with Uber up to slack more.",
    source: "Sentinel, `ThrottlingController`; uber-go/ratelimit, `limiter_atomic_int64.go`; Failsafe's smooth \
        rate limiter",
    dialects: &[
        (
            "sentinel",
            "gaps in whole milliseconds if the rate fits them, else nanoseconds; turns nobody took are lost",
        ),
        (
            "uber",
            "gaps in whole nanoseconds; never refuses; up to `slack` turns that nobody took are made up for at \
        once",
        ),
        ("failsafe", "turns lie on a grid from the start; `max_wait` is `unlimited` unless given"),
    ],
    examples: &[
        r#"{ kind = "leaky_queue", rate = "10/s" }"#,
        r#"{ kind = "leaky_queue", rate = "10/s", dialect = "uber", slack = 10 }"#,
        r#"{ kind = "leaky_queue", rate = "10/s", dialect = "failsafe" }"#,
    ],
};

#[derive(Clone, Copy, PartialEq)]
enum Dialect {
    Sentinel,
    Uber,
    Failsafe,
}

/// How long Sentinel lets wait unless told.
const SENTINEL_WAIT: Nanos = Nanos::millis(500);

fn read(s: &mut Section) -> StageSpec {
    let dialects =
        [("sentinel", Dialect::Sentinel), ("uber", Dialect::Uber), ("failsafe", Dialect::Failsafe)];
    let dialect = s.one_of("dialect", &dialects, Some(Dialect::Sentinel), "whose arithmetic");
    let rate: Rate = s.need("rate", "how many turns there are");
    if s.is_description() {
        slack(s);
    }
    match dialect {
        Dialect::Sentinel => {
            let max_wait = max_wait(s, Some(SENTINEL_WAIT)).unwrap_or(Nanos(u64::MAX));
            let pacer = SentinelPacer::new(rate, max_wait);
            if !pacer.paces() {
                too_fast(s);
            }
            keeping(s, pacer)
        }
        Dialect::Uber => {
            let slack = slack(s);
            let pacer = UberPacer::new(rate, slack).unwrap_or_else(|| {
                too_fast(s);
                UberPacer::new(Value::dummy(), slack).expect("one per second paces")
            });
            keeping(s, pacer)
        }
        Dialect::Failsafe => {
            let max_wait = max_wait(s, None);
            let pacer = SmoothPacer::new(rate, max_wait).unwrap_or_else(|| {
                too_fast(s);
                SmoothPacer::new(Value::dummy(), max_wait).expect("one per second paces")
            });
            keeping(s, pacer)
        }
    }
}

fn slack(s: &mut Section) -> u64 {
    s.get_or("slack", 10u32, "how many turns that nobody took are kept").into()
}

fn too_fast(s: &Section) {
    let what = format!("`{}` is more than one per nanosecond, which its gaps can't pace", s.path_of("rate"));
    s.problem("rate", what, "write `1000M/s` or less");
}
