//! async-bulkhead-llm: slots and tokens in flight, with floors that classes are protected by, in its order of checks.
//!
//! A call reserves its estimated input and its largest output (`output_cap` where it declares none). In this order:
//!
//! 1. tokens in flight + reserved > budget → `budget`, *global*; for classes that are not `high_priority` the budget is
//!    less by `high_priority_reserve`.
//! 2. tokens of the class + reserved > its `max_tokens` → `budget`, *admission_class*.
//! 3. calls of the class ≥ its `max_concurrent` → `concurrency`, *admission_class*.
//! 4. Floors: what a class has above its `protected_concurrent` is shared, and Σ max(0, in flight − protected) with it may
//!    not be more than `max_concurrent` − Σ protected → `concurrency`, *admission_class_protection*; the same for tokens →
//!    `budget`, *admission_class_protection*. Floors are strict: idle ones are lent to nobody.
//! 5. A slot: with one free it starts, else it waits in the policy's queue, or is refused (`concurrency`, *global*).
//!    `max_concurrent = 0` is a switch that lets nothing in and never lets wait.
//! 6. One that has waited goes through 1 to 4 again when its slot comes, and may be refused then.
//!
//! The reservation ends with the work; what it held beyond its use is *refunded*. With `reports_usage` the provider tells
//! the true input when the work starts, and the hold becomes that and the largest output if it is more: such an overrun
//! may hold more than the budget, and ends nothing. An output beyond the largest is counted in the end. Source:
//! async-bulkhead-llm 3.15.

use super::estimator::{self, Estimator};
use super::{Admission, Answer, Cast, Denial, Entrant, Habits, Plan, Scene};
use crate::gauge::{Gauge, Reading};
use crate::request::{Ask, End, Knob, Reason, Unit};
use crate::time::SimTime;

/// A class's part.
#[derive(Clone, Debug)]
pub struct Share {
    /// The class, by name.
    pub class: String,
    /// Calls that no other class may crowd out.
    pub protected_concurrent: u64,
    /// Most calls; `None` is any.
    pub max_concurrent: Option<u64>,
    /// Tokens that no other class may have.
    pub protected_tokens: u64,
    /// Most tokens; `None` is any.
    pub max_tokens: Option<u64>,
}

/// A bulkhead, as it is described.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Calls in flight.
    pub max_concurrent: u64,
    /// Tokens in flight; `None` is any.
    pub budget: Option<u64>,
    /// Parts of classes.
    pub shares: Vec<Share>,
    /// Classes that may have all of the budget.
    pub high_priority: Vec<String>,
    /// What the others leave of it.
    pub high_priority_reserve: u64,
    /// The output of a call that declares none.
    pub output_cap: u64,
    /// How input is estimated; `None` knows it.
    pub estimator: Option<estimator::Settings>,
    /// Whether the true input is told when work starts.
    pub reports_usage: bool,
}

impl Plan for Settings {
    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        let parts = cast.classes.iter().map(|class| {
            let share = self.shares.iter().find(|share| share.class == *class);
            Part {
                floor: share.map_or(Amount::default(), |share| Amount {
                    calls: share.protected_concurrent,
                    tokens: share.protected_tokens,
                }),
                most: Amount {
                    calls: share.and_then(|share| share.max_concurrent).unwrap_or(u64::MAX),
                    tokens: share.and_then(|share| share.max_tokens).unwrap_or(u64::MAX),
                },
                used: Amount::default(),
                is_high: self.high_priority.contains(class),
            }
        });
        Box::new(AsyncBulkheadLlm {
            max_concurrent: self.max_concurrent,
            settings: self.clone(),
            parts: parts.collect(),
            estimator: Estimator::new(self.estimator.clone(), cast.classes.len()),
            in_use: Gauge::new(0),
            tokens: Gauge::new(0),
            held: Vec::new(),
            refunded: 0,
            overrun: 0,
        })
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        (key == "limit").then_some(Knob::Limit(Some(self.max_concurrent)))
    }
}

/// Calls and tokens.
#[derive(Clone, Copy, Debug, Default)]
struct Amount {
    calls: u64,
    tokens: u64,
}

#[derive(Clone, Debug)]
struct Part {
    floor: Amount,
    most: Amount,
    used: Amount,
    is_high: bool,
}

/// A bulkhead at work.
#[derive(Clone, Debug)]
pub struct AsyncBulkheadLlm {
    settings: Settings,
    /// As it stands; an event may change it.
    max_concurrent: u64,
    /// By class.
    parts: Vec<Part>,
    estimator: Estimator,
    in_use: Gauge,
    tokens: Gauge,
    /// By place: what is reserved, and held once it has started.
    held: Vec<u64>,
    refunded: u64,
    overrun: u64,
}

impl AsyncBulkheadLlm {
    fn output(&self, ask: &Ask) -> u64 {
        match ask.max_output_tokens {
            0 => self.settings.output_cap,
            declared => u64::from(declared),
        }
    }

