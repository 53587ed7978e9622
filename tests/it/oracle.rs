//! Decisions against outside authorities: published vectors, recorded runs of the products, the product beside ours.

use crate::support::{cost, limiter, number, stages, trace, vectors, whole};
use governor::clock::FakeRelativeClock;
use governor::{Quota, RateLimiter};
use proptest::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::num::NonZeroU32;
use std::time::Duration;
use tidegate::client::backoff::{Exponential, Jitter};
use tidegate::client::budget::{Budget, Finagle};
use tidegate::limiter::{Limiter, Verdict};
use tidegate::request::Ask;
use tidegate::rng::Dice;
use tidegate::time::{Nanos, SimTime};
use tidegate::units::parse_rate;

/// Vectors that describe something else than the two kinds here, each with the reason.
const OTHER_DIALECTS: &[(&str, &str)] = &[
    ("go-jump-backwards", "time that goes backwards is refused when read, never lived again"),
    ("go-simple-reserve", "reservations with debt"),
    ("go-cancel-last", "reservations with debt"),
    ("go-cancel-too-late", "reservations with debt"),
    ("go-cancel-1-token", "reservations with debt"),
    ("go-reserve-jump-back", "reservations with debt"),
    ("go-set-limit", "reservations with debt"),
    ("go-set-burst", "reservations with debt"),
    ("go-wait-deadline", "waiting with a deadline"),
    ("juju-concurrent", "takes into debt, refill in ticks"),
    ("juju-more-than-capacity", "takes into debt, refill in ticks"),
    ("juju-sub-quantum", "takes into debt, refill in ticks"),
    ("juju-take-available", "partial grants"),
    ("juju-available", "refill in ticks"),
    ("juju-no-bonus-after-full", "partial grants"),
    ("b4j-rest-cleared-when-full", "tokens added by hand; a refund at the burst is in the contract"),
    ("b4j-two-interval-bandwidths", "interval refill"),
    ("b4j-interval-estimate-71", "interval refill"),
    ("b4j-consume-debt", "takes into debt"),
    ("b4j-aligned-initial", "interval refill"),
    ("b4j-aligned-idle-boundary", "interval refill"),
    ("redis-rate-at-most", "partial grants"),
];

/// A limit that counts tokens, so that costs are free to choose.
fn limit(kind: &str, units: u64, per_ns: u64, burst: u64, initial: Option<u64>) -> Box<dyn Limiter> {
    let initial = initial.map_or(String::new(), |initial| format!("initial = {initial}\n"));
    limiter(&format!(
        "kind = '{kind}'\nunit = 'tokens'\nrate = '{units}/{per_ns}ns'\nburst = {burst}\n{initial}"
    ))
}

/// Whole units left, and what is left beyond them in `parts` of a unit.
fn left(limiter: &dyn Limiter, now: SimTime, parts: u128) -> (u64, u64) {
    let (credits, price) = limiter.remaining(now, &cost(1));
    let credits = u128::try_from(credits).expect("no debt");
    ((credits / price) as u64, (credits % price * parts / price) as u64)
}

/// One limit as a vector configures it: kind, units, nanoseconds, burst, initial.
fn configured(vector: &Value) -> Vec<Box<dyn Limiter>> {
    let config = &vector["config"];
    let ms = 1_000_000;
    if let Some(interval) = config["emission_interval_ms"].as_u64() {
        let burst = whole(&config["limit"]);
        return ["gcra", "token_bucket"].map(|kind| limit(kind, 1, interval * ms, burst, None)).into();
    }
    if let Some(rate) = config["rate_per_s"].as_u64() {
        let burst = whole(&config["burst"]);
        return ["token_bucket", "gcra"].map(|kind| limit(kind, rate, 1_000 * ms, burst, None)).into();
    }
    let (refill, period) = (whole(&config["refill"]), whole(&config["period_ns"]));
    let initial = whole(&config["initial"]);
    vec![limit("token_bucket", refill, period, whole(&config["capacity"]), Some(initial))]
}

/// Nanoseconds in the vector's unit of time.
fn unit(vector: &Value) -> f64 {
    match vector["time_unit"].as_str() {
        Some("ns") => 1.0,
        Some("ms") => 1e6,
        other => panic!("{other:?} is no unit of time of a vector"),
    }
}

