//! Quantiles of the normal distribution: Wichura (1988), algorithm AS 241, routine PPND16.
//!
//! Three rational functions: one for the middle 85 % of shares, two in √−ln(share) for the tails. The relative
//! error is about 10^-15.

use super::{ln, neg_ln_share, share_of};

/// The standard normal quantile of the [share](share_of) of uniform bits: rises with them, within ±8.3.
///
/// Complementary bits give the opposite value.
#[inline]
pub fn normal_of_bits(bits: u64) -> f64 {
    let from_middle = share_of(bits) - 0.5;
    if from_middle.abs() <= NORMAL_MIDDLE {
        return normal_in_the_middle(from_middle);
    }
    let tail_bits = if from_middle < 0.0 { bits } else { !bits };
    let far = normal_in_the_tail(neg_ln_share(tail_bits).sqrt());
    if from_middle < 0.0 { -far } else { far }
}

/// The standard normal quantile of `share`: the value that a share of all draws stays below.
///
/// Infinite at 0 and 1, NaN outside.
pub fn normal_quantile(share: f64) -> f64 {
    let from_middle = share - 0.5;
    if from_middle.abs() <= NORMAL_MIDDLE {
        return normal_in_the_middle(from_middle);
    }
    let nearer_end = if from_middle < 0.0 { share } else { 1.0 - share };
    if nearer_end == 0.0 {
        return if from_middle < 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let far = normal_in_the_tail((-ln(nearer_end)).sqrt());
    if from_middle < 0.0 { -far } else { far }
}

/// Half the width of the middle region of AS 241.
const NORMAL_MIDDLE: f64 = 0.425;

#[inline]
fn normal_in_the_middle(from_middle: f64) -> f64 {
    let r = NORMAL_MIDDLE * NORMAL_MIDDLE - from_middle * from_middle;
    from_middle * ratio(&MIDDLE, r)
}

/// The quantile of a share near an end, as a distance from the middle; `root` is √−ln of the share.
fn normal_in_the_tail(root: f64) -> f64 {
    if root <= 5.0 { ratio(&NEAR_TAIL, root - 1.6) } else { ratio(&FAR_TAIL, root - 5.0) }
}

/// Numerator and denominator of a rational function, lowest power first.
type Ratio = [[f64; 8]; 2];

#[inline]
fn ratio([over, under]: &Ratio, x: f64) -> f64 {
    polynomial(over, x) / polynomial(under, x)
}

#[inline]
fn polynomial(c: &[f64; 8], x: f64) -> f64 {
    let square = x * x;
    let low = (c[0] + c[1] * x) + (c[2] + c[3] * x) * square;
    let high = (c[4] + c[5] * x) + (c[6] + c[7] * x) * square;
    low + high * (square * square)
}

const MIDDLE: Ratio = [
    [
        3.387_132_872_796_366_608,
        1.331_416_678_917_843_774_5e2,
        1.971_590_950_306_551_442_7e3,
        1.373_169_376_550_946_112_5e4,
        4.592_195_393_154_987_145_7e4,
        6.726_577_092_700_870_085_3e4,
        3.343_057_558_358_812_810_5e4,
        2.509_080_928_730_122_672_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091_125_2e1,
        6.871_870_074_920_579_083e2,
        5.394_196_021_424_751_107_7e3,
        2.121_379_430_158_659_586_7e4,
        3.930_789_580_009_271_061e4,
        2.872_908_573_572_194_267_4e4,
        5.226_495_278_852_854_561e3,
    ],
];

const NEAR_TAIL: Ratio = [
    [
        1.423_437_110_749_683_577_34,
        4.630_337_846_156_545_295_9,
        5.769_497_221_460_691_405_5,
        3.647_848_324_763_204_605_04,
        1.270_458_252_452_368_382_58,
        2.417_807_251_774_506_117_7e-1,
        2.272_384_498_926_918_458_33e-2,
        7.745_450_142_783_414_076_4e-4,
    ],
    [
        1.0,
        2.053_191_626_637_758_821_87,
        1.676_384_830_183_803_849_4,
        6.897_673_349_851_000_045_5e-1,
        1.481_039_764_274_800_745_9e-1,
        1.519_866_656_361_645_719_66e-2,
        5.475_938_084_995_344_946e-4,
        1.050_750_071_644_416_843_24e-9,
    ],
];

const FAR_TAIL: Ratio = [
    [
        6.657_904_643_501_103_777_2,
        5.463_784_911_164_114_369_9,
        1.784_826_539_917_291_335_8,
        2.965_605_718_285_048_912_3e-1,
        2.653_218_952_657_612_309_3e-2,
        1.242_660_947_388_078_438_6e-3,
        2.711_555_568_743_487_578_15e-5,
        2.010_334_399_292_288_132_65e-7,
    ],
    [
        1.0,
        5.998_322_065_558_879_376_9e-1,
        1.369_298_809_227_358_053_1e-1,
        1.487_536_129_085_061_485_25e-2,
        7.868_691_311_456_132_591e-4,
        1.846_318_317_510_054_681_8e-5,
        1.421_511_758_316_445_888_7e-7,
        2.044_263_103_389_939_785_64e-15,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    /// √2 · erfinv(2p − 1), computed with mpmath 1.3 at 50 digits.
    const QUANTILES: [(f64, f64); 11] = [
        (0.75, 0.6744897501960817432),
        (0.9, 1.281551565544600467),
        (0.975, 1.9599639845400542355),
        (0.99, 2.3263478740408411009),
        (0.999, 3.0902323061678135415),
        (0.0001, -3.7190164854556805644),
        (1e-10, -6.3613409024040562047),
        (1e-15, -7.941345326170996781),
        (0.074, -1.4466320671589784837),
        (0.076, -1.4325027208258116056),
        (0.6, 0.2533471031357997988),
    ];

    #[test]
    fn quantiles_agree_with_fifty_digits() {
        for (share, expected) in QUANTILES {
            let got = normal_quantile(share);
            assert!((got / expected - 1.0).abs() < 4e-15, "{share}: {got} is not {expected}");
        }
        assert_eq!(normal_quantile(0.5), 0.0);
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
    }

    #[test]
    fn bits_give_the_quantile_of_their_share() {
        for (share, expected) in QUANTILES.into_iter().filter(|(share, _)| *share >= 1e-4) {
            let got = normal_of_bits((share * 18_446_744_073_709_551_616.0) as u64);
            assert!((got / expected - 1.0).abs() < 1e-13, "{share}: {got} is not {expected}");
        }
    }

    #[test]
    fn complementary_bits_give_opposite_values_and_the_ends_are_finite() {
        for bits in [0, 1, 77, u64::MAX / 3, u64::MAX / 2, 0x0123_4567_89ab_cdef] {
            assert_eq!(normal_of_bits(bits), -normal_of_bits(!bits));
        }
        assert!((-8.4..-8.2).contains(&normal_of_bits(0)));
    }
}
