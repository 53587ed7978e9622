//! Vectors that are more than a list of asks to one limiter.

use super::{chain, decide, described, same, unit};
use crate::support::{cost, limiter, number, whole};
use serde_json::Value;
use tidegate::limiter::go_rate::GoRate;
use tidegate::limiter::guava::{Guava, Saving};
use tidegate::limiter::nginx::Nginx;
use tidegate::limiter::token_bucket::TokenBucket;
use tidegate::limiter::{Rule, Verdict, whole_seconds};
use tidegate::request::{Ask, Knob};
use tidegate::study::probe::Chain;
use tidegate::time::{Nanos, SimTime};
use tidegate::units::{Rate, parse_rate};

const MS: u64 = 1_000_000;

/// Walks a vector of another shape; `None` if it is a list of asks.
pub fn walk(vector: &Value) -> Option<Result<(), String>> {
    let id = vector["id"].as_str()?;
    Some(match id {
        "go-simple-reserve"
        | "go-cancel-last"
        | "go-cancel-too-late"
        | "go-cancel-1-token"
        | "go-reserve-jump-back"
        | "go-set-limit"
        | "go-set-burst" => reservations(vector),
        "go-long-running-qps" => long_run(vector),
        "juju-take-available" => each_case(vector, take_available),
        "juju-available" => each_case(vector, available),
        "juju-no-bonus-after-full" => no_bonus(vector),
        "b4j-rest-cleared-when-full" => added_by_hand(),
        "b4j-delay-table" => each_case(vector, delay),
        "b4j-refill-rounding" => each_case(vector, rounding),
        "b4j-consume-debt" => each_case(vector, debt),
        "b4j-aligned-initial" => each_case(vector, adaptive),
        "gcra-rate-periods" => each_case(vector, period),
        "i371-equivalence" => each_case(vector, conforms),
        "cloudflare-49.5" => estimate(),
        "drf-two-throttles" => several(vector, false),
        "nrlf-bursty" => several(vector, true),
        "kong-envoy-near-limit" => each_case(vector, batch),
        "fixed-window-boundary-burst" => others_at_the_boundary(),
        "resty-req-burst" => each_case(vector, first_rejected),
        "resty-req-uncommitted" => uncommitted(vector),
        "nginx-two-zones" => two_zones(vector),
        "nginx-dry-run" => dry_run(vector),
        "uber-pacer-100" => closed_loop(vector, "100/s", 4),
        "uber-pacer-per-minute" => closed_loop(vector, "7/60s", 2),
        "uber-slack" => each_case(vector, in_series),
        "retry-after-ceil" => each_case(vector, retry_after),
        _ if id.starts_with("guava-") => guava(vector),
        _ => return None,
    })
}

fn each_case(vector: &Value, hold: fn(&Value) -> Result<(), String>) -> Result<(), String> {
    let cases = vector["cases"].as_array().expect("it has cases");
    cases.iter().try_for_each(|case| hold(case).map_err(|why| format!("{case}: {why}")))
}

/// Go's reservations, with cancellations and changes of the rate and the burst.
fn reservations(vector: &Value) -> Result<(), String> {
    let config = &vector["config"];
    let burst = whole(&config["burst"]);
    let mut rule =
        GoRate { per_second: number(&config["rate_per_s"]), burst, initial: burst, max_wait: None };
    let mut state = rule.fresh();
    let mut reserved = None;
    for (at, step) in vector["steps"].as_array().expect("steps").iter().enumerate() {
        let (now, units) = (SimTime(whole(&step["t"]) * MS), whole(&step["cost"]));
        let op = step["op"].as_str().expect("an operation");
        let change = |rule: &mut GoRate, state: &mut _, knob| {
            let changed = rule.with(knob).expect("it has the knob");
            *state = changed.carry(rule, state, now);
            *rule = changed;
        };
        if let Some(rate) = op.strip_prefix("set_rate=") {
            change(&mut rule, &mut state, Knob::Rate(parse_rate(&format!("{rate}/s"))?));
        } else if let Some(burst) = op.strip_prefix("set_burst=") {
            change(&mut rule, &mut state, Knob::Burst(burst.parse().expect("a number")));
        } else if op == "cancel#r" {
            let (units, start) = reserved.expect("it was reserved");
            rule.cancel(&mut state, now, units, start);
        } else {
            rule.max_wait = op.contains("max_100ms").then_some(Nanos(100 * MS));
            let start = match rule.check(&state, now, units) {
                Verdict::Pass => Some(now),
                Verdict::Delay(start) => Some(start),
                _ => None,
            };
            let expect = &step["expect"];
            same(&format!("step {at}: ok"), expect["ok"].as_bool(), Some(start.is_some()))?;
            if let Some(start) = start {
                rule.take(&mut state, now, units);
                same(&format!("step {at}: act at"), whole(&expect["act_at"]) * MS, start.0)?;
                if op == "reserve#r" {
                    reserved = Some((units, start));
                }
            }
        }
    }
    Ok(())
}

