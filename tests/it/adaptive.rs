//! Limits that adapt: published vectors, traces reckoned by hand, and the faults that others have had.

use crate::support::{Rows, number, run, vectors, whole};
use serde_json::Value;
use tidegate::admission::adaptive::{Law, Sample, Settings};
use tidegate::admission::envoy_gradient::{self, MinRtt};
use tidegate::admission::moving_average::MovingAverage;
use tidegate::admission::vegas::{self, Decrease};
use tidegate::admission::{aimd, gradient, gradient2};
use tidegate::rng::Dice;
use tidegate::time::{Nanos, SimTime};

fn sample(rtt: Nanos, in_flight: u64, dropped: bool) -> Sample {
    Sample { now: SimTime(1_000_000_000_000), rtt, in_flight, dropped, full: true }
}

/// A law's answer to a sample of so many milliseconds.
fn answer(law: &mut impl Law, rtt_ms: u64, in_flight: u64, dropped: bool) -> u64 {
    law.sample(&sample(Nanos::millis(rtt_ms), in_flight, dropped));
    law.limit()
}

#[test]
fn every_published_vector_of_an_adaptive_limit_passes() {
    let file = vectors("adaptive");
    let mut walked = Vec::new();
    for vector in file["vectors"].as_array().expect("a list") {
        let id = vector["id"].as_str().expect("an id");
        match vector["algorithm"].as_str().expect("an algorithm") {
            "vegas" => vegas_vector(id, vector),
            "aimd" => aimd_vector(vector),
            "exp_avg" => average_vector(vector),
            "gradient2" => gradient2_vector(),
            "adaptive_throttle" => continue,                    // throttles.rs
            "codel_request_queue" => continue,                  // queues.rs
            "retry_budget" | "exponential_backoff" => continue, // of clients, whose budgets and caps are not there yet
            other => panic!("`{id}` is of `{other}`, which nothing here knows"),
        }
        walked.push(id.to_string());
    }
    assert_eq!(walked.len(), 7, "{walked:?}");
}

fn vegas_vector(id: &str, vector: &Value) {
    let config = &vector["config"];
    let usual = vegas::Settings::DEFAULT;
    let mut law = vegas::Settings {
        initial_limit: whole(&config["initial"]),
        max_concurrency: whole(&config["max"]),
        smoothing: number(&config["smoothing"]),
        decrease: if config["decrease"] == "limit/2" { Decrease::Half } else { usual.decrease },
        ..usual
    }
    .law(Dice(1));
    for step in vector["steps"].as_array().expect("steps") {
        let dropped = step["dropped"] == true;
        let limit = answer(&mut law, whole(&step["rtt_ms"]), whole(&step["in_flight"]), dropped);
        assert_eq!(limit, whole(&step["expect"]["limit"]), "{id}: {step}");
    }
}

fn aimd_vector(vector: &Value) {
    for case in vector["cases"].as_array().expect("cases") {
        let max_limit = case["max"].as_u64().unwrap_or(aimd::Settings::DEFAULT.max_limit);
        let initial_limit = whole(&case["initial"]);
        let mut law = aimd::Settings { initial_limit, max_limit, ..aimd::Settings::DEFAULT }.law(Dice(1));
        let (rtt, in_flight) =
            (case["rtt_ms"].as_u64().unwrap_or(1), case["in_flight"].as_u64().unwrap_or(0));
        assert_eq!(
            answer(&mut law, rtt, in_flight, case["dropped"] == true),
            whole(&case["limit"]),
            "{case}"
        );
    }
}

fn average_vector(vector: &Value) {
    let config = &vector["config"];
    let mut average = MovingAverage::new(whole(&config["window"]), whole(&config["warmup"]) as u32);
    let cases = vector["cases"].as_array().expect("cases");
    let list = |value: &Value| -> Vec<f64> { value.as_array().expect("a list").iter().map(number).collect() };
    for (value, mean) in list(&cases[0]["input"]).into_iter().zip(list(&cases[0]["mean"])) {
        assert_eq!(average.add(value), mean);
    }
    let found = average.add(number(&cases[1]["next"]));
    assert!((found - number(&cases[1]["mean"])).abs() <= number(&cases[1]["tolerance"]), "{found}");
}

