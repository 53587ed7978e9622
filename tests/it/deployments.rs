//! Every kind of limiter in every sort of deployment: it ends, tells what the limit itself tells where nothing is between
//! them, and counts what went wrong.

use crate::support::limiter;
use tidegate::limiter::{Limiter, Verdict};
use tidegate::request::{Ask, End};
use tidegate::rng::Dice;
use tidegate::time::{Nanos, SimTime};

/// One configuration for each kind and dialect, of about ten a second.
pub const KINDS: [&str; 30] = [
    "kind = 'token_bucket'\nrate = '10/s'\nburst = 5",
    "kind = 'token_bucket'\nrate = '10/1s'\nburst = 10\nrefill = 'interval'",
    "kind = 'token_bucket'\nrate = '10/1s'\nburst = 10\nrefill = 'aligned'\nfirst_refill = '1s'",
    "kind = 'token_bucket'\ndialect = 'envoy'\nmax_tokens = 5\ntokens_per_fill = 5\nfill_interval = '500ms'",
    "kind = 'token_bucket'\ndialect = 'go'\nrate = '10/s'\nburst = 5",
    "kind = 'token_bucket'\ndialect = 'go'\nrate = '10/s'\nburst = 5\nmax_wait = '1s'",
    "kind = 'token_bucket'\ndialect = 'juju'\nrate = '10/1s'\nburst = 5\nmax_wait = '1s'",
    "kind = 'token_bucket'\ndialect = 'bucket4j'\nrate = '10/s'\nburst = 5",
    "kind = 'gcra'\nrate = '10/s'\nburst = 5",
    "kind = 'leaky_meter'\nrate = '10/s'\nburst = 5",
    "kind = 'leaky_meter'\ndialect = 'exact'\nrate = '10/s'\nburst = 5",
    "kind = 'leaky_queue'\nrate = '10/s'",
    "kind = 'leaky_queue'\ndialect = 'uber'\nrate = '10/s'",
    "kind = 'leaky_queue'\ndialect = 'failsafe'\nrate = '10/s'\nmax_wait = '500ms'",
    "kind = 'fixed_window'\nlimit = 10\nwindow = '1s'",
    "kind = 'fixed_window'\nlimit = 10\nwindow = '1s'\ndialect = 'tower'",
    "kind = 'fixed_window'\nlimit = 10\nwindow = '1s'\ndialect = 'redis_countdown'",
    "kind = 'fixed_window'\nlimit = 10\nwindow = '1s'\ndialect = 'resilience4j'",
    "kind = 'sliding_log'\nlimit = 10\nwindow = '1s'",
    "kind = 'sliding_log'\nlimit = 10\nwindow = '1s'\nedge = 'closed'",
    "kind = 'sliding_counter'\nlimit = 10\nwindow = '1s'",
    "kind = 'sliding_counter'\nlimit = 10\nwindow = '1s'\ndialect = 'limits'",
    "kind = 'sliding_counter'\nlimit = 10\nwindow = '1s'\ndialect = 'russellluo'",
    "kind = 'sliding_counter'\nlimit = 10\nwindow = '1s'\ndialect = 'upstash'",
    "kind = 'warm_up'\nrate = '10/s'\nmax_wait = '500ms'",
    "kind = 'warm_up'\ndialect = 'sentinel'\nrate = '10/s'\nwarm_up = '5s'",
    "kind = 'srtcm'\ncir = '10/s'\ncbs = 5\nebs = 3",
    "kind = 'trtcm'\ncir = '8/s'\ncbs = 5\npir = '10/s'\npbs = 5",
    "kind = 'provider_quota'\nrpm = 600\ntpm = 60000",
    "kind = 'provider_quota'\nrpm = 600\nslice = '1s'",
];

