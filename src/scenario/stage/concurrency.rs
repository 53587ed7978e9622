//! `kind = "concurrency"`.

use super::options::keys;
use super::{Kind, StageSpec};
use crate::section::{Limit, Section};

pub(super) const KIND: Kind = Kind { name: "concurrency", about: "lets at most so many be in flight", read };

fn read(s: &mut Section) -> StageSpec {
    let limit: Limit = s.need("limit", "how many may be in flight");
    if limit == Limit(Some(0)) {
        s.problem("limit", format!("`{}` is 0: nothing ever passes", s.path_of("limit")), "write 1 or more");
    }
    StageSpec::Concurrency { limit: limit.0, key: keys(s) }
}