/// So many may pass when one asks again and again.
fn long_run(vector: &Value) -> Result<(), String> {
    let (generator, expect) = (&vector["generator"], &vector["expect"]);
    let (until, every) = (whole(&generator["to_ms"]), whole(&generator["every_ms"]));
    for keys in ["kind = 'token_bucket'\ndialect = 'go'", "kind = 'token_bucket'", "kind = 'gcra'"] {
        let mut chain = chain(&[described(&vector["config"], keys)]);
        let passes = |ms: &u64| decide(&mut chain, ms * MS, 1, 0).refusal.is_none();
        let passed = (0..until).step_by(every as usize).filter(passes).count() as u64;
        let bounds = whole(&expect["admitted_min"])..=whole(&expect["admitted_max"]);
        if !bounds.contains(&passed) {
            return Err(format!("{keys}: {passed} passed, expected {bounds:?}"));
        }
    }
    Ok(())
}

fn juju(capacity: &Value, fill_ms: &Value, quantum: u64) -> Chain {
    let (capacity, fill_ms) = (whole(capacity), whole(fill_ms));
    chain(&[format!(
        "kind = 'token_bucket'\ndialect = 'juju'\nunit = 'tokens'\nmax_tokens = {capacity}\ntokens_per_fill = \
         {quantum}\nfill_interval = '{fill_ms}ms'"
    )])
}

fn left(chain: &mut Chain, ms: u64) -> u64 {
    (decide(chain, ms * MS, 0, 0).remaining_billionths / 1_000_000_000) as u64
}

/// Takes as many as there are.
fn take_available(case: &Value) -> Result<(), String> {
    let mut chain = juju(&case["capacity"], &case["fill_ms"], 1);
    for step in case["steps"].as_array().expect("steps") {
        let (ms, wanted, expected) = (whole(&step[0]), whole(&step[1]), whole(&step[2]));
        let taken = wanted.min(left(&mut chain, ms));
        same("taken", expected, taken)?;
        same("no wait", Some(Nanos::ZERO), decide(&mut chain, ms * MS, taken, 0).delay)?;
    }
    Ok(())
}

fn available(case: &Value) -> Result<(), String> {
    let mut chain = juju(&case["capacity"], &case["fill_ms"], 1);
    decide(&mut chain, 0, whole(&case["take"]), 0);
    same("after the take", whole(&case["after_take"]), left(&mut chain, 0))?;
    same("after the sleep", whole(&case["after_sleep"]), left(&mut chain, whole(&case["sleep_ms"])))
}

fn no_bonus(vector: &Value) -> Result<(), String> {
    let config = &vector["config"];
    let mut chain = juju(&config["capacity"], &config["fill_interval_ms"], whole(&config["quantum"]));
    for step in vector["steps"].as_array().expect("steps") {
        let (ms, expected) = (whole(&step["t"]), whole(&step["expect"]));
        let there = left(&mut chain, ms);
        same("available", expected, there.min(step["cost"].as_u64().unwrap_or(there)))?;
        if step["op"] == "take_available" {
            decide(&mut chain, ms * MS, expected, 0);
        }
    }
    Ok(())
}

fn bucket(refill: u64, period: u64, burst: u64) -> TokenBucket {
    TokenBucket { clamps: true, ..TokenBucket::new(Rate::new(refill, Nanos(period)).expect("a rate"), burst) }
}

/// Tokens that are added up to the burst leave no part of one beside them.
fn added_by_hand() -> Result<(), String> {
    let rule = TokenBucket { initial: 0, ..bucket(10, 100, 10) };
    let mut state = rule.fresh();
    same("97 ns", Verdict::Pass, rule.check(&state, SimTime(97), 9))?;
    rule.take(&mut state, SimTime(97), 9);
    same("refused", false, rule.check(&state, SimTime(97), 1).passes())?;
    rule.give_back(&mut state, SimTime(97), 10);
    rule.take(&mut state, SimTime(97), 10);
    same("100 ns", false, rule.check(&state, SimTime(100), 1).passes())
}

