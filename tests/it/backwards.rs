//! Time that steps back, as in a list that is replayed out of order: exact kinds refuse it and stay as they are, dialects
//! do what their product does.

use crate::deployments::KINDS;
use crate::support::{limit, limiter};
use tidegate::limiter::{Limiter, Verdict};
use tidegate::request::{Ask, End};
use tidegate::time::{Nanos, SimTime};

const MS: u64 = 1_000_000;

fn ask() -> Ask {
    Ask { input_tokens: 5, ..Ask::default() }
}

/// Asks at an instant; answers what was decided.
fn decide(limiter: &mut dyn Limiter, now: SimTime) -> Verdict {
    let verdict = limiter.check(now, &ask());
    if verdict.passes() {
        limiter.take(now, &ask());
        limiter.settle(now, &ask(), End::Completed(Nanos(1)));
    } else {
        limiter.refuse(now, &ask());
    }
    verdict
}

#[test]
fn exact_kinds_refuse_a_step_back_and_stay_as_they_are() {
    let mut exact: Vec<&str> = KINDS.into_iter().filter(|kind| !limit(kind).rule.steps_back()).collect();
    assert!(10 <= exact.len(), "{exact:?}");
    // One that never limits, because its interval rounds to nothing.
    exact.push("kind = 'gcra'\nrate = '200/60s'\nburst = 1\ninterval_resolution = '1s'");
    for kind in exact {
        for earlier in [1, 400 * MS, 999 * MS, 9_000 * MS] {
            let (mut straight, mut stepped) = (limiter(kind), limiter(kind));
            let start = SimTime(10_350 * MS);
            for limiter in [&mut straight, &mut stepped] {
                (0..3).for_each(|_| _ = decide(limiter.as_mut(), start));
            }
            let back = SimTime(start.0 - earlier);
            assert!(stepped.colour(back, &ask()).is_none_or(|colour| colour == "red"), "{kind}");
            let verdict = decide(stepped.as_mut(), back);
            assert!(verdict.at().is_some_and(|at| start <= at), "{kind} {earlier} ns back: {verdict:?}");
            for number in 0..40 {
                let now = SimTime(start.0 + number * 37 * MS);
                assert_eq!(straight.remaining(now, &ask()), stepped.remaining(now, &ask()), "{kind}");
                assert_eq!(straight.reset(now, &ask()), stepped.reset(now, &ask()), "{kind}");
                let expected = decide(straight.as_mut(), now);
                assert_eq!(decide(stepped.as_mut(), now), expected, "{kind} {number}, {earlier} ns back");
            }
        }
    }
}

#[test]
fn sentinel_counts_a_call_that_steps_back_in_the_bucket_of_its_time() {
    // Cold, 10/s pass 3.33 in a second. One in the bucket from 1.0 s, and at 1.6 s one that steps back to it: both count
    // until it is over, at 2.0 s; the bucket from 1.5 s stands until 2.5 s.
    let mut limiter = limiter("kind = 'warm_up'\ndialect = 'sentinel'\nrate = '10/s'\nwarm_up = '60s'");
    let at = |ms: u64| SimTime(ms * MS);
    assert_eq!(decide(limiter.as_mut(), at(1_100)), Verdict::Pass);
    assert_eq!(decide(limiter.as_mut(), at(1_600)), Verdict::Pass);
    assert_eq!(decide(limiter.as_mut(), at(1_200)), Verdict::Pass);
    assert_eq!(decide(limiter.as_mut(), at(1_650)), Verdict::At(at(2_000)));
    // Two of the three have left.
    assert_eq!(decide(limiter.as_mut(), at(2_000)), Verdict::Pass);
    assert_eq!(decide(limiter.as_mut(), at(2_001)), Verdict::Pass);
    assert_eq!(decide(limiter.as_mut(), at(2_002)), Verdict::At(at(2_500)));
    // A bucket that is no longer kept counts nowhere: what steps back to it passes as long as the last second lets it.
    assert_eq!(decide(limiter.as_mut(), at(2_600)), Verdict::Pass);
    assert_eq!(decide(limiter.as_mut(), at(1_600)), Verdict::At(at(3_000)));
}

#[test]
fn failsafe_makes_those_that_step_back_wait_for_as_much_longer() {
    // One in 100 ms from the grid's start: places 0, 100 ms, 200 ms.
    let mut limiter =
        limiter("kind = 'leaky_queue'\ndialect = 'failsafe'\nrate = '10/s'\nmax_wait = '500ms'");
    let at = |ms: u64| SimTime(ms * MS);
    assert_eq!(decide(limiter.as_mut(), at(1_000)), Verdict::Pass);
    assert_eq!(decide(limiter.as_mut(), at(700)), Verdict::Delay(at(1_100)));
    assert_eq!(decide(limiter.as_mut(), at(600)), Verdict::At(at(700)), "600 ms is longer than it may wait");
    assert_eq!(decide(limiter.as_mut(), at(1_000)), Verdict::Delay(at(1_200)));
}

#[test]
fn a_warm_up_of_a_century_answers_at_once_and_after_a_silence_of_decades() {
    let mut limiter = limiter("kind = 'warm_up'\ndialect = 'sentinel'\nrate = '10/s'\nwarm_up = '36500d'");
    let year = 365 * 86_400_000 * MS;
    let cold = |limiter: &mut dyn Limiter, start: u64| {
        let decided = [0, 1, 2, 3, 4].map(|ms| decide(limiter, SimTime(start + ms * MS)).passes());
        assert_eq!(decided, [true, true, true, false, false], "a third of ten a second");
        limiter.gauges(SimTime(start + 5 * MS), &mut |name, reading| {
            assert!(reading.avg.is_finite() && reading.avg <= 10.0, "{name}");
        });
    };
    cold(limiter.as_mut(), 0);
    cold(limiter.as_mut(), 40 * year);
}
