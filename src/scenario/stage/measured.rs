//! `kind = "envoy_gradient"` and `"failsafe_adaptive"`: limits that measure in windows of their own.

use super::adaptive::read_failure;
use super::admission::stage;
use super::bounds::{in_order, within};
use super::{Kind, Page, StageSpec};
use crate::admission::adaptive::{Failure, Limit};
use crate::admission::envoy_gradient::{self, MinRtt};
use crate::admission::failsafe_adaptive;
use crate::scenario::client::not_zero;
use crate::section::{Section, Share};
use crate::time::Nanos;

pub(super) const ENVOY: Kind = Kind {
    name: "envoy_gradient",
    about: "a limit that follows the ratio of a time measured without load to the present one",
    page: Page {
        question: "How much may be in flight, if the time without load is measured now and then?",
        formula: "Every `concurrency_update_interval`: gradient = min_rtt · (1 + buffer) / sample, within [1/2, 2]; L = \
            limit · gradient; limit = ⌊L + √L⌋ within its bounds. Each `interval` and up to `jitter` of it later the \
            limit is `min_concurrency` until `request_count` that started then have ended, and min_rtt is theirs; five \
            updates in a row at the least limit call for it at once. With little traffic that lasts long.",
        source: "Envoy, `gradient_controller.cc`, API v3 `AdaptiveConcurrency`",
        dialects: &[],
        examples: &[],
    },
    read: read_envoy,
};

pub(super) const FAILSAFE: Kind = Kind {
    name: "failsafe_adaptive",
    about: "a limit that follows queue length, and what more in flight does to throughput and time",
    page: Page {
        question: "How much may be in flight before more brings no more throughput?",
        formula: "Of each window: recent = its quantile, smoothed; baseline = a longer average; queue = ⌈limit · (1 − \
            baseline / recent)⌉, L = max(1, ⌊log10 limit⌋). Down by L if queue > 6 L, or the limit is used up and \
            throughput does not grow with what is in flight while times do; up by L if queue < 3 L. At most \
            max_limit_factor times what was in flight.",
        source: "Failsafe-go, `adaptivelimiter.go`, `queueinglimiter.go`",
        dialects: &[],
        examples: &[],
    },
    read: read_failsafe,
};

fn read_envoy(s: &mut Section) -> StageSpec {
    let percentile = s.get_or(
        "sample_aggregate_percentile",
        50.0,
        "which percentile stands for the samples of an interval",
    );
    let update =
        s.get_or("concurrency_update_interval", Nanos::millis(100), "how often the limit is reckoned");
    not_zero(s, "concurrency_update_interval", Some(update));
    let most = s.get_or("max_concurrency_limit", 1000u64, "the largest limit");
    let least = s.get_or("min_concurrency", 3u64, "the least limit, which also holds while it measures");
    within(s, "min_concurrency", least, 1, 1 << 32);
    in_order(s, ("min_concurrency", least), ("max_concurrency_limit", most));
    within(s, "sample_aggregate_percentile", percentile, 0.0, 100.0);
    let Share(buffer) = s.get_or("buffer", Share(0.25), "what is added to the time without load");
    let fixed: Option<Nanos> = s.get("fixed_value", "the time without load, which is then not measured");
    not_zero(s, "fixed_value", fixed);
    let interval: Nanos =
        s.get_or("interval", Nanos::secs(60), "from the end of one measurement to the beginning of the next");
    not_zero(s, "interval", Some(interval));
    let Share(jitter) = s.get_or("jitter", Share(0.15), "what may be added to that by chance");
    let request_count = s.get_or("request_count", 50u64, "so many that end end a measurement");
    within(s, "request_count", request_count, 1, 1 << 32);
    if fixed.is_some()
        && !s.is_description()
        && (s.has("interval") || s.has("jitter") || s.has("request_count"))
    {
        let what = format!("`{}` is given, so nothing is measured", s.path_of("fixed_value"));
        s.problem("fixed_value", what, "take out `interval`, `jitter` and `request_count`, or this");
    }
    let law = envoy_gradient::Settings {
        sample_aggregate_percentile: percentile / 100.0,
        concurrency_update_interval: update,
        max_concurrency_limit: most,
        min_concurrency: least,
        min_rtt: match fixed {
            Some(time) => MinRtt::Fixed(time),
            None => MinRtt::Measured { interval, jitter, request_count },
        },
        buffer,
    };
    let failure = read_failure(s, Failure::Sample);
    stage(s, Limit { law, window: None, failure })
}

fn read_failsafe(s: &mut Section) -> StageSpec {
    let usual = failsafe_adaptive::Settings::DEFAULT;
    let Share(recent_quantile) =
        s.get_or("recent_quantile", Share(usual.recent_quantile), "which of its times stands for a window");
    let queueing =
        s.section("queueing", "turns part of those away who come while many wait; not unless said");
    let law = failsafe_adaptive::Settings {
        initial_limit: s.get_or("initial_limit", usual.initial_limit, "the first limit"),
        min_limit: s.get_or("min_limit", usual.min_limit, "the least limit"),
        max_limit: s.get_or("max_limit", usual.max_limit, "the largest limit"),
        max_limit_factor: s.get_or(
            "max_limit_factor",
            usual.max_limit_factor,
            "the limit is at most so many times what was in flight",
        ),
        recent_window_min_duration: s.get_or(
            "recent_window_min_duration",
            usual.recent_window_min_duration,
            "the shortest window",
        ),
        recent_window_max_duration: s.get_or(
            "recent_window_max_duration",
            usual.recent_window_max_duration,
            "the longest time up to the next window's end; it lasts longer for want of samples",
        ),
        recent_window_min_samples: s.get_or(
            "recent_window_min_samples",
            usual.recent_window_min_samples,
            "the fewest samples of a window",
        ),
        recent_quantile,
        baseline_window_age: s.get_or(
            "baseline_window_age",
            usual.baseline_window_age,
            "windows of the baseline",
        ),
        correlation_window_size: s.get_or(
            "correlation_window_size",
            usual.correlation_window_size as u64,
            "windows of the correlations",
        ) as usize,
        queueing: queueing.map(read_queueing),
    };
    for (key, value) in [("min_limit", law.min_limit), ("initial_limit", law.initial_limit)] {
        within(s, key, value, 1, 1 << 32);
    }
    in_order(s, ("min_limit", law.min_limit), ("initial_limit", law.initial_limit));
    in_order(s, ("initial_limit", law.initial_limit), ("max_limit", law.max_limit));
    in_order(
        s,
        ("recent_window_min_duration", law.recent_window_min_duration),
        ("recent_window_max_duration", law.recent_window_max_duration),
    );
    within(s, "max_limit_factor", law.max_limit_factor, 1.0, 1e6);
    within(s, "recent_window_min_samples", law.recent_window_min_samples, 1, 1 << 32);
    within(s, "baseline_window_age", law.baseline_window_age, 1, 1 << 32);
    within(s, "correlation_window_size", law.correlation_window_size as u64, 1, 100_000);
    let failure = read_failure(s, Failure::Drop);
    stage(s, Limit { law, window: None, failure })
}

fn read_queueing(mut s: Section) -> (f64, f64) {
    let from: f64 =
        s.get_or("initial_rejection_factor", 2.0, "from so many limits in the queue on some are turned away");
    let all: f64 = s.get_or("max_rejection_factor", 3.0, "from so many on all are");
    within(&mut s, "initial_rejection_factor", from, 0.0, 1e6);
    in_order(&s, ("initial_rejection_factor", from), ("max_rejection_factor", all));
    s.finish();
    (from, all)
}
