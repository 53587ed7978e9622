//! The end of an interval: averages and percentiles are computed once and handed on as rows.

use super::ledger::Book;
use super::{PLAIN, Recorder};
use crate::downstream::Use;
use crate::gauge::Reading;
use crate::observe::rows::{Count, GaugeRow, LatencyRow, OutcomeRow, Phase, Sink, TimelineRow};
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
        for class in 0..self.layout.classes.len() {
            let [main, warm] = &self.books[class].ledgers;
            let mut counts = main.counts();
            self.totals.counts(class, &counts);
            counts.iter_mut().zip(warm.counts()).for_each(|(sum, count)| *sum += count);
            self.check_accounts(class, &counts, now)?;
            self.outcome_rows(class, sink)?;
            self.class_rows(class, &counts, now, (limit, utilization), sink)?;
        }
        for inner in self.layout.classes.len()..self.books.len() {
            self.end_inner(inner, now)?;
        }
        self.index += 1;
        self.start = now;
        Ok(())
    }

    fn class_rows(
        &mut self,
        class: usize,
        counts: &[u64; Count::LEN],
        now: SimTime,
        (limit, utilization): (Option<Reading>, Option<f64>),
        sink: &mut dyn Sink,
    ) -> Result<(), Problem> {
        let (index, start, phase) = (self.index, self.start, self.phase());
        let name = self.layout.classes[class].as_str();
        let mut failure = Ok(());
        let mut latency_rows = |le, count| {
            if failure.is_ok() {
                failure = sink.latency(&LatencyRow { index, start, phase, class: name, le, count });
            }
        };
        let nothing = |_, _| ();
        let book = &mut self.books[class];
        let [main, warm] = &mut book.ledgers;
        // Calls of both sorts may have ended in this interval: its rows show all, the totals only those of main.
        let both = !warm.is_silent();
        if both {
            warm.absorb(main);
            main.queue_wait.take(nothing);
            main.latency.take(nothing);
            main.service.take(nothing);
        }
        let shown = if both { &mut *warm } else { &mut *main };
        let queue_wait = shown.queue_wait.take(nothing);
        let latency = shown.latency.take(&mut latency_rows);
        let service = shown.service.take(nothing);
        failure?;
        // The waits of what started and the times of what was served; the others' were added as they left.
        self.sojourns += queue_wait.sum + service.sum;
        let mut tokens = main.tokens;
        tokens.include(&warm.tokens);
        main.clear();
        warm.clear();
        let standing = &mut book.standing;
        let (queue_depth, in_flight) = (standing.depth.read(now), standing.in_flight.read(now));
        self.area += queue_depth.area + in_flight.area + standing.deferred.read(now).area;
        let row = TimelineRow {
            index,
            start,
            length: now - start,
            phase,
            class: name,
            counts,
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

    /// Ends the interval of calls that downstreams make, which have no row but those of their outcomes.
    fn end_inner(&mut self, book: usize, now: SimTime) -> Result<(), Problem> {
        let [main, warm] = &self.books[book].ledgers;
        let mut counts = main.counts();
        counts.iter_mut().zip(warm.counts()).for_each(|(sum, count)| *sum += count);
        self.check_accounts(book, &counts, now)?;
        let Book { ledgers, standing } = &mut self.books[book];
        for ledger in ledgers {
            let nothing = |_, _| ();
            ledger.latency.take(nothing);
            self.sojourns += ledger.queue_wait.take(nothing).sum + ledger.service.take(nothing).sum;
            ledger.clear();
        }
        let gauges = [&mut standing.depth, &mut standing.in_flight, &mut standing.deferred];
        self.area += gauges.map(|gauge| gauge.read(now).area).into_iter().sum::<u128>();
        Ok(())
    }

    /// How attempts of a class ended, those that downstreams made for its calls too.
    fn outcome_rows(&self, class: usize, sink: &mut dyn Sink) -> Result<(), Problem> {
        let (index, start, phase) = (self.index, self.start, self.phase());
        let name = self.layout.classes[class].as_str();
        let inner = self.books.get(class + self.layout.classes.len());
        let ledgers = || self.books.get(class).into_iter().chain(inner).flat_map(|book| &book.ledgers);
        for (gate, layout) in self.layout.gates.iter().enumerate() {
            let ends = || ledgers().map(|ledger| &ledger.ends[gate]);
            let target = layout.target.as_str();
            let mut row = |outcome, reason, stage, count| match count {
                0 => Ok(()),
                _ => sink.outcome(&OutcomeRow {
                    index,
                    start,
                    phase,
                    class: name,
                    outcome,
                    reason,
                    stage,
                    target,
                    count,
                }),
            };
            for (slot, outcome) in PLAIN.into_iter().enumerate() {
                row(outcome, "", "", ends().map(|ends| ends.plain[slot]).sum())?;
            }
            for (number, stage) in layout.stages.iter().enumerate() {
                for (slot, (reason, _)) in Reason::NAMES.into_iter().enumerate() {
                    row("rejected", reason, stage, ends().map(|ends| ends.rejected[number][slot]).sum())?;
                }
            }
        }
        Ok(())
    }
}

/// Busy time over slot time.
pub(in crate::observe) fn utilization(busy: u128, capacity: Option<u128>) -> Option<f64> {
    capacity.filter(|capacity| *capacity > 0).map(|capacity| busy as f64 / capacity as f64)
}
