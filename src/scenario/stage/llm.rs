//! Gates of LLM gateways: `"async_bulkhead_llm"`, `"floor_lending"`, `"gie_saturation"` and `"litellm_priority"`.

use super::admission::{naming, stage};
use super::bounds::within;
use super::token_budget::read_estimator;
use super::{Kind, Page, StageSpec};
use crate::admission::gie_saturation::{self, Detector};
use crate::admission::{async_bulkhead_llm, floor_lending, litellm_priority};
use crate::scenario::client::not_zero;
use crate::section::{At, Section, Share};
use crate::time::Nanos;

pub(super) const ASYNC_BULKHEAD: Kind = Kind {
    name: "async_bulkhead_llm",
    about: "slots and tokens in flight with strict floors, checked again after the queue",
    page: Page {
        question: "What does this library let in, and which of its checks refuses the rest?",
        formula: "In this order: tokens in flight + reserved ≤ budget (less `high_priority_reserve` for most classes); \
            tokens of the class ≤ its most; calls of the class < its most; what lies above the floors fits into what no \
            floor protects, in calls and in tokens; a slot, for which it may wait; then all but the last again.",
        source: "async-bulkhead-llm 3.15",
        dialects: &[],
        examples: &[],
    },
    read: read_async_bulkhead,
};

pub(super) const FLOOR_LENDING: Kind = Kind {
    name: "floor_lending",
    about: "keeps floors of classes over several gateways, and lends them while nobody wants them",
    page: Page {
        question: "Can gateways that share nothing but a controller lend what a class is guaranteed, and how fast is it back?",
        formula: "A class starts below its floor while its gateway has a slot; beyond it while what all use beyond their             floors is less than what no floor keeps and what is lent. Lent: all gateways idle for `idle`, prepared,             committed 2 · latency later if idle still. Back: the class comes, what was lent drains, one latency later.",
        source: "mofluxhq/moflux-bench",
        dialects: &[],
        examples: &[],
    },
    read: read_floor_lending,
};

pub(super) const GIE_SATURATION: Kind = Kind {
    name: "gie_saturation",
    about: "sheds work of negative priority while a pool of model servers is saturated",
    page: Page {
        question: "When is a pool so full that what can be spared has to go?",
        formula: "utilization: max(waiting / queue_depth, share of the cache / kv_utilization) of an instance ≥ 1; \
            concurrency: in flight / max_in_flight of an instance ≥ 1. What waits is the downstream's backlog, the cache \
            is modelled by the tokens in flight.",
        source: "Gateway API Inference Extension; BLIS, `gaie-legacy`",
        dialects: &[],
        examples: &[],
    },
    read: read_saturation,
};

pub(super) const LITELLM: Kind = Kind {
    name: "litellm_priority",
    about: "gives each priority its part of a model's limit once the limit is well used",
    page: Page {
        question: "Who may use a model's quota when others want it too?",
        formula: "used + cost ≤ limit; if used / limit ≥ threshold also used of the class + cost ≤ weight · limit. Counts of \
            a window that the first call opens; all are looked at before any is counted.",
        source: "LiteLLM, `dynamic_rate_limiter_v3.py`",
        dialects: &[],
        examples: &[],
    },
    read: read_litellm,
};

