//! Shedders with a PID controller: the share that is turned away follows an error.
//!
//! - *semian*: every `interval`, over the `window` before it: e = failures / (failures + successes), 0 if nothing ended;
//!   raw = e − ideal, where the ideal is a smoothed baseline that has heard e already; δ = raw if it is not positive, 0 up to `dead_zone` · ideal, else raw; P = δ − (1 − δ) ·
//!   rejection. The *whole* output is added: rejection ← clamp(rejection + kp · P + ki · Σ P dt + kd · ΔP / dt, 0, 1); the
//!   sum is held within ±10 after it is used. The baseline begins at 5 %, ignores what is above 10 %, and moves by 0.0017
//!   of a difference up and 0.078 down in the first half hour, by 0.0009 and 0.039 afterwards. Source: Semian,
//!   `pid_controller.rb`, `simple_exponential_smoother.rb`.
//! - *plain*: error = signal − target, as a share of the target; rejection = clamp(kp · e + ki · Σ e dt + kd · Δe / dt, 0,
//!   max), where the sum stands still while the output is held at a bound that it would push against. The signal is the
//!   queueing delay or the share of busy slots. Source: K. Åström, R. Murray, Feedback Systems, 2008, chapter 10.
//!
//! What a later stage or the queue turns away, or its caller takes back, is a failure; what the downstream's own quota
//! refuses is an answer.

use super::chance::Chance;
use super::cpu::busy_permille;
use super::recent::Recent;
use super::{Admission, Cast, Denial, Entrant, Habits, Plan, Scene};
use crate::gauge::{Gauge, Reading};
use crate::request::{End, Reason};
use crate::time::{Nanos, SimTime};

/// A controller, as it is described.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How often it moves.
    pub interval: Nanos,
    /// The gain of the error.
    pub kp: f64,
    /// The gain of its sum.
    pub ki: f64,
    /// The gain of its change.
    pub kd: f64,
    /// What it follows.
    pub law: Law,
}

/// What the controller follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Failures above a baseline, in velocity form.
    Semian {
        /// How long what has ended counts.
        window: Nanos,
        /// So much above the baseline is no error, as a share of it.
        dead_zone: f64,
    },
    /// The queueing delay above a target.
    Delay {
        /// The delay that is aimed at.
        target: Nanos,
        /// The largest share.
        max_rejection: f64,
    },
    /// Busy slots above a target.
    Utilization {
        /// The share that is aimed at.
        target: f64,
        /// The largest share.
        max_rejection: f64,
    },
}

impl Plan for Settings {
    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        let window = match self.law {
            Law::Semian { window, .. } => window,
            _ => self.interval,
        };
        let buckets = (window.0 / self.interval.0.max(1)).max(1);
        Box::new(PidShedder {
            settings: self.clone(),
            chance: Chance::new(cast),
            ended: Recent::new(window, buckets),
            rejection: 0.0,
            sum: 0.0,
            last: 0.0,
            ideal: BASELINE,
            in_use: Gauge::new(0),
            next: SimTime::ZERO.saturating_add(self.interval),
        })
    }
}

/// Where Semian's baseline begins.
const BASELINE: f64 = 0.05;
/// What the baseline ignores.
const IGNORED: f64 = 0.1;
/// So long the baseline moves fast.
const FAST: SimTime = SimTime(30 * 60 * 1_000_000_000);
/// Semian's sum is held within this.
const SUM: f64 = 10.0;

/// A controller at work.
#[derive(Clone, Debug)]
pub struct PidShedder {
    settings: Settings,
    chance: Chance,
    ended: Recent,
    rejection: f64,
    sum: f64,
    last: f64,
    /// Semian's baseline.
    ideal: f64,
    in_use: Gauge,
    next: SimTime,
}

impl PidShedder {
    /// A tick of Semian's controller, after so many ends of which so many were well.
    fn semian(&mut self, now: SimTime, dead_zone: f64, all: u64, well: u64) {
        let Settings { kp, ki, kd, interval, .. } = self.settings;
        let dt = interval.0 as f64 / 1e9;
        let rate = (all - well) as f64 / all.max(1) as f64;
        if rate <= IGNORED {
            let (up, down) = if now < FAST { (0.0017, 0.078) } else { (0.0009, 0.039) };
            self.ideal += (rate - self.ideal) * if self.ideal < rate { up } else { down };
        }
        let raw = rate - self.ideal;
        let delta = if 0.0 < raw && raw <= dead_zone * self.ideal { 0.0 } else { raw };
        let p = delta - (1.0 - delta) * self.rejection;
        self.sum += p * dt;
        let output = kp * p + ki * self.sum + kd * (p - self.last) / dt;
        self.rejection = (self.rejection + output).clamp(0.0, 1.0);
        self.sum = self.sum.clamp(-SUM, SUM);
        self.last = p;
    }

    /// A tick of the plain controller.
    fn plain(&mut self, error: f64, max_rejection: f64) {
        let Settings { kp, ki, kd, interval, .. } = self.settings;
        let dt = interval.0 as f64 / 1e9;
        let sum = self.sum + error * dt;
        let output = kp * error + ki * sum + kd * (error - self.last) / dt;
        let pushes = (max_rejection < output && 0.0 < error) || (output < 0.0 && error < 0.0);
        if !pushes {
            self.sum = sum;
        }
        self.rejection = output.clamp(0.0, max_rejection);
        self.last = error;
    }
}

impl Admission for PidShedder {
    fn habits(&self) -> Habits {
        Habits { sheds: true, keeps_time: true, minds_losses: true, ..Habits::default() }
    }

    fn sheds(&mut self, _now: SimTime, entrant: &Entrant<'_>, _scene: &Scene) -> Option<Denial> {
        (self.chance.draw(entrant) < self.rejection).then_some(Denial::of(Reason::Shed))
    }

    fn take(&mut self, now: SimTime, _entrant: &Entrant<'_>) {
        self.in_use.up(now, 1);
    }

    fn settle(&mut self, now: SimTime, _entrant: &Entrant<'_>, end: End) {
        self.in_use.down(now, 1);
        self.ended.add(now, 1, u64::from(matches!(end, End::Completed(_))));
    }

    fn lost(&mut self, now: SimTime, _entrant: &Entrant<'_>, reason: Option<Reason>) -> Option<Nanos> {
        self.ended.add(now, 1, u64::from(reason == Some(Reason::RateLimited)));
        None
    }

    fn alarm(&self) -> Option<SimTime> {
        Some(self.next)
    }

    fn ring(&mut self, now: SimTime, scene: &Scene) {
        match self.settings.law {
            Law::Semian { dead_zone, .. } => {
                // The window that ends now, before the next begins.
                let (all, well) = self.ended.sums(SimTime(now.0.saturating_sub(1)));
                self.semian(now, dead_zone, all, well);
            }
            Law::Delay { target, max_rejection } => {
                self.plain(scene.delay.0 as f64 / target.0 as f64 - 1.0, max_rejection);
            }
            Law::Utilization { target, max_rejection } => {
                self.plain(busy_permille(scene) as f64 / 1000.0 / target - 1.0, max_rejection);
            }
        }
        self.next = now.saturating_add(self.settings.interval);
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
        visit("probability", Reading::of(self.rejection));
    }
}
