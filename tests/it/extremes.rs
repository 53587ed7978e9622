//! The largest limits and costs, and the end of time, for every kind: nothing wraps, and nothing lets more through.

use crate::support::limit;
use tidegate::limiter::{Charge, Limiter, Verdict};
use tidegate::request::{Ask, End, Unit};
use tidegate::time::{Nanos, SimTime};

/// Kinds at the largest that they take, and how many asks of 2^62 they hold at most.
fn largest() -> Vec<(String, u64)> {
    let most = 1u64 << 63;
    let sized = |kind: &str| format!("kind = '{kind}'\nrate = '1/s'\nburst = '{most}'");
    let window = |kind: &str| format!("kind = '{kind}'\nlimit = '{most}'\nwindow = '1s'");
    let less = most - 2;
    let mut all = vec![
        (sized("token_bucket"), 2),
        (format!("{}\ndialect = 'bucket4j'", sized("token_bucket")), 2),
        (format!("{}\ndialect = 'go'", sized("token_bucket")), 2),
        (format!("{}\ndialect = 'juju'\nmax_wait = '0s'", sized("token_bucket")), 2),
        (format!("{}\nrefill = 'interval'", sized("token_bucket")), 2),
        (format!("{}\nrefill = 'aligned'", sized("token_bucket")), 2),
        (format!("kind = 'token_bucket'\ndialect = 'envoy'\nmax_tokens = '{most}'\nfill_interval = '1s'"), 2),
        (format!("kind = 'token_bucket'\nbandwidths = [{{ rate = '1/s', burst = '{most}' }}]"), 2),
        (sized("gcra"), 2),
        (format!("kind = 'leaky_meter'\nrate = '1/s'\nburst = '{less}'\nnodelay = true"), 2),
        (
            format!(
                "kind = 'leaky_meter'\ndialect = 'exact'\nrate = '1/s'\nburst = '{less}'\nnodelay = true"
            ),
            2,
        ),
        (format!("kind = 'srtcm'\ncir = '1/s'\ncbs = '{most}'\nebs = 1"), 2),
        (format!("kind = 'trtcm'\ncir = '1/s'\ncbs = 1\npir = '1/s'\npbs = '{most}'"), 2),
        ("kind = 'provider_quota'\ntpm = '4611686018427387904'".into(), 1),
        ("kind = 'provider_quota'\ntpm = '4611686018427387904'\nslice = '10s'".into(), 1),
        ("kind = 'leaky_queue'\nrate = '1000M/s'\nmax_wait = '1s'".into(), 1),
        ("kind = 'leaky_queue'\ndialect = 'failsafe'\nrate = '1000M/s'\nmax_wait = '1s'".into(), 0),
        ("kind = 'warm_up'\nrate = '1000/s'\nmax_wait = '1s'".into(), 1),
        ("kind = 'warm_up'\ndialect = 'sentinel'\nrate = '1000M/s'\nwarm_up = '36500d'".into(), 0),
        (window("sliding_log"), 2),
        (format!("{}\ncount_rejected = true", window("sliding_log")), 2),
        (format!("{}\nedge = 'closed'", window("sliding_log")), 2),
        (window("fixed_window"), 2),
        (format!("{}\ncount_rejected = true", window("fixed_window")), 2),
    ];
    for dialect in ["redis_countdown", "resilience4j'\nmax_wait = '0s", "tower"] {
        all.push((format!("{}\ndialect = '{dialect}'", window("fixed_window")), 2));
    }
    for dialect in ["cloudflare", "limits", "russellluo", "upstash"] {
        all.push((format!("{}\ndialect = '{dialect}'", window("sliding_counter")), 2));
    }
    all
}

/// How many of so many asks for 2^62 units pass at an instant.
fn passes(limiter: &mut dyn Limiter, now: SimTime, asks: u64) -> u64 {
    let ask = Ask::costing(1 << 62);
    let mut passed = 0;
    for _ in 0..asks {
        limiter.remaining(now, &ask);
        limiter.reset(now, &ask);
        match limiter.check(now, &ask) {
            Verdict::Pass | Verdict::Delay(_) => {
                limiter.take(now, &ask);
                limiter.settle(now, &ask, End::Completed(Nanos::ZERO));
                passed += 1;
            }
            Verdict::At(at) => {
                assert!(now < at);
                limiter.refuse(now, &ask);
            }
            Verdict::Never => limiter.refuse(now, &ask),
        }
    }
    passed
}

#[test]
fn nothing_wraps_and_nothing_lets_more_through() {
    for (keys, most) in largest() {
        let mut limit = limit(&keys);
        limit.options.charge = Charge::of(Unit::Given);
        let mut limiter = limit.build();
        let passed = passes(limiter.as_mut(), SimTime(0), 6);
        assert!(passed <= most, "{keys}: {passed} at once");
        assert!(passed == most || keys.contains("leaky_meter"), "{keys}: {passed} of {most}");
        // A second, a century, and the last nanosecond later there is room for as many at most.
        for later in [1_000_000_000, 3_155_760_000_000_000_000, u64::MAX - 1, u64::MAX] {
            let passed = passes(limiter.as_mut(), SimTime(later), 6);
            assert!(passed <= most, "{keys}: {passed} at {later}");
        }
        limiter
            .gauges(SimTime(u64::MAX), &mut |name, reading| assert!(!reading.avg.is_nan(), "{keys} {name}"));
    }
}

#[test]
fn what_is_larger_than_a_rate_can_say_is_no_fault_of_the_program() {
    for keys in [
        "kind = 'provider_quota'\nrpm = '9223372036854775807'",
        "kind = 'provider_quota'\nrpd = '9223372036854775808'",
        "kind = 'provider_quota'\ntpm = '4611686018427387905'",
        "kind = 'token_bucket'\ndialect = 'go'\nrate = '3000M/s'\nburst = 1",
        "kind = 'leaky_queue'\nrate = '3000M/s'",
    ] {
        let text = format!("limiter = {{ {} }}", keys.replace('\n', ", "));
        let output = assert_cmd::Command::cargo_bin("tidegate")
            .expect("it is built")
            .args(["probe", text.trim_start_matches("limiter = "), "-"])
            .write_stdin("t_s\n0\n")
            .output()
            .expect("it starts");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{keys}: {told}");
        assert!(told.contains("is more than"), "{keys}: {told}");
    }
}
