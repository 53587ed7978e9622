//! `width = { … }`: how many seats a call takes, for a stage and for a queue.

use crate::request::{Unit, Width};
use crate::section::Section;

/// Reads the key.
pub(super) fn read(s: &mut Section) -> Width {
    let doc = "the seats that a call takes: one for each `per_seat` of a `unit`, at most `most`";
    let Some(mut s) = s.section("width", doc) else { return Width::ONE };
    let unit = s.one_of("unit", &Unit::NAMES, Some(Unit::Tokens), "what is counted");
    let per_seat = s.get_or("per_seat", 100u64, "so much of it takes a seat");
    let most = s.get_or("most", 10u64, "the most seats of one call");
    for (key, value) in [("per_seat", per_seat), ("most", most)] {
        if value == 0 && !s.is_description() {
            s.problem(key, format!("`{}` is 0", s.path_of(key)), "write 1 or more");
        }
    }
    if unit == Unit::Requests && !s.is_description() {
        s.problem(
            "unit",
            format!("`{}` counts requests: each is one seat", s.path()),
            "count tokens, or take it out",
        );
    }
    s.finish();
    Width { unit, per_seat: per_seat.max(1), most: most.clamp(1, 1 << 32) }
}
