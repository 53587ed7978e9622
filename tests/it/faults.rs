//! Faults that public limiters have had, each as its input, held against every kind that could have it.

use crate::support::{cost, limiter};
use tidegate::limiter::{Limiter, Verdict};
use tidegate::request::Ask;
use tidegate::time::{Nanos, SimTime};

const SECOND: u64 = 1_000_000_000;

/// Asks at each of these instants; whether each passes.
fn decide(limiter: &mut dyn Limiter, asks: impl IntoIterator<Item = (u64, u64)>) -> Vec<bool> {
    let mut decide = |(at, units)| {
        let (now, ask) = (SimTime(at), cost(units));
        let passes = limiter.check(now, &ask).passes();
        if passes {
            limiter.take(now, &ask);
            limiter.settle(now, &ask, tidegate::request::End::Completed(Nanos::ZERO));
        } else {
            limiter.refuse(now, &ask);
        }
        passes
    };
    asks.into_iter().map(&mut decide).collect()
}

fn passed(limiter: &mut dyn Limiter, asks: impl IntoIterator<Item = (u64, u64)>) -> usize {
    decide(limiter, asks).into_iter().filter(|passes| *passes).count()
}

/// Kinds whose five units come back within a second or two, and no others.
const FIVE_A_SECOND: [&str; 19] = [
    "kind = 'token_bucket'\nrate = '5/s'\nburst = 5",
    "kind = 'token_bucket'\ndialect = 'go'\nrate = '5/s'\nburst = 5",
    "kind = 'token_bucket'\ndialect = 'bucket4j'\nrate = '5/s'\nburst = 5",
    "kind = 'token_bucket'\ndialect = 'envoy'\nrate = '5/s'\nburst = 5",
    "kind = 'token_bucket'\ndialect = 'juju'\nrate = '5/s'\nburst = 5\nmax_wait = '0s'",
    "kind = 'token_bucket'\nrefill = 'interval'\nrate = '5/s'\nburst = 5",
    "kind = 'gcra'\nrate = '5/s'\nburst = 5",
    "kind = 'leaky_meter'\nrate = '5/s'\nburst = 4",
    "kind = 'leaky_meter'\ndialect = 'exact'\nrate = '5/s'\nburst = 4",
    "kind = 'fixed_window'\nlimit = 5\nwindow = '1s'",
    "kind = 'fixed_window'\nlimit = 5\nwindow = '1s'\ndialect = 'resilience4j'\nmax_wait = '0s'",
    "kind = 'sliding_log'\nlimit = 5\nwindow = '1s'",
    "kind = 'sliding_counter'\nlimit = 5\nwindow = '1s'",
    "kind = 'sliding_counter'\ndialect = 'limits'\nlimit = 5\nwindow = '1s'",
    "kind = 'sliding_counter'\ndialect = 'russellluo'\nlimit = 5\nwindow = '1s'",
    "kind = 'token_bucket'\nbandwidths = [{ rate = '5/s', burst = 5 }, { rate = '9/s', burst = 7 }]",
    "kind = 'token_bucket'\nrefill = 'aligned'\nrate = '5/s'\nburst = 5",
    "kind = 'srtcm'\ncir = '5/s'\ncbs = 5\nebs = 0",
    "kind = 'trtcm'\ncir = '1/s'\ncbs = 5\npir = '5/s'\npbs = 5",
];

fn tokens(keys: &str) -> Box<dyn Limiter> {
    limiter(&format!("{keys}\nunit = 'tokens'"))
}

#[test]
fn a_burst_is_not_one_more_than_it_says() {
    for keys in FIVE_A_SECOND {
        let asks = (0..5).map(|_| (0, 1)).chain((0..6).map(|_| (2 * SECOND, 1)));
        assert_eq!(passed(tokens(keys).as_mut(), asks), 10, "{keys}");
    }
}

