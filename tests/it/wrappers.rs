//! What is wrapped around a limiter, alone and in the engine: charges, shadow, exempt classes, what a refusal advises.

use crate::support::{Rows, cost, limiter, run, vectors, whole};
use std::collections::BTreeSet;
use tidegate::limiter::{Limiter, Verdict};
use tidegate::observe::Count;
use tidegate::request::Ask;
use tidegate::rng::{Dice, Purpose};
use tidegate::time::{Nanos, SimTime};
use tidegate::units::parse_amount;

/// Input, output and declared output tokens of the calls of each traffic: what they use is all, half and nothing of
/// what they declare.
const SIZES: [(u64, u64, u64); 3] = [(30, 10, 50), (5, 60, 60), (40, 0, 20)];
const CALLS: u64 = 400;
const RATE: u64 = 700;
const BURST: u64 = 400;

/// When call number `call` of a traffic comes: about every 100 ms, never two at once.
fn instant(traffic: u64, call: u64) -> u64 {
    let luck = Dice(traffic * CALLS + call).bits(Purpose::Policy, 1);
    call * 100_000_000 + (luck % 90_000_000) * 3 + traffic
}

/// Every call in the order of time: when, and of which traffic.
fn arrivals() -> Vec<(u64, usize)> {
    let of = |traffic: usize| (0..CALLS).map(move |call| (instant(traffic as u64, call), traffic));
    let mut arrivals: Vec<(u64, usize)> = (0..SIZES.len()).flat_map(of).collect();
    arrivals.sort();
    arrivals
}

/// How a call ends: served, refused by the bucket for so long, or without a slot.
#[derive(Debug, PartialEq)]
enum Fate {
    Served,
    Limited(u64),
    NoSlot,
}

/// The slow and obvious model: one list of events, the level in billionths.
fn by_hand(mode: &str, slots: usize) -> Vec<Fate> {
    let billion = 1_000_000_000i128;
    let (mut level, mut now) = (BURST as i128 * billion, 0);
    let mut running: BTreeSet<(u64, usize)> = BTreeSet::new();
    let grow = |level: i128, from: u64, to: u64| {
        (level + RATE as i128 * (to - from) as i128).min(BURST as i128 * billion)
    };
    let mut fates = Vec::new();
    for (at, traffic) in arrivals() {
        let (input, output, most) = SIZES[traffic];
        while let Some((end, ended)) = running.first().copied().filter(|(end, _)| *end <= at) {
            running.remove(&(end, ended));
            level = grow(level, now, end);
            now = end;
            let (input, output, most) = SIZES[ended];
            level += match mode {
                "estimate_only" => 0,
                "reserve_then_settle" => (most as i128 - output as i128) * billion,
                _ => -((input + output) as i128) * billion,
            };
            level = level.min(BURST as i128 * billion);
        }
        level = grow(level, now, at);
        now = at;
        let (asked, taken) = if mode == "actual_after" { (1, 0) } else { (input + most, input + most) };
        let lack = asked as i128 * billion - level;
        fates.push(if 0 < lack {
            Fate::Limited((lack + RATE as i128 - 1) as u64 / RATE)
        } else if running.len() == slots {
            Fate::NoSlot
        } else {
            level -= taken as i128 * billion;
            running.insert((at + 40_000_000 + 15_000_000 * output, traffic));
            Fate::Served
        });
    }
    fates
}

fn by_the_engine(mode: &str, slots: usize) -> Vec<Fate> {
    let mut text = "version = 1\nduration = '60s'\n".to_string();
    for (traffic, (input, output, most)) in SIZES.iter().enumerate() {
        let at: Vec<String> = (0..CALLS).map(|call| format!("{}ns", instant(traffic as u64, call))).collect();
        let mut sorted = at.clone();
        sorted.sort_by_key(|at| at.trim_end_matches("ns").parse::<u64>().expect("a number"));
        text += &format!(
            "[traffic.t{traffic}]\nat = {sorted:?}\n\
             tokens = {{ input = {input}, output = {output}, max_output = {most} }}\n"
        );
    }
    text += &format!(
        "[limiter.tpm]\nkind = 'token_bucket'\nrate = '{RATE}/s'\nburst = {BURST}\nunit = 'tokens'\ncharge = '{mode}'\n\
         [admission.slots]\nkind = 'concurrency'\nlimit = {slots}\n\
         [downstream.d]\nconcurrency = 'unlimited'\nservice_time = {{ base = '40ms', per_output_token = '15ms' }}\n\
         [policy.p]\nstages = ['tpm', 'slots']\ndownstream = 'd'\n"
    );
    let rows = run(&text);
    let fate = |attempt: &crate::support::Attempt| match (attempt.outcome, attempt.reason) {
        ("rejected", "rate_limited") => Fate::Limited(attempt.retry_after.expect("a wait helps").0),
        ("rejected", "concurrency") => Fate::NoSlot,
        ("goodput", _) => Fate::Served,
        other => panic!("{other:?}"),
    };
    rows.sorted_attempts().iter().map(fate).collect()
}

