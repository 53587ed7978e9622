//! Calls between downstreams: what work calls when its own time is over, and how it goes on.
//!
//! Calls are made in the order in which they are listed; those that stand *beside* the one before begin with it. Each call
//! is an attempt like any other, at the gate of the downstream that is called, and has a client of its own; what it is to
//! others stands in [`Family`](super::kin::Family). An answer is read when the event that made it has been handled, so
//! that calls that are answered at once, however many, take no more stack than one.

use super::Engine;
use super::kin::{Answer, Kin, NEVER};
use super::live::{Attempt, State, Work, reference, resolve};
use super::service::Ending;
use super::setup::{Call, Wanted};
use crate::client::Failure;
use crate::downstream::Downstream;
use crate::observe::{Served, Times};
use crate::request::{Ask, End};
use crate::rng::{Dice, Purpose};

impl Engine<'_> {
    /// Work has come to the end of its own time, where it may be paused or call others; answers whether it goes on.
    #[inline(never)]
    pub(super) fn goes_on(&mut self, index: u32) -> bool {
        let attempt = &mut self.attempts[index];
        let post = self.floor.post(self.now, attempt.gate);
        if post.downstream.is_paused(index) {
            return true; // it finishes later, once it has gone on
        }
        if post.live.gate.calls.is_empty() {
            return false;
        }
        if attempt.fails || attempt.work != Work::Begun {
            self.let_go(index);
            return false;
        }
        let kin = if attempt.inner {
            self.family.of(index).childless()
        } else {
            Kin { root: attempt.call, ..Kin::default() }
        };
        self.family.set(index, kin);
        attempt.finish = NEVER;
        attempt.work = Work::Calling;
        let gate = attempt.gate as usize;
        if self.floor.gates[gate].gate.frees_slot {
            attempt.work = Work::Away;
            self.floor.post(self.now, gate as u16).downstream.leave(self.now, index);
            self.offer(gate);
        }
        self.make_calls(index);
        true
    }

    /// Makes the next calls of work that waits for none; when there are no more it ends.
    fn make_calls(&mut self, index: u32) {
        let gate = self.attempts[index].gate as usize;
        loop {
            let calls = &self.floor.gates[gate].gate.calls;
            let first = self.family.of(index).next_entry as usize;
            let Some(rest) = calls.get(first..).filter(|rest| !rest.is_empty()) else { break };
            let beside = rest.iter().skip(1).take_while(|call| call.beside).count();
            let group = first..first + 1 + beside;
            self.family.of_mut(index).next_entry = group.end as u16;
            let mut out = 0;
            for entry in group.clone() {
                let call = &self.floor.gates[gate].gate.calls[entry];
                let times = self.times(index, entry, call);
                out += match call.wanted {
                    Wanted::Background => 0,
                    _ if call.at_once => times,
                    _ => times.min(1),
                };
            }
            self.family.of_mut(index).out = out;
            for entry in group {
                let call = &self.floor.gates[gate].gate.calls[entry];
                let times = self.times(index, entry, call);
                let at_once = call.at_once || call.wanted == Wanted::Background;
                (0..if at_once { times } else { times.min(1) })
                    .for_each(|ordinal| self.make_call(index, entry, ordinal));
            }
            if 0 < out {
                return;
            }
        }
        self.end_service(index);
    }

    /// How often the work makes the call: a matter of its luck.
    fn times(&self, index: u32, entry: usize, call: &Call) -> u32 {
        let (attempt, depth) = (&self.attempts[index], self.family.of(index).depth);
        if call.max_depth.is_some_and(|most| most <= depth) {
            return 0;
        }
        let luck = luck(attempt, entry);
        if call.share < 1.0 && call.share <= luck.share(Purpose::Made, 0) {
            return 0;
        }
        call.times.count(luck.bits(Purpose::Times, 0))
    }

    /// Makes one call of the work.
    fn make_call(&mut self, parent: u32, entry: usize, ordinal: u32) {
        let now = self.now;
        let work = &self.attempts[parent];
        let call = &self.floor.gates[work.gate as usize].gate.calls[entry];
        let class = call.class.unwrap_or(work.ask.class);
        let ask = Ask { dice: Dice(luck(work, entry).bits(Purpose::Called, ordinal)), class, ..work.ask };
        let waited_for = call.wanted != Wanted::Background;
        let caller = reference(parent, work.generation);
        let (edge, gate, client) = (call.edge, call.gate as u16, call.client as u16);
        let ledger = self.floor.recorder.inner_ledger(work.ledger, class);
        let above = self.family.of(parent);
        let kin = Kin {
            parent: waited_for.then_some(caller),
            root: above.root,
            depth: above.depth + 1,
            edge,
            entry: entry as u16,
            ordinal,
            ..Kin::default()
        };
        let (deadline, traffic, number) = (work.deadline, work.traffic, self.family.number());
        let (place, attempt) = self.attempts.occupy();
        *attempt = Attempt {
            ask,
            call: number,
            born: now,
            deadline,
            arrived: now,
            started: now,
            finish: now,
            generation: attempt.generation,
            number: 1,
            ledger,
            traffic,
            client,
            gate,
            inner: true,
            ..Attempt::default()
        };
        self.family.set(place, kin);
        if waited_for {
            self.family.adopt(parent, place);
        }
        self.floor.recorder.edge_called(edge, ledger);
        self.clients[client as usize].client.called(now);
        self.retry(place);
    }

    /// An inner call is over for its client: the work that waits for it hears of it, later in this event.
    pub(super) fn answer(&mut self, place: u32, well: bool) {
        let kin = *self.family.of(place);
        if kin.unwanted {
            return;
        }
        self.floor.recorder.edge_answered(kin.edge, self.attempts[place].ledger, well);
        if let Some(parent) = kin.parent {
            self.family.leave(resolve(parent).0, place);
            self.family.of_mut(place).parent = None;
            self.family.answers.push_back(Answer { parent, entry: kin.entry, ordinal: kin.ordinal, well });
        }
    }

    /// Work reads the answers that have come, and goes on.
    #[inline(never)]
    pub(super) fn read_answers(&mut self) {
        while let Some(Answer { parent, entry, ordinal, well }) = self.family.answers.pop_front() {
            let (index, generation) = resolve(parent);
            let attempt = &self.attempts[index];
            if attempt.generation != generation {
                continue;
            }
            let call = &self.floor.gates[attempt.gate as usize].gate.calls[entry as usize];
            if !well && call.wanted == Wanted::Needed {
                self.attempts[index].fails = true;
                self.let_go(index);
                self.end_service(index);
            } else if !call.at_once && ordinal + 1 < self.times(index, entry as usize, call) {
                self.make_call(index, entry as usize, ordinal + 1);
            } else {
                let kin = self.family.of_mut(index);
                kin.out -= 1;
                if kin.out == 0 {
                    self.make_calls(index);
                }
            }
        }
    }

    /// The inner call's attempt has failed: its client tries again, or gives up.
    pub(super) fn inner_failed(&mut self, index: u32, failure: Failure) {
        let attempt = &self.attempts[index];
        let unwanted = self.family.of(index).unwanted;
        let client = &mut self.clients[attempt.client as usize].client;
        let again = match failure {
            _ if unwanted => None,
            _ => client.retry(self.now, attempt.ask.dice, attempt.number, failure),
        };
        match again {
            Some(wait) => {
                self.attempts[index] = attempt.again(attempt.generation);
                self.schedule_retry(index, wait);
            }
            None => {
                self.answer(index, false);
                self.attempts.free(index);
            }
        }
    }

    /// The client of an inner call no longer waits for this attempt, which goes on: a retry takes a place of its own.
    pub(super) fn inner_given_up(&mut self, index: u32) {
        let kin = *self.family.of(index);
        if kin.unwanted {
            return;
        }
        let attempt = &self.attempts[index];
        let client = &mut self.clients[attempt.client as usize].client;
        let Some(wait) = client.retry(self.now, attempt.ask.dice, attempt.number, Failure::Timeout) else {
            self.answer(index, false);
            return;
        };
        let (facts, (place, free)) = (attempt.clone(), self.attempts.occupy());
        *free = facts.again(free.generation);
        self.family.set(place, kin.childless());
        if let Some(parent) = kin.parent {
            let parent = resolve(parent).0;
            self.family.leave(parent, index);
            self.family.adopt(parent, place);
            self.family.of_mut(index).parent = None;
        }
        self.schedule_retry(place, wait);
    }

    /// Work ends before its calls have been answered: nobody waits for them any more.
    pub(super) fn let_go(&mut self, index: u32) {
        if !matches!(self.attempts[index].work, Work::Calling | Work::Away) {
            return;
        }
        while let Some(child) = self.family.child(index) {
            self.family.leave(index, child);
            let kin = self.family.of_mut(child);
            (kin.parent, kin.unwanted) = (None, true);
            let attempt = &mut self.attempts[child];
            if attempt.state == State::Outside {
                // It waits before it is tried again.
                if attempt.timed {
                    self.floor.calendar.timer_died(self.clients[attempt.client as usize].timers);
                }
                attempt.end();
                self.floor.calendar.event_died();
                self.attempts.free(child);
                continue;
            }
            attempt.orphan = true;
            let client = &self.clients[attempt.client as usize].client;
            if client.cancel {
                self.take_back(child);
            }
        }
    }

    /// An unwanted call is taken back, wherever it is.
    fn take_back(&mut self, index: u32) {
        let gate = self.attempts[index].gate as usize;
        let was_queued = self.attempts[index].state == State::Queued;
        self.withdraw(index);
        self.attempts.free(index);
        if was_queued { self.offer_behind(gate) } else { self.offer(gate) }
    }

    /// Work is taken back by its caller.
    pub(super) fn cancel_service(&mut self, index: u32) {
        self.let_go(index);
        let now = self.now;
        let attempt = &self.attempts[index];
        let took = now - attempt.started;
        let times = Times { took, since_birth: now - attempt.born };
        let mut post = self.floor.post(now, attempt.gate);
        post.leave(index, attempt, End::Cancelled(took));
        let (ledger, gate) = (attempt.ledger, attempt.gate as usize);
        post.recorder.served(now, ledger, gate, Served::Cancelled, times, &attempt.ask);
        if attempt.work == Work::Begun {
            post.calendar.event_died();
        }
        self.end_attempt(index, Ending::Served(Served::Cancelled));
    }

    /// The end of work that has called others.
    #[inline(never)]
    pub(super) fn end_service(&mut self, index: u32) {
        self.complete::<false>(index);
    }
}

/// The luck of one entry of the calls that an attempt's work makes.
fn luck(attempt: &Attempt, entry: usize) -> Dice {
    Dice(Dice(attempt.ask.dice.bits(Purpose::Calls, attempt.number)).bits(Purpose::Calls, entry as u32))
}
