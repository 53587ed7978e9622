//! What files say, read back from the description.

use super::callers::{Size, Who};
use super::event::Target;
use super::rate::Law;
use super::source::Document;
use super::stage::StageSpec;
use super::traffic::Arrivals;
use super::{Nanos, Scenario, section, stage};
use crate::dist::Dist;
use crate::downstream::service::Service;
use crate::limiter::Charge;
use crate::limiter::token_bucket::TokenBucket;
use crate::request::{Key, Knob, Unit};
use crate::time::SimTime;
use crate::traffic::profile::Change;
use crate::units::parse_rate;
use std::path::Path;

/// The scenario that `text` describes, with its warnings in words.
fn scenario(text: &str) -> (Scenario, Vec<String>) {
    let document = Document::from_text("a.toml", text, Path::new("")).unwrap_or_else(|p| panic!("{p}"));
    let (scenario, warnings) = Scenario::read(&document).unwrap_or_else(|p| panic!("{p}"));
    (scenario, warnings.iter().map(|w| w.what.clone()).collect())
}

const STORM: &str = r#"
version = 1
name = "retry-storm"
duration = "4m"
[traffic.api]
rate = "40/s"
client = "sdk"
[client.sdk]
timeout = "10s"
[client.sdk.retry]
max_attempts = 4
on = ["429", "503", "timeout"]
backoff = { base = "500ms", factor = 2, max = "10s", jitter = "full" }
[client.careful]
timeout = "10s"
[client.careful.retry]
max_attempts = 4
backoff = { base = "500ms" }
budget = { kind = "finagle", ratio = "10%" }
[downstream.orders]
concurrency = 32
service_time = { dist = "lognormal", median = "500ms", p99 = "1s" }
[[event]]
name = "slowdown"
at = "60s"
for = "60s"
label = "downstream 500 ms → 8 s"
set = { "downstream.orders.slowdown" = 16, "traffic.api.rate" = "50/s" }
[limiter.slots]
kind = "concurrency"
limit = 32
[queue.bounded]
max_length = 64
max_wait = "2s"
[queue.endless]
max_length = "unlimited"
[policy.unbounded_queue]
stages = ["slots"]
queue = "endless"
downstream = "orders"
[policy.bounded_queue]
stages = ["slots"]
queue = "bounded"
downstream = "orders"
[policy.bounded_plus_budget]
stages = ["slots"]
queue = "bounded"
downstream = "orders"
client = { api = "careful" }
"#;

#[test]
fn a_whole_scenario_is_read_with_policies_in_the_order_of_the_file() {
    let (scenario, warnings) = scenario(STORM);
    assert_eq!(warnings, Vec::<String>::new());
    let names: Vec<&str> = scenario.policies.iter().map(|policy| policy.name.as_str()).collect();
    assert_eq!(names, ["unbounded_queue", "bounded_queue", "bounded_plus_budget"]);
    assert_eq!(
        (scenario.seed, scenario.interval, scenario.drain_bound()),
        (1, Nanos::SECOND, Nanos::secs(2_400))
    );
    assert_eq!(scenario.classes.len(), 1);
    let client = |policy: usize| {
        let number = scenario.policies[policy].clients[0].expect("it has a client");
        scenario.clients[number].name.as_str()
    };
    assert_eq!((client(0), client(2)), ("sdk", "careful"));
    let Service::Drawn(dist) = &scenario.downstreams[0].service_time else { panic!("not drawn") };
    assert_eq!(Ok(dist), Dist::lognormal(5e8, 1e9).as_ref());
}

#[test]
fn events_become_changes_and_the_rates_go_to_the_traffic() {
    let (scenario, _) = scenario(STORM);
    let changes: Vec<_> =
        scenario.changes.iter().map(|c| (c.at.0 / 1_000_000_000, c.target, c.knob)).collect();
    assert_eq!(
        changes,
        [
            (60, Target::Downstream(0), Knob::Slowdown(16.0)),
            (120, Target::Downstream(0), Knob::Slowdown(1.0))
        ]
    );
    let Arrivals::Rate(profile) = &scenario.traffics[0].arrivals else { panic!("no rate") };
    let burst = Change::Burst {
        at: SimTime(60_000_000_000),
        length: Nanos::secs(60),
        rate: crate::units::parse_rate("50/s").ok(),
    };
    assert_eq!(profile.changes, [burst]);
    assert_eq!(scenario.events[0].until, Some(SimTime(120_000_000_000)));
}