const DEPLOYMENTS: [&str; 21] = [
    "gateways = 4",
    "gateways = 4\natomic = true\nlatency = '5ms'",
    "gateways = 4\natomic = 'optimistic'\nlatency = { dist = 'exponential', mean = '8ms' }",
    "gateways = 3\natomic = 'lock'\nlatency = '80ms'\nlock_timeout = '200ms'",
    "gateways = 3\naccess = 'local'\nsync_every = '700ms'",
    "gateways = 4\nclock_skew = '500ms'",
    "gateways = 4\nclock_skew = '10ms'\nclock_drift = 100e-6",
    "gateways = 2\nclock_resolution = '1s'",
    "gateways = 3\nclock_skew = '30ms'\nclock_drift = -0.01\nclock_resolution = '250ms'\naccess = 'local'",
    "gateways = 4\noutage = [{ at = '20s', for = '5s' }]\non_outage = 'open'",
    "gateways = 4\noutage = [{ at = '20s', for = '5s' }]",
    "gateways = 4\nexpiry = 'two_steps'\ncrash = '1%'\nlatency = '20ms'",
    "gateways = 4\nexpiry = 'two_steps'\ncrash = '50%'\nlatency = { dist = 'exponential', mean = '30ms' }",
    "gateways = 4\nexpiry = 'two_steps'\ncrash = '100%'",
    "gateways = 4\nexpiry = 'two_steps'\ncrash = '100%'\nclock_skew = '2s'",
    "gateways = 4\natomic = 'optimistic'\nexpiry = 'two_steps'\ncrash = '2%'\nlatency = '10ms'",
    "gateways = 3\nclock_skew = '10s'",
    "gateways = 3\naccess = 'local'\nsync_every = '1s'\nclock_skew = '1s'",
    "gateways = 3\nclock_drift = 0.3",
    "gateways = 3\nclock_drift = 20e-6\nlatency = '1ms'",
    "gateways = 3\nclock_skew = '300ms'\nclock_resolution = '1s'",
];

fn deployed(kind: &str, deployment: &str) -> Box<dyn Limiter> {
    let nested: String = deployment.lines().map(|line| format!("deployment.{line}\n")).collect();
    limiter(&format!("{kind}\n{nested}"))
}

/// Asks about 25 times a second for 40 s, and reads the gauges every second; answers how many passed.
fn drive(limiter: &mut dyn Limiter) -> u64 {
    let mut passed = 0;
    for number in 0u64..1_000 {
        let now = SimTime(10_000_000_000 + 40_000_000 * number + number % 7 * 3_000_000);
        let ask = Ask { dice: Dice(number), input_tokens: 5, ..Ask::default() };
        let (left, units) = limiter.remaining(now, &ask);
        assert!(0 < units, "{left}/{units}");
        limiter.reset(now, &ask);
        limiter.colour(now, &ask);
        match limiter.check(now, &ask) {
            Verdict::Pass | Verdict::Delay(_) => {
                limiter.take(now, &ask);
                limiter.settle(now, &ask, End::Completed(Nanos(1)));
                passed += 1;
            }
            Verdict::At(at) => {
                assert!(now < at, "it would pass in the past");
                limiter.refuse(now, &ask);
            }
            Verdict::Never => limiter.refuse(now, &ask),
        }
        if number % 25 == 0 {
            limiter.gauges(now, &mut |name, reading| assert!(reading.avg.is_finite(), "{name}"));
        }
    }
    passed
}

#[test]
fn every_kind_comes_to_an_end_in_every_deployment() {
    for kind in KINDS {
        let alone = drive(limiter(kind).as_mut());
        assert!(100 <= alone, "{kind}: {alone}");
        for deployment in DEPLOYMENTS {
            let mut limiter = deployed(kind, deployment);
            let passed = drive(limiter.as_mut());
            let mut counted = Vec::new();
            limiter.counts(&mut |name, count| counted.push((name, count)));
            let names: Vec<&str> = counted.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, ["over_admitted", "falsely_refused"], "{kind} in {deployment}");
            // A quota counts over its limits, of which requests and tokens each may say so.
            let limits = if kind.contains("tpm") { 2 } else { 1 };
            let (over, falsely) = (counted[0].1, counted[1].1);
            assert!(
                over <= passed * limits && falsely <= 1_000 * limits,
                "{kind} in {deployment}: {counted:?}"
            );
            // One script at the store's own clock is the limit itself.
            if deployment == "gateways = 4" {
                assert_eq!((passed, over, falsely), (alone, 0, 0), "{kind}");
            }
        }
    }
}