#[test]
fn silence_brings_no_more_than_the_burst_and_more_than_it_never_passes() {
    for keys in FIVE_A_SECOND {
        let mut limiter = tokens(keys);
        decide(limiter.as_mut(), [(0, 1)]);
        assert_eq!(limiter.check(SimTime(3_600 * SECOND), &cost(500)), Verdict::Never, "{keys}");
        assert_eq!(limiter.check(SimTime(3_600 * SECOND), &cost(6)), Verdict::Never, "{keys}");
        assert_eq!(passed(limiter.as_mut(), (0..9).map(|_| (3_600 * SECOND, 1))), 5, "{keys}");
    }
}

#[test]
fn the_smallest_rates_pass_once_and_wait_for_their_century() {
    for dialect in ["exact", "go", "bucket4j"] {
        let mut limiter =
            limiter(&format!("kind = 'token_bucket'\ndialect = '{dialect}'\nrate = '1/36500d'\nburst = 1"));
        assert_eq!(passed(limiter.as_mut(), [(0, 1), (0, 1), (0, 1)]), 1, "{dialect}");
        let century = Verdict::At(SimTime(36_500 * 86_400 * SECOND));
        let found = limiter.check(SimTime(0), &Ask::default());
        match dialect {
            // A double has no room for every nanosecond of a century.
            "go" => {
                assert!(matches!(found, Verdict::At(at) if at.0.abs_diff(36_500 * 86_400 * SECOND) < 2_000))
            }
            _ => assert_eq!(found, century, "{dialect}"),
        }
    }
    let mut never = limiter("kind = 'token_bucket'\ndialect = 'go'\nrate = '0/s'\nburst = 1");
    assert_eq!(passed(never.as_mut(), [(0, 1), (0, 1), (u64::MAX, 1)]), 1);
}

#[test]
fn an_unlimited_rate_needs_no_burst() {
    let mut go = tokens("kind = 'token_bucket'\ndialect = 'go'\nrate = 'unlimited'");
    assert_eq!(decide(go.as_mut(), [(0, 3)]), [true]);
}

#[test]
fn three_million_a_second_are_three_million_a_second() {
    for kind in ["gcra", "token_bucket"] {
        let mut limiter = limiter(&format!("kind = '{kind}'\nrate = '3M/s'\nburst = 10"));
        let passed = passed(limiter.as_mut(), (0..10_000_000).map(|ask| (ask * 100, 1)));
        assert!((3_000_000..=3_000_010).contains(&passed), "{kind}: {passed}");
    }
}

#[test]
fn a_clock_that_steps_back_is_clamped_or_opens_a_window_anew() {
    let mut bucket = tokens("kind = 'token_bucket'\ndialect = 'bucket4j'\nrate = '1/s'\nburst = 5");
    assert_eq!(decide(bucket.as_mut(), [(11 * SECOND, 3), (0, 1)]), [true, true]);
    assert_eq!(bucket.remaining(SimTime(0), &cost(1)).0, i128::from(SECOND), "two less one are left");
    let mut window = tokens("kind = 'fixed_window'\ndialect = 'redis_countdown'\nlimit = 1\nwindow = '10s'");
    let asks = [(100 * SECOND, 1), (20 * SECOND, 1), (21 * SECOND, 1), (30 * SECOND, 1)];
    assert_eq!(decide(window.as_mut(), asks), [true, true, false, true]);
}

