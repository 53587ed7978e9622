//! `kind = "sliding_log"`.

use super::options::{keeping, limit_and_window};
use super::{Kind, Page, StageSpec};
use crate::limiter::sliding_log::SlidingLog;
use crate::section::Section;

pub(super) const KIND: Kind = Kind {
    name: "sliding_log",
    about: "lets so many pass in any window's length, by the instant of each",
    page: PAGE,
    read,
};

const PAGE: Page = Page {
    question: "How many have passed in the window that ends now, exactly?",
    formula: "The log holds the instant of every unit in (now − W, now], or with a closed edge in [now − W, \
        now]. An ask of n passes if log + n ≤ limit; else it waits until enough have left. In no window W \
        more than limit pass.",
    source: "The sorted set of instants that scripts keep in Redis; `limits` for Python calls it the moving \
        window",
    dialects: &[],
    examples: &[
        r#"{ kind = "sliding_log", limit = 10, window = "1s" }"#,
        r#"{ kind = "sliding_log", limit = 10, window = "1s", edge = "closed" }"#,
        r#"{ kind = "sliding_log", limit = 10, window = "1s", count_rejected = true }"#,
    ],
};

fn read(s: &mut Section) -> StageSpec {
    let (limit, window) = limit_and_window(s);
    let edges = [("open", false), ("closed", true)];
    let closed =
        s.one_of("edge", &edges, Some(false), "whether what is exactly a window old is out, or still counts");
    let count_rejected = s.get_or("count_rejected", false, "whether what is refused is logged too");
    keeping(s, SlidingLog { limit, window, closed, count_rejected })
}
