//! Exponential backoff with jitter.
//!
//! Before retry n (n = 1 is the first) the client waits e = min(max, base · factorⁿ⁻¹), or a draw around it.
//! Names of the jitters: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.

use crate::rng::{Dice, Purpose};
use crate::time::Nanos;

/// How a wait is spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jitter {
    /// Exactly e.
    #[default]
    None,
    /// Uniform over [0, e).
    Full,
    /// e/2 and uniform over [0, e/2) on top.
    Equal,
}

impl Jitter {
    /// Every jitter with the name that files give it.
    pub const NAMES: [(&'static str, Jitter); 3] =
        [("none", Jitter::None), ("full", Jitter::Full), ("equal", Jitter::Equal)];
}

/// Exponential backoff.
#[derive(Clone, Debug, PartialEq)]
pub struct Exponential {
    /// Wait before the first retry.
    pub base: Nanos,
    /// Growth from one retry to the next, at least 1.
    pub factor: f64,
    /// The longest wait.
    pub max: Nanos,
    /// How it is spread.
    pub jitter: Jitter,
}

impl Exponential {
    /// The wait after `attempts` attempts (from 1): a function of the call's luck and that number.
    pub fn delay(&self, dice: Dice, attempts: u32) -> Nanos {
        let max = self.max.0 as f64;
        let mut bound = (self.base.0 as f64).min(max);
        // Multiplied one by one, which is exact for powers of two; it stops at the cap.
        let mut grown = 1;
        while grown < attempts && bound < max && self.factor != 1.0 {
            bound = (bound * self.factor).min(max);
            grown += 1;
        }
        let share = || dice.share(Purpose::Backoff, attempts);
        Nanos::from_f64(match self.jitter {
            Jitter::None => bound,
            Jitter::Full => bound * share(),
            Jitter::Equal => bound * (0.5 + 0.5 * share()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backoff(jitter: Jitter) -> Exponential {
        Exponential { base: Nanos::millis(500), factor: 2.0, max: Nanos::secs(3), jitter }
    }

    #[test]
    fn waits_double_up_to_the_cap() {
        let waits: Vec<u64> =
            (1..=5).map(|n| backoff(Jitter::None).delay(Dice(0), n).0 / 1_000_000).collect();
        assert_eq!(waits, [500, 1_000, 2_000, 3_000, 3_000]);
    }

    #[test]
    fn jitter_spreads_below_the_bound_and_equal_jitter_keeps_half() {
        let draws = |jitter| (0..1_000u64).map(move |key| backoff(jitter).delay(Dice(key << 40), 2).0);
        assert!(draws(Jitter::Full).all(|wait| wait < 1_000_000_000));
        assert!(draws(Jitter::Full).any(|wait| wait < 100_000_000));
        assert!(draws(Jitter::Equal).all(|wait| (500_000_000..1_000_000_000).contains(&wait)));
    }
}
