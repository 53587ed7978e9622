//! Nothing is lost and nothing is counted twice, whatever a scenario is made of.
//!
//! The engine checks its accounts and Little's law itself; here they are reckoned again from the other rows.

use crate::support::{Attempt, Rows, prepared, run, setup, try_run};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tidegate::observe::{Count, Phase};
use tidegate::scenario::build::Prepared;

/// Lines of a scenario, put together from a few choices of each sort.
#[derive(Clone, Debug)]
struct Text(String);

/// One of several texts.
fn any_of(texts: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    (0..texts.len()).prop_map(|at| texts[at])
}

const TIMES: &[&str] = &[
    "duration = '8s'\n",
    "duration = '10s'\ninterval = '3s'\nwarmup = '4s'\n",
    "duration = '5500ms'\ninterval = '700ms'\n",
    "duration = '6s'\ninterval = '1h'\nwarmup = '1ns'\n",
    "duration = '4s'\ninterval = '333ms'\nwarmup = '1500ms'\ndrain = '0s'\n",
    "duration = '6s'\ndrain = '500ms'\n",
    "duration = '3s'\ninterval = '10ms'\ndrain = '30s'\n",
    "duration = '7s'\ninterval = '2s'\nwarmup = '6999ms'\ndrain = '1s'\n",
];

const CLASSES: &[&str] = &["", "deadline = '700ms'\n", "priority = 3\nweight = 2\ndeadline = '1ms'\n"];

const ARRIVALS: &[&str] = &[
    "rate = '12/s'\n",
    "rate = '35/s'\n",
    "rate = '7/3s'\narrivals = 'paced'\n",
    "rate = '20/s'\narrivals = 'paced'\n",
    "at = ['0s', '0s', '0s', '1s', '1s', '2s', '2500ms', '3s']\n",
    "at = ['0s']\n",
    "rate = '3/s'\non_off = { on = '1s', off = '500ms' }\n",
    "rate = '4/s'\nburst = [{ at = '1s', for = '500ms', rate = '90/s' }]\n",
];

const WHO: &[&str] = &[
    "",
    "client = 'a'\n",
    "client = 'a'\ntenant = { count = 3, pick = 'zipf' }\n",
    "client = 'b'\ntenant = 't2'\nuser = { count = 2, pick = 'uniform' }\n",
    "client = 'b'\nclass = 'gold'\n",
    "client = 'a'\nclass = 'gold'\ntenant = { count = 2, pick = 'uniform' }\n",
    "class = 'gold'\nfeature = { x = '40%', y = '60%' }\n",
];

const TOKENS: &[&str] = &[
    "",
    "tokens = { input = 9, output = 3 }\n",
    "tokens = { input = { dist = 'uniform', low = 0, high = 30 }, output = { dist = 'exponential', mean = 20 }, max_output = 25 }\n",
];

const PATIENCE: &[&str] =
    &["", "timeout = '800ms'\n", "timeout = '300ms'\ncancel = true\n", "timeout = '1s'\n"];

const RETRY: &[&str] = &[
    "",
    "retry = { max_attempts = 3 }\n",
    "retry = { max_attempts = 4, on = ['429', '503', '500', 'timeout'], backoff = { base = '0s' } }\n",
    "retry = { max_attempts = 2, on = ['timeout', 'error'], backoff = { base = '100ms', jitter = 'equal' } }\n",
    "retry = { max_attempts = 4, backoff = { base = '50ms', max = '200ms', jitter = 'full' }, budget = { ratio = '10%', min_per_second = 1 } }\n",
];

