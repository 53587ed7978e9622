//! Controlled delay: short waits for all while the line does not drain, long ones while it does.
//!
//! Two dialects, both with a target of 5 ms and an interval of 100 ms by default.
//!
//! **Article** (Maurer, Fail at Scale, ACM Queue 13(8), 2015): one that comes may wait for `target` if the line was
//! last empty more than `interval` ago, and for `interval` otherwise. The edge: exactly `interval` ago is not more.
//!
//! **Folly** (`folly/executors/Codel`): at the first start after an interval has ended, the least wait in it, if it was
//! above `target`, makes the next interval an overloaded one, in which those are shed that have waited for more than
//! twice the target. The one that ends an interval is never shed. The interval before the first start ends at once.

use super::Visit;
use super::line::Law;
use crate::gauge::Gauge;
use crate::time::{Nanos, SimTime};

/// The dialect of the article: a limit on the wait that is set when one comes.
#[derive(Clone, Debug)]
pub struct Article {
    /// The longest wait in a line that does not drain.
    pub target: Nanos,
    /// The longest wait otherwise.
    pub interval: Nanos,
}

impl Law for Article {
    fn sheds(&mut self, _now: SimTime, _waited: Nanos, _alone: bool) -> bool {
        false
    }

    fn patience(&self, now: SimTime, last_empty: SimTime) -> Option<Nanos> {
        let drains = now <= last_empty.saturating_add(self.interval);
        Some(if drains { self.interval } else { self.target })
    }
}

/// The dialect of folly: a limit on the wait that is looked at when one starts.
#[derive(Clone, Debug)]
pub struct Folly {
    target: Nanos,
    interval: Nanos,
    until: SimTime,
    /// The least wait in this interval; `None` before the first start of all.
    least: Option<Nanos>,
    /// 1 in an overloaded interval.
    overloaded: Gauge,
}

impl Folly {
    /// The law before anything has started.
    pub fn new(target: Nanos, interval: Nanos) -> Folly {
        Folly { target, interval, until: SimTime::ZERO, least: None, overloaded: Gauge::new(0) }
    }
}

impl Law for Folly {
    fn sheds(&mut self, now: SimTime, waited: Nanos, _alone: bool) -> bool {
        match self.least {
            Some(least) if self.until < now => {
                self.until = now.saturating_add(self.interval);
                self.overloaded.set(now, u64::from(self.target < least));
                self.least = Some(waited);
                false
            }
            None => {
                self.least = Some(waited);
                false
            }
            Some(least) => {
                self.least = Some(least.min(waited));
                self.overloaded.value() == 1 && self.target.0.saturating_mul(2) < waited.0
            }
        }
    }

    fn gauges(&mut self, now: SimTime, visit: Visit<'_>) {
        visit("overloaded", self.overloaded.read(now));
    }
}
