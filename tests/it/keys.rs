//! Limits with many keys: what they cost, that idle ones are forgotten, and that nobody notices.

use crate::support::{limiter, units_left};
use allocation_counter::measure;
use proptest::prelude::*;
use tidegate::limiter::gcra::Gcra;
use tidegate::limiter::token_bucket::TokenBucket;
use tidegate::limiter::{Limiter, Options, Verdict};
use tidegate::request::{Ask, Key, Keys};
use tidegate::time::{Nanos, SimTime};
use tidegate::units::Rate;

fn of(user: u32) -> Ask {
    Ask { user, ..Ask::default() }
}

/// One a second for each user, two at once, keeping so many.
fn per_user(kind: &str, max_idle_keys: usize) -> Box<dyn Limiter> {
    let rate = Rate::new(1, Nanos::SECOND).expect("not zero");
    let options = Options { max_idle_keys, ..Options::requests(Some(Key::User.into())) };
    match kind {
        "gcra" => options.build(&Gcra::new(rate, 2)),
        _ => options.build(&TokenBucket::new(rate, 2)),
    }
}

#[test]
fn a_key_costs_less_than_64_bytes_wherever_the_table_has_just_grown() {
    for kind in ["token_bucket", "gcra"] {
        // Just beyond three quarters of a power of two the index has just doubled.
        for keys in [49_153u32, 98_305, 196_609, 786_433] {
            let mut kept = None;
            let seen = measure(|| {
                let mut limit = per_user(kind, usize::MAX / 2);
                (0..keys).for_each(|user| limit.take(SimTime::ZERO, &of(user)));
                kept = Some(limit);
            });
            let bytes = seen.bytes_current as f64 / keys as f64;
            assert!(bytes < 64.0, "{kind}: {bytes} bytes for each of {keys} keys");
        }
    }
}

#[test]
fn keys_that_come_once_each_do_not_pile_up_and_take_no_memory_any_more() {
    let mut limit = per_user("token_bucket", 1_000);
    let mut ask_until = |from: u32, until: u32| {
        measure(|| {
            // A thousand users a second; each is full again a second after.
            (from..until).for_each(|n| limit.take(SimTime(n as u64 * 1_000_000), &of(n)));
        })
    };
    ask_until(0, 100_000);
    let seen = ask_until(100_000, 300_000);
    assert_eq!(seen.count_total, 0, "once it has grown to what is in use, a new key allocates nothing");
}

/// Asks at growing instants for few users and tenants.
fn history() -> impl Strategy<Value = Vec<(u64, Ask)>> {
    let step = (0u64..1_500_000_000, 0u32..9, 0u32..3, 1u32..4);
    prop::collection::vec(step, 1..300).prop_map(|steps| {
        let mut now = 0;
        let ask = |(later, user, tenant, input_tokens)| {
            now += later;
            (now, Ask { user, tenant, input_tokens, ..Ask::default() })
        };
        steps.into_iter().map(ask).collect()
    })
}

/// What a limiter says to each ask, and what is left then.
fn decisions(mut limit: Box<dyn Limiter>, asks: &[(u64, Ask)]) -> Vec<(Verdict, i128)> {
    let decide = |(at, ask): &(u64, Ask)| {
        let verdict = limit.check(SimTime(*at), ask);
        if verdict.passes() {
            limit.take(SimTime(*at), ask)
        } else {
            limit.refuse(SimTime(*at), ask)
        }
        (verdict, units_left(&*limit, SimTime(*at), ask))
    };
    asks.iter().map(decide).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whether_idle_keys_are_forgotten_makes_no_difference(asks in history()) {
        for rule in [
            "kind = 'token_bucket'\nrate = '2/s'\nburst = 5",
            "kind = 'token_bucket'\nrate = '2/s'\nburst = 5\ninitial = 1",
            "kind = 'gcra'\nrate = '3/2s'\nburst = 4",
            "kind = 'token_bucket'\nrefill = 'interval'\nrate = '3/2s'\nburst = 4",
            "kind = 'token_bucket'\ndialect = 'go'\nrate = '3/2s'\nburst = 4",
            "kind = 'token_bucket'\ndialect = 'juju'\nrate = '3/2s'\nburst = 4\nmax_wait = '1s'",
            "kind = 'leaky_meter'\nrate = '2/s'\nburst = 3",
            "kind = 'leaky_meter'\ndialect = 'exact'\nrate = '2/s'\nburst = 3",
            "kind = 'leaky_queue'\nrate = '2/s'\nmax_wait = '2s'",
            "kind = 'fixed_window'\nlimit = 4\nwindow = '2s'",
            "kind = 'fixed_window'\nlimit = 4\nwindow = '2s'\nopens = 'first_hit'\ncount_rejected = true",
            "kind = 'fixed_window'\nlimit = 4\nwindow = '2s'\ndialect = 'resilience4j'\nmax_wait = '1s'",
            "kind = 'sliding_log'\nlimit = 4\nwindow = '2s'",
            "kind = 'sliding_log'\nlimit = 4\nwindow = '2s'\nedge = 'closed'\ncount_rejected = true",
            "kind = 'sliding_counter'\nlimit = 4\nwindow = '2s'",
            "kind = 'sliding_counter'\nlimit = 4\nwindow = '2s'\ndialect = 'upstash'",
            "kind = 'warm_up'\nrate = '2/s'\nwarm_up = '3s'\nmax_wait = '2s'",
            "kind = 'srtcm'\ncir = '2/s'\ncbs = 3\nebs = 3",
            "kind = 'trtcm'\ncir = '1/s'\ncbs = 3\npir = '2/s'\npbs = 4",
        ] {
            let with = |keep: &str| {
                let keys = "unit = 'tokens'\nkey = ['user', 'tenant']\nmax_idle_keys";
                decisions(limiter(&format!("{rule}\n{keys} = {keep}")), &asks)
            };
            prop_assert_eq!(with("0"), with("1000000"), "{}", rule);
        }
    }

    #[test]
    fn a_keyed_limit_is_a_limit_for_each_key(asks in history()) {
        for rule in ["kind = 'token_bucket'\nrate = '2/s'\nburst = 5", "kind = 'gcra'\nrate = '3/2s'\nburst = 4"] {
            let rule = format!("{rule}\nunit = 'tokens'");
            let together = decisions(limiter(&format!("{rule}\nkey = ['tenant', 'user']\nmax_idle_keys = 2")), &asks);
            for user in 0..9 {
                for tenant in 0..3 {
                    let is_theirs = |ask: &Ask| (ask.user, ask.tenant) == (user, tenant);
                    let theirs: Vec<(u64, Ask)> = asks.iter().copied().filter(|(_, ask)| is_theirs(ask)).collect();
                    let of_theirs: Vec<_> =
                        asks.iter().zip(&together).filter(|((_, ask), _)| is_theirs(ask)).map(|(_, said)| *said).collect();
                    prop_assert_eq!(decisions(limiter(&rule), &theirs), of_theirs);
                }
            }
        }
    }
}

#[test]
fn keys_are_numbers_of_their_own_names_and_no_others() {
    let keys = Keys::new(&[Key::Tenant, Key::User]).expect("two keys");
    let one = Ask { tenant: 1, user: 2, feature: 3, ..Ask::default() };
    assert_eq!(one.key_id(keys), Ask { feature: 4, ..one }.key_id(keys));
    assert_ne!(one.key_id(keys), Ask { tenant: 2, user: 1, ..one }.key_id(keys));
    assert_eq!(Keys::new(&[Key::User, Key::User]), None);
    assert_eq!(Keys::new(&[]), None);
}
