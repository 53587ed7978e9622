//! Service: how an attempt starts, how it ends, and what its caller does then.

use super::Engine;
use super::calendar::Moment;
use super::live::{State, reference};
use crate::client::Failure;
use crate::observe::{From, Refuser, RequestRow, Served, Times};
use crate::queue::Queue;
use crate::request::{End, Reason};
use crate::time::Nanos;

/// How an attempt ends.
#[derive(Clone, Copy)]
pub(super) enum Ending {
    /// It was served.
    Served(Served),
    /// Its caller stopped waiting before it started.
    Abandoned,
    /// It was turned away; a wait that would have helped, if a limiter knows one.
    Rejected(Refuser, Option<Nanos>),
    /// The run was cut off.
    Unfinished,
}

impl Ending {
    /// The name that files give it.
    fn name(self) -> &'static str {
        match self {
            Ending::Served(how) => how.name(),
            Ending::Abandoned => "abandoned",
            Ending::Rejected(..) => "rejected",
            Ending::Unfinished => "unfinished",
        }
    }
}

impl Engine<'_> {
    /// Work has come to its end, unless it is paused or calls others first.
    #[inline(always)]
    pub(super) fn finish(&mut self, index: u32) -> u64 {
        self.complete::<true>(index)
    }

    /// Service ends; `ASKS` whether it does.
    #[inline(always)]
    pub(super) fn complete<const ASKS: bool>(&mut self, index: u32) -> u64 {
        let now = self.now;
        let attempt = &mut self.attempts[index];
        let story = attempt.story();
        let gate = attempt.gate;
        let post = &mut self.floor.post(now, gate);
        if ASKS && post.live.may_go_on {
            if !self.goes_on(index) {
                self.end_service(index);
            }
            return story;
        }
        let (took, orphan) = (now - attempt.started, attempt.orphan);
        let how = match (attempt.fails, orphan || attempt.deadline < now) {
            (true, _) => Served::Failed,
            (false, true) => Served::Wasted,
            (false, false) => Served::Goodput,
        };
        let end = if how == Served::Failed { End::Failed(took) } else { End::Completed(took) };
        post.leave(index, attempt, end);
        let times = Times { took, since_birth: now - attempt.born };
        post.recorder.served(now, attempt.ledger, gate as usize, how, times, &attempt.ask);
        if attempt.timed || attempt.inner || self.wants_requests || how == Served::Failed {
            let inner = attempt.inner;
            self.end_attempt(index, Ending::Served(how));
            if how == Served::Failed && !orphan {
                self.failed(index, Failure::Error);
            } else {
                if inner && !orphan {
                    self.answer(index, true);
                }
                self.attempts.free(index);
            }
            self.offer(gate as usize);
            return story;
        }
        attempt.end();
        self.attempts.free(index);
        if let Some((ticket, obstacle)) = post.offer(&mut self.attempts) {
            self.shed_waiting(ticket, obstacle);
            self.offer(gate as usize);
        }
        story
    }

    /// A queue's patience ends.
    #[inline(never)]
    pub(super) fn expire(&mut self, index: u32) -> u64 {
        let attempt = &self.attempts[index];
        let (gate, ask, story) = (attempt.gate as usize, attempt.ask, attempt.story());
        self.leave_queue(index);
        self.give_back(gate, &ask);
        let stage = self.floor.gates[gate].queue_number();
        let told = self.lost(index, stage, Some(Reason::QueueTimeout));
        let by = Refuser { gate, stage, reason: Reason::QueueTimeout, scope: "" };
        self.reject(index, From::Queue, by, told, Failure::Unavailable);
        self.offer_behind(gate);
        story
    }

    /// A caller's patience ends.
    #[inline(never)]
    pub(super) fn time_out(&mut self, index: u32) -> u64 {
        let attempt = &mut self.attempts[index];
        attempt.timed = false;
        let (gate, state, story) = (attempt.gate as usize, attempt.state, attempt.story());
        self.floor.recorder.timed_out(attempt.ledger);
        // It goes on for nobody.
        if state == State::Serving && !self.clients[attempt.client as usize].client.cancel {
            attempt.orphan = true;
            self.given_up(index);
            return story;
        }
        self.withdraw(index);
        self.failed(index, Failure::Timeout);
        if state == State::Queued {
            self.offer_behind(gate)
        } else {
            self.offer(gate)
        }
        story
    }

    /// An attempt leaves with its caller, wherever it is. Its place is kept.
    pub(super) fn withdraw(&mut self, index: u32) {
        let attempt = &self.attempts[index];
        let (number, ask) = (attempt.gate as usize, attempt.ask);
        match attempt.state {
            State::Serving => self.cancel_service(index),
            State::Queued => {
                self.leave_queue(index);
                self.give_back(number, &ask);
                self.lost(index, self.floor.gates[number].queue_number(), None);
                self.abandon(index, From::Queue);
            }
            State::Delayed => {
                self.give_back(number, &ask);
                self.abandon(index, From::Deferred);
            }
            // What is refused was not charged.
            State::Held => {
                self.floor.gates[number].held.remove(&index);
                self.abandon(index, From::Deferred);
            }
            // What is parked has not been charged yet.
            State::Deferred => {
                self.leave_line(index);
                self.abandon(index, From::Deferred);
            }
            State::Outside => {}
        }
    }

    /// One has left the queue without starting: it may have been the first, which kept those behind it from starting,
    /// or one for whom a stage kept room.
    pub(super) fn offer_behind(&mut self, gate: usize) {
        let live = &self.floor.gates[gate];
        let blocks = live.gate.queue.as_ref().is_some_and(|queue| queue.head_of_line_blocks());
        if blocks || live.habits.minds_queue {
            self.offer(gate);
        }
    }

    /// An attempt that has not started leaves with its caller.
    fn abandon(&mut self, index: u32, from: From) {
        let attempt = &self.attempts[index];
        let waited = self.now - attempt.arrived;
        self.floor.recorder.abandoned(self.now, attempt.ledger, from, waited, attempt.gate as usize);
        self.end_attempt(index, Ending::Abandoned);
    }

    /// Turns an attempt away.
    pub(super) fn reject(
        &mut self,
        index: u32,
        from: From,
        by: Refuser,
        retry_after: Option<Nanos>,
        failure: Failure,
    ) {
        let attempt = &self.attempts[index];
        self.floor.recorder.rejected(self.now, attempt.ledger, from, self.now - attempt.arrived, by);
        self.end_attempt(index, Ending::Rejected(by, retry_after));
        self.failed(index, failure);
    }

    /// The last word on an attempt: its row in the request log, its timer. Its place is kept.
    #[inline(always)]
    pub(super) fn end_attempt(&mut self, index: u32, ending: Ending) {
        if self.wants_requests {
            self.log(index, ending);
        }
        let attempt = &mut self.attempts[index];
        if attempt.timed {
            self.floor.calendar.timer_died(self.clients[attempt.client as usize].timers);
        }
        attempt.end();
    }

    /// Writes an attempt into the request log.
    pub(super) fn log(&mut self, index: u32, ending: Ending) {
        let attempt = &self.attempts[index];
        let layout = self.floor.recorder.layout();
        let gate = &layout.gates[attempt.gate as usize];
        let started = matches!(ending, Ending::Served(_)) || attempt.state == State::Serving;
        let (by, retry_after) = match ending {
            Ending::Rejected(by, retry_after) => (Some(by), retry_after),
            _ => (None, None),
        };
        let edge = attempt.inner.then(|| &layout.edges[self.family.of(index).edge as usize]);
        let caller = edge.map_or("", |edge| edge.caller.as_str());
        let row = RequestRow {
            call: if attempt.inner { self.family.of(index).root } else { attempt.call },
            attempt: attempt.number,
            traffic: &self.traffics[attempt.traffic as usize].traffic.name,
            class: &layout.classes[attempt.ask.class.0 as usize],
            ask: &attempt.ask,
            arrived: attempt.arrived,
            started: started.then_some(attempt.started),
            ended: self.now,
            outcome: ending.name(),
            reason: by.map_or("", |by| by.reason.name()),
            stage: by.map_or("", |by| gate.stages[by.stage].as_str()),
            target: &gate.target,
            retry_after,
            scope: by.map_or("", |by| by.scope),
            caller,
        };
        if let Err(problem) = self.sink.request(&row) {
            self.failure.get_or_insert(problem);
        }
    }

    /// The client learns that its attempt has ended without an answer: it tries again later, for which the place
    /// is kept, or gives up.
    fn failed(&mut self, index: u32, failure: Failure) {
        let attempt = &self.attempts[index];
        if attempt.inner {
            return self.inner_failed(index, failure);
        }
        let client = &mut self.clients[attempt.client as usize].client;
        match client.retry(self.now, attempt.ask.dice, attempt.number, failure) {
            Some(wait) => {
                let again = attempt.again(attempt.generation);
                self.attempts[index] = again;
                self.schedule_retry(index, wait);
            }
            None => self.attempts.free(index),
        }
    }

    /// The client stops waiting for an attempt that goes on: a retry of it takes a place of its own.
    fn given_up(&mut self, index: u32) {
        let attempt = &self.attempts[index];
        if attempt.inner {
            return self.inner_given_up(index);
        }
        let client = &mut self.clients[attempt.client as usize].client;
        if let Some(wait) = client.retry(self.now, attempt.ask.dice, attempt.number, Failure::Timeout) {
            let (facts, (place, free)) = (attempt.clone(), self.attempts.occupy());
            *free = facts.again(free.generation);
            self.schedule_retry(place, wait);
        }
    }

    #[inline(always)]
    pub(super) fn schedule_retry(&mut self, index: u32, wait: Nanos) {
        let about = reference(index, self.attempts[index].generation);
        self.floor.calendar.schedule(self.now.saturating_add(wait), Moment::Retry, about);
    }
}
