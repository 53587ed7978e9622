//! What is counted for a class, and what stands in it at any time.

use super::From;
use crate::gauge::Gauge;
use crate::observe::layout::{GateLayout, Layout};
use crate::observe::percentiles::{Sketch, Total};
use crate::observe::rows::{Count, Tokens};
use crate::request::Reason;
use crate::time::SimTime;

/// Outcomes without a reason: those of service, in the order of [`Served`](super::Served), then the others.
pub(super) const PLAIN: [&str; 6] = ["goodput", "wasted", "failed", "cancelled", "abandoned", "unfinished"];
pub(super) const ABANDONED: usize = 4;
pub(super) const UNFINISHED: usize = 5;

/// One class.
pub(super) struct Book {
    /// Of the calls born in the main phase, and of those born in the warm-up.
    pub(super) ledgers: [Ledger; 2],
    pub(super) standing: Standing,
}

/// What is counted in an interval for one class of calls born in one part of the run.
pub(super) struct Ledger {
    /// What is counted as it happens; what follows from something else is left at 0, see [`Ledger::counts`].
    happened: [u64; Count::LEN],
    /// How attempts ended, by gate.
    pub(super) ends: Vec<Ends>,
    pub(super) tokens: Tokens,
    pub(super) queue_wait: Sketch,
    pub(super) latency: Sketch,
    pub(super) service: Sketch,
}

/// How attempts ended that were meant for one gate.
#[derive(Clone)]
pub(super) struct Ends {
    /// Without a reason, as in [`PLAIN`].
    pub(super) plain: [u64; PLAIN.len()],
    /// Turned away, by stage and reason.
    pub(super) rejected: Vec<[u64; Reason::NAMES.len()]>,
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

impl Book {
    pub(super) fn new(layout: &Layout) -> Book {
        let main = Ledger::new(layout, Sketch::with_total);
        let warm = Ledger::new(layout, Sketch::new);
        Book { ledgers: [main, warm], standing: Standing::default() }
    }

    /// Waits and latencies of all calls that were born in the main phase.
    pub(super) fn totals(&self) -> [Total; 2] {
        let main = &self.ledgers[0];
        [&main.queue_wait, &main.latency].map(|sketch| sketch.total().cloned().unwrap_or_default())
    }
}

impl Ledger {
    /// An empty ledger, with sketches as `sketch` makes them; that of service times never needs its total.
    fn new(layout: &Layout, sketch: fn() -> Sketch) -> Ledger {
        Ledger {
            happened: [0; Count::LEN],
            ends: layout.gates.iter().map(Ends::new).collect(),
            tokens: Tokens::default(),
            queue_wait: sketch(),
            latency: sketch(),
            service: Sketch::new(),
        }
    }

    #[inline(always)]
    pub(super) fn count(&mut self, count: Count) {
        self.happened[count as usize] += 1;
    }

    /// All counts: what was offered is what was offered for the first time and again, and the rest that isn't counted
    /// as it happens is how attempts ended.
    pub(super) fn counts(&self) -> [u64; Count::LEN] {
        let mut counts = self.happened;
        let [goodput, wasted, failed, cancelled, _, unfinished] =
            std::array::from_fn(|slot| self.ends.iter().map(|ends| ends.plain[slot]).sum::<u64>());
        let mut set = |count: Count, value| counts[count as usize] = value;
        set(Count::Offered, self.happened[Count::First as usize] + self.happened[Count::Retry as usize]);
        set(Count::Goodput, goodput);
        set(Count::Wasted, wasted);
        set(Count::Completed, goodput + wasted);
        set(Count::Failed, failed);
        set(Count::Cancelled, cancelled);
        set(Count::Unfinished, unfinished);
        for (_, reason) in Reason::NAMES {
            let of_stage = |stage: &[u64; Reason::NAMES.len()]| stage[reason as usize];
            let rejected = self.ends.iter().flat_map(|ends| &ends.rejected).map(of_stage).sum();
            set(Count::of(reason), rejected);
        }
        counts
    }

    /// Whether nothing has a value to summarise.
    pub(super) fn is_silent(&self) -> bool {
        self.queue_wait.is_empty() && self.latency.is_empty() && self.service.is_empty()
    }

    pub(super) fn absorb(&mut self, other: &Ledger) {
        self.queue_wait.absorb(&other.queue_wait);
        self.latency.absorb(&other.latency);
        self.service.absorb(&other.service);
    }

    /// Starts the next interval.
    pub(super) fn clear(&mut self) {
        self.happened = [0; Count::LEN];
        self.ends.iter_mut().for_each(Ends::clear);
        self.tokens = Tokens::default();
    }
}

impl Ends {
    fn new(gate: &GateLayout) -> Ends {
        Ends { plain: [0; PLAIN.len()], rejected: vec![[0; Reason::NAMES.len()]; gate.stages.len()] }
    }

    fn clear(&mut self) {
        self.plain = [0; PLAIN.len()];
        self.rejected.fill([0; Reason::NAMES.len()]);
    }
}

impl Standing {
    #[inline(always)]
    pub(super) fn leave(&mut self, now: SimTime, from: From) {
        match from {
            From::Arrival => {}
            From::Queue => self.depth.down(now, 1),
            From::Deferred => self.deferred.down(now, 1),
        }
    }
}