#[test]
fn json_and_the_canonical_form_say_the_same_as_the_toml() {
    let document = Document::from_text("a.toml", STORM, Path::new("")).expect("it is TOML");
    let form = document.canonical();
    let again = Document::from_text("run.json", &form, Path::new("")).expect("it is JSON");
    let (first, second) = (Scenario::read(&document).expect("right"), Scenario::read(&again).expect("right"));
    assert_eq!(format!("{:?}", first.0), format!("{:?}", second.0));
    assert_eq!(again.canonical(), form);
}

/// A scenario of one downstream and one policy around `more`.
fn around(more: &str) -> (Scenario, Vec<String>) {
    scenario(&format!(
        "version = 1\nduration = '1h'\n[downstream.d]\nconcurrency = 1\nservice_time = '1ms'\n[policy.p]\ndownstream = 'd'\n{more}"
    ))
}

#[test]
fn traffic_carries_who_what_and_how_much() {
    let (scenario, warnings) = around(
        r#"
        [class.gold]
        priority = 5
        [traffic.chat]
        class = "gold"
        rate = "3/s"
        arrivals = "paced"
        tenant = { count = 40, pick = "zipf", exponent = 1.1 }
        user = { fixed = "bob" }
        feature = { chat = "70%", search = 0.3 }
        tokens = { input = { dist = "lognormal", median = 900, p99 = "6k" }, output = 250 }
        [[traffic.chat.step]]
        at = "10m"
        rate = "6/s"
        [[traffic.chat.ramp]]
        at = "20m"
        for = "5m"
        to = "1/s"
        [[traffic.chat.burst]]
        at = "5m"
        for = "90s"
        rate = "9/s"
        [traffic.listed]
        at = ["0s", "0s", "1.5s"]
        on_off = { on = "1s", off = "1s" }
        "#
        .replace("on_off = { on = \"1s\", off = \"1s\" }", "tenant = \"t7\"")
        .as_str(),
    );
    assert_eq!(warnings, ["`class.gold.priority` changes nothing: nothing looks at it"]);
    let chat = &scenario.traffics[0];
    assert_eq!(chat.tenant, Some(Who::Zipf { count: 40, exponent: 1.1 }));
    assert_eq!(chat.features, [("chat".into(), 0.7), ("search".into(), 0.3)]);
    assert_eq!(chat.tokens.output, Some(Size::Fixed(250)));
    assert_eq!(chat.tokens.input, Dist::lognormal(900.0, 6_000.0).ok().map(Size::Drawn));
    let Arrivals::Rate(profile) = &chat.arrivals else { panic!("no rate") };
    assert_eq!(profile.law, Law::Paced);
    assert!(matches!(profile.changes[..], [Change::Step { .. }, Change::Ramp { .. }, Change::Burst { .. }]));
    let Arrivals::Calls(calls) = &scenario.traffics[1].arrivals else { panic!("no calls") };
    assert_eq!(calls.iter().map(|call| call.at.0).collect::<Vec<_>>(), [0, 0, 1_500_000_000]);
    assert_eq!((scenario.tenants.number("t7"), scenario.users.number("bob")), (Some(7), Some(1)));
    let classes: Vec<&str> = scenario.classes.iter().map(|class| class.name.as_str()).collect();
    assert_eq!(classes, ["default", "gold"]);
}

