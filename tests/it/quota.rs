//! Quotas of providers: what each documents, and several limits at once to a slow model.

use crate::support::limiter;
use proptest::prelude::*;
use tidegate::limiter::{Limiter, Verdict};
use tidegate::request::{Ask, ClassId, End};
use tidegate::time::{Nanos, SimTime};

const SECOND: u64 = 1_000_000_000;

fn quota(keys: &str) -> Box<dyn Limiter> {
    limiter(&format!("kind = 'provider_quota'\n{keys}"))
}

/// A call of so many tokens sent, answered and declared.
fn call(input: u32, output: u32, most: u32) -> Ask {
    Ask { input_tokens: input, output_tokens: output, max_output_tokens: most, ..Ask::default() }
}

/// Asks, and takes what passes; else which limit bound, and how long for.
fn ask(limiter: &mut dyn Limiter, now: u64, ask: &Ask) -> Result<(), (&'static str, Option<u64>)> {
    let now = SimTime(now);
    let verdict = limiter.check(now, ask);
    let wait = match verdict {
        Verdict::Pass | Verdict::Delay(_) => {
            limiter.take(now, ask);
            return Ok(());
        }
        Verdict::At(at) => Some(at.0 - now.0),
        Verdict::Never => None,
    };
    let bound = limiter.binding(now, ask);
    limiter.refuse(now, ask);
    Err((bound, wait))
}

const DONE: End = End::Completed(Nanos(1));

#[test]
fn anthropic_estimates_the_answer_and_corrects_it_in_the_end() {
    let mut tier = quota("preset = 'anthropic'");
    // 8,000 tokens of answers a minute; two calls declare 4,000 each, and answer with 100.
    let declared = call(10, 100, 4_000);
    assert_eq!(ask(&mut *tier, 0, &declared), Ok(()));
    assert_eq!(ask(&mut *tier, 0, &declared), Ok(()));
    assert_eq!(ask(&mut *tier, 0, &declared), Err(("output_tpm", Some(30 * SECOND))));
    // 3,900 come back: another call lacks 100, which take 0.75 s.
    tier.settle(SimTime(0), &declared, DONE);
    assert_eq!(ask(&mut *tier, 0, &declared), Err(("output_tpm", Some(750_000_000))));
    // Fifty requests a minute, of which three are used with this one.
    assert_eq!(ask(&mut *tier, 750_000_000, &declared), Ok(()));
    for _ in 3..50 {
        assert_eq!(ask(&mut *tier, 750_000_000, &call(1, 0, 0)), Ok(()));
    }
    let (bound, _) = ask(&mut *tier, 750_000_000, &call(1, 0, 0)).expect_err("fifty are used");
    assert_eq!(bound, "rpm");
    assert_eq!(
        ask(&mut *tier, 750_000_000, &call(30_001, 0, 0)).expect_err("too large"),
        ("input_tpm", None)
    );
}

#[test]
fn api_management_debits_afterwards_and_overshoots_when_calls_come_together() {
    let mut gateway = quota("preset = 'apim'");
    let large = call(1_000, 1_000, 4_000);
    for _ in 0..10 {
        assert_eq!(ask(&mut *gateway, 0, &large), Ok(()), "nothing is known of it before it ends");
    }
    (0..10).for_each(|_| gateway.settle(SimTime(0), &large, DONE));
    assert_eq!(gateway.remaining(SimTime(0), &large).0 / 12_000_000, -15_000, "20,000 of 5,000 are used");
    // One token is left again after 15,001 of them at 5,000 a minute.
    assert_eq!(ask(&mut *gateway, 0, &large), Err(("tpm", Some(180_012_000_000))));
}

#[test]
fn the_declared_maximum_is_charged_for_good_where_that_is_documented() {
    for (preset, tokens) in [("openai", 30_000), ("cerebras", 30_000), ("azure_openai", 240_000)] {
        let mut provider = quota(&format!("preset = '{preset}'"));
        let half = call(1_000, 1, tokens / 2 - 1_000);
        assert_eq!(ask(&mut *provider, 0, &half), Ok(()));
        provider.settle(SimTime(0), &half, DONE);
        assert_eq!(ask(&mut *provider, 0, &half), Ok(()));
        let (bound, _) = ask(&mut *provider, 0, &half).expect_err("both halves are used");
        assert_eq!(bound, "tpm", "{preset}");
    }
}

#[test]
fn azure_looks_at_slices_so_that_a_burst_within_the_minute_is_refused() {
    // 1,440 a minute are 240 in ten seconds, or 24 in one; tokens are counted by the minute.
    for (slice, in_slice) in [(10, 240), (1, 24)] {
        let mut azure = quota(&format!("preset = 'azure_openai'\nslice = '{slice}s'"));
        let small = call(10, 10, 10);
        for n in 0..in_slice {
            assert_eq!(ask(&mut *azure, 3 * n, &small), Ok(()), "{n} of {in_slice}");
        }
        let begun = 3 * in_slice;
        assert_eq!(ask(&mut *azure, begun, &small), Err(("rpm", Some(slice * SECOND - begun))));
        assert_eq!(ask(&mut *azure, slice * SECOND, &small), Ok(()));
        let rest = 240_000 - 20 * (in_slice as u32 + 1);
        assert_eq!(ask(&mut *azure, 30 * SECOND, &call(rest, 0, 0)), Ok(()));
        assert_eq!(ask(&mut *azure, 30 * SECOND, &call(1, 0, 0)), Err(("tpm", Some(30 * SECOND))));
        assert_eq!(ask(&mut *azure, 60 * SECOND, &call(240_000, 0, 0)), Ok(()));
    }
}

