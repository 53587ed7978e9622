//! The contract of `src/limiter.rs`, over every kind of the registry and generated histories.
//!
//! A kind without a case here fails: whoever adds one says which configurations stand for it.

use crate::support::{is_admission, stages};
use proptest::prelude::*;
use tidegate::limiter::{Limiter, Verdict};
use tidegate::request::{Ask, ClassId, End, Knob};
use tidegate::scenario::stage::{KINDS, Kind};
use tidegate::time::{Nanos, SimTime};
use tidegate::units::parse_rate;

/// A configuration that stands for its kind.
struct Case {
    keys: &'static str,
    /// The most that it may hold, in units. `None` is unlimited.
    most: Option<u64>,
    /// Whether unused work gives back what it took.
    refunds: bool,
    /// Whether a change of the rate leaves what is left as it is, down to the new credit.
    keeps_level: bool,
    /// Whether being told of a refusal changes later answers.
    minds_refusals: bool,
}

const fn case(keys: &'static str, most: u64) -> Case {
    Case { keys, most: Some(most), refunds: true, keeps_level: true, minds_refusals: false }
}

/// A kind whose product gives nothing back.
const fn keeping(keys: &'static str, most: u64) -> Case {
    Case { refunds: false, keeps_level: false, ..case(keys, most) }
}

const fn minding(keys: &'static str, most: u64) -> Case {
    Case { minds_refusals: true, ..keeping(keys, most) }
}

