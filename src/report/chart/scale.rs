//! Value axes: where a value stands between bottom and top, and which round values are marked.
//!
//! Three shapes: linear from 0; logarithmic, for latencies that span decades; and bent, linear up to a knee and
//! logarithmic above it, so that a queue a thousand times the limit hides neither. The bent mapping is
//! v/k up to the knee k and 1 + log10(v/k) above.

/// An axis of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// From 0 to `max`.
    Linear {
        /// The value at the top.
        max: f64,
    },
    /// From `min` to `max`, both above 0.
    Log {
        /// The value at the bottom.
        min: f64,
        /// The value at the top.
        max: f64,
    },
    /// Linear from 0 to `knee`, logarithmic from there to `max`.
    Bent {
        /// Where the axis changes.
        knee: f64,
        /// The value at the top.
        max: f64,
    },
}

impl Scale {
    /// From 0 to a little above `max`; to 1 when there is nothing to show.
    pub fn linear(max: f64) -> Scale {
        Scale::Linear { max: if max <= 0.0 { 1.0 } else { max * 1.04 } }
    }

    /// For values between `min` and `max`: logarithmic when they span a decade or more.
    pub fn spanning(min: f64, max: f64) -> Scale {
        // No page shows more than nine decades.
        let min = min.max(max * 1e-9);
        if 0.0 < min && min * 10.0 <= max {
            Scale::Log { min: min * 0.85, max: max * 1.1 }
        } else {
            Scale::linear(max)
        }
    }

    /// For values of which the `usual` ones matter as much as the `max`: bent when they are far apart.
    pub fn bent(usual: f64, max: f64) -> Scale {
        if 0.0 < usual && usual * 8.0 < max {
            Scale::Bent { knee: round_up(usual * 1.05), max: max * 1.1 }
        } else {
            Scale::linear(max.max(usual))
        }
    }

    /// Where the value stands: 0 at the bottom, 1 at the top, never outside.
    pub fn share(self, value: f64) -> f64 {
        let share = match self {
            Scale::Linear { max } => value / max,
            Scale::Log { min, max } => log10(value.max(min) / min) / log10(max / min),
            Scale::Bent { knee, max } => bend(value / knee) / bend(max / knee),
        };
        share.clamp(0.0, 1.0)
    }

    /// The round values to mark, from the bottom, about `wanted` of them.
    pub fn ticks(self, wanted: usize) -> Vec<f64> {
        match self {
            Scale::Linear { max } => multiples(max, wanted),
            Scale::Log { min, max } => decades(min, max, wanted),
            Scale::Bent { knee, max } => {
                let mut ticks = multiples(knee * 1.001, 1);
                ticks.extend(decades(knee * 1.5, max, wanted.saturating_sub(2)));
                ticks
            }
        }
    }
}

fn bend(ratio: f64) -> f64 {
    if ratio <= 1.0 { ratio } else { 1.0 + log10(ratio) }
}

/// The one logarithm of the charts, the same bits on every platform.
fn log10(value: f64) -> f64 {
    libm::log10(value)
}

