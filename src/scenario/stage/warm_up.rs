//! `kind = "warm_up"`.

use super::options::{PerSecond, RATE, keeping, max_wait};
use super::{Kind, Page, StageSpec};
use crate::limiter::guava::{Guava, Saving};
use crate::limiter::sentinel_warm_up::SentinelWarmUp;
use crate::scenario::client::not_zero;
use crate::section::Section;
use crate::time::Nanos;
use crate::units::Rate;

pub(super) const KIND: Kind = Kind {
    name: "warm_up",
    about: "lets less pass after silence, and more as calls keep coming",
    page: PAGE,
    read,
};

const PAGE: Page = Page {
    question: "How fast may load come back to a service that has gone cold?",
    formula: "Permits are saved in silence. Guava: an ask starts at max(now, free), and free moves on by the \
        price of its permits, which is up to cold_factor / rate each while many are saved. Sentinel: with \
        `above` permits over the warning level, 1 / (above · slope + 1 / rate) pass per second, else rate.",
    source: "Guava, `SmoothRateLimiter.java`; Sentinel, `WarmUpController`",
    dialects: &[
        (
            "guava",
            "whole microseconds, so that above 100k/s more passes and above 1M/s everything; the next ask pays for the \
        last one; without `warm_up` saved permits are free, for `max_burst`",
        ),
        (
            "sentinel",
            "whole seconds; refuses instead of delaying; what passed is counted in two buckets of 500 ms, so a \
        window that lies across them may pass more",
        ),
    ],
    examples: &[
        r#"{ kind = "warm_up", rate = "12/s" }"#,
        r#"{ kind = "warm_up", rate = "12/s", warm_up = "2s" }"#,
        r#"{ kind = "warm_up", rate = "12/s", warm_up = "2s", dialect = "sentinel" }"#,
    ],
};

#[derive(Clone, Copy, PartialEq)]
enum Dialect {
    Guava,
    Sentinel,
}

/// The rate that holds once it is cold is so many times less.
const COLD_FACTOR: f64 = 3.0;

fn read(s: &mut Section) -> StageSpec {
    let dialects = [("guava", Dialect::Guava), ("sentinel", Dialect::Sentinel)];
    let dialect = s.one_of("dialect", &dialects, Some(Dialect::Guava), "whose arithmetic");
    if s.is_description() {
        guava(s)
    } else {
        match dialect {
            Dialect::Guava => guava(s),
            Dialect::Sentinel => sentinel(s),
        }
    }
}

fn cold_factor(s: &mut Section, least: f64) -> f64 {
    let factor: f64 = s.get_or("cold_factor", COLD_FACTOR, "how many times slower it is when it is cold");
    if !(least..=1e6).contains(&factor) {
        let what = format!("`{}` is {factor}", s.path_of("cold_factor"));
        s.problem("cold_factor", what, format!("write a number from {least} to 1000000"));
    }
    factor
}

fn guava(s: &mut Section) -> StageSpec {
    let PerSecond(per_second) = s.need("rate", RATE);
    if per_second == 0.0 {
        let what = format!("`{}` is 0: nothing passes after the first", s.path_of("rate"));
        s.problem("rate", what, "write a rate above 0");
    }
    if 1e5 < per_second && per_second.is_finite() {
        let what = format!(
            "`{}` is more than 100k/s: waits are cut to whole microseconds, so more passes, above 1M/s everything",
            s.path_of("rate")
        );
        s.warning("rate", what, "this is what Guava does; take a kind that reckons exactly for such a rate");
    }
    let warm_up: Option<Nanos> =
        s.get("warm_up", "how long it takes to warm up; without it saved permits cost nothing");
    not_zero(s, "warm_up", warm_up);
    let mut saving = Saving::Bursty(Nanos::SECOND);
    if warm_up.is_none() || s.is_description() {
        saving = Saving::Bursty(s.get_or("max_burst", Nanos::SECOND, "for how long permits are saved"));
    }
    if warm_up.is_some() || s.is_description() {
        let cold_factor = cold_factor(s, 1.0);
        saving = warm_up.map_or(saving, |warm_up| Saving::WarmingUp { warm_up, cold_factor });
    }
    let max_wait = max_wait(s, None);
    keeping(s, Guava { per_second, saving, max_wait })
}

fn sentinel(s: &mut Section) -> StageSpec {
    let rate: Rate = s.need("rate", RATE);
    let warm_up: Nanos = s.need("warm_up", "how long it takes to warm up, in whole seconds");
    not_zero(s, "warm_up", Some(warm_up));
    if !warm_up.0.is_multiple_of(1_000_000_000) {
        let what =
            format!("`{}` is no whole number of seconds, which Sentinel counts in", s.path_of("warm_up"));
        s.problem("warm_up", what, "write whole seconds");
    }
    let factor = cold_factor(s, 2.0);
    if factor % 1.0 != 0.0 {
        s.problem(
            "cold_factor",
            format!("`{}` is no whole number", s.path_of("cold_factor")),
            "write 2 or more",
        );
    }
    let rule =
        SentinelWarmUp::new(rate.per_second(), (warm_up.0 / 1_000_000_000).max(1), (factor as u64).max(2));
    if !rule.passes_when_cold() {
        let what = format!(
            "`{}` never passes a call: cold, it lets less than one in a second pass, and only calls warm it",
            s.path_of("rate")
        );
        s.problem("rate", what, "raise it above `cold_factor`, or lower that");
    }
    keeping(s, rule)
}
