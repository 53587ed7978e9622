//! The BBR shedder of kratos: while the processor is busy, no more in flight than Little's law asks for.
//!
//! most = ⌊max_pass · min_rt · buckets per second / 1000⌋, where max_pass is the largest count of a bucket of the window
//! (1 at least) and min_rt the smallest mean time of one in milliseconds, rounded up (1 at least); the bucket that runs
//! is left out, and both are kept for a bucket's length. From `cpu_threshold` on, one who comes is shed if more than one
//! and more than `most` are in flight; below it the same holds for a second after the first of a row of sheddings.
//! Times are cut to whole milliseconds, since the original rounds nanoseconds up before it divides. Every end counts,
//! failures too. Source: go-kratos/aegis, `ratelimit/bbr/bbr.go`.

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
    pub bucket: u64,
    /// From where on the processor is busy, in thousandths.
    pub cpu_threshold: u64,
    /// Whether failures count as what is served well does.
    pub counts_failures: bool,
}

impl Settings {
    /// What holds unless said.
    pub const DEFAULT: Settings =
        Settings { window: Nanos::secs(10), bucket: 100, cpu_threshold: 800, counts_failures: true };
}

impl Plan for Settings {
    fn build(&self, _cast: &Cast<'_>) -> Box<dyn Admission> {
        Box::new(KratosBbr::new(self.clone()))
    }
}

/// How often the processor is looked at.
const CPU_EVERY: Nanos = Nanos::millis(500);

/// So long after the first shedding it goes on below the threshold.
const COOL_OFF: Nanos = Nanos::SECOND;

/// The shedder at work.
#[derive(Clone, Debug)]
pub struct KratosBbr {
    settings: Settings,
    ended: Buckets,
    cpu: Cpu,
    in_use: Gauge,
    dropping_since: Option<SimTime>,
    /// The most in flight, and when that was reckoned.
    most: Option<(u64, SimTime)>,
}

impl KratosBbr {
    /// A shedder that has seen nothing.
    pub fn new(settings: Settings) -> KratosBbr {
        let ended = Buckets::new(settings.window, settings.bucket);
        let cpu = Cpu::new(CPU_EVERY);
        KratosBbr { settings, ended, cpu, in_use: Gauge::new(0), dropping_since: None, most: None }
    }

    /// The most in flight by Little's law.
    fn most(&mut self, now: SimTime) -> u64 {
        if let Some((most, at)) = self.most
            && now - at < self.ended.length()
        {
            return most;
        }
        let max_pass = self.ended.whole(now).map(|bucket| bucket.count).max().unwrap_or(1);
        let means = self.ended.whole(now).map(|bucket| bucket.sum_ms.div_ceil(bucket.count));
        let min_rt = means.min().unwrap_or(0).max(1);
        let per_second = 1_000_000_000 / self.ended.length().0;
        let most = (u128::from(max_pass) * u128::from(min_rt) * u128::from(per_second) / 1000) as u64;
        self.most = Some((most, now));
        most
    }

    fn is_over(&mut self, now: SimTime) -> bool {
        let in_use = self.in_use.value();
        1 < in_use && self.most(now) < in_use
    }
}

impl Admission for KratosBbr {
    fn habits(&self) -> Habits {
        Habits { sheds: true, keeps_time: true, ..Habits::default() }
    }

    fn sheds(&mut self, now: SimTime, _entrant: &Entrant<'_>, _scene: &Scene) -> Option<Denial> {
        let busy = self.settings.cpu_threshold <= self.cpu.permille();
        let sheds = match self.dropping_since {
            None => busy && self.is_over(now),
            Some(since) if busy || now - since <= COOL_OFF => self.is_over(now),
            Some(_) => {
                self.dropping_since = None;
                false
            }
        };
        if sheds && busy {
            self.dropping_since.get_or_insert(now);
        }
        sheds.then_some(Denial::of(Reason::Shed))
    }

    fn take(&mut self, now: SimTime, _entrant: &Entrant<'_>) {
        self.in_use.up(now, 1);
    }

    fn settle(&mut self, now: SimTime, _entrant: &Entrant<'_>, end: End) {
        self.in_use.down(now, 1);
        match end {
            End::Failed(_) if !self.settings.counts_failures => {}
            End::Completed(rtt) | End::Failed(rtt) => self.ended.add(now, rtt.0 / 1_000_000),
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
        visit("dropping", Reading::of(f64::from(u8::from(self.dropping_since.is_some()))));
    }
}
