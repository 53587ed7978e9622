//! Decisions against outside authorities: recorded runs of the products, the product beside ours.

use crate::support::{cost, limiter, number, stages, trace, vectors, whole};
use governor::clock::FakeRelativeClock;
use governor::{Quota, RateLimiter};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use std::num::NonZeroU32;
use std::time::Duration;
use tidegate::client::backoff::{Exponential, Jitter};
use tidegate::client::budget::{Budget, Finagle};
use tidegate::limiter::{Limiter, Verdict};
use tidegate::request::Ask;
use tidegate::rng::Dice;
use tidegate::time::{Nanos, SimTime};

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

/// Asks, takes if it may, and says whether it might.
fn passes(limiter: &mut dyn Limiter, now: SimTime, ask: &Ask) -> bool {
    let passes = limiter.check(now, ask) == Verdict::Pass;
    if passes {
        limiter.take(now, ask);
    }
    passes
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

#[test]
fn decisions_over_the_azure_trace_are_those_that_limits_made() {
    let Some(path) = trace("azure_llm_2023_code.csv") else { return };
    let rows = azure_rows(&path);
    let oracles = vectors("trace_oracles");
    let runs = oracles["runs"].as_array().expect("runs");
    let mut compared = 0;
    for run in runs.iter().filter(|run| run["algorithm"] != "gcra") {
        let kinds: &[&str] = match run["algorithm"].as_str().expect("an algorithm") {
            "fixed_window_first_hit" => &["kind = 'fixed_window'\nopens = 'first_hit'"],
            "sliding_log" => &["kind = 'sliding_log'", "kind = 'sliding_log'\nedge = 'closed'"],
            "sliding_window_counter" => {
                &["kind = 'sliding_counter'", "kind = 'sliding_counter'\ndialect = 'limits'"]
            }
            other => panic!("nobody knows {other}"),
        };
        // The clock of those runs stood at this second of the epoch at the first row, to which windows are aligned.
        const START: u64 = 1_700_000_000_000_000_000;
        for kind in kinds {
            let (limit, window) = (whole(&run["limit"]), whole(&run["window_ns"]));
            let mut limiter = limiter(&format!("{kind}\nlimit = {limit}\nwindow = '{window}ns'"));
            let one = Ask::default();
            let decide = |(at, _): &(u64, u64)| {
                if passes(limiter.as_mut(), SimTime(START + at), &one) { '1' } else { '0' }
            };
            let decisions: String = rows.iter().map(decide).collect();
            let what = format!("{kind}, {limit} in {window} ns");
            let admitted = decisions.bytes().filter(|decision| *decision == b'1').count() as u64;
            assert_eq!(admitted, whole(&run["admitted"]), "{what}");
            let hash: String = Sha256::digest(&decisions).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(Some(hash.as_str()), run["sha256_of_decision_string"].as_str(), "{what}");
            compared += 1;
        }
    }
    assert_eq!(compared, 15);
}

/// What `probe` prints for the runs of the trace oracles: the same decisions, from its own output.
#[test]
fn probe_prints_the_decisions_that_governor_and_limits_made() {
    let Some(path) = trace("azure_llm_2023_code.csv") else { return };
    let rows = azure_rows(&path);
    let oracles = vectors("trace_oracles");
    let dir = tempfile::tempdir().expect("a folder");
    // Windows of limits are aligned to its clock, which stood at this second of the epoch at the first row.
    const START: u64 = 1_700_000_000_000_000_000;
    for run in oracles["runs"].as_array().expect("runs") {
        let of = |key: &str| whole(&run[key]);
        let limiter = match run["algorithm"].as_str().expect("an algorithm") {
            "gcra" => {
                let rate = format!("rate = \"1/{}ns\", burst = {}", of("emission_interval_ns"), of("burst"));
                format!("{{ kind = \"gcra\", {rate} }}")
            }
            kind => {
                let (kind, more) = match kind {
                    "fixed_window_first_hit" => ("fixed_window", ", opens = \"first_hit\""),
                    "sliding_window_counter" => ("sliding_counter", ""),
                    kind => (kind, ""),
                };
                let window = format!("limit = {}, window = \"{}ns\"", of("limit"), of("window_ns"));
                format!("{{ kind = \"{kind}\", {window}{more} }}")
            }
        };
        let mut events = String::from("t_ns,cost\n");
        for (at, tokens) in &rows {
            let cost = if run["cost"].as_str().is_none_or(|cost| cost == "1") { 1 } else { *tokens };
            events += &format!("{},{cost}\n", START + at);
        }
        std::fs::write(dir.path().join("events.csv"), events).expect("written");
        let output = assert_cmd::Command::cargo_bin("tidegate")
            .expect("the command")
            .args(["probe", &limiter, "events.csv", "--format", "csv"])
            .current_dir(dir.path())
            .output()
            .expect("it runs");
        let text = String::from_utf8(output.stdout).expect("text");
        let mut lines = text.lines();
        let place = lines.next().expect("a header").split(',').position(|name| name == "decision");
        let decisions: String = lines
            .map(|line| match line.split(',').nth(place.expect("a column")) {
                Some("admit") => '1',
                _ => '0',
            })
            .collect();
        let hash: String = Sha256::digest(&decisions).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(Some(hash.as_str()), run["sha256_of_decision_string"].as_str(), "{limiter}");
    }
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