#[test]
fn each_way_of_charging_is_as_a_slow_model_reckons_it() {
    // So many slots that both the bucket and the slots turn calls away.
    for (mode, slots) in [("estimate_only", 5), ("reserve_then_settle", 7), ("actual_after", 7)] {
        let (model, engine) = (by_hand(mode, slots), by_the_engine(mode, slots));
        let count = |fate: fn(&Fate) -> bool| model.iter().filter(|f| fate(f)).count();
        let limited = count(|fate| matches!(fate, Fate::Limited(_)));
        let no_slot = count(|fate| *fate == Fate::NoSlot);
        assert!(limited > 20 && no_slot > 20, "{mode}: {limited} limited, {no_slot} without a slot");
        for (call, (model, engine)) in model.iter().zip(&engine).enumerate() {
            assert_eq!(model, engine, "{mode}: call {call}");
        }
        assert_eq!(model.len(), engine.len());
    }
}

/// Two classes at 30 a second each through one bucket of 40 a second that has these options.
fn two_classes(options: &str, with_vip: bool) -> Rows {
    let vip = "[traffic.vip]\nrate = '30/s'\nclass = 'vip'\n";
    run(&format!(
        "version = 1\nduration = '60s'\nseed = 3\n[class.vip]\n[class.plain]\n\
         [traffic.api]\nrate = '60/s'\nclass = 'plain'\n{}\
         [limiter.bucket]\nkind = 'token_bucket'\nrate = '40/s'\nburst = 20\n{options}\n\
         [downstream.d]\nconcurrency = 'unlimited'\nservice_time = '150ms'\n\
         [policy.p]\nstages = ['bucket']\ndownstream = 'd'\n",
        if with_vip { vip } else { "" }
    ))
}

fn limited(rows: &Rows, class: &str) -> u64 {
    let of_class = rows.timeline.iter().filter(|row| row.class == class);
    of_class.map(|row| row.count(Count::RejectedRateLimited)).sum()
}

#[test]
fn a_shadow_refuses_nothing_and_counts_what_the_limit_in_force_refuses() {
    for charge in ["estimate_only", "reserve_then_settle"] {
        let options = format!("charge = '{charge}'");
        let in_force = two_classes(&options, true);
        let shadow = two_classes(&format!("{options}\nshadow = true"), true);
        let refused = in_force.count(Count::RejectedRateLimited);
        assert!(refused > 1_000, "{refused}");
        assert_eq!(shadow.count(Count::RejectedRateLimited), 0);
        let gauge = |name: &str| -> Vec<_> {
            shadow.gauges.iter().filter(|(_, _, gauge, _)| *gauge == name).map(|row| row.3.last).collect()
        };
        assert_eq!(gauge("would_refuse").iter().sum::<f64>(), refused as f64);
        let level = |rows: &Rows| -> Vec<_> {
            rows.gauges.iter().filter(|row| row.2 == "level").map(|row| (row.0, row.3.avg)).collect()
        };
        let (of_shadow, of_force) = (level(&shadow), level(&in_force));
        assert_eq!(of_shadow[..60], of_force[..60], "its level is that of the limit in force");
    }
}

#[test]
fn an_exempt_class_passes_and_leaves_the_limit_to_the_others() {
    let exempting = two_classes("exempt = ['vip']", true);
    let alone = two_classes("", false);
    assert_eq!(limited(&exempting, "vip"), 0);
    assert!(limited(&alone, "plain") > 500);
    assert_eq!(limited(&exempting, "plain"), limited(&alone, "plain"));
}

#[test]
fn a_user_with_numbers_of_its_own_is_found_by_name_in_a_scenario() {
    let at = ["0s"; 5];
    let rows = run(&format!(
        "version = 1\nduration = '1s'\n[traffic.a]\nat = {at:?}\nuser = 'ann'\n[traffic.b]\nat = {at:?}\nuser = 'bob'\n\
         [limiter.l]\nkind = 'gcra'\nrate = '1/min'\nburst = 1\nkey = 'user'\noverrides = {{ bob = {{ burst = 4 }} }}\n\
         [downstream.d]\nconcurrency = 'unlimited'\nservice_time = '1ms'\n[policy.p]\nstages = ['l']\ndownstream = 'd'\n"
    ));
    assert_eq!(rows.count(Count::RejectedRateLimited), 4 + 1);
}

