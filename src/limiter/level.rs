//! What is left of a limit, and how it grows by itself.

use crate::time::SimTime;

/// What is left: it grows in a straight line up to full, until it jumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Credits left; below zero in debt.
    pub credits: i128,
    /// Credits when nothing is used.
    pub full: i128,
    /// Credits gained per nanosecond.
    pub gain: u64,
    /// Credits per unit.
    pub price: u64,
    /// The first later instant at which the line no longer holds; `None` if it does for good.
    pub until: Option<SimTime>,
}

impl Level {
    /// When it is full by its line, if that is before the end of time.
    pub fn full_at(&self, now: SimTime) -> Option<SimTime> {
        let lack = u128::try_from(self.full.saturating_sub(self.credits)).unwrap_or(0);
        if lack == 0 {
            return Some(now);
        }
        let wait = lack.checked_add(self.gain.checked_sub(1)? as u128)? / self.gain as u128;
        now.0.checked_add(u64::try_from(wait).ok()?).map(SimTime)
    }

    /// Units left, for statistics and reports.
    pub fn units(&self) -> f64 {
        self.credits as f64 / self.price as f64
    }
}