#[test]
fn exact_kinds_refuse_a_clock_that_steps_back_and_stay_as_they_are() {
    for keys in [
        "kind = 'token_bucket'\nrate = '5/s'\nburst = 5",
        "kind = 'token_bucket'\nrefill = 'interval'\nrate = '5/s'\nburst = 5",
        "kind = 'gcra'\nrate = '5/s'\nburst = 5",
        "kind = 'leaky_meter'\ndialect = 'exact'\nrate = '5/s'\nburst = 4\nnodelay = true",
        "kind = 'fixed_window'\nlimit = 5\nwindow = '1s'",
        "kind = 'sliding_log'\nlimit = 5\nwindow = '1s'",
        "kind = 'sliding_counter'\nlimit = 5\nwindow = '1s'",
        "kind = 'srtcm'\ncir = '5/s'\ncbs = 5\nebs = 0",
        "kind = 'trtcm'\ncir = '5/s'\ncbs = 5\npir = '5/s'\npbs = 5",
    ] {
        let (mut stepped, mut straight) = (tokens(keys), tokens(keys));
        let back = 10 * SECOND - 1;
        assert_eq!(
            decide(stepped.as_mut(), [(10 * SECOND, 2), (back, 1), (0, 1)]),
            [true, false, false],
            "{keys}"
        );
        assert_eq!(stepped.check(SimTime(back), &cost(1)), Verdict::At(SimTime(10 * SECOND)), "{keys}");
        decide(straight.as_mut(), [(10 * SECOND, 2)]);
        for at in [10 * SECOND, 10 * SECOND + 1, 12 * SECOND] {
            assert_eq!(
                stepped.remaining(SimTime(at), &cost(1)),
                straight.remaining(SimTime(at), &cost(1)),
                "{keys}"
            );
        }
        // A refusal moves the clock too: what comes before it is refused, though it would pass.
        let asks = [(20 * SECOND, 5), (20 * SECOND + 1, 5), (20 * SECOND, 0)];
        assert_eq!(decide(stepped.as_mut(), asks), [true, false, false], "{keys}");
    }
}

#[test]
fn whoever_keeps_asking_is_shut_out_only_where_refusals_count() {
    let every_half_minute = || (0..240).map(|ask| (ask * 30 * SECOND, 1));
    for (counts, expected) in [(false, 120), (true, 10)] {
        let mut log =
            tokens(&format!("kind = 'sliding_log'\nlimit = 10\nwindow = '600s'\ncount_rejected = {counts}"));
        assert_eq!(passed(log.as_mut(), every_half_minute()), expected, "count_rejected = {counts}");
    }
}

#[test]
fn a_window_ends_under_steady_traffic() {
    for keys in [
        "opens = 'aligned'",
        "opens = 'first_hit'",
        "dialect = 'redis_countdown'",
        "opens = 'first_hit'\ncount_rejected = true",
    ] {
        let mut window = tokens(&format!("kind = 'fixed_window'\nlimit = 10\nwindow = '60s'\n{keys}"));
        assert_eq!(passed(window.as_mut(), (0..600).map(|second| (second * SECOND, 1))), 100, "{keys}");
    }
}

#[test]
fn a_paced_call_that_has_waited_is_followed_a_gap_later_and_not_two() {
    // Two in 5 s, paced: the second of an instant starts at 2.5 s, and from there the next turn is 2.5 s away, not 5 s.
    for dialect in ["dialect = 'sentinel'\nmax_wait = '2500ms'", "dialect = 'uber'\nslack = 0"] {
        let mut limiter = limiter(&format!("kind = 'leaky_queue'\nrate = '2/5s'\n{dialect}"));
        let (half, ask) = (SimTime(2 * SECOND + SECOND / 2), cost(1));
        assert_eq!(limiter.check(SimTime(0), &ask), Verdict::Pass, "{dialect}");
        limiter.take(SimTime(0), &ask);
        assert_eq!(limiter.check(SimTime(0), &ask), Verdict::Delay(half), "{dialect}");
        limiter.take(SimTime(0), &ask);
        assert_eq!(limiter.check(half, &ask), Verdict::Delay(SimTime(5 * SECOND)), "{dialect}");
        assert_eq!(limiter.reset(half, &ask), Some(SimTime(5 * SECOND)), "{dialect}");
        if dialect.contains("sentinel") {
            assert_eq!(
                limiter.check(SimTime(0), &ask),
                Verdict::At(half),
                "a wait of 5 s is too long, of 2.5 s not"
            );
        }
    }
}