/// The wait of several bandwidths is the longest of them.
fn delay(case: &Value) -> Result<(), String> {
    let bandwidths = case["bandwidths"].as_array().expect("it has bandwidths");
    let tables = bandwidths.iter().map(|each| {
        let of = |key: &str| whole(&each[key]);
        let (refill, period, burst, initial) = (of("refill"), of("period"), of("capacity"), of("initial"));
        format!("{{ rate = '{refill}/{period}ns', burst = {burst}, initial = {initial} }}")
    });
    let tables = tables.collect::<Vec<_>>().join(", ");
    let limiter = limiter(&format!("kind = 'token_bucket'\nunit = 'tokens'\nbandwidths = [{tables}]"));
    let found = match limiter.check(SimTime(0), &cost(whole(&case["cost"]))) {
        Verdict::Pass => Some(0),
        Verdict::At(at) => Some(at.0),
        _ => None,
    };
    // The source's raw state reckons a delay for more than the capacity; its public answer is never, as here.
    let capacity = bandwidths.iter().map(|each| whole(&each["capacity"])).min().expect("one at least");
    let expected = (whole(&case["cost"]) <= capacity).then(|| whole(&case["delay_ns"]));
    same("delay", expected, found)
}

/// What a refill leaves in the bucket, to the last part of a token, also when time has stepped back.
fn rounding(case: &Value) -> Result<(), String> {
    let of = |key: &str| whole(&case[key]);
    let rule = bucket(of("refill"), of("period"), of("capacity"));
    let mut state = rule.fresh();
    rule.take(&mut state, SimTime(10_000), of("capacity") - of("initial"));
    let level = rule.level(&state, SimTime(of("t")));
    let (price, period) = (i128::from(level.price), i128::from(of("period")));
    let found = (level.credits / price, level.credits % price * period / price);
    same("tokens and remainder", (of("tokens").into(), of("remainder").into()), found)
}

fn debt(case: &Value) -> Result<(), String> {
    let rule = TokenBucket { initial: whole(&case["initial"]), ..bucket(1, 1_000, 1_000) };
    let mut state = rule.fresh();
    rule.charge(&mut state, SimTime(0), whole(&case["force_consume"]));
    let level = rule.level(&state, SimTime(0));
    same("balance", case["balance"].as_i64().map(i128::from), Some(level.credits / i128::from(level.price)))
}

fn adaptive(case: &Value) -> Result<(), String> {
    let of = |key: &str| whole(&case[key]);
    let keys = format!(
        "kind = 'token_bucket'\nunit = 'tokens'\nrefill = 'aligned'\nadaptive_initial = true\nfirst_refill = \
         '{}ms'\nrate = '{}/60s'\nburst = {}",
        of("first_refill"),
        of("refill"),
        of("capacity")
    );
    same("initial", of("initial"), left(&mut chain(&[keys]), of("now")))
}

/// A rate in words has this emission interval.
fn period(case: &Value) -> Result<(), String> {
    let per = match case["per"].as_str() {
        Some(unit) => unit.to_string(),
        None => format!("{}ms", whole(&case["per_ms"])),
    };
    let per = if per == "day" { "d".to_string() } else { per };
    let rate = parse_rate(&format!("{}/{per}", whole(&case["count"])));
    if case["error"].is_string() {
        return same("is an error", true, rate.is_err());
    }
    let rate = rate?;
    same("emission interval", (1, whole(&case["period_ms"]) * MS), (rate.units(), rate.per().0))
}

/// The virtual scheduling of I.371 with any tolerance: a cell costs T units of a limit of one unit per millisecond.
fn conforms(case: &Value) -> Result<(), String> {
    let (cell, tolerance) = (whole(&case["T"]), whole(&case["tau"]));
    for kind in ["gcra", "token_bucket"] {
        let burst = cell + tolerance;
        let mut chain = chain(&[format!("kind = '{kind}'\nunit = 'tokens'\nrate = '1/ms'\nburst = {burst}")]);
        let arrivals = case["arrivals"].as_array().expect("arrivals").iter();
        let found: Vec<Value> =
            arrivals.map(|at| decide(&mut chain, whole(at) * MS, cell, 0).refusal.is_none().into()).collect();
        same(kind, case["conforming"].as_array(), Some(&found))?;
    }
    Ok(())
}

