//! The calendar: what happens next.
//!
//! Events are ordered by time, then by [`Moment`], then by the order in which they were scheduled. That sequence
//! number is unique, so the order does not depend on the structures behind it. Three of them share the work:
//!
//! - a *slot* for each of the first few things that have exactly one next event (a traffic's next arrival, the next
//!   sample),
//! - a *lane* for timers of one constant length, which expire in the order in which they were set,
//! - a *heap* with four children per node for everything else, and a wheel behind it if that is much.
//!
//! Cancelled timers stay where they are and are recognised by the caller when they come up; lanes and heap are
//! cleared of them when they outnumber the live ones.

use super::heap::Entry;
use super::key::Key;
use super::pending::Pending;
use super::sources::Sources;
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
    pub(super) const ALL: [Moment; 8] = [
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
    heap: Pending,
    heap_dead: usize,
    /// The source that the far part of the heap is, once there was one.
    wheel: Option<usize>,
    lanes: Vec<Timers>,
    /// What each slot and each lane has next.
    sources: Sources,
    /// What the event of a slot is about, which lane a source is, or that it is the wheel.
    kinds: Vec<Source>,
    sequence: u64,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    Slot(u64),
    Lane(u32),
    /// What is far.
    Wheel,
}

#[derive(Debug)]
struct Timers {
    /// Its place among the sources; when all are taken its timers go to the heap.
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
        self.lanes.push(Timers { source: None, waiting: VecDeque::new(), dead: 0 });
        Lane(self.lanes.len() - 1)
    }

    fn add_source(&mut self, kind: Source) -> Option<usize> {
        let index = self.sources.add()?;
        self.kinds.push(kind);
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
            None => self.add(Entry { key, about: slot.about }),
        }
    }

    /// Empties the slot: after its event was due it has to be put again or cleared.
    pub fn clear(&mut self, slot: Slot) {
        if let Some(source) = slot.source {
            self.sources.set(source as usize, Key::NEVER);
        }
    }

    /// Schedules any event.
    #[inline(always)]
    pub fn schedule(&mut self, time: SimTime, moment: Moment, about: u64) {
        let key = self.key(time, moment);
        self.add(Entry { key, about });
    }

    #[inline(always)]
    fn add(&mut self, entry: Entry) {
        if self.heap.push(entry) {
            self.spread();
        }
    }

    /// Lets a part of many events be far.
    #[cold]
    fn spread(&mut self) {
        self.wheel = self.wheel.or_else(|| self.add_source(Source::Wheel));
        let Some(source) = self.wheel else { return self.heap.stay_near() };
        self.heap.spread();
        self.sources.set(source, self.beyond());
    }

    /// The key at which the far must come near.
    fn beyond(&self) -> Key {
        self.heap.horizon().map_or(Key::NEVER, Key::last_at)
    }

    /// Brings some of the far near; answers the next event.
    #[cold]
    #[inline(never)]
    fn approach(&mut self, source: usize, alive: impl Fn(&Due) -> bool) -> Option<Due> {
        self.heap.approach();
        self.sources.set(source, self.beyond());
        self.next(alive)
    }

    /// Sets a timer that usually expires after all those that are in the lane.
    #[inline]
    pub fn set_timer(&mut self, lane: Lane, time: SimTime, moment: Moment, about: u64) {
        let entry = Entry { key: self.key(time, moment), about };
        let timers = &mut self.lanes[lane.0];
        let Some(source) = timers.source else { return self.set_first_timer(lane, entry) };
        match timers.waiting.back() {
            // The lane's length was changed to a shorter one.
            Some(last) if entry.key.before(last.key) => return self.add(entry),
            Some(_) => {}
            None => self.sources.set(source, entry.key),
        }
        timers.waiting.push_back(entry);
    }

    /// A lane gets its place among the sources with its first timer, since an unused one would only be looked at.
    #[inline(never)]
    fn set_first_timer(&mut self, lane: Lane, entry: Entry) {
        let source = self.add_source(Source::Lane(lane.0 as u32));
        match source {
            Some(index) => {
                self.sources.set(index, entry.key);
                let timers = &mut self.lanes[lane.0];
                (timers.source, timers.waiting) = (source, VecDeque::from([entry]));
            }
            None => self.add(entry),
        }
    }

    /// Notes that a timer of the lane is dead.
    #[inline(always)]
    pub fn timer_died(&mut self, lane: Lane) {
        let timers = &mut self.lanes[lane.0];
        match timers.source {
            Some(_) => timers.dead += 1,
            None => self.heap_dead += 1,
        }
    }

    /// Notes that an event of the heap is dead.
    #[inline(always)]
    pub fn event_died(&mut self) {
        self.heap_dead += 1;
    }

    /// Forgets the dead where they outnumber the live; to be called once in a while.
    pub fn tidy(&mut self, alive: impl Fn(&Due) -> bool) {
        for timers in &mut self.lanes {
            if 64 + timers.waiting.len() / 2 < timers.dead {
                timers.waiting.retain(|entry| alive(&entry.due()));
                timers.dead = 0;
                if let Some(source) = timers.source {
                    self.sources.set(source, timers.head());
                }
            }
        }
        if 64 + self.heap.len() / 2 < self.heap_dead {
            self.heap.retain(|entry| alive(&entry.due()));
            self.heap_dead = 0;
        }
    }

    /// Takes out the event that comes next; a slot's stays until it is put again or cleared, so that its place is
    /// looked at once. Timers at the head of a lane that are not `alive` are skipped.
    #[inline(always)]
    pub fn next(&mut self, alive: impl Fn(&Due) -> bool) -> Option<Due> {
        let (source, key) = self.sources.first();
        if let Some(top) = self.heap.first()
            && top.key.before(key)
        {
            let due = top.due();
            self.heap.take_first();
            return Some(due);
        }
        if key == Key::NEVER {
            return None;
        }
        match self.kinds[source] {
            Source::Wheel => self.approach(source, alive),
            Source::Slot(about) => Some(Due { time: key.time(), moment: key.moment(), about }),
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
                            if due.about == 1_000_000 {
                                calendar.clear(slot);
                                in_slot = false;
                            }
                        }
                    }
                }
            }
            let next = |calendar: &mut Calendar| {
                let due = calendar.next(|_| true)?;
                if due.about == 1_000_000 {
                    calendar.clear(slot);
                }
                Some(due.about)
            };
            let rest: Vec<u64> = std::iter::from_fn(|| next(&mut calendar)).collect();
            prop_assert_eq!(rest, model.into_values().collect::<Vec<_>>());
        }
    }
}
