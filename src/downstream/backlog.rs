//! The backlog of a downstream: those that it has let in and has no slot for, first come, first served.

use crate::gauge::{Gauge, Reading};
use crate::time::SimTime;
use std::collections::VecDeque;

/// Places of those that wait inside.
#[derive(Clone, Debug)]
pub(super) struct Backlog {
    /// How many may wait; `None` is unlimited.
    pub(super) most: Option<u64>,
    places: VecDeque<u32>,
    depth: Gauge,
}

impl Backlog {
    /// Nobody waits yet.
    pub(super) fn new(most: Option<u64>) -> Backlog {
        Backlog { most, places: VecDeque::new(), depth: Gauge::new(0) }
    }

    pub(super) fn len(&self) -> u64 {
        self.places.len() as u64
    }

    pub(super) fn has_room(&self) -> bool {
        self.most.is_none_or(|most| self.len() < most)
    }

    pub(super) fn push(&mut self, now: SimTime, place: u32) {
        self.places.push_back(place);
        self.depth.up(now, 1);
    }

    /// Takes out the one that has waited longest.
    pub(super) fn pop(&mut self, now: SimTime) -> Option<u32> {
        let place = self.places.pop_front()?;
        self.depth.down(now, 1);
        Some(place)
    }

    /// Takes out one that leaves.
    pub(super) fn remove(&mut self, now: SimTime, place: u32) {
        if let Some(index) = self.places.iter().position(|waiting| *waiting == place) {
            self.places.remove(index);
            self.depth.down(now, 1);
        }
    }

    pub(super) fn read(&mut self, now: SimTime) -> Reading {
        self.depth.read(now)
    }
}
