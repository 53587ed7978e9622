//! The same input gives the same facts, and calls meet the same luck whatever else there is.

use crate::support::{Attempt, Rows, prepared, run, run_setup, setup};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use tidegate::engine::{Engine, Unwatched};

/// Two policies, retries with jitter, a slowdown, tenants, tokens: whatever draws or orders.
const MIXED: &str = r#"
version = 1
duration = "30s"
warmup = "5s"
[class.gold]
deadline = "2s"
[traffic.api]
rate = "60/s"
client = "sdk"
tenant = { count = 5, pick = "zipf" }
tokens = { input = { dist = "lognormal", median = 200, p99 = 2000 }, output = { dist = "exponential", mean = 100 } }
[traffic.batch]
rate = "7/3s"
arrivals = "paced"
class = "gold"
[client.sdk]
timeout = "1500ms"
[client.sdk.retry]
max_attempts = 4
on = ["429", "503", "500", "timeout"]
backoff = { base = "100ms", max = "2s", jitter = "full" }
[downstream.model]
concurrency = 16
service_time = { dist = "gamma", mean = "240ms", shape = 2 }
error_rate = "2%"
[limiter.tpm]
kind = "token_bucket"
rate = "20k/s"
burst = "40k"
unit = "tokens"
key = "tenant"
[limiter.rpm]
kind = "gcra"
rate = "55/s"
burst = 20
wait = true
[admission.slots]
kind = "concurrency"
limit = 12
[queue.line]
max_length = 40
max_wait = "1s"
[policy.tight]
stages = ["tpm", "rpm", "slots"]
queue = "line"
downstream = "model"
[policy.open]
downstream = "model"
[[event]]
name = "slow"
at = "10s"
for = "5s"
set = { "downstream.model.slowdown" = 3 }
"#;

/// A burst through a token bucket.
const BURST: &str = r#"
version = 1
duration = "20s"
[traffic.api]
rate = "10/s"
[[traffic.api.burst]]
at = "5s"
for = "2s"
rate = "200/s"
[downstream.d]
concurrency = "unlimited"
service_time = "50ms"
[limiter.bucket]
kind = "token_bucket"
rate = "20/s"
burst = 50
[policy.p]
stages = ["bucket"]
downstream = "d"
"#;

/// A slow downstream, clients that give up and try again, and a queue without bound.
const STORM: &str = r#"
version = 1
duration = "60s"
[traffic.api]
rate = "40/s"
client = "sdk"
[client.sdk]
timeout = "5s"
[client.sdk.retry]
max_attempts = 4
backoff = { base = "500ms", max = "10s", jitter = "full" }
[downstream.orders]
concurrency = 32
service_time = { dist = "lognormal", median = "500ms", p99 = "1s" }
[queue.endless]
max_length = "unlimited"
[policy.p]
queue = "endless"
downstream = "orders"
[[event]]
name = "slow"
at = "20s"
for = "10s"
set = { "downstream.orders.slowdown" = 8 }
"#;

/// What is written down of the first policy of a scenario under its seed.
#[derive(Debug, PartialEq, Eq)]
struct Golden {
    name: &'static str,
    calls: u64,
    events: u64,
    /// SHA-256 of what became of every attempt.
    story: String,
}

/// They change when draws, the order of events, or a decision change. Then every result of every user changes: say in
/// the commit what did, and why.
const GOLDENS: [(&str, &str, u64, u64, &str); 3] = [
    ("mixed", MIXED, 1_863, 6_803, "954c65014671b17df8b88889b8d2f23f416d17d7aa00bfc9e18935f0348c9729"),
    ("burst", BURST, 592, 886, "f70162c8a09194ece76d366250adc5df282d7bb3f8f60a7fbbf475ee744cad28"),
    ("storm", STORM, 2_391, 16_926, "4cd448bf66f3502f9f04b07815443f9c8e15f4d3d2ce7ce42a4db4d165d90789"),
];

#[test]
fn what_becomes_of_every_attempt_is_what_was_written_down() {
    for (name, text, calls, events, story) in GOLDENS {
        let rows = run(text);
        let (found, outcome) = (hash(&rows), rows.outcome());
        let found = Golden { name, calls: outcome.calls, events: outcome.events, story: found };
        assert_eq!(found, Golden { name, calls, events, story: story.to_string() });
    }
}

