//! A budget of tokens in flight: what is at work may hold so many, whatever their number of calls.
//!
//! A call reserves its estimated input and its largest output (`output_cap` where it declares none). It may start if
//! what is reserved, with it, is within `budget` and within its class's `max`, and if what the class takes beyond its
//! own `protected` tokens fits into what nobody is protected in: Σ max(0, reserved of a class − protected) ≤ budget − Σ
//! protected. When it ends its reservation ends; what was not used counts as *refunded*, what was used beyond it as
//! *debt*, so that reserved + debt = settled + refunded + in flight. A call of more than the budget never starts and is
//! turned away at once. Source: async-bulkhead-llm, as a stage before which work may wait.

use super::estimator::{self, Estimator};
use super::{Admission, Answer, Cast, Denial, Entrant, Habits, Plan, Scene};
use crate::gauge::{Gauge, Reading};
use crate::request::{Ask, End, Knob, Reason, Unit};
use crate::time::SimTime;

/// A class's part of a budget.
#[derive(Clone, Debug)]
pub struct Share {
    /// The class, by name.
    pub class: String,
    /// Tokens that no other class may have.
    pub protected: u64,
    /// The most that it may have; `None` is the budget.
    pub max: Option<u64>,
}

/// A budget, as it is described.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Tokens in flight.
    pub budget: u64,
    /// Parts of classes; the others have none.
    pub shares: Vec<Share>,
    /// The output of a call that declares none.
    pub output_cap: u64,
    /// How input is estimated; `None` knows it.
    pub estimator: Option<estimator::Settings>,
    /// Whether what lacks room is turned away instead of waiting.
    pub sheds: bool,
}

impl Plan for Settings {
    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        let parts = cast.classes.iter().map(|class| {
            let share = self.shares.iter().find(|share| share.class == *class);
            let (protected, max) = share.map_or((0, None), |share| (share.protected, share.max));
            Part { protected, max: max.unwrap_or(u64::MAX), reserved: 0 }
        });
        let estimator = Estimator::new(self.estimator.clone(), cast.classes.len());
        Box::new(TokenBudget {
            budget: self.budget,
            output_cap: self.output_cap,
            sheds: self.sheds,
            parts: parts.collect(),
            estimator,
            reserved: Gauge::new(0),
            in_use: Gauge::new(0),
            held: Vec::new(),
            totals: Totals::default(),
        })
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        (key == "limit").then_some(Knob::Limit(Some(self.budget)))
    }
}

#[derive(Clone, Debug)]
struct Part {
    protected: u64,
    max: u64,
    reserved: u64,
}

/// Tokens since the start of the run.
#[derive(Clone, Debug, Default)]
struct Totals {
    settled: u64,
    refunded: u64,
    debt: u64,
}

/// A budget at work.
#[derive(Clone, Debug)]
pub struct TokenBudget {
    budget: u64,
    output_cap: u64,
    sheds: bool,
    parts: Vec<Part>,
    estimator: Estimator,
    reserved: Gauge,
    in_use: Gauge,
    /// By place.
    held: Vec<u64>,
    totals: Totals,
}

impl TokenBudget {
    fn cost(&self, ask: &Ask) -> u64 {
        let output = match ask.max_output_tokens {
            0 => self.output_cap,
            declared => declared as u64,
        };
        self.estimator.input(ask) + output
    }

    /// Which bound a cost of a class would break.
    fn bound(&self, ask: &Ask) -> Option<&'static str> {
        let cost = self.cost(ask);
        if self.budget < self.reserved.value().saturating_add(cost) {
            return Some("budget");
        }
        let part = &self.parts[ask.class.0 as usize];
        if part.max < part.reserved.saturating_add(cost) {
            return Some("class");
        }
        let protected: u64 = self.parts.iter().map(|part| part.protected).sum();
        let beyond: u64 = self.parts.iter().map(|part| part.reserved.saturating_sub(part.protected)).sum();
        let own_before = part.reserved.saturating_sub(part.protected);
        let own_after = (part.reserved + cost).saturating_sub(part.protected);
        (self.budget.saturating_sub(protected) < beyond - own_before + own_after).then_some("protected")
    }

    /// Whether it could start if nothing else were at work.
    fn fits_alone(&self, ask: &Ask) -> bool {
        let (cost, part) = (self.cost(ask), &self.parts[ask.class.0 as usize]);
        let others: u64 = self.parts.iter().map(|part| part.protected).sum::<u64>() - part.protected;
        cost <= part.max && cost <= self.budget.saturating_sub(others)
    }
}

impl Admission for TokenBudget {
    fn habits(&self) -> Habits {
        Habits { sheds: true, ..Habits::default() }
    }

    fn sheds(&mut self, now: SimTime, entrant: &Entrant<'_>, _scene: &Scene) -> Option<Denial> {
        let never = !self.fits_alone(entrant.ask);
        (never || self.sheds && self.bound(entrant.ask).is_some()).then(|| self.denial(now, entrant))
    }

    fn admit(&self, _now: SimTime, entrant: &Entrant<'_>) -> Answer {
        if self.bound(entrant.ask).is_none() { Answer::Pass } else { Answer::Wait }
    }

    fn take(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        let (cost, place) = (self.cost(entrant.ask), entrant.place as usize);
        if self.held.len() <= place {
            self.held.resize(place + 1, 0);
        }
        self.held[place] = cost;
        self.reserved.up(now, cost);
        self.in_use.up(now, 1);
        self.parts[entrant.ask.class.0 as usize].reserved += cost;
    }

    fn settle(&mut self, now: SimTime, entrant: &Entrant<'_>, end: End) {
        let held = self.held[entrant.place as usize];
        self.reserved.down(now, held);
        self.in_use.down(now, 1);
        self.parts[entrant.ask.class.0 as usize].reserved -= held;
        // Work that failed or was taken back has used what it was sent, as far as can be known.
        let used = match end {
            End::Completed(_) => entrant.ask.actual(Unit::Tokens),
            End::Failed(_) | End::Cancelled(_) => entrant.ask.input_tokens as u64,
            End::Unused => 0,
        };
        self.totals.settled += used;
        self.totals.refunded += held.saturating_sub(used);
        self.totals.debt += used.saturating_sub(held);
        self.estimator.learn(entrant.ask);
    }

    /// A smaller one may fit, and one of another class.
    fn per_key(&self) -> bool {
        true
    }

    fn denial(&self, _now: SimTime, entrant: &Entrant<'_>) -> Denial {
        Denial { reason: Reason::Budget, scope: self.bound(entrant.ask).unwrap_or("budget") }
    }

    fn change(&mut self, _now: SimTime, knob: Knob) {
        if let Knob::Limit(limit) = knob {
            self.budget = limit.unwrap_or(u64::MAX);
        }
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
        visit("tokens_in_use", self.reserved.read(now));
        visit("settled", Reading::count(self.totals.settled));
        visit("refunded", Reading::count(self.totals.refunded));
        visit("debt", Reading::count(self.totals.debt));
    }
}
