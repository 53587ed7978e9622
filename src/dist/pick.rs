//! Picks: which of n tenants, users or features, from one number by inversion.
//!
//! The bits are compared with cumulative thresholds in units of 2^-64, so a pick is exact: no rounding moves a
//! call from one tenant to another between machines.

use crate::math::pow;
use std::sync::Arc;

/// Which of a fixed number of things, numbered from 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Pick {
    law: Law,
}

#[derive(Clone, Debug, PartialEq)]
enum Law {
    Fixed(u32),
    Uniform(u32),
    Table(Arc<Table>),
}

/// `bits` scaled to a whole number below `count`: the high half of the product.
#[inline]
pub(crate) fn scaled(bits: u64, count: u64) -> u64 {
    ((bits as u128 * count as u128) >> 64) as u64
}

impl Pick {
    /// The most things that a pick may choose from: ten million.
    pub const MOST: u32 = 10_000_000;

    /// Always number `which`.
    pub fn fixed(which: u32) -> Pick {
        Pick { law: Law::Fixed(which) }
    }

    /// One of `count`, all equally likely.
    pub fn uniform(count: u32) -> Result<Pick, String> {
        some(count)?;
        Ok(Pick { law: Law::Uniform(count) })
    }

    /// One of `count`, the k-th (from 1) with a chance in proportion to 1 / k^`exponent`.
    pub fn zipf(count: u32, exponent: f64) -> Result<Pick, String> {
        some(count)?;
        if !(0.0..=20.0).contains(&exponent) {
            return Err(format!("the exponent is {exponent}: it must lie between 0 and 20"));
        }
        let weights: Vec<f64> = (1..=count).map(|k| pow(k as f64, -exponent)).collect();
        Pick::weighted(&weights)
    }

    /// One of as many as there are `weights`, each with a chance in proportion to its weight.
    pub fn weighted(weights: &[f64]) -> Result<Pick, String> {
        some(u32::try_from(weights.len()).unwrap_or(u32::MAX))?;
        if let Some(bad) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
            return Err(format!("a share is {bad}: it must be 0 or a number above it"));
        }
        let total: f64 = weights.iter().sum();
        if !(total.is_finite() && total > 0.0) {
            return Err(format!("the shares sum to {total}: at least one must be above 0"));
        }
        Ok(Pick { law: Law::Table(Arc::new(Table::new(weights, total))) })
    }

    /// The number that `bits` stand for; rises with `bits`.
    #[inline]
    pub fn pick(&self, bits: u64) -> u32 {
        match &self.law {
            Law::Fixed(which) => *which,
            Law::Uniform(count) => scaled(bits, *count as u64) as u32,
            Law::Table(table) => table.pick(bits),
        }
    }

    /// One more than the largest number that can be picked.
    pub fn count(&self) -> u32 {
        match &self.law {
            Law::Fixed(which) => which.saturating_add(1),
            Law::Uniform(count) => *count,
            Law::Table(table) => table.thresholds.len() as u32 + 1,
        }
    }
}

/// Checks that there is something to pick from, and not too much of it.
fn some(count: u32) -> Result<(), String> {
    match count {
        0 => Err("there is nothing to pick from: the count must be at least 1".into()),
        n if n > Pick::MOST => Err(format!("{n} are too many to pick from: at most {}", Pick::MOST)),
        _ => Ok(()),
    }
}

/// Cumulative chances with a guide to where the search begins.
#[derive(Debug, PartialEq)]
struct Table {
    /// Number k is picked by bits from `thresholds[k - 1]` to below `thresholds[k]`; the last takes the rest.
    thresholds: Vec<u64>,
    /// For every value of the leading bits, the least number that they can lead to; one more entry ends the last.
    guide: Vec<u32>,
    /// How far bits are shifted to give their place in the guide.
    shift: u32,
}