/// The trace of a port to Go, whose bounds and window are its own.
fn gradient2_vector() {
    let mut law = gradient2::Settings {
        initial_limit: 50,
        min_limit: 4,
        max_concurrency: 1000,
        long_window: 100,
        ..gradient2::Settings::DEFAULT
    }
    .law(Dice(1));
    assert_eq!(answer(&mut law, 10, 1, false), 50);
    for i in 0..25 {
        assert_eq!(answer(&mut law, 10 * i, i, false), 50, "less than half of the limit is in use");
    }
    assert_eq!(answer(&mut law, 2_500, 25, true), 45);
    assert_eq!(answer(&mut law, 10, 5, false), 45);
    for i in 0..100 {
        answer(&mut law, 1_000, i, true);
    }
    let limit = law.limit();
    for _ in 0..100 {
        assert_eq!(answer(&mut law, 1, 1, false), limit, "the callers are the bound");
    }
}

#[test]
fn one_lucky_sample_of_vegas_is_forgotten_with_the_next_probe() {
    // The shortest time is 150 ms once among 300 ms: the limit falls, and comes back when it is measured anew.
    let mut law = vegas::Settings { initial_limit: 40, ..vegas::Settings::DEFAULT }.law(Dice(7));
    (0..20).for_each(|_| _ = answer(&mut law, 300, 40, false));
    let before = law.limit();
    answer(&mut law, 150, 40, false);
    let mut least = before;
    for _ in 0..2_000 {
        let in_flight = law.limit();
        least = least.min(answer(&mut law, 300, in_flight, false));
    }
    assert!(least < before, "the lucky one lowered it");
    let mut after = 0;
    for _ in 0..20_000 {
        let in_flight = law.limit();
        after = after.max(answer(&mut law, 300, in_flight, false));
    }
    assert!(before <= after, "{after} after the probe, {before} before");
}

#[test]
fn the_probe_of_vegas_comes_sooner_when_the_limit_is_small() {
    // Between half and all of 30 samples for each one of the limit.
    for limit in [10u64, 100, 1_000] {
        let law = || {
            vegas::Settings { initial_limit: limit, max_concurrency: limit, ..vegas::Settings::DEFAULT }
                .law(Dice(3))
        };
        let mut law = law();
        // The first tells the time without load; those after it are longer, and leave it until the probe.
        answer(&mut law, 10, 1, false);
        let probed = (1..=30 * limit).find(|_| {
            answer(&mut law, 11, 1, false);
            law.baseline() == 11e6
        });
        let probed = probed.expect("a probe comes");
        assert!((15 * limit..=30 * limit).contains(&(probed + 1)), "{probed} samples at {limit}");
    }
}

#[test]
fn an_hour_of_overload_leaves_every_limit_within_its_bounds() {
    fn overload(mut law: impl Law, most: u64) {
        // The time in service grows with what is in flight: 64 at a time, 100 ms each.
        for _ in 0..36_000 {
            let in_flight = law.limit();
            let rtt_ms = 100 * in_flight.max(64) / 64;
            answer(&mut law, rtt_ms, in_flight, rtt_ms > 10_000);
        }
        assert!((1..=most).contains(&law.limit()), "{} of {most}", law.limit());
    }
    overload(aimd::Settings::DEFAULT.law(Dice(1)), 200);
    overload(vegas::Settings::DEFAULT.law(Dice(1)), 1_000);
    overload(gradient::Settings::DEFAULT.law(Dice(1)), 1_000);
    overload(gradient2::Settings::DEFAULT.law(Dice(1)), 200);
}

/// Envoy's, measuring three requests every ten seconds, without jitter.
fn envoy(min_concurrency: u64) -> envoy_gradient::EnvoyGradient {
    envoy_gradient::Settings {
        sample_aggregate_percentile: 0.5,
        concurrency_update_interval: Nanos::millis(100),
        max_concurrency_limit: 100,
        min_concurrency,
        min_rtt: MinRtt::Measured { interval: Nanos::secs(10), jitter: 0.0, request_count: 3 },
        buffer: 0.25,
    }
    .law(Dice(1))
}

fn ends(law: &mut impl Law, at_ms: u64, rtt_us: u64) {
    let now = SimTime(at_ms * 1_000_000);
    law.sample(&Sample { now, rtt: Nanos(rtt_us * 1_000), in_flight: 1, dropped: false, full: false });
}

