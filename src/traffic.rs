//! Traffic: who calls, and when.
//!
//! A [`Source`] yields one call after another; the engine holds exactly one pending arrival of each, so a run
//! needs no more memory for a billion calls than for one.

pub mod arrivals;
pub mod draws;
pub mod profile;
pub mod trace;

use crate::problem::Problem;
use crate::request::Ask;
use crate::time::SimTime;
use arrivals::Poisson;

/// Where calls come from.
pub trait Source: Send {
    /// The next call's instant, never before the one that came last, or `None` when no more come.
    ///
    /// What the source itself knows of the call (a trace's tokens, say) it writes into `known`. Fails when a trace
    /// can no longer be read.
    fn next(&mut self, known: &mut Known) -> Result<Option<SimTime>, Problem>;
}

/// Any source, the common one by value, so that the engine's loop calls it directly.
pub enum AnySource {
    /// Calls by chance.
    Poisson(Box<Poisson>),
    /// Whatever else.
    Other(Box<dyn Source>),
}

impl<S: Source + 'static> From<S> for AnySource {
    fn from(source: S) -> AnySource {
        AnySource::Other(Box::new(source))
    }
}

impl AnySource {
    /// See [`Source::next`].
    #[inline(always)]
    pub fn next(&mut self, known: &mut Known) -> Result<Option<SimTime>, Problem> {
        match self {
            AnySource::Poisson(poisson) => Ok(poisson.next_time()),
            AnySource::Other(other) => other.next(known),
        }
    }
}

/// What a list or a trace says of one call; what it does not say stays with the traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Tokens sent.
    pub input_tokens: Option<u32>,
    /// Tokens that the answer will have.
    pub output_tokens: Option<u32>,
    /// The most tokens that the answer may have.
    pub max_output_tokens: Option<u32>,
    /// The tenant's number.
    pub tenant: Option<u32>,
    /// The user's number.
    pub user: Option<u32>,
    /// The feature's number.
    pub feature: Option<u16>,
}

impl Known {
    /// Writes what is known into `ask`.
    pub fn tell(&self, ask: &mut Ask) {
        ask.input_tokens = self.input_tokens.unwrap_or(ask.input_tokens);
        ask.output_tokens = self.output_tokens.unwrap_or(ask.output_tokens);
        ask.max_output_tokens = self.max_output_tokens.unwrap_or(ask.max_output_tokens);
        ask.tenant = self.tenant.unwrap_or(ask.tenant);
        ask.user = self.user.unwrap_or(ask.user);
        ask.feature = self.feature.unwrap_or(ask.feature);
    }
}
