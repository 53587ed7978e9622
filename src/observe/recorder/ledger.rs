//! What is counted for a class, and what stands in it at any time.

use super::From;
use crate::gauge::Gauge;
use crate::observe::percentiles::Sketch;
use crate::observe::rows::{Count, Tokens};
use crate::time::SimTime;

/// What is counted for one class of calls born in one part of the run.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    pub(super) counts: [u64; Count::LEN],
    pub(super) tokens: Tokens,
    pub(super) queue_wait: Sketch,
    pub(super) latency: Sketch,
    pub(super) service: Sketch,
}

/// What stands at any time in one class.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    pub(super) depth: Gauge,
    pub(super) in_flight: Gauge,
    pub(super) tokens: Gauge,
    /// Depth and work in flight when the interval began, for the accounts.
    pub(super) began: (u64, u64),
    pub(super) deferred: Gauge,
    pub(super) began_deferred: u64,
}

impl Standing {
    #[inline]
    pub(super) fn leave(&mut self, now: SimTime, from: From) {
        match from {
            From::Arrival => {}
            From::Queue => self.depth.down(now, 1),
            From::Deferred => self.deferred.down(now, 1),
        }
    }
}

impl Ledger {
    pub(super) fn any(&self) -> bool {
        !(self.queue_wait.is_empty() && self.latency.is_empty() && self.service.is_empty())
            || self.counts.iter().any(|count| *count > 0)
    }

    pub(super) fn absorb(&mut self, other: &Ledger) {
        self.queue_wait.absorb(&other.queue_wait);
        self.latency.absorb(&other.latency);
        self.service.absorb(&other.service);
    }

    pub(super) fn clear(&mut self) {
        for sketch in [&mut self.queue_wait, &mut self.latency, &mut self.service] {
            sketch.take(None, |_, _| ());
        }
        self.counts = [0; Count::LEN];
        self.tokens = Tokens::default();
    }
}
