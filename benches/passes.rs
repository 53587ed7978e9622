//! What a decision of each kind of limiter costs: check, take and settle, or refuse.

use super::measure::cost;
use std::path::Path;
use tidegate::limiter::Limiter;
use tidegate::request::{Ask, End};
use tidegate::rng::{Dice, Purpose};
use tidegate::scenario::Scenario;
use tidegate::scenario::build::Prepared;
use tidegate::scenario::source::Document;
use tidegate::scenario::stage::KINDS;
use tidegate::time::{Nanos, SimTime};

/// What stands for each kind, each dialect and each wrapper: about 800 a second of 950 that are asked for.
const ROWS: &[&str] = &[
    "kind = 'token_bucket'\ndialect = 'envoy'\nmax_tokens = 100\ntokens_per_fill = 80\nfill_interval = '100ms'",
    "kind = 'token_bucket'\ndialect = 'juju'\nrate = '800/1s'\nburst = 100\nmax_wait = '10ms'",
    "kind = 'token_bucket'\nrate = '800/s'\nburst = 100\ndeployment = { gateways = 4, latency = '1ms' }",
    "kind = 'fixed_window'\ndialect = 'redis_countdown'\nlimit = 800\nwindow = '1s'",
    "kind = 'fixed_window'\ndialect = 'tower'\nlimit = 800\nwindow = '1s'",
    "kind = 'sliding_counter'\ndialect = 'upstash'\nlimit = 800\nwindow = '1s'",
    "kind = 'sliding_counter'\ndialect = 'limits'\nlimit = 800\nwindow = '1s'",
    "kind = 'token_bucket'\nrate = '800/s'\nburst = 100",
    "kind = 'token_bucket'\nrate = '4/5s'\nburst = 2\nkey = 'tenant'",
    "kind = 'token_bucket'\nrate = '4/5s'\nburst = 2\nkey = ['tenant', 'user']",
    "kind = 'token_bucket'\nrate = '800/s'\nburst = 100\nshadow = true",
    "kind = 'token_bucket'\nrate = '800/s'\nburst = 100\nretry_after = 'doubling'",
    "kind = 'token_bucket'\ndialect = 'go'\nrate = '800/s'\nburst = 100",
    "kind = 'token_bucket'\nrefill = 'interval'\nrate = '80/100ms'\nburst = 100",
    "kind = 'gcra'\nrate = '800/s'\nburst = 100",
    "kind = 'leaky_meter'\nrate = '800/s'\nburst = 100",
    "kind = 'leaky_meter'\ndialect = 'exact'\nrate = '800/s'\nburst = 100",
    "kind = 'leaky_queue'\nrate = '800/s'\nmax_wait = '100ms'",
    "kind = 'leaky_queue'\ndialect = 'uber'\nrate = '2000/s'",
    "kind = 'fixed_window'\nlimit = 800\nwindow = '1s'",
    "kind = 'fixed_window'\ndialect = 'resilience4j'\nlimit = 800\nwindow = '1s'",
    "kind = 'sliding_log'\nlimit = 800\nwindow = '1s'",
    "kind = 'sliding_counter'\nlimit = 800\nwindow = '1s'",
    "kind = 'sliding_counter'\ndialect = 'russellluo'\nlimit = 800\nwindow = '1s'",
    "kind = 'warm_up'\nrate = '800/s'\nmax_wait = '10ms'",
    "kind = 'warm_up'\ndialect = 'sentinel'\nrate = '800/s'\nwarm_up = '10s'",
    "kind = 'srtcm'\ncir = '800/s'\ncbs = 100\nebs = 100",
    "kind = 'trtcm'\ncir = '800/s'\ncbs = 100\npir = '900/s'\npbs = 100",
    "kind = 'token_bucket'\ndialect = 'bucket4j'\nrate = '800/s'\nburst = 100",
    "kind = 'token_bucket'\nrefill = 'aligned'\nrate = '80/100ms'\nburst = 100",
    "kind = 'token_bucket'\nbandwidths = [{ rate = '800/s', burst = 100 }, { rate = '900/s', burst = 50 }]",
    "kind = 'token_bucket'\nrate = '800/s'\nburst = 100\ndeployment = { gateways = 4, latency = '1ms', atomic = 'optimistic' }",
    "kind = 'token_bucket'\nrate = '800/s'\nburst = 100\ndeployment = { gateways = 4, access = 'local', sync_every = '1s' }",
    "kind = 'leaky_queue'\ndialect = 'failsafe'\nrate = '800/s'\nmax_wait = '100ms'",
    "kind = 'fixed_window'\nlimit = 800\nwindow = '1s'\nopens = 'first_hit'",
    "kind = 'sliding_log'\nlimit = 800\nwindow = '1s'\nedge = 'closed'",
    "kind = 'provider_quota'\nrpm = 48000",
    "kind = 'provider_quota'\nrpm = 48000\ntpm = 480000\nrpd = 50000000\ntpd = 500000000",
    "kind = 'provider_quota'\npreset = 'anthropic'",
];

fn limiter(keys: &str) -> Box<dyn Limiter> {
    let text = format!(
        "version = 1\nduration = '1s'\n[traffic.t]\nat = ['0s']\n[limiter.l]\n{keys}\n[downstream.d]\n\
         concurrency = 1\nservice_time = '1s'\n[policy.p]\nstages = ['l']\ndownstream = 'd'\n"
    );
    let document = Document::from_text("bench", &text, Path::new(""));
    let read = document.and_then(|document| Scenario::read(&document));
    let prepared = read.and_then(|(scenario, _)| Prepared::new(scenario));
    let prepared = prepared.unwrap_or_else(|problems| panic!("{problems}"));
    let setup = prepared.setup(0, 1).expect("nothing is read from files");
    setup.gates.into_iter().next().expect("a gate").limiters.remove(0)
}

/// Name and nanoseconds of each limiter's decision.
pub fn decisions(rounds: usize, decisions: u64) -> Vec<(String, f64)> {
    for kind in KINDS.iter().filter(|kind| !super::admissions::is_admission(kind.name)) {
        assert!(ROWS.iter().any(|row| row.contains(&format!("'{}'", kind.name))), "no row for {}", kind.name);
    }
    let row = |keys: &&str| {
        let mut limiter = limiter(keys);
        let (mut ask, mut now) = (Ask { input_tokens: 5, ..Ask::default() }, SimTime::ZERO);
        let ns = cost(rounds, || {
            for i in 0..decisions {
                ask.dice = Dice(i);
                let bits = ask.dice.bits(Purpose::Policy, 1);
                // The clock moves on by 1.05 ms on average.
                now = SimTime(now.0 + (bits >> 43));
                (ask.tenant, ask.user) = (bits as u32 % 1_000, bits as u32 % 1_000);
                if limiter.check(now, &ask).passes() {
                    limiter.take(now, &ask);
                    limiter.settle(now, &ask, End::Completed(Nanos(1)));
                } else {
                    limiter.refuse(now, &ask);
                }
            }
            decisions
        });
        let name = keys.replace("kind = ", "").replace('\'', "").replace('\n', ", ");
        (name, ns)
    };
    ROWS.iter().map(row).collect()
}
