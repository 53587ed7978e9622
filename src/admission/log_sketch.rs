//! Quantiles of times, to within a hundredth, in a fixed amount of memory.
//!
//! Values are counted in 128 buckets to each power of two; a quantile is the middle of the bucket in which it lies, so
//! it is at most 1/256 off. It stands for the t-digest of Failsafe-go.

/// Buckets to a power of two.
const TO_A_TWO: usize = 128;

/// Counts of values.
#[derive(Clone, Debug)]
pub struct LogSketch {
    buckets: Vec<u32>,
    count: u64,
    /// No bucket outside of these is used.
    used: std::ops::Range<usize>,
}

impl Default for LogSketch {
    fn default() -> LogSketch {
        LogSketch { buckets: vec![0; TO_A_TWO * 58], count: 0, used: 0..0 }
    }
}

/// Below this each value has a bucket of its own.
fn bucket(value: u64) -> usize {
    if value < TO_A_TWO as u64 {
        return value as usize;
    }
    let shift = value.ilog2() - TO_A_TWO.ilog2();
    (shift as usize + 1) * TO_A_TWO + (value >> shift) as usize - TO_A_TWO
}

/// The middle of a bucket.
fn middle(bucket: usize) -> f64 {
    if bucket < TO_A_TWO {
        return bucket as f64;
    }
    let shift = bucket / TO_A_TWO - 1;
    let (low, width) = ((bucket % TO_A_TWO + TO_A_TWO) as u128, 1u128 << shift);
    (low * width) as f64 + (width - 1) as f64 / 2.0
}

impl LogSketch {
    /// How many values it holds.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// One more value.
    pub fn add(&mut self, value: u64) {
        let bucket = bucket(value);
        self.buckets[bucket] = self.buckets[bucket].saturating_add(1);
        self.count += 1;
        self.used = if self.used.is_empty() {
            bucket..bucket + 1
        } else {
            self.used.start.min(bucket)..self.used.end.max(bucket + 1)
        };
    }

    /// The value of rank ⌈share · count⌉, the first having rank 1; 0 if there is none.
    pub fn quantile(&self, share: f64) -> f64 {
        let rank = ((share * self.count as f64).ceil() as u64).max(1);
        let mut upto = 0;
        for bucket in self.used.clone() {
            upto += u64::from(self.buckets[bucket]);
            if rank <= upto {
                return middle(bucket);
            }
        }
        0.0
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.buckets[self.used.clone()].fill(0);
        (self.count, self.used) = (0, 0..0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against sorting.
        #[test]
        fn quantiles_are_those_of_the_sorted_values(
            mut values in prop::collection::vec((any::<u64>(), 0u32..64).prop_map(|(bits, by)| bits >> by), 1..200),
            share in 0.01f64..1.0
        ) {
            let mut sketch = LogSketch::default();
            sketch.add(3);
            sketch.clear();
            values.iter().for_each(|value| sketch.add(*value));
            values.sort_unstable();
            let rank = ((share * values.len() as f64).ceil() as usize).max(1);
            let (got, expected) = (sketch.quantile(share), values[rank - 1] as f64);
            prop_assert!((got - expected).abs() <= expected / 256.0, "{got} is not {expected}");
        }
    }
}
