//! Distributions: how long, how many, drawn from one number by inversion.
//!
//! Every draw takes 64 uniform bits and gives the quantile of their share, so a stream moves on by one number per
//! draw whatever is drawn, and two runs that differ in a parameter stay in step. For every distribution the
//! quantile rises with the bits: all zeros give about the least value, all ones about the largest.
//! Values are nanoseconds or tokens; a distribution does not know which.

pub mod pick;

pub use pick::Pick;

use crate::math::{exp, gamma, gamma_of_bits, ln, neg_ln_share, normal_of_bits, normal_quantile, pow};
use crate::rng::share;
use crate::time::Nanos;
use std::sync::Arc;

/// A distribution of non-negative values.
#[derive(Clone, Debug, PartialEq)]
pub struct Dist {
    law: Law,
}

#[derive(Clone, Debug, PartialEq)]
enum Law {
    Constant(f64),
    Uniform { low: f64, width: f64 },
    Exponential { mean: f64 },
    Lognormal { median: f64, sigma: f64 },
    Gamma { shape: f64, scale: f64 },
    Weibull { inverse_shape: f64, scale: f64 },
    Pareto { shape: f64, minimum: f64 },
    Empirical(Arc<[f64]>),
}

/// Checks that `value`, called `name`, is a number and positive.
fn positive(name: &str, value: f64) -> Result<f64, String> {
    if value.is_finite() && value > 0.0 {
        return Ok(value);
    }
    Err(format!("the {name} is {value}: it must be a number above 0"))
}

/// Checks that `value`, called `name`, is a number and not negative.
fn not_negative(name: &str, value: f64) -> Result<f64, String> {
    if value.is_finite() && value >= 0.0 {
        return Ok(value);
    }
    Err(format!("the {name} is {value}: it must be 0 or a number above it"))
}

/// Checks that a `shape` lies where quantiles can be computed and mean something.
fn shape_within(shape: f64, low: f64, high: f64) -> Result<f64, String> {
    if (low..=high).contains(&shape) {
        return Ok(shape);
    }
    Err(format!("the shape is {shape}: it must lie between {low} and {high}"))
}

impl Dist {
    /// Always `value`.
    pub fn constant(value: f64) -> Result<Dist, String> {
        Dist::of(Law::Constant(not_negative("value", value)?))
    }

    /// Anything from `low` to below `high`, all equally likely; always `low` if they are equal.
    pub fn uniform(low: f64, high: f64) -> Result<Dist, String> {
        let (low, high) = (not_negative("low end", low)?, not_negative("high end", high)?);
        if high < low {
            return Err(format!("the high end {high} lies below the low end {low}: swap them"));
        }
        Dist::of(if low == high { Law::Constant(low) } else { Law::Uniform { low, width: high - low } })
    }

    /// Exponential: what is to come does not depend on what has passed.
    pub fn exponential(mean: f64) -> Result<Dist, String> {
        Dist::of(Law::Exponential { mean: positive("mean", mean)? })
    }

    /// Lognormal with half of all values below `median` and 99 of 100 below `p99`; constant if they are equal.
    pub fn lognormal(median: f64, p99: f64) -> Result<Dist, String> {
        let (median, p99) = (positive("median", median)?, positive("p99", p99)?);
        if p99 < median {
            return Err(format!("the p99 {p99} lies below the median {median}: it must not"));
        }
        Dist::lognormal_by(median, ln(p99 / median) / normal_quantile(0.99))
    }

    /// Lognormal by its mean and the deviation `sigma` of the values' logarithms.
    pub fn lognormal_by_mean(mean: f64, sigma: f64) -> Result<Dist, String> {
        let (mean, sigma) = (positive("mean", mean)?, not_negative("sigma", sigma)?);
        Dist::lognormal_by(mean * exp(-0.5 * sigma * sigma), sigma)
    }

    fn lognormal_by(median: f64, sigma: f64) -> Result<Dist, String> {
        Dist::of(if sigma == 0.0 { Law::Constant(median) } else { Law::Lognormal { median, sigma } })
    }

