//! Attempts that a limiter parks instead of refusing: first come, first served, in one line or in one per key.
//! Those that it delays have been charged, and wait for their instant in no line; so do those that it keeps before it
//! tells them that they are refused, uncharged.

use super::Engine;
use super::calendar::Moment;
use super::gate::{Limits, Refusal};
use super::live::{State, reference};
use super::setup::Parking;
use crate::observe::From;
use crate::request::Ask;
use crate::time::SimTime;
use std::collections::{BTreeMap, VecDeque};

/// The lines before the limiters of one gate. Only the head of a line is looked at again.
#[derive(Debug, Default)]
pub(super) struct Parked {
    lines: BTreeMap<Line, VecDeque<u32>>,
    line_of: BTreeMap<u32, Line>,
}

/// A line: the limiter's number and, if it has a line per key, the key.
pub(super) type Line = (usize, u32);

/// The line in which `ask` would wait before limiter `stage`, if that limiter lets it wait.
pub(super) fn line(parking: &[Parking], stage: usize, ask: &Ask) -> Option<Line> {
    match parking[stage] {
        Parking::No => None,
        Parking::OneLine => Some((stage, 0)),
        Parking::PerKey(key) => Some((stage, ask.key(key))),
    }
}

impl Parked {
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The first line with someone in it in which `ask` would wait.
    pub(super) fn occupied(&self, parking: &[Parking], ask: &Ask) -> Option<Line> {
        (0..parking.len())
            .filter_map(|stage| line(parking, stage, ask))
            .find(|line| self.lines.contains_key(line))
    }

    /// Lets an attempt wait at the end of a line.
    pub(super) fn push(&mut self, line: Line, attempt: u32) {
        self.lines.entry(line).or_default().push_back(attempt);
        self.line_of.insert(attempt, line);
    }

    /// The head of a line.
    pub(super) fn head(&self, line: Line) -> Option<u32> {
        self.lines.get(&line).and_then(|waiting| waiting.front().copied())
    }

    /// Whether an attempt is the head of its line.
    pub(super) fn is_head(&self, attempt: u32) -> bool {
        self.line_of.get(&attempt).is_some_and(|line| self.head(*line) == Some(attempt))
    }

    /// Takes an attempt out of its line; answers the line if it was the head.
    pub(super) fn remove(&mut self, attempt: u32) -> Option<Line> {
        let line = self.line_of.remove(&attempt)?;
        let waiting = self.lines.get_mut(&line)?;
        let place = waiting.iter().position(|other| *other == attempt)?;
        waiting.remove(place);
        if waiting.is_empty() {
            self.lines.remove(&line);
        }
        (place == 0).then_some(line)
    }

    /// The heads of all lines.
    pub(super) fn heads(&self) -> impl Iterator<Item = u32> {
        self.lines.values().filter_map(|waiting| waiting.front().copied())
    }
}

impl Engine<'_> {
    /// Lets an arriving attempt wait behind those who came before, even if it would pass; answers whether it does.
    pub(super) fn joins_a_line(&mut self, attempt: u32) -> bool {
        let facts = &self.attempts[attempt];
        let live = &self.floor.gates[facts.gate as usize];
        match live.parked.occupied(&live.gate.parking, &facts.ask) {
            Some(line) => {
                self.park(attempt, line);
                true
            }
            None => false,
        }
    }

    pub(super) fn park(&mut self, attempt: u32, line: Line) {
        let facts = &mut self.attempts[attempt];
        self.floor.gates[facts.gate as usize].parked.push(line, attempt);
        facts.state = State::Deferred;
        self.floor.recorder.deferred(self.now, facts.ledger);
    }

    pub(super) fn wake_at(&mut self, attempt: u32, at: Option<SimTime>) {
        if let Some(at) = at {
            let about = reference(attempt, self.attempts[attempt].generation);
            self.floor.calendar.schedule(at, Moment::Wake, about);
        }
    }

    /// Looks at the heads of all lines again within this instant.
    pub(super) fn wake_heads(&mut self, gate: usize) {
        if !self.floor.gates[gate].parked.is_empty() {
            let heads: Vec<u32> = self.floor.gates[gate].parked.heads().collect();
            heads.into_iter().for_each(|head| self.wake_at(head, Some(self.now)));
        }
    }

    /// An attempt that has passed the limiters goes on at `until`.
    pub(super) fn delay(&mut self, attempt: u32, until: SimTime) {
        self.attempts[attempt].state = State::Delayed;
        self.wake_at(attempt, Some(until));
    }

    /// An attempt that a limiter has refused is told so at `until`.
    pub(super) fn hold(&mut self, attempt: u32, refusal: Refusal, until: SimTime) {
        let facts = &mut self.attempts[attempt];
        facts.state = State::Held;
        self.floor.gates[facts.gate as usize].held.insert(attempt, refusal);
        self.floor.recorder.deferred(self.now, facts.ledger);
        self.wake_at(attempt, Some(until));
    }

    /// The head of a line is looked at again, or a delay is over.
    #[inline(never)]
    pub(super) fn wake(&mut self, attempt: u32) -> u64 {
        let facts = &self.attempts[attempt];
        let (gate, ask, story) = (facts.gate as usize, facts.ask, facts.story());
        if facts.state == State::Delayed {
            self.seek_room(attempt, From::Deferred);
            self.offer_behind(gate);
            return story;
        }
        if facts.state == State::Held {
            if let Some(refusal) = self.floor.gates[gate].held.remove(&attempt) {
                self.reject_limited(attempt, From::Deferred, refusal);
            }
            return story;
        }
        if !self.floor.gates[gate].parked.is_head(attempt) {
            return story;
        }
        match self.floor.gates[gate].limit_again(self.now, &ask) {
            Limits::Pass => {
                self.leave_line(attempt);
                self.seek_room(attempt, From::Deferred);
                self.offer_behind(gate);
            }
            Limits::Delay(until) => {
                self.leave_line(attempt);
                self.delay(attempt, until);
            }
            Limits::Refuse(refusal)
                if self.floor.gates[gate].parking_line(self.now, refusal, &ask).is_some() =>
            {
                self.wake_at(attempt, refusal.at)
            }
            Limits::Refuse(refusal) => {
                self.leave_line(attempt);
                self.reject_limited(attempt, From::Deferred, refusal);
            }
        }
        story
    }

    /// Takes a parked attempt out of its line; the next in it is looked at within the same instant.
    pub(super) fn leave_line(&mut self, attempt: u32) {
        let gate = self.attempts[attempt].gate as usize;
        self.attempts[attempt].state = State::Outside;
        if let Some(line) = self.floor.gates[gate].parked.remove(attempt)
            && let Some(next) = self.floor.gates[gate].parked.head(line)
        {
            self.wake_at(next, Some(self.now));
        }
    }
}
