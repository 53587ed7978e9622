//! What a study remembers of a job while its rows pass by.

use crate::observe::{
    Count, EdgeRow, GaugeRow, LatencyRow, OutcomeRow, Phase, RequestRow, Sink, SummaryRow, TimelineRow,
};
use crate::problem::Problem;
use crate::time::{Nanos, SimTime};
use std::collections::BTreeMap;

/// Attempts offered and admitted in each interval, all classes together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// Start, length, offered and admitted of every interval.
    pub intervals: Vec<(SimTime, Nanos, u64, u64)>,
    /// How many of them come before the drain.
    pub before_drain: usize,
}

/// Hands rows on and remembers the total, the refusals and, if wanted, the series.
pub struct Tally<S> {
    rows: S,
    total: Option<SummaryRow<'static>>,
    refusals: BTreeMap<(String, &'static str), u64>,
    starved: BTreeMap<String, Nanos>,
    attempts: BTreeMap<String, u64>,
    wants_series: bool,
    series: Series,
}

/// What is remembered beside the rows.
#[derive(Debug)]
pub struct Memory {
    /// The summary of all classes.
    pub total: Option<SummaryRow<'static>>,
    /// What turned attempts away, by stage and reason.
    pub refusals: BTreeMap<(String, &'static str), u64>,
    /// How long each class had work and got nothing done.
    pub starved: BTreeMap<String, Nanos>,
    /// Attempts that downstreams made at others, by the one that was called.
    pub attempts: BTreeMap<String, u64>,
    /// What was offered and admitted over time.
    pub series: Series,
}

impl<S: Sink> Tally<S> {
    /// Remembers nothing yet.
    pub fn new(rows: S, wants_series: bool) -> Tally<S> {
        let (refusals, starved, attempts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Tally { rows, total: None, refusals, starved, attempts, wants_series, series: Series::default() }
    }

    /// Where the rows went, and what it has remembered.
    pub fn into_parts(self) -> (S, Memory) {
        let Tally { rows, total, refusals, starved, attempts, series, .. } = self;
        (rows, Memory { total, refusals, starved, attempts, series })
    }
}

impl<S: Sink> Sink for Tally<S> {
    fn timeline(&mut self, row: &TimelineRow<'_>) -> Result<(), Problem> {
        if self.wants_series {
            let of = |counts: &[Count]| counts.iter().map(|c| row.counts[*c as usize]).sum::<u64>();
            let offered = of(&[Count::Offered]);
            let admitted =
                of(&[Count::AdmittedDirect, Count::AdmittedFromQueue, Count::AdmittedFromDeferred]);
            let intervals = &mut self.series.intervals;
            match intervals.last_mut().filter(|last| last.0 == row.start) {
                Some(last) => *last = (last.0, last.1, last.2 + offered, last.3 + admitted),
                None => {
                    intervals.push((row.start, row.length, offered, admitted));
                    self.series.before_drain += (row.phase != Phase::Drain) as usize;
                }
            }
        }
        self.rows.timeline(row)
    }

    fn outcome(&mut self, row: &OutcomeRow<'_>) -> Result<(), Problem> {
        if !row.reason.is_empty() {
            match self.refusals.get_mut(&(row.stage.to_string(), row.reason)) {
                Some(count) => *count += row.count,
                None => {
                    self.refusals.insert((row.stage.to_string(), row.reason), row.count);
                }
            }
        }
        self.rows.outcome(row)
    }

    fn latency(&mut self, row: &LatencyRow<'_>) -> Result<(), Problem> {
        self.rows.latency(row)
    }

    fn gauge(&mut self, row: &GaugeRow<'_>) -> Result<(), Problem> {
        self.rows.gauge(row)
    }

    fn summary(&mut self, row: &SummaryRow<'_>) -> Result<(), Problem> {
        match row.class {
            None => self.total = Some(SummaryRow { class: None, ..row.clone() }),
            Some(class) if 0 < row.calls => _ = self.starved.insert(class.to_string(), row.starved),
            Some(_) => {}
        }
        self.rows.summary(row)
    }

    fn edge(&mut self, row: &EdgeRow<'_>) -> Result<(), Problem> {
        *self.attempts.entry(row.edge.target.clone()).or_default() += row.counts.attempts;
        self.rows.edge(row)
    }

    fn wants_requests(&self) -> bool {
        self.rows.wants_requests()
    }

    fn request(&mut self, row: &RequestRow<'_>) -> Result<(), Problem> {
        self.rows.request(row)
    }
}