#[test]
fn numbers_of_the_file_replace_those_of_the_preset() {
    let mut provider = quota("preset = 'groq'\nrpm = 2\nrpd = 3");
    assert_eq!(ask(&mut *provider, 0, &call(1, 1, 1)), Ok(()));
    assert_eq!(ask(&mut *provider, 0, &call(1, 1, 1)), Ok(()));
    assert_eq!(ask(&mut *provider, 0, &call(1, 1, 1)), Err(("rpm", Some(30 * SECOND))));
    assert_eq!(ask(&mut *provider, 60 * SECOND, &call(1, 1, 1)), Ok(()));
    // A day's three come back one in eight hours, of which a minute is over.
    assert_eq!(ask(&mut *provider, 60 * SECOND, &call(1, 1, 1)), Err(("rpd", Some(28_740 * SECOND))));
}

#[test]
fn work_in_flight_is_given_back_however_it_ends_and_no_wait_is_known() {
    for end in [DONE, End::Failed(Nanos(1)), End::Cancelled(Nanos(1)), End::Unused] {
        let mut provider = quota("concurrency = 2\nrefund = false");
        let work = call(1, 1, 1);
        assert_eq!(ask(&mut *provider, 0, &work), Ok(()));
        assert_eq!(ask(&mut *provider, 0, &work), Ok(()));
        assert_eq!(ask(&mut *provider, 0, &work), Err(("concurrency", None)));
        provider.settle(SimTime(1), &work, end);
        assert_eq!(ask(&mut *provider, 1, &work), Ok(()), "{end:?}");
    }
}

#[test]
fn each_key_has_a_quota_of_its_own() {
    let mut provider = quota("rpm = 1\ntpm = 100\nkey = 'class'");
    let of = |class| Ask { class: ClassId(class), ..call(10, 1, 10) };
    assert_eq!([0, 1].map(|class| ask(&mut *provider, 0, &of(class))), [Ok(()), Ok(())]);
    assert_eq!(ask(&mut *provider, 0, &of(1)), Err(("rpm", Some(60 * SECOND))));
}

/// Amounts, tokens of a call by limit, and the length of the limit, in the order in which a quota has them.
const LIMITS: [(&str, u64, u64); 6] = [
    ("rpm", 7, 60),
    ("tpm", 900, 60),
    ("input_tpm", 500, 60),
    ("output_tpm", 450, 60),
    ("rpd", 60, 86_400),
    ("tpd", 20_000, 86_400),
];

fn costs(name: &str, input: u64, output: u64) -> i128 {
    i128::from(match name {
        "rpm" | "rpd" => 1,
        "input_tpm" => input,
        "output_tpm" => output,
        _ => input + output,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn several_limits_at_once_are_as_a_slow_model_reckons_them(
        steps in prop::collection::vec((0u64..20 * SECOND, 1u64..300, 0u64..100, 0u64..300, any::<bool>()), 1..80)
    ) {
        let keys: Vec<String> = LIMITS.iter().map(|(name, amount, _)| format!("{name} = {amount}")).collect();
        let mut provider = quota(&format!("{}\ncharge = 'reserve_then_settle'", keys.join("\n")));
        // A unit costs as many credits as its limit has nanoseconds; a nanosecond brings the limit's amount.
        let credit = |length: u64| (length * SECOND) as i128;
        let mut levels = LIMITS.map(|(_, amount, length)| amount as i128 * credit(length));
        let (mut now, mut running) = (0, Vec::new());
        for (later, input, output, more, ends) in steps {
            now += later;
            for (level, (_, amount, length)) in levels.iter_mut().zip(LIMITS) {
                *level = (*level + (amount * later) as i128).min(amount as i128 * credit(length));
            }
            if ends && !running.is_empty() {
                let (input, output, most): (u64, u64, u64) = running.remove(0);
                let work = call(input as u32, output as u32, most as u32);
                provider.settle(SimTime(now), &work, DONE);
                for (level, (name, amount, length)) in levels.iter_mut().zip(LIMITS) {
                    let back = costs(name, input, most) - costs(name, input, output);
                    *level = (*level + back * credit(length)).min(amount as i128 * credit(length));
                }
            }
            let most = output + more;
            let waits = levels.iter().zip(LIMITS).map(|(level, (name, amount, length))| {
                let cost = costs(name, input, most);
                if amount as i128 * credit(length) < cost * credit(length) {
                    return (None, name);
                }
                let lack = (cost * credit(length) - level).max(0);
                (Some(((lack + amount as i128 - 1) / amount as i128) as u64), name)
            });
            let mut longest: Option<(Option<u64>, &str)> = None;
            for (wait, name) in waits.filter(|(wait, _)| *wait != Some(0)) {
                let longer = match (wait, longest.map(|longest| longest.0)) {
                    (_, None) => true,
                    (_, Some(None)) => false,
                    (None, _) => true,
                    (Some(wait), Some(Some(before))) => before < wait,
                };
                if longer {
                    longest = Some((wait, name));
                }
            }
            let asked = ask(&mut *provider, now, &call(input as u32, output as u32, most as u32));
            prop_assert_eq!(asked, longest.map_or(Ok(()), |(wait, name)| Err((name, wait))));
            if asked.is_ok() {
                running.push((input, output, most));
                for (level, (name, _, length)) in levels.iter_mut().zip(LIMITS) {
                    *level -= costs(name, input, most) * credit(length);
                }
            }
        }
    }
}