#[test]
fn stages_and_service_times_are_read_by_kind() {
    let (scenario, _) = around(
        r#"
        [traffic.t]
        rate = "1/s"
        [limiter.bucket]
        kind = "token_bucket"
        rate = "90k tpm"
        burst = "150k"
        unit = "tokens"
        key = "tenant"
        initial = 0
        [limiter.cells]
        kind = "gcra"
        rate = "2/s"
        burst = 3
        [admission.slots]
        kind = "concurrency"
        limit = "unlimited"
        [downstream.model]
        concurrency = "unlimited"
        service_time = { base = "0ms", per_input_token = "200us", per_output_token = "20ms" }
        applies_to = "running"
        [policy.q]
        stages = ["bucket", "cells", "slots"]
        downstream = "model"
        take = "sequential"
        "#,
    );
    let StageSpec::Limiter(limit) = &scenario.stages[0].spec else { panic!("no bucket") };
    let expected = TokenBucket {
        rate: parse_rate("90k tpm").expect("a rate"),
        burst: 150_000,
        initial: 0,
        clamps: false,
    };
    assert_eq!(format!("{:?}", limit.rule), format!("{expected:?}"));
    assert_eq!((limit.options.charge, limit.options.wait), (Charge::of(Unit::Tokens), false));
    assert_eq!(limit.options.key, Some(Key::Tenant.into()));
    assert_eq!(scenario.stages[1].kind, "gcra");
    assert_eq!(scenario.policies[1].stages, [0, 1, 2]);
    let model = &scenario.downstreams[1];
    assert!(model.stretch_running && model.concurrency.is_none());
    assert!(matches!(model.service_time, Service::PerToken { per_output: Nanos(20_000_000), .. }));
}

#[test]
fn what_is_legal_but_odd_is_a_warning() {
    let (_, warnings) = around(
        r#"
        [class.unused]
        [class.default]
        [traffic.t]
        rate = "1/s"
        [limiter.rpm]
        kind = "token_bucket"
        rate = "1/s"
        burst = 1
        unit = "tokens"
        [admission.slots]
        kind = "concurrency"
        limit = 1
        [policy.q]
        stages = ["slots", "rpm"]
        downstream = "d"
        [[event]]
        name = "late"
        at = "2h"
        "#,
    );
    let words = [
        "class `unused` is not used",
        "counts tokens",
        "lists `rpm` after `slots`",
        "the event `late` begins",
    ];
    for words in words {
        assert!(warnings.iter().any(|warning| warning.contains(words)), "{words}: {warnings:?}");
    }
    assert_eq!(warnings.len(), words.len(), "{warnings:?}");
}

#[test]
fn a_setting_is_read_as_if_it_stood_in_the_file() {
    let mut document = Document::from_text("a.toml", STORM, Path::new("")).expect("it is TOML");
    for setting in ["traffic.api.rate=60/s", "queue.bounded.max_wait=250ms", "event.0.at=90s", "seed=7"] {
        document.set(setting).expect(setting);
    }
    let (scenario, _) = Scenario::read(&document).expect("it is right");
    assert_eq!(scenario.traffics[0].own_rate().map(|rate| rate.per_second()), Some(60.0));
    assert_eq!((scenario.queues[0].max_wait, scenario.seed), (Some(Nanos::millis(250)), 7));
    assert_eq!(scenario.changes[0].at, SimTime(90_000_000_000));
    document.set("traffic.api.rat=1/s").expect("a path");
    let problems = Scenario::read(&document).expect_err("the key is unknown");
    assert!(problems.to_string().starts_with("--set:5:13: `traffic.api` has no key `rat`"), "{problems}");
}

#[test]
fn the_description_lists_every_key_of_the_format() {
    let params = Scenario::describe();
    let has = |key: &str| params.iter().any(|param| param.key == key);
    for key in [
        "duration",
        "class.NAME.deadline",
        "client.NAME.retry.backoff.jitter",
        "client.NAME.retry.budget.ttl",
        "downstream.NAME.service_time.per_output_token",
        "downstream.NAME.service_time.dist",
        "traffic.NAME.tenant.exponent",
        "traffic.NAME.trace.time_unit",
        "traffic.NAME.burst[].rate",
        "traffic.NAME.call[].at",
        "queue.NAME.max_wait",
        "policy.NAME.take",
        "event[].at",
    ] {
        assert!(has(key), "{key}");
    }
    assert!(params.iter().all(|param| !param.doc.is_empty()));
    let bucket = section::describe(stage::KINDS[0].read);
    assert!(bucket.iter().any(|param| param.key == "burst" && param.required));
}
