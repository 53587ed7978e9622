//! The rows of one job: one policy under one seed.

use super::cells::Cells;
use super::columns::Table;
use super::files::{Files, Spools};
use crate::gauge::Reading;
use crate::observe::{
    Count, EdgeRow, GaugeRow, LatencyRow, OutcomeRow, Phase, RequestRow, Sink, SummaryRow, TimelineRow,
};
use crate::problem::Problem;
use crate::time::{Nanos, SimTime};
use std::borrow::Cow;

/// The names behind the numbers that a call carries; empty where the scenario gives none.
pub trait Naming: Sync {
    /// The tenant with that number.
    fn tenant(&self, _number: u32) -> Cow<'_, str> {
        "".into()
    }
    /// The feature with that number.
    fn feature(&self, _number: u32) -> Cow<'_, str> {
        "".into()
    }
    /// The user with that number.
    fn user(&self, _number: u32) -> Cow<'_, str> {
        "".into()
    }
}

/// Names nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nameless;

impl Naming for Nameless {}

/// Takes the rows of one job and keeps them as bytes, table by table, until it is the job's turn.
pub struct Rows<'a> {
    files: &'a Files<'a>,
    job: usize,
    lead: Vec<u8>,
    interval: Interval,
    spools: Spools,
}

/// The cells that rows of one interval begin with, after the lead.
#[derive(Default)]
struct Interval {
    index: Option<u64>,
    cells: Cells,
}

impl<'a> Rows<'a> {
    /// No rows yet; `lead` are the cells that each begins with.
    pub(super) fn new(files: &'a Files<'a>, job: usize, lead: [&str; 3], spools: Spools) -> Rows<'a> {
        let mut cells = Cells::new();
        lead.iter().for_each(|cell| {
            cells.name(cell);
        });
        Rows { files, job, lead: cells.bytes().to_vec(), interval: Interval::default(), spools }
    }

    /// The job's number and its rows.
    pub(super) fn into_parts(self) -> (usize, Spools) {
        (self.job, self.spools)
    }

    #[inline]
    fn write(&mut self, table: Table, cells: impl FnOnce(&mut Cells, &dyn Naming)) -> Result<(), Problem> {
        cells(self.spools[table as usize].row().raw(&self.lead), self.files.names());
        self.end_row(table)
    }

    /// Writes a row that begins with its interval: number, first instant, phase.
    #[inline]
    fn write_of(
        &mut self,
        table: Table,
        (index, start, phase): (u64, SimTime, Phase),
        cells: impl FnOnce(&mut Cells),
    ) -> Result<(), Problem> {
        let interval = &mut self.interval;
        if interval.index != Some(index) {
            interval.index = Some(index);
            interval.cells.clear();
            interval.cells.raw(&self.lead).count(index).seconds(start.0).name(phase.name());
        }
        cells(self.spools[table as usize].row().raw(interval.cells.bytes()));
        self.end_row(table)
    }

    #[inline]
    fn end_row(&mut self, table: Table) -> Result<(), Problem> {
        let spool = &mut self.spools[table as usize];
        spool.end_row();
        if spool.is_full() { self.files.relieve(self.job, table, spool) } else { Ok(()) }
    }
}

impl Cells {
    fn length(&mut self, length: Option<Nanos>) -> &mut Cells {
        self.maybe(length, |cells, nanos| cells.millis(nanos.0))
    }

    /// Average, largest, last of a number of attempts.
    fn depth(&mut self, reading: &Reading) -> &mut Cells {
        self.average(Some(reading.avg)).count(reading.max as u64).count(reading.last as u64)
    }
}

/// The mean in whole nanoseconds, half up.
fn mean(of: &crate::observe::Percentiles) -> Option<Nanos> {
    let count = of.count as u128;
    (count > 0).then(|| Nanos(((2 * of.sum + count) / (2 * count)) as u64))
}

