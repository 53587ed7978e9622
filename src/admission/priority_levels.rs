//! Priority levels that share a server's seats, lend them and borrow them: Kubernetes' API priority and fairness.
//!
//! Of `seats` a level has nominally ⌈seats · shares / Σ shares⌉. It lends `lendable` of them, so that its least is nominal −
//! lendable, and has `borrowing` more at most, or any number. A call of a level starts while fewer of it are at work than
//! its current limit, which is nominal at first and reckoned anew every `interval`, from its demand D, those at work and
//! those that wait, over the interval: envelope = mean + standard deviation; smoothed ← max(envelope, 0.977 · smoothed +
//! 0.023 · envelope); least now = max(least, min(nominal, the highest D)); target = max(least now, smoothed, 0.001). Then
//! one proportion f is found so that the limits, f · target held between the least now and the most, are all seats
//! together. If the least now are too many, each lies between the least and the least now in the same proportion. A level
//! that is `exempt` is never limited, and takes the larger of its least and its highest demand before the others. Limits
//! are rounded to whole seats. With `reject` a level turns away what would wait. A call takes the seats of its `width`; one
//! that is wider than the limit may be at work alone. Whoever a level turns away, or the queue behind for want of a place
//! or after too long a wait, is told to come again after the level's [doubling](crate::doubling) number of seconds. Source:
//! Kubernetes, KEP-1040; `apf_controller.go`, `conc_alloc.go`, `dropped_requests_tracker.go`. Its widths and extra time of
//! requests that change what others watch are not modelled.

use super::{Admission, Answer, Cast, Denial, Entrant, Habits, Plan, Scene};
use crate::doubling::Doubling;
use crate::gauge::{Gauge, Reading};
use crate::request::{End, Knob, Reason, Width};
use crate::time::{Nanos, SimTime};

/// A level, as it is described.
#[derive(Clone, Debug)]
pub struct Level {
    /// Its classes; of the last level without any, all that no other has.
    pub classes: Vec<String>,
    /// Its part of the seats.
    pub shares: u64,
    /// The share of its nominal seats that it lends.
    pub lendable: f64,
    /// So many times its nominal seats it may borrow; `None` is any number.
    pub borrowing: Option<f64>,
    /// Whether it is never limited.
    pub exempt: bool,
    /// Whether it turns away what would wait.
    pub rejects: bool,
}

/// A server, as it is described.
#[derive(Clone, Debug)]
pub struct Settings {
    /// All seats.
    pub seats: u64,
    /// How often limits are reckoned.
    pub interval: Nanos,
    /// The seats that a call takes.
    pub width: Width,
    /// The levels.
    pub levels: Vec<Level>,
}

impl Plan for Settings {
    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        let all: u64 = self.levels.iter().map(|level| level.shares).sum();
        let levels: Vec<Live> = self.levels.iter().map(|level| Live::new(level, self.seats, all)).collect();
        let of = |class: &String| {
            let named = self.levels.iter().position(|level| level.classes.contains(class));
            named.or_else(|| self.levels.iter().position(|level| level.classes.is_empty()))
        };
        let last = levels.len() - 1;
        Box::new(PriorityLevels {
            seats: self.seats,
            interval: self.interval,
            width: self.width,
            level_of: cast.classes.iter().map(|class| of(class).unwrap_or(last)).collect(),
            levels,
            in_use: Gauge::new(0),
            began: SimTime::ZERO,
            next: SimTime::ZERO.saturating_add(self.interval),
        })
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        (key == "limit").then_some(Knob::Limit(Some(self.seats)))
    }
}

/// A level at work.
#[derive(Clone, Debug)]
struct Live {
    nominal: f64,
    least: f64,
    most: f64,
    exempt: bool,
    rejects: bool,
    /// Its limit now.
    limit: u64,
    /// Seats at work, and seats that those want who wait.
    in_use: u64,
    waiting: u64,
    /// Demand and its square over the time since the interval began, up to the last change; and the highest.
    changed: SimTime,
    area: u128,
    squares: u128,
    highest: u64,
    smoothed: f64,
    retry_after: Doubling,
}

impl Live {
    fn new(level: &Level, seats: u64, all_shares: u64) -> Live {
        let nominal =
            (u128::from(seats) * u128::from(level.shares)).div_ceil(u128::from(all_shares.max(1))) as f64;
        let most = level.borrowing.map_or(seats as f64, |borrowing| nominal + (nominal * borrowing).round());
        Live {
            nominal,
            least: nominal - (nominal * level.lendable).round(),
            most,
            exempt: level.exempt,
            rejects: level.rejects,
            limit: nominal as u64,
            in_use: 0,
            waiting: 0,
            changed: SimTime::ZERO,
            area: 0,
            squares: 0,
            highest: 0,
            smoothed: 0.0,
            retry_after: Doubling::default(),
        }
    }

