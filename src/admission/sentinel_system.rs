//! The system rules of Sentinel: plain bounds on everything that comes in, and Little's law while the load is high.
//!
//! In this order one who comes is shed if: what started in the last second, and it, are more than `qps`; more than
//! `max_thread` are in flight; the mean time in service of the last second is above `avg_rt`; the load is above
//! `highest_system_load` and more than one and more than max_success · min_rt / 1000 are in flight; the processor's use is
//! above `highest_cpu_usage`. The last second is two windows of 500 ms, of which the present one has just begun to
//! count; max_success is twice the larger of their counts (1 at least), min_rt the shortest time in it, between 1 and
//! 5000 ms. Load and use are looked at once a second. The *load* is modelled as what is busy and what waits in the
//! downstream, averaged exponentially over a minute as Unix does; the use of the processor as busy slots over all.
//! Times are differences of whole milliseconds. Source: Sentinel, `SystemRuleManager.java`, `StatisticNode.java`.

use super::cpu::busy_permille;
use super::{Admission, Cast, Denial, Entrant, Habits, Plan, Scene};
use crate::gauge::{Gauge, Reading};
use crate::math;
use crate::request::{End, Reason};
use crate::time::{Nanos, SimTime};

/// Its bounds; `None` is without one.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Above this load Little's law holds.
    pub highest_system_load: Option<f64>,
    /// The most use of the processor, as a share.
    pub highest_cpu_usage: Option<f64>,
    /// The most that may start in a second.
    pub qps: Option<f64>,
    /// The largest mean time in service.
    pub avg_rt: Option<Nanos>,
    /// The most in flight.
    pub max_thread: Option<u64>,
    /// Whether failures say nothing.
    pub ignores_failures: bool,
}

impl Plan for Settings {
    fn build(&self, _cast: &Cast<'_>) -> Box<dyn Admission> {
        Box::new(SentinelSystem::new(self.clone()))
    }
}

/// Load and use of the processor are looked at so often.
const EVERY: Nanos = Nanos::SECOND;

/// The length of one window of the last second.
const WINDOW_MS: u64 = 500;

/// The longest time in service that counts, in milliseconds.
const MAX_RT_MS: u64 = 5000;

/// What happened in one window.
#[derive(Clone, Copy, Debug)]
struct Window {
    starts_ms: u64,
    passed: u64,
    ended: u64,
    sum_ms: u64,
    shortest_ms: u64,
}

impl Window {
    fn beginning(starts_ms: u64) -> Window {
        Window { starts_ms, passed: 0, ended: 0, sum_ms: 0, shortest_ms: MAX_RT_MS }
    }
}

/// The rules at work.
#[derive(Clone, Debug)]
pub struct SentinelSystem {
    settings: Settings,
    windows: [Window; 2],
    in_use: Gauge,
    load: f64,
    use_permille: u64,
    /// What is left of the load after a second.
    decay: f64,
    next: SimTime,
}

impl SentinelSystem {
    /// Rules that have seen nothing.
    pub fn new(settings: Settings) -> SentinelSystem {
        SentinelSystem {
            settings,
            windows: [Window::beginning(0), Window::beginning(WINDOW_MS)],
            in_use: Gauge::new(0),
            load: 0.0,
            use_permille: 0,
            decay: math::exp(-1.0 / 60.0),
            next: SimTime::ZERO.saturating_add(EVERY),
        }
    }

    /// The window that runs.
    fn window(&mut self, now: SimTime) -> &mut Window {
        let now_ms = now.0 / 1_000_000;
        let starts_ms = now_ms - now_ms % WINDOW_MS;
        let window = &mut self.windows[(now_ms / WINDOW_MS % 2) as usize];
        if window.starts_ms != starts_ms {
            *window = Window::beginning(starts_ms);
        }
        window
    }

    /// The windows of the last second, the one that runs included.
    fn last_second(&self, now: SimTime) -> impl Iterator<Item = &Window> {
        let now_ms = now.0 / 1_000_000;
        self.windows
            .iter()
            .filter(move |window| window.starts_ms <= now_ms && now_ms - window.starts_ms < 2 * WINDOW_MS)
    }

    /// Which bound one who comes would break.
    fn broken(&self, now: SimTime) -> Option<&'static str> {
        let Settings { highest_system_load, highest_cpu_usage, qps, avg_rt, max_thread, .. } = self.settings;
        let (mut passed, mut ended, mut sum_ms, mut most, mut shortest_ms) = (0, 0, 0, 0, MAX_RT_MS);
        for window in self.last_second(now) {
            passed += window.passed;
            ended += window.ended;
            sum_ms += window.sum_ms;
            most = window.ended.max(most);
            shortest_ms = window.shortest_ms.min(shortest_ms);
        }
        let in_use = self.in_use.value();
        if qps.is_some_and(|qps| qps < (passed + 1) as f64) {
            return Some("qps");
        }
        if max_thread.is_some_and(|most| most < in_use) {
            return Some("thread");
        }
        let mean_ms = if ended == 0 { 0.0 } else { sum_ms as f64 / ended as f64 };
        if avg_rt.is_some_and(|most| most.0 as f64 / 1e6 < mean_ms) {
            return Some("rt");
        }
        let per_second = most.max(1) as f64 * 2.0;
        let pipe = per_second * shortest_ms.max(1) as f64 / 1000.0;
        if highest_system_load.is_some_and(|highest| highest < self.load)
            && 1 < in_use
            && pipe < in_use as f64
        {
            return Some("load");
        }
        let is_busy = |highest: f64| highest < self.use_permille as f64 / 1000.0;
        if highest_cpu_usage.is_some_and(is_busy) { Some("cpu") } else { None }
    }
}

impl Admission for SentinelSystem {
    fn habits(&self) -> Habits {
        Habits { sheds: true, keeps_time: true, ..Habits::default() }
    }

    fn sheds(&mut self, now: SimTime, _entrant: &Entrant<'_>, _scene: &Scene) -> Option<Denial> {
        self.broken(now).map(|scope| Denial { reason: Reason::Shed, scope })
    }

    fn take(&mut self, now: SimTime, _entrant: &Entrant<'_>) {
        self.in_use.up(now, 1);
        self.window(now).passed += 1;
    }

    fn settle(&mut self, now: SimTime, _entrant: &Entrant<'_>, end: End) {
        self.in_use.down(now, 1);
        let rtt = match end {
            End::Failed(_) if self.settings.ignores_failures => return,
            End::Completed(rtt) | End::Failed(rtt) => rtt,
            End::Cancelled(_) | End::Unused => return,
        };
        let ms = now.0 / 1_000_000 - now.0.saturating_sub(rtt.0) / 1_000_000;
        let window = self.window(now);
        window.ended += 1;
        window.sum_ms += ms;
        window.shortest_ms = window.shortest_ms.min(ms);
    }

    fn alarm(&self) -> Option<SimTime> {
        Some(self.next)
    }

    fn ring(&mut self, now: SimTime, scene: &Scene) {
        let runnable = (scene.busy + scene.backlog) as f64;
        self.load = self.load * self.decay + runnable * (1.0 - self.decay);
        self.use_permille = busy_permille(scene);
        self.next = now.saturating_add(EVERY);
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
        visit("load", Reading::of(self.load));
        visit("cpu", Reading::of(self.use_permille as f64));
    }
}
