//! LiteLLM's priority reservation: while a model's limit is far from used up anybody may use it, then each priority its part.
//!
//! Requests and tokens are counted in a window that the first call opens and that ends `window` later, over all and by
//! priority, which is a call's class. A call that would take a count above its limit is refused (`model`). If the fullest
//! of the limits is used to `threshold` or more, it is also refused if its priority would have more than its weight of
//! that limit (`priority`); weights of more than one together are scaled down to one, and classes without a weight share
//! one. All are looked at before any is counted. Tokens are the input and the largest output, `output_cap` where none
//! is declared, and are corrected in the end. Source: LiteLLM, `dynamic_rate_limiter_v3.py`.

use super::{Admission, Cast, Denial, Entrant, Habits, Plan, Scene};
use crate::gauge::Reading;
use crate::request::{Ask, End, Reason, Unit};
use crate::time::{Nanos, SimTime};

/// A reservation, as it is described.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Requests in a window.
    pub rpm: Option<u64>,
    /// Tokens in a window.
    pub tpm: Option<u64>,
    /// How long a window lasts, at least 1 ns.
    pub window: Nanos,
    /// From this share of use on parts are held to.
    pub threshold: f64,
    /// Classes and their weights.
    pub weights: Vec<(String, f64)>,
    /// The weight that the others share.
    pub default_weight: f64,
    /// The output of a call that declares none.
    pub output_cap: u64,
}

impl Plan for Settings {
    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        let sum: f64 = self.weights.iter().map(|(_, weight)| weight).sum();
        let scale = sum.max(1.0);
        let mut weights: Vec<f64> = self.weights.iter().map(|(_, weight)| weight / scale).collect();
        weights.push(self.default_weight);
        let pool = |class: &String| self.weights.iter().position(|(name, _)| name == class);
        let pools = cast.classes.iter().map(|class| pool(class).unwrap_or(self.weights.len())).collect();
        Box::new(LitellmPriority {
            settings: self.clone(),
            pools,
            used: vec![Used::default(); weights.len()],
            weights,
            all: Used::default(),
            ends: SimTime::ZERO,
            saturation: 0.0,
        })
    }
}

/// What was counted in a window.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    requests: u64,
    tokens: u64,
}

/// A reservation at work.
#[derive(Clone, Debug)]
pub struct LitellmPriority {
    settings: Settings,
    /// By class, the number of its part.
    pools: Vec<usize>,
    /// By part.
    weights: Vec<f64>,
    used: Vec<Used>,
    all: Used,
    ends: SimTime,
    saturation: f64,
}

impl LitellmPriority {
    fn tokens(&self, ask: &Ask) -> u64 {
        let output = match ask.max_output_tokens {
            0 => self.settings.output_cap,
            declared => u64::from(declared),
        };
        u64::from(ask.input_tokens) + output
    }

    /// Begins a window if the last one is over.
    fn open(&mut self, now: SimTime) {
        if self.ends <= now {
            self.ends = now.saturating_add(self.settings.window);
            self.all = Used::default();
            self.used.fill(Used::default());
        }
    }

    /// Whose limit a call would break.
    fn broken(&self, pool: usize, tokens: u64) -> Option<&'static str> {
        let Settings { rpm, tpm, threshold, .. } = self.settings;
        let over = |used: u64, more: u64, most: Option<u64>, share: f64| {
            most.is_some_and(|most| most as f64 * share < used.saturating_add(more) as f64)
        };
        if over(self.all.requests, 1, rpm, 1.0) || over(self.all.tokens, tokens, tpm, 1.0) {
            return Some("model");
        }
        let (own, weight) = (self.used[pool], self.weights[pool]);
        let beyond = over(own.requests, 1, rpm, weight) || over(own.tokens, tokens, tpm, weight);
        (threshold <= self.saturation && beyond).then_some("priority")
    }
}

impl Admission for LitellmPriority {
    fn habits(&self) -> Habits {
        Habits { sheds: true, ..Habits::default() }
    }

    fn sheds(&mut self, now: SimTime, entrant: &Entrant<'_>, _scene: &Scene) -> Option<Denial> {
        self.open(now);
        let share = |used: u64, most: Option<u64>| most.map_or(0.0, |most| used as f64 / most as f64);
        self.saturation =
            share(self.all.requests, self.settings.rpm).max(share(self.all.tokens, self.settings.tpm));
        let (pool, tokens) = (self.pools[entrant.ask.class.0 as usize], self.tokens(entrant.ask));
        if let Some(scope) = self.broken(pool, tokens) {
            return Some(Denial { reason: Reason::RateLimited, scope });
        }
        for used in [&mut self.all, &mut self.used[pool]] {
            used.requests += 1;
            used.tokens = used.tokens.saturating_add(tokens);
        }
        None
    }

    fn take(&mut self, _now: SimTime, _entrant: &Entrant<'_>) {}

    fn settle(&mut self, now: SimTime, entrant: &Entrant<'_>, _end: End) {
        self.open(now);
        let (taken, used) = (self.tokens(entrant.ask), entrant.ask.actual(Unit::Tokens));
        for count in [&mut self.all, &mut self.used[self.pools[entrant.ask.class.0 as usize]]] {
            // What a window before has counted is gone.
            count.tokens = count.tokens.saturating_add(used).saturating_sub(taken);
        }
    }

    /// The end of the window.
    fn advise(&mut self, now: SimTime, _entrant: &Entrant<'_>) -> Option<Nanos> {
        Some(self.ends.since(now))
    }

    fn gauges(&mut self, _now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("saturation", Reading::of(self.saturation));
        visit("tokens", Reading::of(self.all.tokens as f64));
    }
}
