//! `kind = "sliding_counter"`.

use super::options::{keeping, limit_and_window};
use super::{Kind, StageSpec};
use crate::limiter::sliding_counter::{Dialect, SlidingCounter};
use crate::section::Section;

pub(super) const KIND: Kind = Kind {
    name: "sliding_counter",
    about: "counts in windows, and lets the last one's count fade while the present one fills",
    read,
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
    keeping(s, SlidingCounter { limit, window, dialect })
}
