//! What events are ordered by.

use super::calendar::Moment;
use crate::time::SimTime;

/// Time, then moment and sequence number in one number: 64, 3 and 61 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    time: SimTime,
    order: u64,
}

impl Key {
    /// Later than everything.
    pub(super) const NEVER: Key = Key { time: SimTime(u64::MAX), order: u64::MAX };

    /// Of the event scheduled as number `sequence`.
    #[inline(always)]
    pub(super) fn new(time: SimTime, moment: Moment, sequence: u64) -> Key {
        Key { time, order: (moment as u64) << 61 | sequence }
    }

    /// Not before any event at that time.
    pub(super) fn last_at(time: SimTime) -> Key {
        Key { time, order: u64::MAX }
    }

    /// When.
    #[inline(always)]
    pub(super) fn time(self) -> SimTime {
        self.time
    }

    /// What kind of event.
    #[inline(always)]
    pub(super) fn moment(self) -> Moment {
        Moment::ALL[(self.order >> 61) as usize]
    }

    /// Whether it comes before `other`; compared as one wide number, which takes no branch.
    #[inline(always)]
    pub(super) fn before(self, other: Key) -> bool {
        let wide = |key: Key| (key.time.0 as u128) << 64 | key.order as u128;
        wide(self) < wide(other)
    }
}
