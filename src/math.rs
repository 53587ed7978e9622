//! Logarithms, exponentials and quantiles with the same bits on every machine.
//!
//! The platform's floating-point functions differ in their last digits, so none is used. What the draws of a run
//! need most, [`neg_ln_share`] and [`exp`], is a small table and operations that IEEE 754 rounds exactly; the rest
//! goes through the `libm` crate, which is such operations too, only slower. Square roots are exact by the
//! standard and need no help.

#![allow(
    clippy::excessive_precision,
    clippy::approx_constant,
    reason = "numbers stand as they were published or computed"
)]

mod gamma;
mod normal;

pub use gamma::gamma_of_bits;
pub use normal::{normal_of_bits, normal_quantile};

/// The natural logarithm.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// e to the power `x`, to within one unit in the last place.
///
/// x = (128·n + i) · ln 2/128 + r with |r| below 0.0028: the answer is 2^n · 2^(i/128) · e^r, the first exact,
/// the second from a table, the third a short series.
#[inline]
pub fn exp(x: f64) -> f64 {
    // Outside, and for NaN, the exponent below would not be that of a normal number.
    if !(-700.0..700.0).contains(&x) {
        return libm::exp(x);
    }
    // Moved to the positive side, truncation is rounding to the nearest.
    let steps = (x * (128.0 / std::f64::consts::LN_2) + (STEPS_OFFSET as f64 + 0.5)) as i64 - STEPS_OFFSET;
    let r = (x - steps as f64 * LN_2_128TH) - steps as f64 * LN_2_128TH_REST;
    let square = r * r;
    let more = r + square * (0.5 + r * (1.0 / 6.0) + square * (1.0 / 24.0 + r * (1.0 / 120.0)));
    let root = ROOTS[steps as usize % ROOTS.len()];
    let scale = f64::from_bits((((steps >> 7) + 1023) as u64) << 52);
    (root + root * more) * scale
}

/// A multiple of 128 above 700 · 128 / ln 2.
const STEPS_OFFSET: i64 = 1 << 17;

/// ln 2 / 128 cut to 34 bits, so that its products with step numbers are exact.
const LN_2_128TH: f64 = f64::from_bits(std::f64::consts::LN_2.to_bits() >> 19 << 19) / 128.0;

/// What was cut off, and the 2.3e-17 by which the nearest float is short of ln 2.
const LN_2_128TH_REST: f64 = LN_2_REST / 128.0;
const LN_2_REST: f64 = std::f64::consts::LN_2 - LN_2_128TH * 128.0 + 2.319_046_813_846_299_6e-17;

/// 2^(i/128) for i from 0 to 127.
static ROOTS: [f64; 128] = roots();

/// e^(i/128 · ln 2) by its series, in units of 2^-60.
const fn roots() -> [f64; 128] {
    const LN_2: u128 = 799_144_290_325_165_979;
    let mut roots = [0.0; 128];
    let mut i = 0;
    while i < 128 {
        let mut term = 1 << 60;
        let mut sum = 0;
        let mut n = 1;
        while term > 0 {
            sum += term;
            term = (term * LN_2 * i as u128 / 128 / n) >> 60;
            n += 1;
        }
        roots[i] = sum as f64 / (1u64 << 60) as f64;
        i += 1;
    }
    roots
}

/// `base` to the power `exponent`.
pub fn pow(base: f64, exponent: f64) -> f64 {
    libm::pow(base, exponent)
}

/// The gamma function Γ(x), which is (x − 1)! on whole numbers.
pub fn gamma(x: f64) -> f64 {
    libm::tgamma(x)
}

/// ln Γ(x) for positive `x`.
fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// Uniform bits as a share in (0, 1): the middle of one of 2^52 cells of equal size, (2k + 1) / 2^53, exactly.
///
/// Complementary bits give complementary shares.
#[inline]
pub fn share_of(bits: u64) -> f64 {
    f64::from_bits(bits >> 12 | ONE) - (1.0 - 1.0 / 9_007_199_254_740_992.0)
}

/// The bits of 1.0.
const ONE: u64 = 1023 << 52;

/// −ln of the [share](share_of) of uniform bits: an exponential variate of mean 1.
///
/// The answer lies between 2^-53 and 36.8. It falls while `bits` rises, except that its last digit may waver at the
/// edge of a cell of the table. Its relative error is below 2^-52.
///
/// With the share as 2^-octave · f and c the upper edge of the cell of [1/2, 1] in which f lies, x = 1 − f/c is at
/// most 2^-7, and −ln share = octave · ln 2 − ln c + x + x²/2 + x³/3 + … The terms are all positive: nothing
/// cancels, and near 1, where c = 1, even the relative error stays small.
#[inline]
pub fn neg_ln_share(bits: u64) -> f64 {
    // Octave and cell are read off the float: counting leading zeros makes common processors wait for whatever
    // last stood in the register that takes the count.
    let share = share_of(bits).to_bits();
    let octave = 1022 - (share >> 52) as i64;
    let cell = &CELLS[(share >> CELL_BITS) as usize % CELLS.len()];
    let below_edge = CELL_SIZE - share % CELL_SIZE;
    let x = below_edge as i64 as f64 * cell.inverse;
    let square = x * x;
    // The series after its first term, divided by x², in the order of Estrin: pairs do not wait for each other.
    let tail =
        (0.5 + x * (1.0 / 3.0)) + square * ((0.25 + x * 0.2) + square * ((1.0 / 6.0) + x * (1.0 / 7.0)));
    (octave as f64 * std::f64::consts::LN_2 + cell.neg_ln) + (x + square * tail)
}

