//! DAGOR: sheds by two priorities, of the business and of the user, at a level that follows the queueing time.
//!
//! A call's priority is (tier, user): tiers are the priorities of classes, the most important first; the user's is a hash of
//! the user and the hour, of 128 levels, so that users take turns. It passes if its priority is not behind the level's.
//! A window lasts `window` or `requests` that came, whichever ends first. Overloaded is one in which what started had
//! waited longer than `threshold` on average; then the next is to let in 5 % less than were let in, else 1 % more: the
//! level moves step by step through the window's own histogram until it would have, and after a window that let nobody in
//! to the next priority that came. Calls without a user have one each.
//!
//! With `callers` the service feeds its level to so many of them: each hears it with every answer of its own, a refusal
//! too, and turns away by what it heard last (`caller`). A call keeps its priority through all its attempts, which is
//! made of its class and its user alone. Source: H. Zhou and others, Overload Control for Scaling WeChat Microservices,
//! SoCC 2018.

use super::sessions::Sessions;
use super::{Admission, Cast, Denial, Entrant, Habits, Plan, Scene};
use crate::gauge::{Gauge, Reading};
use crate::request::{Ask, End, Reason};
use crate::rng::{Dice, Purpose};
use crate::time::{Nanos, SimTime};

/// A controller, as it is described.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The longest window.
    pub window: Nanos,
    /// The most that come in a window.
    pub requests: u64,
    /// Above this mean wait it is overloaded.
    pub threshold: Nanos,
    /// The share that is let in less after an overloaded window.
    pub alpha: f64,
    /// The share that is let in more after another.
    pub beta: f64,
    /// The callers that hear the level; `None` feeds it to nobody.
    pub callers: Option<Sessions>,
}

/// Levels of users within a tier.
const USERS: usize = 128;
/// So long a user's level holds.
const HOUR: u64 = 3_600_000_000_000;

impl Plan for Settings {
    fn looks_at_priority(&self) -> bool {
        true
    }

    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        let mut tiers: Vec<i32> = cast.priorities.to_vec();
        tiers.sort_unstable_by(|a, b| b.cmp(a));
        tiers.dedup();
        let tier = |priority: &i32| tiers.iter().position(|tier| tier == priority).unwrap_or(0);
        let levels = tiers.len() * USERS;
        Box::new(Dagor {
            settings: self.clone(),
            tier_of: cast.priorities.iter().map(tier).collect(),
            came: vec![0; levels],
            level: levels - 1,
            heard: vec![levels - 1; self.callers.map_or(0, |callers| callers.count as usize)],
            admitted: 0,
            requests: 0,
            started: 0,
            waited: 0,
            in_use: Gauge::new(0),
            ends: SimTime::ZERO.saturating_add(self.window),
        })
    }
}

/// A controller at work.
#[derive(Clone, Debug)]
pub struct Dagor {
    settings: Settings,
    /// By class, the most important first.
    tier_of: Vec<usize>,
    /// How many came in this window, by compound priority.
    came: Vec<u64>,
    /// The last compound priority that is let in.
    level: usize,
    /// By caller, the level that it heard last.
    heard: Vec<usize>,
    admitted: u64,
    requests: u64,
    /// How many started in this window, and how long they had waited together.
    started: u64,
    waited: u128,
    in_use: Gauge,
    ends: SimTime,
}

impl Dagor {
    fn priority(&self, now: SimTime, ask: &Ask) -> usize {
        // Who has no name is somebody else each time.
        let who = if ask.user == 0 { ask.dice.0 } else { u64::from(ask.user) << 32 };
        let user = Dice(who ^ (now.0 / HOUR)).bits(Purpose::Policy, 0) as usize % USERS;
        self.tier_of[ask.class.0 as usize] * USERS + user
    }

    /// The caller of a call has an answer.
    fn answer(&mut self, ask: &Ask) {
        if let Some(callers) = self.settings.callers {
            self.heard[callers.of(ask)] = self.level;
        }
    }

    fn end_window(&mut self, now: SimTime) {
        let mean = self.waited / u128::from(self.started.max(1));
        let overloaded = u128::from(self.settings.threshold.0) < mean;
        let factor = if overloaded { 1.0 - self.settings.alpha } else { 1.0 + self.settings.beta };
        // After a window that let nobody in there is a next one all the same.
        let least = if overloaded { 0.0 } else { 1.0 };
        let wanted = (self.admitted as f64 * factor).max(least);
        let mut prefix: u64 = self.came[..=self.level].iter().sum();
        if overloaded {
            while 0 < self.level && wanted < prefix as f64 {
                prefix -= self.came[self.level];
                self.level -= 1;
            }
        } else {
            while self.level + 1 < self.came.len() && (prefix as f64) < wanted {
                self.level += 1;
                prefix += self.came[self.level];
            }
        }
        self.came.fill(0);
        (self.admitted, self.requests, self.started, self.waited) = (0, 0, 0, 0);
        self.ends = now.saturating_add(self.settings.window);
    }
}

impl Admission for Dagor {
    fn habits(&self) -> Habits {
        let minds_losses = self.settings.callers.is_some();
        Habits { sheds: true, keeps_time: true, minds_losses, ..Habits::default() }
    }

    fn sheds(&mut self, now: SimTime, entrant: &Entrant<'_>, _scene: &Scene) -> Option<Denial> {
        if self.settings.requests <= self.requests {
            self.end_window(now);
        }
        let priority = self.priority(now, entrant.ask);
        let heard = self.settings.callers.map(|callers| self.heard[callers.of(entrant.ask)]);
        if heard.is_some_and(|heard| heard < priority) {
            return Some(Denial { reason: Reason::Shed, scope: "caller" });
        }
        self.came[priority] += 1;
        self.requests += 1;
        if priority <= self.level {
            self.admitted += 1;
            return None;
        }
        self.answer(entrant.ask);
        Some(Denial { reason: Reason::Shed, scope: "level" })
    }

    fn take(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        self.in_use.up(now, 1);
        self.started += 1;
        self.waited += u128::from(entrant.waited.0);
    }

    fn settle(&mut self, now: SimTime, entrant: &Entrant<'_>, _end: End) {
        self.in_use.down(now, 1);
        self.answer(entrant.ask);
    }

    fn lost(&mut self, _now: SimTime, entrant: &Entrant<'_>, reason: Option<Reason>) -> Option<Nanos> {
        if reason.is_some() {
            self.answer(entrant.ask);
        }
        None
    }

    fn alarm(&self) -> Option<SimTime> {
        Some(self.ends)
    }

    fn ring(&mut self, now: SimTime, _scene: &Scene) {
        self.end_window(now);
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
        visit("level", Reading::of(self.level as f64));
    }
}
