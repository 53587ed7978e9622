//! Published vectors of limiters, step by step: every vector of every file, by the configuration that stands for it.
//!
//! A vector that nobody walks fails, and so does a file with another number of vectors than is written here. What a
//! product does beside deciding is done by hand: partial grants, cancellations, closed loops of callers.

mod special;

use crate::support::{cost, no_faults, number, stages, vectors, whole};
use serde_json::Value;
use tidegate::engine::Take;
use tidegate::request::Ask;
use tidegate::study::probe::{Chain, Decision, Event};
use tidegate::time::SimTime;

/// Each file, and how many vectors it has.
const FILES: [(&str, usize); 8] = [
    ("token_bucket", 31),
    ("gcra", 10),
    ("windows", 18),
    ("leaky_delay", 9),
    ("reserve_smooth_bursty", 7),
    ("guava", 12),
    ("tcm", 2),
    ("headers", 2),
];

/// Vectors that nothing here can meet, each with the reason.
const NOT_OURS: &[(&str, &str)] = &[(
    "ietf-examples",
    "the text of header fields, which a simulator does not send; waits are in `retry-after-ceil`",
)];

/// Vectors of which a figure is held to something else here, each with the reason.
const NOT_ALL_OURS: &[(&str, &str)] = &[
    (
        "redis-rate-peek",
        "redis_rate reckons a wait for a cost above the limit, which no wait helps: `never` here",
    ),
    (
        "b4j-delay-table",
        "Bucket4j's raw state reckons a delay for a cost above the capacity; its public answer is never",
    ),
    (
        "kong-envoy-near-limit",
        "how Envoy's service splits hits into near and over is a statistic of that service alone",
    ),
];

