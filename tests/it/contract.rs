//! The contract of `src/limiter.rs` and `src/admission.rs`, over every kind of the registry and generated histories.
//!
//! A kind without a case here fails: whoever adds one says which configurations stand for it.

use crate::support::stages;
use proptest::prelude::*;
use tidegate::admission::{Admission, Answer};
use tidegate::limiter::{Limiter, Verdict};
use tidegate::request::{Ask, ClassId, End, Knob};
use tidegate::scenario::stage::KINDS;
use tidegate::time::{Nanos, SimTime};
use tidegate::units::parse_rate;

/// A configuration that stands for its kind.
struct Case {
    keys: &'static str,
    /// The most that it may hold, in units; for admission the most in flight (of each key). `None` is unlimited.
    most: Option<u64>,
    /// Whether unused work gives back what it took.
    refunds: bool,
}

const fn case(keys: &'static str, most: u64) -> Case {
    Case { keys, most: Some(most), refunds: true }
}

/// Representative configurations of a kind: plain, keyed, in tokens, at odd, huge and tiny rates.
fn cases(kind: &str) -> Vec<Case> {
    match kind {
        "token_bucket" | "gcra" => {
            let mut cases = rates(kind);
            if kind == "token_bucket" {
                cases.extend([
                    case("kind = 'token_bucket'\nrate = '3/7s'\nburst = 4\ninitial = 0", 4),
                    case(
                        "kind = 'token_bucket'\nrate = '7/3s'\nburst = 900\ninitial = 13\nunit = 'tokens'",
                        900,
                    ),
                ]);
            }
            cases
        }
        "provider_quota" => vec![
            case("kind = 'provider_quota'\nrpm = 30", 30),
            case("kind = 'provider_quota'\ntpm = 900\nkey = 'user'", 900),
            Case { refunds: false, ..case("kind = 'provider_quota'\ninput_tpm = 700\nrefund = false", 700) },
        ],
        "concurrency" => vec![
            case("kind = 'concurrency'\nlimit = 1", 1),
            case("kind = 'concurrency'\nlimit = 3", 3),
            case("kind = 'concurrency'\nlimit = 2\nkey = 'tenant'", 2),
            case("kind = 'concurrency'\nlimit = 1\nkey = 'class'", 1),
            Case { keys: "kind = 'concurrency'\nlimit = 'unlimited'", most: None, refunds: true },
        ],
        other => panic!("the kind `{other}` of the registry has no case in tests/it/contract.rs: add some"),
    }
}

/// The configurations that a bucket and GCRA share.
fn rates(kind: &str) -> Vec<Case> {
    macro_rules! both {
        ($($keys:literal => $most:literal),* $(,)?) => {
            match kind {
                "token_bucket" => vec![$(case(concat!("kind = 'token_bucket'\n", $keys), $most)),*],
                _ => vec![$(case(concat!("kind = 'gcra'\n", $keys), $most)),*],
            }
        };
    }
    let mut cases = both! {
        "rate = '2/s'\nburst = 3" => 3,
        "rate = '7/3s'\nburst = 5" => 5,
        "rate = '999983/s'\nburst = 40" => 40,
        "rate = '1/7ns'\nburst = 1" => 1,
        "rate = '900M/s'\nburst = '1000M'\nunit = 'tokens'" => 1_000_000_000,
        "rate = '3/36500d'\nburst = 2" => 2,
        "rate = '60k/min'\nburst = 1000\nunit = 'tokens'" => 1_000,
        "rate = '100k tpm'\nburst = 700\nunit = 'input_tokens'\nkey = 'tenant'" => 700,
        "rate = '11/7s'\nburst = 2\nkey = 'class'" => 2,
        "rate = '5/s'\nburst = 3\nkey = 'user'\nwait = true" => 3,
    };
    let kept = both! { "rate = '10/3s'\nburst = 600\nunit = 'output_tokens'\nrefund = false" => 600 };
    cases.extend(kept.into_iter().map(|case| Case { refunds: false, ..case }));
    cases
}

