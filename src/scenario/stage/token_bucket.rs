//! `kind = "token_bucket"`: exact, or as a product fills and grants.

use super::options::{
    BURST, PerSecond, Quota, RATE, above_zero, boxed, initial, limiter, max_wait, rate_and_burst,
};
use super::{Kind, Page, StageSpec};
use crate::limiter::bandwidths::{Bandwidth, Bandwidths};
use crate::limiter::clamped::Clamped;
use crate::limiter::go_rate::GoRate;
use crate::limiter::interval_bucket::{Boundaries, IntervalBucket};
use crate::limiter::ticks::Ticks;
use crate::limiter::token_bucket::TokenBucket;
use crate::scenario::client::not_zero;
use crate::section::{Amount, Section};
use crate::time::{Nanos, SimTime};
use std::sync::Arc;

pub(super) const KIND: Kind = Kind {
    name: "token_bucket",
    about: "passes what its bucket holds; the bucket gains a rate up to a burst",
    page: PAGE,
    read,
};

const PAGE: Page = Page {
    question: "How much may come at once, and how much may come in the long run?",
    formula: "level ← min(burst, level + rate · Δ). An ask of n passes if n ≤ level, and takes n; else the wait \
        is ⌈(n − level) / rate⌉. In a window W no more than burst + rate · W pass.",
    source: "ITU-T I.371, the leaky bucket as a meter; Bucket4j; Envoy's token bucket; golang.org/x/time/rate; \
        juju/ratelimit",
    dialects: &[
        (
            "exact",
            "whole credits: one unit costs q of them and one nanosecond brings p, so only the wait is rounded",
        ),
        (
            "go",
            "doubles; an ask takes what is still to come, into debt, and starts when the debt is made up for, \
        at most `max_wait` later",
        ),
        ("bucket4j", "as `exact`, but a clock that steps back brings nothing, where `exact` refuses it"),
        ("envoy", "whole fills at `fill_interval` and its multiples, none between; always starts full"),
        (
            "juju",
            "whole fills at multiples of the period; into debt without a bound, unless `max_wait` (`unlimited`) \
        sets one",
        ),
    ],
    examples: &[
        r#"{ kind = "token_bucket", rate = "10/s", burst = 20 }"#,
        r#"{ kind = "token_bucket", bandwidths = [{ rate = "10/s", burst = 20 }, { rate = "25/s", burst = 1 }] }"#,
        r#"{ kind = "token_bucket", rate = "10/1s", burst = 20, refill = "interval" }"#,
        r#"{ kind = "token_bucket", rate = "10/s", burst = 20, dialect = "go", max_wait = "1s" }"#,
        r#"{ kind = "token_bucket", dialect = "envoy", fill_interval = "1s", tokens_per_fill = 10, max_tokens = 20 }"#,
        r#"{ kind = "token_bucket", rate = "10/1s", burst = 20, dialect = "juju" }"#,
    ],
};

#[derive(Clone, Copy, PartialEq)]
enum Dialect {
    Exact,
    Go,
    Bucket4j,
    Envoy,
    Juju,
}

#[derive(Clone, Copy, PartialEq)]
enum Refill {
    Continuous,
    Interval,
    Aligned,
}

fn read(s: &mut Section) -> StageSpec {
    const DIALECTS: [(&str, Dialect); 5] = [
        ("exact", Dialect::Exact),
        ("go", Dialect::Go),
        ("bucket4j", Dialect::Bucket4j),
        ("envoy", Dialect::Envoy),
        ("juju", Dialect::Juju),
    ];
    let dialect = s.one_of("dialect", &DIALECTS, Some(Dialect::Exact), "whose arithmetic");
    if s.is_description() {
        // Every key that some dialect has.
        exact(s, false);
        several(s, false);
        go(s);
        return juju(s);
    }
    match dialect {
        Dialect::Exact | Dialect::Bucket4j if s.has("bandwidths") => several(s, dialect == Dialect::Bucket4j),
        Dialect::Exact | Dialect::Bucket4j => exact(s, dialect == Dialect::Bucket4j),
        Dialect::Go => go(s),
        Dialect::Envoy => envoy(s),
        Dialect::Juju => juju(s),
    }
}

/// Exact arithmetic; a clock that steps back is refused, or `clamps`.
fn exact(s: &mut Section, clamps: bool) -> StageSpec {
    match bandwidth(s, clamps) {
        Bandwidth::Continuous(rule) => limiter(s, rule),
        Bandwidth::Interval(rule) => limiter(s, rule),
    }
}

fn several(s: &mut Section, clamps: bool) -> StageSpec {
    let sections =
        s.sections("bandwidths", "several rates and bursts on one bucket, each as a table of its own");
    let read = |mut each: Section| {
        let bandwidth = bandwidth(&mut each, clamps);
        each.finish();
        bandwidth
    };
    let mut all: Vec<Bandwidth> = sections.into_iter().map(read).collect();
    if all.is_empty() {
        s.problem(
            "bandwidths",
            format!("`{}` is empty", s.path_of("bandwidths")),
            "write `{ rate = …, burst = … }`",
        );
        all.push(Bandwidth::Continuous(TokenBucket::new(crate::section::Value::dummy(), 1)));
    }
    limiter(s, Bandwidths(all))
}