/// The power of ten at or below a value above 0, by steps, so that it is the literal's own double.
fn decade(value: f64) -> f64 {
    let exponent = libm::floor(log10(value)) as i32;
    let power: f64 = format!("1e{exponent}").parse().expect("a power of ten is a number");
    // The logarithm of a power of ten may come out a hair below.
    if power * 10.0 <= value { power * 10.0 } else { power }
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below the value.
pub fn round_up(value: f64) -> f64 {
    let decade = decade(value);
    [1.0, 2.0, 5.0].into_iter().map(|m| m * decade).find(|v| value <= *v).unwrap_or(10.0 * decade)
}

/// Multiples of a round step from 0 to `max`.
fn multiples(max: f64, wanted: usize) -> Vec<f64> {
    let step = round_up(max / (wanted + 1) as f64);
    let count = libm::floor(max / step) as usize;
    (0..=count).map(|i| i as f64 * step).collect()
}

/// Powers of ten within the range, with 2 and 5 between them while they are few.
fn decades(min: f64, max: f64, wanted: usize) -> Vec<f64> {
    let steps = |factors: &[f64]| {
        let mut ticks = Vec::new();
        let mut power = decade(min);
        while power <= max {
            ticks.extend(factors.iter().map(|f| f * power).filter(|v| min <= *v && *v <= max));
            power *= 10.0;
        }
        ticks
    };
    let fine = steps(&[1.0, 2.0, 5.0]);
    let halves = steps(&[1.0, 5.0]);
    for ticks in [&fine, &halves] {
        if ticks.len() <= wanted + 1 {
            return ticks.clone();
        }
    }
    let coarse = steps(&[1.0]);
    let every = coarse.len().div_ceil(wanted.max(1)).max(1);
    let coarse: Vec<f64> = coarse.into_iter().step_by(every).collect();
    if coarse.is_empty() { fine.into_iter().take(wanted).collect() } else { coarse }
}

/// A count as people write it: `0`, `0.5`, `1,500`, `20k`, `3M`.
pub fn count(value: f64) -> String {
    match value {
        v if 1e12 <= v => format!("{}T", short(v / 1e12)),
        v if 1e9 <= v => format!("{}G", short(v / 1e9)),
        v if 1e6 <= v => format!("{}M", short(v / 1e6)),
        v if 1e4 <= v => format!("{}k", short(v / 1e3)),
        v if 1e3 <= v => {
            let whole = v.round() as u64;
            format!("{},{:03}", whole / 1000, whole % 1000)
        }
        v => short(v),
    }
}

/// A length in milliseconds as people write it: `200 µs`, `50 ms`, `1.5 s`, `2 min`.
pub fn milliseconds(value: f64) -> String {
    match value {
        0.0 => "0".to_string(),
        v if v < 1.0 => format!("{} µs", short(v * 1e3)),
        v if v < 1e3 => format!("{} ms", short(v)),
        v if v < 120e3 => format!("{} s", short(v / 1e3)),
        v if v < 120.0 * 60e3 => format!("{} min", short(v / 60e3)),
        v => format!("{} h", short(v / 3600e3)),
    }
}

/// At most three decimals, and none that say nothing.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_round(value: f64) -> bool {
        let digits = format!("{value:.6}");
        let significant = digits.replace('.', "").trim_matches('0').len();
        value == 0.0 || significant <= 2
    }

    #[test]
    fn ticks_are_round_within_the_axis_and_few() {
        for max in [0.003, 0.7, 1.0, 9.9, 32.0, 187.0, 1677.0, 123_456.0, 1e15] {
            for scale in [Scale::linear(max), Scale::spanning(max / 321.0, max), Scale::bent(max / 50.0, max)]
            {
                let ticks = scale.ticks(5);
                assert!((2..=8).contains(&ticks.len()), "{scale:?}: {ticks:?}");
                assert!(max <= 1.0 || ticks.iter().all(|t| is_round(*t)), "{scale:?}: {ticks:?}");
                assert!(
                    ticks.windows(2).all(|pair| scale.share(pair[0]) < scale.share(pair[1])),
                    "{ticks:?}"
                );
            }
        }
    }

    #[test]
    fn a_decade_or_more_makes_the_axis_logarithmic() {
        assert!(matches!(Scale::spanning(100.0, 999.0), Scale::Linear { .. }));
        assert!(matches!(Scale::spanning(100.0, 1000.0), Scale::Log { .. }));
        assert!(matches!(Scale::spanning(0.0, 0.0), Scale::Linear { .. }));
    }

    #[test]
    fn a_bent_axis_keeps_the_limit_visible_below_a_huge_queue() {
        let scale = Scale::bent(32.0, 32_000.0);
        assert!(0.1 < scale.share(32.0));
        assert!(scale.share(32_000.0) <= 1.0);
        assert_eq!(scale.share(0.0), 0.0);
    }

    #[test]
    fn a_round_value_is_the_next_one_up() {
        let rounded = [0.001, 0.03, 1.0, 1.9, 2.0, 49.0, 1000.0, 99_999.0].map(round_up);
        assert_eq!(rounded, [0.001, 0.05, 1.0, 2.0, 2.0, 50.0, 1000.0, 100_000.0]);
    }

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!(
            [0.0, 0.5, 150.0, 1500.0, 20e3, 3e6].map(count),
            ["0", "0.5", "150", "1,500", "20k", "3M"]
        );
        assert_eq!([0.2, 50.0, 1500.0, 300e3].map(milliseconds), ["200 µs", "50 ms", "1.5 s", "5 min"]);
    }
}
