//! Everything that is to come: a heap for what is near, a wheel for what is far if there is much.
//!
//! A small heap stays in the nearest cache and is best to some thousand events; a large one waits for memory at each of
//! its levels. So beyond [`MANY`] events the heap holds only those up to a horizon. Behind it the wheel is one more
//! source of the calendar: due at the horizon, when it hands over its next [`FEW`]. So what is small pays nothing when
//! events are taken out, and the order is that of the keys: all that is near is before all that is far.

use super::heap::{Entry, Heap};
use super::wheel::Wheel;
use crate::time::SimTime;

/// More than this are too many for a heap alone.
const MANY: usize = 4096;
/// How many come near at a time.
const FEW: usize = 256;
/// The horizon if nothing is far.
const NOWHERE: SimTime = SimTime(u64::MAX);

/// See the module.
#[derive(Debug)]
pub(super) struct Pending {
    near: Heap,
    far: Wheel,
    /// What is later is far.
    horizon: SimTime,
    /// How many may be near before they are spread.
    most: usize,
}

impl Default for Pending {
    fn default() -> Pending {
        Pending { near: Heap::default(), far: Wheel::default(), horizon: NOWHERE, most: MANY }
    }
}

impl Pending {
    pub(super) fn len(&self) -> usize {
        self.near.len() + self.far.len()
    }

    /// The first of what is near.
    #[inline(always)]
    pub(super) fn first(&mut self) -> Option<&Entry> {
        self.near.first()
    }

    /// Takes out the event that [`first`](Pending::first) has just shown.
    #[inline(always)]
    pub(super) fn take_first(&mut self) {
        self.near.take_first();
    }

    /// Adds an event; answers whether too many are near now.
    #[inline(always)]
    pub(super) fn push(&mut self, entry: Entry) -> bool {
        if self.horizon < entry.key.time() {
            self.far.push(entry);
            return false;
        }
        self.near.push(entry);
        self.most < self.near.len()
    }

    /// Keeps the events that `keep` wants.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Entry) -> bool) {
        self.near.retain(&mut keep);
        self.far.retain(keep);
    }

    /// The horizon, if anything may be behind it.
    pub(super) fn horizon(&self) -> Option<SimTime> {
        (self.horizon != NOWHERE).then_some(self.horizon)
    }

    /// Brings the next events near, when those that were have been taken out.
    pub(super) fn approach(&mut self) {
        let near = &mut self.near;
        let until = self.far.take_first(FEW, |entry| near.push(entry));
        self.horizon = match until {
            Some(until) if 0 < self.far.len() => SimTime(until),
            _ => NOWHERE,
        };
        self.most = MANY.max(2 * self.near.len());
    }

    /// Moves what is near to the wheel, but for what is before its base.
    pub(super) fn spread(&mut self) {
        if self.far.len() == 0 {
            self.far.begin(self.near.first().map_or(0, |first| first.key.time().0));
        }
        let (base, far) = (self.far.base(), &mut self.far);
        self.near.retain(|entry| {
            let stays = entry.key.time().0 < base;
            if !stays {
                far.push(*entry);
            }
            stays
        });
        match base.checked_sub(1) {
            Some(horizon) if 0 < self.near.len() => self.horizon = SimTime(horizon),
            _ => self.approach(),
        }
        self.most = MANY.max(2 * self.near.len());
    }

    /// Never spreads.
    pub(super) fn stay_near(&mut self) {
        self.most = usize::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::super::calendar::{Calendar, Moment};
    use super::super::key::Key;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Takes out the next event as the calendar does.
    fn next(pending: &mut Pending) -> Option<(Key, u64)> {
        if pending.first().is_none() && pending.horizon().is_some() {
            pending.approach();
        }
        let next = pending.first().map(|entry| (entry.key, entry.about))?;
        pending.take_first();
        Some(next)
    }

    /// Pushes `pushes` events for each that is taken out, then takes out all; delays are below 2^`bits` and often
    /// equal. Every event comes out as from a sorted map.
    fn comes_out_sorted(first: u64, rounds: usize, pushes: usize, bits: u32, seed: u64) {
        let (mut pending, mut model) = (Pending::default(), BTreeMap::new());
        let (mut now, mut number, mut state) = (first, 0u64, seed);
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 20
        };
        for round in 0..rounds {
            for _ in 0..pushes {
                let delay = (random() & ((1 << bits) - 1)) >> (random() % bits as u64);
                number += 1;
                let key = Key::new(SimTime(now.saturating_add(delay)), Moment::Sample, number);
                if pending.push(Entry { key, about: number }) {
                    pending.spread();
                }
                model.insert(key, number);
            }
            if round == rounds / 2 {
                pending.retain(|entry| entry.about % 3 != 0);
                model.retain(|_, number| *number % 3 != 0);
            }
            for _ in 0..1 + random() % 3 {
                let expected = model.pop_first();
                assert_eq!(next(&mut pending), expected);
                now = expected.map_or(now, |(key, _)| key.time().0);
            }
            assert_eq!(pending.len(), model.len());
        }
        while let Some(expected) = model.pop_first() {
            assert_eq!(next(&mut pending), Some(expected));
        }
        assert!(next(&mut pending).is_none() && pending.len() == 0);
    }

    #[test]
    fn a_hundred_thousand_events_come_out_sorted() {
        comes_out_sorted(0, 100_000, 3, 36, 1);
    }

    #[test]
    fn a_calendar_with_a_lane_and_a_hundred_thousand_events_takes_them_out_in_order() {
        let (mut calendar, mut model) = (Calendar::default(), BTreeMap::new());
        let lane = calendar.add_lane();
        let mut number = 0u64;
        for start in [0u64, 1 << 33] {
            for _ in 0..50_000 {
                number += 1;
                let time = SimTime(start + number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (1 << 34));
                calendar.schedule(time, Moment::Finish, number);
                model.insert((time, Moment::Finish, number), number);
                number += 1;
                let time = SimTime(start + (number << 15));
                calendar.set_timer(lane, time, Moment::Timeout, number);
                model.insert((time, Moment::Timeout, number), number);
            }
            let expected = std::iter::from_fn(|| model.pop_first().map(|(_, about)| about)).take(70_000);
            let met = std::iter::from_fn(|| calendar.next(|_| true).map(|due| due.about)).take(70_000);
            assert!(expected.eq(met));
        }
        assert!(model.into_values().eq(std::iter::from_fn(|| calendar.next(|_| true).map(|due| due.about))));
    }

    #[test]
    fn many_events_at_few_instants_come_out_sorted() {
        comes_out_sorted(5, 20_000, 4, 3, 2);
    }

    #[test]
    fn events_at_the_end_of_time_come_out_sorted() {
        comes_out_sorted(u64::MAX - (1 << 21), 10_000, 4, 20, 3);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn events_come_out_sorted(
            first in any::<u64>(), rounds in 1usize..8_000, pushes in 1usize..5, bits in 1u32..44, seed in any::<u64>()
        ) {
            comes_out_sorted(first >> 1, rounds, pushes, bits, seed);
        }
    }
}