    /// Gamma; the standard deviation is the mean over the root of `shape`.
    pub fn gamma(shape: f64, mean: f64) -> Result<Dist, String> {
        let (shape, mean) = (shape_within(shape, 0.01, 10_000.0)?, positive("mean", mean)?);
        Dist::of(Law::Gamma { shape, scale: mean / shape })
    }

    /// Weibull by its mean. A shape below 1 has a heavier tail than the exponential, above 1 a lighter one.
    pub fn weibull(shape: f64, mean: f64) -> Result<Dist, String> {
        let (shape, mean) = (shape_within(shape, 0.1, 1_000.0)?, positive("mean", mean)?);
        Dist::weibull_by_scale(shape, mean / gamma(1.0 + 1.0 / shape))
    }

    /// Weibull by its scale, the value that a share of 1 − 1/e stays below.
    pub fn weibull_by_scale(shape: f64, scale: f64) -> Result<Dist, String> {
        let (shape, scale) = (shape_within(shape, 0.1, 1_000.0)?, positive("scale", scale)?);
        Dist::of(Law::Weibull { inverse_shape: 1.0 / shape, scale })
    }

    /// Pareto from `minimum` upwards. The mean is infinite if `shape` is 1 or less.
    pub fn pareto(shape: f64, minimum: f64) -> Result<Dist, String> {
        let (shape, minimum) = (shape_within(shape, 0.1, 1_000.0)?, positive("minimum", minimum)?);
        Dist::of(Law::Pareto { shape, minimum })
    }

    /// One of `values`, all equally likely.
    pub fn empirical(mut values: Vec<f64>) -> Result<Dist, String> {
        if values.is_empty() {
            return Err("there are no values to draw from: list at least one".into());
        }
        for value in &values {
            not_negative("value", *value)?;
        }
        values.sort_unstable_by(f64::total_cmp);
        Dist::of(if values[0] == values[values.len() - 1] {
            Law::Constant(values[0])
        } else {
            Law::Empirical(values.into())
        })
    }

    /// The distribution, if its largest value can be written down.
    fn of(law: Law) -> Result<Dist, String> {
        let dist = Dist { law };
        let largest = dist.max_value();
        if largest.is_finite() {
            return Ok(dist);
        }
        Err("its largest values exceed what a number can hold: make it less wide".into())
    }

    /// The quantile of the share that `bits` stand for: rises with `bits`, up to the last digits.
    #[inline]
    pub fn quantile(&self, bits: u64) -> f64 {
        match self.law {
            Law::Exponential { mean } => mean * neg_ln_share(!bits),
            _ => self.other_quantile(bits),
        }
    }

    #[inline(never)]
    fn other_quantile(&self, bits: u64) -> f64 {
        match &self.law {
            Law::Constant(value) => *value,
            Law::Uniform { low, width } => low + width * share(bits),
            Law::Exponential { mean } => mean * neg_ln_share(!bits),
            Law::Lognormal { median, sigma } => median * exp(sigma * normal_of_bits(bits)),
            Law::Gamma { shape, scale } => scale * gamma_of_bits(*shape, bits),
            Law::Weibull { inverse_shape, scale } => scale * pow(neg_ln_share(!bits), *inverse_shape),
            Law::Pareto { shape, minimum } => minimum * exp(neg_ln_share(!bits) / shape),
            Law::Empirical(values) => values[pick::scaled(bits, values.len() as u64) as usize],
        }
    }

    /// The quantile as a length, rounded to the nearest nanosecond.
    #[inline]
    pub fn nanos(&self, bits: u64) -> Nanos {
        Nanos::from_f64(self.quantile(bits))
    }

    /// The quantile as a count, rounded to the nearest; the largest count if it is larger.
    #[inline]
    pub fn count(&self, bits: u64) -> u32 {
        (self.quantile(bits) + 0.5) as u32
    }