#[test]
fn three_million_a_second_are_not_many_more_for_any_kind_that_can_say_so() {
    // 100,000 asks in 10 ms, of which 30,000 are due; gaps in whole nanoseconds are 333 ns and not a third more.
    for keys in [
        "kind = 'token_bucket'\nrate = '3M/s'\nburst = 10",
        "kind = 'token_bucket'\ndialect = 'bucket4j'\nrate = '3M/s'\nburst = 10",
        "kind = 'token_bucket'\ndialect = 'go'\nrate = '3M/s'\nburst = 10",
        "kind = 'gcra'\nrate = '3M/s'\nburst = 10",
        "kind = 'leaky_meter'\ndialect = 'exact'\nrate = '3M/s'\nburst = 9\nnodelay = true",
        "kind = 'leaky_queue'\nrate = '3M/s'\nmax_wait = '0s'",
        "kind = 'leaky_queue'\ndialect = 'failsafe'\nrate = '3M/s'\nmax_wait = '0s'",
        "kind = 'srtcm'\ncir = '3M/s'\ncbs = 10\nebs = 0",
        "kind = 'trtcm'\ncir = '1M/s'\ncbs = 10\npir = '3M/s'\npbs = 10",
    ] {
        let asks = (0..100_000).map(|ask| (ask * 100, 1));
        let passed = passed(tokens(keys).as_mut(), asks);
        assert!(passed <= 30_000 + 10 + 31, "{keys}: {passed}");
        assert!(24_000 <= passed, "{keys}: {passed}");
    }
    // Guava counts in microseconds, which is told.
    let (text, log) = ("kind = 'warm_up'\nrate = '3M/s'\n", "above 1M/s everything");
    let warnings = warnings(text);
    assert!(warnings.iter().any(|warning| warning.contains(log)), "{warnings:?}");
}

/// What is warned of in a limiter's table.
fn warnings(keys: &str) -> Vec<String> {
    use tidegate::scenario::{source::Document, stage::Stage};
    use tidegate::section::{Log, Section};
    let document = Document::from_text("a.toml", keys, std::path::Path::new("")).expect("it is TOML");
    let log = Log::new(document.text());
    Stage::read("l".into(), Section::root(document.root(), &log));
    log.into_problems().iter().map(|problem| problem.to_string()).collect()
}

#[test]
fn a_clock_that_steps_back_takes_nothing_from_those_that_clamp_it() {
    // Three of five are taken; eleven seconds earlier one more passes, and two are left.
    for keys in [
        "kind = 'token_bucket'\ndialect = 'bucket4j'\nrate = '1/s'\nburst = 5",
        "kind = 'token_bucket'\ndialect = 'go'\nrate = '1/s'\nburst = 5",
        "kind = 'token_bucket'\ndialect = 'envoy'\nmax_tokens = 5\nfill_interval = '1s'",
        "kind = 'fixed_window'\ndialect = 'tower'\nlimit = 5\nwindow = '1m'",
        "kind = 'sliding_counter'\ndialect = 'limits'\nlimit = 5\nwindow = '1m'",
        "kind = 'sliding_counter'\ndialect = 'russellluo'\nlimit = 5\nwindow = '1m'",
        "kind = 'sliding_counter'\ndialect = 'upstash'\nlimit = 5\nwindow = '1m'",
    ] {
        let mut limiter = tokens(keys);
        let (then, back) = (200 * SECOND, 189 * SECOND);
        assert_eq!(
            decide(limiter.as_mut(), [(then, 3), (back, 1), (back, 1), (back, 1)]),
            [true, true, true, false],
            "{keys}"
        );
        assert_eq!(crate::support::units_left(limiter.as_ref(), SimTime(back), &cost(1)), 0, "{keys}");
    }
}

#[test]
fn counters_that_cut_and_counters_that_do_not_differ_only_where_it_is_told() {
    // Of a limit of ten, six in the last window of which 80 % count, two in this one: the exact estimate is 6.8. An ask
    // for four is let in by all three: 4 + 2 + 4 is ten, 6.8 is less than 10 − 4 + 1, and 6.8 with three before the last
    // is less than ten.
    for dialect in ["russellluo", "limits", "cloudflare"] {
        let mut limiter =
            tokens(&format!("kind = 'sliding_counter'\nlimit = 10\nwindow = '1s'\ndialect = '{dialect}'"));
        let at = SECOND + SECOND / 5;
        assert_eq!(
            decide(limiter.as_mut(), [(SECOND / 2, 6), (at, 2), (at, 4), (at, 1)]),
            [true, true, true, false],
            "{dialect}"
        );
    }
}

