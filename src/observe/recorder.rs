//! The recorder: counts what happens to attempts, checks the accounts, and makes the rows of each interval.

mod accounts;
mod intervals;
mod ledger;

use super::layout::Layout;
use super::percentiles::Sketch;
use super::rows::{Count, Sink, Tokens};
use super::totals::Totals;
use crate::gauge::Gauge;
use crate::problem::Problem;
use crate::request::{Ask, ClassId, Reason, Unit};
use crate::time::{Nanos, SimTime};
pub(super) use intervals::utilization;
use ledger::{Ledger, Standing};

/// Where an attempt was before something happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// It has just arrived.
    Arrival,
    /// It waited in the queue.
    Queue,
    /// It was parked.
    Deferred,
}

/// Who turned an attempt away, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refuser {
    /// The gate's number.
    pub gate: usize,
    /// The stage's number in [`GateLayout::stages`](super::GateLayout).
    pub stage: usize,
    /// Why.
    pub reason: Reason,
}

/// How service ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Served {
    /// Well, in time.
    Goodput,
    /// Well, for nobody.
    Wasted,
    /// Not well.
    Failed,
    /// Taken back.
    Cancelled,
}

impl Served {
    /// The name that files give it.
    pub fn name(self) -> &'static str {
        PLAIN[self as usize]
    }
}

/// Outcomes without a reason, in the order of their slots in the outcome table.
const PLAIN: [&str; 6] = ["goodput", "wasted", "failed", "cancelled", "abandoned", "unfinished"];
const ABANDONED: usize = 4;
const UNFINISHED: usize = 5;

/// Which ledger a call counts in: its class, and whether it was born in the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LedgerId {
    ledger: u16,
    class: u16,
}

/// See the module.
pub struct Recorder {
    layout: Layout,
    /// Calls of the main phase by class, then, if there is a warm-up, those that were born in it.
    ledgers: Vec<Ledger>,
    standing: Vec<Standing>,
    outcomes: Vec<u64>,
    /// Where the outcomes of each gate begin in the part of one class.
    gate_offsets: Vec<usize>,
    outcome_width: usize,
    limit: Option<Gauge>,
    totals: Totals,
    index: u64,
    start: SimTime,
    fingerprint: u64,
    /// Attempts in the system times nanoseconds, and the times that they spent in it: equal when it is empty.
    area: u128,
    sojourns: u128,
    /// Attempts that wait in any class, and the most that did in this interval.
    waiting: u64,
    most_waiting: u64,
}

impl Recorder {
    /// A recorder before anything has happened. `limit` is the policy's limit on work in flight.
    pub fn new(layout: Layout, limit: Option<u64>) -> Recorder {
        let classes = layout.classes.len();
        let ledgers = if layout.warmup.0 > 0 { 2 * classes } else { classes };
        let mut gate_offsets = Vec::new();
        let mut outcome_width = 0;
        for gate in &layout.gates {
            gate_offsets.push(outcome_width);
            outcome_width += PLAIN.len() + gate.stages.len() * Reason::NAMES.len();
        }
        let ledger = Ledger {
            counts: [0; Count::LEN],
            tokens: Tokens::default(),
            queue_wait: Sketch::new(),
            latency: Sketch::new(),
            service: Sketch::new(),
        };
        Recorder {
            ledgers: vec![ledger; ledgers],
            standing: vec![Standing::default(); classes],
            outcomes: vec![0; outcome_width * classes],
            gate_offsets,
            outcome_width,
            limit: limit.map(Gauge::new),
            totals: Totals::new(&layout),
            index: 0,
            start: SimTime::ZERO,
            fingerprint: 0,
            area: 0,
            sojourns: 0,
            waiting: 0,
            most_waiting: 0,
            layout,
        }
    }

