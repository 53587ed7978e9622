//! A moving average that begins with a plain mean.
//!
//! The first few values are averaged as they are; then value ← value · (1 − f) + new · f with f = 2 / (window + 1).
//! Source: Netflix concurrency-limits, `ExpAvgMeasurement.java`; failsafe-go, `internal/util/ewma.go`.

/// The average so far.
#[derive(Clone, Debug)]
pub struct MovingAverage {
    factor: f64,
    warm_up: u32,
    count: u32,
    sum: f64,
    value: f64,
}

impl MovingAverage {
    /// An average over about `window` values that begins with the mean of `warm_up`.
    pub fn new(window: u64, warm_up: u32) -> MovingAverage {
        MovingAverage { factor: 2.0 / (window as f64 + 1.0), warm_up, count: 0, sum: 0.0, value: 0.0 }
    }

    /// One more value; answers the average with it.
    pub fn add(&mut self, new: f64) -> f64 {
        if self.count < self.warm_up {
            self.count += 1;
            self.sum += new;
            self.value = self.sum / self.count as f64;
        } else {
            self.value = self.value * (1.0 - self.factor) + new * self.factor;
        }
        self.value
    }

    /// Multiplies the average; while it is still a plain mean, only until the next value.
    pub fn scale(&mut self, by: f64) {
        self.value *= by;
    }

    /// The average; 0 before the first value.
    pub fn value(&self) -> f64 {
        self.value
    }
}
