//! Exact time-weighted averages of a value that changes in steps.
//!
//! The integral of a step function from *a* to *b* is v(b)·b − v(a)·a − Σ change·instant: each step is taken off at its
//! own instant, so one more or less costs an addition and the time of the last step need not be known. Sums wrap at
//! 2¹²⁸ in between, the integral itself can't: value and time have 64 bits each.

use crate::time::SimTime;

/// A value over time, between two readings: its integral, smallest, largest and last value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
    value: u64,
    min: u64,
    max: u64,
    from: SimTime,
    /// The first value times the first instant, and every change since times its instant.
    steps: u128,
}

/// Value times nanoseconds.
#[inline]
fn area(value: u64, time: SimTime) -> u128 {
    value as u128 * time.0 as u128
}

/// What a gauge says of the time between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Time-weighted average; the value itself when no time has passed.
    pub avg: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Value at the end.
    pub last: f64,
    /// Value times nanoseconds.
    pub area: u128,
}

impl Reading {
    /// A number that has grown to `count` since the start of the run.
    pub fn count(count: u64) -> Reading {
        let count = count as f64;
        Reading::of(count)
    }

    /// A number as it is at the end, of which nothing else is known.
    pub fn of(value: f64) -> Reading {
        Reading { avg: value, min: value, max: value, last: value, area: 0 }
    }
}

impl Gauge {
    /// A gauge that has stood at `value` since the start.
    pub fn new(value: u64) -> Gauge {
        Gauge { value, min: value, max: value, ..Gauge::default() }
    }

    /// A gauge that begins at `now`, and says nothing of the time before.
    pub fn beginning(now: SimTime, value: u64) -> Gauge {
        Gauge { from: now, steps: area(value, now), ..Gauge::new(value) }
    }

    /// The value now.
    #[inline]
    pub fn value(&self) -> u64 {
        self.value
    }

    /// Moves to `value`.
    #[inline]
    pub fn set(&mut self, now: SimTime, value: u64) {
        match value.checked_sub(self.value) {
            Some(by) => self.up(now, by),
            None => self.down(now, self.value - value),
        }
    }

    /// So much more.
    #[inline]
    pub fn up(&mut self, now: SimTime, by: u64) {
        self.steps = self.steps.wrapping_add(area(by, now));
        self.value += by;
        if self.max < self.value {
            self.max = self.value;
        }
    }

    /// So much less; a gauge never falls below zero.
    #[inline]
    pub fn down(&mut self, now: SimTime, by: u64) {
        assert!(by <= self.value, "more was given back than was taken");
        self.steps = self.steps.wrapping_sub(area(by, now));
        self.value -= by;
        if self.value < self.min {
            self.min = self.value;
        }
    }

    /// Reads the time since the last reading and starts anew from the present value.
    pub fn read(&mut self, now: SimTime) -> Reading {
        let area = area(self.value, now).wrapping_sub(self.steps);
        let length = (now - self.from).0;
        let value = self.value as f64;
        let avg = if length == 0 { value } else { area as f64 / length as f64 };
        let reading = Reading { avg, min: self.min as f64, max: self.max as f64, last: value, area };
        *self = Gauge::beginning(now, self.value);
        reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_average_weighs_each_value_with_its_time() {
        let mut gauge = Gauge::new(0);
        gauge.up(SimTime(10), 4); // 0 for 10
        gauge.down(SimTime(30), 1); // 4 for 20
        let reading = gauge.read(SimTime(40)); // 3 for 10
        assert_eq!(reading, Reading { avg: 110.0 / 40.0, min: 0.0, max: 4.0, last: 3.0, area: 110 });
        assert_eq!(gauge.read(SimTime(50)), Reading { avg: 3.0, min: 3.0, max: 3.0, last: 3.0, area: 30 });
    }

    #[test]
    fn the_largest_values_and_times_have_an_exact_area() {
        let end = SimTime(u64::MAX);
        let mut gauge = Gauge::beginning(SimTime(1), u64::MAX);
        gauge.down(SimTime(3), u64::MAX); // u64::MAX for 2
        gauge.set(SimTime(u64::MAX - 5), u64::MAX - 1);
        let area = gauge.read(end).area; // u64::MAX - 1 for 5
        assert_eq!(area, 2 * u64::MAX as u128 + 5 * (u64::MAX - 1) as u128);
        assert_eq!(
            gauge.read(end),
            Reading {
                avg: 1.8446744073709552e19,
                min: 1.8446744073709552e19,
                max: 1.8446744073709552e19,
                last: 1.8446744073709552e19,
                area: 0
            }
        );
    }

    proptest! {
        /// Against the definition: each value times how long it stood.
        #[test]
        fn the_area_is_the_sum_of_each_value_times_how_long_it_stood(
            steps in prop::collection::vec((0u64..1 << 40, 0u64..1 << 40), 1..50), first in 0u64..1 << 40
        ) {
            let (mut gauge, mut now, mut value) = (Gauge::beginning(SimTime(77), first), SimTime(77), first);
            let mut area = 0u128;
            let mut values = vec![first];
            for (after, next) in steps {
                area += value as u128 * after as u128;
                (now, value) = (SimTime(now.0 + after), next);
                gauge.set(now, value);
                values.push(value);
            }
            let reading = gauge.read(now);
            prop_assert_eq!(reading.area, area);
            prop_assert_eq!(reading.min, *values.iter().min().unwrap() as f64);
            prop_assert_eq!(reading.max, *values.iter().max().unwrap() as f64);
        }
    }
}
