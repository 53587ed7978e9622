//! `kind = "aimd"`, `"vegas"`, `"gradient"` and `"gradient2"`: limits of Netflix concurrency-limits.

use super::admission::stage;
use super::bounds::{in_order, within};
use super::{Kind, Page, StageSpec};
use crate::admission::adaptive::{Failure, Limit, Settings};
use crate::admission::sample_window;
use crate::admission::vegas::Decrease;
use crate::admission::{aimd, gradient, gradient2, vegas};
use crate::scenario::client::not_zero;
use crate::section::{Section, Share};

pub(super) const AIMD: Kind = Kind {
    name: "aimd",
    about: "a limit that grows by one with each good answer and falls by a tenth with each late one",
    page: Page {
        question: "How much may be in flight, if only failures and late answers tell?",
        formula: "A drop, or more than `timeout` in service: limit = ⌊limit · backoff_ratio⌋; else limit + 1, if half of \
            it was in use when the work started; within `min_limit` and `max_limit`.",
        source: "Netflix concurrency-limits, `AIMDLimit.java`; D. Chiu, R. Jain, 1989",
        dialects: &[],
        examples: &[],
    },
    read: read_aimd,
};

pub(super) const VEGAS: Kind = Kind {
    name: "vegas",
    about: "a limit that keeps a few waiting behind it, judged from the shortest time in service",
    page: Page {
        question: "How much may be in flight before work only waits longer?",
        formula: "queue = ⌈limit · (1 − shortest / rtt)⌉, L = max(1, ⌊log10 limit⌋). A drop: limit − L; less than half in \
            use: it stays; queue ≤ L: limit + beta · L; queue < alpha · L: limit + L; queue > beta · L: limit − L. The \
            shortest time is measured anew by chance after half to all of probe_multiplier · limit samples.",
        source: "Netflix concurrency-limits, `VegasLimit.java`; L. Brakmo, L. Peterson, TCP Vegas, 1995",
        dialects: &[],
        examples: &[],
    },
    read: read_vegas,
};

pub(super) const GRADIENT: Kind = Kind {
    name: "gradient",
    about: "a limit that shrinks as times in service grow over the shortest",
    page: Page {
        question: "How much may be in flight, if load stretches every answer?",
        formula: "gradient = rtt_tolerance · shortest / rtt, within [1/2, 1]; limit · gradient + queue, where queue = \
            max(4, ⌊√limit⌋), smoothed on the way down. After probe_interval samples and up to as many again the limit \
            falls to the queue, and the shortest time is measured anew.",
        source: "Netflix concurrency-limits, `GradientLimit.java`",
        dialects: &[],
        examples: &[],
    },
    read: read_gradient,
};

pub(super) const GRADIENT2: Kind = Kind {
    name: "gradient2",
    about: "a limit that shrinks as times in service grow over their long average",
    page: Page {
        question: "How much may be in flight, if the usual time itself drifts?",
        formula: "gradient = rtt_tolerance · long / rtt, within [1/2, 1]; limit · gradient + queue_size, smoothed. A drop \
            says nothing but its time, and the long average follows lasting overload, so that the limit creeps up to \
            its bound.",
        source: "Netflix concurrency-limits, `Gradient2Limit.java`",
        dialects: &[],
        examples: &[],
    },
    read: read_gradient2,
};

/// A limit of `law` with the keys that all of them have.
pub(super) fn limit<S: Settings + 'static>(s: &mut Section, law: S, failure: Failure) -> StageSpec {
    let window = read_window(s);
    let failure = read_failure(s, failure);
    stage(s, Limit { law, window, failure })
}

/// What failures tell.
pub(super) fn read_failure(s: &mut Section, failure: Failure) -> Failure {
    let words = [("drop", Failure::Drop), ("ignore", Failure::Ignore), ("sample", Failure::Sample)];
    let doc = "what a failure tells: that there is overload, nothing, or its time as any other";
    s.one_of("failure", &words, Some(failure), doc)
}

fn read_window(s: &mut Section) -> Option<sample_window::Settings> {
    let mut s =
        s.section("window", "gathers samples, of which the mean is told; each is told unless said")?;
    let usual = sample_window::Settings::DEFAULT;
    let settings = sample_window::Settings {
        min: s.get_or("min", usual.min, "the shortest window"),
        max: s.get_or("max", usual.max, "the longest window"),
        size: s.get_or("size", usual.size, "the fewest samples that say something"),
        min_rtt_threshold: s.get_or(
            "min_rtt_threshold",
            usual.min_rtt_threshold,
            "shorter samples are left out",
        ),
    };
    in_order(&s, ("min", settings.min), ("max", settings.max));
    not_zero(&s, "min", Some(settings.min));
    within(&mut s, "size", settings.size, 1, u64::MAX);
    s.finish();
    Some(settings)
}

const INITIAL: &str = "the first limit";
const LEAST: &str = "the least limit";
const MOST: &str = "the largest limit";
const SMOOTHING: &str = "the share of a step that is taken";
const BACKOFF: &str = "what is left of the limit after a drop";

/// Limits from 1 on, in order.
fn limits(s: &mut Section, keys: [&str; 3], [least, initial, most]: [u64; 3]) {
    let [least_key, initial_key, most_key] = keys;
    if s.is_description() {
        return;
    }
    for (key, value) in [(least_key, least), (initial_key, initial), (most_key, most)] {
        if !key.is_empty() {
            within(s, key, value, 1, 1 << 32);
        }
    }
    if !least_key.is_empty() {
        in_order(s, (least_key, least), (most_key, most));
        in_order(s, (least_key, least), (initial_key, initial));
    }
    in_order(s, (initial_key, initial), (most_key, most));
}