/// One line for each attempt: numbers, instants in nanoseconds, how it ended.
fn hash(rows: &Rows) -> String {
    let mut hash = Sha256::new();
    for a in rows.sorted_attempts() {
        let started = a.started.map_or(String::new(), |at| at.0.to_string());
        let retry_after = a.retry_after.map_or(String::new(), |wait| wait.0.to_string());
        let Attempt { call, attempt, traffic, class, tenant, outcome, reason, stage, .. } = &a;
        hash.update(format!(
            "{call},{attempt},{traffic},{class},{tenant},{},{started},{},",
            a.arrived.0, a.ended.0
        ));
        hash.update(format!("{outcome},{reason},{stage},{retry_after}\n"));
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The fingerprint of each scenario: a quick hash of its events, so it may change where the stories above do not.
const FINGERPRINTS: [(&str, u64); 3] =
    [(MIXED, 0xa84a_ca24_8ad7_05eb), (BURST, 0x2b7b_13d7_e162_0dc4), (STORM, 0x8eb8_eeed_68d5_e6e6)];

#[test]
fn fingerprints_are_those_that_were_written_down() {
    let found = FINGERPRINTS.map(|(text, _)| run(text).outcome().fingerprint);
    assert_eq!(found, FINGERPRINTS.map(|(_, golden)| golden), "in hexadecimal: {found:x?}");
}

#[test]
fn the_same_scenario_and_seed_give_the_same_rows() {
    let (once, again) = (run(MIXED), run(MIXED));
    assert_eq!(once, again);
    assert!(!once.attempts.is_empty());
}

#[test]
fn another_seed_gives_another_run() {
    let prepared = prepared(MIXED);
    let of = |seed| run_setup(setup(&prepared, 0, seed)).outcome().fingerprint;
    assert_ne!(of(1), of(2));
}

#[test]
fn several_simulations_side_by_side_do_not_disturb_each_other() {
    let prepared = prepared(MIXED);
    let alone: Vec<Rows> =
        [(0, 1), (1, 1), (0, 2)].map(|(p, seed)| run_setup(setup(&prepared, p, seed))).into();
    let mut sinks = [Rows::default(), Rows::default(), Rows::default()];
    let mut engines: Vec<Engine<'_>> = sinks
        .iter_mut()
        .zip([(0, 1), (1, 1), (0, 2)])
        .map(|(sink, (policy, seed))| {
            Engine::new(setup(&prepared, policy, seed), sink).expect("it can begin")
        })
        .collect();
    let mut going = true;
    while going {
        going = false;
        // One event of each in turn.
        for engine in &mut engines {
            going |= engine.step(&mut Unwatched).expect("no fault").is_some();
        }
    }
    let outcomes: Vec<_> = engines.into_iter().map(|engine| engine.end().expect("no fault")).collect();
    for ((mut rows, outcome), alone) in sinks.into_iter().zip(outcomes).zip(alone) {
        rows.outcome = Some(outcome);
        assert_eq!(rows, alone);
    }
}

/// What a call meets: by traffic and the order of birth in it, its arrival, tenant, and the service of each attempt.
type Fate = BTreeMap<(u64, u32), (u64, u32, Option<u64>)>;

fn fates(rows: &Rows, traffic: &str) -> Fate {
    let attempts: Vec<Attempt> =
        rows.sorted_attempts().into_iter().filter(|a| a.traffic == traffic).collect();
    let mut births: Vec<u64> = attempts.iter().map(|attempt| attempt.call).collect();
    births.dedup();
    let number = |call: u64| births.binary_search(&call).expect("it was born") as u64;
    let served = |a: &Attempt| ["goodput", "wasted", "failed"].contains(&a.outcome);
    attempts
        .iter()
        .map(|a| {
            let service = a.started.filter(|_| served(a)).map(|started| (a.ended - started).0);
            ((number(a.call), a.attempt), (a.arrived.0, a.tenant, service))
        })
        .collect()
}

#[test]
fn the_same_call_meets_the_same_luck_under_every_policy() {
    // Without the slowdown, which depends on the instant of the start.
    let text = MIXED.replace("slowdown\" = 3", "slowdown\" = 1");
    let prepared = prepared(&text);
    let [tight, open] = [0, 1].map(|policy| fates(&run_setup(setup(&prepared, policy, 7)), "api"));
    let mut compared = [0, 0];
    for (which, (arrived, tenant, service)) in &tight {
        let Some((other_arrived, other_tenant, other_service)) = open.get(which) else { continue };
        if which.1 == 1 {
            assert_eq!((arrived, tenant), (other_arrived, other_tenant), "call {}", which.0);
        }
        if let (Some(service), Some(other)) = (service, other_service) {
            assert_eq!(service, other, "call {}, attempt {}", which.0, which.1);
            compared[usize::from(which.1 > 1)] += 1;
        }
    }
    assert!(compared[0] > 300 && compared[1] > 3, "too few to compare: {compared:?}");
}

#[test]
fn another_traffic_moves_nothing_of_those_that_were_there() {
    let prepared_with = |more: &str| prepared(&format!("{MIXED}{more}"));
    let more = "[traffic.aardvark]\nrate = '30/s'\ntenant = { count = 5, pick = 'uniform' }\n";
    // The open policy rejects and delays, but it can't change when calls come or how long they take.
    let of = |more: &str| fates(&run_setup(setup(&prepared_with(more), 1, 3)), "batch");
    let (without, with) = (of(""), of(more));
    assert_eq!(without.len(), with.len());
    let arrivals = |fates: &Fate| {
        fates.iter().map(|(which, (at, tenant, _))| (*which, *at, *tenant)).collect::<Vec<_>>()
    };
    assert_eq!(arrivals(&without), arrivals(&with));
    let first = |more: &str| -> Vec<(u64, u32)> {
        let fates = fates(&run_setup(setup(&prepared_with(more), 1, 3)), "api");
        fates
            .iter()
            .filter(|((_, attempt), _)| *attempt == 1)
            .map(|(_, (at, tenant, _))| (*at, *tenant))
            .collect()
    };
    assert_eq!(first(""), first(more));
}