const LIMITERS: &[&str] = &[
    "kind = 'token_bucket'\nrate = '15/s'\nburst = 5\n",
    "kind = 'token_bucket'\nrate = '15/s'\nburst = 5\nwait = true\n",
    "kind = 'token_bucket'\nrate = '7/3s'\nburst = 2\nkey = 'tenant'\nwait = true\n",
    "kind = 'token_bucket'\nrate = '200/s'\nburst = 60\nunit = 'tokens'\ninitial = 0\nrefund = false\n",
    "kind = 'gcra'\nrate = '11/s'\nburst = 3\n",
    "kind = 'gcra'\nrate = '11/s'\nburst = 3\nwait = true\n",
    "kind = 'gcra'\nrate = '300/s'\nburst = 55\nunit = 'tokens'\nkey = 'class'\nwait = true\n",
    "kind = 'gcra'\nrate = '5/s'\nburst = 2\nkey = 'user'\n",
];

const ROOM: &[&str] = &[
    "kind = 'concurrency'\nlimit = 2\n",
    "kind = 'concurrency'\nlimit = 5\n",
    "kind = 'concurrency'\nlimit = 1\nkey = 'tenant'\n",
    "kind = 'concurrency'\nlimit = 2\nkey = 'class'\n",
    "kind = 'concurrency'\nlimit = 'unlimited'\n",
];

const QUEUES: &[&str] = &[
    "max_length = 'unlimited'\n",
    "max_length = 4\n",
    "max_length = 0\n",
    "max_length = 'unlimited'\nmax_wait = '500ms'\n",
    "max_length = 6\nmax_wait = '1ns'\n",
    "max_length = 10\nmax_wait = '900ms'\nhead_of_line = 'block'\n",
    "max_length = 'unlimited'\nhead_of_line = 'block'\n",
    "max_length = 3\non_overflow = 'oldest'\nhead_of_line = 'block'\n",
    "kind = 'lifo'\nmax_length = 5\non_overflow = 'oldest'\nmax_wait = '700ms'\n",
    "kind = 'adaptive_lifo'\nlifo_above = 4\nmax_length = 'unlimited'\ncontrolled_delay = { target = '50ms', interval = '300ms' }\n",
    "kind = 'adaptive_lifo'\nlifo_above = '300ms'\nmax_length = 9\non_overflow = 'expired'\n",
    "kind = 'priority'\nmax_length = 4\non_overflow = 'lowest_priority'\n",
    "kind = 'priority'\nageing = '100ms'\nmax_length = 'unlimited'\ncodel = { target = '20ms', interval = '150ms' }\n",
    "kind = 'edf'\ndrop_infeasible = '50ms'\nmax_length = 8\non_overflow = 'expired'\n",
    "kind = 'fair'\nkey = 'tenant'\nmax_length = 'unlimited'\nmax_predicted_wait = '600ms'\non_overflow = 'oldest'\n",
    "kind = 'drr'\nkey = 'tenant'\nunit = 'tokens'\nquantum = 10\nmax_length = 'unlimited'\nmax_tokens = 90\non_overflow = 'lowest_priority'\n",
    "kind = 'drr'\nkey = 'feature'\nweights = { x = 3 }\nmax_length = 6\ncodel = {}\nmax_wait = '400ms'\n",
    "kind = 'sfq'\nkey = 'class'\nmax_length = 'unlimited'\ncontrolled_delay = { dialect = 'folly', target = '40ms' }\n",
    "kind = 'sfq'\nkey = 'user'\nunit = 'tokens'\nmax_length = 7\nmax_tokens = 60\non_overflow = 'oldest'\n",
];

const SERVERS: &[&str] = &[
    "concurrency = 3\nservice_time = '200ms'\n",
    "concurrency = 'unlimited'\nservice_time = '0s'\n",
    "concurrency = 4\nservice_time = { dist = 'exponential', mean = '150ms' }\nerror_rate = '20%'\n",
    "concurrency = 8\nservice_time = { dist = 'pareto', minimum = '20ms', shape = 1.2 }\napplies_to = 'running'\n",
    "concurrency = 2\nservice_time = { base = '10ms', per_input_token = '5ms', per_output_token = '7ms' }\n",
    "concurrency = 1\nservice_time = '1s'\napplies_to = 'running'\nerror_rate = 1.0\n",
];

