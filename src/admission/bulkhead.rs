//! Bulkheads between classes of work, with slots that are guaranteed and slots that are lent.
//!
//! Of `limit` slots each class has some *guaranteed*; what nobody has is common. A class below its guarantee may start
//! while any slot is free. Beyond it, work *borrows*: that may start while all that is borrowed is less than what is
//! common and what the others lend, which is their idle guaranteed slots, up to `lend` of each, but for those for whom
//! work of theirs already waits (`reclaim = "waiting"`). So when a class's demand grows, new borrowed work stops until
//! its guarantee is restored, and nothing that runs is ended: the longest borrowed service time later it has its slots.
//! With `lend = 0` everywhere it is a static partition. `borrow` bounds what one class has beyond its guarantee. The
//! edge: a limit lowered below what is in use ends nothing. Sources: M. Nygard, Release It!, 2007, for bulkheads; the
//! borrowing of Kubernetes' priority levels and of class-based queueing (S. Floyd, V. Jacobson, 1995), without
//! pre-emption.

use super::{Admission, Answer, Cast, Denial, Entrant, Habits, Plan};
use crate::gauge::{Gauge, Reading};
use crate::request::{ClassId, End, Knob, Reason};
use crate::time::SimTime;

/// A class's part, as it is described.
#[derive(Clone, Debug)]
pub struct Share {
    /// The class, by name.
    pub class: String,
    /// Slots that it has whenever it wants them, but for what is lent at that moment.
    pub guaranteed: u64,
    /// How many of those others may use while they are idle; `None` is all.
    pub lend: Option<u64>,
    /// How many it may have beyond them; `None` is any.
    pub borrow: Option<u64>,
    /// Whether those of its work that wait count as its demand.
    pub reclaims: bool,
}

/// A bulkhead, as it is described.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Slots of all classes together.
    pub limit: u64,
    /// The classes that have a part; the others borrow.
    pub shares: Vec<Share>,
}

impl Plan for Settings {
    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        let parts = cast.classes.iter().map(|class| {
            let share = self.shares.iter().find(|share| share.class == *class);
            share.map_or(Part::default(), |share| Part {
                guaranteed: share.guaranteed,
                lend: share.lend.unwrap_or(share.guaranteed),
                borrow: share.borrow.unwrap_or(u64::MAX),
                reclaims: share.reclaims,
                ..Part::default()
            })
        });
        Box::new(Bulkhead::new(self.limit, parts.collect()))
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        (key == "limit").then_some(Knob::Limit(Some(self.limit)))
    }
}

/// A class's part at work.
#[derive(Clone, Debug)]
struct Part {
    guaranteed: u64,
    lend: u64,
    borrow: u64,
    reclaims: bool,
    in_use: u64,
    waiting: u64,
}

impl Default for Part {
    fn default() -> Part {
        Part { guaranteed: 0, lend: 0, borrow: u64::MAX, reclaims: true, in_use: 0, waiting: 0 }
    }
}

impl Part {
    fn borrowed(&self) -> u64 {
        self.in_use.saturating_sub(self.guaranteed)
    }

    /// What it would lend now, of which some may be lent.
    fn lends(&self) -> u64 {
        let waiting = if self.reclaims { self.waiting } else { 0 };
        self.guaranteed.saturating_sub(self.in_use).saturating_sub(waiting).min(self.lend)
    }
}

/// A bulkhead at work.
#[derive(Clone, Debug)]
pub struct Bulkhead {
    limit: u64,
    /// By class.
    parts: Vec<Part>,
    in_use: Gauge,
    /// What is borrowed in all.
    borrowed: Gauge,
}

impl Bulkhead {
    fn new(limit: u64, parts: Vec<Part>) -> Bulkhead {
        Bulkhead { limit, parts, in_use: Gauge::new(0), borrowed: Gauge::new(0) }
    }

    fn part(&self, class: ClassId) -> &Part {
        &self.parts[class.0 as usize]
    }

    /// Which bound keeps one more of a class out; `None` if none does.
    fn bound(&self, class: ClassId) -> Option<&'static str> {
        if self.limit <= self.in_use.value() {
            return Some("limit");
        }
        let part = self.part(class);
        if part.in_use < part.guaranteed {
            return None;
        }
        if part.borrow <= part.borrowed() {
            return Some("borrow");
        }
        let guaranteed: u64 = self.parts.iter().map(|part| part.guaranteed).sum();
        let common = self.limit.saturating_sub(guaranteed);
        let lent: u64 = self.parts.iter().map(Part::lends).sum();
        (common + lent <= self.borrowed.value()).then_some("guaranteed")
    }

    fn count(&mut self, now: SimTime, class: ClassId, change: impl FnOnce(&mut u64)) {
        let part = &mut self.parts[class.0 as usize];
        let before = part.borrowed();
        change(&mut part.in_use);
        let after = part.borrowed();
        self.borrowed.set(now, self.borrowed.value() + after - before);
    }
}

impl Admission for Bulkhead {
    fn habits(&self) -> Habits {
        Habits { minds_queue: true, ..Habits::default() }
    }

    fn admit(&self, _now: SimTime, entrant: &Entrant<'_>) -> Answer {
        if self.bound(entrant.ask.class).is_none() { Answer::Pass } else { Answer::Wait }
    }

    fn take(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        if entrant.queued {
            self.gave_up(now, entrant);
        }
        self.in_use.up(now, 1);
        self.count(now, entrant.ask.class, |in_use| *in_use += 1);
    }

    fn settle(&mut self, now: SimTime, entrant: &Entrant<'_>, _end: End) {
        self.in_use.down(now, 1);
        self.count(now, entrant.ask.class, |in_use| *in_use -= 1);
    }

    fn waits(&mut self, _now: SimTime, entrant: &Entrant<'_>) {
        self.parts[entrant.ask.class.0 as usize].waiting += 1;
    }

    fn gave_up(&mut self, _now: SimTime, entrant: &Entrant<'_>) {
        self.parts[entrant.ask.class.0 as usize].waiting -= 1;
    }

    fn per_key(&self) -> bool {
        true
    }

    fn denial(&self, _now: SimTime, entrant: &Entrant<'_>) -> Denial {
        Denial { reason: Reason::Concurrency, scope: self.bound(entrant.ask.class).unwrap_or("") }
    }

    fn limit(&self) -> Option<u64> {
        Some(self.limit)
    }

    fn change(&mut self, _now: SimTime, knob: Knob) {
        if let Knob::Limit(limit) = knob {
            self.limit = limit.unwrap_or(u64::MAX);
        }
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
        visit("borrowed", self.borrowed.read(now));
    }
}