fn read_async_bulkhead(s: &mut Section) -> StageSpec {
    let max_concurrent = s.need("max_concurrent", "calls in flight; 0 lets nothing in");
    let budget: Option<u64> = s.get("budget", "tokens that may be in flight; any unless said");
    let output_cap = s.get_or("output_cap", 2048u64, "the largest output of a call that declares none");
    let mut classes: Vec<At<String>> =
        s.get_or("high_priority", Vec::new(), "classes that may have all of the budget");
    let high_priority = classes.iter().map(|class| class.value.clone()).collect();
    let high_priority_reserve =
        s.get_or("high_priority_reserve", 0u64, "tokens of the budget that the other classes leave");
    let mut shares = Vec::new();
    for (class, mut share) in s.named("share", "the part of a class; others have what no floor protects") {
        classes.push(At { value: class.clone(), span: share.span() });
        let protected_concurrent =
            share.get_or("protected_concurrent", 0u64, "calls that no other class may crowd out");
        let most_calls: Option<u64> = share.get("max_concurrent", "most calls; any number unless said");
        let protected_tokens = share.get_or("protected_tokens", 0u64, "tokens that no other class may have");
        let max_tokens: Option<u64> = share.get("max_tokens", "most tokens; any number unless said");
        for (key, most, floor) in [
            ("max_concurrent", most_calls, protected_concurrent),
            ("max_tokens", max_tokens, protected_tokens),
        ] {
            if most.is_some_and(|most| most < floor) && !share.is_description() {
                let what = format!("`{}` is less than what is protected", share.path_of(key));
                share.problem(key, what, "raise it, or protect less");
            }
        }
        share.finish();
        let max_concurrent = most_calls;
        shares.push(async_bulkhead_llm::Share {
            class,
            protected_concurrent,
            max_concurrent,
            protected_tokens,
            max_tokens,
        });
    }
    let sum = |of: fn(&async_bulkhead_llm::Share) -> u64| {
        shares.iter().fold(0u64, |sum, share| sum.saturating_add(of(share)))
    };
    let (calls, tokens) = (sum(|share| share.protected_concurrent), sum(|share| share.protected_tokens));
    if max_concurrent < calls && 0 < max_concurrent && !s.is_description() {
        let what = format!("`{}` protects {calls} calls of {max_concurrent}", s.path());
        s.problem("max_concurrent", what, "raise `max_concurrent`, or protect less");
    }
    if budget.is_some_and(|budget| budget.saturating_sub(high_priority_reserve) < tokens) {
        let what = format!("`{}` protects {tokens} tokens, more than its budget leaves", s.path());
        s.problem("budget", what, "raise `budget`, or protect or reserve less");
    }
    let estimator = read_estimator(s);
    let reports_usage = s.get_or(
        "reports_usage",
        false,
        "whether the true input is told when work starts, and extends the hold",
    );
    let settings = async_bulkhead_llm::Settings {
        max_concurrent,
        budget,
        shares,
        high_priority,
        high_priority_reserve,
        output_cap,
        estimator,
        reports_usage,
    };
    naming(s, settings, classes)
}

fn read_floor_lending(s: &mut Section) -> StageSpec {
    let limit: u64 = s.need("limit", "slots of all gateways together");
    let gateways = s.get_or("gateways", 3u64, "how many gateways have a part of them");
    within(s, "gateways", gateways, 1, 1 << 16);
    if limit < gateways && !s.is_description() {
        let what = format!("`{}` has {limit} slots for {gateways} gateways", s.path());
        s.problem("limit", what, "write one for each at least");
    }
    let (mut floors, mut classes) = (Vec::new(), Vec::new());
    for (class, mut share) in s.named("share", "the part of a class; others have what no floor keeps") {
        classes.push(At { value: class.clone(), span: share.span() });
        let floor = share.need("floor", "slots that are kept for it, over all gateways");
        share.finish();
        floors.push((class, floor));
    }
    let sum = floors.iter().fold(0u64, |sum, (_, floor): &(String, u64)| sum.saturating_add(*floor));
    if limit < sum && !s.is_description() {
        let what = format!("`{}` keeps {sum} slots of {limit}", s.path());
        s.problem("limit", what, "raise `limit`, or lower the floors");
    }
    let idle = s.get_or("idle", Nanos::SECOND, "how long a class must have been idle on every gateway");
    let report = s.get_or("report", Nanos::millis(500), "how often reports are looked at");
    not_zero(s, "report", Some(report));
    let latency = s.get_or("latency", Nanos::millis(5), "from the controller to a gateway or back");
    let gateways = gateways.clamp(1, 1 << 16);
    let report = report.max(Nanos(1));
    naming(s, floor_lending::Settings { limit, gateways, floors, idle, report, latency }, classes)
}