const EVENTS: &[&str] = &[
    "",
    "[[event]]\nname = 'slow'\nat = '1s'\nfor = '2s'\nset = { 'downstream.d.slowdown' = 5 }\n",
    "[[event]]\nname = 'fast'\nat = '1s'\nset = { 'downstream.d.slowdown' = 0.01 }\n",
    "[[event]]\nname = 'out'\nat = '1500ms'\nfor = '1s'\nset = { 'downstream.d.outage' = true }\n",
    "[[event]]\nname = 'few'\nat = '1s'\nfor = '3s'\nset = { 'downstream.d.concurrency' = 1, 'downstream.d.error_rate' = '50%' }\n",
    "[[event]]\nname = 'gone'\nat = '1s'\nfor = '2s'\nset = { 'downstream.d.concurrency' = 0 }\n",
    "[[event]]\nname = 'rate'\nat = '1s'\nfor = '1s'\nset = { 'limiter.l1.rate' = '2/s', 'limiter.l1.burst' = 60 }\n",
    "[[event]]\nname = 'room'\nat = '1s'\nfor = '2s'\nset = { 'admission.r.limit' = 1 }\n",
    "[[event]]\nname = 'line'\nat = '1s'\nfor = '2s'\nset = { 'queue.q.max_length' = 1, 'queue.q.max_wait' = '100ms' }\n",
    "[[event]]\nname = 'one'\nat = '1s'\nfor = '3s'\nset = { 'downstream.d.slowdown' = 3 }\n[[event]]\nname = 'two'\nat = '2s'\nfor = '500ms'\nset = { 'downstream.d.slowdown' = 0.5, 'limiter.l2.burst' = 1 }\n",
];

const POLICIES: &[&str] = &[
    "",
    "queue = 'q'\n",
    "stages = ['l1']\nqueue = 'q'\n",
    "stages = ['l1', 'l2', 'r']\nqueue = 'q'\n",
    "stages = ['r', 'l2', 'l1']\n",
    "stages = ['l1', 'l2']\ntake = 'sequential'\nqueue = 'q'\n",
    "stages = ['l2', 'r']\nqueue = 'q'\n",
    "stages = ['r']\nqueue = 'q'\nclient = { one = 'b' }\n",
    "stages = ['l1', 'l2', 'r']\ntake = 'sequential'\n",
];

fn text() -> impl Strategy<Value = Text> {
    let traffic = || {
        (any_of(ARRIVALS), any_of(WHO), any_of(TOKENS))
            .prop_map(|(when, who, tokens)| [when, who, tokens].concat())
    };
    let client =
        || (any_of(PATIENCE), any_of(RETRY)).prop_map(|(patience, retry)| [patience, retry].concat());
    (
        (any_of(TIMES), any_of(CLASSES), 0u64..1_000),
        (traffic(), traffic(), prop::option::of(traffic())),
        (client(), client()),
        (any_of(LIMITERS), any_of(LIMITERS), any_of(ROOM), any_of(QUEUES)),
        (any_of(SERVERS), any_of(EVENTS), any_of(POLICIES)),
    )
        .prop_map(
            |(
                (times, class, seed),
                (one, two, three),
                (a, b),
                (l1, l2, room, queue),
                (server, event, policy),
            )| {
                // Calls can't wait before limiters that are charged one by one.
                let limiter = |keys: &str| match policy.contains("sequential") {
                    true => keys.replace("wait = true\n", ""),
                    false => keys.to_string(),
                };
                let (l1, l2) = (limiter(l1), limiter(l2));
                let mut text = format!("version = 1\nseed = {seed}\n{times}");
                for (table, keys) in [
                    ("class.gold", class),
                    ("client.a", &a),
                    ("client.b", &b),
                    ("traffic.one", &one),
                    ("traffic.two", &two),
                    ("traffic.three", three.as_deref().unwrap_or("at = ['0s']\n")),
                    ("downstream.d", server),
                    ("limiter.l1", &l1),
                    ("limiter.l2", &l2),
                    ("admission.r", room),
                    ("queue.q", queue),
                    ("policy.p", policy),
                ] {
                    text += &format!("[{table}]\n{keys}");
                }
                Text(text.replacen("[policy.p]\n", "[policy.p]\ndownstream = 'd'\n", 1) + event)
            },
        )
}