impl Sink for Rows<'_> {
    fn timeline(&mut self, row: &TimelineRow<'_>) -> Result<(), Problem> {
        self.write(Table::Timeline, |cells, _| {
            cells.count(row.index).seconds(row.start.0).seconds(row.length.0);
            cells.name(row.phase.name()).name(row.class);
            for count in row.counts {
                cells.count(*count);
            }
            cells.depth(&row.queue_depth).depth(&row.in_flight);
            for part in [|r: Reading| r.avg, |r: Reading| r.min, |r: Reading| r.max] {
                cells.average(row.limit.map(part));
            }
            cells.ratio(row.utilization);
            let tokens = row.tokens.map(|t| [t.offered, t.reserved, t.settled, t.refunded]);
            for i in 0..4 {
                cells.maybe(tokens, |cells, t| cells.count(t[i]));
            }
            cells.average(row.tokens_in_flight).empty();
            let wait = &row.queue_wait;
            for value in [wait.p50, wait.p95, wait.p99, wait.max] {
                cells.length(wait.some(value));
            }
            let latency = &row.latency;
            cells.length(mean(latency));
            for value in [latency.p50, latency.p90, latency.p95, latency.p99, latency.max] {
                cells.length(latency.some(value));
            }
            cells.length(row.service.some(row.service.p50)).length(row.service.some(row.service.p99)).empty();
        })
    }

    fn outcome(&mut self, row: &OutcomeRow<'_>) -> Result<(), Problem> {
        self.write_of(Table::Outcomes, (row.index, row.start, row.phase), |cells| {
            cells.name(row.class);
            cells.name(row.outcome).name(row.reason).name(row.stage).name(row.target).count(row.count);
        })
    }

    fn latency(&mut self, row: &LatencyRow<'_>) -> Result<(), Problem> {
        self.write_of(Table::LatencyHist, (row.index, row.start, row.phase), |cells| {
            cells.name(row.class).millis(row.le.0).count(row.count);
        })
    }

    fn gauge(&mut self, row: &GaugeRow<'_>) -> Result<(), Problem> {
        self.write_of(Table::Gauges, (row.index, row.start, row.phase), |cells| {
            let read = &row.reading;
            cells.name(row.stage).name(row.gauge);
            for value in [read.avg, read.min, read.max, read.last] {
                cells.average(Some(value));
            }
        })
    }

    fn summary(&mut self, row: &SummaryRow<'_>) -> Result<(), Problem> {
        let sum = |counts: &[Count]| counts.iter().map(|count| row.counts[*count as usize]).sum::<u64>();
        let offered = sum(&[Count::Offered]);
        let admitted = sum(&[Count::AdmittedDirect, Count::AdmittedFromQueue, Count::AdmittedFromDeferred]);
        let rejected =
            sum(&[Count::RejectedAtArrival, Count::RejectedFromQueue, Count::RejectedFromDeferred]);
        let degraded = sum(&[Count::Degraded]);
        let goodput = sum(&[Count::Goodput]);
        self.write(Table::Summary, |cells, _| {
            cells.name(if row.class.is_some() { "class" } else { "total" }).name(row.class.unwrap_or(""));
            cells.seconds(row.duration.0).seconds(row.warmup.0).count(row.calls);
            for count in [offered, admitted, rejected, degraded, goodput] {
                cells.count(count);
            }
            cells.count(sum(&[Count::AbandonedQueued, Count::AbandonedDeferred]));
            cells.count(sum(&[Count::Unfinished]));
            cells.share(goodput, row.calls).share(rejected, offered).share(degraded, offered);
            cells.share(sum(&[Count::Wasted]), sum(&[Count::Completed])).share(offered, row.calls);
            let latency = &row.latency;
            for value in [latency.p50, latency.p95, latency.p99, latency.max] {
                cells.length(latency.some(value));
            }
            cells.length(mean(&row.queue_wait)).length(row.queue_wait.some(row.queue_wait.p99));
            cells.count(row.queue_depth_max).average(Some(row.in_flight_avg)).ratio(row.utilization);
            cells.ratio(row.fairness).seconds(row.starved.0);
            cells.maybe(row.recovery, |cells, nanos| cells.seconds(nanos.0)).empty();
        })
    }

    fn wants_requests(&self) -> bool {
        self.files.wants_requests()
    }

    #[inline]
    fn request(&mut self, row: &RequestRow<'_>) -> Result<(), Problem> {
        self.write(Table::Requests, |cells, names| {
            let ask = row.ask;
            cells.count(row.call).count(row.attempt as u64).name(row.traffic).name(row.class);
            cells.name(&names.tenant(ask.tenant)).name(&names.feature(ask.feature as u32));
            cells.name(&names.user(ask.user));
            for tokens in [ask.input_tokens, ask.output_tokens, ask.max_output_tokens] {
                cells.count(tokens as u64);
            }
            cells.seconds(row.arrived.0);
            match row.started {
                Some(started) => {
                    cells.seconds(started.0).seconds(row.ended.0);
                    cells.millis((started - row.arrived).0).millis((row.ended - started).0);
                }
                None => {
                    cells.empty().seconds(row.ended.0).empty().empty();
                }
            }
            cells.millis((row.ended - row.arrived).0);
            cells.name(row.outcome).name(row.reason).name(row.stage).name(row.target);
            cells
                .maybe(row.retry_after, |cells, nanos| cells.seconds(nanos.0))
                .name(row.scope)
                .name(row.caller);
        })
    }

    fn edge(&mut self, row: &EdgeRow<'_>) -> Result<(), Problem> {
        self.write(Table::Edges, |cells, _| {
            let counts = &row.counts;
            cells.name(&row.edge.caller).name(&row.edge.target);
            for count in [counts.calls, counts.attempts, counts.answered, counts.failed] {
                cells.count(count);
            }
            cells.share(counts.attempts, counts.calls).share(counts.attempts, row.of_calls);
        })
    }
}
