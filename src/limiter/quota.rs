//! The quota of a provider of models: several limits at once, of requests, tokens and work in flight.
//!
//! A call passes if all of its limits pass it, and a refusal names the one with the longest wait. A limit per minute or
//! per day is a bucket of its whole amount that refills all the time, as Anthropic documents it; with slices, requests
//! are counted in windows of a second or ten and tokens in windows of a minute, as Azure documents it, so that a burst
//! within the minute is refused. What tokens cost, and when, is the limit's [`Charge`]: an estimate corrected in the end
//! (Anthropic), the declared maximum for good (OpenAI, Azure, Cerebras), or the actual use afterwards (API Management).

use super::fixed_window::{FixedWindow, Opens};
use super::in_flight::InFlight;
use super::token_bucket::TokenBucket;
use super::{Blueprint, Charge, Limiter, Mode, Options, Verdict};
use crate::gauge::Reading;
use crate::request::{Ask, End, Knob, Unit};
use crate::time::{Nanos, SimTime};
use crate::units::Rate;
use std::any::Any;
use std::cmp::Ordering;
use std::sync::Arc;

/// What a quota limits; `None` is no limit. Amounts are above 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Requests per minute.
    pub rpm: Option<u64>,
    /// Tokens of both sorts per minute.
    pub tpm: Option<u64>,
    /// Tokens sent per minute.
    pub input_tpm: Option<u64>,
    /// Tokens of answers per minute.
    pub output_tpm: Option<u64>,
    /// Requests per day.
    pub rpd: Option<u64>,
    /// Tokens of both sorts per day.
    pub tpd: Option<u64>,
    /// Requests in flight.
    pub concurrency: Option<u64>,
    /// Windows in which the requests of a minute are counted, a whole number of them to a minute; tokens are then
    /// counted in windows of a minute. `None` refills all the time.
    pub slice: Option<Nanos>,
}

/// A quota as it is described.
#[derive(Clone, Debug)]
pub struct Quota {
    limits: Vec<Part>,
}

/// One of its limits.
#[derive(Clone, Debug)]
struct Part {
    name: &'static str,
    unit: Unit,
    rule: Arc<dyn Blueprint>,
}

/// What the limit on work in flight is called.
const CONCURRENCY: &str = "concurrency";
const MINUTE: Nanos = Nanos::secs(60);
const DAY: Nanos = Nanos::secs(86_400);

impl Amounts {
    /// What of an amount of a minute falls to a slice, rounded down.
    pub fn in_slice(amount: u64, slice: Nanos) -> u64 {
        (amount as u128 * slice.0 as u128 / MINUTE.0 as u128) as u64
    }
}

/// Windows that begin with the minute.
fn aligned(limit: u64, window: Nanos) -> FixedWindow {
    FixedWindow {
        limit,
        window,
        opens: Opens::Aligned,
        count_rejected: false,
        spread: false,
        restarts: false,
    }
}

impl Quota {
    /// A quota of these amounts. A slice's part of the requests of a minute is rounded down.
    pub fn new(amounts: &Amounts) -> Quota {
        let per = |name, unit, amount: Option<u64>, time: Nanos| {
            let amount = amount?;
            let window = match (amounts.slice, unit) {
                (Some(slice), Unit::Requests) if time == MINUTE => Some(slice),
                (Some(_), _) if time == MINUTE => Some(MINUTE),
                _ => None,
            };
            let rule: Arc<dyn Blueprint> = match window {
                None => {
                    let rate = Rate::new(amount, time).expect("an amount is above 0");
                    Arc::new(TokenBucket::new(rate, amount))
                }
                Some(window) => Arc::new(aligned(Amounts::in_slice(amount, window), window)),
            };
            Some(Part { name, unit, rule })
        };
        let in_flight =
            |limit| Part { name: CONCURRENCY, unit: Unit::Requests, rule: Arc::new(InFlight { limit }) };
        let limits = [
            per("rpm", Unit::Requests, amounts.rpm, MINUTE),
            per("tpm", Unit::Tokens, amounts.tpm, MINUTE),
            per("input_tpm", Unit::InputTokens, amounts.input_tpm, MINUTE),
            per("output_tpm", Unit::OutputTokens, amounts.output_tpm, MINUTE),
            per("rpd", Unit::Requests, amounts.rpd, DAY),
            per("tpd", Unit::Tokens, amounts.tpd, DAY),
            amounts.concurrency.map(in_flight),
        ];
        Quota { limits: limits.into_iter().flatten().collect() }
    }

    /// How a call is charged by one of the limits. Asks without a call behind them count as tokens.
    fn charge(part: &Part, charge: Charge) -> Charge {
        let unit = match part.unit {
            Unit::Requests => Unit::Requests,
            _ if charge.unit == Unit::Given => Unit::Given,
            unit => unit,
        };
        let mode = match part.unit {
            Unit::Requests if part.name == CONCURRENCY => Mode::InFlight,
            Unit::Requests => Mode::EstimateOnly,
            _ => charge.mode,
        };
        Charge { unit, mode, refund: charge.refund }
    }
}

