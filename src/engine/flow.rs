//! One attempt's way in, from its birth to its start, and what stands in it.

use super::calendar::Moment;
use super::floor::{Obstacle, Post};
use super::gate::{Limits, Refusal};
use super::live::{Attempt, State, Work, reference};
use super::{Engine, LiveClient};
use crate::admission::Denial;
use crate::client::Failure;
use crate::observe::{From, Refuser};
use crate::queue::{Queue, Ticket};
use crate::request::{Ask, End, Reason};
use crate::time::Nanos;

impl Engine<'_> {
    /// A call is born and its first attempt arrives.
    #[inline(always)]
    pub(super) fn arrive(&mut self, index: usize) -> u64 {
        let now = self.now;
        let live = &mut self.traffics[index];
        let traffic = &mut live.traffic;
        let mut ask = Ask { dice: traffic.dice.dice(), class: traffic.class, ..Ask::default() };
        if live.draws_something {
            traffic.draws.fill(&mut ask, &live.pending);
        }
        let (client, gate) = (traffic.client as u16, traffic.gate as u16);
        let post = &mut self.floor.post(now, gate);
        if let Err(problem) = live.await_call(now, post.calendar) {
            self.failure = Some(problem);
        }
        let ledger = post.recorder.ledger(ask.class, now);
        post.recorder.born(ledger, &ask);
        let call = self.born;
        self.born += 1;
        let (place, attempt) = self.attempts.occupy();
        *attempt = Attempt {
            ask,
            call,
            born: now,
            deadline: now.saturating_add(live.deadline),
            arrived: now,
            started: now,
            finish: now,
            generation: attempt.generation,
            number: 1,
            ledger,
            traffic: index as u16,
            client,
            gate,
            state: State::Outside,
            fails: false,
            work: Work::Waits,
            inner: false,
            orphan: false,
            timed: false,
        };
        let client = &mut self.clients[client as usize];
        client.client.called(now);
        match post.enter(place, attempt) {
            Ok(()) => client.wait(post, place, attempt),
            Err(obstacle) => self.stopped_by(place, obstacle),
        }
        call
    }

    /// A caller tries again, or a downstream calls.
    #[inline(never)]
    pub(super) fn retry(&mut self, index: u32) -> u64 {
        let attempt = &mut self.attempts[index];
        attempt.arrived = self.now;
        if attempt.inner {
            self.floor.recorder.edge_tried(self.family.of(index).edge, attempt.ledger);
        }
        let story = attempt.story();
        let post = &mut self.floor.post(self.now, attempt.gate);
        match post.enter(index, attempt) {
            Ok(()) => self.clients[attempt.client as usize].wait(post, index, attempt),
            Err(obstacle) => self.stopped_by(index, obstacle),
        }
        story
    }

    /// An arriving attempt meets an obstacle: it is parked or turned away.
    #[inline(never)]
    fn stopped_by(&mut self, index: u32, obstacle: Obstacle) {
        let stays = match obstacle {
            Obstacle::Parked => self.enter_behind(index),
            Obstacle::Limited(limits) => self.limited(index, limits),
            Obstacle::Full => self.take_a_place(index, From::Arrival),
            Obstacle::Turned { stage, denial } => self.turned_away(index, From::Arrival, stage, denial),
        };
        if stays {
            let attempt = &mut self.attempts[index];
            let post = &mut self.floor.post(self.now, attempt.gate);
            self.clients[attempt.client as usize].wait(post, index, attempt);
            let gate = attempt.gate as usize;
            self.offer_behind(gate);
        }
    }

    /// An attempt arrives while others are parked; answers whether it stays.
    fn enter_behind(&mut self, index: u32) -> bool {
        if self.joins_a_line(index) {
            return true;
        }
        let attempt = &mut self.attempts[index];
        let post = self.floor.post(self.now, attempt.gate);
        let limits = post.live.limit(self.now, &attempt.ask);
        self.limited(index, limits)
    }

    /// The limiters have answered an arriving attempt; answers whether it stays.
    fn limited(&mut self, index: u32, limits: Limits) -> bool {
        let attempt = &self.attempts[index];
        let refusal = match limits {
            Limits::Pass => return self.seek_room(index, From::Arrival),
            Limits::Delay(until) => {
                self.floor.recorder.deferred(self.now, attempt.ledger);
                self.delay(index, until);
                return true;
            }
            Limits::Refuse(refusal) => refusal,
        };
        match self.floor.gates[attempt.gate as usize].parking_line(self.now, refusal, &attempt.ask) {
            Some(line) => {
                self.park(index, line);
                self.wake_at(index, refusal.at);
                true
            }
            None => {
                let hold = self.floor.gates[attempt.gate as usize].holds(self.now, refusal, &attempt.ask);
                if hold > Nanos::ZERO {
                    self.hold(index, refusal, self.now.saturating_add(hold));
                    return true;
                }
                self.reject_limited(index, From::Arrival, refusal);
                false
            }
        }
    }

    /// Turns away what a limiter refused.
    pub(super) fn reject_limited(&mut self, index: u32, from: From, refusal: Refusal) {
        let gate = self.attempts[index].gate as usize;
        let ask = &self.attempts[index].ask;
        let scope = self.floor.gates[gate].gate.limiters[refusal.stage].binding(self.now, ask);
        let by = Refuser { gate, stage: refusal.stage, reason: Reason::RateLimited, scope };
        let retry_after = self.floor.gates[gate].advice(self.now, refusal, ask);
        self.reject(index, from, by, retry_after, Failure::Limited);
    }

    /// Starts an attempt that has passed the limiters, or lets it wait for room; answers whether it stays.
    pub(super) fn seek_room(&mut self, index: u32, from: From) -> bool {
        if let Some((stage, denial)) = self.sheds(index) {
            return self.turned_away(index, from, stage, denial);
        }
        let attempt = &mut self.attempts[index];
        match self.floor.post(self.now, attempt.gate).seek_room(index, attempt, from) {
            Err(Obstacle::Turned { stage, denial }) => self.turned_away(index, from, stage, denial),
            Err(Obstacle::Full) => self.take_a_place(index, from),
            _ => true,
        }
    }

    /// The stage that sheds an attempt that has passed the limiters, and why.
    fn sheds(&mut self, index: u32) -> Option<(usize, Denial)> {
        let gate = self.attempts[index].gate;
        if !self.floor.gates[gate as usize].habits.sheds {
            return None;
        }
        let scene = self.scene(gate);
        let entrant = self.attempts[index].entrant(self.now, index);
        let post = &mut self.floor.post(self.now, gate);
        let (now, first) = (post.now, post.live.gate.limiters.len());
        let mut stages = post.live.gate.admissions.iter_mut().enumerate();
        let shed = stages.find_map(|(number, stage)| {
            stage.sheds(now, &entrant, &scene).map(|denial| (first + number, denial))
        });
        post.moved();
        shed
    }

    /// An attempt finds the queue full: it takes the place of those whom the queue gives up for it, or is turned
    /// away; answers whether it stays.
    fn take_a_place(&mut self, index: u32, from: From) -> bool {
        let (gate, ask) = (self.attempts[index].gate, self.attempts[index].ask);
        let stage = self.floor.gates[gate as usize].queue_number();
        while let Some(queue) = &mut self.floor.gates[gate as usize].gate.queue {
            if queue.has_room(&ask) {
                self.floor.post(self.now, gate).enqueue(index, &mut self.attempts[index], from);
                return true;
            }
            let Some(victim) = queue.victim(self.now, &ask) else { break };
            self.leave_queue(victim.0);
            self.turned_away(victim.0, From::Queue, stage, Denial::of(Reason::QueueFull));
        }
        self.turned_away(index, from, stage, Denial::of(Reason::QueueFull))
    }

    /// Turns away an attempt that has passed the limiters; it does not stay.
    fn turned_away(&mut self, index: u32, from: From, stage: usize, denial: Denial) -> bool {
        let attempt = &self.attempts[index];
        let (gate, ask) = (attempt.gate as usize, attempt.ask);
        let Denial { reason, scope } = denial;
        self.give_back(gate, &ask);
        let told = self.lost(index, stage, Some(reason));
        let live = &mut self.floor.gates[gate];
        let retry_after = if stage == live.downstream_number() && reason == Reason::RateLimited {
            live.refused_by_quota(self.now, &ask)
        } else {
            let entrant = self.attempts[index].entrant(self.now, index);
            live.admission_advice(stage, self.now, &entrant).or(told)
        };
        let failure = match reason {
            Reason::RateLimited => Failure::Limited,
            _ => Failure::Unavailable,
        };
        self.reject(index, from, Refuser { gate, stage, reason, scope }, retry_after, failure);
        false
    }

    /// Tells the admission stages before stage number `stage` that one that they let in doesn't start; answers what the
    /// first that has a say in it tells that one to wait.
    pub(super) fn lost(&mut self, index: u32, stage: usize, reason: Option<Reason>) -> Option<Nanos> {
        let attempt = &self.attempts[index];
        let gate = &mut self.floor.gates[attempt.gate as usize];
        if !gate.habits.minds_losses {
            return None;
        }
        let entrant = attempt.entrant(self.now, index);
        let before = gate.gate.admissions.iter_mut().take(stage - gate.gate.limiters.len());
        before.map(|stage| stage.lost(self.now, &entrant, reason)).fold(None, Option::or)
    }

    /// Gives back what the limiters took from an attempt that nothing was spent on.
    pub(super) fn give_back(&mut self, gate: usize, ask: &Ask) {
        let now = self.now;
        let limiters = &mut self.floor.gates[gate].gate.limiters;
        if limiters.is_empty() {
            return;
        }
        limiters.iter_mut().for_each(|limiter| limiter.settle(now, ask, End::Unused));
        // What was given back may let a parked one pass.
        self.wake_heads(gate);
    }

    /// Offers the waiting to what has room now, in the order of the queue.
    pub(super) fn offer(&mut self, gate: usize) {
        while let Some((ticket, obstacle)) = self.floor.post(self.now, gate as u16).offer(&mut self.attempts)
        {
            self.shed_waiting(ticket, obstacle);
        }
    }

    /// Turns away one that waits.
    #[inline(never)]
    pub(super) fn shed_waiting(&mut self, ticket: Ticket, obstacle: Obstacle) {
        if let Obstacle::Turned { stage, denial } = obstacle {
            self.leave_queue(ticket.0);
            self.turned_away(ticket.0, From::Queue, stage, denial);
        }
    }

    /// Takes an attempt out of its gate's queue.
    pub(super) fn leave_queue(&mut self, index: u32) {
        let attempt = &mut self.attempts[index];
        let live = &mut self.floor.gates[attempt.gate as usize];
        if live.habits.minds_queue {
            let entrant = attempt.entrant(self.now, index);
            live.gate.admissions.iter_mut().for_each(|stage| stage.gave_up(self.now, &entrant));
        }
        attempt.state = State::Outside;
        if let Some(queue) = &mut live.gate.queue {
            queue.remove(self.now, Ticket(index));
            if queue.max_wait(self.now).is_some() {
                self.floor.calendar.timer_died(live.expiries);
            }
        }
    }
}

impl LiveClient {
    /// The caller's patience begins to run.
    #[inline(always)]
    fn wait(&self, post: &mut Post<'_>, index: u32, attempt: &mut Attempt) {
        if let Some(timeout) = self.client.timeout {
            attempt.timed = true;
            let about = reference(index, attempt.generation);
            post.calendar.set_timer(self.timers, post.now.saturating_add(timeout), Moment::Timeout, about);
        }
    }
}
