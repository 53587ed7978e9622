//! A limit as it is described: what builds any number of limiters of it.

use super::{Charge, Keyed, Limiter, Rule, Single};
use crate::request::{Key, Knob, Unit};
use std::fmt::Debug;

/// What a limit is given beside its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What a call costs.
    pub charge: Charge,
    /// What has a limit of its own each; `None` is one for all.
    pub key: Option<Key>,
    /// Whether it parks what it would refuse.
    pub wait: bool,
}

/// A rule whose type the holder need not know.
pub trait Blueprint: Debug + Send + Sync {
    /// A limiter that nothing has used yet.
    fn build(&self, options: &Options) -> Box<dyn Limiter>;
    /// What holds for a key that an event may change, when no event does; `None` if there is no such key.
    fn knob(&self, key: &str) -> Option<Knob>;
    /// The most that may pass at once, and the key in files that says so; `None` if any cost may pass.
    fn capacity(&self) -> Option<(u64, &'static str)>;
    /// Whether it has an answer of its own to time that goes back; the exact kinds refuse it.
    fn steps_back(&self) -> bool;
    /// Whether an ask that costs nothing has a meaning: it looks at the limit and takes nothing.
    fn peeks(&self) -> bool;
}

impl<R: Rule + Debug + Sync + 'static> Blueprint for R
where
    R::State: 'static,
{
    fn build(&self, options: &Options) -> Box<dyn Limiter> {
        match options.key {
            None => Box::new(Single::new(self.clone(), options.charge)),
            Some(key) => Box::new(Keyed::new(self.clone(), options.charge, key)),
        }
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        Rule::knob(self, key)
    }

    fn capacity(&self) -> Option<(u64, &'static str)> {
        Rule::capacity(self)
    }

    fn steps_back(&self) -> bool {
        Rule::steps_back(self)
    }

    fn peeks(&self) -> bool {
        Rule::peeks(self)
    }
}

impl Options {
    /// Calls are counted, and given back what was not used; nothing waits.
    pub fn requests(key: Option<Key>) -> Options {
        Options { charge: Charge::of(Unit::Requests), key, wait: false }
    }
}
