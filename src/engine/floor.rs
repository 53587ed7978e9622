//! Where attempts are at work: gates and downstreams, and the calendar and the recorder that hear of it.
//!
//! [`Post`] is one gate with its downstream. What every attempt goes through is written here, inlined into the
//! engine's loop, and looks nothing up; what few go through is the engine's own.

use super::calendar::{Calendar, Moment};
use super::gate::{Limits, LiveGate, Room};
use super::live::{Attempt, Slab, State, reference};
use super::setup::limit;
use crate::downstream::{AnyDownstream, Downstream};
use crate::observe::{From, Recorder};
use crate::queue::{Queue, Ticket, Turn};
use crate::request::{Ask, End, Reason};
use crate::time::SimTime;

/// See the module.
pub(super) struct Floor {
    pub(super) gates: Vec<LiveGate>,
    pub(super) downstreams: Vec<AnyDownstream>,
    pub(super) calendar: Calendar,
    pub(super) recorder: Recorder,
}

/// One gate at one instant.
pub(super) struct Post<'a> {
    pub(super) now: SimTime,
    pub(super) live: &'a mut LiveGate,
    pub(super) downstream: &'a mut AnyDownstream,
    pub(super) calendar: &'a mut Calendar,
    pub(super) recorder: &'a mut Recorder,
}

/// Why an attempt did not get in.
#[derive(Clone, Copy)]
pub(super) enum Obstacle {
    /// Others are parked before it.
    Parked,
    /// The queue has no room for it, but somebody in it may leave.
    Full,
    /// The limiters delay or refuse it.
    Limited(Limits),
    /// Stage number `stage` turns it away.
    Turned {
        /// The stage's number.
        stage: usize,
        /// Why.
        reason: Reason,
    },
}

impl Floor {
    /// The gate of that number.
    #[inline(always)]
    pub(super) fn post(&mut self, now: SimTime, gate: u16) -> Post<'_> {
        let live = &mut self.gates[gate as usize];
        let downstream = &mut self.downstreams[live.gate.downstream];
        Post { now, live, downstream, calendar: &mut self.calendar, recorder: &mut self.recorder }
    }

    /// The smallest limit on work in flight of the first gate.
    pub(super) fn limit(&self) -> Option<u64> {
        limit(&self.gates[0].gate, &self.downstreams)
    }
}

impl Post<'_> {
    /// An attempt arrives: it starts, or waits in the queue, or meets an obstacle.
    #[inline(always)]
    pub(super) fn enter(&mut self, index: u32, attempt: &mut Attempt) -> Result<(), Obstacle> {
        self.recorder.offered(attempt.ledger, attempt.number == 1, &attempt.ask);
        if !self.live.parked.is_empty() {
            return Err(Obstacle::Parked);
        }
        match self.live.limit(self.now, &attempt.ask) {
            Limits::Pass => self.seek_room(index, attempt, From::Arrival),
            obstacle => Err(Obstacle::Limited(obstacle)),
        }
    }

    /// Starts an attempt that has passed the limiters, or lets it wait for room.
    #[inline(always)]
    pub(super) fn seek_room(
        &mut self,
        index: u32,
        attempt: &mut Attempt,
        from: From,
    ) -> Result<(), Obstacle> {
        let stage = match self.live.room(self.downstream, self.now, &attempt.ask) {
            // Those who came before go first, even if this one has room.
            Room::Some if !self.live.lets_pass(self.now, &attempt.ask) => self.live.queue_number(),
            Room::Some => {
                self.start(index, attempt, from);
                return Ok(());
            }
            Room::None { stage, .. } => stage,
            Room::Shed { stage, reason } => return Err(Obstacle::Turned { stage, reason }),
        };
        let Some(queue) = &mut self.live.gate.queue else {
            return Err(Obstacle::Turned { stage, reason: self.live.reason(stage) });
        };
        if !queue.has_room(&attempt.ask) {
            if queue.has_victims() {
                return Err(Obstacle::Full);
            }
            return Err(Obstacle::Turned { stage: self.live.queue_number(), reason: Reason::QueueFull });
        }
        self.enqueue(index, attempt, from);
        Ok(())
    }

    /// Lets an attempt wait that the queue has room for.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, index: u32, attempt: &mut Attempt, from: From) {
        let Some(queue) = &mut self.live.gate.queue else { return };
        queue.push(self.now, Ticket(index), &attempt.ask, attempt.deadline);
        attempt.state = State::Queued;
        self.recorder.enqueued(self.now, attempt.ledger, from);
        if let Some(wait) = queue.max_wait(self.now) {
            let about = reference(index, attempt.generation);
            let at = self.now.saturating_add(wait);
            self.calendar.set_timer(self.live.expiries, at, Moment::Expire, about);
        }
    }

    /// Starts service.
    #[inline(always)]
    fn start(&mut self, index: u32, attempt: &mut Attempt, from: From) {
        let now = self.now;
        let ask = &attempt.ask;
        self.live.gate.admissions.iter_mut().for_each(|stage| stage.take(now, ask));
        if let Some(quota) = &mut self.live.gate.quota {
            quota.take(now, ask);
        }
        let work = self.downstream.start(now, ask, attempt.number);
        attempt.state = State::Serving;
        attempt.started = now;
        attempt.fails = work.fails;
        attempt.finish = now.saturating_add(work.takes);
        self.calendar.schedule(attempt.finish, Moment::Finish, reference(index, attempt.generation));
        self.recorder.admitted(now, attempt.ledger, from, now - attempt.arrived, ask);
    }

    /// Gives back what an attempt in service holds.
    #[inline(always)]
    pub(super) fn leave(&mut self, ask: &Ask, end: End) {
        let (now, gate) = (self.now, &mut self.live.gate);
        self.downstream.leave(now);
        gate.admissions.iter_mut().for_each(|stage| stage.settle(now, ask, end));
        gate.limiters.iter_mut().chain(&mut gate.quota).for_each(|limiter| limiter.settle(now, ask, end));
    }

    /// Offers the waiting to what has room now, in the order of the queue, up to one that is to be shed.
    #[inline(always)]
    pub(super) fn offer(&mut self, attempts: &mut Slab<Attempt>) -> Option<(Ticket, Obstacle)> {
        let mut turn = self.live.gate.queue.as_ref()?.first(self.now);
        while let Some(ticket) = turn {
            if self.live.is_full(self.downstream) {
                break;
            }
            let attempt = &mut attempts[ticket.0];
            let room = self.live.room(self.downstream, self.now, &attempt.ask);
            let queue = self.live.gate.queue.as_mut()?;
            match room {
                Room::None { for_all, .. } if for_all || queue.head_of_line_blocks() => break,
                Room::None { .. } => turn = queue.next(self.now, ticket),
                Room::Some => {
                    let Turn::Starts(next) = queue.take_turn(self.now, ticket) else {
                        let stage = self.live.queue_number();
                        return Some((ticket, Obstacle::Turned { stage, reason: Reason::Shed }));
                    };
                    turn = next;
                    if queue.max_wait(self.now).is_some() {
                        self.calendar.timer_died(self.live.expiries);
                    }
                    self.start(ticket.0, attempt, From::Queue);
                }
                Room::Shed { stage, reason } => return Some((ticket, Obstacle::Turned { stage, reason })),
            }
        }
        None
    }
}
