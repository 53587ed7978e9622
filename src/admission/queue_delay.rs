//! Sheds while the one whose turn it is has waited too long.
//!
//! One who comes is shed if the wait of the first in the queue is above its threshold: `threshold` for the most important
//! classes, and a `step` less for each priority below the highest, so that the least important go first. The edge: a wait
//! of exactly the threshold passes. Source: the queue-delay threshold of B. Cho and others, Overload Control for µs-scale
//! RPCs with Breakwater, OSDI 2020 (its active queue management), and SEDA (M. Welsh, 2001).

use super::{Admission, Cast, Denial, Entrant, Habits, Plan, Scene};
use crate::gauge::{Gauge, Reading};
use crate::request::{End, Reason};
use crate::time::{Nanos, SimTime};

/// A shedder, as it is described.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The longest wait that is put up with.
    pub threshold: Nanos,
    /// So much less for each priority below the highest.
    pub step: Nanos,
}

impl Plan for Settings {
    fn looks_at_priority(&self) -> bool {
        self.step > Nanos::ZERO
    }

    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        let highest = cast.priorities.iter().copied().max().unwrap_or(0);
        let threshold = |priority: &i32| {
            let below = highest.abs_diff(*priority).into();
            Nanos(self.threshold.0.saturating_sub(self.step.0.saturating_mul(below)))
        };
        let thresholds = cast.priorities.iter().map(threshold).collect();
        Box::new(QueueDelay { thresholds, in_use: Gauge::new(0), delay: Nanos::ZERO })
    }
}

/// A shedder at work.
#[derive(Clone, Debug)]
pub struct QueueDelay {
    /// By class.
    thresholds: Vec<Nanos>,
    in_use: Gauge,
    /// As it was last seen.
    delay: Nanos,
}

impl Admission for QueueDelay {
    fn habits(&self) -> Habits {
        Habits { sheds: true, ..Habits::default() }
    }

    fn sheds(&mut self, _now: SimTime, entrant: &Entrant<'_>, scene: &Scene) -> Option<Denial> {
        self.delay = scene.delay;
        let sheds = self.thresholds[entrant.ask.class.0 as usize] < scene.delay;
        sheds.then_some(Denial::of(Reason::Shed))
    }

    fn take(&mut self, now: SimTime, _entrant: &Entrant<'_>) {
        self.in_use.up(now, 1);
    }

    fn settle(&mut self, now: SimTime, _entrant: &Entrant<'_>, _end: End) {
        self.in_use.down(now, 1);
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
        visit("delay_ms", Reading::of(self.delay.0 as f64 / 1e6));
    }
}
