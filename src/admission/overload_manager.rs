//! Envoy's overload manager: pressure of a resource, and a probability that grows with it.
//!
//! Every `refresh_interval` the pressure p of the resource is read. With `threshold` the state is 1 from there on, else 0;
//! with `scaling_threshold` and `saturation_threshold` it is (p − scaling) / (saturation − scaling), held within 0 and 1.
//! One who comes is shed with that probability (the action `stop_accepting_requests`). The pressure is modelled: `busy` is
//! busy slots over all, `waiting` what waits over `max_waiting`. Source: Envoy, `overload_manager_impl.cc`, API v3
//! `OverloadManager`.

use super::chance::Chance;
use super::cpu::busy_permille;
use super::{Admission, Cast, Denial, Entrant, Habits, Plan, Scene};
use crate::gauge::{Gauge, Reading};
use crate::request::{End, Reason};
use crate::time::{Nanos, SimTime};

/// A manager, as it is described.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How often the pressure is read.
    pub refresh_interval: Nanos,
    /// Of what.
    pub resource: Resource,
    /// What the state follows.
    pub trigger: Trigger,
}

/// What is under pressure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The downstream's slots.
    Busy,
    /// Room for those that wait, in the queue and inside the downstream.
    Waiting {
        /// So many are the whole.
        most: u64,
    },
}

/// From pressure to state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trigger {
    /// All from this pressure on.
    Threshold(f64),
    /// None up to the first, all from the second on.
    Scaled(f64, f64),
}

impl Settings {
    /// The state under a pressure.
    pub fn state(&self, pressure: f64) -> f64 {
        match self.trigger {
            Trigger::Threshold(threshold) => f64::from(u8::from(threshold <= pressure)),
            Trigger::Scaled(scaling, saturation) => {
                ((pressure - scaling) / (saturation - scaling)).clamp(0.0, 1.0)
            }
        }
    }
}

impl Plan for Settings {
    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        let next = SimTime::ZERO.saturating_add(self.refresh_interval);
        let (settings, chance) = (self.clone(), Chance::new(cast));
        Box::new(OverloadManager { settings, chance, state: 0.0, in_use: Gauge::new(0), next })
    }
}

/// A manager at work.
#[derive(Clone, Debug)]
pub struct OverloadManager {
    settings: Settings,
    chance: Chance,
    state: f64,
    in_use: Gauge,
    next: SimTime,
}

impl Admission for OverloadManager {
    fn habits(&self) -> Habits {
        Habits { sheds: true, keeps_time: true, ..Habits::default() }
    }

    fn sheds(&mut self, _now: SimTime, entrant: &Entrant<'_>, _scene: &Scene) -> Option<Denial> {
        (self.chance.draw(entrant) < self.state).then_some(Denial::of(Reason::Shed))
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
        let pressure = match self.settings.resource {
            Resource::Busy => busy_permille(scene) as f64 / 1000.0,
            Resource::Waiting { most } => (scene.waiting + scene.backlog) as f64 / most as f64,
        };
        self.state = self.settings.state(pressure);
        self.next = now.saturating_add(self.settings.refresh_interval);
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
        visit("state", Reading::of(self.state));
    }
}