#[test]
fn envoy_measures_then_follows_the_ratio_of_times() {
    let mut law = envoy(3);
    assert_eq!((law.limit(), law.measures(), law.alarm()), (3, Some(true), None));
    // It ends with the third that started in it; one bucket of the histogram is 10 ms to 11 ms, its middle 10.5 ms.
    [10, 20, 30].into_iter().for_each(|at| ends(&mut law, at, 10_000));
    assert_eq!((law.limit(), law.measures()), (3, Some(false)));
    assert_eq!(law.baseline(), 10_500_000.0);
    assert_eq!(law.alarm(), Some(SimTime(130_000_000)));
    // The same time: gradient 1.25, 3 · 1.25 = 3.75, and its root 1.936: 5.
    ends(&mut law, 100, 10_000);
    law.ring(SimTime(130_000_000));
    assert_eq!(law.limit(), 5);
    // Four times as long: the gradient is 13,125 / 40,500 and held at a half, 2.5 + 1.58 = 4.08.
    ends(&mut law, 200, 40_000);
    law.ring(SimTime(230_000_000));
    assert_eq!(law.limit(), 4);
    // Nothing has ended: nothing moves.
    law.ring(SimTime(330_000_000));
    assert_eq!(law.limit(), 4);
    // Ten seconds after the measurement the next begins, and holds the limit at its least; what it was comes back.
    let window = SimTime(10_030_000_000);
    while law.alarm().is_some_and(|at| at < window) {
        let at = law.alarm().expect("it is there");
        law.ring(at);
    }
    assert_eq!(law.alarm(), Some(window));
    law.ring(window);
    assert_eq!((law.limit(), law.measures()), (3, Some(true)));
    // One that started before says nothing.
    ends(&mut law, 10_031, 5_000);
    [10_041, 10_042, 10_043].into_iter().for_each(|at| ends(&mut law, at, 10_000));
    assert_eq!((law.limit(), law.measures()), (4, Some(false)));
}

#[test]
fn envoy_measures_anew_after_five_updates_at_the_least_limit() {
    let mut law = envoy(3);
    // A time that is far too short.
    [1, 2, 3].into_iter().for_each(|at| ends(&mut law, at, 1_000));
    let mut rings = 0;
    while law.measures() == Some(false) {
        let at = law.alarm().expect("an update comes");
        ends(&mut law, at.0 / 1_000_000 - 1, 20_000);
        law.ring(at);
        rings += 1;
        assert_eq!(law.limit(), 3);
    }
    assert_eq!(rings, 5);
    // The right time lets it grow.
    let now = 3 + 100 * rings;
    (1..=3).for_each(|later| ends(&mut law, now + 20 + later, 20_000));
    let at = law.alarm().expect("an update comes");
    ends(&mut law, at.0 / 1_000_000 - 1, 20_000);
    law.ring(at);
    assert_eq!(law.limit(), 5);
}

/// A downstream of ten slots and 100 ms that takes in more than it can work on, under one stage.
fn at_work(rate: &str, stage: &str) -> Rows {
    run(&format!(
        "version = 1\nduration = '60s'\n[traffic.t]\nrate = '{rate}'\n[admission.a]\n{stage}\n\
         [downstream.d]\nconcurrency = 10\nbacklog = 'unlimited'\nservice_time = {{ dist = 'exponential', mean = '100ms' }}\n\
         [policy.p]\nstages = ['a']\ndownstream = 'd'\n"
    ))
}

