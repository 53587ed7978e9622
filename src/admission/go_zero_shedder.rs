//! The adaptive shedder of go-zero: while the processor is busy, no more in flight than Little's law asks for.
//!
//! most = max(1, max_pass · min_rt · buckets per second / 1000) · f, where max_pass is the largest count of a bucket of
//! the window (1 at least), min_rt the smallest rounded mean time of one in milliseconds (1000 while there is none), and
//! f = (1000 − cpu) / (1000 − cpu_threshold) between 0.1 and 1; the bucket that runs is left out. One who comes is shed
//! if the processor is at its threshold, or was within the last second and something has been shed since, and both what
//! is in flight and its average are above `most`. The average moves when one ends: a ⟵ 0.9 a + 0.1 · in flight. Times
//! are rounded up to whole milliseconds; failures only leave. Source: go-zero, `core/load/adaptiveshedder.go`.

use super::buckets::Buckets;
use super::cpu::Cpu;
use super::{Admission, Cast, Denial, Entrant, Habits, Plan, Scene};
use crate::gauge::{Gauge, Reading};
use crate::request::{End, Reason};
use crate::time::{Nanos, SimTime};

/// Its parameters.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long what has ended counts.
    pub window: Nanos,
    /// In so many buckets.
    pub buckets: u64,
    /// From where on the processor is busy, in thousandths; below 1000.
    pub cpu_threshold: u64,
    /// Whether failures count as what is served well does.
    pub counts_failures: bool,
}

impl Settings {
    /// What holds unless said.
    pub const DEFAULT: Settings =
        Settings { window: Nanos::secs(5), buckets: 50, cpu_threshold: 900, counts_failures: false };
}

impl Plan for Settings {
    fn build(&self, _cast: &Cast<'_>) -> Box<dyn Admission> {
        Box::new(GoZeroShedder::new(self.clone()))
    }
}

/// How often the processor is looked at.
const CPU_EVERY: Nanos = Nanos::millis(250);

/// So long after the processor was busy it goes on.
const COOL_OFF: Nanos = Nanos::SECOND;

/// The shortest time in service while none is known, in milliseconds.
const MIN_RT: u64 = 1000;

/// The shedder at work.
#[derive(Clone, Debug)]
pub struct GoZeroShedder {
    settings: Settings,
    ended: Buckets,
    cpu: Cpu,
    in_use: Gauge,
    average: f64,
    busy_at: Option<SimTime>,
    dropped: bool,
}

impl GoZeroShedder {
    /// A shedder that has seen nothing.
    pub fn new(settings: Settings) -> GoZeroShedder {
        let ended = Buckets::new(settings.window, settings.buckets);
        let cpu = Cpu::new(CPU_EVERY);
        GoZeroShedder {
            settings,
            ended,
            cpu,
            in_use: Gauge::new(0),
            average: 0.0,
            busy_at: None,
            dropped: false,
        }
    }

    fn is_hot(&mut self, now: SimTime) -> bool {
        if self.settings.cpu_threshold <= self.cpu.permille() {
            self.busy_at = Some(now);
            return true;
        }
        let hot = self.dropped && self.busy_at.is_some_and(|at| now - at < COOL_OFF);
        self.dropped &= hot || self.busy_at.is_none();
        hot
    }

    fn is_over(&self, now: SimTime) -> bool {
        let max_pass = self.ended.whole(now).map(|bucket| bucket.count).max().unwrap_or(1);
        // Half up: sums and counts are not negative.
        let mean = |sum: u64, count: u64| (2 * sum + count) / (2 * count);
        let means = self.ended.whole(now).map(|bucket| mean(bucket.sum_ms, bucket.count));
        let min_rt = means.min().unwrap_or(MIN_RT).min(MIN_RT);
        let scale = 1e9 / self.ended.length().0 as f64 / 1000.0;
        let most = (max_pass as f64 * min_rt as f64 * scale).max(1.0);
        let idle = 1000.0 - self.cpu.permille() as f64;
        let factor = (idle / (1000.0 - self.settings.cpu_threshold as f64)).clamp(0.1, 1.0);
        let most = most * factor;
        most < self.average && most < self.in_use.value() as f64
    }
}

impl Admission for GoZeroShedder {
    fn habits(&self) -> Habits {
        Habits { sheds: true, keeps_time: true, ..Habits::default() }
    }

    fn sheds(&mut self, now: SimTime, _entrant: &Entrant<'_>, _scene: &Scene) -> Option<Denial> {
        let sheds = self.is_hot(now) && self.is_over(now);
        self.dropped |= sheds;
        sheds.then_some(Denial::of(Reason::Shed))
    }

    fn take(&mut self, now: SimTime, _entrant: &Entrant<'_>) {
        self.in_use.up(now, 1);
    }

    fn settle(&mut self, now: SimTime, _entrant: &Entrant<'_>, end: End) {
        self.in_use.down(now, 1);
        self.average = self.average * 0.9 + self.in_use.value() as f64 * (1.0 - 0.9);
        match end {
            End::Failed(_) if !self.settings.counts_failures => {}
            End::Completed(rtt) | End::Failed(rtt) => self.ended.add(now, rtt.0.div_ceil(1_000_000)),
            End::Cancelled(_) | End::Unused => {}
        }
    }

    fn alarm(&self) -> Option<SimTime> {
        Some(self.cpu.next())
    }

    fn ring(&mut self, now: SimTime, scene: &Scene) {
        self.cpu.tick(now, scene);
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
        visit("cpu", Reading::of(self.cpu.permille() as f64));
        visit("dropping", Reading::of(f64::from(u8::from(self.dropped))));
    }
}