    /// Checks 1 to 4.
    fn broken(&self, ask: &Ask, reserved: u64) -> Option<Denial> {
        let denial = |reason, scope| Some(Denial { reason, scope });
        let part = &self.parts[ask.class.0 as usize];
        let reserve = if part.is_high { 0 } else { self.settings.high_priority_reserve };
        let budget = self.settings.budget.map_or(u64::MAX, |budget| budget.saturating_sub(reserve));
        if budget < self.tokens.value().saturating_add(reserved) {
            return denial(Reason::Budget, "global");
        }
        if part.most.tokens < part.used.tokens.saturating_add(reserved) {
            return denial(Reason::Budget, "admission_class");
        }
        if part.most.calls <= part.used.calls {
            return denial(Reason::Concurrency, "admission_class");
        }
        let lacks = |need: u64, all: u64, of: fn(&Amount) -> u64| {
            let floors: u64 = self.parts.iter().map(|part| of(&part.floor)).sum();
            let beyond: u64 =
                self.parts.iter().map(|part| of(&part.used).saturating_sub(of(&part.floor))).sum();
            0 < floors && 0 < need && all.saturating_sub(floors) < beyond.saturating_add(need)
        };
        let need = u64::from(part.floor.calls <= part.used.calls);
        if lacks(need, self.max_concurrent, |amount| amount.calls) {
            return denial(Reason::Concurrency, "admission_class_protection");
        }
        let need = reserved.saturating_sub(part.floor.tokens.saturating_sub(part.used.tokens));
        if lacks(need, budget, |amount| amount.tokens) {
            return denial(Reason::Budget, "admission_class_protection");
        }
        None
    }

    fn count(&mut self, now: SimTime, ask: &Ask, tokens: u64, is_more: bool) {
        let used = &mut self.parts[ask.class.0 as usize].used;
        if is_more {
            (used.calls, used.tokens) = (used.calls + 1, used.tokens + tokens);
            self.in_use.up(now, 1);
            self.tokens.up(now, tokens);
        } else {
            (used.calls, used.tokens) = (used.calls - 1, used.tokens - tokens);
            self.in_use.down(now, 1);
            self.tokens.down(now, tokens);
        }
    }
}

impl Admission for AsyncBulkheadLlm {
    fn habits(&self) -> Habits {
        Habits { sheds: true, ..Habits::default() }
    }

    fn sheds(&mut self, now: SimTime, entrant: &Entrant<'_>, _scene: &Scene) -> Option<Denial> {
        let reserved = self.estimator.input(entrant.ask) + self.output(entrant.ask);
        let place = entrant.place as usize;
        if self.held.len() <= place {
            self.held.resize(place + 1, 0);
        }
        self.held[place] = reserved;
        let is_off = self.max_concurrent == 0;
        self.broken(entrant.ask, reserved).or_else(|| is_off.then(|| self.denial(now, entrant)))
    }

    fn admit(&self, _now: SimTime, entrant: &Entrant<'_>) -> Answer {
        if self.max_concurrent <= self.in_use.value() {
            return Answer::Wait;
        }
        let again = || self.broken(entrant.ask, self.held[entrant.place as usize]);
        if entrant.queued { again().map_or(Answer::Pass, Answer::Shed) } else { Answer::Pass }
    }

    fn take(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        let reserved = self.held[entrant.place as usize];
        let told = u64::from(entrant.ask.input_tokens) + self.output(entrant.ask);
        let held = if self.settings.reports_usage { reserved.max(told) } else { reserved };
        self.held[entrant.place as usize] = held;
        self.overrun += held - reserved;
        self.count(now, entrant.ask, held, true);
    }

    fn settle(&mut self, now: SimTime, entrant: &Entrant<'_>, end: End) {
        let held = self.held[entrant.place as usize];
        self.count(now, entrant.ask, held, false);
        // Work that failed or was taken back has used what it was sent, as far as can be known.
        let used = match end {
            End::Completed(_) => entrant.ask.actual(Unit::Tokens),
            End::Failed(_) | End::Cancelled(_) => u64::from(entrant.ask.input_tokens),
            End::Unused => 0,
        };
        self.refunded += held.saturating_sub(used);
        self.overrun += used.saturating_sub(held);
        self.estimator.learn(entrant.ask);
    }

    fn denial(&self, _now: SimTime, _entrant: &Entrant<'_>) -> Denial {
        Denial { reason: Reason::Concurrency, scope: "global" }
    }

    fn limit(&self) -> Option<u64> {
        Some(self.max_concurrent)
    }

    fn change(&mut self, _now: SimTime, knob: Knob) {
        if let Knob::Limit(limit) = knob {
            self.max_concurrent = limit.unwrap_or(u64::MAX);
        }
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
        visit("tokens_in_use", self.tokens.read(now));
        visit("refunded", Reading::count(self.refunded));
        visit("overrun", Reading::count(self.overrun));
    }
}
