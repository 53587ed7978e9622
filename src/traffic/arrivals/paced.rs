//! Arrivals by the clock.

use super::{Bounded, ramp_time};
use crate::problem::Problem;
use crate::time::{Nanos, SimTime};
use crate::traffic::profile::{Pace, RateProfile};
use crate::traffic::{Known, Source};
use crate::units::Rate;

/// Calls at equal gaps while the rate is constant.
///
/// Call k, from 0, arrives at the last instant at which the integral of the rate is still k, rounded down to the
/// nanosecond: the first call at the start, or when the rate first is above zero, and one that would fall on the very
/// beginning of a pause after it. While the rate is p per q nanoseconds, call k arrives after ⌊k·q/p⌋, without
/// drift. Where the rate changes, the part of a call that is still to come is carried over; it is rounded down to
/// a multiple of 1/q of the new rate, which moves a call by less than a nanosecond.
#[derive(Clone, Debug)]
pub struct Paced {
    stretches: Bounded,
    /// The last call.
    now: SimTime,
    until: SimTime,
    pace: PacedPace,
}

#[derive(Clone, Copy, Debug)]
enum PacedPace {
    /// The next call comes `rest` / `units` nanoseconds after `at`.
    Steady { at: u128, rest: u64, rate: Rate, gap: PacedGap },
    /// The next call comes `calls` after `from`, where the rate is `rate`.
    Ramp { from: SimTime, rate: f64, slope: f64, calls: f64 },
    /// Nothing comes; this much of a call is still missing.
    Off { missing: Missing },
    /// No call comes any more.
    Over,
}

/// The gap between two calls at a constant rate: `whole` + `rest` / units nanoseconds.
#[derive(Clone, Copy, Debug)]
struct PacedGap {
    whole: u64,
    rest: u64,
}

/// The part of a call that is still to come at the start of a stretch.
#[derive(Clone, Copy, Debug)]
enum Missing {
    /// So many of so many parts.
    Exact(u128, u64),
    /// A share.
    Float(f64),
}

impl Missing {
    /// In parts of `per`, rounded down.
    fn of(self, per: u64) -> u64 {
        match self {
            Missing::Exact(part, whole) if whole == per => part as u64,
            Missing::Exact(part, whole) => (part * per as u128 / whole as u128) as u64,
            Missing::Float(share) => (share * per as f64) as u64,
        }
    }

    fn share(self) -> f64 {
        match self {
            Missing::Exact(part, whole) => part as f64 / whole as f64,
            Missing::Float(share) => share,
        }
    }
}

impl Paced {
    /// Calls at the rate of `profile` from 0 to just before `duration`.
    pub fn new(profile: &RateProfile, duration: Nanos) -> Paced {
        Paced {
            stretches: Bounded { walk: profile.walk(), bound: SimTime(duration.0) },
            now: SimTime::ZERO,
            until: SimTime::ZERO,
            pace: PacedPace::Off { missing: Missing::Exact(0, 1) },
        }
    }

    /// What is missing when the current stretch ends.
    fn missing(&self) -> Missing {
        match self.pace {
            PacedPace::Steady { at, rest, rate, .. } => {
                let past = at - self.until.0 as u128;
                Missing::Exact(past * rate.units() as u128 + rest as u128, rate.per().0)
            }
            PacedPace::Ramp { from, rate, slope, calls } => {
                let length = self.until.since(from).0 as f64;
                Missing::Float((calls - (rate + slope * length / 2.0) * length).clamp(0.0, 1.0))
            }
            PacedPace::Off { missing } => missing,
            PacedPace::Over => Missing::Float(1.0),
        }
    }

    /// Goes on to the next stretch, which takes over what is missing.
    fn cross(&mut self) {
        let missing = self.missing();
        let Some((stretch, until)) = self.stretches.next() else {
            self.pace = PacedPace::Over;
            return;
        };
        self.until = until;
        let from = stretch.from;
        self.pace = match stretch.pace {
            Pace::Off => PacedPace::Off { missing },
            Pace::Steady(rate) => {
                let (units, per) = (rate.units(), rate.per().0);
                let left = missing.of(per);
                PacedPace::Steady {
                    at: from.0 as u128 + (left / units) as u128,
                    rest: left % units,
                    rate,
                    gap: PacedGap { whole: per / units, rest: per % units },
                }
            }
            Pace::Ramp { start, end } => {
                let slope = (end - start) / until.since(from).0 as f64;
                PacedPace::Ramp { from, rate: start, slope, calls: missing.share() }
            }
        };
    }

    fn next_time(&mut self) -> Option<SimTime> {
        loop {
            match &mut self.pace {
                PacedPace::Steady { at, rest, rate, gap } if *at < self.until.0 as u128 => {
                    self.now = SimTime(*at as u64);
                    let parts = *rest as u128 + gap.rest as u128;
                    let carry = (rate.units() as u128) <= parts;
                    *at += gap.whole as u128 + carry as u128;
                    *rest = (parts - if carry { rate.units() as u128 } else { 0 }) as u64;
                    return Some(self.now);
                }
                PacedPace::Ramp { from, rate, slope, calls } => {
                    let after = ramp_time(*rate, *slope, *calls);
                    let at = after.map(|ns| from.saturating_add(Nanos(ns as u64)).max(self.now));
                    if let Some(at) = at.filter(|at| *at < self.until) {
                        *calls += 1.0;
                        self.now = at;
                        return Some(at);
                    }
                }
                PacedPace::Over => return None,
                _ => {}
            }
            self.cross();
        }
    }
}

