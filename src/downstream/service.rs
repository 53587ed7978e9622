//! How long work takes: drawn for the call, or a linear function of its tokens.

use crate::dist::Dist;
use crate::request::Ask;
use crate::rng::Purpose;
use crate::time::Nanos;

/// The service time of one attempt, before any slowdown.
#[derive(Clone, Debug)]
pub enum Service {
    /// Drawn from a distribution over nanoseconds.
    Drawn(Dist),
    /// A base and a time per token; exact.
    PerToken {
        /// Time of any call.
        base: Nanos,
        /// Time per token sent.
        per_input: Nanos,
        /// Time per token of the answer.
        per_output: Nanos,
    },
}

impl Service {
    /// The time that attempt number `attempt` takes: the same for the same call and attempt, wherever it is asked.
    #[inline]
    pub fn time(&self, ask: &Ask, attempt: u32) -> Nanos {
        match self {
            Service::Drawn(dist) => dist.nanos(ask.dice.bits(Purpose::Service, attempt)),
            Service::PerToken { base, per_input, per_output } => {
                let input = per_input.0.saturating_mul(ask.input_tokens as u64);
                let output = per_output.0.saturating_mul(ask.output_tokens as u64);
                Nanos(base.0.saturating_add(input).saturating_add(output))
            }
        }
    }
}
