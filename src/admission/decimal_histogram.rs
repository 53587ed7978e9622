//! A histogram of whole numbers by their first two decimal digits.
//!
//! A quantile is interpolated within its bucket, so that it may be up to a tenth above the true one, and many equal
//! values have a median in the middle of their bucket. Source: Circonus, libcircllhist, whose quantiles Envoy's
//! adaptive concurrency takes.

/// Two digits give ninety buckets to each power of ten.
const TO_A_TEN: usize = 90;

/// Powers of ten up to that of the largest number.
const TENS: usize = 20;

/// Counts by the first two digits.
#[derive(Clone, Debug)]
pub struct DecimalHistogram {
    zeros: u64,
    buckets: Vec<u64>,
    count: u64,
    /// No bucket outside of these is used.
    used: std::ops::Range<usize>,
}

impl Default for DecimalHistogram {
    fn default() -> DecimalHistogram {
        DecimalHistogram { zeros: 0, buckets: vec![0; TO_A_TEN * TENS], count: 0, used: 0..0 }
    }
}

impl DecimalHistogram {
    /// How many numbers it holds.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// One more number.
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        if value == 0 {
            self.zeros += 1;
            return;
        }
        let tens = value.ilog10();
        let digits = (value as u128 * 10 / 10u128.pow(tens)) as usize;
        let bucket = tens as usize * TO_A_TEN + digits - 10;
        self.buckets[bucket] += 1;
        self.used = if self.used.is_empty() {
            bucket..bucket + 1
        } else {
            self.used.start.min(bucket)..self.used.end.max(bucket + 1)
        };
    }

    /// The number below which that share lies; 0 if there are none.
    pub fn quantile(&self, share: f64) -> f64 {
        let wanted = share * self.count as f64;
        let mut below = self.zeros;
        if self.used.is_empty() || (0 < self.zeros && wanted <= below as f64) {
            return 0.0;
        }
        for bucket in self.used.clone().filter(|bucket| 0 < self.buckets[*bucket]) {
            let upto = below + self.buckets[bucket];
            if wanted <= upto as f64 || bucket + 1 == self.used.end {
                let width = 10u128.pow((bucket / TO_A_TEN) as u32) as f64 / 10.0;
                let left = (bucket % TO_A_TEN + 10) as f64 * width;
                return left + (wanted - below as f64) / self.buckets[bucket] as f64 * width;
            }
            below = upto;
        }
        0.0
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.buckets[self.used.clone()].fill(0);
        (self.zeros, self.count, self.used) = (0, 0, 0..0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: ten of 123 and ten of 1,999 fill the buckets 120 to 130 and 1,900 to 2,000.
    #[test]
    fn quantiles_lie_within_the_bucket_of_their_first_two_digits() {
        let mut histogram = DecimalHistogram::default();
        (0..10).for_each(|_| histogram.add(123));
        assert_eq!(histogram.quantile(0.5), 125.0);
        (0..10).for_each(|_| histogram.add(1_999));
        assert_eq!(histogram.quantile(0.25), 125.0);
        assert_eq!(histogram.quantile(0.5), 130.0);
        assert_eq!(histogram.quantile(0.75), 1_950.0);
        assert_eq!(histogram.quantile(1.0), 2_000.0);
        histogram.clear();
        (0..4).for_each(|_| histogram.add(0));
        (0..4).for_each(|_| histogram.add(7));
        assert_eq!((histogram.quantile(0.5), histogram.quantile(1.0)), (0.0, 7.1));
        histogram.add(u64::MAX);
        assert_eq!(histogram.count(), 9);
    }
}