/// What a limiter advises an ask that it refuses.
fn advice(limiter: &mut dyn Limiter, now: SimTime, ask: &Ask) -> Option<Nanos> {
    let at = match limiter.check(now, ask) {
        Verdict::At(at) => Some(at),
        Verdict::Never => None,
        passes => panic!("{passes:?}"),
    };
    limiter.refuse(now, ask);
    limiter.advise(now, ask, at)
}

#[test]
fn whole_seconds_are_rounded_up_and_never_none_as_the_vectors_say() {
    let table = vectors("headers");
    let vector = table["vectors"].as_array().expect("vectors").iter().find(|v| v["id"] == "retry-after-ceil");
    for case in vector.expect("it is there")["cases"].as_array().expect("cases") {
        let wait = whole(&case["wait_ms"]);
        // A token a millisecond, and none left: so many tokens take as many milliseconds.
        let mut limiter = limiter(
            "kind = 'token_bucket'\nrate = '1000/s'\nburst = 10000\ninitial = 0\nunit = 'tokens'\nretry_after = 'seconds'",
        );
        let advised = advice(&mut *limiter, SimTime::ZERO, &cost(wait));
        assert_eq!(advised, Some(Nanos::secs(whole(&case["retry_after"]))), "{wait} ms");
    }
}

/// The number after `name=` in a header.
fn parameter(header: &str, name: &str) -> Option<u64> {
    let value =
        header.split([';', ',']).find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('='))?;
    value.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
}

#[test]
fn what_is_left_and_when_all_is_back_is_as_the_draft_of_the_ietf_writes_it() {
    let table = vectors("headers");
    let examples = table["vectors"][0]["cases"].as_array().expect("cases");
    let (mut policies, mut states) = (0, 0);
    for example in examples.iter().map(|example| example.as_str().expect("text")) {
        let policy = example
            .strip_prefix("RateLimit-Policy: ")
            .map_or("", |rest| rest.split(" / ").next().unwrap_or(""));
        for (quota, window) in
            policy.split(',').filter_map(|p| Some((parameter(p, "q")?, parameter(p, "w")?)))
        {
            let mut limiter = limiter(&format!(
                "kind = 'token_bucket'\nrate = '{quota}/{window}s'\nburst = {quota}\nunit = 'tokens'\nretry_after = 'reset'"
            ));
            limiter.take(SimTime::ZERO, &cost(quota));
            let (left, per) = limiter.remaining(SimTime::ZERO, &cost(1));
            assert_eq!(left / per as i128, 0, "{example}");
            // A quota that is used at once is back after its window, and Retry-After points at the same instant.
            assert_eq!(
                limiter.reset(SimTime::ZERO, &cost(1)),
                Some(SimTime(window * 1_000_000_000)),
                "{example}"
            );
            assert_eq!(
                advice(&mut *limiter, SimTime::ZERO, &cost(1)),
                Some(Nanos::secs(window)),
                "{example}"
            );
            policies += 1;
        }
        let state = example.split("RateLimit: ").nth(1).unwrap_or("");
        if let (Some(left), Some(reset)) = (parameter(state, "r"), parameter(state, "t")) {
            // One a second: as many seconds to the reset as were used.
            let mut limiter =
                limiter(&format!("kind = 'gcra'\nrate = '1/s'\nburst = {}\nunit = 'tokens'", left + reset));
            limiter.take(SimTime::ZERO, &cost(reset));
            let (units, per) = limiter.remaining(SimTime::ZERO, &cost(1));
            assert_eq!((units / per as i128, units % per as i128), (left as i128, 0), "{example}");
            assert_eq!(
                limiter.reset(SimTime::ZERO, &cost(1)),
                Some(SimTime(reset * 1_000_000_000)),
                "{example}"
            );
            states += 1;
        }
    }
    assert_eq!(
        (policies, states),
        (6, 4),
        "of the seven examples; that Retry-After goes first is the client's"
    );
}

/// Refuses so many asks in a second and says what the last is advised.
fn refuse_in(limiter: &mut dyn Limiter, second: u64, count: u64) -> u64 {
    let at = |n| SimTime(second * 1_000_000_000 + n);
    let last = (0..count).map(|n| advice(limiter, at(n), &cost(1))).last().expect("one at least");
    last.expect("it advises").0 / 1_000_000_000
}