#[test]
fn a_key_whose_maker_died_is_refused_for_ever_once_it_is_used_up() {
    for kind in KINDS {
        let mut limiter = deployed(kind, "gateways = 4\nexpiry = 'two_steps'\ncrash = '100%'");
        let mut passed = 0u64;
        for second in 0..1_000u64 {
            let now = SimTime(second * 1_000_000_000);
            let ask = Ask { dice: Dice(second), input_tokens: 5, ..Ask::default() };
            match limiter.check(now, &ask) {
                Verdict::Pass => {
                    limiter.take(now, &ask);
                    passed += 1;
                }
                Verdict::Never => limiter.refuse(now, &ask),
                other => panic!("{kind}: {other:?} at {second} s, of a key for which time stands still"),
            }
        }
        // What one burst, or one turn, lets pass: a quota of 600 has as many.
        assert!((1..=600).contains(&passed), "{kind}: {passed}");
        let mut falsely = 0;
        limiter.counts(&mut |name, count| falsely += if name == "falsely_refused" { count } else { 0 });
        assert!(1_000 - passed <= falsely, "{kind}: {passed} passed, {falsely} refused though they were due");
    }
}

#[test]
fn a_script_lets_time_stand_still_for_a_gateway_that_is_behind() {
    // Four gateways between half a second behind and half a second ahead: the store's time is that of the fastest.
    for kind in ["token_bucket", "gcra"] {
        let kind = format!("kind = '{kind}'\nrate = '10/s'\nburst = 5");
        let (alone, skewed) = (
            drive(limiter(&kind).as_mut()),
            drive(deployed(&kind, "gateways = 4\nclock_skew = '500ms'").as_mut()),
        );
        // As fast in the long run: what is behind loses nothing to what is ahead, but a burst's worth at the ends.
        assert!(alone.abs_diff(skewed) <= 6, "{kind}: {alone} and {skewed}");
    }
}

#[test]
fn a_period_in_whole_seconds_is_measured_against_the_rate_that_was_meant() {
    // 200 in 60 s is a separation of 0.3 s, which rounds to none: it never limits. 7 in 60 s is 8.57 s, which rounds to
    // 9 s: it lets 6.67 a minute pass.
    let count = |keys: &str| {
        let mut limiter = deployed(
            &format!("kind = 'gcra'\nburst = 1\ninterval_resolution = '1s'\n{keys}"),
            "gateways = 1",
        );
        let (mut passed, mut counted) = (0, Vec::new());
        for second in 0..600u64 {
            let (now, ask) = (SimTime(second * 1_000_000_000), Ask::default());
            for _ in 0..5 {
                if limiter.check(now, &ask).passes() {
                    limiter.take(now, &ask);
                    passed += 1;
                } else {
                    limiter.refuse(now, &ask);
                }
            }
        }
        limiter.counts(&mut |_, count| counted.push(count));
        (passed, counted[0], counted[1])
    };
    let (passed, over, falsely) = count("rate = '200/60s'");
    // The ideal one passes one in each second but those in which 0.3 s has not gone by: all of them.
    assert_eq!((passed, over, falsely), (3_000, 3_000 - 600, 0));
    let (passed, over, falsely) = count("rate = '7/60s'");
    // Every ninth second passes; of 600 s the ideal one admits ⌈600 / 9⌉ too, at the seconds after each 8.57 s.
    assert_eq!((passed, over), (67, 0));
    assert_eq!(falsely, 0, "asked once a second, 8.57 s are nine");
}

