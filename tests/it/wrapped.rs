//! What can be wrapped around any limiter, around every kind: shadow mode, exempt classes, what refusals tell, keys with
//! rules of their own, layers.

use crate::deployments::KINDS;
use crate::support::{limit, limiter};
use tidegate::engine::Take;
use tidegate::limiter::{Limiter, Verdict};
use tidegate::request::{Ask, End};
use tidegate::rng::Dice;
use tidegate::study::probe::{Chain, Event};
use tidegate::time::{Nanos, SimTime};

/// About 25 asks a second for 20 s, several at one instant now and then.
fn asks() -> impl Iterator<Item = (SimTime, Ask)> {
    (0u64..500).map(|number| {
        let at = SimTime(5_000_000_000 + 40_000_000 * (number - number % 3) + number % 3);
        (at, Ask { dice: Dice(number), input_tokens: 5, ..Ask::default() })
    })
}

fn decide(limiter: &mut dyn Limiter, now: SimTime, ask: &Ask) -> Verdict {
    let verdict = limiter.check(now, ask);
    if verdict.passes() {
        limiter.take(now, ask);
        limiter.settle(now, ask, End::Completed(Nanos(1)));
    } else {
        limiter.refuse(now, ask);
    }
    verdict
}

#[test]
fn a_shadow_of_any_kind_counts_what_the_kind_refuses() {
    for kind in KINDS {
        let (mut plain, mut shadow) = (limiter(kind), limiter(&format!("{kind}\nshadow = true")));
        let mut refused = 0;
        for (now, ask) in asks() {
            refused += u64::from(!decide(plain.as_mut(), now, &ask).passes());
            assert_eq!(decide(shadow.as_mut(), now, &ask), Verdict::Pass, "{kind}");
            assert_eq!(plain.remaining(now, &ask), shadow.remaining(now, &ask), "{kind}");
        }
        let mut counted = None;
        shadow.counts(&mut |name, count| counted = (name == "would_have_been_refused").then_some(count));
        assert_eq!(counted, Some(refused), "{kind}");
    }
}

#[test]
fn exempt_classes_pass_any_kind_and_leave_it_as_it_is() {
    for kind in KINDS {
        let mut exempting = limiter(&format!("{kind}\nexempt = ['default']"));
        let fresh = limiter(kind);
        for (now, ask) in asks() {
            assert_eq!(decide(exempting.as_mut(), now, &ask), Verdict::Pass, "{kind}");
            assert_eq!(exempting.remaining(now, &ask), fresh.remaining(now, &ask), "{kind}");
        }
    }
}

#[test]
fn refusals_of_any_kind_tell_whole_seconds_where_they_are_asked_to() {
    for kind in KINDS {
        let mut limiter = limiter(&format!("{kind}\nretry_after = 'seconds'"));
        for (now, ask) in asks() {
            let at = decide(limiter.as_mut(), now, &ask).at();
            let Some(at) = at.and_then(|at| limiter.after_refusal(now, &ask, Some(at))) else { continue };
            let told = limiter.advise(now, &ask, Some(at)).expect("there is an instant");
            assert_eq!(told.0, (at.since(now).0.div_ceil(1_000_000_000) * 1_000_000_000), "{kind}");
        }
    }
}

#[test]
fn a_key_with_the_same_rule_of_its_own_decides_as_any_other() {
    for kind in KINDS {
        let keyed = limit(&format!("{kind}\nkey = 'tenant'\noverrides = {{ a = {{}} }}"));
        let mut keyed = keyed.build_among(&|_, name| (name == "a").then_some(1), Dice::default());
        let mut plain = limiter(kind);
        for (now, ask) in asks() {
            let expected = decide(plain.as_mut(), now, &ask);
            for tenant in [1, 2] {
                let ask = Ask { tenant, ..ask };
                assert_eq!(decide(keyed.as_mut(), now, &ask), expected, "{kind}, tenant {tenant}");
            }
        }
    }
}

#[test]
fn a_layer_that_never_refuses_changes_nothing_about_any_kind() {
    const WIDE: &str = "kind = 'token_bucket'\nrate = '1000M/s'\nburst = 1000000";
    for kind in KINDS {
        for take in [Take::AllOrNone, Take::Sequential] {
            let mut alone = Chain::new(vec![limiter(kind)], take);
            let mut layered = Chain::new(vec![limiter(WIDE), limiter(kind)], take);
            for (at, ask) in asks() {
                let (one, two) = (alone.decide(&Event { at, ask }), layered.decide(&Event { at, ask }));
                assert_eq!((one.refusal.is_none(), one.delay), (two.refusal.is_none(), two.delay), "{kind}");
                let wait = |decision: &tidegate::study::probe::Decision| decision.refusal.map(|by| by.wait);
                assert_eq!(wait(&one), wait(&two), "{kind}");
            }
        }
    }
}
