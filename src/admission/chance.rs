//! A stage's own chance, by which an attempt is turned away: the same under every policy, and apart from other stages'.

use super::{Cast, Entrant};
use crate::rng::{Dice, Purpose};

/// What a stage's draws depend on beside the attempt.
#[derive(Clone, Copy, Debug)]
pub struct Chance(Dice);

impl Chance {
    /// The chance of a stage that is being built.
    pub fn new(cast: &Cast<'_>) -> Chance {
        Chance(cast.luck)
    }

    /// The attempt's draw, uniform from 0 up to below 1.
    pub fn draw(self, entrant: &Entrant<'_>) -> f64 {
        Dice(entrant.ask.dice.0 ^ self.0.0).share(Purpose::Policy, entrant.number)
    }
}
