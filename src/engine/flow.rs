//! One attempt's life, from its birth to its start: arrival, limiters, admission, queue.

use super::calendar::Moment;
use super::gate::{Refusal, Room};
use super::live::{Attempt, Call, State, reference};
use super::{Engine, alive};
use crate::client::Failure;
use crate::observe::{From, Refuser};
use crate::queue::Ticket;
use crate::request::{Ask, End, Reason};

impl Engine<'_> {
    /// A call is born and its first attempt arrives.
    #[inline(always)]
    pub(super) fn arrive(&mut self, index: usize) {
        let now = self.now;
        let live = &mut self.traffics[index];
        let traffic = &mut live.traffic;
        let mut ask = Ask { dice: traffic.dice.dice(), class: traffic.class, ..Ask::default() };
        if live.draws_something {
            traffic.draws.fill(&mut ask, &live.pending);
        }
        let ledger = self.recorder.ledger(ask.class, now);
        self.recorder.born(ledger, &ask);
        let (client, gate) = (traffic.client as u16, traffic.gate as u16);
        let call = self.calls.insert(|_| Call {
            ask,
            born: now,
            number: self.born,
            attempts: 0,
            live: 0,
            traffic: index as u16,
            client,
            gate,
            ledger,
            open: true,
        });
        self.born += 1;
        self.await_arrival(index);
        self.attempt(call)
    }

    /// An attempt of a call arrives at its gate.
    #[inline]
    pub(super) fn attempt(&mut self, index: u32) {
        let now = self.now;
        let call = &mut self.calls[index];
        call.attempts += 1;
        call.live += 1;
        let number = call.attempts;
        self.recorder.offered(call.ledger, number == 1, &call.ask);
        let client = &mut self.clients[call.client as usize];
        if number == 1 {
            client.client.called(now);
        }
        let (timeout, timers) = (client.client.timeout, client.timers);
        let gate = call.gate;
        let attempt = self.attempts.insert(|before| Attempt {
            arrived: now,
            started: now,
            finish: now,
            call: index,
            generation: before.map_or(0, |before| before.generation),
            number,
            gate,
            state: State::Outside,
            fails: false,
            orphan: false,
            timed: false,
        });
        let limits = &mut self.gates[gate as usize];
        let alive = if !limits.parked.is_empty() && self.joins_a_line(attempt) {
            true
        } else {
            match self.gates[gate as usize].limit(now, &self.calls[index].ask) {
                None => self.seek_room(attempt, From::Arrival),
                Some(refusal) => self.refused(attempt, refusal),
            }
        };
        if let Some(timeout) = timeout
            && alive
        {
            let attempt_ref = reference(attempt, self.attempts[attempt].generation);
            self.attempts[attempt].timed = true;
            self.calendar.set_timer(timers, now.saturating_add(timeout), Moment::Timeout, attempt_ref);
        }
    }

    /// A limiter refuses an arriving attempt; answers whether it is still alive, parked.
    fn refused(&mut self, attempt: u32, refusal: Refusal) -> bool {
        let facts = &self.attempts[attempt];
        let (gate, ask) = (facts.gate as usize, &self.calls[facts.call].ask);
        match self.gates[gate].parking_line(self.now, refusal, ask) {
            Some(line) => {
                self.park(attempt, line);
                self.wake_at(attempt, refusal.at);
                true
            }
            None => {
                self.reject_limited(attempt, From::Arrival, refusal);
                false
            }
        }
    }

    /// Turns away what a limiter refused.
    pub(super) fn reject_limited(&mut self, attempt: u32, from: From, refusal: Refusal) {
        let gate = self.attempts[attempt].gate as usize;
        let by = Refuser { gate, stage: refusal.stage, reason: Reason::RateLimited };
        let retry_after = refusal.at.map(|at| at - self.now);
        self.reject(attempt, from, by, retry_after, Failure::Limited);
    }

    /// Starts an attempt that has passed the limiters, or lets it wait for room.
    #[inline(always)]
    pub(super) fn seek_room(&mut self, attempt: u32, from: From) -> bool {
        let facts = &self.attempts[attempt];
        let gate = facts.gate as usize;
        let call = &self.calls[facts.call];
        let live = &mut self.gates[gate];
        let room = match live.room(&self.downstreams, self.now, &call.ask) {
            // Those who came before go first, even if this one has room.
            Room::Some if live.line_blocks() => Room::None { stage: live.queue_number(), for_all: true },
            room => room,
        };
        let (stage, reason) = match room {
            Room::Some => {
                self.start(attempt, from);
                return true;
            }
            Room::Shed { stage, reason } => (stage, reason),
            Room::None { stage, .. } => match &mut live.gate.queue {
                Some(queue) if queue.has_room(&call.ask) => {
                    queue.push(self.now, Ticket(attempt), &call.ask);
                    self.recorder.enqueued(self.now, call.ledger, from);
                    if let Some(wait) = queue.max_wait() {
                        let about = reference(attempt, facts.generation);
                        let at = self.now.saturating_add(wait);
                        self.calendar.set_timer(live.expiries, at, Moment::Expire, about);
                    }
                    self.attempts[attempt].state = State::Queued;
                    return true;
                }
                Some(_) => (live.queue_number(), Reason::QueueFull),
                None => (stage, live.reason(stage)),
            },
        };
        let ask = call.ask;
        self.give_back(gate, &ask);
        self.reject(attempt, from, Refuser { gate, stage, reason }, None, Failure::Unavailable);
        false
    }

    /// Gives back what the limiters took from an attempt that nothing was spent on.
    pub(super) fn give_back(&mut self, gate: usize, ask: &Ask) {
        let now = self.now;
        let live = &mut self.gates[gate];
        live.gate.limiters.iter_mut().for_each(|limiter| limiter.settle(now, ask, End::Unused));
        // What was given back may let a parked one pass.
        self.wake_heads(gate);
    }

    /// Offers the waiting to what has room now, in the order of the queue.
    #[inline(always)]
    pub(super) fn offer(&mut self, gate: usize) {
        let mut turn = self.gates[gate].gate.queue.as_ref().and_then(|queue| queue.first());
        while let Some(ticket) = turn {
            let call = &self.calls[self.attempts[ticket.0].call];
            let live = &self.gates[gate];
            let room = live.room(&self.downstreams, self.now, &call.ask);
            let Some(queue) = &live.gate.queue else { break };
            match room {
                Room::None { for_all, .. } if for_all || queue.head_of_line_blocks() => break,
                Room::None { .. } => turn = queue.next(ticket),
                Room::Some => {
                    turn = queue.next(ticket);
                    self.leave_queue(ticket.0);
                    self.start(ticket.0, From::Queue);
                }
                Room::Shed { stage, reason } => {
                    turn = queue.next(ticket);
                    let ask = call.ask;
                    self.leave_queue(ticket.0);
                    self.give_back(gate, &ask);
                    let by = Refuser { gate, stage, reason };
                    self.reject(ticket.0, From::Queue, by, None, Failure::Unavailable);
                }
            }
        }
    }

    /// Takes an attempt out of its gate's queue.
    #[inline(always)]
    pub(super) fn leave_queue(&mut self, index: u32) {
        let attempt = &mut self.attempts[index];
        attempt.state = State::Outside;
        let live = &mut self.gates[attempt.gate as usize];
        if let Some(queue) = &mut live.gate.queue {
            queue.remove(Ticket(index));
            if queue.max_wait().is_some() {
                let attempts = &self.attempts;
                self.calendar.timer_died(live.expiries, |due| alive(attempts, due));
            }
        }
    }
}