#[test]
fn each_keeps_the_wait_inside_an_overloaded_downstream_short() {
    let none = at_work("150/s", "kind = 'concurrency'\nlimit = 'unlimited'");
    let wait = |rows: &Rows| rows.total().latency.p99 / 1_000_000;
    // 50 of 150 a second are too many: after a minute 3,000 wait, 30 s long.
    assert!(20_000 < wait(&none));
    for stage in [
        "kind = 'aimd'\nmin_limit = 1\ntimeout = '500ms'",
        "kind = 'vegas'",
        "kind = 'gradient'",
        "kind = 'gradient2'\nmin_limit = 1\nmax_concurrency = 40",
        "kind = 'envoy_gradient'\ninterval = '10s'",
        "kind = 'failsafe_adaptive'",
        "kind = 'kratos_bbr'\ncpu_threshold = 200",
        "kind = 'go_zero_shedder'\ncpu_threshold = 700",
        "kind = 'sentinel_system'\nhighest_system_load = 8",
    ] {
        let rows = at_work("150/s", stage);
        let (wait, goodput) = (wait(&rows), rows.total().counts[tidegate::observe::Count::Goodput as usize]);
        assert!(wait < 8_000, "{stage}: {wait} ms");
        // About 6,000 can be served. The shortest time and the largest count, which kratos and Sentinel reckon with, are
        // of different windows, so that they ask for less than there is.
        let least = if stage.contains("kratos") || stage.contains("sentinel") { 2_000 } else { 3_000 };
        assert!(least < goodput, "{stage}: {goodput}");
        assert_eq!(rows.ends.iter().filter(|end| end.outcome == "rejected" && end.stage != "a").count(), 0);
    }
}

#[test]
fn who_is_shed_hears_it_at_once_and_never_from_a_queue() {
    // A shedder before a queue decides on arrival: its refusals have not waited.
    let rows = run(
        "version = 1\nduration = '60s'\n[traffic.t]\nrate = '150/s'\n[admission.a]\nkind = 'kratos_bbr'\n\
         cpu_threshold = 300\n[queue.q]\nmax_length = 1000\n[downstream.d]\nconcurrency = 10\n\
         service_time = { dist = 'exponential', mean = '100ms' }\n\
         [policy.p]\nstages = ['a']\nqueue = 'q'\ndownstream = 'd'\n",
    );
    let attempts = rows.sorted_attempts();
    let shed: Vec<_> = attempts.iter().filter(|attempt| attempt.reason == "shed").collect();
    assert!(100 < shed.len());
    assert!(shed.iter().all(|attempt| attempt.ended == attempt.arrived && attempt.stage == "a"));
}

#[test]
fn at_low_traffic_none_but_a_measuring_envoy_turns_anybody_away() {
    for stage in
        ["kind = 'aimd'", "kind = 'vegas'", "kind = 'gradient'", "kind = 'gradient2'", "kind = 'kratos_bbr'"]
    {
        let rows = at_work("10/s", stage);
        assert_eq!(rows.ends.iter().filter(|end| end.outcome == "rejected").count(), 0, "{stage}");
    }
    // Fifty have to end at three in flight; while that lasts some come too many.
    let rows = at_work("25/s", "kind = 'envoy_gradient'\ninterval = '5s'");
    assert!(rows.ends.iter().any(|end| end.outcome == "rejected"));
}

#[test]
fn a_least_limit_above_what_there_is_room_for_never_recovers_and_one_below_does() {
    // Five slots of 100 ms, four times as many calls, and answers that count within 300 ms. With a hundred in flight each
    // takes two seconds.
    let run = |least: u64| {
        run(&format!(
            "version = 1\nduration = '10m'\nseed = 3\n[class.default]\ndeadline = '300ms'\n[traffic.t]\nrate = '200/s'\n\
             [admission.a]\nkind = 'envoy_gradient'\nmin_concurrency = {least}\n\
             [downstream.d]\nconcurrency = 5\nbacklog = 'unlimited'\nservice_time = '100ms'\n\
             [policy.p]\nstages = ['a']\ndownstream = 'd'\n"
        ))
    };
    let goodput = |rows: &Rows| {
        let late = rows.sorted_attempts();
        let late = late.iter().filter(|attempt| 300_000_000_000 <= attempt.arrived.0);
        late.filter(|attempt| attempt.outcome == "goodput").count() as f64 / 300.0
    };
    let (high, low) = (run(100), run(3));
    assert_eq!(goodput(&high), 0.0);
    assert!(15.0 < goodput(&low), "{}", goodput(&low));
    for (rows, least) in [(&high, 100.0), (&low, 3.0)] {
        let limits = rows.gauges.iter().filter(|(_, _, gauge, _)| *gauge == "limit");
        assert!(limits.clone().count() > 100);
        assert!(limits.clone().all(|(.., reading)| least <= reading.min), "it never falls below the least");
    }
}