impl Table {
    fn new(weights: &[f64], total: f64) -> Table {
        let mut sum = 0.0;
        let thresholds: Vec<u64> = weights[..weights.len() - 1]
            .iter()
            .map(|weight| {
                sum += weight;
                (sum / total * 18_446_744_073_709_551_616.0) as u64
            })
            .collect();
        // As many places as things: a search then looks at two thresholds on average.
        let leading = weights.len().next_power_of_two().ilog2().max(1);
        let shift = 64 - leading;
        let least = |place: u64| thresholds.partition_point(|t| *t <= place << shift) as u32;
        let mut guide: Vec<u32> = (0..1 << leading).map(least).collect();
        guide.push(thresholds.len() as u32);
        Table { thresholds, guide, shift }
    }

    fn pick(&self, bits: u64) -> u32 {
        // A threshold of 2^64 is kept as one less: no bits may reach it, or a share of 0 could be picked.
        let bits = bits.min(u64::MAX - 1);
        let place = (bits >> self.shift) as usize;
        let (low, high) = (self.guide[place], self.guide[place + 1]);
        low + self.thresholds[low as usize..high as usize].partition_point(|t| *t <= bits) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use proptest::prelude::*;

    fn counts(pick: &Pick, n: u32) -> Vec<u32> {
        let mut stream = Stream::new(3, "pick");
        let mut counts = vec![0; pick.count() as usize];
        for _ in 0..n {
            counts[pick.pick(stream.bits()) as usize] += 1;
        }
        counts
    }

    #[test]
    fn zipf_picks_follow_the_power_law_within_four_standard_errors() {
        let n = 100_000;
        // 1 + 1/2 + 1/3 + 1/4 + 1/5 = 137/60.
        let counts = counts(&Pick::zipf(5, 1.0).expect("valid"), n);
        for (k, count) in counts.iter().enumerate() {
            let chance = 60.0 / 137.0 / (k + 1) as f64;
            let error = (n as f64 * chance * (1.0 - chance)).sqrt();
            assert!((*count as f64 - n as f64 * chance).abs() < 4.0 * error, "{k}: {count}");
        }
    }

    #[test]
    fn thresholds_are_exact_where_the_shares_are() {
        let pick = Pick::weighted(&[1.0, 0.0, 2.0, 1.0]).expect("valid");
        let quarter = 1u64 << 62;
        for (bits, which) in
            [(0, 0), (quarter - 1, 0), (quarter, 2), (3 * quarter - 1, 2), (3 * quarter, 3), (u64::MAX, 3)]
        {
            assert_eq!(pick.pick(bits), which, "{bits:#x}");
        }
        assert_eq!(Pick::weighted(&[1.0, 0.0]).expect("valid").pick(u64::MAX), 0);
    }

    #[test]
    fn uniform_picks_split_the_bits_evenly() {
        let pick = Pick::uniform(3).expect("valid");
        assert_eq!(pick.pick(u64::MAX / 3), 0);
        assert_eq!(pick.pick(u64::MAX / 3 + 1), 1);
        assert_eq!(pick.pick(u64::MAX), 2);
    }

    #[test]
    fn nothing_to_pick_from_is_refused() {
        assert!(Pick::uniform(0).is_err());
        assert!(Pick::zipf(0, 1.0).is_err());
        assert!(Pick::zipf(5, -1.0).is_err());
        assert!(Pick::weighted(&[0.0, 0.0]).is_err());
        assert!(Pick::weighted(&[1.0, f64::NAN]).is_err());
        assert!(Pick::uniform(Pick::MOST + 1).is_err());
    }

    proptest! {
        #[test]
        fn the_guide_changes_no_pick(weights in prop::collection::vec(0.0..10.0, 1..40), bits: u64) {
            prop_assume!(weights.iter().sum::<f64>() > 0.0);
            let total: f64 = weights.iter().sum();
            let table = Table::new(&weights, total);
            for bits in [bits, bits >> 20, !0, 0] {
                let plain = table.thresholds.iter().filter(|t| **t <= bits.min(!1)).count() as u32;
                prop_assert_eq!(table.pick(bits), plain);
            }
        }
    }
}