/// Everything that must hold of a run, as the first thing that doesn't.
fn check(prepared: &Prepared, rows: &Rows) -> Result<(), TestCaseError> {
    timeline_is_dense(prepared, rows)?;
    attempts_end_once(rows)?;
    calls_end_once(rows)?;
    counts_agree(rows)?;
    gauges_are_sound(rows)?;
    summary_is_of_the_calls_born_after_the_warmup(prepared, rows)
}

fn timeline_is_dense(prepared: &Prepared, rows: &Rows) -> Result<(), TestCaseError> {
    let scenario = &prepared.scenario;
    let classes: Vec<&str> = scenario.classes.iter().map(|class| class.name.as_str()).collect();
    prop_assert!(classes.is_sorted());
    let mut start = 0;
    for (index, interval) in rows.timeline.chunks(classes.len()).enumerate() {
        prop_assert_eq!(interval.iter().map(|row| row.class.as_str()).collect::<Vec<_>>(), &classes[..]);
        for row in interval {
            prop_assert_eq!((row.index, row.start.0), (index as u64, start), "a gap in the timeline");
            prop_assert!(0 < row.length.0 && row.length <= scenario.interval);
            let phase = match row.start.0 {
                start if start < scenario.warmup.0 => Phase::Warmup,
                start if start < scenario.duration.0 => Phase::Main,
                _ => Phase::Drain,
            };
            prop_assert_eq!(row.phase, phase);
            let end = row.start.0 + row.length.0;
            for cut in [scenario.warmup.0, scenario.duration.0] {
                prop_assert!(!(row.start.0 < cut && cut < end), "a row of two phases");
            }
        }
        start += interval[0].length.0;
    }
    prop_assert_eq!(start, rows.outcome().ended.0);
    prop_assert!(
        rows.ends.windows(2).all(|two| (two[0].index, &two[0].class) <= (two[1].index, &two[1].class))
    );
    let buckets: Vec<_> = rows.latency.iter().map(|(index, class, le, _)| (*index, class, *le)).collect();
    prop_assert!(buckets.is_sorted_by(|one, two| one < two));
    Ok(())
}

fn attempts_end_once(rows: &Rows) -> Result<(), TestCaseError> {
    let offered = rows.count(Count::Offered);
    prop_assert_eq!(rows.attempts.len() as u64, offered);
    prop_assert_eq!(rows.ends.iter().map(|end| end.count).sum::<u64>(), offered);
    let mut from_log: BTreeMap<(&str, &str, &str, &str), u64> = BTreeMap::new();
    for a in &rows.attempts {
        *from_log.entry((&a.class, a.outcome, a.reason, &a.stage)).or_default() += 1;
        prop_assert!(
            a.arrived <= a.ended && a.started.is_none_or(|at| a.arrived <= at && at <= a.ended),
            "{:?}",
            a
        );
        prop_assert_eq!(a.outcome == "rejected", !a.reason.is_empty());
    }
    let mut from_rows: BTreeMap<(&str, &str, &str, &str), u64> = BTreeMap::new();
    for end in &rows.ends {
        prop_assert!(end.count > 0);
        *from_rows.entry((&end.class, end.outcome, end.reason, &end.stage)).or_default() += end.count;
    }
    prop_assert_eq!(from_log, from_rows);
    Ok(())
}