/// 42 in the last minute and 18 in this one are 49.5 after 15 s: one more passes, and no other at that instant.
fn estimate() -> Result<(), String> {
    let mut chain =
        chain(&["kind = 'sliding_counter'\nunit = 'tokens'\nlimit = 50\nwindow = '60s'".to_string()]);
    decide(&mut chain, 0, 42, 0);
    decide(&mut chain, 75_000 * MS - 1, 18, 0);
    let looked = decide(&mut chain, 75_000 * MS, 0, 0);
    same("left of 50", 500_000_000, looked.remaining_billionths)?;
    same("one more", true, decide(&mut chain, 75_000 * MS, 1, 0).refusal.is_none())?;
    same("and another", false, decide(&mut chain, 75_000 * MS, 1, 0).refusal.is_none())
}

/// Several logs of which each sees every ask: all must let it pass, or any.
fn several(vector: &Value, any: bool) -> Result<(), String> {
    let limits = vector["config"]["limits"].as_array().expect("limits");
    let make = |each: &Value| {
        let (limit, window) = (whole(&each["limit"]), whole(&each["window_ms"]));
        chain(&[format!("kind = 'sliding_log'\nlimit = {limit}\nwindow = '{window}ms'")])
    };
    let mut chains: Vec<Chain> = limits.iter().map(make).collect();
    for (at, step) in vector["steps"].as_array().expect("steps").iter().enumerate() {
        let now = whole(&step["t"]) * MS;
        let mut waits = Vec::new();
        for chain in &mut chains {
            let refusal = decide(chain, now, 1, 0).refusal;
            let passed = refusal.is_none();
            waits.push(refusal.map(|refusal| refusal.wait.unwrap_or(Nanos(u64::MAX)).0));
            if any && passed {
                break; // the one behind is asked if this one refuses
            }
        }
        let refused: Vec<u64> = waits.iter().flatten().copied().collect();
        let passed = if any { refused.len() < waits.len() } else { refused.is_empty() };
        let expect = &step["expect"];
        same(&format!("step {at}"), expect["allow"].as_bool(), Some(passed))?;
        if let Some(wait) = expect["retry_after"].as_u64() {
            same("retry after", Some(wait * MS), refused.iter().max().copied())?;
        }
        if let Some(most) = expect["retry_after_le"].as_u64() {
            same("waits no longer", true, refused.iter().min().is_some_and(|wait| *wait <= most * MS))?;
        }
    }
    Ok(())
}

/// Envoy's service adds a batch first and compares after. How it splits its hits into near and over is a statistic of
/// that service alone.
fn batch(case: &Value) -> Result<(), String> {
    let limit = whole(&case["limit"]);
    let keys = format!(
        "kind = 'fixed_window'\nunit = 'tokens'\ncount_rejected = true\nwindow = '60s'\nlimit = {limit}"
    );
    let mut chain = chain(&[keys]);
    decide(&mut chain, 0, whole(&case["before"]), 0);
    let decision = decide(&mut chain, 0, whole(&case["hits"]), 0);
    same("code", case["code"] == "OK", decision.refusal.is_none())?;
    same("remaining", i128::from(whole(&case["remaining"])) * 1_000_000_000, decision.remaining_billionths)
}

/// What the notes say of other kinds at a window's boundary.
fn others_at_the_boundary() -> Result<(), String> {
    let keys = "unit = 'tokens'\nlimit = 100\nwindow = '60s'";
    // Less than one of the hundred is left of the last minute after 59.4 s.
    for (kind, wait) in [("sliding_log", 59_999 * MS), ("sliding_counter", 59_400 * MS + 1)] {
        let mut chain = chain(&[format!("kind = '{kind}'\n{keys}")]);
        same(kind, true, decide(&mut chain, 59_999 * MS, 100, 0).refusal.is_none())?;
        let refusal = decide(&mut chain, 60_000 * MS, 100, 0).refusal;
        same(kind, Some(Some(Nanos(wait))), refusal.map(|refusal| refusal.wait))?;
    }
    Ok(())
}

fn first_rejected(case: &Value) -> Result<(), String> {
    for dialect in ["nginx", "exact"] {
        let burst = whole(&case["burst"]);
        let keys = format!("kind = 'leaky_meter'\ndialect = '{dialect}'\nrate = '2/s'\nburst = {burst}");
        let mut chain = chain(&[keys]);
        let first = (1..=10).find(|_| decide(&mut chain, 0, 1, 0).refusal.is_some());
        same(dialect, case["first_rejected_index"].as_u64(), first)?;
    }
    Ok(())
}

