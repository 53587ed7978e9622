//! What the scenario changes while a run goes on, and its end by force.

use super::calendar::Moment;
use super::live::{State, reference};
use super::service::Ending;
use super::setup::{self, Target};
use super::{Engine, alive};
use crate::downstream::Effect;
use crate::time::Nanos;

impl Engine<'_> {
    /// Applies the change that is due, and lets those in who fit in now.
    pub(super) fn apply_change(&mut self) {
        let now = self.now;
        let Some(change) = self.next_change.take() else { return };
        self.await_change();
        match change.target {
            Target::Limiter { gate, stage } => {
                self.gates[gate].gate.limiters[stage].change(now, change.knob);
                self.wake_heads(gate);
            }
            Target::Admission { gate, stage } => {
                self.gates[gate].gate.admissions[stage].change(now, change.knob)
            }
            Target::Queue { gate } => {
                if let Some(queue) = &mut self.gates[gate].gate.queue {
                    queue.change(change.knob);
                }
            }
            Target::Downstream(index) => match self.downstreams[index].change(now, change.knob) {
                Effect::None => {}
                Effect::Stretch(factor) => self.stretch(index, factor),
                Effect::Crash => self.crash(index),
            },
        }
        self.recorder.limit(now, setup::limit(&self.gates[0].gate, &self.downstreams));
        (0..self.gates.len()).for_each(|gate| self.offer(gate));
    }

    fn serving(&self, downstream: usize) -> Vec<u32> {
        let here = |index: &u32| {
            let attempt = &self.attempts[*index];
            attempt.state == State::Serving && self.gates[attempt.gate as usize].gate.downstream == downstream
        };
        self.attempts.places().filter(here).collect()
    }

    /// What remains of the work in a downstream takes `factor` times as long.
    fn stretch(&mut self, downstream: usize, factor: f64) {
        for index in self.serving(downstream) {
            let attempt = &mut self.attempts[index];
            let left = Nanos::from_f64((attempt.finish - self.now).0 as f64 * factor);
            attempt.finish = self.now.saturating_add(left);
            let (at, about) = (attempt.finish, reference(index, attempt.generation));
            self.calendar.schedule(at, Moment::Finish, about);
            let attempts = &self.attempts;
            self.calendar.event_died(|due| alive(attempts, due));
        }
    }

    /// All work in a downstream fails now.
    fn crash(&mut self, downstream: usize) {
        for index in self.serving(downstream) {
            let attempt = &mut self.attempts[index];
            (attempt.fails, attempt.finish) = (true, self.now);
            let about = reference(index, attempt.generation);
            self.calendar.schedule(self.now, Moment::Finish, about);
            let attempts = &self.attempts;
            self.calendar.event_died(|due| alive(attempts, due));
        }
    }

    /// The run is cut off: what is alive is unfinished.
    pub(super) fn cut_off(&mut self) {
        for index in self.attempts.places() {
            let attempt = &self.attempts[index];
            if attempt.state != State::Outside {
                self.recorder.unfinished(self.calls[attempt.call].ledger, attempt.gate as usize);
                if self.wants_requests {
                    self.log(index, Ending::Unfinished);
                }
            }
        }
    }
}
