//! Where attempts are at work: gates and downstreams, and the calendar and the recorder that hear of it.
//!
//! [`Post`] is one gate with its downstream. What every attempt goes through is written here, inlined into the
//! engine's loop, and looks nothing up; what few go through is the engine's own.

use super::calendar::{Calendar, Moment};
use super::gate::{Limits, LiveGate, Room};
use super::live::{self, Attempt, Slab, State, reference};
use super::setup::limit;
use crate::admission::Denial;
use crate::downstream::{AnyDownstream, Downstream, Work};
use crate::observe::{From, Recorder};
use crate::queue::{Queue, Ticket, Turn};
use crate::request::{End, Reason};
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
    pub(super) gate: u16,
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
        denial: Denial,
    },
}

/// What an alarm's event is about: the gate and the admission stage. Nought is the scenario's own change.
fn alarm_of(gate: u16, stage: usize) -> u64 {
    1 + ((gate as u64) << 32 | stage as u64)
}

/// The gate and the admission stage whose alarm an event is.
pub(super) fn whose_alarm(about: u64) -> Option<(u16, usize)> {
    about.checked_sub(1).map(|about| ((about >> 32) as u16, about as u32 as usize))
}

impl Floor {
    /// The gate of that number.
    #[inline(always)]
    pub(super) fn post(&mut self, now: SimTime, gate: u16) -> Post<'_> {
        let live = &mut self.gates[gate as usize];
        let downstream = &mut self.downstreams[live.gate.downstream];
        Post { now, gate, live, downstream, calendar: &mut self.calendar, recorder: &mut self.recorder }
    }

    /// The smallest limit on work in flight of the first gate.
    pub(super) fn limit(&self) -> Option<u64> {
        let gate = &self.gates[0].gate;
        limit(gate, &self.downstreams[gate.downstream])
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
            Limits::Pass if !self.live.habits.sheds => self.seek_room(index, attempt, From::Arrival),
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
        let stage = match self.live.room(self.downstream, self.now, index, attempt) {
            // Those who came before go first, even if this one has room.
            Room::Some if !self.live.lets_pass(self.now, index, &attempt.ask) => self.live.queue_number(),
            Room::Some => {
                self.start(index, attempt, from);
                return Ok(());
            }
            Room::None { stage, .. } => stage,
            Room::Shed { stage, denial } => return Err(Obstacle::Turned { stage, denial }),
        };
        let Some(queue) = &mut self.live.gate.queue else {
            let denial = self.live.denial(stage, self.now, &attempt.entrant(self.now, index));
            return Err(Obstacle::Turned { stage, denial });
        };
        if !queue.has_room(&attempt.ask) {
            if queue.has_victims() {
                return Err(Obstacle::Full);
            }
            let denial = Denial::of(Reason::QueueFull);
            return Err(Obstacle::Turned { stage: self.live.queue_number(), denial });
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
        if self.live.habits.minds_queue {
            let entrant = attempt.entrant(self.now, index);
            self.live.gate.admissions.iter_mut().for_each(|stage| stage.waits(self.now, &entrant));
        }
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
        if !self.live.gate.admissions.is_empty() {
            let entrant = attempt.entrant(now, index);
            self.live.gate.admissions.iter_mut().for_each(|stage| stage.take(now, &entrant));
        }
        if let Some(quota) = &mut self.live.gate.quota {
            quota.take(now, ask);
        }
        let work = self.downstream.start(now, index, ask, attempt.number);
        attempt.state = State::Serving;
        attempt.started = now;
        self.recorder.admitted(now, attempt.ledger, from, now - attempt.arrived, &attempt.ask);
        match work {
            Some(work) => self.begin(index, attempt, work),
            None => (attempt.work, attempt.finish) = (live::Work::Waits, SimTime(u64::MAX)),
        }
        if self.live.habits.keeps_time {
            self.set_alarms();
        }
    }

    /// Work begins.
    #[inline(always)]
    fn begin(&mut self, index: u32, attempt: &mut Attempt, work: Work) {
        (attempt.work, attempt.fails) = (live::Work::Begun, work.fails);
        attempt.finish = self.now.saturating_add(work.takes);
        self.calendar.schedule(attempt.finish, Moment::Finish, reference(index, attempt.generation));
    }

    /// Begins with those that wait inside the downstream, as far as it can now.
    #[inline(always)]
    fn begin_waiting(&mut self, attempts: &mut Slab<Attempt>) {
        while let Some(index) = self.downstream.next(self.now) {
            let attempt = &mut attempts[index];
            let work = self.downstream.begin(self.now, &attempt.ask, attempt.number);
            self.begin(index, attempt, work);
        }
    }

    /// Puts the alarms of admission stages that have moved into the calendar.
    #[inline(never)]
    pub(super) fn set_alarms(&mut self) {
        let known = self.live.alarms.iter_mut();
        for (stage, (admission, known)) in self.live.gate.admissions.iter().zip(known).enumerate() {
            let alarm = admission.alarm();
            if let Some(at) = alarm.filter(|_| alarm != *known) {
                self.calendar.schedule(at, Moment::Change, alarm_of(self.gate, stage));
            }
            *known = alarm;
        }
    }

    /// Gives back what an attempt in service holds.
    #[inline(always)]
    pub(super) fn leave(&mut self, index: u32, attempt: &Attempt, end: End) {
        let (now, gate, ask) = (self.now, &mut self.live.gate, &attempt.ask);
        match attempt.work {
            live::Work::Begun | live::Work::Calling => self.downstream.leave(now, index),
            live::Work::Waits => self.downstream.withdraw(now, index),
            live::Work::Away => {}
        }
        gate.limiters.iter_mut().chain(&mut gate.quota).for_each(|limiter| limiter.settle(now, ask, end));
        if self.live.settles {
            self.settle_rooms(index, attempt, end);
        }
    }

    fn settle_rooms(&mut self, index: u32, attempt: &Attempt, end: End) {
        let entrant = attempt.entrant(attempt.started, index);
        self.live.gate.admissions.iter_mut().for_each(|stage| stage.settle(self.now, &entrant, end));
        if let Some(queue) = self.live.gate.queue.as_mut().filter(|_| self.live.queue_minds_ends) {
            queue.ended(self.now, Ticket(index), self.now - attempt.started);
        }
        self.moved();
    }

    /// The admission stages may have another limit or alarm than before.
    pub(super) fn moved(&mut self) {
        if self.live.habits.keeps_time {
            self.set_alarms();
        }
        if self.live.habits.adapts && self.gate == 0 {
            self.recorder.limit(self.now, limit(&self.live.gate, self.downstream));
        }
    }

    /// Offers the waiting to what has room now, in the order of the queue, up to one that is to be shed.
    #[inline(always)]
    pub(super) fn offer(&mut self, attempts: &mut Slab<Attempt>) -> Option<(Ticket, Obstacle)> {
        self.begin_waiting(attempts);
        let mut turn = self.live.gate.queue.as_ref()?.first(self.now);
        while let Some(ticket) = turn {
            if self.live.is_full(self.downstream) {
                break;
            }
            let attempt = &mut attempts[ticket.0];
            let room = self.live.room(self.downstream, self.now, ticket.0, attempt);
            let queue = self.live.gate.queue.as_mut()?;
            match room {
                Room::None { for_all: true, .. } => break,
                Room::None { .. } => turn = queue.pass_over(self.now, ticket),
                Room::Some => {
                    let Turn::Starts(next) = queue.take_turn(self.now, ticket) else {
                        let stage = self.live.queue_number();
                        return Some((ticket, Obstacle::Turned { stage, denial: Denial::of(Reason::Shed) }));
                    };
                    turn = next;
                    if queue.max_wait(self.now).is_some() {
                        self.calendar.timer_died(self.live.expiries);
                    }
                    self.start(ticket.0, attempt, From::Queue);
                }
                Room::Shed { stage, denial } => return Some((ticket, Obstacle::Turned { stage, denial })),
            }
        }
        None
    }
}