/// What is looked at and not committed changes nothing.
fn uncommitted(vector: &Value) -> Result<(), String> {
    for dialect in ["nginx", "exact"] {
        let mut limiter =
            limiter(&format!("kind = 'leaky_meter'\ndialect = '{dialect}'\nrate = '2/s'\nburst = 10"));
        for step in vector["steps"].as_array().expect("steps") {
            let (now, ask) = (SimTime(whole(&step["t"]) * MS), Ask::default());
            let delay = match limiter.check(now, &ask) {
                Verdict::Pass => 0,
                Verdict::Delay(start) => (start - now).0,
                other => return Err(format!("{other:?}")),
            };
            same(dialect, whole(&step["expect"]["delay"]) * MS, delay)?;
            if step["commit"] == true {
                limiter.take(now, &ask);
            }
        }
    }
    Ok(())
}

fn nginx(units: u64, per_s: u64, burst: u64) -> Nginx {
    let rate = Rate::new(units, Nanos::secs(per_s)).expect("a rate");
    Nginx::new(rate, burst, Some(0)).expect("in range")
}

/// Two zones by different keys; who has no key in a zone is not asked there. They are charged if both pass.
fn two_zones(vector: &Value) -> Result<(), String> {
    let zones = [("b", nginx(1_000, 1, 0)), ("a", nginx(1, 60, 0))];
    let mut states = [[zones[0].1.fresh(), zones[0].1.fresh()], [zones[1].1.fresh(), zones[1].1.fresh()]];
    for (at, step) in vector["steps"].as_array().expect("steps").iter().enumerate() {
        let now = SimTime(whole(&step["t"]) * MS);
        let key = |zone: usize| step["keys"][zones[zone].0].as_u64().map(|key| key as usize - 1);
        let passes = (0..2)
            .all(|zone| key(zone).is_none_or(|key| zones[zone].1.check(&states[zone][key], now, 1).passes()));
        for zone in (0..2).filter(|_| passes) {
            if let Some(key) = key(zone) {
                zones[zone].1.take(&mut states[zone][key], now, 1);
            }
        }
        same(&format!("step {at}"), whole(&step["expect"]), if passes { 200 } else { 503 })?;
    }
    Ok(())
}

/// A zone that is seen from places with other bursts, of which some let all pass and account as usual.
fn dry_run(vector: &Value) -> Result<(), String> {
    let mut state = nginx(1, 60, 2).fresh();
    for step in vector["steps"].as_array().expect("steps") {
        let now = SimTime(whole(&step["t"]) * MS);
        let zone = nginx(1, 60, step["burst"].as_u64().unwrap_or(2));
        let dry = step["dry_run"] != false;
        let verdict = zone.check(&state, now, 1);
        let word = match verdict {
            Verdict::Pass => "PASSED",
            Verdict::Delay(_) => "DELAYED_DRY_RUN",
            _ if dry => "REJECTED_DRY_RUN",
            _ => "503 REJECTED",
        };
        same("outcome", step["expect"].as_str(), Some(word))?;
        if verdict.passes() {
            zone.take(&mut state, now, 1);
        }
    }
    Ok(())
}

/// When a turn of a pacer comes.
fn turn(pacer: &mut Chain, now: u64) -> u64 {
    now + decide(pacer, now, 1, 0).delay.expect("it never refuses").0
}

/// Callers that take a turn, wait for it and come again: so many turns by these instants. Like a clock that is moved
/// on from outside, the count takes what is due before the instant itself.
fn closed_loop(vector: &Value, rate: &str, callers: usize) -> Result<(), String> {
    let mut pacer = chain(&[format!("kind = 'leaky_queue'\ndialect = 'uber'\nrate = '{rate}'\nslack = 0")]);
    let mut due = vec![0; callers];
    let mut turns = Vec::new();
    for _ in 0..400 {
        let next = due.iter_mut().min().expect("a caller");
        *next = turn(&mut pacer, *next);
        turns.push(*next);
    }
    for expect in vector["expect"].as_array().expect("instants") {
        let until = whole(&expect["t"]) * MS;
        let count = turns.iter().filter(|at| **at < until).count() as u64;
        same(&format!("turns by {until} ns"), whole(&expect["count"]), count)?;
    }
    Ok(())
}

