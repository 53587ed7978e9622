//! Sheds classes from the least important on while the downstream stays busy.
//!
//! Every `interval` the share of busy slots is looked at. Above `shed_above` one more tier of priorities is shed, below
//! `restore_below` one tier less, in between it stays, so that traffic comes back slowly; the highest tier is never shed.
//! Tiers are the priorities of the classes, in order. Source: P. Tarjan, Scaling your API with rate limiters (Stripe),
//! 2017: the worker utilization load shedder.

use super::cpu::busy_permille;
use super::{Admission, Cast, Denial, Entrant, Habits, Plan, Scene};
use crate::gauge::{Gauge, Reading};
use crate::request::{End, Reason};
use crate::time::{Nanos, SimTime};

/// A shedder, as it is described.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How often it looks.
    pub interval: Nanos,
    /// Above this share one more tier is shed.
    pub shed_above: f64,
    /// Below this share one tier less.
    pub restore_below: f64,
}

impl Plan for Settings {
    fn looks_at_priority(&self) -> bool {
        true
    }

    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        let mut tiers: Vec<i32> = cast.priorities.to_vec();
        tiers.sort_unstable();
        tiers.dedup();
        let tier = |priority: &i32| tiers.binary_search(priority).unwrap_or(0);
        Box::new(UtilizationShedder {
            settings: self.clone(),
            tier_of: cast.priorities.iter().map(tier).collect(),
            tiers: tiers.len(),
            shed: 0,
            in_use: Gauge::new(0),
            next: SimTime::ZERO.saturating_add(self.interval),
        })
    }
}

/// A shedder at work.
#[derive(Clone, Debug)]
pub struct UtilizationShedder {
    settings: Settings,
    /// By class, the least important first.
    tier_of: Vec<usize>,
    tiers: usize,
    /// So many of the least important tiers are shed.
    shed: usize,
    in_use: Gauge,
    next: SimTime,
}

impl Admission for UtilizationShedder {
    fn habits(&self) -> Habits {
        Habits { sheds: true, keeps_time: true, ..Habits::default() }
    }

    fn sheds(&mut self, _now: SimTime, entrant: &Entrant<'_>, _scene: &Scene) -> Option<Denial> {
        let sheds = self.tier_of[entrant.ask.class.0 as usize] < self.shed;
        sheds.then_some(Denial::of(Reason::Shed))
    }

    fn take(&mut self, now: SimTime, _entrant: &Entrant<'_>) {
        self.in_use.up(now, 1);
    }

    fn settle(&mut self, now: SimTime, _entrant: &Entrant<'_>, _end: End) {
        self.in_use.down(now, 1);
    }

    fn alarm(&self) -> Option<SimTime> {
        Some(self.next)
    }

    fn ring(&mut self, now: SimTime, scene: &Scene) {
        let busy = busy_permille(scene) as f64 / 1000.0;
        if self.settings.shed_above < busy {
            self.shed = (self.shed + 1).min(self.tiers.saturating_sub(1));
        } else if busy < self.settings.restore_below {
            self.shed = self.shed.saturating_sub(1);
        }
        self.next = now.saturating_add(self.settings.interval);
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
        visit("tiers_shed", Reading::of(self.shed as f64));
    }
}
