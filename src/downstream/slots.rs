//! A downstream with slots: up to `concurrency` at once, each for its own service time.
//!
//! A slowdown multiplies the service time of work that starts while it lasts; with `stretch_running` it also
//! multiplies what remains of the work that runs when it begins or ends. Under load work may take longer: by a share for
//! each that is worked on when it starts, itself included, and it stays at that. An outage fails what runs when it begins,
//! and at once what starts while it lasts. The edge: slots that are taken away while in use stay in use until
//! their work ends.
//!
//! With a *backlog* it lets in more than it has slots for; they wait inside, first come, first served, as in the
//! accept queue of a server. Those before it take them for work that has started, and see their time in it.

use super::backlog::Backlog;
use super::service::Service;
use super::{Downstream, Effect, Use, Work};
use crate::gauge::{Gauge, Reading};
use crate::request::{Ask, Knob};
use crate::rng::Purpose;
use crate::time::{Nanos, SimTime};

/// A downstream with a number of slots.
#[derive(Clone, Debug)]
pub struct Slots {
    service: Service,
    slots: Option<u64>,
    error_rate: f64,
    stretch_running: bool,
    slowdown: f64,
    /// How much longer work takes for each that is worked on, as a share.
    load_factor: f64,
    /// Whether either changes how long work takes.
    is_paced: bool,
    outage: bool,
    busy: Gauge,
    capacity: Gauge,
    /// Whether the slots were unlimited at any time since the last reading.
    was_unlimited: bool,
    backlog: Option<Box<Backlog>>,
}

impl Slots {
    /// A downstream at its usual pace; `None` slots are unlimited.
    pub fn new(slots: Option<u64>, service: Service) -> Slots {
        Slots {
            service,
            slots,
            error_rate: 0.0,
            stretch_running: false,
            slowdown: 1.0,
            load_factor: 0.0,
            is_paced: false,
            outage: false,
            busy: Gauge::new(0),
            capacity: Gauge::new(slots.unwrap_or(0)),
            was_unlimited: slots.is_none(),
            backlog: None,
        }
    }

    /// The same, in which so many may wait for a slot; `None` is unlimited.
    pub fn backlog(mut self, most: Option<u64>) -> Slots {
        self.backlog = (most != Some(0)).then(|| Box::new(Backlog::new(most)));
        self
    }

    /// The same with a share of attempts that fail at the end of their service.
    pub fn error_rate(mut self, share: f64) -> Slots {
        self.error_rate = share;
        self
    }

    /// The same, in which work takes longer, by that share, for each that is worked on when it starts.
    pub fn load_factor(mut self, share: f64) -> Slots {
        self.load_factor = share;
        self.is_paced = share != 0.0;
        self
    }

    /// The same, whose slowdowns also apply to what runs.
    pub fn stretch_running(mut self, applies: bool) -> Slots {
        self.stretch_running = applies;
        self
    }
}

impl Downstream for Slots {
    #[inline]
    fn has_room(&self, _ask: &Ask) -> bool {
        !self.is_full()
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.slots.is_some_and(|slots| slots <= self.busy.value())
            && self.backlog.as_ref().is_none_or(|backlog| !backlog.has_room())
    }

    #[inline(always)]
    fn start(&mut self, now: SimTime, place: u32, ask: &Ask, attempt: u32) -> Option<Work> {
        match &mut self.backlog {
            Some(backlog) if self.slots.is_some_and(|slots| slots <= self.busy.value()) => {
                backlog.push(now, place);
                None
            }
            _ => Some(self.begin(now, ask, attempt)),
        }
    }

    #[inline(always)]
    fn next(&mut self, now: SimTime) -> Option<u32> {
        let backlog = self.backlog.as_mut()?;
        if self.slots.is_none_or(|slots| self.busy.value() < slots) { backlog.pop(now) } else { None }
    }

    #[inline(always)]
    fn begin(&mut self, now: SimTime, ask: &Ask, attempt: u32) -> Work {
        self.busy.up(now, 1);
        if self.outage {
            return Work { takes: Nanos::ZERO, fails: true };
        }
        let mut takes = self.service.time(ask, attempt);
        if self.is_paced {
            let load = 1.0 + self.load_factor * self.busy.value() as f64;
            takes = Nanos::from_f64(takes.0 as f64 * self.slowdown * load);
        }
        let fails = self.error_rate > 0.0 && ask.dice.share(Purpose::Error, attempt) < self.error_rate;
        Work { takes, fails }
    }

    #[inline]
    fn leave(&mut self, now: SimTime, _place: u32) {
        self.busy.down(now, 1);
    }

    fn withdraw(&mut self, now: SimTime, place: u32) {
        if let Some(backlog) = &mut self.backlog {
            backlog.remove(now, place);
        }
    }

    fn busy(&self) -> u64 {
        self.busy.value()
    }

    fn backlog(&self) -> u64 {
        self.backlog.as_ref().map_or(0, |backlog| backlog.len())
    }

    fn slots(&self) -> Option<u64> {
        self.slots
    }

    fn capacity(&self) -> Option<u64> {
        let inside = self.backlog.as_ref().map_or(Some(0), |backlog| backlog.most)?;
        self.slots?.checked_add(inside)
    }

    fn change(&mut self, now: SimTime, knob: Knob) -> Effect {
        match knob {
            Knob::Slowdown(factor) => {
                let stretch = factor / self.slowdown;
                self.slowdown = factor;
                self.is_paced = factor != 1.0 || self.load_factor != 0.0;
                if self.stretch_running && stretch != 1.0 { Effect::Stretch(stretch) } else { Effect::None }
            }
            Knob::Concurrency(slots) => {
                self.slots = slots;
                self.was_unlimited |= slots.is_none();
                self.capacity.set(now, slots.unwrap_or(0));
                Effect::None
            }
            Knob::ErrorRate(share) => {
                self.error_rate = share;
                Effect::None
            }
            Knob::Outage(outage) => {
                let begins = outage && !self.outage;
                self.outage = outage;
                if begins { Effect::Crash } else { Effect::None }
            }
            _ => Effect::None,
        }
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) -> Use {
        let (busy, capacity) = (self.busy.read(now), self.capacity.read(now));
        visit("busy", busy);
        if self.slots.is_some() {
            visit("slots", capacity);
        }
        if let Some(backlog) = &mut self.backlog {
            visit("backlog", backlog.read(now));
        }
        let was_unlimited = std::mem::replace(&mut self.was_unlimited, self.slots.is_none());
        Use { busy: busy.area, capacity: (!was_unlimited).then_some(capacity.area) }
    }
}