#[test]
fn the_doubling_advice_is_as_kubernetes_reckons_it() {
    let mut limiter = limiter(
        "kind = 'token_bucket'\nrate = '1/36500d'\nburst = 1\ninitial = 0\nunit = 'tokens'\nretry_after = 'doubling'",
    );
    // Five refusals a second are more than three for each: it doubles as soon as it has stood for its own length.
    for second in 0..60 {
        let expected = [(31, 32), (15, 16), (7, 8), (3, 4), (1, 2), (0, 1)];
        let (_, expected) = expected.iter().find(|(from, _)| *from <= second).expect("from 0");
        assert_eq!(refuse_in(&mut *limiter, second, 5), *expected, "second {second}");
    }
    // After a silence one a second: it falls by one each second until there is one for each second of it.
    for k in 0..30u64 {
        assert_eq!(refuse_in(&mut *limiter, 200 + k, 1), (31 - k.min(15)), "{k} seconds later");
    }
}

#[test]
fn what_never_passes_is_advised_nothing_but_by_those_that_do_not_look() {
    for (advice_of, expected) in [
        ("'exact'", None),
        ("'seconds'", None),
        ("'reset'", None),
        ("{ constant = '7s' }", Some(Nanos::secs(7))),
        ("'doubling'", Some(Nanos::secs(1))),
    ] {
        let keys = "kind = 'gcra'\nrate = '1/s'\nburst = 3\nunit = 'tokens'";
        let mut limiter = limiter(&format!("{keys}\nretry_after = {advice_of}"));
        assert_eq!(advice(&mut *limiter, SimTime::ZERO, &cost(4)), expected, "{advice_of}");
    }
}

#[test]
fn wrong_asks_change_neither_level_nor_clock() {
    let keys = "kind = 'token_bucket'\nrate = '2/s'\nburst = 3\nunit = 'tokens'";
    let (mut limiter, mut twin) = (limiter(keys), limiter(keys));
    let at = |millis: u64| SimTime(millis * 1_000_000);
    for limiter in [&mut limiter, &mut twin] {
        limiter.take(at(100), &cost(2));
    }
    // A word, a fraction, a boolean, nothing, less than nothing, more than any limit holds: no cost comes of them.
    for wrong in ["-1", "", "NaN", "true", "1.5", "many", "9223372036854775809"] {
        assert!(parse_amount(wrong).is_err(), "{wrong}");
    }
    // Above capacity; backwards; nothing at all.
    for (millis, tokens, verdict) in [
        (100, 4, Verdict::Never),
        (99, 4, Verdict::Never),
        (99, 1, Verdict::At(at(100))),
        (0, 1, Verdict::At(at(100))),
        (100, 0, Verdict::Pass),
    ] {
        assert_eq!(limiter.check(at(millis), &cost(tokens)), verdict);
        limiter.refuse(at(millis), &cost(tokens));
        for millis in [100, 101, 599, 600, 1_600] {
            for tokens in [1, 2, 3] {
                let said = |limiter: &dyn Limiter| {
                    (limiter.check(at(millis), &cost(tokens)), limiter.remaining(at(millis), &cost(tokens)))
                };
                assert_eq!(said(&*limiter), said(&*twin), "{tokens} at {millis} ms");
            }
        }
    }
}

#[test]
fn money_is_tokens_at_their_prices() {
    // 3 for a token sent and 15 for one answered: a call of 10 and at most 4 is 90 on arrival, and 75 in the end.
    let keys = "kind = 'token_bucket'\nrate = '1/36500d'\nburst = 200\nunit = 'money'\nprice = { input = 3, output = 15 }";
    let mut limit = limiter(&format!("{keys}\ncharge = 'reserve_then_settle'"));
    let ask = Ask { input_tokens: 10, output_tokens: 3, max_output_tokens: 4, ..Ask::default() };
    let left = |limit: &dyn Limiter| crate::support::units_left(limit, SimTime(0), &ask);
    limit.take(SimTime(0), &ask);
    assert_eq!(left(limit.as_ref()), 110);
    limit.settle(SimTime(0), &ask, tidegate::request::End::Completed(Nanos(1)));
    assert_eq!(left(limit.as_ref()), 125);
    limit.take(SimTime(0), &ask);
    assert!(!limit.check(SimTime(0), &ask).passes(), "35 are left");
    let largest = Ask { input_tokens: u32::MAX, max_output_tokens: u32::MAX, ..Ask::default() };
    assert_eq!(limit.check(SimTime(0), &largest), Verdict::Never);
}