/// One step of a history: how much later, for whom, how much, and what is done.
#[derive(Clone, Debug)]
struct Step {
    later: u64,
    ask: Ask,
    act: Act,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Ask,
    /// Settles one of those that hold something.
    Settle(usize, End),
    Rate(&'static str),
    Burst(u64),
    Limit(Option<u64>),
}

fn step() -> impl Strategy<Value = Step> {
    let later = prop_oneof![
        3 => Just(0u64),
        2 => 1u64..10,
        3 => 1u64..2_000_000_000,
        1 => 1u64..100_000_000_000,
        1 => Just(3_000_000_000_000_000_000 / 1_000),
    ];
    let tokens = prop_oneof![Just(0u32), 1u32..50, 1u32..1_200];
    let ask = (0u32..3, 0u16..2, tokens.clone(), tokens).prop_map(|(who, class, input, output)| Ask {
        tenant: who,
        user: who,
        class: ClassId(class),
        input_tokens: input,
        output_tokens: output,
        max_output_tokens: output,
        ..Ask::default()
    });
    let end = prop_oneof![
        2 => Just(End::Unused),
        1 => Just(End::Completed(Nanos(7))),
        1 => Just(End::Failed(Nanos(0))),
        1 => Just(End::Cancelled(Nanos(1))),
    ];
    let act = prop_oneof![
        12 => Just(Act::Ask),
        4 => (any::<usize>(), end).prop_map(|(which, end)| Act::Settle(which, end)),
        1 => prop_oneof![Just("5/3s"), Just("1/11ns"), Just("1/30d")].prop_map(Act::Rate),
        1 => prop_oneof![Just(1u64), Just(7), Just(2_000)].prop_map(Act::Burst),
        1 => prop_oneof![Just(None), Just(Some(1)), Just(Some(4))].prop_map(Act::Limit),
    ];
    (later, ask, act).prop_map(|(later, ask, act)| Step { later, ask, act })
}

/// A fraction as it compares: numerators over the same denominator.
fn units((credits, price): (u128, u128)) -> (u128, u128) {
    (credits / price, credits % price)
}

/// What is left, which is never less than nothing where the estimate is charged.
fn remaining(limiter: &dyn Limiter, now: SimTime, ask: &Ask) -> (u128, u128) {
    let (units, per) = limiter.remaining(now, ask);
    (u128::try_from(units).expect("no debt"), per)
}

/// Holds one history of one limiter to the contract.
fn obeys(make: &dyn Fn() -> Box<dyn Limiter>, case: &Case, history: &[Step]) -> Result<(), TestCaseError> {
    let (mut limiter, mut twin) = (make(), make());
    let mut now = SimTime(0);
    let mut held: Vec<(Ask, u128)> = Vec::new();
    let mut most = case.most.expect("limiters have a burst");
    for step in history {
        now = now.saturating_add(Nanos(step.later));
        let ask = &step.ask;
        match step.act {
            Act::Ask => {
                let before = remaining(limiter.as_ref(), now, ask);
                let verdict = limiter.check(now, ask);
                prop_assert_eq!(limiter.check(now, ask), verdict, "a check changed the next one");
                prop_assert_eq!(twin.check(now, ask), verdict, "refused asks left something behind");
                prop_assert!(before.0 <= most as u128 * before.1, "more than the burst is left");
                match verdict {
                    Verdict::Pass | Verdict::Delay(_) => {
                        limiter.take(now, ask);
                        twin.take(now, ask);
                        let after = remaining(limiter.as_ref(), now, ask);
                        prop_assert_eq!(before.1, after.1);
                        prop_assert!(after.0 <= before.0);
                        held.push((*ask, (before.0 - after.0) / before.1));
                    }
                    Verdict::At(at) => {
                        prop_assert!(now < at, "{:?} is not later than {:?}", at, now);
                        prop_assert_eq!(limiter.check(at, ask), Verdict::Pass, "at the promised instant");
                        let early = SimTime(at.0 - 1);
                        prop_assert_eq!(limiter.check(early, ask), Verdict::At(at), "one nanosecond earlier");
                        prop_assert_eq!(
                            remaining(limiter.as_ref(), now, ask),
                            before,
                            "a refused ask was charged"
                        );
                    }
                    Verdict::Never => {
                        for later in [1, 1_000_000_000, 1_000_000_000_000_000_000] {
                            let then = now.saturating_add(Nanos(later));
                            prop_assert_eq!(limiter.check(then, ask), Verdict::Never, "never, but later");
                        }
                    }
                }
            }
            Act::Settle(which, end) if !held.is_empty() => {
                let (ask, taken) = held.swap_remove(which % held.len());
                let before = remaining(limiter.as_ref(), now, &ask);
                limiter.settle(now, &ask, end);
                twin.settle(now, &ask, end);
                let after = remaining(limiter.as_ref(), now, &ask);
                let full = most as u128 * after.1;
                let expected = match end {
                    End::Unused if case.refunds => (before.0 + taken * before.1).min(full),
                    _ => before.0,
                };
                prop_assert_eq!(units(after), units((expected, before.1)), "settled as {:?}", end);
            }
            Act::Settle(..) | Act::Limit(_) => {}
            Act::Rate(rate) => {
                let before = units(remaining(limiter.as_ref(), now, ask)).0;
                let knob = Knob::Rate(parse_rate(rate).expect("it is a rate"));
                limiter.change(now, knob);
                twin.change(now, knob);
                let after = units(remaining(limiter.as_ref(), now, ask)).0;
                prop_assert!(
                    after <= before && before <= after + 1,
                    "a rate changed {} to {}",
                    before,
                    after
                );
            }
            Act::Burst(_) if !case.keys.contains("burst") => {}
            Act::Burst(burst) => {
                limiter.change(now, Knob::Burst(burst));
                twin.change(now, Knob::Burst(burst));
                most = burst;
            }
        }
    }
    Ok(())
}

/// Holds one history of one admission stage to the contract.
fn admits(make: &dyn Fn() -> Box<dyn Admission>, case: &Case, history: &[Step]) -> Result<(), TestCaseError> {
    let (mut stage, mut twin) = (make(), make());
    let mut now = SimTime(0);
    let mut held: Vec<Ask> = Vec::new();
    let mut most = case.most;
    let mut was_lowered = false;
    for step in history {
        now = now.saturating_add(Nanos(step.later));
        let ask = &step.ask;
        let same_room = |other: &&Ask| match () {
            () if case.keys.contains("'tenant'") => other.tenant == ask.tenant,
            () if case.keys.contains("'class'") => other.class == ask.class,
            () => true,
        };
        match step.act {
            Act::Ask => {
                let answer = stage.admit(now, ask);
                prop_assert_eq!(stage.admit(now, ask), answer, "an answer changed the next one");
                prop_assert_eq!(twin.admit(now, ask), answer, "those who had to wait left something behind");
                let later = now.saturating_add(Nanos(1_000_000_000_000));
                prop_assert_eq!(stage.admit(later, ask), answer, "time alone changed the answer");
                let in_flight = held.iter().filter(same_room).count() as u64;
                let has_room = most.is_none_or(|most| in_flight < most);
                prop_assert_eq!(answer, if has_room { Answer::Pass } else { Answer::Wait });
                if answer == Answer::Pass {
                    stage.take(now, ask);
                    twin.take(now, ask);
                    held.push(*ask);
                }
                let now_in_flight = held.iter().filter(same_room).count() as u64;
                prop_assert!(was_lowered || most.is_none_or(|most| now_in_flight <= most));
            }
            Act::Settle(which, end) if !held.is_empty() => {
                let ask = held.swap_remove(which % held.len());
                stage.settle(now, &ask, end);
                twin.settle(now, &ask, end);
            }
            Act::Limit(limit) => {
                stage.change(now, Knob::Limit(limit));
                twin.change(now, Knob::Limit(limit));
                (most, was_lowered) = (limit, true);
            }
            _ => {}
        }
    }
    let mut seen = None;
    stage.gauges(now, &mut |name, reading| {
        if name == "in_use" {
            seen = Some(reading.last);
        }
    });
    prop_assert_eq!(seen, Some(held.len() as f64), "the gauge counts what is in flight");
    Ok(())
}

fn hold(kind: &str, history: &[Step]) -> Result<(), TestCaseError> {
    for case in cases(kind) {
        let make = || stages(&[("stage", case.keys)]);
        let (limiters, admissions) = make();
        let outcome = match (limiters.len(), admissions.len()) {
            (1, 0) => obeys(&|| make().0.remove(0), &case, history),
            (0, 1) => admits(&|| make().1.remove(0), &case, history),
            both => panic!("one stage of kind `{kind}` makes {both:?} limiters and admission stages"),
        };
        outcome
            .map_err(|error| TestCaseError::fail(format!("{}: {error}", case.keys.replace('\n', ", "))))?;
    }
    Ok(())
}

#[test]
fn every_kind_of_the_registry_has_cases_that_can_be_built() {
    for kind in KINDS {
        for case in cases(kind.name) {
            let (limiters, admissions) = stages(&[("stage", case.keys)]);
            assert_eq!(limiters.len() + admissions.len(), 1, "{}", case.keys);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_kind_keeps_the_contract(history in prop::collection::vec(step(), 1..120)) {
        for kind in KINDS {
            hold(kind.name, &history)?;
        }
    }
}

#[test]
fn a_cost_of_nothing_passes_an_empty_bucket_and_takes_nothing() {
    for kind in ["token_bucket", "gcra"] {
        let mut limiter =
            crate::support::limiter(&format!("kind = '{kind}'\nrate = '1/s'\nburst = 5\nunit = 'tokens'"));
        let (all, nothing) = (crate::support::cost(5), crate::support::cost(0));
        limiter.take(SimTime(0), &all);
        assert_eq!(limiter.check(SimTime(0), &nothing), Verdict::Pass);
        limiter.take(SimTime(0), &nothing);
        assert_eq!(limiter.remaining(SimTime(0), &all).0, 0);
    }
}

#[test]
fn an_hour_of_silence_fills_no_more_than_the_burst() {
    // The idle interval must not be credited beyond the burst.
    for kind in ["token_bucket", "gcra"] {
        let limiter =
            crate::support::limiter(&format!("kind = '{kind}'\nrate = '5/s'\nburst = 5\nunit = 'tokens'"));
        let later = SimTime(3_600_000_000_000);
        assert_eq!(limiter.check(later, &crate::support::cost(5)), Verdict::Pass);
        assert_eq!(limiter.check(later, &crate::support::cost(6)), Verdict::Never);
    }
}

#[test]
fn three_in_ten_seconds_are_three_in_ten_seconds_for_ever() {
    // An emission interval of 10 s / 3 is no whole number of nanoseconds; whoever floors it lets too many through.
    for kind in ["token_bucket", "gcra"] {
        let mut limiter = crate::support::limiter(&format!("kind = '{kind}'\nrate = '3/10s'\nburst = 2"));
        let ask = Ask::default();
        let (mut now, mut passed) = (SimTime(0), 0u64);
        while now < SimTime(1_000_000_000_000) {
            match limiter.check(now, &ask) {
                Verdict::Pass => {
                    limiter.take(now, &ask);
                    passed += 1;
                }
                Verdict::At(at) => now = at,
                other => panic!("{other:?}: one is less than the burst"),
            }
        }
        // 100 times 3, of which the last falls on the end itself, and the 2 that were there at the start.
        assert_eq!(passed, 3 * 100 - 1 + 2, "{kind}");
        assert_eq!(now, SimTime(1_000_000_000_000), "{kind}");
    }
}
