//! Limiters alone: a list of asks, and what is decided on each.

use crate::engine::Take;
use crate::limiter::{Limiter, Verdict};
use crate::request::{Ask, End};
use crate::time::{Nanos, SimTime};

/// One ask: when, how much, and who.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it comes.
    pub at: SimTime,
    /// What it costs, in the limiters' own unit.
    pub cost: u64,
    /// Who asks, as a number.
    pub key: u32,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The least that is left in any limiter, in billionths of a unit, rounded down.
    pub remaining_billionths: u128,
    /// Why and how long not, if it was refused.
    pub refusal: Option<Refusal>,
}

/// A refusal: the limiter that bound, and its wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The limiter's number: the one with the longest wait, of equals the first; charged one by one, the first.
    pub by: usize,
    /// How long to wait; `None` if no wait helps.
    pub wait: Option<Nanos>,
}

/// A chain of limiters, as a policy asks them.
pub struct Chain {
    limiters: Vec<Box<dyn Limiter>>,
    take: Take,
}

impl Chain {
    /// Limiters in the order in which they are asked.
    pub fn new(limiters: Vec<Box<dyn Limiter>>, take: Take) -> Chain {
        Chain { limiters, take }
    }

    /// Decides on one ask; `event.at` is never before the one that came last.
    pub fn decide(&mut self, event: &Event) -> Decision {
        let now = event.at;
        let ask = Ask { user: event.key, ..Ask::costing(event.cost) };
        let refusal = match self.take {
            Take::AllOrNone => self.take_all(now, &ask),
            Take::Sequential => self.take_one_by_one(now, &ask),
        };
        let left = |limiter: &dyn Limiter| {
            let (units, per) = limiter.remaining(now, &ask);
            units / per * 1_000_000_000 + units % per * 1_000_000_000 / per
        };
        let remaining_billionths = self.limiters.iter().map(|limiter| left(&**limiter)).min().unwrap_or(0);
        Decision { remaining_billionths, refusal }
    }

    fn take_all(&mut self, now: SimTime, ask: &Ask) -> Option<Refusal> {
        let mut longest: Option<Refusal> = None;
        for (by, limiter) in self.limiters.iter().enumerate() {
            let Some(refusal) = refusal(by, limiter.check(now, ask), now) else { continue };
            if longest.is_none_or(|longest| is_longer(refusal.wait, longest.wait)) {
                longest = Some(refusal);
            }
        }
        if longest.is_none() {
            self.limiters.iter_mut().for_each(|limiter| limiter.take(now, ask));
            self.spend(now, ask, self.limiters.len());
        }
        longest
    }

    fn take_one_by_one(&mut self, now: SimTime, ask: &Ask) -> Option<Refusal> {
        for by in 0..self.limiters.len() {
            let limiter = &mut self.limiters[by];
            if let Some(refusal) = refusal(by, limiter.check(now, ask), now) {
                self.spend(now, ask, by);
                return Some(refusal);
            }
            limiter.take(now, ask);
        }
        self.spend(now, ask, self.limiters.len());
        None
    }

    /// What the first `count` limiters gave is spent, to the estimate.
    fn spend(&mut self, now: SimTime, ask: &Ask, count: usize) {
        self.limiters[..count].iter_mut().for_each(|l| l.settle(now, ask, End::Completed(Nanos::ZERO)));
    }
}

fn refusal(by: usize, verdict: Verdict, now: SimTime) -> Option<Refusal> {
    match verdict {
        Verdict::Pass => None,
        Verdict::At(at) => Some(Refusal { by, wait: Some(at - now) }),
        Verdict::Never => Some(Refusal { by, wait: None }),
    }
}

fn is_longer(wait: Option<Nanos>, than: Option<Nanos>) -> bool {
    match (wait, than) {
        (Some(wait), Some(than)) => than < wait,
        (None, Some(_)) => true,
        (_, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::build;
    use crate::limiter::token_bucket::TokenBucket;
    use crate::request::Unit;
    use crate::units::parse_rate;

    fn bucket(rate: &str, burst: u64) -> Box<dyn Limiter> {
        let rate = parse_rate(rate).expect("a rate");
        build(TokenBucket { unit: Unit::Given, ..TokenBucket::new(rate, burst) }, None)
    }

    fn ask(chain: &mut Chain, millis: u64, cost: u64) -> (u128, Option<(usize, Option<u64>)>) {
        let event = Event { at: SimTime(millis * 1_000_000), cost, key: 0 };
        let decision = chain.decide(&event);
        let refusal =
            decision.refusal.map(|refusal| (refusal.by, refusal.wait.map(|wait| wait.0 / 1_000_000)));
        (decision.remaining_billionths / 1_000_000, refusal)
    }

    #[test]
    fn one_bucket_decides_as_reckoned_by_hand() {
        let mut chain = Chain::new(vec![bucket("2/s", 3)], Take::AllOrNone);
        let asks = [(0, 2), (0, 2), (499, 2), (500, 2), (750, 1), (1000, 1)];
        let decided = asks.map(|(millis, cost)| ask(&mut chain, millis, cost));
        assert_eq!(
            decided,
            [
                (1_000, None),
                (1_000, Some((0, Some(500)))),
                (1_998, Some((0, Some(1)))),
                (0, None),
                (500, Some((0, Some(250)))),
                (0, None)
            ]
        );
    }

    #[test]
    fn costs_of_any_size_are_charged_whole() {
        let most = 1_000_000_000_000_000;
        let mut chain = Chain::new(vec![bucket("1/s", most)], Take::AllOrNone);
        assert_eq!(ask(&mut chain, 0, most - 1), (1_000, None));
        assert_eq!(ask(&mut chain, 0, most + 1), (1_000, Some((0, None))));
    }

    #[test]
    fn one_by_one_the_first_that_refuses_is_named_and_those_before_it_leak() {
        let limiters = || vec![bucket("1/s", 10), bucket("1/s", 4)];
        let mut careful = Chain::new(limiters(), Take::AllOrNone);
        let mut leaking = Chain::new(limiters(), Take::Sequential);
        for chain in [&mut careful, &mut leaking] {
            assert_eq!(ask(chain, 0, 4).1, None);
            assert_eq!(ask(chain, 0, 4).1, Some((1, Some(4_000))));
        }
        assert_eq!(ask(&mut careful, 0, 4).1, Some((1, Some(4_000))));
        assert_eq!(ask(&mut leaking, 0, 4).1, Some((0, Some(2_000))), "two of ten are left");
    }
}