/// What a limiter says of a vector's steps has these configurations: each of them must decide so.
fn configurations(id: &str) -> &'static [&'static str] {
    const GO_OR_EXACT: [&str; 3] =
        ["kind = 'token_bucket'\ndialect = 'go'", "kind = 'token_bucket'", "kind = 'gcra'"];
    const GCRA: [&str; 2] = ["kind = 'gcra'", "kind = 'token_bucket'"];
    const BUCKET4J: [&str; 2] = ["kind = 'token_bucket'\ndialect = 'bucket4j'", "kind = 'token_bucket'"];
    const JUJU: [&str; 1] = ["kind = 'token_bucket'\ndialect = 'juju'"];
    const LOGS: [&str; 2] = ["kind = 'sliding_log'", "kind = 'sliding_log'\nedge = 'closed'"];
    const FIRST_HIT: [&str; 3] = [
        "kind = 'fixed_window'\nopens = 'first_hit'",
        "kind = 'fixed_window'\ndialect = 'redis_countdown'",
        "kind = 'fixed_window'\ndialect = 'tower'",
    ];
    const METERS: [&str; 2] = ["kind = 'leaky_meter'", "kind = 'leaky_meter'\ndialect = 'exact'"];
    match id {
        "go-burst1" | "go-burst3" | "go-simultaneous-15" => &GO_OR_EXACT,
        "go-jump-backwards" => &["kind = 'token_bucket'\ndialect = 'go'"],
        "go-zero-limit" => &["kind = 'token_bucket'\ndialect = 'go'\nrate = '0/s'\nburst = 1"],
        "go-wait-simple" => &["kind = 'token_bucket'\ndialect = 'go'\nmax_wait = 'unlimited'"],
        "go-wait-deadline" => &["kind = 'token_bucket'\ndialect = 'go'\nmax_wait = '100ms'"],
        "juju-concurrent" | "juju-more-than-capacity" | "juju-sub-quantum" => &JUJU,
        "b4j-rest-of-division" | "b4j-partial-refill-estimate" => &BUCKET4J,
        "b4j-two-interval-bandwidths" => {
            &["kind = 'token_bucket'\nbandwidths = [{ refill = 'interval', rate = \
            '5/6ns', burst = 9, initial = 0 }, { refill = 'interval', rate = '4/5ns', burst = 12, initial = 0 }]"]
        }
        "b4j-interval-estimate-71" => &["kind = 'token_bucket'\nrefill = 'interval'"],
        "b4j-aligned-idle-boundary" => {
            &["kind = 'token_bucket'\nrefill = 'aligned'\nfirst_refill = '200ms'\nrate = \
            '400/100ms'\nburst = 400"]
        }
        "gcra-throttled-table" | "gcra-redis-cell-table" => {
            &["kind = 'gcra'", "kind = 'gcra'\nrate = '1/s'\nmax_burst = 4", "kind = 'token_bucket'"]
        }
        "redis-rate-peek"
        | "redis-rate-at-most"
        | "governor-rejects-too-many"
        | "governor-n-of-capacity"
        | "governor-insufficient-capacity"
        | "governor-20" => &GCRA,
        "slidingwindow-counter-go" => &["kind = 'sliding_counter'\ndialect = 'russellluo'"],
        "limits-fixed" | "resty-count" => &FIRST_HIT,
        "nrlf-exec-evenly" => &["kind = 'fixed_window'\nopens = 'first_hit'\nspread = true"],
        "limits-moving-window" | "limits-moving-cost" => &LOGS,
        "drf-expires" | "drf-constant-pace" | "limits-moving-stats" => &["kind = 'sliding_log'"],
        "resty-count-keys" => &["kind = 'fixed_window'\nkey = 'user'", "kind = 'sliding_log'\nkey = 'user'"],
        "resty-count-reset" => {
            &["kind = 'fixed_window'", "kind = 'fixed_window'\nopens = 'first_hit'", "kind = 'sliding_log'"]
        }
        // upstash's own sliding window compares before it adds, in its source as it stands, and so admits the 5.
        "upstash-rejected-consumes-nothing" => &[
            "kind = 'fixed_window'\nwindow = '10s'",
            "kind = 'sliding_counter'\nwindow = '10s'",
            "kind = 'sliding_counter'\nwindow = '10s'\ndialect = 'limits'",
            "kind = 'token_bucket'\nrate = '10/10s'\nburst = 10\nrefill = 'interval'",
            "kind = 'token_bucket'\nrate = '10/10s'\nburst = 10",
        ],
        "fixed-window-boundary-burst" => &["kind = 'fixed_window'"],
        "r4j-cycles" => &["kind = 'fixed_window'\ndialect = 'resilience4j'\nmax_wait = '0s'"],
        "resty-req-two-keys" => {
            &["kind = 'leaky_meter'\nkey = 'user'", "kind = 'leaky_meter'\ndialect = 'exact'\nkey = 'user'"]
        }
        "nginx-limit-req" => &[
            "kind = 'leaky_meter'\nnodelay = true",
            "kind = 'leaky_meter'\ndialect = 'exact'\nnodelay = true",
        ],
        "resty-req-uncommitted" | "nginx-fast-negative-excess" | "nginx-model-1rps-burst5" => &METERS,
        "nginx-clock-back" => &["kind = 'leaky_meter'"],
        "failsafe-smooth-500" | "failsafe-smooth-200" => &["kind = 'leaky_queue'\ndialect = 'failsafe'"],
        "failsafe-bursty-2" => &["kind = 'fixed_window'\ndialect = 'resilience4j'\nmax_wait = 'unlimited'"],
        "uber-initial" => &["kind = 'leaky_queue'\ndialect = 'uber'"],
        "rfc2697-srtcm" => &["kind = 'srtcm'\ncir = '1000/s'\ncbs = 2000\nebs = 2000"],
        "rfc2698-trtcm" => &["kind = 'trtcm'\ncir = '1000/s'\ncbs = 2000\npir = '2000/s'\npbs = 3000"],
        _ => &[],
    }
}

/// The keys that a vector's `config` says in its own words.
fn described(config: &Value, keys: &str) -> String {
    let mut text = format!("{keys}\nunit = 'tokens'\n");
    let mut add = |key: &str, value: Option<String>| {
        if let Some(value) = value.filter(|_| !keys.contains(&format!("\n{key} = "))) {
            text += &format!("{key} = {value}\n");
        }
    };
    let of = |key: &str| config[key].as_u64();
    let is_window = ["window", "sliding"].iter().any(|word| keys.contains(word));
    let interval = of("emission_interval_ms").or(of("interval_ms")).or(of("fill_interval_ms"));
    if !is_window && !keys.contains("tcm") && !keys.contains("bandwidths") {
        let named = of("period_ns").map(|ns| format!("'{}/{ns}ns'", whole(&config["refill"])));
        let per_interval = interval.map(|ms| format!("'1/{ms}ms'"));
        let per_second = of("rate_per_s").map(|rate| format!("'{rate}/s'"));
        add("rate", named.or(per_interval).or(per_second));
        let burst = of("burst").or(of("capacity")).or(of("limit"));
        if !keys.contains("max_burst") && !keys.contains("leaky_queue") {
            add("burst", burst.map(|burst| burst.to_string()));
        }
        add("initial", of("initial").map(|initial| initial.to_string()));
    } else if is_window {
        add("limit", of("limit").map(|limit| limit.to_string()));
        let ms = of("window_ms").or(of("period_ms")).map(|ms| format!("'{ms}ms'"));
        add("window", ms.or(of("cycle_ns").map(|ns| format!("'{ns}ns'"))));
    }
    text
}

