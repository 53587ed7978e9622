//! The saturation of a pool of model servers: work of negative priority is shed while it is one or more.
//!
//! - *utilization*: max(waiting / `queue_depth`, share of the cache in use / `kv_utilization`), each for one instance; work
//!   is taken to lie evenly on `instances`. What waits is what waits inside the downstream; the cache is modelled by the
//!   tokens in flight, input and largest output, over `kv_tokens` of an instance.
//! - *concurrency*: in flight / (`max_in_flight` · instances).
//!
//! Work of priority 0 or more passes whatever the saturation. With flow control nobody is shed: all wait, in whatever queue
//! there is, while the saturation is one or more, as it was last read, every `refresh`; so as many start between two
//! readings as there is room for elsewhere. Source: Gateway API Inference Extension, its saturation detectors and flow
//! control; BLIS, `gaie-legacy`.

use super::{Admission, Answer, Cast, Denial, Entrant, Habits, Plan, Scene};
use crate::gauge::{Gauge, Reading};
use crate::request::{End, Reason, Unit};
use crate::time::{Nanos, SimTime};

/// A detector, as it is described.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Servers of the pool, at least 1.
    pub instances: u64,
    /// What it looks at.
    pub detector: Detector,
    /// With flow control, how often it looks, above nothing.
    pub flow_control: Option<Nanos>,
}

/// What saturation is reckoned from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detector {
    /// What waits, and the cache.
    Utilization {
        /// So many waiting on an instance are saturation.
        queue_depth: u64,
        /// Such a share of the cache is.
        kv_utilization: f64,
        /// Tokens that an instance's cache holds; `None` never fills.
        kv_tokens: Option<u64>,
    },
    /// What is in flight.
    Concurrency {
        /// So many in flight on an instance are saturation.
        max_in_flight: u64,
    },
}

impl Plan for Settings {
    fn looks_at_priority(&self) -> bool {
        true
    }

    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        Box::new(GieSaturation {
            settings: self.clone(),
            sheddable: cast.priorities.iter().map(|priority| *priority < 0).collect(),
            in_use: Gauge::new(0),
            tokens: Gauge::new(0),
            saturation: 0.0,
            next: self.flow_control.map(|refresh| SimTime::ZERO.saturating_add(refresh)),
        })
    }
}

/// A detector at work.
#[derive(Clone, Debug)]
pub struct GieSaturation {
    settings: Settings,
    /// By class.
    sheddable: Vec<bool>,
    in_use: Gauge,
    tokens: Gauge,
    saturation: f64,
    /// When it looks again, with flow control.
    next: Option<SimTime>,
}

impl GieSaturation {
    fn saturation(&self, scene: &Scene) -> f64 {
        let each = |count: u64| count as f64 / self.settings.instances as f64;
        match self.settings.detector {
            Detector::Utilization { queue_depth, kv_utilization, kv_tokens } => {
                let cache = kv_tokens.map_or(0.0, |most| each(self.tokens.value()) / most as f64);
                (each(scene.backlog) / queue_depth as f64).max(cache / kv_utilization)
            }
            Detector::Concurrency { max_in_flight } => each(self.in_use.value()) / max_in_flight as f64,
        }
    }
}

impl Admission for GieSaturation {
    fn habits(&self) -> Habits {
        let controls_flow = self.next.is_some();
        Habits { sheds: !controls_flow, keeps_time: controls_flow, ..Habits::default() }
    }

    fn sheds(&mut self, _now: SimTime, entrant: &Entrant<'_>, scene: &Scene) -> Option<Denial> {
        self.saturation = self.saturation(scene);
        let sheds = 1.0 <= self.saturation && self.sheddable[entrant.ask.class.0 as usize];
        sheds.then_some(Denial { reason: Reason::Shed, scope: "saturation" })
    }

    fn admit(&self, _now: SimTime, _entrant: &Entrant<'_>) -> Answer {
        if self.next.is_some() && 1.0 <= self.saturation { Answer::Wait } else { Answer::Pass }
    }

    fn denial(&self, _now: SimTime, _entrant: &Entrant<'_>) -> Denial {
        Denial { reason: Reason::Shed, scope: "saturation" }
    }

    fn alarm(&self) -> Option<SimTime> {
        self.next
    }

    fn ring(&mut self, now: SimTime, scene: &Scene) {
        self.saturation = self.saturation(scene);
        self.next = self.settings.flow_control.map(|refresh| now.saturating_add(refresh));
    }

    fn take(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        self.in_use.up(now, 1);
        self.tokens.up(now, entrant.ask.estimate(Unit::Tokens));
    }

    fn settle(&mut self, now: SimTime, entrant: &Entrant<'_>, _end: End) {
        self.in_use.down(now, 1);
        self.tokens.down(now, entrant.ask.estimate(Unit::Tokens));
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
        visit("tokens_in_use", self.tokens.read(now));
        visit("saturation", Reading::of(self.saturation));
    }
}
