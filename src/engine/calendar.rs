//! The calendar: what happens next.
//!
//! Events are ordered by time, then by [`Moment`], then by the order in which they were scheduled. That sequence
//! number is unique, so the order does not depend on the structures behind it. Three of them share the work:
//!
//! - a *slot* for each of the first few things that have exactly one next event (a traffic's next arrival, the next
//!   sample),
//! - a *lane* for timers of one constant length, which expire in the order in which they were set,
//! - a *heap* with four children per node for everything else.
//!
//! Cancelled timers stay where they are and are recognised by the caller when they come up; lanes and heap are
//! cleared of them when they outnumber the live ones.

use super::heap::{Entry, Heap};
use crate::time::SimTime;
use std::collections::VecDeque;

/// What kind of event it is: at one instant, the earlier in this list comes first.
///
/// So a row covers [t, t+Δ); a change applies to all that happens at its instant; capacity is given back before it
/// is asked for; an answer at the very deadline counts; equal arrivals keep the order of their source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Moment {
    /// An interval ends.
    Sample,
    /// The scenario changes something.
    Change,
    /// Work finishes.
    Finish,
    /// A parked attempt may pass.
    Wake,
    /// An attempt has waited as long as its queue allows.
    Expire,
    /// A caller stops waiting.
    Timeout,
    /// A caller tries again.
    Retry,
    /// A call is born.
    Arrive,
}

impl Moment {
    const ALL: [Moment; 8] = [
        Moment::Sample,
        Moment::Change,
        Moment::Finish,
        Moment::Wake,
        Moment::Expire,
        Moment::Timeout,
        Moment::Retry,
        Moment::Arrive,
    ];
}

/// Time, moment and sequence number in one number: 64, 3 and 61 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(pub(super) u128);

impl Key {
    /// Later than everything.
    pub(super) const NEVER: Key = Key(u128::MAX);

    #[inline]
    fn new(time: SimTime, moment: Moment, sequence: u64) -> Key {
        Key((time.0 as u128) << 64 | ((moment as u128) << 61 | sequence as u128))
    }

    #[inline]
    fn time(self) -> SimTime {
        SimTime((self.0 >> 64) as u64)
    }

    #[inline]
    fn moment(self) -> Moment {
        Moment::ALL[(self.0 as u64 >> 61) as usize]
    }
}

/// An event that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// When.
    pub time: SimTime,
    /// What kind.
    pub moment: Moment,
    /// What it is about; the engine knows what the number means.
    pub about: u64,
}

/// A source that has one next event at a time. The first few have a place of their own, the others use the heap.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    source: Option<u32>,
    about: u64,
}

/// A lane's number.
#[derive(Clone, Copy, Debug)]
pub struct Lane(usize);

/// See the module.
#[derive(Debug, Default)]
pub struct Calendar {
    heap: Heap,
    heap_dead: usize,
    lanes: Vec<Timers>,
    /// What each slot and each lane has next.
    sources: Sources,
    /// What the event of a slot is about, or which lane a source is.
    kinds: [Source; SOURCES],
    sequence: u64,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    Slot(u64),
    Lane(u32),
}

impl Default for Source {
    fn default() -> Source {
        Source::Slot(0)
    }
}

#[derive(Debug)]
struct Timers {
    /// Its place among the sources; without one its timers go to the heap.
    source: Option<usize>,
    waiting: VecDeque<Entry>,
    dead: usize,
}

impl Calendar {
    /// Adds a slot, empty.
    pub fn add_slot(&mut self, about: u64) -> Slot {
        Slot { source: self.add_source(Source::Slot(about)).map(|source| source as u32), about }
    }

    /// Adds a lane, empty.
    pub fn add_lane(&mut self) -> Lane {
        let source = self.add_source(Source::Lane(self.lanes.len() as u32));
        self.lanes.push(Timers { source, waiting: VecDeque::new(), dead: 0 });
        Lane(self.lanes.len() - 1)
    }

    fn add_source(&mut self, kind: Source) -> Option<usize> {
        let index = self.sources.used;
        *self.kinds.get_mut(index)? = kind;
        self.sources.used += 1;
        Some(index)
    }

    #[inline]
    fn key(&mut self, time: SimTime, moment: Moment) -> Key {
        self.sequence += 1;
        Key::new(time, moment, self.sequence)
    }

    /// Puts the slot's one event.
    #[inline(always)]
    pub fn put(&mut self, slot: Slot, time: SimTime, moment: Moment) {
        let key = self.key(time, moment);
        match slot.source {
            Some(source) => self.sources.set(source as usize, key),
            None => self.heap.push(Entry { key, about: slot.about }),
        }
    }

    /// Schedules any event.
    #[inline(always)]
    pub fn schedule(&mut self, time: SimTime, moment: Moment, about: u64) {
        let key = self.key(time, moment);
        self.heap.push(Entry { key, about });
    }

    /// Sets a timer that usually expires after all those that are in the lane.
    #[inline]
    pub fn set_timer(&mut self, lane: Lane, time: SimTime, moment: Moment, about: u64) {
        let entry = Entry { key: self.key(time, moment), about };
        let timers = &mut self.lanes[lane.0];
        let Some(source) = timers.source else { return self.heap.push(entry) };
        match timers.waiting.back() {
            // The lane's length was changed to a shorter one.
            Some(last) if entry.key < last.key => return self.heap.push(entry),
            Some(_) => {}
            None => self.sources.set(source, entry.key),
        }
        timers.waiting.push_back(entry);
    }

