//! Service: how an attempt starts, how it ends, and what its caller does then.

use super::calendar::Moment;
use super::live::{State, reference};
use super::{Engine, alive};
use crate::client::Failure;
use crate::observe::{From, Refuser, RequestRow, Served};
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
    /// Starts service.
    #[inline(always)]
    pub(super) fn start(&mut self, index: u32, from: From) {
        let now = self.now;
        let attempt = &mut self.attempts[index];
        let call = &self.calls[attempt.call];
        let gate = &mut self.gates[attempt.gate as usize].gate;
        gate.admissions.iter_mut().for_each(|stage| stage.take(now, &call.ask));
        let work = self.downstreams[gate.downstream].start(now, &call.ask, attempt.number);
        attempt.state = State::Serving;
        attempt.started = now;
        attempt.fails = work.fails;
        attempt.finish = now.saturating_add(work.takes);
        self.calendar.schedule(attempt.finish, Moment::Finish, reference(index, attempt.generation));
        self.recorder.admitted(now, call.ledger, from, now - attempt.arrived, &call.ask);
    }

    /// Service ends by itself.
    #[inline(always)]
    pub(super) fn finish(&mut self, index: u32) {
        let now = self.now;
        let attempt = &mut self.attempts[index];
        let (gate, number, orphan) = (attempt.gate as usize, attempt.call, attempt.orphan);
        let call = &mut self.calls[number];
        let late = match self.deadlines[call.ask.class.0 as usize] {
            Some(deadline) => call.born.saturating_add(deadline) < now,
            None => false,
        };
        let how = match (attempt.fails, orphan || late) {
            (true, _) => Served::Failed,
            (false, true) => Served::Wasted,
            (false, false) => Served::Goodput,
        };
        self.leave_service(index, how);
        let call = &mut self.calls[number];
        if how == Served::Goodput {
            self.recorder.answered(call.ledger, now - call.born, &call.ask);
        }
        if !orphan && how != Served::Failed {
            call.open = false;
        }
        self.end_attempt(index, Ending::Served(how));
        if !orphan && how == Served::Failed {
            self.failed(number, Failure::Error);
        }
        self.release(number);
        self.offer(gate)
    }

    /// Gives back what an attempt in service holds.
    #[inline(always)]
    fn leave_service(&mut self, index: u32, how: Served) {
        let now = self.now;
        let attempt = &mut self.attempts[index];
        attempt.state = State::Outside;
        let call = &self.calls[attempt.call];
        let took = now - attempt.started;
        let end = match how {
            Served::Goodput | Served::Wasted => End::Completed(took),
            Served::Failed => End::Failed(took),
            Served::Cancelled => End::Cancelled(took),
        };
        let gate = &mut self.gates[attempt.gate as usize].gate;
        self.downstreams[gate.downstream].leave(now);
        gate.admissions.iter_mut().for_each(|stage| stage.settle(now, &call.ask, end));
        gate.limiters.iter_mut().for_each(|limiter| limiter.settle(now, &call.ask, end));
        self.recorder.served(now, call.ledger, attempt.gate as usize, how, took, &call.ask);
    }

    /// A queue's patience ends.
    pub(super) fn expire(&mut self, index: u32) {
        let attempt = &self.attempts[index];
        let gate = attempt.gate as usize;
        let ask = self.calls[attempt.call].ask;
        self.leave_queue(index);
        self.give_back(gate, &ask);
        let stage = self.gates[gate].queue_number();
        let by = Refuser { gate, stage, reason: Reason::QueueTimeout };
        self.reject(index, From::Queue, by, None, Failure::Unavailable);
        // It may have been the first, which kept those behind it from starting.
        self.offer(gate)
    }

    /// A caller's patience ends.
    pub(super) fn time_out(&mut self, index: u32) {
        let attempt = &mut self.attempts[index];
        attempt.timed = false;
        let (number, gate, state) = (attempt.call, attempt.gate as usize, attempt.state);
        let call = &self.calls[number];
        let (ledger, ask, cancels) =
            (call.ledger, call.ask, self.clients[call.client as usize].client.cancel);
        self.recorder.timed_out(ledger);
        match state {
            // It goes on for nobody.
            State::Serving if !cancels => {
                attempt.orphan = true;
                return self.failed(number, Failure::Timeout);
            }
            State::Serving => {
                self.leave_service(index, Served::Cancelled);
                self.end_attempt(index, Ending::Served(Served::Cancelled));
                let attempts = &self.attempts;
                self.calendar.event_died(|due| alive(attempts, due));
            }
            State::Queued => {
                self.leave_queue(index);
                self.give_back(gate, &ask);
                self.abandon(index, From::Queue);
            }
            // What is parked has not been charged yet.
            State::Deferred => {
                self.leave_line(index);
                self.abandon(index, From::Deferred);
            }
            State::Outside => {}
        }
        self.failed(number, Failure::Timeout);
        self.release(number);
        self.offer(gate)
    }

    /// An attempt that has not started leaves with its caller.
    fn abandon(&mut self, index: u32, from: From) {
        let attempt = &self.attempts[index];
        let ledger = self.calls[attempt.call].ledger;
        self.recorder.abandoned(self.now, ledger, from, self.now - attempt.arrived, attempt.gate as usize);
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
        let call = attempt.call;
        self.recorder.rejected(self.now, self.calls[call].ledger, from, self.now - attempt.arrived, by);
        self.end_attempt(index, Ending::Rejected(by, retry_after));
        self.failed(call, failure);
        self.release(call);
    }

    /// The last word on an attempt: its row in the request log, its timer, its place.
    #[inline(always)]
    fn end_attempt(&mut self, index: u32, ending: Ending) {
        if self.wants_requests {
            self.log(index, ending);
        }
        let attempt = &mut self.attempts[index];
        let (number, was_timed) = (attempt.call, attempt.timed);
        attempt.timed = false;
        attempt.generation = attempt.generation.wrapping_add(1);
        self.attempts.free(index);
        let call = &mut self.calls[number];
        call.live -= 1;
        if was_timed {
            let attempts = &self.attempts;
            let timers = self.clients[call.client as usize].timers;
            self.calendar.timer_died(timers, |due| alive(attempts, due));
        }
    }

    /// Writes an attempt into the request log.
    pub(super) fn log(&mut self, index: u32, ending: Ending) {
        let attempt = &self.attempts[index];
        let call = &self.calls[attempt.call];
        let layout = self.recorder.layout();
        let gate = &layout.gates[attempt.gate as usize];
        let started = matches!(ending, Ending::Served(_)) || attempt.state == State::Serving;
        let (by, retry_after) = match ending {
            Ending::Rejected(by, retry_after) => (Some(by), retry_after),
            _ => (None, None),
        };
        let row = RequestRow {
            call: call.number,
            attempt: attempt.number,
            traffic: &self.traffics[call.traffic as usize].traffic.name,
            class: &layout.classes[call.ask.class.0 as usize],
            ask: &call.ask,
            arrived: attempt.arrived,
            started: started.then_some(attempt.started),
            ended: self.now,
            outcome: ending.name(),
            reason: by.map_or("", |by| by.reason.name()),
            stage: by.map_or("", |by| gate.stages[by.stage].as_str()),
            target: &gate.target,
            retry_after,
        };
        if let Err(problem) = self.sink.request(&row) {
            self.failure.get_or_insert(problem);
        }
    }

    /// The client learns that an attempt has failed: it tries again later or gives up.
    fn failed(&mut self, index: u32, failure: Failure) {
        let call = &mut self.calls[index];
        let client = &mut self.clients[call.client as usize].client;
        match client.retry(self.now, call.ask.dice, call.attempts, failure) {
            Some(wait) => {
                let at = self.now.saturating_add(wait);
                self.calendar.schedule(at, Moment::Retry, index as u64);
            }
            None => call.open = false,
        }
    }

    /// Frees a call of which nothing is left.
    #[inline(always)]
    fn release(&mut self, index: u32) {
        let call = &self.calls[index];
        if !call.open && call.live == 0 {
            self.calls.free(index);
        }
    }
}
