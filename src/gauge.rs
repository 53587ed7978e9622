//! Exact time-weighted averages of a value that changes in steps.

use crate::time::SimTime;

/// A value over time, between two readings: its integral, smallest, largest and last value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
    value: u64,
    min: u64,
    max: u64,
    changed: SimTime,
    from: SimTime,
    area: u128,
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

impl Gauge {
    /// A gauge that has stood at `value` since the start.
    pub fn new(value: u64) -> Gauge {
        Gauge { value, min: value, max: value, ..Gauge::default() }
    }

    /// A gauge that begins at `now`, and says nothing of the time before.
    pub fn beginning(now: SimTime, value: u64) -> Gauge {
        Gauge { changed: now, from: now, ..Gauge::new(value) }
    }

    /// The value now.
    #[inline]
    pub fn value(&self) -> u64 {
        self.value
    }

    /// Counts the time up to `now` and moves to `value`.
    #[inline]
    pub fn set(&mut self, now: SimTime, value: u64) {
        self.area += self.value as u128 * (now.0 - self.changed.0) as u128;
        self.changed = now;
        self.value = value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// One more.
    #[inline]
    pub fn up(&mut self, now: SimTime, by: u64) {
        self.set(now, self.value + by);
    }

    /// One less; a gauge never falls below zero.
    #[inline]
    pub fn down(&mut self, now: SimTime, by: u64) {
        assert!(by <= self.value, "more was given back than was taken");
        self.set(now, self.value - by);
    }

    /// Reads the time since the last reading and starts anew from the present value.
    pub fn read(&mut self, now: SimTime) -> Reading {
        self.set(now, self.value);
        let length = (now - self.from).0;
        let value = self.value as f64;
        let avg = if length == 0 { value } else { self.area as f64 / length as f64 };
        let reading =
            Reading { avg, min: self.min as f64, max: self.max as f64, last: value, area: self.area };
        *self = Gauge::beginning(now, self.value);
        reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_weighs_each_value_with_its_time() {
        let mut gauge = Gauge::new(0);
        gauge.up(SimTime(10), 4); // 0 for 10
        gauge.down(SimTime(30), 1); // 4 for 20
        let reading = gauge.read(SimTime(40)); // 3 for 10
        assert_eq!(reading, Reading { avg: 110.0 / 40.0, min: 0.0, max: 4.0, last: 3.0, area: 110 });
        assert_eq!(gauge.read(SimTime(50)), Reading { avg: 3.0, min: 3.0, max: 3.0, last: 3.0, area: 30 });
    }
}