/// Takes one step and says what differs from what the vector expects.
fn step(limiter: &mut dyn Limiter, burst: u64, step: &Value, unit: f64) -> Result<(), String> {
    let now = SimTime((number(&step["t"]) * unit) as u64);
    let op = step["op"].as_str().unwrap_or("");
    let before = left(limiter, now, 1).0;
    if op == "take_all" {
        limiter.take(now, &cost(before));
        return same("taken", whole(&step["expect"]), before);
    }
    let units = whole(&step["cost"]);
    let (ask, expect) = (cost(units), &step["expect"]);
    let verdict = limiter.check(now, &ask);
    if verdict == Verdict::Pass {
        limiter.take(now, &ask);
    }
    let passed = verdict == Verdict::Pass;
    if let Some(allow) = expect["allow"].as_bool().or(expect["ok"].as_bool().filter(|_| op != "wait")) {
        same("allowed", allow, passed)?;
    }
    if op == "wait" {
        // It waits for its turn: never if it is too large, else until the instant that was promised.
        same("possible", expect["ok"].as_bool() == Some(true), verdict != Verdict::Never)?;
        let waited = if let Verdict::At(at) = verdict { (at - now).0 } else { 0 };
        same("waited", number(&expect["waited"]) * unit, waited as f64)?;
    }
    if let Some(allowed) = expect["allowed"].as_u64() {
        same("allowed", allowed, if passed { units } else { 0 })?;
    }
    if let Some(tokens) = expect["tokens_before"].as_u64() {
        same("tokens before", tokens, before)?;
    }
    if let Some(remaining) = expect["remaining"].as_u64() {
        same("remaining", remaining, left(limiter, now, 1).0)?;
    }
    if let Some(reset) = expect["reset_after"].as_f64() {
        // When a limit of its burst would pass again: after silence, all of it is there.
        let full = match limiter.check(now, &cost(burst)) {
            Verdict::Pass => 0,
            Verdict::At(at) => (at - now).0,
            other => return Err(format!("{other:?} for the burst itself")),
        };
        same("reset after", reset * unit, full as f64)?;
    }
    match (&expect["retry_after"], verdict) {
        (Value::Null, Verdict::At(_)) if expect.get("retry_after").is_some() => {
            return Err("refused for a while, but a wait was not expected".into());
        }
        (Value::Number(_), Verdict::At(at)) => {
            same("retry after", number(&expect["retry_after"]) * unit, (at - now).0 as f64)?
        }
        (Value::Number(_), other) => return Err(format!("{other:?}, but a wait was expected")),
        _ => {}
    }
    match (&expect["wait"], verdict) {
        (Value::Number(_), Verdict::At(at)) => {
            same("wait", number(&expect["wait"]) * unit, (at - now).0 as f64)?
        }
        (Value::Number(_), other) => return Err(format!("{other:?}, but a wait was expected")),
        _ => {}
    }
    if expect["why"] == "insufficient_capacity" {
        same("verdict", Verdict::Never, verdict)?;
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: T, found: T) -> Result<(), String> {
    if expected == found { Ok(()) } else { Err(format!("{what}: expected {expected:?}, found {found:?}")) }
}

/// Walks the vector; `None` if nothing here knows how.
fn walk(vector: &Value) -> Option<Result<(), String>> {
    Some(match vector["id"].as_str()? {
        "go-zero-limit" => parse_rate("0/s").map_or(Ok(()), |rate| Err(format!("{rate} is no rate"))),
        "go-long-running-qps" => long_run(vector),
        "b4j-delay-table" => each_case(vector, delay),
        "b4j-refill-rounding" => each_case(vector, rounding),
        "gcra-rate-periods" => each_case(vector, period),
        "i371-equivalence" => each_case(vector, conforms),
        _ => {
            let steps = vector["steps"].as_array()?;
            let config = &vector["config"];
            let burst = ["limit", "burst", "capacity"].iter().find_map(|key| config[*key].as_u64())?;
            configured(vector).iter_mut().try_for_each(|limiter| {
                steps.iter().enumerate().try_for_each(|(at, each)| {
                    step(limiter.as_mut(), burst, each, unit(vector))
                        .map_err(|why| format!("step {at}: {why}"))
                })
            })
        }
    })
}

fn each_case(vector: &Value, hold: fn(&Value) -> Result<(), String>) -> Result<(), String> {
    let cases = vector["cases"].as_array().expect("it has cases");
    cases.iter().try_for_each(|case| hold(case).map_err(|why| format!("{case}: {why}")))
}

/// So many may pass when one asks again and again.
fn long_run(vector: &Value) -> Result<(), String> {
    let (generator, expect) = (&vector["generator"], &vector["expect"]);
    let (until, every) = (whole(&generator["to_ms"]), whole(&generator["every_ms"]));
    for mut limiter in configured(vector) {
        let ask = cost(whole(&generator["cost"]));
        let instants = (0..until).step_by(every as usize).map(|ms| SimTime(ms * 1_000_000));
        let passed = instants.filter(|now| passes(limiter.as_mut(), *now, &ask)).count() as u64;
        let bounds = whole(&expect["admitted_min"])..=whole(&expect["admitted_max"]);
        if !bounds.contains(&passed) {
            return Err(format!("{passed} passed, expected {bounds:?}"));
        }
    }
    Ok(())
}

/// The wait of several bandwidths is the longest of them.
fn delay(case: &Value) -> Result<(), String> {
    let ask = cost(whole(&case["cost"]));
    let mut longest = Some(0);
    for bandwidth in case["bandwidths"].as_array().expect("it has bandwidths") {
        let of = |key: &str| whole(&bandwidth[key]);
        let limiter = limit("token_bucket", of("refill"), of("period"), of("capacity"), Some(of("initial")));
        longest = match limiter.check(SimTime(0), &ask) {
            Verdict::Pass => longest,
            Verdict::At(at) => longest.map(|longest| longest.max(at.0)),
            _ => None,
        };
    }
    // The source's raw state reckons a delay for more than the capacity; its public answer is never, as here.
    let capacity = whole(&case["bandwidths"][0]["capacity"]);
    let expected = (whole(&case["cost"]) <= capacity).then(|| whole(&case["delay_ns"]));
    same("delay", expected, longest)
}

/// What a refill leaves in the bucket, to the last part of a token.
fn rounding(case: &Value) -> Result<(), String> {
    let of = |key: &str| whole(&case[key]);
    let start = 10_000;
    if of("t") < start {
        return Ok(()); // a clock that went backwards
    }
    let limiter = limit("token_bucket", of("refill"), of("period"), of("capacity"), Some(of("initial")));
    let found = left(limiter.as_ref(), SimTime(of("t") - start), u128::from(of("period")));
    same("tokens and remainder", (of("tokens"), of("remainder")), found)
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
    same("emission interval", (1, whole(&case["period_ms"]) * 1_000_000), (rate.units(), rate.per().0))
}

/// The virtual scheduling of I.371 with any tolerance: a cell costs T units of a limit of one unit per millisecond.
fn conforms(case: &Value) -> Result<(), String> {
    let (cell, tolerance) = (whole(&case["T"]), whole(&case["tau"]));
    for kind in ["gcra", "token_bucket"] {
        let mut limiter = limit(kind, 1, 1_000_000, cell + tolerance, None);
        let found: Vec<Value> = case["arrivals"]
            .as_array()
            .expect("arrivals")
            .iter()
            .map(|at| passes(limiter.as_mut(), SimTime(whole(at) * 1_000_000), &cost(cell)).into())
            .collect();
        same(kind, case["conforming"].as_array(), Some(&found))?;
    }
    Ok(())
}

/// Asks, takes if it may, and says whether it might.
fn passes(limiter: &mut dyn Limiter, now: SimTime, ask: &Ask) -> bool {
    let passes = limiter.check(now, ask) == Verdict::Pass;
    if passes {
        limiter.take(now, ask);
    }
    passes
}

#[test]
fn every_published_vector_of_a_dialect_that_is_built_holds() {
    let mut faults = Vec::new();
    let mut unseen: Vec<&str> = OTHER_DIALECTS.iter().map(|(id, _)| *id).collect();
    for file in ["token_bucket", "gcra"] {
        for vector in vectors(file)["vectors"].as_array().expect("a file has vectors") {
            let id = vector["id"].as_str().expect("a vector has an id");
            if OTHER_DIALECTS.iter().any(|(other, _)| *other == id) {
                unseen.retain(|other| *other != id);
                continue;
            }
            match walk(vector) {
                Some(Ok(())) => {}
                Some(Err(why)) => faults.push(format!("{id}: {why}")),
                None => {
                    faults.push(format!("{id}: nobody walks it; list it as another dialect, with the reason"))
                }
            }
        }
    }
    faults.extend(unseen.iter().map(|id| format!("{id}: listed as another dialect, but not there")));
    crate::support::no_faults(faults);
}

#[test]
fn the_six_rows_of_the_hand_calculation_hold() {
    // 2 per second, burst 3: milliseconds, cost, whether it passes, milli-units left after it, milliseconds to wait.
    let rows: [(u64, u64, bool, u64, u64); 6] = [
        (0, 2, true, 1_000, 0),
        (0, 2, false, 1_000, 500),
        (499, 2, false, 1_998, 1),
        (500, 2, true, 0, 0),
        (750, 1, false, 500, 250),
        (1_000, 1, true, 0, 0),
    ];
    for kind in ["token_bucket", "gcra"] {
        let mut limiter = limiter(&format!("kind = '{kind}'\nunit = 'tokens'\nrate = '2/s'\nburst = 3"));
        for (at, units, expected, milli_left, wait) in rows {
            let now = SimTime(at * 1_000_000);
            let verdict = limiter.check(now, &cost(units));
            let passed = match verdict {
                Verdict::Pass => {
                    limiter.take(now, &cost(units));
                    true
                }
                Verdict::At(at) => {
                    assert_eq!((at - now).0, wait * 1_000_000, "{kind} at {now}");
                    false
                }
                other => panic!("{kind} at {now}: {other:?}"),
            };
            assert_eq!(passed, expected, "{kind} at {now}");
            let (whole, milli) = left(limiter.as_ref(), now, 1_000);
            assert_eq!(whole * 1_000 + milli, milli_left, "{kind} at {now}");
        }
    }
}

/// One row of the Azure trace: nanoseconds since the first row, tokens in and out.
fn azure_rows(path: &std::path::Path) -> Vec<(u64, u64)> {
    let mut reader = csv::Reader::from_path(path).expect("the trace is readable");
    let rows: Vec<(u64, u64)> = reader
        .records()
        .map(|record| {
            let record = record.expect("a row");
            // All rows are of one day: 2023-11-16 18:17:03.9799600.
            let clock = record[0].split(' ').nth(1).expect("a time of day");
            let (whole, fraction) = clock.split_once('.').expect("a fraction");
            let part = |at: usize| whole.split(':').nth(at).expect("h:m:s").parse::<u64>().expect("a number");
            let seconds = part(0) * 3_600 + part(1) * 60 + part(2);
            let nanos: u64 = format!("{fraction:0<9}").parse().expect("digits");
            let tokens = |at: usize| record[at].parse::<u64>().expect("tokens");
            (seconds * 1_000_000_000 + nanos, tokens(1) + tokens(2))
        })
        .collect();
    let first = rows[0].0;
    rows.into_iter().map(|(at, tokens)| (at - first, tokens)).collect()
}

#[test]
fn decisions_over_the_azure_trace_are_those_that_governor_made() {
    let Some(path) = trace("azure_llm_2023_code.csv") else { return };
    let rows = azure_rows(&path);
    let oracles = vectors("trace_oracles");
    let runs = oracles["runs"].as_array().expect("runs");
    let mut compared = 0;
    for run in runs.iter().filter(|run| run["algorithm"] == "gcra") {
        for kind in ["gcra", "token_bucket"] {
            let (interval, burst) = (whole(&run["emission_interval_ns"]), whole(&run["burst"]));
            let mut limiter = limit(kind, 1, interval, burst, None);
            let decide = |(at, tokens): &(u64, u64)| {
                let units = if run["cost"] == "1" { 1 } else { *tokens };
                if passes(limiter.as_mut(), SimTime(*at), &cost(units)) { '1' } else { '0' }
            };
            let decisions: String = rows.iter().map(decide).collect();
            let what = format!("{kind}, {interval} ns, burst {burst}");
            assert_eq!(decisions.len() as u64, whole(&run["requests"]), "{what}");
            assert_eq!(&decisions[..60], run["first_60"].as_str().expect("text"), "{what}");
            let admitted = decisions.bytes().filter(|decision| *decision == b'1').count() as u64;
            assert_eq!(admitted, whole(&run["admitted"]), "{what}");
            let hash: String = Sha256::digest(&decisions).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(Some(hash.as_str()), run["sha256_of_decision_string"].as_str(), "{what}");
            compared += 1;
        }
    }
    assert_eq!(compared, 16);
}

/// Gaps and costs of a random trace.
fn asks() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let gap = prop_oneof![3 => Just(0u64), 3 => 0u64..2_000, 2 => 0u64..2_000_000_000, 1 => 0u64..1u64 << 40];
    prop::collection::vec((gap, prop_oneof![4 => Just(1u64), 1 => 0u64..12]), 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn gcra_decides_as_a_token_bucket_that_starts_full(
        asks in asks(), units in 1u64..1_000, per in 1u64..10_000_000_000, burst in 1u64..20
    ) {
        let mut bucket = limit("token_bucket", units, per, burst, None);
        let mut gcra = limit("gcra", units, per, burst, None);
        let mut now = SimTime(0);
        for (gap, units) in asks {
            now = SimTime(now.0 + gap);
            let ask = cost(units);
            let verdict = bucket.check(now, &ask);
            prop_assert_eq!(gcra.check(now, &ask), verdict);
            if verdict == Verdict::Pass {
                bucket.take(now, &ask);
                gcra.take(now, &ask);
            }
            let (credits, price) = bucket.remaining(now, &ask);
            prop_assert_eq!(gcra.remaining(now, &ask), (credits, price));
        }
    }

    #[test]
    fn gcra_decides_and_advises_as_governor_does(asks in asks(), interval in 1u64..3_000_000_000, burst in 1u32..20) {
        let clock = FakeRelativeClock::default();
        let quota = Quota::with_period(Duration::from_nanos(interval)).expect("not zero");
        let quota = quota.allow_burst(NonZeroU32::new(burst).expect("not zero"));
        let governor = RateLimiter::direct_with_clock(quota, clock.clone());
        let mut gcra = limit("gcra", 1, interval, burst.into(), None);
        let mut now = SimTime(0);
        for (gap, units) in asks {
            clock.advance(Duration::from_nanos(gap));
            now = SimTime(now.0 + gap);
            // Governor knows no cost of 0.
            let Some(n) = NonZeroU32::new(units as u32) else { continue };
            let theirs = match governor.check_n(n) {
                Err(_insufficient_capacity) => Verdict::Never,
                Ok(Ok(())) => Verdict::Pass,
                Ok(Err(not_until)) => {
                    let wait = not_until.wait_time_from(governor::clock::Clock::now(&clock));
                    Verdict::At(SimTime(now.0 + wait.as_nanos() as u64))
                }
            };
            let ours = gcra.check(now, &cost(units));
            prop_assert_eq!(ours, theirs, "at {}, cost {}", now, units);
            if ours == Verdict::Pass {
                gcra.take(now, &cost(units));
            }
        }
    }

    #[test]
    fn a_retry_budget_is_the_sum_of_the_last_ten_slices(
        moves in prop::collection::vec((0u64..3_000_000_000, any::<bool>()), 1..400),
        percent in 0u64..=100,
        ttl_s in 1u64..=20,
        min_per_second in 0u64..4,
    ) {
        let mut budget = Finagle::new(percent as f64 / 100.0, Nanos::secs(ttl_s), min_per_second);
        let (deposit, withdrawal) = match percent {
            0 => (0, 1),
            // floor(1000 / (percent / 100)), reckoned in integers
            _ => (1_000, (100_000 / percent) as i64),
        };
        let reserve = (min_per_second * ttl_s) as i64 * withdrawal;
        let slice = ttl_s * 100_000_000;
        let mut book: Vec<(u64, i64)> = Vec::new();
        let mut now = 0;
        for (gap, is_call) in moves {
            now += gap;
            let current = now / slice;
            if is_call {
                budget.deposit(SimTime(now));
                book.push((current, deposit));
                continue;
            }
            let balance: i64 = book.iter().filter(|(at, _)| current < at + 10).map(|(_, amount)| amount).sum();
            let granted = withdrawal <= balance + reserve;
            if granted {
                book.push((current, -withdrawal));
            }
            prop_assert_eq!(budget.withdraw(SimTime(now)), granted, "at {} ns, balance {}", now, balance);
        }
    }
}

#[test]
fn backoff_grows_to_the_cap_as_published() {
    let vectors = vectors("adaptive");
    let vector =
        vectors["vectors"].as_array().expect("vectors").iter().find(|v| v["id"] == "r4j-backoff-cap");
    let vector = vector.expect("it is there");
    let config = &vector["config"];
    let backoff = Exponential {
        base: Nanos::millis(whole(&config["initial_ms"])),
        factor: number(&config["multiplier"]),
        max: Nanos::millis(whole(&config["max_ms"])),
        jitter: Jitter::None,
    };
    for case in vector["cases"].as_array().expect("cases") {
        let attempt = whole(&case["attempt"]) as u32;
        assert_eq!(
            backoff.delay(Dice(9), attempt),
            Nanos::millis(whole(&case["delay_ms"])),
            "attempt {attempt}"
        );
    }
}

#[test]
fn of_several_limits_each_is_asked_for_its_own_wait() {
    let (limiters, _) = stages(&[
        ("a", "kind = 'token_bucket'\nrate = '1/s'\nburst = 5\ninitial = 0"),
        ("b", "kind = 'token_bucket'\nrate = '4/s'\nburst = 5\ninitial = 0"),
    ]);
    let waits: Vec<Verdict> =
        limiters.iter().map(|limiter| limiter.check(SimTime(0), &Ask::default())).collect();
    assert_eq!(waits, [Verdict::At(SimTime(1_000_000_000)), Verdict::At(SimTime(250_000_000))]);
}
