//! `kind = "concurrency"`.

use super::admission::stage;
use super::options::keys;
use super::{Kind, Page, Room, StageSpec};
use crate::admission::concurrency;
use crate::section::{Limit, Section};
use std::sync::Arc;

pub(super) const KIND: Kind =
    Kind { name: "concurrency", about: "lets at most so many be in flight", page: PAGE, read };

const PAGE: Page = Page {
    question: "Is there room for one more, however fast they come?",
    formula: "It passes if in flight < limit; what ends makes room. It bounds no rate: rate = in flight / time in \
        service.",
    source: "The bulkhead of M. Nygard, Release It!, 2007; J. Little, 1961, for the rate",
    dialects: &[],
    examples: &[],
};

fn read(s: &mut Section) -> StageSpec {
    let limit: Limit = s.need("limit", "how many may be in flight");
    if limit == Limit(Some(0)) {
        s.problem("limit", format!("`{}` is 0: nothing ever passes", s.path_of("limit")), "write 1 or more");
    }
    let key = keys(s);
    stage(s, concurrency::Limit { limit: limit.0, key })
}

/// No limit at all.
pub(super) fn unlimited() -> StageSpec {
    let plan = Arc::new(concurrency::Limit { limit: None, key: None });
    StageSpec::Admission(Room { plan, shadow: false, exempt: Vec::new(), classes: Vec::new() })
}