    /// The names and times.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The totals of the run so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The hash of all facts so far, in order.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Adds a fact to the fingerprint: a multiplication and a rotation, as in FxHash.
    #[inline(always)]
    pub fn fact(&mut self, time: SimTime, what: u64) {
        let mixed = (self.fingerprint ^ time.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ what;
        self.fingerprint = mixed.rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }

    /// The ledger of a call of `class` that is born at `now`.
    #[inline(always)]
    pub fn ledger(&self, class: ClassId, now: SimTime) -> LedgerId {
        let warm = now.0 < self.layout.warmup.0;
        LedgerId { ledger: class.0 + if warm { self.standing.len() as u16 } else { 0 }, class: class.0 }
    }

    #[inline(always)]
    fn count(&mut self, id: LedgerId, count: Count) {
        self.ledgers[id.ledger as usize].counts[count as usize] += 1;
    }

    #[inline(always)]
    fn outcome(&mut self, id: LedgerId, gate: usize, slot: usize) {
        let index = id.class as usize * self.outcome_width + self.gate_offsets[gate] + slot;
        self.outcomes[index] += 1;
    }

    /// A call was born.
    #[inline(always)]
    pub fn born(&mut self, id: LedgerId, ask: &Ask) {
        if id.ledger == id.class {
            self.totals.born(id.ledger as usize, ask);
        }
    }

    /// An attempt arrived.
    #[inline(always)]
    pub fn offered(&mut self, id: LedgerId, first: bool, ask: &Ask) {
        let ledger = &mut self.ledgers[id.ledger as usize];
        ledger.counts[Count::Offered as usize] += 1;
        ledger.counts[if first { Count::First } else { Count::Retry } as usize] += 1;
        if self.layout.tokens {
            ledger.tokens.offered += ask.estimate(Unit::Tokens);
        }
    }

    /// An attempt started, having waited so long in the queue.
    #[inline(always)]
    pub fn admitted(&mut self, now: SimTime, id: LedgerId, from: From, waited: Nanos, ask: &Ask) {
        let class = id.class as usize;
        let ledger = &mut self.ledgers[id.ledger as usize];
        let standing = &mut self.standing[class];
        let count = match from {
            From::Arrival => Count::AdmittedDirect,
            From::Queue => Count::AdmittedFromQueue,
            From::Deferred => Count::AdmittedFromDeferred,
        };
        ledger.counts[count as usize] += 1;
        ledger.queue_wait.add(waited.0);
        self.sojourns += waited.0 as u128;
        standing.leave(now, from);
        self.waiting -= u64::from(from == From::Queue);
        standing.in_flight.up(now, 1);
        if self.layout.tokens {
            let tokens = ask.estimate(Unit::Tokens);
            ledger.tokens.reserved += tokens;
            standing.tokens.up(now, tokens);
        }
    }

    /// An attempt began to wait in the queue.
    #[inline(always)]
    pub fn enqueued(&mut self, now: SimTime, id: LedgerId, from: From) {
        let class = id.class as usize;
        self.count(
            id,
            if from == From::Deferred { Count::EnqueuedFromDeferred } else { Count::EnqueuedDirect },
        );
        self.standing[class].leave(now, from);
        self.waiting -= u64::from(from == From::Queue);
        self.standing[class].depth.up(now, 1);
        self.waiting += 1;
        self.most_waiting = self.most_waiting.max(self.waiting);
    }

    /// An attempt was parked by a limiter.
    pub fn deferred(&mut self, now: SimTime, id: LedgerId) {
        let class = id.class as usize;
        self.count(id, Count::Deferred);
        self.standing[class].deferred.up(now, 1);
    }

    /// An attempt that had been in the system for so long was turned away by stage `stage` of the gate.
    #[inline]
    pub fn rejected(&mut self, now: SimTime, id: LedgerId, from: From, waited: Nanos, by: Refuser) {
        let class = id.class as usize;
        let count = match from {
            From::Arrival => Count::RejectedAtArrival,
            From::Queue => Count::RejectedFromQueue,
            From::Deferred => Count::RejectedFromDeferred,
        };
        self.count(id, count);
        self.count(id, Count::of(by.reason));
        self.sojourns += waited.0 as u128;
        self.standing[class].leave(now, from);
        self.waiting -= u64::from(from == From::Queue);
        self.outcome(id, by.gate, PLAIN.len() + by.stage * Reason::NAMES.len() + by.reason as usize);
    }

    /// An attempt left service after so long.
    #[inline(always)]
    pub fn served(&mut self, now: SimTime, id: LedgerId, gate: usize, how: Served, took: Nanos, ask: &Ask) {
        let class = id.class as usize;
        let ledger = &mut self.ledgers[id.ledger as usize];
        let standing = &mut self.standing[class];
        match how {
            Served::Goodput | Served::Wasted => {
                ledger.counts[Count::Completed as usize] += 1;
                let count = if how == Served::Goodput { Count::Goodput } else { Count::Wasted };
                ledger.counts[count as usize] += 1;
            }
            Served::Failed => ledger.counts[Count::Failed as usize] += 1,
            Served::Cancelled => ledger.counts[Count::Cancelled as usize] += 1,
        }
        if how != Served::Cancelled {
            ledger.service.add(took.0);
        }
        self.sojourns += took.0 as u128;
        standing.in_flight.down(now, 1);
        if self.layout.tokens {
            let reserved = ask.estimate(Unit::Tokens);
            let actual = match how {
                Served::Goodput | Served::Wasted => ask.actual(Unit::Tokens),
                Served::Failed | Served::Cancelled => 0,
            };
            ledger.tokens.settled += actual;
            ledger.tokens.refunded += reserved.saturating_sub(actual);
            standing.tokens.down(now, reserved);
        }
        self.outcome(id, gate, how as usize);
    }

    /// A call was answered well, so long after its birth.
    #[inline(always)]
    pub fn answered(&mut self, id: LedgerId, latency: Nanos, ask: &Ask) {
        self.ledgers[id.ledger as usize].latency.add(latency.0);
        if id.ledger == id.class {
            self.totals.answered(ask);
        }
    }

    /// A caller's timer fired.
    #[inline]
    pub fn timed_out(&mut self, id: LedgerId) {
        self.count(id, Count::TimedOut);
    }

    /// An attempt that had not started left because its caller had stopped waiting.
    pub fn abandoned(&mut self, now: SimTime, id: LedgerId, from: From, waited: Nanos, gate: usize) {
        let class = id.class as usize;
        self.sojourns += waited.0 as u128;
        self.count(
            id,
            if from == From::Deferred { Count::AbandonedDeferred } else { Count::AbandonedQueued },
        );
        self.standing[class].leave(now, from);
        self.waiting -= u64::from(from == From::Queue);
        self.outcome(id, gate, ABANDONED);
    }

    /// An attempt was alive when the run was cut off.
    pub fn unfinished(&mut self, id: LedgerId, gate: usize) {
        self.count(id, Count::Unfinished);
        self.outcome(id, gate, UNFINISHED);
    }

    /// The policy's limit on work in flight changed.
    pub fn limit(&mut self, now: SimTime, limit: Option<u64>) {
        match (&mut self.limit, limit) {
            (Some(gauge), Some(limit)) => gauge.set(now, limit),
            _ => self.limit = limit.map(|limit| Gauge::beginning(now, limit)),
        }
    }

    /// Hands the summary of the main phase to `sink`.
    pub fn summaries(&self, sink: &mut dyn Sink) -> Result<(), Problem> {
        self.totals.rows(&self.layout).iter().try_for_each(|row| sink.summary(row))
    }
}