/// A chain of the limiters with these keys, which counts whole costs.
pub fn chain(keys: &[String]) -> Chain {
    let names: Vec<String> = (0..keys.len()).map(|number| format!("l{number}")).collect();
    let named: Vec<(&str, &str)> =
        names.iter().zip(keys).map(|(name, keys)| (&name[..], &keys[..])).collect();
    Chain::new(stages(&named).0, Take::AllOrNone)
}

pub fn decide(chain: &mut Chain, ns: u64, units: u64, user: u32) -> Decision {
    chain.decide(&Event { at: SimTime(ns), ask: Ask { user, ..cost(units) } })
}

pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: T, found: T) -> Result<(), String> {
    if expected == found { Ok(()) } else { Err(format!("{what}: expected {expected:?}, found {found:?}")) }
}

/// Nanoseconds in the vector's unit of time.
pub fn unit(vector: &Value) -> f64 {
    match vector["time_unit"].as_str() {
        Some("ns") => 1.0,
        Some("ms") => 1e6,
        Some("s") => 1e9,
        other => panic!("{other:?} is no unit of time of a vector"),
    }
}

/// Takes one step and says what differs from what the vector expects.
fn step(chain: &mut Chain, vector: &Value, step: &Value) -> Result<(), String> {
    const BILLION: i128 = 1_000_000_000;
    let (unit, expect) = (unit(vector), &step["expect"]);
    let now = (number(&step["t"]) * unit) as u64;
    let user = match step["key"].as_str() {
        Some("bar") => 1,
        _ => 0,
    };
    let op = step["op"].as_str().unwrap_or("");
    // A cost of nothing looks at what is left, and takes nothing.
    let left = |chain: &mut Chain| decide(chain, now, 0, user).remaining_billionths;
    let mut units = step["cost"].as_u64().unwrap_or(1);
    match op {
        "available" => return same(op, i128::from(whole(expect)), left(chain) / BILLION),
        "take_all" => {
            units = (left(chain) / BILLION) as u64;
            same(op, whole(expect), units)?;
        }
        "allow_at_most" => units = units.min((left(chain) / BILLION) as u64).max(1),
        _ => {}
    }
    if step["commit"] == false {
        return Ok(()); // what is looked at and not taken is looked at by `special`
    }
    let before = if expect["tokens_before"].is_null() { 0 } else { left(chain) };
    let mut decision = decide(chain, now, units, user);
    for _ in 1..step["times"].as_u64().unwrap_or(1) {
        decision = decide(chain, now, units, user);
    }
    let passed = decision.refusal.is_none();
    let wait = decision.refusal.and_then(|refusal| refusal.wait);
    let nanos = |value: &Value| (number(value) * unit) as u64;
    let (delay, after) = (decision.delay.unwrap_or_default().0, decision.remaining_billionths);
    let whole_after = (after.div_euclid(BILLION)) as i64;
    let check = |key: &str, found: u64| match &expect[key] {
        Value::Null => Ok(()),
        value => same(key, nanos(value), found),
    };
    for key in ["allow", "ok"] {
        expect[key].as_bool().map_or(Ok(()), |allow| same(key, allow, passed))?;
    }
    if let Some(status) = expect["status"].as_u64() {
        same("status", status, if passed { 200 } else { 503 })?;
    }
    if let Some(colour) = expect.as_str() {
        same("colour", Some(colour), decision.colour)?;
        same("what is red is refused", colour != "red", passed)?;
    }
    check("waited", delay)?;
    check("delay", delay)?;
    check("last_wait", delay)?;
    if let Some(wait) = expect["wait"].as_f64() {
        let found = decision.delay.or(decision.refusal.and_then(|refusal| refusal.wait));
        same("wait", Some((wait * unit) as u64), found.map(|found| found.0))?;
    }
    if expect["wait"] == "never" || expect["why"] == "insufficient_capacity" {
        same("never", None, wait)?;
        same("never", false, passed)?;
    }
    if let Some(act_at) = expect["act_at"].as_f64() {
        same("act at", (act_at * unit) as u64, now + delay)?;
    }
    if let Some(free) = expect["next_free"].as_f64() {
        let last_takes = whole(&vector["config"]["interval_ms"]) * 1_000_000;
        let start = (now + delay).max(now / last_takes * last_takes) / last_takes * last_takes;
        same("next free", (free * unit) as u64, start + last_takes)?;
    }
    if let Some(allowed) = expect["allowed"].as_u64() {
        same("allowed", allowed, if passed { units } else { 0 })?;
    }
    if let Some(tokens) = expect["tokens_before"].as_i64() {
        same("tokens before", tokens, before.div_euclid(BILLION) as i64)?;
    }
    for key in ["remaining", "available", "available_after"] {
        expect[key].as_i64().map_or(Ok(()), |remaining| same(key, remaining, whole_after))?;
    }
    if let Some(excess) = expect["excess_milli"].as_i64().or(expect["excess"].as_i64().map(|e| e * 1_000)) {
        // Of what is refused, the excess that it would have made is told.
        let burst = whole(&vector["config"]["burst"]) as i64;
        let found = burst * 1_000 - after.div_euclid(1_000_000) as i64 + if passed { 0 } else { 1_000 };
        same("excess", excess, found)?;
    }
    let reset = decision.reset.unwrap_or_default().0;
    check("reset_after", reset)?;
    check("reset_in", reset)?;
    if let Some(reset_at) = expect["reset_at"].as_f64() {
        same("reset at", (reset_at * unit) as u64, now + reset)?;
    }
    // redis_rate reckons a wait for more than the burst; no wait helps, as its first answer to such a cost says.
    let is_beyond = op == "allow_n" && vector["config"]["limit"].as_u64().is_some_and(|limit| limit < units);
    if is_beyond {
        same("never", (false, None), (passed, wait))?;
    } else if let Some(value) = expect.get("retry_after") {
        let retry_after =
            if op == "allow_at_most" && !passed { Some(decide(chain, now, 1, user)) } else { None };
        let wait = retry_after.map_or(wait, |again| again.refusal.and_then(|refusal| refusal.wait));
        same("retry after", value.as_f64().map(|value| (value * unit) as u64), wait.map(|wait| wait.0))?;
    }
    if let Some(wait_after) = expect["wait_after"].as_f64() {
        let again = decide(chain, now, 1, user).refusal.and_then(|refusal| refusal.wait);
        same("wait after", Some((wait_after * unit) as u64), again.map(|wait| wait.0))?;
    }
    Ok(())
}

