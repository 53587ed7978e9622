//! What the scenario changes while a run goes on, and its end by force.

use super::Engine;
use super::calendar::Moment;
use super::live::{Attempt, State, Work, reference};
use super::service::Ending;
use super::setup::Target;
use crate::admission::Scene;
use crate::downstream::{Downstream, Effect};
use crate::queue::Queue;
use crate::time::Nanos;

impl Engine<'_> {
    /// Applies the change that is due, and lets those in who fit in now.
    pub(super) fn apply_change(&mut self) {
        let now = self.now;
        let Some(change) = self.next_change.take() else { return };
        self.await_change();
        match change.target {
            Target::Limiter { gate, stage } => {
                self.floor.gates[gate].gate.limiters[stage].change(now, change.knob);
                self.wake_heads(gate);
            }
            Target::Admission { gate, stage } => {
                self.floor.gates[gate].gate.admissions[stage].change(now, change.knob)
            }
            Target::Queue { gate } => {
                if let Some(queue) = &mut self.floor.gates[gate].gate.queue {
                    queue.change(change.knob);
                }
            }
            Target::Downstream(index) => match self.floor.downstreams[index].change(now, change.knob) {
                Effect::None => {}
                Effect::Stretch(factor) => self.stretch(index, factor),
                Effect::Crash => self.crash(index),
            },
        }
        self.moved();
    }

    /// The alarm of an admission stage: it may have room for some of those that wait.
    pub(super) fn ring(&mut self, gate: u16, stage: usize) {
        let now = self.now;
        let scene = self.scene(gate);
        let live = &mut self.floor.gates[gate as usize];
        let admission = &mut live.gate.admissions[stage];
        // Its alarm may have moved since.
        if admission.alarm() != Some(now) {
            return;
        }
        admission.ring(now, &scene);
        let next = admission.alarm();
        assert!(next.is_none_or(|next| now < next), "an alarm did not move on");
        self.moved();
    }

    /// Limits may have moved: lets those in who fit in now.
    fn moved(&mut self) {
        let limit = self.floor.limit();
        self.floor.recorder.limit(self.now, limit);
        for gate in 0..self.floor.gates.len() {
            self.floor.post(self.now, gate as u16).set_alarms();
            self.offer(gate);
        }
    }

    /// What the admission stages of a gate may see of what stands behind it.
    pub(super) fn scene(&self, gate: u16) -> Scene {
        let gate = &self.floor.gates[gate as usize].gate;
        let downstream = &self.floor.downstreams[gate.downstream];
        let first = gate.queue.as_ref().and_then(|queue| queue.first(self.now));
        Scene {
            waiting: gate.queue.as_ref().map_or(0, |queue| queue.len()),
            delay: first.map_or(Nanos::ZERO, |ticket| self.now - self.attempts[ticket.0].arrived),
            busy: downstream.busy(),
            slots: downstream.slots(),
            backlog: downstream.backlog(),
        }
    }

    /// The attempts that a downstream works on, in the order of their calls, wherever they lie.
    fn serving(&self, downstream: usize) -> Vec<u32> {
        self.in_order(|attempt| {
            attempt.state == State::Serving
                && self.floor.gates[attempt.gate as usize].gate.downstream == downstream
        })
    }

    fn in_order(&self, which: impl Fn(&Attempt) -> bool) -> Vec<u32> {
        let mut chosen: Vec<u32> =
            self.attempts.places().filter(|index| which(&self.attempts[*index])).collect();
        chosen.sort_unstable_by_key(|index| (self.attempts[*index].call, self.attempts[*index].number));
        chosen
    }

    /// What remains of the work in a downstream takes `factor` times as long.
    fn stretch(&mut self, downstream: usize, factor: f64) {
        for index in self.serving(downstream) {
            let attempt = &mut self.attempts[index];
            // What has not begun will take its time when it does.
            if attempt.work != Work::Begun {
                continue;
            }
            let left = Nanos::from_f64((attempt.finish - self.now).0 as f64 * factor);
            attempt.finish = self.now.saturating_add(left);
            let (at, about) = (attempt.finish, reference(index, attempt.generation));
            self.floor.calendar.schedule(at, Moment::Finish, about);
            self.floor.calendar.event_died();
        }
    }

    /// All work in a downstream fails now.
    fn crash(&mut self, downstream: usize) {
        for index in self.serving(downstream) {
            let attempt = &mut self.attempts[index];
            (attempt.fails, attempt.finish) = (true, self.now);
            let about = reference(index, attempt.generation);
            self.floor.calendar.schedule(self.now, Moment::Finish, about);
            if attempt.work == Work::Begun {
                self.floor.calendar.event_died();
            }
        }
    }

    /// The run is cut off: what is alive is unfinished.
    pub(super) fn cut_off(&mut self) {
        for index in self.in_order(|attempt| attempt.state != State::Outside) {
            let attempt = &self.attempts[index];
            self.floor.recorder.unfinished(attempt.ledger, attempt.gate as usize);
            if self.wants_requests {
                self.log(index, Ending::Unfinished);
            }
        }
    }
}