/// Representative configurations of a kind: plain, keyed, in tokens, at odd, huge and tiny rates.
fn cases(kind: &str) -> Vec<Case> {
    match kind {
        "token_bucket" | "gcra" => {
            let mut cases = rates(kind);
            if kind == "token_bucket" {
                cases.extend(dialects_of_the_bucket());
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
        "leaky_meter" => vec![
            keeping("kind = 'leaky_meter'\nrate = '2/s'", 1),
            keeping("kind = 'leaky_meter'\nrate = '7/3s'\nburst = 5\ndelay = 2", 6),
            keeping(
                "kind = 'leaky_meter'\nrate = '30r/m'\nburst = 600\nnodelay = true\nunit = 'tokens'",
                601,
            ),
            keeping(
                "kind = 'leaky_meter'\ndialect = 'exact'\nrate = '7/3s'\nburst = 5\ndelay = 2\nkey = 'user'",
                6,
            ),
            keeping("kind = 'leaky_meter'\ndialect = 'exact'\nrate = '999983/s'\nburst = 40", 41),
        ],
        "leaky_queue" => vec![
            keeping("kind = 'leaky_queue'\nrate = '2/s'", 1),
            keeping("kind = 'leaky_queue'\nrate = '7/3s'\nmax_wait = '2s'\nunit = 'tokens'", 1),
            keeping("kind = 'leaky_queue'\nrate = '900/s'\nmax_wait = '0s'\nkey = 'tenant'", 1),
            keeping("kind = 'leaky_queue'\ndialect = 'uber'\nrate = '7/3s'", 11),
            keeping("kind = 'leaky_queue'\ndialect = 'uber'\nrate = '100/s'\nslack = 0\nunit = 'tokens'", 1),
            keeping(
                "kind = 'leaky_queue'\ndialect = 'failsafe'\nrate = '7/3s'\nmax_wait = '3s'\nunit = 'tokens'",
                1,
            ),
            keeping("kind = 'leaky_queue'\ndialect = 'failsafe'\nrate = '2/s'", 1),
        ],
        "fixed_window" => vec![
            keeping("kind = 'fixed_window'\nlimit = 3\nwindow = '7s'", 3),
            keeping(
                "kind = 'fixed_window'\nlimit = 900\nwindow = '1m'\nopens = 'first_hit'\nunit = 'tokens'",
                900,
            ),
            minding(
                "kind = 'fixed_window'\nlimit = 900\nwindow = '1m'\ncount_rejected = true\nunit = 'tokens'",
                900,
            ),
            keeping(
                "kind = 'fixed_window'\nlimit = 2\nwindow = '1s'\ndialect = 'redis_countdown'\nkey = 'user'",
                2,
            ),
            keeping("kind = 'fixed_window'\nlimit = 2\nwindow = '1s'\ndialect = 'tower'", 2),
            keeping("kind = 'fixed_window'\nlimit = 2\nwindow = '500ms'\ndialect = 'resilience4j'", 2),
            keeping(
                "kind = 'fixed_window'\nlimit = 40\nwindow = '7ns'\ndialect = 'resilience4j'\nmax_wait = '20ns'\nunit = 'tokens'",
                40,
            ),
        ],
        "sliding_log" => vec![
            keeping("kind = 'sliding_log'\nlimit = 3\nwindow = '7s'", 3),
            keeping(
                "kind = 'sliding_log'\nlimit = 900\nwindow = '1m'\nedge = 'closed'\nunit = 'tokens'",
                900,
            ),
            minding(
                "kind = 'sliding_log'\nlimit = 900\nwindow = '1m'\ncount_rejected = true\nunit = 'tokens'",
                900,
            ),
            Case {
                refunds: true,
                ..keeping("kind = 'sliding_log'\nlimit = 5\nwindow = '1s'\nkey = 'class'", 5)
            },
        ],
        "sliding_counter" => vec![
            keeping("kind = 'sliding_counter'\nlimit = 3\nwindow = '7s'", 3),
            keeping(
                "kind = 'sliding_counter'\nlimit = 900\nwindow = '1m'\ndialect = 'limits'\nunit = 'tokens'",
                900,
            ),
            keeping(
                "kind = 'sliding_counter'\nlimit = 900\nwindow = '1m'\ndialect = 'russellluo'\nunit = 'tokens'",
                900,
            ),
            keeping(
                "kind = 'sliding_counter'\nlimit = 40\nwindow = '1s'\ndialect = 'upstash'\nunit = 'tokens'",
                40,
            ),
        ],
        "warm_up" => vec![
            keeping("kind = 'warm_up'\nrate = '5/s'", 5),
            keeping("kind = 'warm_up'\nrate = '2/s'\nwarm_up = '4s'\nmax_wait = '1s'", 8),
            keeping("kind = 'warm_up'\nrate = '7/3s'\nmax_wait = '0s'\nunit = 'tokens'\nkey = 'tenant'", 3),
            minding("kind = 'warm_up'\ndialect = 'sentinel'\nrate = '20/s'\nwarm_up = '10s'", 20),
        ],
        "srtcm" => vec![
            Case { keeps_level: true, ..keeping("kind = 'srtcm'\ncir = '7/3s'\ncbs = 5\nebs = 3", 8) },
            keeping(
                "kind = 'srtcm'\nrate = '100/s'\nburst = 500\nexcess_burst = 900\nunit = 'tokens'\nkey = 'user'",
                1_400,
            ),
        ],
        "trtcm" => vec![
            keeping("kind = 'trtcm'\ncir = '7/3s'\ncbs = 5\npir = '7/s'\npbs = 3", 3),
            keeping(
                "kind = 'trtcm'\ncir = '100/s'\ncbs = 900\npir = '200/s'\npbs = 900\nunit = 'tokens'",
                900,
            ),
        ],
        other => panic!("the kind `{other}` of the registry has no case in tests/it/contract.rs: add some"),
    }
}

/// The dialects of a bucket.
fn dialects_of_the_bucket() -> Vec<Case> {
    let other = |keys, most| Case { keeps_level: false, ..case(keys, most) };
    // A period may begin with an ask that is refused.
    let begins = |keys, most| Case { minds_refusals: true, ..other(keys, most) };
    vec![
        other("kind = 'token_bucket'\ndialect = 'go'\nrate = '7/3s'\nburst = 5", 5),
        Case {
            refunds: false,
            ..other(
                "kind = 'token_bucket'\ndialect = 'go'\nrate = '900/s'\nburst = 700\nunit = 'tokens'\nmax_wait = '500ms'\nrefund = false",
                700,
            )
        },
        case("kind = 'token_bucket'\ndialect = 'bucket4j'\nrate = '7/3s'\nburst = 5\nkey = 'user'", 5),
        other(
            "kind = 'token_bucket'\ndialect = 'envoy'\nmax_tokens = 700\ntokens_per_fill = 30\nfill_interval = '2s'\nunit = 'tokens'",
            700,
        ),
        begins("kind = 'token_bucket'\nrefill = 'interval'\nrate = '7/3s'\nburst = 5\ninitial = 1", 5),
        other(
            "kind = 'token_bucket'\nrefill = 'aligned'\nrate = '7/3s'\nburst = 5\nfirst_refill = '1s'\nkey = 'tenant'",
            5,
        ),
        other("kind = 'token_bucket'\ndialect = 'juju'\nrate = '7/3s'\nburst = 5", 5),
        other(
            "kind = 'token_bucket'\ndialect = 'juju'\nrate = '30/2s'\nburst = 700\nmax_wait = '5s'\nunit = 'tokens'",
            700,
        ),
        begins(
            "kind = 'token_bucket'\nbandwidths = [{ rate = '7/3s', burst = 5 }, { rate = '20/1m', burst = 9, refill = 'interval' }]",
            5,
        ),
    ]
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
fn units((credits, price): (i128, i128)) -> (i128, i128) {
    (credits.div_euclid(price), credits.rem_euclid(price))
}

fn remaining(limiter: &dyn Limiter, now: SimTime, ask: &Ask) -> (i128, i128) {
    let (units, per) = limiter.remaining(now, ask);
    (units, per as i128)
}

/// Holds one history of one limiter to the contract.
fn obeys(make: &dyn Fn() -> Box<dyn Limiter>, case: &Case, history: &[Step]) -> Result<(), TestCaseError> {
    let (mut limiter, mut twin) = (make(), make());
    let mut now = SimTime(0);
    let mut held: Vec<(Ask, i128)> = Vec::new();
    let mut most = Some(case.most.expect("limiters have a burst"));
    for step in history {
        now = now.saturating_add(Nanos(step.later));
        let ask = &step.ask;
        match step.act {
            Act::Ask => {
                let before = remaining(limiter.as_ref(), now, ask);
                let verdict = limiter.check(now, ask);
                prop_assert_eq!(limiter.check(now, ask), verdict, "a check changed the next one");
                prop_assert_eq!(twin.check(now, ask), verdict, "refused asks left something behind");
                if let Some(most) = most {
                    prop_assert!(before.0 <= i128::from(most) * before.1, "more than the burst is left");
                }
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
                        prop_assert_eq!(
                            remaining(limiter.as_ref(), now, ask),
                            before,
                            "a refused ask was charged"
                        );
                        limiter.refuse(now, ask);
                        if case.minds_refusals {
                            twin.refuse(now, ask);
                        }
                        if !case.keys.contains("count_rejected") {
                            prop_assert!(limiter.check(at, ask).passes(), "at the promised instant {:?}", at);
                            let early = SimTime(at.0 - 1);
                            prop_assert_eq!(
                                limiter.check(early, ask),
                                Verdict::At(at),
                                "one nanosecond earlier"
                            );
                        }
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
                let expected = match (end, most) {
                    (End::Unused, Some(most)) if case.refunds => {
                        (before.0 + taken * before.1).min(i128::from(most) * after.1).max(before.0)
                    }
                    // After changes of its size, what it gives back is held to the rest of the contract alone.
                    (End::Unused, None) if case.refunds => after.0,
                    _ => before.0,
                };
                let off = units(after).0.abs_diff(units((expected, before.1)).0);
                // A product that reckons in doubles may be off by the last of them, of which what is left is told down
                // to a billionth; what a window has forgotten is gone.
                let is_exact = case.keeps_level || !case.refunds;
                let rounding = before.1 / 1_000_000_000;
                prop_assert!(
                    off == 0 || (!is_exact && after.0 <= expected + rounding),
                    "settled as {:?}: {:?} {:?}",
                    end,
                    after,
                    expected
                );
            }
            Act::Settle(..) => {}
            Act::Limit(limit) => {
                limiter.change(now, Knob::Limit(limit));
                twin.change(now, Knob::Limit(limit));
                if case.keys.contains("\nlimit") {
                    most = None;
                }
            }
            Act::Rate(rate) => {
                let before = units(remaining(limiter.as_ref(), now, ask)).0;
                let knob = Knob::Rate(parse_rate(rate).expect("it is a rate"));
                limiter.change(now, knob);
                twin.change(now, knob);
                // What Guava saves follows from its rate.
                most = most.filter(|_| !case.keys.contains("warm_up"));
                let after = units(remaining(limiter.as_ref(), now, ask)).0;
                prop_assert!(
                    !case.keeps_level || after <= before && before <= after + 1,
                    "a rate changed {} to {}",
                    before,
                    after
                );
            }
            Act::Burst(_) if !case.keys.contains("burst") => {}
            Act::Burst(burst) => {
                limiter.change(now, Knob::Burst(burst));
                twin.change(now, Knob::Burst(burst));
                most = most.map(|_| burst).filter(|_| case.keeps_level && !case.keys.contains("tcm"));
            }
        }
    }
    Ok(())
}

fn hold(kind: &str, history: &[Step]) -> Result<(), TestCaseError> {
    for case in cases(kind) {
        obeys(&|| stages(&[("stage", case.keys)]).0.remove(0), &case, history)
            .map_err(|error| TestCaseError::fail(format!("{}: {error}", case.keys.replace('\n', ", "))))?;
    }
    Ok(())
}

/// The kinds that are limiters.
fn limiters() -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().filter(|kind| !is_admission(kind))
}

#[test]
fn every_kind_of_the_registry_has_cases_that_can_be_built() {
    for kind in limiters() {
        for case in cases(kind.name) {
            assert_eq!(stages(&[("stage", case.keys)]).0.len(), 1, "{}", case.keys);
        }
    }
}

/// One test per kind, so that each fails on its own.
macro_rules! keeps_the_contract {
    ($($kind:ident),* $(,)?) => {
        mod keeps_the_contract {
            use super::*;
            proptest! {
                #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
                $(#[test]
                fn $kind(history in prop::collection::vec(step(), 1..120)) {
                    hold(stringify!($kind), &history)?;
                })*
            }
        }
        const HELD: &[&str] = &[$(stringify!($kind)),*];
    };
}

keeps_the_contract!(
    token_bucket,
    gcra,
    leaky_meter,
    leaky_queue,
    fixed_window,
    sliding_log,
    sliding_counter,
    warm_up,
    srtcm,
    trtcm,
    provider_quota,
);

#[test]
fn every_kind_of_the_registry_is_held_to_the_contract() {
    let names: Vec<&str> = limiters().map(|kind| kind.name).collect();
    assert_eq!(names, HELD);
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