    /// The mean; infinite for a Pareto distribution whose shape is 1 or less.
    pub fn mean(&self) -> f64 {
        match &self.law {
            Law::Constant(value) => *value,
            Law::Uniform { low, width } => low + width / 2.0,
            Law::Exponential { mean } => *mean,
            Law::Lognormal { median, sigma } => median * exp(0.5 * sigma * sigma),
            Law::Gamma { shape, scale } => shape * scale,
            Law::Weibull { inverse_shape, scale } => scale * gamma(1.0 + inverse_shape),
            Law::Pareto { shape, minimum } if *shape > 1.0 => minimum * shape / (shape - 1.0),
            Law::Pareto { .. } => f64::INFINITY,
            Law::Empirical(values) => values.iter().sum::<f64>() / values.len() as f64,
        }
    }

    /// The largest value that can be drawn.
    pub fn max_value(&self) -> f64 {
        self.quantile(u64::MAX)
    }

    /// Whether every draw gives the same value.
    pub fn is_constant(&self) -> bool {
        matches!(self.law, Law::Constant(_))
    }
}

#[cfg(test)]
#[allow(clippy::approx_constant, reason = "numbers stand as they were computed")]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use proptest::prelude::*;

    const WHOLE: f64 = 18_446_744_073_709_551_616.0;

    fn examples() -> Vec<Dist> {
        [
            Dist::constant(7.0),
            Dist::uniform(2.0, 10.0),
            Dist::exponential(5e8),
            Dist::lognormal(900.0, 6000.0),
            Dist::lognormal_by_mean(3.0, 0.4),
            Dist::gamma(0.5, 2.0),
            Dist::gamma(40.0, 1e6),
            Dist::weibull(0.7, 10.0),
            Dist::weibull_by_scale(3.0, 10.0),
            Dist::pareto(5.0, 100.0),
            Dist::empirical(vec![5.0, 1.0, 1.0, 9.0]),
        ]
        .map(|dist| dist.expect("a valid example"))
        .into()
    }

    #[test]
    fn means_of_many_draws_lie_within_four_standard_errors_of_the_closed_form() {
        let n = 20_000;
        for (i, dist) in examples().iter().enumerate() {
            let mut stream = Stream::new(1, &format!("dist/{i}"));
            let draws: Vec<f64> = (0..n).map(|_| dist.quantile(stream.bits())).collect();
            let mean = draws.iter().sum::<f64>() / n as f64;
            let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1) as f64;
            let bound = 4.0 * (variance / n as f64).sqrt();
            assert!((mean - dist.mean()).abs() <= bound, "{dist:?}: {mean} is not {}", dist.mean());
        }
    }

    #[test]
    fn variances_of_many_draws_are_those_of_the_closed_form() {
        // The fourth column is the kurtosis, which sets the standard error of a variance.
        let cases = [
            (Dist::uniform(2.0, 10.0), 64.0 / 12.0, 1.8),
            (Dist::exponential(3.0), 9.0, 9.0),
            (Dist::gamma(4.0, 2.0), 1.0, 4.5),
            (Dist::empirical(vec![0.0, 2.0]), 1.0, 1.0),
        ];
        let n = 50_000.0;
        for (dist, expected, kurtosis) in cases {
            let dist = dist.expect("a valid example");
            let mut stream = Stream::new(2, "dist/variance");
            let mean = dist.mean();
            let sum: f64 = (0..n as u32).map(|_| dist.quantile(stream.bits()) - mean).map(|d| d * d).sum();
            let bound = 4.0 * expected * (f64::max(kurtosis - 1.0, 0.01) / n).sqrt();
            assert!((sum / n - expected).abs() <= bound, "{dist:?}: {} is not {expected}", sum / n);
        }
    }

    #[test]
    fn quantiles_are_those_of_the_closed_forms() {
        // Computed with SciPy 1.17: uniform, expon, lognorm, weibull_min, pareto and gamma, method ppf.
        for (dist, share, expected) in QUANTILES {
            let got = dist().expect("a valid example").quantile((share * WHOLE) as u64);
            assert!((got / expected - 1.0).abs() < 1e-12, "{share}: {got} is not {expected}");
        }
    }

    /// How to make a distribution, a share, and the value that it stays below.
    type Quantile = (fn() -> Result<Dist, String>, f64, f64);

    const QUANTILES: [Quantile; 14] = [
        (|| Dist::uniform(2.0, 10.0), 0.125, 3.0),
        (|| Dist::exponential(3.0), 0.125, 0.4005941778735679),
        (|| Dist::lognormal_by_mean(3.0, 0.4), 0.125, 1.7480004532291251),
        (|| Dist::weibull_by_scale(0.7, 10.0), 0.125, 0.5634214768421059),
        (|| Dist::weibull(2.5, 10.0), 0.125, 5.037100082088807),
        (|| Dist::pareto(1.5, 100.0), 0.125, 109.31035330127938),
        (|| Dist::gamma(2.5, 10.0), 0.125, 3.616343387763602),
        (|| Dist::uniform(2.0, 10.0), 0.75, 8.0),
        (|| Dist::exponential(3.0), 0.75, 4.1588830833596715),
        (|| Dist::lognormal_by_mean(3.0, 0.4), 0.75, 3.627008445282666),
        (|| Dist::weibull_by_scale(0.7, 10.0), 0.75, 15.9459593427156),
        (|| Dist::weibull(2.5, 10.0), 0.75, 12.843678068281486),
        (|| Dist::pareto(1.5, 100.0), 0.75, 251.98420997897463),
        (|| Dist::gamma(2.5, 10.0), 0.75, 13.251359527658494),
    ];

    #[test]
    fn a_lognormal_has_the_median_and_the_p99_that_it_is_made_of() {
        let dist = Dist::lognormal(500e6, 1e9).expect("valid");
        assert!((dist.quantile(1 << 63) - 500e6).abs() < 1e-3);
        assert!((dist.quantile((0.99 * WHOLE) as u64) - 1e9).abs() < 1e-3);
    }

    #[test]
    fn parameters_that_make_no_sense_are_refused_in_words() {
        let refused = [
            Dist::constant(-1.0),
            Dist::constant(f64::NAN),
            Dist::uniform(3.0, 2.0),
            Dist::exponential(0.0),
            Dist::exponential(f64::INFINITY),
            Dist::lognormal(10.0, 9.0),
            Dist::lognormal(0.0, 9.0),
            Dist::lognormal_by_mean(1.0, -0.1),
            Dist::lognormal_by_mean(1.0, 1e3),
            Dist::gamma(0.0, 1.0),
            Dist::weibull(-1.0, 1.0),
            Dist::pareto(f64::NAN, 1.0),
            Dist::empirical(vec![]),
            Dist::empirical(vec![1.0, f64::NAN]),
        ];
        for (i, dist) in refused.into_iter().enumerate() {
            let message = dist.expect_err(&format!("case {i}"));
            assert!(message.contains(':') && !message.ends_with('.'), "{message}");
        }
    }

    #[test]
    fn distributions_of_one_value_are_constant() {
        for dist in [Dist::uniform(4.0, 4.0), Dist::lognormal(4.0, 4.0), Dist::empirical(vec![4.0; 3])] {
            let dist = dist.expect("valid");
            assert!(dist.is_constant());
            assert_eq!((dist.max_value(), dist.count(12_345)), (4.0, 4));
        }
    }

    #[test]
    fn counts_round_to_the_nearest_and_saturate() {
        assert_eq!(Dist::constant(2.5).expect("valid").count(0), 3);
        assert_eq!(Dist::constant(2.49).expect("valid").count(0), 2);
        assert_eq!(Dist::constant(1e18).expect("valid").count(0), u32::MAX);
    }

    proptest! {
        #[test]
        fn quantiles_rise_with_the_bits(a: u64, b: u64, which in 0usize..11) {
            let dist = &examples()[which];
            let (low, high) = (dist.quantile(a.min(b)), dist.quantile(a.max(b)));
            prop_assert!(low >= 0.0 && low <= high * (1.0 + 1e-11), "{dist:?}: {low} > {high}");
            prop_assert!(high <= dist.max_value() * (1.0 + 1e-11));
        }
    }
}