    fn has_room(&self, seats: u64) -> bool {
        self.exempt || self.in_use + seats <= self.limit || self.in_use == 0 && 0 < self.limit
    }

    fn demand(&self) -> u64 {
        self.in_use + self.waiting
    }

    /// Brings the integrals up to now, before the demand changes.
    fn catch_up(&mut self, now: SimTime) {
        let (demand, length) = (u128::from(self.demand()), u128::from(now.since(self.changed).0));
        self.area += demand * length;
        self.squares += demand * demand * length;
        self.changed = now;
    }

    fn count(&mut self, now: SimTime, change: impl FnOnce(&mut Live)) {
        self.catch_up(now);
        change(self);
        self.highest = self.highest.max(self.demand());
    }

    /// Ends an interval of that length.
    fn end_interval(&mut self, now: SimTime, length: Nanos) {
        self.catch_up(now);
        let length = length.0.max(1) as f64;
        let mean = self.area as f64 / length;
        let deviation = (self.squares as f64 / length - mean * mean).max(0.0).sqrt();
        let envelope = mean + deviation;
        self.smoothed = envelope.max(0.977 * self.smoothed + 0.023 * envelope);
        (self.area, self.squares) = (0, 0);
    }
}

/// What a level asks for when limits are reckoned.
#[derive(Clone, Copy, Debug)]
struct Wish {
    least: f64,
    least_now: f64,
    most: f64,
    target: f64,
}

/// The limits of levels that are to be `seats` together, as far as their bounds let them.
fn share_out(seats: f64, wishes: &[Wish]) -> Vec<f64> {
    let sum = |of: fn(&Wish) -> f64| wishes.iter().map(of).sum::<f64>();
    let (least, least_now, most) = (sum(|w| w.least), sum(|w| w.least_now), sum(|w| w.most));
    if seats <= least {
        return wishes.iter().map(|wish| wish.least).collect();
    }
    if seats <= least_now {
        let part = (seats - least) / (least_now - least);
        return wishes.iter().map(|wish| wish.least + part * (wish.least_now - wish.least)).collect();
    }
    if most <= seats {
        return wishes.iter().map(|wish| wish.most).collect();
    }
    let at = |f: f64| wishes.iter().map(move |wish| (f * wish.target).clamp(wish.least_now, wish.most));
    // Between two of these proportions the sum is a straight line.
    let mut bends: Vec<f64> =
        wishes.iter().flat_map(|wish| [wish.least_now / wish.target, wish.most / wish.target]).collect();
    bends.sort_by(f64::total_cmp);
    let after = bends.partition_point(|f| at(*f).sum::<f64>() < seats);
    let high = bends[after.min(bends.len() - 1)];
    let low = if after == 0 { 0.0 } else { bends[after - 1] };
    let (below, above) = (at(low).sum::<f64>(), at(high).sum::<f64>());
    let f = if above <= below { high } else { low + (high - low) * (seats - below) / (above - below) };
    at(f).collect()
}

/// Levels at work.
#[derive(Clone, Debug)]
pub struct PriorityLevels {
    seats: u64,
    interval: Nanos,
    width: Width,
    /// By class.
    level_of: Vec<usize>,
    levels: Vec<Live>,
    in_use: Gauge,
    began: SimTime,
    next: SimTime,
}

impl PriorityLevels {
    fn level(&self, entrant: &Entrant<'_>) -> &Live {
        &self.levels[self.level_of[entrant.ask.class.0 as usize]]
    }

    fn level_mut(&mut self, entrant: &Entrant<'_>) -> &mut Live {
        &mut self.levels[self.level_of[entrant.ask.class.0 as usize]]
    }

    fn reckon(&mut self, now: SimTime) {
        let length = now.since(self.began);
        self.levels.iter_mut().for_each(|level| level.end_interval(now, length));
        self.began = now;
        let mut left = self.seats as f64;
        for level in self.levels.iter_mut().filter(|level| level.exempt) {
            let taken = level.least.max(level.highest as f64);
            level.limit = taken as u64;
            left -= taken;
        }
        let wish = |level: &Live| {
            let least_now = level.least.max(level.nominal.min(level.highest as f64));
            let target = least_now.max(level.smoothed).max(0.001);
            Wish { least: level.least, least_now, most: level.most.max(least_now), target }
        };
        let wishes: Vec<Wish> = self.levels.iter().filter(|level| !level.exempt).map(wish).collect();
        let limits = share_out(left.max(0.0), &wishes);
        for (level, limit) in self.levels.iter_mut().filter(|level| !level.exempt).zip(limits) {
            level.limit = limit.round() as u64;
        }
        self.levels.iter_mut().for_each(|level| level.highest = level.demand());
    }
}

impl Admission for PriorityLevels {
    fn habits(&self) -> Habits {
        let sheds = self.levels.iter().any(|level| level.rejects);
        Habits { sheds, keeps_time: true, minds_queue: true, minds_losses: true, ..Habits::default() }
    }

