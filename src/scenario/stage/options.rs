//! The keys that every limiter has: what is charged, for whom, and whether calls wait.

use super::{Limit, StageSpec};
use crate::limiter::{Blueprint, Charge, Mode, Options};
use crate::request::{Key, Unit};
use crate::section::{Amount, Section};
use crate::units::Rate;
use std::sync::Arc;

/// A limiter of `rule` with the options that the table gives it.
pub(super) fn limiter(s: &mut Section, rule: impl Blueprint + 'static) -> StageSpec {
    let unit = s.one_of("unit", &Unit::NAMES, Some(Unit::Requests), "what is counted");
    let mode = s.one_of(
        "charge",
        &Mode::NAMES,
        Some(Mode::EstimateOnly),
        "the estimate on arrival, the same settled in the end, or the actual use afterwards",
    );
    let key = key(s);
    let refund = s.get_or(
        "refund",
        true,
        "whether work that is turned away later, or leaves the queue, is given back what it took",
    );
    let wait = s.get_or("wait", false, "whether calls wait here for their turn instead of being refused");
    let options = Options { charge: Charge { unit, mode, refund }, key, wait };
    StageSpec::Limiter(Limit { rule: Arc::new(rule), options })
}

/// What has a limit of its own each.
pub(super) fn key(s: &mut Section) -> Option<Key> {
    let names = Key::NAMES.map(|(name, key)| (name, Some(key)));
    let names = [&names[..], &[("none", None)]].concat();
    s.one_of("key", &names, Some(None), "what has a limit of its own each; one for all unless said")
}

/// A rate, and a burst above 0.
pub(super) fn rate_and_burst(s: &mut Section) -> (Rate, u64) {
    (s.need("rate", "how fast it fills"), above_zero(s, "burst", "the most that may pass at once"))
}

/// An amount that must be there and above 0.
pub(super) fn above_zero(s: &mut Section, key: &str, doc: &'static str) -> u64 {
    let Amount(amount) = s.need(key, doc);
    if amount == 0 {
        s.problem(key, format!("`{}` is 0: nothing ever passes", s.path_of(key)), "write 1 or more");
    }
    amount
}
