//! Totals of the main phase: what the summary says of each class and of all together.
//!
//! Counts and percentiles are those of the calls *born* in the main phase, whenever they ended, so that the drain
//! censors nothing. Averages over time (in flight, utilisation, starvation) are of the main phase itself.

use super::layout::Layout;
use super::percentiles::Total;
use super::recorder::utilization;
use super::rows::{Count, Phase, SummaryRow, TimelineRow};
use crate::downstream::Use;
use crate::request::Ask;
use crate::time::{Nanos, SimTime};

/// The window over which goodput is compared with what it was before an event.
const RECOVERY_WINDOW: Nanos = Nanos::secs(10);

/// See the module.
#[derive(Clone, Debug)]
pub struct Totals {
    classes: Vec<ClassTotals>,
    tenants: Option<Vec<Tenant>>,
    keeps_series: bool,
    /// The most that waited at once, of all classes together.
    most_waiting: u64,
    busy: u128,
    capacity: Option<u128>,
}

/// One tenant's calls, for fairness.
#[derive(Clone, Copy, Debug, Default)]
struct Tenant {
    calls: u32,
    answered: u32,
}

#[derive(Clone, Debug, Default)]
struct ClassTotals {
    counts: [u64; Count::LEN],
    queue_depth_max: u64,
    in_flight_area: u128,
    starved: Nanos,
    /// Start, first attempts and goodput of each interval; kept only when the scenario has a passing event.
    series: Vec<(SimTime, u64, u64)>,
}

impl Totals {
    /// Nothing yet.
    pub(super) fn new(layout: &Layout) -> Totals {
        Totals {
            classes: vec![ClassTotals::default(); layout.classes.len()],
            tenants: layout.tenants.then(Vec::new),
            keeps_series: layout.passing_event.is_some(),
            most_waiting: 0,
            busy: 0,
            capacity: Some(0),
        }
    }

    #[inline]
    pub(super) fn born(&mut self, ask: &Ask) {
        if let Some(tenants) = &mut self.tenants {
            let tenant = ask.tenant as usize;
            if tenants.len() <= tenant {
                tenants.resize(tenant + 1, Tenant::default());
            }
            tenants[tenant].calls += 1;
        }
    }

    #[inline]
    pub(super) fn answered(&mut self, ask: &Ask) {
        if let Some(tenants) = &mut self.tenants {
            tenants[ask.tenant as usize].answered += 1;
        }
    }

    pub(super) fn counts(&mut self, class: usize, counts: &[u64; Count::LEN]) {
        self.classes[class].counts.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }

    pub(super) fn used(&mut self, phase: Phase, usage: Use) {
        if phase == Phase::Main {
            self.busy += usage.busy;
            self.capacity = self.capacity.zip(usage.capacity).map(|(sum, more)| sum + more);
        }
    }

    pub(super) fn waited(&mut self, phase: Phase, most: u64) {
        if phase == Phase::Main {
            self.most_waiting = self.most_waiting.max(most);
        }
    }

    pub(super) fn interval(&mut self, class: usize, row: &TimelineRow<'_>) {
        let totals = &mut self.classes[class];
        let of = |count: Count| row.counts[count as usize];
        if self.keeps_series {
            totals.series.push((row.start, of(Count::First), of(Count::Goodput)));
        }
        if row.phase != Phase::Main {
            return;
        }
        totals.queue_depth_max = totals.queue_depth_max.max(row.queue_depth.max as u64);
        totals.in_flight_area += row.in_flight.area;
        if of(Count::Goodput) == 0 && (of(Count::Offered) > 0 || row.queue_depth.max > 0.0) {
            totals.starved = totals.starved + row.length;
        }
    }

    /// The total's row, then one row for each class. `times` are the waits and latencies of each class.
    pub(super) fn rows<'a>(&self, layout: &'a Layout, times: &[[Total; 2]]) -> Vec<SummaryRow<'a>> {
        let (mut all, mut all_times) = (ClassTotals::default(), [Total::default(), Total::default()]);
        for (class, times) in self.classes.iter().zip(times) {
            all.merge(class);
            all_times.iter_mut().zip(times).for_each(|(all, times)| all.merge(times));
        }
        let mut rows = vec![self.row(layout, None, &all, &all_times)];
        rows[0].fairness = self.fairness();
        rows[0].queue_depth_max = self.most_waiting;
        for ((name, class), times) in layout.classes.iter().zip(&self.classes).zip(times) {
            rows.push(self.row(layout, Some(name), class, times));
        }
        rows
    }

    fn row<'a>(
        &self,
        layout: &'a Layout,
        class: Option<&'a String>,
        totals: &ClassTotals,
        [queue_wait, latency]: &[Total; 2],
    ) -> SummaryRow<'a> {
        let duration = Nanos(layout.duration.0 - layout.warmup.0);
        SummaryRow {
            class: class.map(String::as_str),
            duration,
            warmup: layout.warmup,
            // Each call makes its first attempt when it is born.
            calls: totals.counts[Count::First as usize],
            counts: totals.counts,
            queue_wait: queue_wait.percentiles(),
            latency: latency.percentiles(),
            queue_depth_max: totals.queue_depth_max,
            in_flight_avg: totals.in_flight_area as f64 / duration.0 as f64,
            utilization: utilization(self.busy, self.capacity),
            fairness: None,
            starved: totals.starved,
            recovery: layout.passing_event.and_then(|event| recovery(&totals.series, event)),
        }
    }

    /// Jain's index of the tenants' goodput per call: (Σx)² / (n Σx²), 1 when all fare alike.
    fn fairness(&self) -> Option<f64> {
        let tenants = self.tenants.as_deref()?;
        let shares = || tenants.iter().filter(|t| t.calls > 0).map(|t| t.answered as f64 / t.calls as f64);
        let (n, sum, squares) = shares().fold((0.0, 0.0, 0.0), |(n, s, q), x| (n + 1.0, s + x, q + x * x));
        (squares > 0.0).then(|| sum * sum / (n * squares))
    }
}

impl ClassTotals {
    fn merge(&mut self, other: &ClassTotals) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
        self.in_flight_area += other.in_flight_area;
        self.starved = self.starved.max(other.starved);
        if self.series.is_empty() {
            self.series.clone_from(&other.series);
        } else {
            for (sum, (_, first, goodput)) in self.series.iter_mut().zip(&other.series) {
                (sum.1, sum.2) = (sum.1 + first, sum.2 + goodput);
            }
        }
    }
}

/// From the end of the event to the first instant from which a window's goodput per first attempt is at least 95 %
/// of what it was before the event; `None` if there was nothing before, or it never came back.
fn recovery(series: &[(SimTime, u64, u64)], (from, until): (SimTime, SimTime)) -> Option<Nanos> {
    let ratio = |part: &[(SimTime, u64, u64)]| {
        let (first, goodput) = part.iter().fold((0, 0), |(f, g), (_, first, good)| (f + first, g + good));
        (first > 0).then(|| goodput as f64 / first as f64)
    };
    let before = ratio(&series[..series.partition_point(|(start, ..)| *start < from)])?;
    let after = series.partition_point(|(start, ..)| *start < until);
    (after..series.len()).find_map(|begin| {
        let end =
            series.partition_point(|(start, ..)| *start < series[begin].0.saturating_add(RECOVERY_WINDOW));
        let good = ratio(&series[begin..end]).is_some_and(|now| before * 0.95 <= now);
        good.then(|| series[begin].0.since(until))
    })
}
