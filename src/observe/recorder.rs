//! The recorder: counts what happens to attempts, checks the accounts, and makes the rows of each interval.

mod accounts;
mod intervals;
mod ledger;

use super::layout::Layout;
use super::rows::{Count, EdgeCounts, EdgeRow, Sink};
use super::totals::Totals;
use crate::gauge::Gauge;
use crate::problem::Problem;
use crate::request::{Ask, ClassId, Reason, Unit};
use crate::time::{Nanos, SimTime};
pub(super) use intervals::utilization;
use ledger::{ABANDONED, Book, Ledger, PLAIN, Standing, UNFINISHED};

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
    /// Which of the stage's limits it was; empty if it has but one.
    pub scope: &'static str,
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

/// How long it took until service ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Since it started.
    pub took: Nanos,
    /// Since the call was born.
    pub since_birth: Nanos,
}

/// Which ledger a call counts in: that of its class, or of calls that downstreams make for its class; and whether it was
/// born in the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LedgerId {
    book: u16,
    warm: bool,
    /// Whether a downstream makes the call.
    inner: bool,
}

/// See the module.
pub struct Recorder {
    layout: Layout,
    /// By class; then, in a call graph, by class those of calls that downstreams make.
    books: Vec<Book>,
    /// How many classes there are.
    classes: u16,
    edges: Vec<EdgeCounts>,
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
        Recorder {
            books: books(&layout),
            classes: layout.classes.len() as u16,
            edges: vec![EdgeCounts::default(); layout.edges.len()],
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

    /// The hash of all facts so far, in order.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Adds a fact to the fingerprint: a multiplication and a rotation, as in FxHash.
    #[inline(always)]
    pub fn fact(&mut self, time: SimTime, what: u64) {
        let mixed = (self.fingerprint ^ time.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.fingerprint = mixed.rotate_left(29) ^ what;
    }

    /// The ledger of a call of `class` that is born at `now`.
    #[inline(always)]
    pub fn ledger(&self, class: ClassId, now: SimTime) -> LedgerId {
        LedgerId { book: class.0, warm: now.0 < self.layout.warmup.0, inner: false }
    }

    /// The ledger of a call that a downstream makes for a call of that ledger, in that class.
    pub fn inner_ledger(&self, id: LedgerId, class: ClassId) -> LedgerId {
        LedgerId { book: self.classes + class.0, warm: id.warm, inner: true }
    }

    /// A downstream made a call over an edge.
    pub fn edge_called(&mut self, edge: u16, id: LedgerId) {
        self.edges[edge as usize].calls += u64::from(!id.warm);
    }

    /// An attempt of a call over an edge arrived.
    pub fn edge_tried(&mut self, edge: u16, id: LedgerId) {
        self.edges[edge as usize].attempts += u64::from(!id.warm);
    }

    /// A call over an edge was answered, or its client gave up.
    pub fn edge_answered(&mut self, edge: u16, id: LedgerId, well: bool) {
        let counts = &mut self.edges[edge as usize];
        *if well { &mut counts.answered } else { &mut counts.failed } += u64::from(!id.warm);
    }

    /// What is counted of the calls of a ledger, and what stands in its class.
    #[inline(always)]
    fn open(&mut self, id: LedgerId) -> (&mut Ledger, &mut Standing) {
        let book = &mut self.books[id.book as usize];
        (&mut book.ledgers[usize::from(id.warm)], &mut book.standing)
    }

    /// A call was born.
    #[inline(always)]
    pub fn born(&mut self, id: LedgerId, ask: &Ask) {
        if !id.warm {
            self.totals.born(ask);
        }
    }

    /// An attempt arrived.
    #[inline(always)]
    pub fn offered(&mut self, id: LedgerId, first: bool, ask: &Ask) {
        let tokens = self.layout.tokens;
        let (ledger, _) = self.open(id);
        ledger.count(if first { Count::First } else { Count::Retry });
        if tokens {
            ledger.tokens.offered += ask.estimate(Unit::Tokens);
        }
    }

    /// An attempt started, having waited so long in the queue.
    #[inline(always)]
    pub fn admitted(&mut self, now: SimTime, id: LedgerId, from: From, waited: Nanos, ask: &Ask) {
        let tokens = self.layout.tokens;
        let (ledger, standing) = self.open(id);
        ledger.count(match from {
            From::Arrival => Count::AdmittedDirect,
            From::Queue => Count::AdmittedFromQueue,
            From::Deferred => Count::AdmittedFromDeferred,
        });
        ledger.queue_wait.add(waited.0);
        standing.leave(now, from);
        standing.in_flight.up(now, 1);
        if tokens {
            let tokens = ask.estimate(Unit::Tokens);
            ledger.tokens.reserved += tokens;
            standing.tokens.up(now, tokens);
        }
        self.waiting -= u64::from(from == From::Queue && !id.inner);
    }

    /// An attempt began to wait in the queue.
    #[inline(always)]
    pub fn enqueued(&mut self, now: SimTime, id: LedgerId, from: From) {
        let (ledger, standing) = self.open(id);
        ledger.count(if from == From::Deferred {
            Count::EnqueuedFromDeferred
        } else {
            Count::EnqueuedDirect
        });
        standing.leave(now, from);
        standing.depth.up(now, 1);
        self.waiting += u64::from(from != From::Queue && !id.inner);
        self.most_waiting = self.most_waiting.max(self.waiting);
    }

    /// An attempt was parked by a limiter.
    pub fn deferred(&mut self, now: SimTime, id: LedgerId) {
        let (ledger, standing) = self.open(id);
        ledger.count(Count::Deferred);
        standing.deferred.up(now, 1);
    }

    /// An attempt that had been in the system for so long was turned away by stage `stage` of the gate.
    #[inline]
    pub fn rejected(&mut self, now: SimTime, id: LedgerId, from: From, waited: Nanos, by: Refuser) {
        let (ledger, standing) = self.open(id);
        ledger.count(match from {
            From::Arrival => Count::RejectedAtArrival,
            From::Queue => Count::RejectedFromQueue,
            From::Deferred => Count::RejectedFromDeferred,
        });
        ledger.ends[by.gate].rejected[by.stage][by.reason as usize] += 1;
        standing.leave(now, from);
        self.sojourns += waited.0 as u128;
        self.waiting -= u64::from(from == From::Queue && !id.inner);
    }

    /// An attempt left service after so long. What is good answers its call, so long after its birth.
    #[inline(always)]
    pub fn served(&mut self, now: SimTime, id: LedgerId, gate: usize, how: Served, times: Times, ask: &Ask) {
        let tokens = self.layout.tokens;
        let (ledger, standing) = self.open(id);
        ledger.ends[gate].plain[how as usize] += 1;
        standing.in_flight.down(now, 1);
        if tokens {
            let reserved = ask.estimate(Unit::Tokens);
            let actual = match how {
                Served::Goodput | Served::Wasted => ask.actual(Unit::Tokens),
                Served::Failed | Served::Cancelled => 0,
            };
            ledger.tokens.settled += actual;
            ledger.tokens.refunded += reserved.saturating_sub(actual);
            standing.tokens.down(now, reserved);
        }
        if how == Served::Cancelled {
            self.sojourns += times.took.0 as u128;
            return;
        }
        ledger.service.add(times.took.0);
        if how == Served::Goodput {
            ledger.latency.add(times.since_birth.0);
            if !id.warm && !id.inner {
                self.totals.answered(ask);
            }
        }
    }

    /// A caller's timer fired.
    #[inline]
    pub fn timed_out(&mut self, id: LedgerId) {
        self.open(id).0.count(Count::TimedOut);
    }

    /// An attempt that had not started left because its caller had stopped waiting.
    pub fn abandoned(&mut self, now: SimTime, id: LedgerId, from: From, waited: Nanos, gate: usize) {
        let (ledger, standing) = self.open(id);
        ledger.count(if from == From::Deferred { Count::AbandonedDeferred } else { Count::AbandonedQueued });
        ledger.ends[gate].plain[ABANDONED] += 1;
        standing.leave(now, from);
        self.sojourns += waited.0 as u128;
        self.waiting -= u64::from(from == From::Queue && !id.inner);
    }

    /// An attempt was alive when the run was cut off.
    pub fn unfinished(&mut self, id: LedgerId, gate: usize) {
        self.open(id).0.ends[gate].plain[UNFINISHED] += 1;
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
        let of_classes = &self.books[..self.classes as usize];
        let times: Vec<_> = of_classes.iter().map(Book::totals).collect();
        let rows = self.totals.rows(&self.layout, &times);
        rows.iter().try_for_each(|row| sink.summary(row))?;
        let calls = rows.first().map_or(0, |total| total.calls);
        for (layout, counts) in self.layout.edges.iter().zip(&self.edges) {
            sink.edge(&EdgeRow { edge: layout, counts: *counts, of_calls: calls })?;
        }
        Ok(())
    }
}

fn books(layout: &Layout) -> Vec<Book> {
    let inner = if layout.edges.is_empty() { 0 } else { layout.classes.len() };
    (0..layout.classes.len() + inner).map(|_| Book::new(layout)).collect()
}
