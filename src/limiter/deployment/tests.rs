//! What goes wrong in a deployment, reckoned by hand.

use super::deployed::State;
use super::*;
use crate::limiter::token_bucket::TokenBucket;
use crate::limiter::{Rule, Verdict};
use crate::units::parse_rate;
use proptest::prelude::*;

/// A limit with its state: what each ask gets, and what went wrong so far.
struct Asked {
    limit: Deployed<TokenBucket>,
    state: State<<TokenBucket as Rule>::State>,
}

impl Asked {
    fn new(rate: &str, burst: u64, deployment: Deployment) -> Asked {
        let rule = TokenBucket::new(parse_rate(rate).expect("a rate"), burst);
        let limit = Deployed::new(rule, deployment);
        Asked { state: limit.fresh(), limit }
    }

    fn ask(&mut self, millis: u64) -> Verdict {
        self.ask_at(SimTime(millis * 1_000_000), 1)
    }

    fn ask_at(&mut self, now: SimTime, cost: u64) -> Verdict {
        let verdict = self.limit.check(&self.state, now, cost);
        match verdict.passes() {
            true => self.limit.take(&mut self.state, now, cost),
            false => self.limit.refuse(&mut self.state, now, cost),
        }
        verdict
    }

    /// Over-admitted and falsely refused.
    fn faults(&self) -> (u64, u64) {
        (self.state.over_admitted, self.state.falsely_refused)
    }
}

fn store(millis: u64) -> Deployment {
    let latency = Dist::constant(millis as f64 * 1e6).expect("positive");
    Deployment { gateways: 4, latency: Some(latency), ..Deployment::ideal() }
}

fn at(millis: u64) -> SimTime {
    SimTime(millis * 1_000_000)
}

#[test]
fn a_script_admits_what_the_ideal_limit_does_and_only_takes_its_time() {
    let mut asked = Asked::new("1/s", 2, store(10));
    let answers = [0, 0, 0, 1_000].map(|millis| asked.ask(millis));
    let delayed = |millis| Verdict::Delay(at(millis));
    assert_eq!(answers, [delayed(10), delayed(10), Verdict::At(at(1_000)), delayed(1_010)]);
    assert_eq!(asked.faults(), (0, 0));
}

#[test]
fn between_read_and_write_others_come_and_all_pass() {
    let mut asked = Asked::new("1/s", 1, Deployment { access: Access::Optimistic, ..store(10) });
    assert!([0, 0, 5, 9].map(|millis| asked.ask(millis)).iter().all(|verdict| verdict.passes()));
    assert_eq!(asked.faults(), (3, 0));
    assert!(!asked.ask(10).passes(), "the first write has come");
}

#[test]
fn a_lock_serves_one_after_the_other_and_refuses_who_would_wait_too_long() {
    let lock = Access::Lock { timeout: Nanos::secs(5) };
    let mut asked = Asked::new("1/s", 100, Deployment { access: lock, ..store(1_000) });
    let answers = [0, 0, 0, 0, 1_000].map(|millis| asked.ask(millis));
    // Held for two seconds each: the fourth would wait for six.
    let delayed = |millis| Verdict::Delay(at(millis));
    let expected = [delayed(1_000), delayed(3_000), delayed(5_000), Verdict::At(at(1_000)), delayed(7_000)];
    assert_eq!(answers, expected);
    assert_eq!(asked.faults(), (0, 1));
}

#[test]
fn local_copies_admit_once_each_until_they_are_exchanged() {
    let access = Access::Local { every: Nanos::SECOND };
    let mut asked = Asked::new("1/h", 10, Deployment { access, ..store(0) });
    let admitted = (0..200).filter(|_| asked.ask(500).passes()).count();
    assert_eq!(admitted, 40, "four gateways of ten");
    assert_eq!(asked.faults(), (30, 0));
    assert!(!asked.ask(1_000).passes());
}

#[test]
fn while_the_store_is_away_all_pass_or_none_does() {
    for (fails_open, faults) in [(true, (2, 0)), (false, (0, 1))] {
        let outages = vec![(at(1_000), at(2_000))];
        let mut asked = Asked::new("1/h", 2, Deployment { outages, fails_open, ..store(0) });
        assert!(asked.ask(0).passes());
        let answers = [1_000, 1_500, 1_999].map(|millis| asked.ask(millis));
        let expected = if fails_open { Verdict::Pass } else { Verdict::At(at(2_000)) };
        assert_eq!(answers, [expected; 3]);
        assert_eq!(asked.faults(), faults, "the ideal limit has one left");
    }
}

#[test]
fn a_key_whose_maker_dies_never_expires_and_its_owner_is_refused_for_ever() {
    let expiry = Expiry::TwoSteps { crash: 1.0 };
    let mut asked = Asked::new("1/s", 2, Deployment { expiry, ..store(0) });
    assert!([0, 1].iter().all(|millis| asked.ask(*millis).passes()));
    assert_eq!([2, 5_000, 3_600_000].map(|millis| asked.ask(millis)), [Verdict::Never; 3]);
    assert_eq!(asked.faults(), (0, 2));
}

#[test]
fn a_key_that_expires_between_the_two_reads_is_refused_wrongly() {
    let expiry = Expiry::TwoSteps { crash: 0.0 };
    let mut asked = Asked::new("1/s", 2, Deployment { expiry, ..store(10) });
    assert!(asked.ask(0).passes());
    // Used until one second after the first; looked for at 995 ms and read at 1,005 ms.
    assert_eq!(asked.ask(995), Verdict::At(at(1_005)));
    assert_eq!(asked.faults(), (0, 1));
    assert!(asked.ask(1_005).passes());
}

#[test]
fn a_clock_of_whole_seconds_refills_at_once_what_has_hardly_begun() {
    let clocks = Clocks { resolution: Nanos::SECOND, ..Clocks::default() };
    let mut asked = Asked::new("1/s", 1, Deployment { clocks, ..store(0) });
    assert!(asked.ask(900).passes());
    assert_eq!(asked.ask(999), Verdict::At(at(1_000)));
    assert!(asked.ask(1_000).passes());
    assert_eq!(asked.faults(), (1, 0));
}

#[test]
fn a_gateway_ahead_of_the_others_leaves_them_behind_its_writes() {
    let clocks = Clocks { skew: Nanos::millis(500), ..Clocks::default() };
    let mut asked = Asked::new("1/s", 1, Deployment { clocks, ..store(0) });
    let admitted = (0..100).filter(|i| asked.ask(10_000 + 100 * i).passes()).count();
    let (over, falsely) = asked.faults();
    assert!(
        over > 0 && falsely > 0,
        "{admitted} admitted, {over} of them wrongly, {falsely} refused wrongly"
    );
}

proptest! {
    #[test]
    fn one_gateway_and_a_store_that_answers_at_once_are_the_limit_itself(
        asks in prop::collection::vec((0u64..2_000_000_000, 1u64..4), 1..60)
    ) {
        let mut asked = Asked::new("3/s", 3, Deployment::ideal());
        let rule = asked.limit.rule.clone();
        let (mut state, mut now) = (rule.fresh(), SimTime::ZERO);
        for (gap, cost) in asks {
            now = SimTime(now.0 + gap);
            let expected = rule.check(&state, now, cost);
            if expected.passes() {
                rule.take(&mut state, now, cost);
            } else {
                rule.refuse(&mut state, now, cost);
            }
            prop_assert_eq!(asked.ask_at(now, cost), expected);
        }
        prop_assert_eq!(asked.faults(), (0, 0));
    }
}
