//! Arrivals by chance.

use super::{Bounded, ramp_time};
use crate::math::neg_ln_share;
use crate::problem::Problem;
use crate::rng::Stream;
use crate::time::{Nanos, SimTime};
use crate::traffic::profile::{Pace, RateProfile};
use crate::traffic::{Known, Source};

/// Calls that come independently of each other: a Poisson process whose rate follows a profile.
///
/// One number is drawn per call. Within a stretch of constant rate the gap is −ln(u) / rate, rounded to the nearest
/// nanosecond with what is rounded away carried into the next gap, so that rates near 1/ns keep their mean. Where
/// the rate changes, what is left of −ln(u) is used up at the new rate.
#[derive(Clone, Debug)]
pub struct Poisson {
    stream: Stream,
    stretches: Bounded,
    /// The last call, or the start of the stretch.
    now: SimTime,
    /// How much later than `now` it really is, in nanoseconds.
    rounded_away: f64,
    until: SimTime,
    pace: PoissonPace,
}

#[derive(Clone, Copy, Debug)]
enum PoissonPace {
    Steady { mean_gap_ns: f64 },
    Ramp { from: SimTime, start: f64, slope: f64 },
    Off,
}

impl Poisson {
    /// Calls at the rate of `profile` from 0 to just before `duration`; `stream` is theirs alone.
    pub fn new(profile: &RateProfile, stream: Stream, duration: Nanos) -> Poisson {
        let stretches = Bounded { walk: profile.walk(), bound: SimTime(duration.0) };
        Poisson {
            stream,
            stretches,
            now: SimTime::ZERO,
            rounded_away: 0.0,
            until: SimTime::ZERO,
            pace: PoissonPace::Off,
        }
    }

    /// The next call's instant.
    #[inline]
    pub(in crate::traffic) fn next_time(&mut self) -> Option<SimTime> {
        let calls = neg_ln_share(self.stream.bits());
        if let PoissonPace::Steady { mean_gap_ns } = self.pace
            && let Some(at) = self.arrive_after(calls * mean_gap_ns + self.rounded_away)
        {
            return Some(at);
        }
        self.cross(calls)
    }

    /// Moves to the call `gap_ns` after the last, if that lies in the stretch.
    #[inline]
    fn arrive_after(&mut self, gap_ns: f64) -> Option<SimTime> {
        let gap = Nanos::from_f64(gap_ns);
        let at = self.now.saturating_add(gap);
        if self.until <= at {
            return None;
        }
        // Signed conversion is cheaper, and a gap below any bound is below 2^63.
        self.rounded_away = gap_ns - gap.0 as i64 as f64;
        self.now = at;
        Some(at)
    }

    /// Uses up `calls` over this stretch and those that follow.
    #[inline(never)]
    fn cross(&mut self, mut calls: f64) -> Option<SimTime> {
        loop {
            let left_ns = self.until.since(self.now).0 as f64 - self.rounded_away;
            match self.pace {
                PoissonPace::Off => {}
                PoissonPace::Steady { mean_gap_ns } => {
                    if let Some(at) = self.arrive_after(calls * mean_gap_ns + self.rounded_away) {
                        return Some(at);
                    }
                    calls -= left_ns / mean_gap_ns;
                }
                PoissonPace::Ramp { from, start, slope } => {
                    let rate = start + slope * (self.now.since(from).0 as f64 + self.rounded_away);
                    let gap = ramp_time(rate.max(0.0), slope, calls);
                    if let Some(at) = gap.and_then(|gap| self.arrive_after(gap + self.rounded_away)) {
                        return Some(at);
                    }
                    calls -= (rate + slope * left_ns / 2.0) * left_ns;
                }
            }
            // Below zero by what was rounded at the border.
            calls = calls.max(0.0);
            let (stretch, until) = self.stretches.next()?;
            (self.now, self.rounded_away, self.until) = (stretch.from, 0.0, until);
            self.pace = match stretch.pace {
                Pace::Off => PoissonPace::Off,
                Pace::Steady(rate) => {
                    PoissonPace::Steady { mean_gap_ns: rate.per().0 as f64 / rate.units() as f64 }
                }
                Pace::Ramp { start, end } => {
                    let slope = (end - start) / until.since(stretch.from).0 as f64;
                    PoissonPace::Ramp { from: stretch.from, start, slope }
                }
            };
        }
    }
}