/// A cell of [1/2, 1], known by its upper edge c.
struct Cell {
    /// 2^-53 / c: turns a distance in units of 2^-53 into a share of c.
    inverse: f64,
    /// −ln c.
    neg_ln: f64,
}

/// Bits of a mantissa below those that choose the cell.
const CELL_BITS: u32 = 45;
const CELL_SIZE: u64 = 1 << CELL_BITS;

static CELLS: [Cell; 128] = cells();

const fn cells() -> [Cell; 128] {
    const EMPTY: Cell = Cell { inverse: 0.0, neg_ln: 0.0 };
    let mut cells = [EMPTY; 128];
    let mut i = 0;
    while i < 128 {
        let edge = 129 + i as u128;
        let inverse = 256.0 / edge as f64 / 9_007_199_254_740_992.0;
        cells[i] = Cell { inverse, neg_ln: neg_ln_of_256ths(edge) };
        i += 1;
    }
    cells
}

/// −ln(n/256), rounded once: 2·(z + z³/3 + z⁵/5 + …) with z = (256 − n)/(256 + n), in units of 2^-110.
const fn neg_ln_of_256ths(n: u128) -> f64 {
    let (over, under) = (256 - n, 256 + n);
    let mut power = (over << 110) / under;
    let mut sum = 0;
    let mut odd = 1;
    while power > 0 {
        sum += power / odd;
        power = power * (over * over) / (under * under);
        odd += 2;
    }
    sum as f64 / (1u128 << 109) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// −ln of (2·⌊bits / 2^12⌋ + 1) / 2^53, computed with mpmath 1.3 at 50 digits.
    const NEG_LN: [(u64, f64); 15] = [
        (0x0000_0000_0000_0000, 36.736800569677101399),
        (0x0000_0000_0000_1fff, 35.638188281008991708),
        (0x7fff_ffff_ffff_ffff, 0.69314718055994553146),
        (0x8000_0000_0000_0000, 0.69314718055994508737),
        (0xffff_ffff_ffff_ffff, 1.1102230246251566021e-16),
        (0xff00_0000_0000_0000, 0.0039138993211362176346),
        (0xfeff_ffff_ffff_ffff, 0.00391389932113644055),
        (0x0123_4567_89ab_cdef, 5.4161004022044386727),
        (0xdead_beef_cafe_babe, 0.13944754289916742253),
        (0x5555_5555_5555_5555, 1.0986122886681095804),
        (0x0000_0001_0000_0000, 22.180709301081205385),
        (0xc000_0000_0000_0000, 0.28768207245178077941),
        (0xf2a7_4de4_52e6_b438, 0.053542811611197119051),
        (0x6513_270e_269e_0d37, 0.92931646238275632811),
        (0x0c5c_7fd0_a6a3_a450, 3.0306047730545508898),
    ];

    #[test]
    fn logarithms_of_shares_agree_with_fifty_digits() {
        for (bits, expected) in NEG_LN {
            let got = neg_ln_share(bits);
            let bound = f64::EPSILON * expected;
            assert!((got - expected).abs() <= bound, "{bits:#x}: {got} is not {expected}");
        }
    }

    #[test]
    fn logarithms_fall_while_shares_rise() {
        // Within a cell every operation is monotone; so it is enough to look at the edges of all cells.
        for octave in 0..46 {
            for cell in 0..128 {
                let first = (128 + cell) << 56 >> octave;
                let (above, below) = (neg_ln_share(first), neg_ln_share(first - (1 << 12)));
                assert!(above <= below * (1.0 + f64::EPSILON), "cell {cell} of octave {octave}");
            }
        }
    }

    /// e^x, computed with mpmath 1.3 at 50 digits.
    const EXP: [(f64, f64); 12] = [
        (1.0, 2.7182818284590452354),
        (-1.0, 0.3678794411714423216),
        (0.5, 1.6487212707001281468),
        (0.0027, 1.0027036482827155339),
        (-0.0028, 0.9972039163438929665),
        (10.5, 36315.502674246637739),
        (-10.5, 0.000027536449349747157857),
        (0.34657359, 1.414213561977153905),
        (100.0, 2.6881171418161354484e+43),
        (-100.0, 3.720075976020835963e-44),
        (699.0, 3.7311512151407716017e+303),
        (-699.0, 2.6801379583386069457e-304),
    ];

    #[test]
    fn exponentials_agree_with_fifty_digits() {
        for (x, expected) in EXP {
            let got = exp(x);
            assert!((got / expected - 1.0).abs() <= f64::EPSILON, "{x}: {got} is not {expected}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(1e4), f64::INFINITY);
        assert_eq!(exp(-1e4), 0.0);
        assert!(exp(f64::NAN).is_nan());
    }

    #[test]
    fn ln_gamma_is_that_of_factorials() {
        assert!((gamma(5.0) - 24.0).abs() < 1e-13);
        assert!((ln_gamma(5.0) - ln(24.0)).abs() < 1e-15);
    }

    proptest! {
        #[test]
        fn exponentials_agree_with_the_libm_crate(x in -700.0..700.0) {
            let (got, expected) = (exp(x), libm::exp(x));
            prop_assert!((got - expected).abs() <= 2.0 * f64::EPSILON * expected);
        }

        #[test]
        fn logarithms_of_shares_agree_with_the_libm_crate(bits: u64, shift in 0u32..64) {
            let bits = bits >> shift;
            let (got, expected) = (neg_ln_share(bits), -ln(share_of(bits)));
            prop_assert!((got - expected).abs() <= 2.0 * f64::EPSILON * f64::max(expected, 0.5));
        }
    }
}
