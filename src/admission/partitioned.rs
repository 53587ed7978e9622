//! Partitions of a limit that hold only when the whole of it is in use.
//!
//! Each class has max(1, ⌈limit · share⌉) slots, rounded up. While fewer than `limit` are in flight anyone may start;
//! from then on a class may start while it is below its own part, so that more than `limit` may be in flight. A class
//! without a part starts while fewer than `limit` are in flight. Source: Netflix concurrency-limits,
//! `AbstractPartitionedLimiter.java`.

use super::{Admission, Answer, Cast, Denial, Entrant, Plan};
use crate::gauge::{Gauge, Reading};
use crate::request::{ClassId, End, Knob, Reason};
use crate::time::SimTime;

/// Partitions, as they are described.
#[derive(Clone, Debug)]
pub struct Settings {
    /// In flight before partitions hold.
    pub limit: u64,
    /// Classes by name, with their shares of the limit.
    pub shares: Vec<(String, f64)>,
}

impl Plan for Settings {
    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        let share =
            |class: &String| self.shares.iter().find(|(name, _)| name == class).map(|(_, share)| *share);
        Box::new(Partitioned {
            limit: self.limit,
            parts: cast.classes.iter().map(|class| (share(class), 0)).collect(),
            in_use: Gauge::new(0),
        })
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        (key == "limit").then_some(Knob::Limit(Some(self.limit)))
    }
}

/// Partitions at work.
#[derive(Clone, Debug)]
pub struct Partitioned {
    limit: u64,
    /// By class: its share, and how many are in flight.
    parts: Vec<(Option<f64>, u64)>,
    in_use: Gauge,
}

impl Partitioned {
    /// The slots of a class.
    fn part(&self, class: ClassId) -> u64 {
        let share = self.parts[class.0 as usize].0;
        share.map_or(0, |share| ((self.limit as f64 * share).ceil() as u64).max(1))
    }
}

impl Admission for Partitioned {
    fn admit(&self, _now: SimTime, entrant: &Entrant<'_>) -> Answer {
        let class = entrant.ask.class;
        let has_room = self.in_use.value() < self.limit || self.parts[class.0 as usize].1 < self.part(class);
        if has_room { Answer::Pass } else { Answer::Wait }
    }

    fn take(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        self.in_use.up(now, 1);
        self.parts[entrant.ask.class.0 as usize].1 += 1;
    }

    fn settle(&mut self, now: SimTime, entrant: &Entrant<'_>, _end: End) {
        self.in_use.down(now, 1);
        self.parts[entrant.ask.class.0 as usize].1 -= 1;
    }

    fn per_key(&self) -> bool {
        true
    }

    fn denial(&self, _now: SimTime, _entrant: &Entrant<'_>) -> Denial {
        Denial { reason: Reason::Concurrency, scope: "class" }
    }

    fn change(&mut self, _now: SimTime, knob: Knob) {
        if let Knob::Limit(limit) = knob {
            self.limit = limit.unwrap_or(u64::MAX);
        }
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
    }
}
