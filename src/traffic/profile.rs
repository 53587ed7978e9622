//! The rate of arrivals over time: a base rate, and what changes it.
//!
//! A burst replaces the rate while it lasts and hands back after; a step holds from then on; a ramp moves in a
//! straight line from the rate in force to a new one and stays there. Of the changes in force the one that
//! started last wins; of two that start together, the one listed later. An on-off cycle lies over all of them:
//! while it is off the rate is zero. Changes are flattened once into stretches, the cycle is laid over them as one
//! walks along, so ten thousand cycles take no memory.

use crate::time::{Nanos, SimTime};
use crate::units::Rate;
use std::sync::Arc;

/// A change of the rate. `None` as a rate means that nothing arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// `rate` from `at` on, for `length`; what lies below goes on unseen and is back afterwards.
    Burst {
        /// Its first instant.
        at: SimTime,
        /// How long it lasts.
        length: Nanos,
        /// The rate while it lasts.
        rate: Option<Rate>,
    },
    /// `rate` from `at` on.
    Step {
        /// Its instant.
        at: SimTime,
        /// The rate from then on.
        rate: Option<Rate>,
    },
    /// From the rate in force at `at` to the rate `to`, reached after `length`, and held from then on.
    Ramp {
        /// Where it begins.
        at: SimTime,
        /// How long the way takes; a step if it is zero.
        length: Nanos,
        /// The rate at its end.
        to: Option<Rate>,
    },
}

impl Change {
    fn at(&self) -> SimTime {
        match self {
            Change::Burst { at, .. } | Change::Step { at, .. } | Change::Ramp { at, .. } => *at,
        }
    }

    /// The instants at which the rate may turn because of it.
    fn turns(&self) -> [SimTime; 2] {
        match *self {
            Change::Step { at, .. } => [at, at],
            Change::Burst { at, length, .. } | Change::Ramp { at, length, .. } => {
                [at, at.saturating_add(length)]
            }
        }
    }
}

/// A cycle that starts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnOff {
    /// How long it is on.
    pub on: Nanos,
    /// How long it is off.
    pub off: Nanos,
}

/// What arrives during a stretch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Nothing.
    Off,
    /// The same rate all along.
    Steady(Rate),
    /// In a straight line from one rate to another, in calls per nanosecond.
    Ramp {
        /// The rate at the start.
        start: f64,
        /// The rate at the end.
        end: f64,
    },
}

/// A length of time with one pace, from `from` to just before `until`, or for ever.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Its first instant.
    pub from: SimTime,
    /// The first instant that no longer belongs to it.
    pub until: Option<SimTime>,
    /// What arrives.
    pub pace: Pace,
}

/// The rate of arrivals over time.
#[derive(Clone, Debug, PartialEq)]
pub struct RateProfile {
    stretches: Arc<[Stretch]>,
    cycle: Option<OnOff>,
}

impl RateProfile {
    /// A profile of one rate for ever.
    pub fn constant(rate: Rate) -> RateProfile {
        let pace = Pace::Steady(rate);
        RateProfile { stretches: [Stretch { from: SimTime::ZERO, until: None, pace }].into(), cycle: None }
    }

    /// A profile of the rate `base` with `changes` in the order of their listing and an on-off `cycle`.
    pub fn new(base: Option<Rate>, changes: &[Change], cycle: Option<OnOff>) -> Result<RateProfile, String> {
        if cycle.is_some_and(|c| c.on == Nanos::ZERO) {
            return Err("the cycle is on for `0s`: nothing would ever arrive".into());
        }
        let stretches = flatten(base, changes).into();
        Ok(RateProfile { stretches, cycle: cycle.filter(|c| c.off != Nanos::ZERO) })
    }

    /// The stretches in their order, without a gap, with the cycle laid over them; the last has no end.
    pub fn walk(&self) -> Walk {
        Walk { stretches: self.stretches.clone(), cycle: self.cycle, at: Some(SimTime::ZERO), index: 0 }
    }

    /// The number of calls that are expected before `until`.
    pub fn expected_calls(&self, until: SimTime) -> f64 {
        self.walk().take_while(|s| s.from < until).map(|s| s.cut_at(until).calls()).sum()
    }
}

impl Stretch {
    /// The part before `limit`, which must lie after the start.
    pub fn cut_at(self, limit: SimTime) -> Stretch {
        let until = self.until.map_or(limit, |u| u.min(limit));
        Stretch { pace: self.pace_between(self.from, until), until: Some(until), ..self }
    }

    /// The pace of the part from `from` to `until`.
    fn pace_between(&self, from: SimTime, until: SimTime) -> Pace {
        match (self.pace, self.until) {
            (Pace::Ramp { start, end }, Some(last)) if (from, until) != (self.from, last) => {
                let slope = (end - start) / last.since(self.from).0 as f64;
                let rate_at = |t: SimTime| start + slope * t.since(self.from).0 as f64;
                Pace::Ramp { start: rate_at(from), end: rate_at(until) }
            }
            (pace, _) => pace,
        }
    }