/// Walks the steps of a vector under each of its configurations.
fn walk(vector: &Value) -> Option<Result<(), String>> {
    let id = vector["id"].as_str()?;
    let all = configurations(id);
    let steps = vector["steps"].as_array().filter(|_| !all.is_empty())?;
    Some(all.iter().try_for_each(|keys| {
        let mut chain = chain(&[described(&vector["config"], keys)]);
        steps.iter().enumerate().try_for_each(|(at, each)| {
            // No reset is told of a plain bucket by the tables of GCRA's products; it is the same.
            step(&mut chain, vector, each).map_err(|why| format!("{keys:?}: step {at}: {why}"))
        })
    }))
}

#[test]
fn every_published_vector_holds() {
    let mut faults = Vec::new();
    let mut not_ours: Vec<&str> = NOT_OURS.iter().chain(NOT_ALL_OURS).map(|(id, _)| *id).collect();
    for (file, count) in FILES {
        let all = vectors(file);
        let all = all["vectors"].as_array().expect("a file has vectors");
        if all.len() != count {
            faults.push(format!("{file}: {} vectors, {count} are written in this test", all.len()));
        }
        for vector in all {
            let id = vector["id"].as_str().expect("a vector has an id");
            if let Some((_, why)) = NOT_OURS.iter().find(|(other, _)| *other == id) {
                println!("{id}: {why}");
                not_ours.retain(|other| *other != id);
                continue;
            }
            if let Some((_, why)) = NOT_ALL_OURS.iter().find(|(other, _)| *other == id) {
                println!("{id}: {why}");
                not_ours.retain(|other| *other != id);
            }
            let walked = [special::walk(vector), walk(vector)];
            match walked.iter().flatten().count() {
                0 => faults.push(format!("{id}: nobody walks it")),
                _ => faults.extend(
                    walked
                        .into_iter()
                        .flatten()
                        .filter_map(|each| each.err())
                        .map(|why| format!("{id}: {why}")),
                ),
            }
        }
    }
    faults.extend(not_ours.iter().map(|id| format!("{id}: listed, but in no file")));
    no_faults(faults);
}
