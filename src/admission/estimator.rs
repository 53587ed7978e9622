//! How many tokens a call is taken to have before a model has counted them.
//!
//! A gateway sees characters. A call's text has `characters` of them for each of its tokens, drawn for the call; the
//! estimate is ⌈characters / ratio⌉ and something extra. With `adapts` it is multiplied by a factor of the class, held
//! between 1/2 and 2, which is used after five calls and follows the true count over the estimate without the factor: f
//! ← f + 0.2 · (true / estimate − f), the first sets it. Source: async-bulkhead-llm, its naive, model-aware and adaptive
//! estimators, of which classes take the place of models.

use crate::dist::Dist;
use crate::request::Ask;
use crate::rng::Purpose;

/// What an estimator is made from.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Characters that the calls really have for each token.
    pub characters: Dist,
    /// Characters that a token is taken to have.
    pub ratio: f64,
    /// Tokens that are added for each call.
    pub extra: u64,
    /// Whether it learns.
    pub adapts: bool,
}

/// An estimator at work.
#[derive(Clone, Debug)]
pub struct Estimator {
    /// `None` knows the count.
    settings: Option<Settings>,
    /// By class: the factor, and how many calls it was learned from.
    factors: Vec<(f64, u64)>,
}

/// So many calls are needed before a factor is used.
const FEWEST: u64 = 5;
/// The share of a difference that is learned.
const LEARNS: f64 = 0.2;

impl Estimator {
    /// An estimator for so many classes; without settings it knows the count.
    pub fn new(settings: Option<Settings>, classes: usize) -> Estimator {
        Estimator { settings, factors: vec![(1.0, 0); classes] }
    }

    fn base(settings: &Settings, ask: &Ask) -> u64 {
        let per_token = settings.characters.quantile(ask.dice.bits(Purpose::Characters, 0));
        // Text has whole characters.
        let characters = (ask.input_tokens as f64 * per_token).ceil();
        (characters / settings.ratio).ceil() as u64 + settings.extra
    }

    /// The tokens that a call is taken to send.
    pub fn input(&self, ask: &Ask) -> u64 {
        let Some(settings) = &self.settings else { return ask.input_tokens as u64 };
        let base = Estimator::base(settings, ask);
        match self.factors[ask.class.0 as usize] {
            (factor, samples) if settings.adapts && FEWEST <= samples => {
                (base as f64 * factor.clamp(0.5, 2.0)).ceil() as u64
            }
            _ => base,
        }
    }

    /// The call was counted.
    pub fn learn(&mut self, ask: &Ask) {
        let Some(settings) = self.settings.as_ref().filter(|settings| settings.adapts) else { return };
        let base = Estimator::base(settings, ask);
        if base == 0 {
            return;
        }
        let found = ask.input_tokens as f64 / base as f64;
        let (factor, samples) = &mut self.factors[ask.class.0 as usize];
        *factor = if *samples == 0 { found } else { *factor + LEARNS * (found - *factor) };
        *samples += 1;
    }
}