    /// The number of calls expected in it; infinite if it has a rate and no end.
    fn calls(&self) -> f64 {
        let length = self.until.map_or(f64::INFINITY, |u| u.since(self.from).0 as f64);
        match self.pace {
            Pace::Off => 0.0,
            Pace::Steady(rate) => rate.per_nano() * length,
            Pace::Ramp { start, end } => (start + end) / 2.0 * length,
        }
    }
}

/// A change with what it does worked out.
struct Course {
    from: SimTime,
    until: Option<SimTime>,
    /// The way of a ramp, before it is steady.
    way: Option<(SimTime, f64)>,
    rate: Option<Rate>,
}

impl Course {
    /// The pace from `from` to `until`, between which nothing turns.
    fn pace(&self, from: SimTime, until: Option<SimTime>) -> Pace {
        match (self.way, until) {
            (Some((reached, start)), Some(until)) if from < reached => {
                let end = self.rate.map_or(0.0, Rate::per_nano);
                if start == 0.0 && end == 0.0 {
                    return Pace::Off;
                }
                let whole =
                    Stretch { from: self.from, until: Some(reached), pace: Pace::Ramp { start, end } };
                whole.pace_between(from, until)
            }
            _ => self.rate.map_or(Pace::Off, Pace::Steady),
        }
    }

    fn holds_at(&self, t: SimTime) -> bool {
        self.from <= t && self.until.is_none_or(|until| t < until)
    }

    /// The rate at `t` in calls per nanosecond.
    fn rate_at(&self, t: SimTime) -> f64 {
        let end = self.rate.map_or(0.0, Rate::per_nano);
        match self.way {
            Some((reached, start)) if t < reached => {
                start + (end - start) / reached.since(self.from).0 as f64 * t.since(self.from).0 as f64
            }
            _ => end,
        }
    }
}

/// Works out every change in the order of their starts, and cuts time at every turn.
fn flatten(base: Option<Rate>, changes: &[Change]) -> Vec<Stretch> {
    let mut changes = changes.to_vec();
    changes.sort_by_key(Change::at);
    let mut courses = vec![Course { from: SimTime::ZERO, until: None, way: None, rate: base }];
    for change in &changes {
        let in_force = winner(&courses, change.at()).rate_at(change.at());
        courses.push(match *change {
            Change::Burst { at, length, rate } => {
                Course { from: at, until: Some(at.saturating_add(length)), way: None, rate }
            }
            Change::Step { at, rate } => Course { from: at, until: None, way: None, rate },
            Change::Ramp { at, length, to } => {
                Course { from: at, until: None, way: Some((at.saturating_add(length), in_force)), rate: to }
            }
        });
    }
    let mut turns: Vec<SimTime> = changes.iter().flat_map(Change::turns).chain([SimTime::ZERO]).collect();
    turns.sort_unstable();
    turns.dedup();
    let mut stretches: Vec<Stretch> = Vec::with_capacity(turns.len());
    for (i, from) in turns.iter().enumerate() {
        let until = turns.get(i + 1).copied();
        let pace = winner(&courses, *from).pace(*from, until);
        match stretches.last_mut() {
            Some(last) if last.pace == pace && !matches!(pace, Pace::Ramp { .. }) => last.until = until,
            _ => stretches.push(Stretch { from: *from, until, pace }),
        }
    }
    stretches
}

/// The course in force at `t`: the one that started last.
fn winner(courses: &[Course], t: SimTime) -> &Course {
    courses.iter().rev().find(|c| c.holds_at(t)).expect("the base rate always holds")
}

/// Goes along a profile, stretch by stretch.
#[derive(Clone, Debug)]
pub struct Walk {
    stretches: Arc<[Stretch]>,
    cycle: Option<OnOff>,
    /// Where the next stretch begins, unless the last one went on for ever.
    at: Option<SimTime>,
    index: usize,
}

impl Iterator for Walk {
    type Item = Stretch;

    fn next(&mut self) -> Option<Stretch> {
        let from = self.at?;
        let stretch = self.stretches[self.index];
        let (on, turn) = match self.cycle {
            Some(cycle) if stretch.pace != Pace::Off => cycle.at(from),
            _ => (true, None),
        };
        let until = match (stretch.until, turn) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if until == stretch.until {
            self.index += 1;
        }
        self.at = until;
        let pace = match until {
            _ if !on => Pace::Off,
            Some(until) => stretch.pace_between(from, until),
            None => stretch.pace,
        };
        Some(Stretch { from, until, pace })
    }
}