impl Source for Paced {
    fn next(&mut self, _known: &mut Known) -> Result<Option<SimTime>, Problem> {
        Ok(self.next_time())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::profile::{Change, OnOff};
    use crate::units::parse_rate;
    use proptest::prelude::*;

    fn rate(text: &str) -> Rate {
        parse_rate(text).expect("a valid rate")
    }

    fn paced(profile: &RateProfile, duration: Nanos) -> Vec<SimTime> {
        let mut source = Paced::new(profile, duration);
        std::iter::from_fn(|| source.next_time()).collect()
    }

    #[test]
    fn three_a_second_for_a_million_seconds_are_three_million_calls() {
        let mut source = Paced::new(&RateProfile::constant(rate("3/s")), Nanos::secs(1_000_000));
        let mut count = 0u64;
        while let Some(at) = source.next_time() {
            assert_eq!(at.0, count * 1_000_000_000 / 3);
            count += 1;
        }
        assert_eq!(count, 3_000_000);
    }

    proptest! {
        #[test]
        fn a_paced_call_is_never_off_by_a_nanosecond(units in 1u64..1_000_000, per in 1u64..=1 << 62, ns in 1u64..) {
            let rate = Rate::new(units, Nanos(per)).expect("above 0");
            let times: Vec<SimTime> = {
                let mut source = Paced::new(&RateProfile::constant(rate), Nanos(ns));
                std::iter::from_fn(|| source.next_time()).take(1_000).collect()
            };
            for (k, at) in times.iter().enumerate() {
                prop_assert_eq!(at.0 as u128, k as u128 * per as u128 / units as u128);
            }
            let next = times.len() as u128 * per as u128 / units as u128;
            prop_assert!(times.len() == 1_000 || ns as u128 <= next, "a call at {next} is missing");
        }

        #[test]
        fn paced_calls_are_as_many_as_the_profile_promises(
            rates in prop::collection::vec((0u64..50, 0u64..400, 0u8..3), 1..6),
            cycle in prop::option::of((1u64..300, 1u64..300)),
        ) {
            let changes: Vec<Change> = rates.iter().enumerate().map(|(i, (units, length, kind))| {
                let rate = Rate::new(*units, Nanos(100_000));
                let (at, length) = (SimTime(200_000 * i as u64), Nanos(1_000 * length));
                match kind {
                    0 => Change::Step { at, rate },
                    1 => Change::Burst { at, length, rate },
                    _ => Change::Ramp { at, length, to: rate },
                }
            }).collect();
            let cycle = cycle.map(|(on, off)| OnOff { on: Nanos(1_000 * on), off: Nanos(1_000 * off) });
            let profile = RateProfile::new(Rate::new(1, Nanos(7_000)), &changes, cycle).expect("on at times");
            let times = paced(&profile, Nanos(1_500_000));
            prop_assert!(times.is_sorted());
            for t in [100_000, 333_333, 800_000, 1_500_000] {
                let met = times.iter().filter(|at| at.0 < t).count() as f64;
                let expected = profile.expected_calls(SimTime(t));
                // The call at 0 comes first, so the count runs ahead of the integral by at most one; each turn of
                // the rate may round away 1/7000 of a call.
                prop_assert!(expected - 1e-6 <= met && met <= expected + 1.01, "{t}: {met} of {expected}");
            }
        }
    }

    #[test]
    fn a_pause_postpones_the_call_that_would_fall_on_its_beginning() {
        let cycle = OnOff { on: Nanos(10), off: Nanos(90) };
        let profile = RateProfile::new(Rate::new(1, Nanos(5)), &[], Some(cycle)).expect("valid");
        let times: Vec<u64> = paced(&profile, Nanos(210)).iter().map(|t| t.0).collect();
        assert_eq!(times, [0, 5, 100, 105, 200, 205]);
    }

    #[test]
    fn paced_calls_on_a_ramp_come_where_the_parabola_says() {
        // From 0 to 200/s over 1 s: the integral is 100 t², so call k comes at √k / 10 seconds.
        let ramp = Change::Ramp { at: SimTime::ZERO, length: Nanos::SECOND, to: Some(rate("200/s")) };
        let profile = RateProfile::new(None, &[ramp], None).expect("valid");
        let times = paced(&profile, Nanos::SECOND);
        assert_eq!(times.len(), 100);
        for (k, at) in times.iter().enumerate() {
            let expected = (k as f64).sqrt() * 1e8;
            assert!((at.0 as f64 - expected).abs() <= 1.0, "call {k} at {at}");
        }
    }
}
