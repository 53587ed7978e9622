//! The average of a level that moves in straight lines and jumps.

use super::Level;
use crate::gauge::Reading;
use crate::time::SimTime;

/// The average level in units between two readings.
///
/// The level is linear between steps, so its integral is exact in the real numbers; it is a float, which costs a
/// few operations a step and is read for reports alone.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    level: f64,
    full: f64,
    gain: f64,
    price: f64,
    /// When the line no longer holds.
    until: Option<SimTime>,
    stepped: SimTime,
    from: SimTime,
    area: f64,
    /// Lowest and highest level since the last reading, in units as far as the price has changed since.
    low: f64,
    high: f64,
    /// The same in credits of the present price.
    low_credits: f64,
    high_credits: f64,
}

/// Most credits fit 63 bits, from which the conversion is one instruction.
#[inline(always)]
fn float(credits: i128) -> f64 {
    match i64::try_from(credits) {
        Ok(small) => small as f64,
        Err(_) => wide(credits),
    }
}

/// Set apart, or it would be worked out for small credits as well.
#[cold]
#[inline(never)]
fn wide(credits: i128) -> f64 {
    credits as f64
}

impl Meter {
    /// Begins at the start of the run with `level`.
    pub(super) fn new(level: Level) -> Meter {
        let zero = SimTime::ZERO;
        let mut meter = Meter {
            level: 0.0,
            full: 0.0,
            gain: 0.0,
            price: 1.0,
            until: None,
            stepped: zero,
            from: zero,
            area: 0.0,
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
            low_credits: f64::INFINITY,
            high_credits: f64::NEG_INFINITY,
        };
        meter.replace(level);
        meter
    }

    /// Goes on from `level`, in credits of another price perhaps.
    pub(super) fn replace(&mut self, level: Level) {
        (self.low, self.high) = self.extremes();
        self.price = level.price as f64;
        self.gain = level.gain as f64;
        self.full = float(level.full);
        self.level = float(level.credits);
        self.until = level.until;
        (self.low_credits, self.high_credits) = (self.level, f64::NEG_INFINITY);
    }

    /// Counts the time since the last step, at whose end `before` credits were left, of which `after` stay.
    #[inline]
    pub(super) fn step(&mut self, now: SimTime, before: i128, after: i128) {
        let length = now.since(self.stepped).0 as i64 as f64;
        let missing = self.full - self.level;
        let area = if self.gain * length < missing {
            (self.level + 0.5 * self.gain * length) * length
        } else if missing > 0.0 {
            self.full * length - 0.5 * missing * missing / self.gain
        } else {
            self.full * length
        };
        self.area += area / self.price;
        self.high_credits = self.high_credits.max(float(before));
        self.level = float(after);
        self.low_credits = self.low_credits.min(self.level);
        self.stepped = now;
    }

    /// Lowest and highest level since the last reading, in units.
    fn extremes(&self) -> (f64, f64) {
        (self.low.min(self.low_credits / self.price), self.high.max(self.high_credits / self.price))
    }

    /// Until when the time is counted.
    pub(super) fn stepped(&self) -> SimTime {
        self.stepped
    }

    /// Counts the time since the last step, over which the level rose to `level` with this area below it.
    pub(super) fn rise(&mut self, now: SimTime, area: f64, level: i128) {
        self.area += area / self.price;
        self.level = float(level);
        self.high_credits = self.high_credits.max(self.level);
        self.stepped = now;
    }

    /// The next instant at which the line no longer holds, if it comes by `now`.
    pub(super) fn jump(&self, now: SimTime) -> Option<SimTime> {
        self.until.filter(|at| *at <= now)
    }

    /// Reads the time since the last reading, up to which it was stepped, and starts anew.
    pub(super) fn read(&mut self, now: SimTime) -> Reading {
        let length = now.since(self.from).0 as f64;
        let last = self.level / self.price;
        let avg = if length == 0.0 { last } else { self.area / length };
        let (min, max) = self.extremes();
        (self.from, self.area, self.low, self.high) = (now, 0.0, last, last);
        (self.low_credits, self.high_credits) = (self.level, self.level);
        Reading { avg, min, max, last, area: 0 }
    }
}

/// A level that rises at once by `fill` at `next` and every period from then on, until it is full.
pub(super) struct Staircase {
    pub(super) level: f64,
    pub(super) fill: f64,
    pub(super) full: f64,
    /// Nanoseconds from the present to the next rise, and between rises.
    pub(super) next: f64,
    pub(super) period: f64,
}

impl Staircase {
    /// The area below it over the next `length` nanoseconds.
    pub(super) fn area(&self, length: f64) -> f64 {
        if length <= self.next {
            return self.level * length;
        }
        let rises = ((length - self.next) / self.period).floor() + 1.0;
        let rises = rises.min(((self.full - self.level) / self.fill).ceil().max(1.0));
        // Every rise but the last holds for a period: an arithmetic series.
        let between = rises - 1.0;
        let series = self.period * (between * self.level + self.fill * rises * between / 2.0);
        let last =
            (self.level + rises * self.fill).min(self.full) * (length - self.next - between * self.period);
        self.level * self.next + series + last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_of_a_staircase_is_the_sum_of_its_steps() {
        let stairs = Staircase { level: -3.0, fill: 2.0, full: 8.0, next: 5.0, period: 7.0 };
        let mut sum = 0.0;
        for nanos in 0..100u32 {
            assert_eq!(stairs.area(nanos.into()), sum, "{nanos}");
            let rises = if nanos < 5 { 0 } else { (nanos - 5) / 7 + 1 };
            sum += (-3.0 + 2.0 * f64::from(rises)).min(8.0);
        }
    }
}