fn calls_end_once(rows: &Rows) -> Result<(), TestCaseError> {
    let attempts = rows.sorted_attempts();
    let mut calls = 0;
    for call in attempts.chunk_by(|one, two| one.call == two.call) {
        prop_assert_eq!(call[0].call, calls, "calls are numbered without gaps");
        calls += 1;
        let numbers: Vec<u32> = call.iter().map(|attempt| attempt.attempt).collect();
        prop_assert_eq!(&numbers, &(1..=call.len() as u32).collect::<Vec<_>>(), "of call {}", call[0].call);
        prop_assert!(call.is_sorted_by_key(|attempt| attempt.arrived));
        let (last, others) = call.split_last().expect("a call has attempts");
        prop_assert!(
            others.iter().all(|attempt| attempt.outcome != "goodput"),
            "call {} was answered and tried again",
            last.call
        );
    }
    prop_assert_eq!(calls, rows.outcome().calls);
    prop_assert_eq!(calls, rows.count(Count::First));
    Ok(())
}

fn counts_agree(rows: &Rows) -> Result<(), TestCaseError> {
    let of = |outcome: &str| {
        rows.ends.iter().filter(|end| end.outcome == outcome).map(|end| end.count).sum::<u64>()
    };
    for (outcome, counts) in [
        ("goodput", &[Count::Goodput][..]),
        ("wasted", &[Count::Wasted]),
        ("failed", &[Count::Failed]),
        ("cancelled", &[Count::Cancelled]),
        ("unfinished", &[Count::Unfinished]),
        ("abandoned", &[Count::AbandonedQueued, Count::AbandonedDeferred]),
        ("rejected", &[Count::RejectedAtArrival, Count::RejectedFromQueue, Count::RejectedFromDeferred]),
    ] {
        prop_assert_eq!(
            of(outcome),
            counts.iter().map(|count| rows.count(*count)).sum::<u64>(),
            "{}",
            outcome
        );
    }
    let admitted: u64 = [Count::AdmittedDirect, Count::AdmittedFromQueue, Count::AdmittedFromDeferred]
        .iter()
        .map(|count| rows.count(*count))
        .sum();
    let started = rows.attempts.iter().filter(|attempt| attempt.started.is_some()).count() as u64;
    prop_assert_eq!(admitted, started);
    let waits = rows.timeline.iter().map(|row| row.queue_wait.sum).sum::<u128>();
    let waited: u128 = rows.attempts.iter().filter_map(Attempt::wait).map(u128::from).sum();
    prop_assert_eq!(waits, waited);
    let answered = rows.timeline.iter().map(|row| row.latency.count).sum::<u64>();
    prop_assert_eq!(answered, rows.count(Count::Goodput));
    prop_assert_eq!(rows.latency.iter().map(|(.., count)| count).sum::<u64>(), answered);

    // Little's law, also when the run was cut off: what is alive has spent the time up to then.
    let served: u128 = rows.attempts.iter().filter_map(|a| Some(u128::from((a.ended - a.started?).0))).sum();
    prop_assert_eq!(rows.timeline.iter().map(|row| row.in_flight.area).sum::<u128>(), served);
    if rows.count(Count::Deferred) == 0 {
        let in_line: u128 =
            rows.attempts.iter().map(|a| u128::from((a.started.unwrap_or(a.ended) - a.arrived).0)).sum();
        prop_assert_eq!(rows.timeline.iter().map(|row| row.queue_depth.area).sum::<u128>(), in_line);
    }
    Ok(())
}

fn gauges_are_sound(rows: &Rows) -> Result<(), TestCaseError> {
    let depths = rows.timeline.iter().flat_map(|row| [&row.queue_depth, &row.in_flight]);
    let gauges = rows.gauges.iter().map(|(.., reading)| reading);
    for reading in depths.chain(gauges).chain(rows.timeline.iter().filter_map(|row| row.limit.as_ref())) {
        let slack = 1e-9 * reading.max.abs() + 1e-9;
        prop_assert!(0.0 <= reading.min && reading.min <= reading.max, "{:?}", reading);
        prop_assert!(
            reading.min - slack <= reading.avg && reading.avg <= reading.max + slack,
            "{:?}",
            reading
        );
        prop_assert!(
            reading.min - slack <= reading.last && reading.last <= reading.max + slack,
            "{:?}",
            reading
        );
    }
    Ok(())
}