fn bandwidth(s: &mut Section, clamps: bool) -> Bandwidth {
    const REFILLS: [(&str, Refill); 3] =
        [("continuous", Refill::Continuous), ("interval", Refill::Interval), ("aligned", Refill::Aligned)];
    let by_interval = s.has("fill_interval");
    let usual = if by_interval { Refill::Aligned } else { Refill::Continuous };
    let refill = s.one_of(
        "refill",
        &REFILLS,
        Some(usual),
        "as time goes by, or at the end of each period: from the first use, or aligned to the clock",
    );
    if s.is_description() {
        interval(s, Refill::Aligned, clamps);
    } else if refill == Refill::Continuous && by_interval {
        let what = format!("`{}` fills at intervals, but `refill` is continuous", s.path_of("fill_interval"));
        s.problem("refill", what, "write `rate` in its place, or take `refill` out");
    } else if refill != Refill::Continuous {
        return Bandwidth::Interval(interval(s, refill, clamps));
    }
    let (rate, burst) = rate_and_burst(s);
    Bandwidth::Continuous(TokenBucket { rate, burst, initial: initial(s, burst), clamps })
}

fn interval(s: &mut Section, refill: Refill, clamps: bool) -> IntervalBucket {
    let (Quota(fill, period), burst) = quota(s);
    let initial = initial(s, burst);
    let mut boundaries = Boundaries::FromFirstUse;
    if refill == Refill::Aligned {
        let first: Nanos =
            s.get_or("first_refill", period, "the first instant at which the bucket is filled");
        let adaptive = s.get_or(
            "adaptive_initial",
            false,
            "whether a bucket that is used before `first_refill` starts with what the time until then allows",
        );
        boundaries = Boundaries::Aligned { first: SimTime(first.0), adaptive };
        if adaptive && s.has("initial") {
            let what =
                format!("`{}` and `adaptive_initial` both say what it starts with", s.path_of("initial"));
            s.problem("initial", what, "take one out");
        }
    }
    IntervalBucket { fill, period, burst, initial, boundaries, clamps }
}

/// Units for each interval and the burst, by either set of names.
fn quota(s: &mut Section) -> (Quota, u64) {
    let named_as_envoy = s.has("fill_interval") || s.has("max_tokens");
    if !named_as_envoy && !s.is_description() {
        return (s.need("rate", RATE), above_zero(s, "burst", BURST));
    }
    for (one, other) in [("rate", "fill_interval"), ("burst", "max_tokens")] {
        if s.has(one) && s.has(other) {
            let what = format!("`{}` and `{other}` both say it", s.path_of(one));
            s.problem(other, what, "keep one of the two");
            s.skip(one);
            s.skip(other);
        }
    }
    let Amount(fill) = s.get_or("tokens_per_fill", Amount(1), "what each interval brings");
    if fill == 0 {
        let what = format!("`{}` is 0: nothing ever comes", s.path_of("tokens_per_fill"));
        s.problem("tokens_per_fill", what, "write 1 or more");
    }
    let period: Nanos = if s.is_description() {
        s.get("fill_interval", "the interval, where `rate` is not given").unwrap_or(Nanos::SECOND)
    } else {
        s.need("fill_interval", "the interval, where `rate` is not given")
    };
    not_zero(s, "fill_interval", Some(period));
    let burst = match s.has("burst") {
        true => above_zero(s, "burst", BURST),
        false if s.is_description() => s.get("max_tokens", "another name of `burst`").unwrap_or(Amount(1)).0,
        false => above_zero(s, "max_tokens", BURST),
    };
    (Quota(fill.max(1), Nanos(period.0.max(1))), burst)
}

/// Envoy fills a bucket that starts full, at intervals from its start.
fn envoy(s: &mut Section) -> StageSpec {
    let (Quota(fill, period), burst) = quota(s);
    let boundaries = Boundaries::Aligned { first: SimTime(period.0), adaptive: false };
    limiter(s, Clamped(IntervalBucket { fill, period, burst, initial: burst, boundaries, clamps: false }))
}

fn go(s: &mut Section) -> StageSpec {
    let PerSecond(per_second) = s.need("rate", RATE);
    if 1e9 < per_second && per_second.is_finite() {
        let what =
            format!("`{}` is more than one per nanosecond, which Go's waits can't tell", s.path_of("rate"));
        s.problem("rate", what, "write `1000M/s` or less, or `unlimited`");
    }
    let burst = if per_second.is_infinite() {
        s.get_or("burst", Amount(0), BURST).0
    } else {
        above_zero(s, "burst", BURST)
    };
    let initial = initial(s, burst);
    let max_wait = max_wait(s, Some(Nanos::ZERO));
    limiter(s, GoRate { per_second, burst, initial, max_wait })
}

fn juju(s: &mut Section) -> StageSpec {
    let (Quota(quantum, period), burst) = quota(s);
    let initial = initial(s, burst);
    let max_wait = max_wait(s, None);
    boxed(s, Arc::new(Ticks { quantum, period, burst, initial, max_wait, holds: "burst" }), true)
}