    fn sheds(&mut self, now: SimTime, entrant: &Entrant<'_>, _scene: &Scene) -> Option<Denial> {
        let level = self.level(entrant);
        (level.rejects && !level.has_room(self.width.of(entrant.ask))).then(|| self.denial(now, entrant))
    }

    fn admit(&self, _now: SimTime, entrant: &Entrant<'_>) -> Answer {
        if self.level(entrant).has_room(self.width.of(entrant.ask)) { Answer::Pass } else { Answer::Wait }
    }

    fn take(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        let seats = self.width.of(entrant.ask);
        self.in_use.up(now, seats);
        let were_waiting = if entrant.queued { seats } else { 0 };
        self.level_mut(entrant).count(now, |level| {
            level.waiting -= were_waiting;
            level.in_use += seats;
        });
    }

    fn settle(&mut self, now: SimTime, entrant: &Entrant<'_>, _end: End) {
        let seats = self.width.of(entrant.ask);
        self.in_use.down(now, seats);
        self.level_mut(entrant).count(now, |level| level.in_use -= seats);
    }

    fn waits(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        let seats = self.width.of(entrant.ask);
        self.level_mut(entrant).count(now, |level| level.waiting += seats);
    }

    fn gave_up(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        let seats = self.width.of(entrant.ask);
        self.level_mut(entrant).count(now, |level| level.waiting -= seats);
    }

    /// The queue behind is the level's own.
    fn lost(&mut self, now: SimTime, entrant: &Entrant<'_>, reason: Option<Reason>) -> Option<Nanos> {
        let by_the_queue = matches!(reason?, Reason::QueueFull | Reason::QueueTimeout);
        if by_the_queue { self.advise(now, entrant) } else { None }
    }

    /// One of another level may have room.
    fn per_key(&self) -> bool {
        true
    }

    fn denial(&self, _now: SimTime, _entrant: &Entrant<'_>) -> Denial {
        Denial { reason: Reason::Concurrency, scope: "level" }
    }

    fn advise(&mut self, now: SimTime, entrant: &Entrant<'_>) -> Option<Nanos> {
        let retry_after = &mut self.level_mut(entrant).retry_after;
        retry_after.refuse(now);
        Some(retry_after.wait())
    }

    fn alarm(&self) -> Option<SimTime> {
        Some(self.next)
    }

    fn ring(&mut self, now: SimTime, _scene: &Scene) {
        self.reckon(now);
        self.next = now.saturating_add(self.interval);
    }

    fn change(&mut self, _now: SimTime, knob: Knob) {
        if let Knob::Limit(limit) = knob {
            self.seats = limit.unwrap_or(u64::from(u32::MAX));
        }
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
        let borrowed = |level: &Live| level.limit.saturating_sub(level.nominal as u64);
        let borrowed: u64 = self.levels.iter().filter(|level| !level.exempt).map(borrowed).sum();
        visit("seats_borrowed", Reading::of(borrowed as f64));
        let waits = self.levels.iter().map(|level| level.retry_after.wait());
        visit("retry_after_s", Reading::of(waits.max().map_or(0.0, Nanos::as_secs_f64)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(least: f64, least_now: f64, most: f64, target: f64) -> Wish {
        Wish { least, least_now, most, target }
    }

    #[test]
    fn seats_are_shared_out_in_one_proportion_within_bounds() {
        // An idle level at its least of 25, one with a demand of 80: 75 are left for it.
        let limits = share_out(100.0, &[wish(25.0, 25.0, 100.0, 25.0), wish(25.0, 50.0, 100.0, 80.0)]);
        assert_eq!(limits, [25.0, 75.0]);
        // Both want more than there is: 60 and 90 in the proportion of two thirds.
        let limits = share_out(100.0, &[wish(25.0, 30.0, 100.0, 60.0), wish(25.0, 30.0, 100.0, 90.0)]);
        assert!((limits[0] - 40.0).abs() < 1e-9 && (limits[1] - 60.0).abs() < 1e-9, "{limits:?}");
        // One may not borrow: the other has the rest.
        let limits = share_out(100.0, &[wish(25.0, 50.0, 50.0, 90.0), wish(25.0, 25.0, 100.0, 30.0)]);
        assert_eq!(limits, [50.0, 50.0]);
        // What they need now is more than all: halfway between the least and that.
        let limits = share_out(75.0, &[wish(25.0, 50.0, 99.0, 50.0), wish(25.0, 50.0, 99.0, 50.0)]);
        assert_eq!(limits, [37.5, 37.5]);
        assert_eq!(share_out(10.0, &[wish(25.0, 50.0, 99.0, 50.0)]), [25.0]);
        assert_eq!(share_out(500.0, &[wish(25.0, 50.0, 99.0, 50.0)]), [99.0]);
    }
}