impl Blueprint for Quota {
    fn build(&self, options: &Options) -> Box<dyn Limiter> {
        let build = |(number, part): (usize, &Part)| {
            let own = |rule: &Arc<dyn Blueprint>| {
                let rule: &dyn Any = &**rule;
                let quota = rule.downcast_ref::<Quota>().expect("an override is of the same type");
                Arc::clone(&quota.limits[number].rule)
            };
            let overrides = options.overrides.iter().map(|(id, rule)| (*id, own(rule))).collect();
            let charge = Quota::charge(part, options.charge);
            (part.name, part.rule.build(&Options { charge, overrides, ..options.clone() }))
        };
        Box::new(Limits { limits: self.limits.iter().enumerate().map(build).collect() })
    }

    fn is_like(&self, other: &dyn Blueprint) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Quota>().is_some_and(|other| {
            let is_same = |(a, b): (&Part, &Part)| a.name == b.name && a.rule.is_like(&*b.rule);
            self.limits.len() == other.limits.len() && self.limits.iter().zip(&other.limits).all(is_same)
        })
    }

    fn knob(&self, _key: &str) -> Option<Knob> {
        None
    }

    /// Of each limit on tokens: a request is one, which every amount holds.
    fn capacities(&self, _unit: Unit) -> Vec<(u64, Unit, &'static str)> {
        let tokens = self.limits.iter().filter(|part| part.unit != Unit::Requests);
        let named = |part: &Part| {
            let own = part.rule.capacities(part.unit).into_iter();
            own.map(|(most, unit, _)| (most, unit, part.name)).collect::<Vec<_>>()
        };
        tokens.flat_map(named).collect()
    }

    fn counts_in_flight(&self) -> bool {
        self.limits.iter().any(|part| part.name == CONCURRENCY)
    }

    fn steps_back(&self) -> bool {
        false
    }

    fn peeks(&self) -> bool {
        false
    }
}

/// Limits that pass a call together or not at all.
struct Limits {
    limits: Vec<(&'static str, Box<dyn Limiter>)>,
}

impl Limits {
    /// The refusal with the longest wait, of equals the first, and whose it is.
    fn longest(&self, now: SimTime, ask: &Ask) -> Option<(&'static str, Verdict)> {
        let mut longest: Option<(&'static str, Verdict)> = None;
        for (name, limit) in &self.limits {
            let verdict = limit.check(now, ask);
            if verdict.passes() {
                continue;
            }
            let is_longer = match longest.map(|(_, verdict)| verdict.at()) {
                None => true,
                Some(None) => false,
                Some(Some(before)) => verdict.at().is_none_or(|at| before < at),
            };
            if is_longer {
                longest = Some((name, verdict));
            }
        }
        longest
    }
}

/// Which of two fractions is the smaller.
fn compare((a, a_per): (i128, u128), (b, b_per): (i128, u128)) -> Ordering {
    let parts =
        |units: i128, per: u128| (units.div_euclid(per as i128), units.rem_euclid(per as i128) as u128);
    let ((a, a_rest), (b, b_rest)) = (parts(a, a_per), parts(b, b_per));
    // A price fits 64 bits, and what is left over is less.
    a.cmp(&b).then((a_rest * b_per).cmp(&(b_rest * a_per)))
}

impl Limiter for Limits {
    fn check(&self, now: SimTime, ask: &Ask) -> Verdict {
        if let Some((_, refusal)) = self.longest(now, ask) {
            return refusal;
        }
        let starts = self.limits.iter().filter_map(|(_, limit)| match limit.check(now, ask) {
            Verdict::Delay(start) => Some(start),
            _ => None,
        });
        starts.max().map_or(Verdict::Pass, Verdict::Delay)
    }

    fn take(&mut self, now: SimTime, ask: &Ask) {
        self.limits.iter_mut().for_each(|(_, limit)| limit.take(now, ask));
    }

    fn settle(&mut self, now: SimTime, ask: &Ask, end: End) {
        self.limits.iter_mut().for_each(|(_, limit)| limit.settle(now, ask, end));
    }

    fn refuse(&mut self, now: SimTime, ask: &Ask) {
        for (_, limit) in &mut self.limits {
            if !limit.check(now, ask).passes() {
                limit.refuse(now, ask);
            }
        }
    }

    /// The least that is left of any.
    fn remaining(&self, now: SimTime, ask: &Ask) -> (i128, u128) {
        let left = self.limits.iter().map(|(_, limit)| limit.remaining(now, ask));
        left.min_by(|a, b| compare(*a, *b)).expect("a quota has a limit")
    }

    /// When all stand as if unused.
    fn reset(&self, now: SimTime, ask: &Ask) -> Option<SimTime> {
        let resets: Option<Vec<SimTime>> =
            self.limits.iter().map(|(_, limit)| limit.reset(now, ask)).collect();
        resets?.into_iter().max()
    }

    fn binding(&self, now: SimTime, ask: &Ask) -> &'static str {
        self.longest(now, ask).map_or("", |(name, _)| name)
    }

    fn change(&mut self, _now: SimTime, _knob: Knob) {}

    /// What is left of each, by its name.
    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        for (name, limit) in &mut self.limits {
            limit.gauges(now, &mut |gauge, reading| {
                if gauge.starts_with("level") {
                    visit(name, reading);
                }
            });
        }
        self.counts(&mut |name, count| visit(name, Reading::count(count)));
    }

    /// Of all its limits together.
    fn counts(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        let mut sums: Vec<(&'static str, u64)> = Vec::new();
        for (_, limit) in &self.limits {
            limit.counts(&mut |name, count| match sums.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += count,
                None => sums.push((name, count)),
            });
        }
        sums.into_iter().for_each(|(name, sum)| visit(name, sum));
    }
}