#[test]
fn what_is_shed_before_the_queue_is_told_at_once() {
    // The queue is full of work of a second; whoever is refused by the limit hears it in the instant of asking.
    let rows = crate::support::run(
        "version = 1\nduration = '10s'\n[traffic.t]\nrate = '50/s'\n[limiter.l]\nkind = 'gcra'\nrate = '20/s'\n\
         burst = 2\nrefund = false\n[queue.q]\nmax_length = 5\n[downstream.d]\nconcurrency = 1\nservice_time = '1s'\n\
         [policy.p]\nstages = ['l']\nqueue = 'q'\ndownstream = 'd'\n",
    );
    let refused: Vec<_> =
        rows.sorted_attempts().into_iter().filter(|attempt| attempt.outcome == "rejected").collect();
    for reason in ["rate_limited", "queue_full"] {
        assert!(100 < refused.iter().filter(|attempt| attempt.reason == reason).count(), "{reason}");
    }
    assert!(refused.iter().all(|attempt| attempt.arrived == attempt.ended));
    assert!(
        rows.sorted_attempts()
            .iter()
            .all(|attempt| attempt.outcome == "rejected" || attempt.retry_after.is_none())
    );
}

#[test]
fn the_first_cycle_has_permits() {
    let mut cycles = tokens(
        "kind = 'fixed_window'\ndialect = 'resilience4j'\nlimit = 1\nwindow = '500ms'\nmax_wait = '0s'",
    );
    assert_eq!(decide(cycles.as_mut(), [(0, 1), (0, 1), (500_000_000, 1)]), [true, false, true]);
}

#[test]
fn the_largest_amounts_and_the_end_of_time_neither_wrap_nor_let_more_through() {
    let most = 1u64 << 63;
    for keys in [
        "kind = 'token_bucket'\nrate = '1000M/s'",
        "kind = 'token_bucket'\nrate = '1/36500d'",
        "kind = 'token_bucket'\nrate = '4611686018427387903/36499d'",
        "kind = 'gcra'\nrate = '1000M/s'",
        "kind = 'gcra'\nrate = '1/36500d'",
        "kind = 'token_bucket'\nrefill = 'interval'\nrate = '1000M/s'",
    ] {
        use tidegate::limiter::Charge;
        use tidegate::request::Unit;
        let text = format!("{keys}\nburst = '{most}'");
        let mut limit = crate::support::limit(&text);
        limit.options.charge = Charge::of(Unit::Given);
        let mut limiter = limit.build();
        let (all, one) = (Ask::costing(most), Ask::costing(1));
        assert_eq!(limiter.check(SimTime(0), &Ask::costing(most + 1)), Verdict::Never, "{keys}");
        assert_eq!(limiter.check(SimTime(0), &all), Verdict::Pass, "{keys}");
        limiter.take(SimTime(0), &all);
        assert!(!limiter.check(SimTime(0), &one).passes(), "{keys}");
        let end = SimTime(u64::MAX);
        let left = limiter.remaining(end, &one);
        assert!(0 <= left.0 && left.0 as u128 <= u128::from(most) * left.1, "{keys}: {left:?}");
        let passes = limiter.check(end, &one).passes();
        assert_eq!(passes, left.1 as i128 <= left.0, "{keys}");
    }
}