    /// Notes that a timer of the lane is dead; clears the lane when the dead outnumber the live.
    #[inline]
    pub fn timer_died(&mut self, lane: Lane, alive: impl Fn(&Due) -> bool) {
        let timers = &mut self.lanes[lane.0];
        let Some(source) = timers.source else { return self.event_died(alive) };
        timers.dead += 1;
        if 64 + timers.waiting.len() / 2 < timers.dead {
            timers.waiting.retain(|entry| alive(&entry.due()));
            timers.dead = 0;
            self.sources.set(source, timers.head());
        }
    }

    /// Notes that an event of the heap is dead; clears the heap when the dead outnumber the live.
    pub fn event_died(&mut self, alive: impl Fn(&Due) -> bool) {
        self.heap_dead += 1;
        if 64 + self.heap.len() / 2 < self.heap_dead {
            self.heap.retain(|entry| alive(&entry.due()));
            self.heap_dead = 0;
        }
    }

    /// Takes out the event that comes next. Timers at the head of a lane that are not `alive` are skipped.
    #[inline(always)]
    pub fn next(&mut self, alive: impl Fn(&Due) -> bool) -> Option<Due> {
        let (source, key) = self.sources.first();
        if let Some(top) = self.heap.first()
            && top.key < key
        {
            return self.heap.pop().map(|entry| entry.due());
        }
        if key == Key::NEVER {
            return None;
        }
        match self.kinds[source % SOURCES] {
            Source::Slot(about) => {
                self.sources.set(source, Key::NEVER);
                Some(Due { time: key.time(), moment: key.moment(), about })
            }
            Source::Lane(lane) => {
                let timers = &mut self.lanes[lane as usize];
                let due = timers.waiting.pop_front()?.due();
                while timers.waiting.front().is_some_and(|entry| !alive(&entry.due())) {
                    timers.waiting.pop_front();
                    timers.dead = timers.dead.saturating_sub(1);
                }
                self.sources.set(source, timers.head());
                Some(due)
            }
        }
    }
}

impl Timers {
    #[inline]
    fn head(&self) -> Key {
        self.waiting.front().map_or(Key::NEVER, |entry| entry.key)
    }
}

impl Entry {
    #[inline]
    fn due(&self) -> Due {
        Due { time: self.key.time(), moment: self.key.moment(), about: self.about }
    }
}

/// The next events of a few sources, and which of them is the first of all.
#[derive(Debug)]
struct Sources {
    keys: [Key; SOURCES],
    used: usize,
    first: usize,
}

/// So many sources are looked through one by one faster than any structure over them is kept up.
const SOURCES: usize = 16;

impl Default for Sources {
    fn default() -> Sources {
        Sources { keys: [Key::NEVER; SOURCES], used: 0, first: 0 }
    }
}

impl Sources {
    #[inline(always)]
    fn set(&mut self, index: usize, key: Key) {
        self.keys[index % SOURCES] = key;
        if index == self.first {
            for other in 0..self.used.min(SOURCES) {
                if self.keys[other] < self.keys[self.first % SOURCES] {
                    self.first = other;
                }
            }
        } else if key < self.keys[self.first % SOURCES] {
            self.first = index;
        }
    }

    #[inline(always)]
    fn first(&self) -> (usize, Key) {
        (self.first, self.keys[self.first % SOURCES])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn at_one_instant_the_moments_come_in_their_order_and_equals_as_scheduled() {
        let mut calendar = Calendar::default();
        for (about, moment) in Moment::ALL.into_iter().rev().enumerate() {
            calendar.schedule(SimTime(5), moment, about as u64);
        }
        calendar.schedule(SimTime(5), Moment::Arrive, 8);
        let order: Vec<u64> = std::iter::from_fn(|| calendar.next(|_| true)).map(|due| due.about).collect();
        assert_eq!(order, [7, 6, 5, 4, 3, 2, 1, 0, 8]);
    }

    proptest! {
        /// Against a sorted map: any mixture of heap, lane and slot events comes out in the same order.
        #[test]
        fn events_come_out_sorted_whatever_they_were_kept_in(
            steps in prop::collection::vec((0u8..4, 0u64..50), 1..400)
        ) {
            let mut calendar = Calendar::default();
            let (slot, lane) = (calendar.add_slot(1_000_000), calendar.add_lane());
            let (mut model, mut now, mut sequence, mut in_slot) = (BTreeMap::new(), SimTime::ZERO, 0u64, false);
            for (kind, delay) in steps {
                let time = SimTime(now.0 + delay);
                match kind {
                    0 => {
                        sequence += 1;
                        calendar.schedule(time, Moment::Finish, sequence);
                        model.insert((time, Moment::Finish, sequence), sequence);
                    }
                    1 => {
                        sequence += 1;
                        calendar.set_timer(lane, time, Moment::Timeout, sequence);
                        model.insert((time, Moment::Timeout, sequence), sequence);
                    }
                    2 if !in_slot => {
                        sequence += 1;
                        in_slot = true;
                        calendar.put(slot, time, Moment::Arrive);
                        model.insert((time, Moment::Arrive, sequence), 1_000_000);
                    }
                    _ => {
                        let expected = model.pop_first();
                        let due = calendar.next(|_| true);
                        prop_assert_eq!(due.map(|due| (due.time, due.moment, due.about)), expected.map(|((t, m, _), a)| (t, m, a)));
                        if let Some(due) = due {
                            now = due.time;
                            in_slot &= due.about != 1_000_000;
                        }
                    }
                }
            }
            let rest: Vec<u64> = std::iter::from_fn(|| calendar.next(|_| true)).map(|due| due.about).collect();
            prop_assert_eq!(rest, model.into_values().collect::<Vec<_>>());
        }
    }
}
