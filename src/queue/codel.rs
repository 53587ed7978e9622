//! CoDel, controlled delay: sheds from the head, ever faster, while nobody has waited for less than a target.
//!
//! Source: RFC 8289, section 5, with an attempt for a packet and an empty line for less than a packet of maximal size.
//! When the waits at the head have stayed at or above `target` for `interval`, the head is dropped; the n-th further
//! drop comes interval / √n after the one before, counted from when that was due. A dropping phase that begins less
//! than 16 intervals after the last one goes on with the number of drops that this one ended with, less those it
//! began with.
//!
//! The instants at which drops are due are sums of exact fractions down to 2⁻¹⁶ ns, and hold as rounded to the
//! nearest nanosecond. The last one in the line is never shed.

use super::Visit;
use super::line::Law;
use crate::gauge::Gauge;
use crate::time::{Nanos, SimTime};

/// See the module.
#[derive(Clone, Debug)]
pub struct CoDel {
    target: Nanos,
    interval: Nanos,
    /// When waits will have been too long for an interval; `None` while they are not.
    first_above: Option<SimTime>,
    /// 1 in a dropping phase.
    dropping: Gauge,
    /// When the next drop is due.
    drop_next: Due,
    count: u64,
    last_count: u64,
    after: After,
}

/// An instant in units of 2⁻¹⁶ ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Due(u128);

/// What the drop before, within the same dequeuing, was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum After {
    /// There was none.
    #[default]
    Start,
    /// The first of its phase: the next one starts, whatever it waited.
    FirstDrop,
    /// A further one, after which the next is not due yet.
    Drop,
}

impl Due {
    const SHIFT: u32 = 16;

    fn at(now: SimTime) -> Due {
        Due(u128::from(now.0) << Due::SHIFT)
    }

    /// Interval / √count later, rounded down to 2⁻¹⁶ ns.
    fn plus(self, interval: Nanos, count: u64) -> Due {
        let interval = u128::from(interval.0) << Due::SHIFT;
        Due(self.0 + (interval * interval / u128::from(count)).isqrt())
    }

    /// Whether it is `now` or before, to the nearest nanosecond.
    fn is_over(self, now: SimTime) -> bool {
        self.0 <= Due::at(now).0 + (1 << (Due::SHIFT - 1))
    }
}

impl CoDel {
    /// The longest interval, so that its square can be reckoned with: a little more than three days.
    pub const LONGEST: Nanos = Nanos((1 << (64 - Due::SHIFT)) - 1);

    /// The law at rest. The RFC's constants are 5 ms and 100 ms.
    pub fn new(target: Nanos, interval: Nanos) -> CoDel {
        assert!(interval <= CoDel::LONGEST, "an interval of {interval} is too long");
        CoDel {
            target,
            interval,
            first_above: None,
            dropping: Gauge::new(0),
            drop_next: Due::default(),
            count: 0,
            last_count: 0,
            after: After::Start,
        }
    }

    /// Whether waits have been too long for an interval.
    fn ok_to_drop(&mut self, now: SimTime, waited: Nanos, alone: bool) -> bool {
        if waited < self.target || alone {
            self.first_above = None;
            return false;
        }
        let first_above = *self.first_above.get_or_insert(now.saturating_add(self.interval));
        first_above <= now
    }

    fn begin(&mut self, now: SimTime) {
        self.dropping.set(now, 1);
        let drops = self.count - self.last_count;
        let soon = Due::at(now).0 < self.drop_next.0 + 16 * Due::at(SimTime(self.interval.0)).0;
        self.count = if 1 < drops && soon { drops } else { 1 };
        self.last_count = self.count;
        self.drop_next = Due::at(now).plus(self.interval, self.count);
        self.after = After::FirstDrop;
    }
}

impl Law for CoDel {
    fn sheds(&mut self, now: SimTime, waited: Nanos, alone: bool) -> bool {
        let ok = self.ok_to_drop(now, waited, alone);
        let after = std::mem::take(&mut self.after);
        if after == After::FirstDrop {
            return false;
        }
        if self.dropping.value() == 0 {
            if ok {
                self.begin(now);
            }
            return ok;
        }
        if !ok {
            self.dropping.set(now, 0);
            return false;
        }
        if after == After::Drop {
            self.drop_next = self.drop_next.plus(self.interval, self.count);
        }
        let due = self.drop_next.is_over(now);
        if due {
            self.count += 1;
            self.after = After::Drop;
        }
        due
    }

    fn emptied(&mut self) {
        self.first_above = None;
    }

    fn gauges(&mut self, now: SimTime, visit: Visit<'_>) {
        visit("dropping", self.dropping.read(now));
    }
}
