//! `kind = "sliding_counter"`.

use super::options::{keeping, limit_and_window};
use super::{Kind, Page, StageSpec};
use crate::limiter::clamped::Clamped;
use crate::limiter::sliding_counter::{Dialect, SlidingCounter};
use crate::section::Section;

pub(super) const KIND: Kind = Kind {
    name: "sliding_counter",
    about: "counts in windows, and lets the last one's count fade while the present one fills",
    page: PAGE,
    read,
};

const PAGE: Page = Page {
    question: "How many have passed in the window that ends now, as two counters can tell?",
    formula: "Estimate = last · (1 − e / W) + present, e into the present window. An ask of n passes if the \
        estimate and n are within the limit. The last window is taken for evenly spread, so what came at its \
        end is forgotten too soon: up to 2 · limit pass within one length of the window.",
    source: "Cloudflare's account of counting; upstash's ratelimit, `single.ts`; `limits` for Python, \
        `strategies.py`; RussellLuo/slidingwindow",
    dialects: &[
        ("cloudflare", "exact; passes if the estimate, the other n − 1 added, is below the limit"),
        (
            "upstash",
            "milliseconds and doubles; the last window's part is cut to whole units; asks only whether a unit \
        is left, so a large n overshoots",
        ),
        ("limits", "exact; the estimate must be below limit − n + 1, which decides as `cloudflare` does"),
        ("russellluo", "doubles; the last window's part is cut to whole units; estimate + n ≤ limit"),
    ],
    examples: &[
        r#"{ kind = "sliding_counter", limit = 10, window = "1s" }"#,
        r#"{ kind = "sliding_counter", limit = 10, window = "1s", dialect = "limits" }"#,
        r#"{ kind = "sliding_counter", limit = 10, window = "1s", dialect = "upstash" }"#,
        r#"{ kind = "sliding_counter", limit = 10, window = "1s", dialect = "russellluo" }"#,
    ],
};

fn read(s: &mut Section) -> StageSpec {
    const DIALECTS: [(&str, Dialect); 4] = [
        ("cloudflare", Dialect::Cloudflare),
        ("upstash", Dialect::Upstash),
        ("limits", Dialect::Limits),
        ("russellluo", Dialect::RussellLuo),
    ];
    let dialect = s.one_of("dialect", &DIALECTS, Some(Dialect::Cloudflare), "whose rounding and comparison");
    let (limit, window) = limit_and_window(s);
    if dialect == Dialect::Upstash && !window.0.is_multiple_of(1_000_000) {
        let what =
            format!("`{}` is no whole number of milliseconds, which upstash counts in", s.path_of("window"));
        s.problem("window", what, "write whole milliseconds");
    }
    let counter = SlidingCounter { limit, window, dialect };
    if dialect == Dialect::Cloudflare { keeping(s, counter) } else { keeping(s, Clamped(counter)) }
}