fn summary_is_of_the_calls_born_after_the_warmup(
    prepared: &Prepared,
    rows: &Rows,
) -> Result<(), TestCaseError> {
    let born: BTreeMap<u64, u64> =
        rows.attempts.iter().filter(|a| a.attempt == 1).map(|a| (a.call, a.arrived.0)).collect();
    let counts = |attempt: &&Attempt| prepared.scenario.warmup.0 <= born[&attempt.call];
    for summary in &rows.summaries {
        let of_class = |a: &&Attempt| summary.class.as_ref().is_none_or(|class| *class == a.class);
        let attempts: Vec<&Attempt> = rows.attempts.iter().filter(counts).filter(of_class).collect();
        prop_assert_eq!(summary.count(Count::Offered), attempts.len() as u64, "{:?}", summary.class);
        prop_assert_eq!(summary.calls, attempts.iter().filter(|a| a.attempt == 1).count() as u64);
        let goodput = attempts.iter().filter(|a| a.outcome == "goodput").count() as u64;
        prop_assert_eq!(summary.count(Count::Goodput), goodput);
        let waits = attempts.iter().filter_map(|a| a.wait()).map(u128::from).sum::<u128>();
        prop_assert_eq!(summary.queue_wait.sum, waits);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_attempt_and_every_call_ends_exactly_once(Text(text) in text()) {
        let prepared = prepared(&text);
        let run = || try_run(setup(&prepared, 0, prepared.scenario.seed));
        let rows = match run() {
            Ok(rows) => rows,
            Err(problem) => return Err(TestCaseError::fail(format!("{problem}\nin\n{text}"))),
        };
        if let Err(error) = check(&prepared, &rows) {
            return Err(TestCaseError::fail(format!("{error}\nin\n{text}")));
        }
        let again = run().map(|rows| rows.outcome);
        prop_assert_eq!(again, Ok(rows.outcome));
    }
}

#[test]
fn more_traffics_than_the_calendar_has_slots_all_go_on_calling() {
    let mut text = "version = 1\nduration = '20s'\n[client.sdk]\ntimeout = '20ms'\ncancel = true\n\
        [downstream.d]\nconcurrency = 'unlimited'\nservice_time = '10s'\n[policy.p]\ndownstream = 'd'\n"
        .to_string();
    for number in 0..90 {
        text += &format!(
            "[traffic.t{number}]\nclient = 'sdk'\narrivals = 'paced'\nrate = '{}/s'\n",
            5 + number % 7
        );
    }
    let calls: u64 = (0..90).map(|number| 20 * (5 + number % 7)).sum();
    assert_eq!(run(&text).count(Count::Cancelled), calls);
}

#[test]
fn a_limit_that_comes_into_being_is_averaged_over_the_time_since_then() {
    let rows = run("version = 1\nduration = '3s'\n[traffic.t]\nat = ['0s']\n\
        [downstream.d]\nconcurrency = 'unlimited'\nservice_time = '1ms'\n[policy.p]\ndownstream = 'd'\n\
        [[event]]\nname = 'some'\nat = '1500ms'\nset = { 'downstream.d.concurrency' = 4 }\n\
        [[event]]\nname = 'more'\nat = '1750ms'\nset = { 'downstream.d.concurrency' = 8 }\n");
    let limits: Vec<Option<f64>> = rows.timeline.iter().map(|row| row.limit.map(|limit| limit.avg)).collect();
    assert_eq!(limits, [None, Some(6.0), Some(8.0)]);
}
