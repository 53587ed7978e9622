//! Limiters alone: a list of asks, and what is decided on each.

use crate::engine::Take;
use crate::limiter::{Limiter, Verdict};
use crate::request::{Ask, End};
use crate::time::{Nanos, SimTime};

/// One ask: when, and what [`Ask::costing`] made of its cost, with whoever asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it comes.
    pub at: SimTime,
    /// What it costs and who asks.
    pub ask: Ask,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The least that is left in any limiter, in billionths of a unit, rounded down; below zero in debt.
    pub remaining_billionths: i128,
    /// How long it waits for its start, if it was admitted: the longest of all limiters' delays.
    pub delay: Option<Nanos>,
    /// The last of the resets of all limiters; `None` if one never comes.
    pub reset: Option<Nanos>,
    /// The colour that the first marker gave it.
    pub colour: Option<&'static str>,
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
    /// What it tells the caller to wait: the same unless it is told to say something else.
    pub advice: Option<Nanos>,
    /// Which of its limits bound; empty if it has but one.
    pub limit: &'static str,
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

    /// What the limiters have counted since the start beside their decisions: the limiter's number, name, count.
    pub fn counts(&self, visit: &mut dyn FnMut(usize, &'static str, u64)) {
        for (number, limiter) in self.limiters.iter().enumerate() {
            limiter.counts(&mut |name, count| visit(number, name, count));
        }
    }

    /// Decides on one ask. If time has gone back, each limiter does what its kind does.
    pub fn decide(&mut self, event: &Event) -> Decision {
        let Event { at: now, ask } = *event;
        let colour = self.limiters.iter().find_map(|limiter| limiter.colour(now, &ask));
        let verdict = match self.take {
            Take::AllOrNone => self.take_all(now, &ask),
            Take::Sequential => self.take_one_by_one(now, &ask),
        };
        let left = |limiter: &dyn Limiter| billionths(limiter.remaining(now, &ask));
        let remaining_billionths = self.limiters.iter().map(|limiter| left(&**limiter)).min().unwrap_or(0);
        let resets = self.limiters.iter().map(|limiter| limiter.reset(now, &ask));
        let reset =
            resets.collect::<Option<Vec<_>>>().map(|all| all.into_iter().max().unwrap_or(now).since(now));
        Decision { remaining_billionths, delay: verdict.ok(), reset, colour, refusal: verdict.err() }
    }

    /// The longest delay, or the longest refusal.
    fn take_all(&mut self, now: SimTime, ask: &Ask) -> Result<Nanos, Refusal> {
        let (mut delay, mut longest) = (Nanos::ZERO, None::<Refusal>);
        for (by, limiter) in self.limiters.iter_mut().enumerate() {
            match judge(by, limiter.as_mut(), now, ask) {
                Ok(later) => delay = delay.max(later),
                Err(refusal) => {
                    if longest.is_none_or(|longest| is_longer(refusal.wait, longest.wait)) {
                        longest = Some(refusal);
                    }
                }
            }
        }
        if let Some(refusal) = longest {
            return Err(refusal);
        }
        self.limiters.iter_mut().for_each(|limiter| limiter.take(now, ask));
        self.spend(now, ask, self.limiters.len());
        Ok(delay)
    }

    fn take_one_by_one(&mut self, now: SimTime, ask: &Ask) -> Result<Nanos, Refusal> {
        let mut delay = Nanos::ZERO;
        for by in 0..self.limiters.len() {
            let limiter = &mut self.limiters[by];
            match judge(by, limiter.as_mut(), now, ask) {
                Ok(later) => delay = delay.max(later),
                Err(refusal) => {
                    self.spend(now, ask, by);
                    return Err(refusal);
                }
            }
            limiter.take(now, ask);
        }
        self.spend(now, ask, self.limiters.len());
        Ok(delay)
    }

    /// What the first `count` limiters gave is spent, to the estimate.
    fn spend(&mut self, now: SimTime, ask: &Ask, count: usize) {
        self.limiters[..count].iter_mut().for_each(|l| l.settle(now, ask, End::Completed(Nanos::ZERO)));
    }
}

/// Billionths of a fraction, rounded down.
fn billionths((units, per): (i128, u128)) -> i128 {
    let per = per as i128;
    units.div_euclid(per).saturating_mul(1_000_000_000) + units.rem_euclid(per) * 1_000_000_000 / per
}

/// The delay of what passes, or the refusal, of which the limiter hears.
fn judge(by: usize, limiter: &mut dyn Limiter, now: SimTime, ask: &Ask) -> Result<Nanos, Refusal> {
    let at = match limiter.check(now, ask) {
        Verdict::Pass => return Ok(Nanos::ZERO),
        Verdict::Delay(start) => return Ok(start.since(now)),
        Verdict::At(at) => Some(at),
        Verdict::Never => None,
    };
    let limit = limiter.binding(now, ask);
    limiter.refuse(now, ask);
    let at = limiter.after_refusal(now, ask, at);
    Err(Refusal { by, wait: at.map(|at| at.since(now)), advice: limiter.advise(now, ask, at), limit })
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
    use crate::limiter::token_bucket::TokenBucket;
    use crate::limiter::{Blueprint, Charge, Options};
    use crate::request::Unit;
    use crate::units::parse_rate;

    fn bucket(rate: &str, burst: u64) -> Box<dyn Limiter> {
        let rate = parse_rate(rate).expect("a rate");
        let charge = Charge::of(Unit::Given);
        TokenBucket::new(rate, burst).build(&Options { charge, ..Options::requests(None) })
    }

    fn ask(chain: &mut Chain, millis: u64, cost: u64) -> (i128, Option<(usize, Option<u64>)>) {
        let event = Event { at: SimTime(millis * 1_000_000), ask: Ask::costing(cost) };
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