#[test]
fn what_was_used_beyond_the_estimate_is_owed() {
    use tidegate::request::End;
    for kind in ["token_bucket", "gcra"] {
        let ask = Ask { input_tokens: 10, max_output_tokens: 40, output_tokens: 90, ..Ask::default() };
        let keys = |charge: &str| {
            format!("kind = '{kind}'\nunit = 'tokens'\nrate = '10/s'\nburst = 60\ncharge = '{charge}'")
        };
        let level = |limiter: &dyn Limiter| {
            let (credits, price) = limiter.remaining(SimTime(0), &ask);
            credits / price as i128
        };
        for (charge, after_take, after_end) in
            [("estimate_only", 10, 10), ("reserve_then_settle", 10, -40), ("actual_after", 60, -40)]
        {
            let mut limiter = limiter(&keys(charge));
            limiter.take(SimTime(0), &ask);
            assert_eq!(level(limiter.as_ref()), after_take, "{kind}, {charge}");
            limiter.settle(SimTime(0), &ask, End::Completed(Nanos(1)));
            assert_eq!(level(limiter.as_ref()), after_end, "{kind}, {charge}");
        }
        let mut limiter = limiter(&keys("actual_after"));
        for _ in 0..3 {
            assert_eq!(limiter.check(SimTime(0), &ask), Verdict::Pass, "a unit is left until the end");
            limiter.take(SimTime(0), &ask);
        }
        (0..3).for_each(|_| limiter.settle(SimTime(0), &ask, End::Completed(Nanos(1))));
        assert_eq!(level(limiter.as_ref()), 60 - 300);
        // 240 are owed and one must be left: 24.1 s.
        assert_eq!(limiter.check(SimTime(0), &ask), Verdict::At(SimTime(24_100_000_000)));
    }
}

/// GCRA over a store of whole seconds: the gap is round(period / limit), so seven a minute become one every 9 s, and
/// two hundred a minute one every 0 s, which never limits.
#[test]
fn a_gap_of_whole_seconds_lets_fewer_pass_or_all() {
    let admitted_in_an_hour = |rate: &str| {
        let keys = format!("kind = 'gcra'\nrate = '{rate}'\nburst = 1\ninterval_resolution = '1s'");
        passed(&mut *limiter(&keys), (0..36_000).map(|tenth| (tenth * 100_000_000, 1)))
    };
    assert_eq!(admitted_in_an_hour("7/60s"), 400, "6.67 a minute");
    assert_eq!(admitted_in_an_hour("200/60s"), 36_000, "all");
}

#[test]
fn strict_priority_that_starves_a_class_is_reported_and_shares_do_not_starve() {
    let run = |queue: &str| {
        let dir = tempfile::tempdir().expect("a folder");
        let scenario = dir.path().join("s.toml");
        let text = format!(
            "version = 1\nduration = '3m'\n[class.high]\npriority = 1\n[class.low]\n\
             [traffic.high]\nrate = '100/s'\nclass = 'high'\n[traffic.low]\nrate = '20/s'\nclass = 'low'\n\
             [queue.q]\n{queue}\nmax_length = 500\non_overflow = 'oldest'\n\
             [downstream.d]\nconcurrency = 10\nservice_time = '102ms'\n[policy.p]\nqueue = 'q'\ndownstream = 'd'\n"
        );
        std::fs::write(&scenario, text).expect("written");
        let output = assert_cmd::Command::cargo_bin("tidegate")
            .expect("it is built")
            .arg("run")
            .arg(&scenario)
            .args(["--charts", "none", "-o"])
            .arg(dir.path().join("run"))
            .output()
            .expect("it runs");
        let said = String::from_utf8(output.stdout).expect("text");
        let mut summary = csv::Reader::from_path(dir.path().join("run/summary.csv")).expect("a summary");
        let rows: Vec<std::collections::BTreeMap<String, String>> =
            summary.deserialize().map(|row| row.expect("a row")).collect();
        let low = rows.iter().find(|row| row["class"] == "low").expect("the class");
        let number = |column: &str| low[column].parse::<f64>().expect("a number");
        (said, number("starved_s"), number("goodput_count"))
    };
    let (said, starved, goodput) = run("kind = 'priority'");
    assert!(100.0 < starved && goodput < 200.0, "{starved} s, {goodput}");
    assert!(said.contains("class `low` had work for") && said.contains("and got nothing done"), "{said}");
    for queue in ["kind = 'sfq'\nkey = 'class'", "kind = 'priority'\nageing = '100ms'"] {
        let (said, starved, goodput) = run(queue);
        assert!(starved < 10.0 && 500.0 < goodput, "{queue}: {starved} s, {goodput}");
        assert!(!said.contains("got nothing done"), "{said}");
    }
}