impl OnOff {
    /// Whether it is on at `t`, and when that next changes, if ever in representable time.
    fn at(self, t: SimTime) -> (bool, Option<SimTime>) {
        let Some(period) = self.on.0.checked_add(self.off.0) else {
            return (t.0 < self.on.0, Some(SimTime(self.on.0)).filter(|turn| t < *turn));
        };
        let phase = t.0 % period;
        let on = phase < self.on.0;
        let left = if on { self.on.0 } else { period } - phase;
        (on, t.checked_add(Nanos(left)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rate(units: u64) -> Option<Rate> {
        Rate::new(units, Nanos(1))
    }

    /// The rate at `t` straight from the definition, by looking at every change each time.
    fn slow_rate(base: Option<Rate>, changes: &[Change], t: f64) -> f64 {
        let value = |rate: Option<Rate>| rate.map_or(0.0, Rate::per_nano);
        let last = (0..changes.len())
            .filter(|i| changes[*i].at().0 as f64 <= t)
            .filter(|i| match changes[*i] {
                Change::Burst { at, length, .. } => t < (at.0 + length.0) as f64,
                _ => true,
            })
            .max_by_key(|i| (changes[*i].at(), *i));
        let Some(last) = last else { return value(base) };
        match changes[last] {
            Change::Burst { rate, .. } | Change::Step { rate, .. } => value(rate),
            Change::Ramp { at, length, to } => {
                let start = at.0 as f64;
                let earlier: Vec<Change> = (0..changes.len())
                    .filter(|i| (changes[*i].at(), *i) < (at, last))
                    .map(|i| changes[i])
                    .collect();
                let way = (t - start) / length.0 as f64;
                let from = slow_rate(base, &earlier, start);
                if way < 1.0 { from + (value(to) - from) * way } else { value(to) }
            }
        }
    }

    fn change() -> impl Strategy<Value = Change> {
        (0u64..60, 0u64..40, 0u64..5, 0..3).prop_map(|(at, length, units, kind)| {
            let (at, length, rate) = (SimTime(at), Nanos(length), rate(units));
            match kind {
                0 => Change::Burst { at, length, rate },
                1 => Change::Step { at, rate },
                _ => Change::Ramp { at, length, to: rate },
            }
        })
    }

    fn cycle() -> impl Strategy<Value = Option<OnOff>> {
        prop::option::of((1u64..20, 0u64..20).prop_map(|(on, off)| OnOff { on: Nanos(on), off: Nanos(off) }))
    }

    proptest! {
        #[test]
        fn walking_meets_the_rates_of_the_definition(
            base in 0u64..5, changes in prop::collection::vec(change(), 0..8), cycle in cycle()
        ) {
            let profile = RateProfile::new(rate(base), &changes, cycle).expect("the cycle is on at times");
            let mut met = 0;
            let stretches = profile.walk().take_while(|s| s.from < SimTime(150)).map(|s| s.cut_at(SimTime(150)));
            for stretch in stretches {
                prop_assert_eq!(stretch.from, SimTime(met));
                met = stretch.until.expect("cut").0;
                for t in stretch.from.0..met {
                    let middle = t as f64 + 0.5;
                    let on = cycle.is_none_or(|c| t % (c.on.0 + c.off.0) < c.on.0);
                    let expected = if on { slow_rate(rate(base), &changes, middle) } else { 0.0 };
                    let got = match stretch.pace {
                        Pace::Off => 0.0,
                        Pace::Steady(rate) => rate.per_nano(),
                        Pace::Ramp { start, end } => {
                            start + (end - start) * (middle - stretch.from.0 as f64) / (met - stretch.from.0) as f64
                        }
                    };
                    prop_assert!((got - expected).abs() < 1e-9, "at {middle}: {got} is not {expected}");
                }
            }
            prop_assert_eq!(met, 150);
        }
    }

    #[test]
    fn a_burst_hands_back_to_the_rate_below_it() {
        let burst = Change::Burst { at: SimTime(10), length: Nanos(5), rate: rate(7) };
        let profile = RateProfile::new(rate(2), &[burst], None).expect("valid");
        let met: Vec<(u64, Pace)> = profile.walk().map(|s| (s.from.0, s.pace)).collect();
        let pace = |units| Pace::Steady(rate(units).expect("above 0"));
        assert_eq!(met, [(0, pace(2)), (10, pace(7)), (15, pace(2))]);
        assert_eq!(profile.expected_calls(SimTime(20)), 65.0);
    }

    #[test]
    fn ten_thousand_cycles_are_walked_and_never_kept() {
        let cycle = OnOff { on: Nanos(3), off: Nanos(1) };
        let profile = RateProfile::new(rate(1), &[], Some(cycle)).expect("valid");
        assert_eq!(profile.stretches.len(), 1);
        assert_eq!(profile.expected_calls(SimTime(40_000)), 30_000.0);
    }

    #[test]
    fn a_cycle_that_is_never_on_is_refused() {
        let cycle = OnOff { on: Nanos::ZERO, off: Nanos::SECOND };
        assert!(RateProfile::new(rate(1), &[], Some(cycle)).is_err());
    }

    #[test]
    fn a_profile_without_a_rate_ends_at_once() {
        let profile = RateProfile::new(None, &[], None).expect("valid");
        assert_eq!(profile.walk().count(), 1);
        assert_eq!(profile.expected_calls(SimTime(u64::MAX)), 0.0);
    }
}
