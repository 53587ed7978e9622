//! The end of an interval: averages and percentiles are computed once and handed on as rows.

use super::{PLAIN, Recorder};
use crate::downstream::Use;
use crate::gauge::Reading;
use crate::observe::percentiles::Percentiles;
use crate::observe::rows::{Count, GaugeRow, LatencyRow, OutcomeRow, Phase, Sink, TimelineRow, Tokens};
use crate::problem::Problem;
use crate::request::Reason;
use crate::time::SimTime;

impl Recorder {
    /// The end of the present interval, if it began at `start`: the next multiple of the interval's length, or the
    /// end of the warm-up or of the arrivals, so that no row belongs to two phases.
    pub fn interval_end(&self) -> SimTime {
        let (start, length) = (self.start.0, self.layout.interval.0);
        let mut end = (start / length + 1).saturating_mul(length);
        for cut in [self.layout.warmup.0, self.layout.duration.0, self.layout.last().0] {
            if start < cut {
                end = end.min(cut);
            }
        }
        SimTime(end)
    }

    fn phase(&self) -> Phase {
        match self.start.0 {
            start if start < self.layout.warmup.0 => Phase::Warmup,
            start if start < self.layout.duration.0 => Phase::Main,
            _ => Phase::Drain,
        }
    }

    /// Ends the interval at `now`: checks the accounts and hands the rows to `sink`.
    ///
    /// `read` reads the gauges of every part of the policy: stage, gauge, reading; it returns how busy the
    /// downstream was.
    pub fn end_interval(
        &mut self,
        now: SimTime,
        sink: &mut dyn Sink,
        read: impl FnOnce(&mut dyn FnMut(&str, &'static str, Reading)) -> Use,
    ) -> Result<(), Problem> {
        let (index, start, phase) = (self.index, self.start, self.phase());
        let mut failure = Ok(());
        let usage = read(&mut |stage, gauge, reading| {
            if failure.is_ok() {
                failure = sink.gauge(&GaugeRow { index, start, phase, stage, gauge, reading });
            }
        });
        failure?;
        let limit = self.limit.as_mut().map(|gauge| gauge.read(now));
        self.totals.used(phase, usage);
        self.totals.waited(phase, std::mem::replace(&mut self.most_waiting, self.waiting));
        let utilization = utilization(usage.busy, usage.capacity);
        for class in 0..self.standing.len() {
            self.check_accounts(class, now)?;
            self.outcome_rows(class, sink)?;
            self.class_rows(class, now, limit, utilization, sink)?;
        }
        self.index += 1;
        self.start = now;
        Ok(())
    }

    fn class_rows(
        &mut self,
        class: usize,
        now: SimTime,
        limit: Option<Reading>,
        utilization: Option<f64>,
        sink: &mut dyn Sink,
    ) -> Result<(), Problem> {
        let (index, start, phase) = (self.index, self.start, self.phase());
        let classes = self.standing.len();
        let name = self.layout.classes[class].as_str();
        let mut failure = Ok(());
        let mut latency_rows = |le, count| {
            if failure.is_ok() {
                failure = sink.latency(&LatencyRow { index, start, phase, class: name, le, count });
            }
        };
        let mut nothing = |_, _| ();
        let (main, warm) = self.ledgers.split_at_mut(classes);
        let (main, warm) = (&mut main[class], warm.get_mut(class));
        let mut counts = main.counts;
        let mut tokens = main.tokens;
        self.totals.counts(class, &main.counts);
        if let Some(warm) = &warm {
            counts.iter_mut().zip(&warm.counts).for_each(|(sum, count)| *sum += count);
            tokens.offered += warm.tokens.offered;
            tokens.reserved += warm.tokens.reserved;
            tokens.settled += warm.tokens.settled;
            tokens.refunded += warm.tokens.refunded;
        }
        let (queue_wait, latency, service): (Percentiles, Percentiles, Percentiles);
        match warm {
            // Calls of both sorts ended in this interval: its rows show all, the totals only those of main.
            Some(warm) if warm.any() => {
                let mut all = warm.clone();
                all.absorb(main);
                queue_wait = all.queue_wait.take(None, &mut nothing);
                latency = all.latency.take(None, &mut latency_rows);
                service = all.service.take(None, &mut nothing);
                main.queue_wait.take(Some(self.totals.queue_wait(class)), &mut nothing);
                main.latency.take(Some(self.totals.latency(class)), &mut nothing);
                main.service.take(None, &mut nothing);
                warm.clear();
            }
            _ => {
                queue_wait = main.queue_wait.take(Some(self.totals.queue_wait(class)), &mut nothing);
                latency = main.latency.take(Some(self.totals.latency(class)), &mut latency_rows);
                service = main.service.take(None, &mut nothing);
            }
        }
        failure?;
        main.counts = [0; Count::LEN];
        main.tokens = Tokens::default();
        let standing = &mut self.standing[class];
        let (queue_depth, in_flight) = (standing.depth.read(now), standing.in_flight.read(now));
        self.area += queue_depth.area + in_flight.area + standing.deferred.read(now).area;
        let row = TimelineRow {
            index,
            start,
            length: now - start,
            phase,
            class: name,
            counts: &counts,
            queue_depth,
            in_flight,
            limit,
            utilization,
            tokens: self.layout.tokens.then_some(tokens),
            tokens_in_flight: self.layout.tokens.then(|| standing.tokens.read(now).avg),
            queue_wait,
            latency,
            service,
        };
        self.totals.interval(class, &row);
        sink.timeline(&row)
    }

    fn outcome_rows(&mut self, class: usize, sink: &mut dyn Sink) -> Result<(), Problem> {
        let (index, start, phase) = (self.index, self.start, self.phase());
        let table = &mut self.outcomes[class * self.outcome_width..][..self.outcome_width];
        let name = self.layout.classes[class].as_str();
        for (gate, layout) in self.layout.gates.iter().enumerate() {
            let part = &mut table[self.gate_offsets[gate]..];
            let slots = PLAIN.len() + layout.stages.len() * Reason::NAMES.len();
            for (slot, count) in part[..slots].iter_mut().enumerate().filter(|(_, count)| **count > 0) {
                let (outcome, reason, stage) = match PLAIN.get(slot) {
                    Some(plain) => (*plain, "", ""),
                    None => {
                        let slot = slot - PLAIN.len();
                        let reason = Reason::NAMES[slot % Reason::NAMES.len()].0;
                        ("rejected", reason, layout.stages[slot / Reason::NAMES.len()].as_str())
                    }
                };
                let target = layout.target.as_str();
                let count = std::mem::take(count);
                sink.outcome(&OutcomeRow {
                    index,
                    start,
                    phase,
                    class: name,
                    outcome,
                    reason,
                    stage,
                    target,
                    count,
                })?;
            }
        }
        Ok(())
    }
}

/// Busy time over slot time.
pub(in crate::observe) fn utilization(busy: u128, capacity: Option<u128>) -> Option<f64> {
    capacity.filter(|capacity| *capacity > 0).map(|capacity| busy as f64 / capacity as f64)
}
