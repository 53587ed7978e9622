//! `kind = "concurrency"`.

use super::admission::stage;
use super::options::keys;
use super::{Kind, Page, Room, StageSpec, overrides};
use crate::admission::concurrency;
use crate::request::Keys;
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
    let overrides = overrides(s, key);
    stage(s, concurrency::Limit { limit: limit.0, key, overrides })
}

/// Limits of some keys alone.
fn overrides(s: &mut Section, key: Option<Keys>) -> Vec<(Vec<String>, Option<u64>)> {
    const DOC: &str =
        "other limits for some keys: `NAME = { limit = … }`, or `\"NAME/NAME\"` where several make a key";
    let Some(mut table) = s.section("overrides", DOC) else { return Vec::new() };
    if s.is_description() {
        return Vec::new();
    }
    let Some(keys) = key else {
        let what = format!("`{}` names keys, and there is one limit for all", table.path());
        s.problem("overrides", what, "add `key`, or take it out");
        table.skip_all();
        return Vec::new();
    };
    let mut own = Vec::new();
    for name in table.keys() {
        let Some(names) = overrides::names(s, &table, &name, keys) else { continue };
        let Some(mut each) = table.section(&name, DOC) else { continue };
        let Limit(limit) = each.need("limit", "how many may be in flight");
        each.finish();
        own.push((names, limit));
    }
    own
}

/// No limit at all.
pub(super) fn unlimited() -> StageSpec {
    let plan = Arc::new(concurrency::Limit { limit: None, key: None, overrides: Vec::new() });
    StageSpec::Admission(Room { plan, shadow: false, exempt: Vec::new(), classes: Vec::new() })
}
