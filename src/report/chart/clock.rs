//! The axis of simulated time: its ends, and the round instants marked on it.

/// A stretch of simulated time in seconds; the end is after the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Its start.
    pub from_s: f64,
    /// Its end.
    pub until_s: f64,
}

/// Units with how many seconds they have, from which length of axis on they are used, and their round steps.
const UNITS: [(&str, f64, f64, &[f64]); 5] = [
    (
        "d",
        86_400.0,
        4.0 * 86_400.0,
        &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4],
    ),
    ("h", 3_600.0, 3.0 * 3_600.0, &[1.0, 2.0, 3.0, 6.0, 12.0, 24.0]),
    ("min", 60.0, 600.0, &[1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0]),
    ("s", 1.0, 1.0, &[0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0]),
    ("ms", 1e-3, 0.0, &[0.001, 0.01, 0.1, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0]),
];

impl Span {
    /// Its length in seconds.
    pub fn length_s(self) -> f64 {
        self.until_s - self.from_s
    }

    /// Where an instant stands: 0 at the start, 1 at the end, never outside.
    pub fn share(self, at_s: f64) -> f64 {
        ((at_s - self.from_s) / self.length_s()).clamp(0.0, 1.0)
    }

    /// The round instants to mark with their labels, at most `most` of them.
    pub fn ticks(self, most: usize) -> Vec<(f64, String)> {
        let most = most.max(1) as f64;
        let (name, seconds, _, steps) =
            UNITS.into_iter().find(|(_, _, from_s, _)| *from_s < self.length_s()).unwrap_or(UNITS[4]);
        let coarsest = steps[steps.len() - 1];
        let step = steps
            .iter()
            .copied()
            .find(|s| self.length_s() / (s * seconds) <= most)
            .unwrap_or_else(|| coarsest * libm::ceil(self.length_s() / (coarsest * seconds) / most));
        let first = libm::ceil(self.from_s / (step * seconds));
        let last = libm::floor(self.until_s / (step * seconds));
        let count = (last - first + 1.0).max(0.0) as usize;
        (0..count)
            .map(|i| {
                let value = (first + i as f64) * step;
                let shown = format!("{value:.3}");
                let shown = shown.trim_end_matches('0').trim_end_matches('.');
                (value * seconds, format!("{shown}{name}"))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(from_s: f64, until_s: f64) -> Vec<String> {
        Span { from_s, until_s }.ticks(6).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn instants_are_marked_in_the_unit_that_people_would_use() {
        assert_eq!(labels(0.0, 240.0), ["0s", "60s", "120s", "180s", "240s"]);
        assert_eq!(labels(0.0, 1800.0), ["0min", "5min", "10min", "15min", "20min", "25min", "30min"]);
        assert_eq!(labels(0.0, 86_400.0), ["0h", "6h", "12h", "18h", "24h"]);
        assert_eq!(labels(0.0, 0.25), ["0ms", "50ms", "100ms", "150ms", "200ms", "250ms"]);
    }

    #[test]
    fn no_length_of_run_crowds_the_axis() {
        let mut length_s = 1e-6;
        while length_s < 1e13 {
            let ticks = Span { from_s: 0.0, until_s: length_s }.ticks(6);
            assert!((1..=7).contains(&ticks.len()), "{length_s}: {ticks:?}");
            assert!(ticks.iter().all(|(at, _)| *at <= length_s * 1.000_001), "{length_s}: {ticks:?}");
            length_s *= 1.7;
        }
    }
}
