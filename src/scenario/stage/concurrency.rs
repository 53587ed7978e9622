//! `kind = "concurrency"`.

use super::options::keys;
use super::{Kind, Page, StageSpec};
use crate::section::{Limit, Section};

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
    StageSpec::Concurrency { limit: limit.0, key: keys(s) }
}