/// One caller takes turns of a slow pacer, which has no slack, and of a fast one; from 2 s on two more callers take
/// the fast one alone.
fn in_series(case: &Value) -> Result<(), String> {
    let pacer = |rate: &str, slack: u64| {
        chain(&[format!("kind = 'leaky_queue'\ndialect = 'uber'\nrate = '{rate}'\nslack = {slack}")])
    };
    let mut slow = pacer("10/s", 0);
    let mut fast = pacer(&format!("100/{}ms", whole(&case["per_ms"])), whole(&case["slack"]));
    // When a caller comes next, and whether it takes both; the slow turn comes first.
    let mut callers = [(0, true, true), (2_000 * MS, false, false), (2_000 * MS, false, false)];
    let mut turns = Vec::new();
    while let Some(caller) = callers.iter_mut().min_by_key(|(at, ..)| *at).filter(|(at, ..)| *at < 4_000 * MS)
    {
        let (at, both, slow_next) = *caller;
        *caller = if slow_next {
            (turn(&mut slow, at), both, false)
        } else {
            let start = turn(&mut fast, at);
            turns.push(start);
            (start, both, both)
        };
    }
    for (key, until) in [("count_at_1s", 1_000 * MS), ("count_at_3s", 3_000 * MS)] {
        let count = turns.iter().filter(|at| **at < until).count() as u64;
        same(key, whole(&case[key]), count)?;
    }
    Ok(())
}

fn retry_after(case: &Value) -> Result<(), String> {
    same("seconds", whole(&case["retry_after"]), whole_seconds(Nanos(whole(&case["wait_ms"]) * MS)))
}

/// Guava's table of events: `acquire 1 -> 0.20`, `sleep 0.5`, `set_rate 4`, `try 1 timeout 0 -> true`.
fn guava(vector: &Value) -> Result<(), String> {
    let config = &vector["config"];
    let per_second = match config["rate"].as_str() {
        Some("inf") => f64::INFINITY,
        Some(_) => f64::from_bits(1),
        None => number(&config["rate"]),
    };
    let saving = match config["warmup"].as_f64() {
        Some(seconds) => Saving::WarmingUp {
            warm_up: Nanos((seconds * unit(vector)) as u64),
            cold_factor: number(&config["cold_factor"]),
        },
        None => Saving::Bursty(Nanos::SECOND),
    };
    let mut rule = Guava { per_second, saving, max_wait: None };
    let mut state = rule.fresh();
    let mut now = SimTime(0);
    for (at, event) in vector["events"].as_array().expect("events").iter().enumerate() {
        let text = event.as_str().expect("an event is text");
        let words: Vec<&str> = text.split_whitespace().collect();
        let fault = |why: String| format!("event {at}, `{text}`: {why}");
        let mut acquire = |rule: &Guava, units: u64, expected: &str| {
            let start = match rule.check(&state, now, units) {
                Verdict::Pass => now,
                Verdict::Delay(start) => start,
                other => return Err(format!("{other:?}")),
            };
            rule.take(&mut state, now, units);
            // The source writes whole hundredths, halves up, and `acquire` sleeps until its turn.
            let hundredths = ((start - now).0 + 5 * MS) / (10 * MS);
            now = start;
            let expected = expected.parse::<f64>().expect("seconds") * 100.0;
            same("hundredths waited", expected.round() as u64, hundredths)
        };
        match words[..] {
            // Three at once, of which two were saved and one is free.
            ["acquire", "->", expected, "x3", ..] => {
                (0..3).try_for_each(|_| acquire(&rule, 1, expected)).map_err(fault)?
            }
            ["acquire", "->", expected] => acquire(&rule, 1, expected).map_err(fault)?,
            ["acquire", units, "->", expected] => {
                acquire(&rule, units.parse().expect("permits"), expected).map_err(fault)?
            }
            ["sleep", seconds] => {
                now = now.saturating_add(Nanos::from_f64(seconds.parse::<f64>().expect("seconds") * 1e9))
            }
            ["set_rate", rate] => {
                let per_second = if rate == "inf" { f64::INFINITY } else { rate.parse().expect("a rate") };
                let changed = Guava { per_second, ..rule.clone() };
                state = changed.carry(&rule, &state, now);
                rule = changed;
            }
            ["try", units, .., expected] => {
                rule.max_wait = Some(Nanos::ZERO); // a negative timeout counts as none
                let units = units.parse().expect("permits");
                let passes = rule.check(&state, now, units).passes();
                same("passes", expected, if passes { "true" } else { "false" }).map_err(fault)?;
                if passes {
                    rule.take(&mut state, now, units);
                }
            }
            _ => return Err(fault("nobody understands it".into())),
        }
    }
    Ok(())
}
