//! The use of a processor, as it is modelled: busy slots of the downstream, looked at now and then and averaged.
//!
//! At each tick: use ← ⌊0.95 · use + 0.05 · busy / slots⌋ in thousandths, the share being cut to whole thousandths and
//! to 1000. A downstream without bound is never busy. Source: go-kratos/aegis, `bbr.go`; go-zero, `usage.go`; both
//! take the same average of what their operating system tells them.

use super::Scene;
use crate::time::{Nanos, SimTime};

/// The average so far.
#[derive(Clone, Debug)]
pub struct Cpu {
    every: Nanos,
    next: SimTime,
    permille: u64,
}

impl Cpu {
    /// A processor that has done nothing yet.
    pub fn new(every: Nanos) -> Cpu {
        Cpu { every, next: SimTime::ZERO.saturating_add(every), permille: 0 }
    }

    /// Its use in thousandths.
    pub fn permille(&self) -> u64 {
        self.permille
    }

    /// When it is looked at next.
    pub fn next(&self) -> SimTime {
        self.next
    }

    /// Looks at it.
    pub fn tick(&mut self, now: SimTime, scene: &Scene) {
        self.permille = (self.permille as f64 * 0.95 + busy_permille(scene) as f64 * (1.0 - 0.95)) as u64;
        self.next = now.saturating_add(self.every);
    }
}

/// Busy slots in whole thousandths of all, cut, 1000 at most.
pub(super) fn busy_permille(scene: &Scene) -> u64 {
    match scene.slots {
        None => 0,
        Some(0) => 1000,
        Some(slots) => (u128::from(scene.busy) * 1000 / u128::from(slots)).min(1000) as u64,
    }
}