#[test]
fn resets_colours_and_delays_of_a_limit_are_told_through_its_deployment() {
    let now = SimTime(10_300_000_000);
    let ask = Ask { input_tokens: 5, ..Ask::default() };
    for kind in KINDS {
        let (mut alone, mut deployed) = (limiter(kind), deployed(kind, "gateways = 3"));
        for _ in 0..4 {
            assert_eq!(alone.colour(now, &ask), deployed.colour(now, &ask), "{kind}");
            let verdict = alone.check(now, &ask);
            assert_eq!(deployed.check(now, &ask), verdict, "{kind}");
            for limiter in [&mut alone, &mut deployed] {
                if verdict.passes() { limiter.take(now, &ask) } else { limiter.refuse(now, &ask) }
            }
            assert_eq!(alone.reset(now, &ask), deployed.reset(now, &ask), "{kind}");
        }
    }
    // A store that answers after 5 ms delays a quota's calls as any other's.
    let quota = super::deployments::deployed("kind = 'provider_quota'\nrpm = 600", "latency = '5ms'");
    assert_eq!(quota.check(now, &ask), Verdict::Delay(SimTime(now.0 + 5_000_000)));
    let mut quota = super::deployments::deployed(
        "kind = 'provider_quota'\nrpm = 1",
        "access = 'optimistic'\nlatency = '5ms'",
    );
    for ms in 0..3u64 {
        let now = SimTime(ms * 1_000_000);
        assert!(quota.check(now, &ask).passes());
        quota.take(now, &ask);
    }
    let mut over = 0;
    quota.counts(&mut |name, count| over += if name == "over_admitted" { count } else { 0 });
    assert_eq!(over, 2);
}

#[test]
fn a_key_that_never_expires_is_not_found_to_be_gone_however_slow_the_store_is() {
    // Its maker died: of three, two more pass, and then none ever, though the store is slower than the key would live.
    let mut limiter = deployed(
        "kind = 'token_bucket'\nrate = '1/s'\nburst = 3",
        "expiry = 'two_steps'\ncrash = '100%'\nlatency = '1s'",
    );
    let mut verdicts = Vec::new();
    for second in [1, 2, 3, 4, 5] {
        let (now, ask) = (SimTime(second * 1_000_000_000), Ask::default());
        let verdict = limiter.check(now, &ask);
        if verdict.passes() {
            limiter.take(now, &ask)
        } else {
            limiter.refuse(now, &ask)
        }
        verdicts.push(verdict);
    }
    assert!(verdicts[..3].iter().all(|verdict| verdict.passes()), "{verdicts:?}");
    assert_eq!(verdicts[3..], [Verdict::Never; 2]);
}

#[test]
fn who_cannot_have_the_lock_is_refused_when_it_has_waited_as_long_as_may_be() {
    // The lock is held for two answers of a second each; others wait half a second for it at most.
    let rows = crate::support::run(
        "version = 1\nduration = '10s'\n[traffic.t]\nat = ['0s', '100ms', '1600ms', '1700ms']\nclient = 'c'\n\
         [traffic.u]\nat = ['200ms']\nclient = 'hasty'\n[client.c]\n[client.hasty]\ntimeout = '300ms'\n\
         [limiter.l]\nkind = 'gcra'\nrate = '100/s'\nburst = 50\n\
         deployment = { access = 'lock', latency = '1s', lock_timeout = '500ms' }\n\
         [downstream.d]\nconcurrency = 'unlimited'\nservice_time = '1ms'\n[policy.p]\nstages = ['l']\ndownstream = 'd'\n",
    );
    let ms = |at: SimTime| at.0 / 1_000_000;
    let told: Vec<(u64, &str, u64)> = rows
        .sorted_attempts()
        .iter()
        .map(|attempt| (ms(attempt.arrived), attempt.outcome, ms(attempt.ended)))
        .collect();
    assert_eq!(
        told,
        [
            (0, "goodput", 1_001),
            (100, "rejected", 600),
            // Its caller left before it was told.
            (200, "abandoned", 500),
            // The lock is free at 2 s, which both can wait for; the first then has it until 4 s.
            (1_600, "goodput", 3_001),
            (1_700, "rejected", 2_200),
        ]
    );
}
