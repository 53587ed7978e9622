//! `kind = "sliding_log"`.

use super::options::{keeping, limit_and_window};
use super::{Kind, StageSpec};
use crate::limiter::sliding_log::SlidingLog;
use crate::section::Section;

pub(super) const KIND: Kind = Kind {
    name: "sliding_log",
    about: "lets so many pass in any window's length, by the instant of each",
    read,
};

fn read(s: &mut Section) -> StageSpec {
    let (limit, window) = limit_and_window(s);
    let edges = [("open", false), ("closed", true)];
    let closed =
        s.one_of("edge", &edges, Some(false), "whether what is exactly a window old is out, or still counts");
    let count_rejected = s.get_or("count_rejected", false, "whether what is refused is logged too");
    keeping(s, SlidingLog { limit, window, closed, count_rejected })
}