impl Source for Poisson {
    #[inline]
    fn next(&mut self, _known: &mut Known) -> Result<Option<SimTime>, Problem> {
        Ok(self.next_time())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::profile::{Change, OnOff};
    use crate::units::{Rate, parse_rate};

    fn rate(text: &str) -> Rate {
        parse_rate(text).expect("a valid rate")
    }

    fn poisson(profile: &RateProfile, duration: Nanos, name: &str) -> Vec<SimTime> {
        let mut source = Poisson::new(profile, Stream::new(5, name), duration);
        std::iter::from_fn(|| source.next_time()).collect()
    }

    #[test]
    fn poisson_gaps_have_the_moments_of_the_exponential() {
        let times = poisson(&RateProfile::constant(rate("1k/s")), Nanos::secs(100), "gaps");
        let n = times.len() as f64;
        assert!((n - 100_000.0).abs() < 4.0 * 100_000f64.sqrt(), "{n} calls");
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]).0 as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / n;
        let square = gaps.iter().map(|gap| gap * gap).sum::<f64>() / n;
        // Mean 1 with variance 1; second moment 2 with variance 24 - 4.
        assert!((mean - 1.0).abs() < 4.0 / n.sqrt(), "mean {mean}");
        assert!((square - 2.0).abs() < 4.0 * (20.0 / n).sqrt(), "second moment {square}");
    }

    #[test]
    fn one_number_is_drawn_for_each_call() {
        let times = poisson(&RateProfile::constant(rate("1k/s")), Nanos::secs(10), "numbers");
        let mut stream = Stream::new(5, "numbers");
        let mut sum = 0.0;
        for at in times {
            sum += neg_ln_share(stream.bits()) * 1e6;
            assert!((at.0 as f64 - sum).abs() < 0.51, "{at} is not {sum} ns");
        }
    }

    #[test]
    fn a_rate_of_one_per_nanosecond_keeps_its_mean() {
        let n = poisson(&RateProfile::constant(rate("1G/s")), Nanos(400_000), "dense").len() as f64;
        assert!((n - 400_000.0).abs() < 4.0 * 400_000f64.sqrt(), "{n} calls");
    }

    #[test]
    fn poisson_counts_follow_the_profile_in_every_part() {
        let changes = [
            Change::Burst { at: SimTime(10_000_000_000), length: Nanos::secs(5), rate: Some(rate("4k/s")) },
            Change::Ramp { at: SimTime(20_000_000_000), length: Nanos::secs(10), to: None },
            Change::Ramp { at: SimTime(40_000_000_000), length: Nanos::secs(10), to: Some(rate("2k/s")) },
        ];
        let cycle = OnOff { on: Nanos::millis(1_700), off: Nanos::millis(300) };
        for cycle in [None, Some(cycle)] {
            let profile = RateProfile::new(Some(rate("1k/s")), &changes, cycle).expect("valid");
            let times = poisson(&profile, Nanos::secs(60), "parts");
            assert!(times.is_sorted());
            let mut before = 0.0;
            for end in [10, 15, 20, 25, 30, 40, 45, 50, 60].map(Nanos::secs) {
                let until = profile.expected_calls(SimTime(end.0));
                let met = times.iter().filter(|t| t.0 < end.0).count() as f64;
                let met_before = times.iter().filter(|t| (t.0 as f64) < before).count() as f64;
                let expected = until - profile.expected_calls(SimTime(before as u64));
                let got = met - met_before;
                assert!((got - expected).abs() <= 4.0 * expected.sqrt(), "until {end}: {got} of {expected}");
                before = end.0 as f64;
            }
        }
    }

    #[test]
    fn nothing_arrives_while_the_cycle_is_off() {
        let cycle = OnOff { on: Nanos(1_000), off: Nanos(1_000) };
        let profile = RateProfile::new(Some(rate("10M/s")), &[], Some(cycle)).expect("valid");
        let times = poisson(&profile, Nanos::millis(10), "cycle");
        assert!(times.iter().all(|t| t.0 % 2_000 < 1_000));
        assert!((times.len() as f64 - 50_000.0).abs() < 4.0 * 50_000f64.sqrt());
    }
}