fn smoothing(s: &mut Section, usual: f64) -> f64 {
    let Share(share) = s.get_or("smoothing", Share(usual), SMOOTHING);
    if share == 0.0 {
        s.problem(
            "smoothing",
            format!("`{}` is 0: the limit never moves", s.path_of("smoothing")),
            "write more",
        );
    }
    share
}

fn read_aimd(s: &mut Section) -> StageSpec {
    let usual = aimd::Settings::DEFAULT;
    let Share(backoff_ratio) = s.get_or("backoff_ratio", Share(usual.backoff_ratio), BACKOFF);
    let settings = aimd::Settings {
        initial_limit: s.get_or("initial_limit", usual.initial_limit, INITIAL),
        min_limit: s.get_or("min_limit", usual.min_limit, LEAST),
        max_limit: s.get_or("max_limit", usual.max_limit, MOST),
        backoff_ratio: within(s, "backoff_ratio", backoff_ratio, 0.5, 1.0),
        timeout: s.get_or("timeout", usual.timeout, "what takes longer counts as a drop"),
    };
    if backoff_ratio == 1.0 {
        let what = format!("`{}` is 1: the limit never falls", s.path_of("backoff_ratio"));
        s.problem("backoff_ratio", what, "write less than 1");
    }
    let numbers = [settings.min_limit, settings.initial_limit, settings.max_limit];
    limits(s, ["min_limit", "initial_limit", "max_limit"], numbers);
    limit(s, settings, Failure::Drop)
}

fn read_vegas(s: &mut Section) -> StageSpec {
    let usual = vegas::Settings::DEFAULT;
    let falls = [("log10", Decrease::Log10), ("half", Decrease::Half)];
    let settings = vegas::Settings {
        initial_limit: s.get_or("initial_limit", usual.initial_limit, INITIAL),
        max_concurrency: s.get_or("max_concurrency", usual.max_concurrency, MOST),
        smoothing: smoothing(s, usual.smoothing),
        alpha: s.get_or("alpha", usual.alpha, "below so many times L in the queue it grows"),
        beta: s.get_or("beta", usual.beta, "above so many times L in the queue it falls"),
        probe_multiplier: s.get_or(
            "probe_multiplier",
            usual.probe_multiplier,
            "the shortest time is measured anew after so many samples for each one of the limit, at most",
        ),
        decrease: s.one_of("decrease", &falls, Some(usual.decrease), "how it falls: by L, or to its half"),
    };
    in_order(s, ("alpha", settings.alpha), ("beta", settings.beta));
    within(s, "probe_multiplier", settings.probe_multiplier, 1, 1 << 32);
    let numbers = [1, settings.initial_limit, settings.max_concurrency];
    limits(s, ["", "initial_limit", "max_concurrency"], numbers);
    limit(s, settings, Failure::Drop)
}

fn read_gradient(s: &mut Section) -> StageSpec {
    let usual = gradient::Settings::DEFAULT;
    let Share(backoff_ratio) = s.get_or("backoff_ratio", Share(usual.backoff_ratio), BACKOFF);
    let probe = crate::section::Limit(usual.probe_interval);
    let settings = gradient::Settings {
        initial_limit: s.get_or("initial_limit", usual.initial_limit, INITIAL),
        min_limit: s.get_or("min_limit", usual.min_limit, LEAST),
        max_concurrency: s.get_or("max_concurrency", usual.max_concurrency, MOST),
        smoothing: smoothing(s, usual.smoothing),
        queue_size: s
            .get("queue_size", "what may wait behind the limit; its root, and 4 at least, unless said"),
        rtt_tolerance: s.get_or(
            "rtt_tolerance",
            usual.rtt_tolerance,
            "so many times the shortest time is no sign of load",
        ),
        probe_interval: s
            .get_or("probe_interval", probe, "the fewest samples between two probes; unlimited never probes")
            .0,
        backoff_ratio: within(s, "backoff_ratio", backoff_ratio, 0.5, 1.0),
    };
    within(s, "rtt_tolerance", settings.rtt_tolerance, 1.0, 1e6);
    let numbers = [settings.min_limit, settings.initial_limit, settings.max_concurrency];
    limits(s, ["min_limit", "initial_limit", "max_concurrency"], numbers);
    limit(s, settings, Failure::Drop)
}

fn read_gradient2(s: &mut Section) -> StageSpec {
    let usual = gradient2::Settings::DEFAULT;
    let settings = gradient2::Settings {
        initial_limit: s.get_or("initial_limit", usual.initial_limit, INITIAL),
        min_limit: s.get_or("min_limit", usual.min_limit, LEAST),
        max_concurrency: s.get_or("max_concurrency", usual.max_concurrency, MOST),
        smoothing: smoothing(s, usual.smoothing),
        queue_size: s.get_or("queue_size", usual.queue_size, "what may wait behind the limit"),
        rtt_tolerance: s.get_or(
            "rtt_tolerance",
            usual.rtt_tolerance,
            "so many times the long average is no sign of load",
        ),
        long_window: s.get_or("long_window", usual.long_window, "samples of the long average"),
    };
    within(s, "rtt_tolerance", settings.rtt_tolerance, 1.0, 1e6);
    within(s, "long_window", settings.long_window, 1, 1 << 32);
    let numbers = [settings.min_limit, settings.initial_limit, settings.max_concurrency];
    limits(s, ["min_limit", "initial_limit", "max_concurrency"], numbers);
    limit(s, settings, Failure::Drop)
}
