//! What is drawn for each call when it is born: who asks, and how much.

use crate::dist::{Dist, Pick};
use crate::request::Ask;
use crate::rng::Purpose;
use crate::traffic::Known;

/// The draws of a traffic. What has none keeps what the source said, or zero.
#[derive(Clone, Debug, Default)]
pub struct Draws {
    /// Which tenant, among all tenants of the scenario.
    pub tenant: Option<Choice>,
    /// Which user.
    pub user: Option<Choice>,
    /// Which feature.
    pub feature: Option<Choice>,
    /// Tokens sent.
    pub input_tokens: Option<Dist>,
    /// Tokens of the answer.
    pub output_tokens: Option<Dist>,
    /// The most tokens that the answer may have.
    pub max_output_tokens: Option<Dist>,
    /// Whether the source may know something of its calls, which then goes before what is drawn.
    pub source_knows: bool,
}

/// A pick among numbered things.
#[derive(Clone, Debug)]
pub enum Choice {
    /// Things with consecutive numbers.
    Run {
        /// The number of the first.
        first: u32,
        /// Which of them.
        pick: Pick,
    },
    /// Things with any numbers.
    Listed {
        /// Their numbers.
        numbers: Vec<u32>,
        /// Which of them.
        pick: Pick,
    },
}

impl Choice {
    #[inline]
    fn of(&self, ask: &Ask, purpose: Purpose) -> u32 {
        let bits = ask.dice.bits(purpose, 0);
        match self {
            Choice::Run { first, pick } => first + pick.pick(bits),
            Choice::Listed { numbers, pick } => numbers[pick.pick(bits) as usize],
        }
    }
}

impl Draws {
    /// Whether calls of this traffic differ in anything but their luck.
    pub fn any(&self) -> bool {
        self.source_knows
            || self.tenant.is_some()
            || self.user.is_some()
            || self.feature.is_some()
            || self.input_tokens.is_some()
            || self.output_tokens.is_some()
            || self.max_output_tokens.is_some()
    }

    /// Draws for the call: every number is a function of the call's luck.
    #[inline]
    pub fn fill(&self, ask: &mut Ask, known: &Known) {
        if let Some(choice) = &self.tenant {
            ask.tenant = choice.of(ask, Purpose::Tenant);
        }
        if let Some(choice) = &self.user {
            ask.user = choice.of(ask, Purpose::User);
        }
        if let Some(choice) = &self.feature {
            ask.feature = choice.of(ask, Purpose::Feature) as u16;
        }
        if let Some(dist) = &self.input_tokens {
            ask.input_tokens = dist.count(ask.dice.bits(Purpose::InputTokens, 0));
        }
        if let Some(dist) = &self.output_tokens {
            ask.output_tokens = dist.count(ask.dice.bits(Purpose::OutputTokens, 0));
        }
        if let Some(dist) = &self.max_output_tokens {
            ask.max_output_tokens = dist.count(ask.dice.bits(Purpose::MaxOutputTokens, 0));
        }
        if self.source_knows {
            known.tell(ask);
        }
        if ask.output_tokens > 0 {
            if ask.max_output_tokens == 0 {
                // Callers who declare no maximum are taken to have declared what they get.
                ask.max_output_tokens = ask.output_tokens;
            }
            // A model never answers more than it was allowed to.
            ask.output_tokens = ask.output_tokens.min(ask.max_output_tokens);
        }
    }
}