fn read_saturation(s: &mut Section) -> StageSpec {
    let instances = s.get_or("instances", 1u64, "servers of the pool");
    within(s, "instances", instances, 1, 1 << 32);
    let words = [("utilization", false), ("concurrency", true)];
    let by_concurrency = s.one_of("detector", &words, Some(false), "what saturation is reckoned from");
    let mut detector = Detector::Utilization { queue_depth: 5, kv_utilization: 0.8, kv_tokens: None };
    if !by_concurrency || s.is_description() {
        let queue_depth = s.get_or("queue_depth", 5u64, "so many waiting on an instance are saturation");
        within(s, "queue_depth", queue_depth, 1, 1 << 32);
        let Share(kv_utilization) =
            s.get_or("kv_utilization", Share(0.8), "such a share of an instance's cache is saturation");
        if kv_utilization == 0.0 {
            s.problem(
                "kv_utilization",
                format!("`{}` is 0", s.path_of("kv_utilization")),
                "write more than 0",
            );
        }
        let kv_tokens: Option<u64> =
            s.get("kv_tokens", "tokens that an instance's cache holds; it never fills unless said");
        if kv_tokens == Some(0) {
            s.problem("kv_tokens", format!("`{}` is 0", s.path_of("kv_tokens")), "write 1 or more");
        }
        detector = Detector::Utilization { queue_depth, kv_utilization, kv_tokens };
    }
    if by_concurrency || s.is_description() {
        let max_in_flight =
            s.get_or("max_in_flight", 100u64, "so many in flight on an instance are saturation");
        within(s, "max_in_flight", max_in_flight, 1, 1 << 32);
        detector = Detector::Concurrency { max_in_flight };
    }
    let waits = s.get_or(
        "flow_control",
        false,
        "whether work waits in a queue while it is saturated, of any priority",
    );
    let mut flow_control = None;
    if waits || s.is_description() {
        let refresh = s.get_or("refresh", Nanos::millis(50), "with flow control, how often it looks");
        not_zero(s, "refresh", Some(refresh));
        flow_control = Some(refresh.max(Nanos(1)));
    }
    stage(s, gie_saturation::Settings { instances, detector, flow_control })
}

fn read_litellm(s: &mut Section) -> StageSpec {
    let rpm: Option<u64> = s.get("rpm", "requests in a window");
    let tpm: Option<u64> = s.get("tpm", "tokens in a window");
    if rpm.is_none() && tpm.is_none() && !s.is_description() {
        s.problem("", format!("`{}` limits nothing", s.path()), "add `rpm` or `tpm`");
    }
    for (key, amount) in [("rpm", rpm), ("tpm", tpm)] {
        if amount == Some(0) {
            let what = format!("`{}` is 0: nothing ever passes", s.path_of(key));
            s.problem(key, what, "write 1 or more, or take it out");
        }
    }
    let window = s.get_or("window", Nanos::secs(60), "how long a window lasts from its first call");
    not_zero(s, "window", Some(window));
    let Share(threshold) = s.get_or("threshold", Share(0.5), "from this share of use on parts are held to");
    let Share(default_weight) =
        s.get_or("default_weight", Share(0.25), "the weight that classes without one share");
    let output_cap = s.get_or("output_cap", 1024u64, "the largest output of a call that declares none");
    let (mut weights, mut classes) = (Vec::new(), Vec::new());
    for (class, mut share) in s.named("share", "the part of a class") {
        classes.push(At { value: class.clone(), span: share.span() });
        let Share(weight) = share.need("weight", "its share of the limit");
        share.finish();
        weights.push((class, weight));
    }
    let window = window.max(Nanos(1));
    let settings =
        litellm_priority::Settings { rpm, tpm, window, threshold, weights, default_weight, output_cap };
    naming(s, settings, classes)
}
