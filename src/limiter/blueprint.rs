//! A limit as it is described: what builds any number of limiters of it.

use super::deployment::{Deployed, Deployment};
use super::{Advice, Advised, Charge, Exempt, Keyed, Limiter, Rule, Shadow, Single};
use crate::request::{ClassId, KeyId, Keys, Knob, Unit};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// What a limit is given beside its rule.
#[derive(Clone, Debug)]
pub struct Options {
    /// What a call costs.
    pub charge: Charge,
    /// What has a limit of its own each; `None` is one for all.
    pub key: Option<Keys>,
    /// Keys with a rule of their own, of the same type as the others'.
    pub overrides: Vec<(KeyId, Arc<dyn Blueprint>)>,
    /// So many keys are kept before those are forgotten that stand as if unused.
    pub max_idle_keys: usize,
    /// Whether it parks what it would refuse.
    pub wait: bool,
    /// Whether it only counts what it would refuse.
    pub shadow: bool,
    /// Classes that pass uncharged.
    pub exempt: Vec<ClassId>,
    /// What it tells those it refuses.
    pub retry_after: Advice,
    /// The store and the gateways that share it; `None` is the limit itself.
    pub deployment: Option<Deployment>,
}

/// A rule whose type the holder need not know.
pub trait Blueprint: Any + Debug + Send + Sync {
    /// A limiter that nothing has used yet, keyed if it is told so, and bare of what is wrapped around any.
    fn build(&self, options: &Options) -> Box<dyn Limiter>;
    /// Whether the other is a rule of the same type, with other numbers.
    fn is_like(&self, other: &dyn Blueprint) -> bool;
    /// What holds for a key that an event may change, when no event does; `None` if there is no such key.
    fn knob(&self, key: &str) -> Option<Knob>;
    /// The most that may pass at once, of what, and the key in files that says so, for each of its limits that knows one;
    /// `unit` is what it counts unless it knows better.
    fn capacities(&self, unit: Unit) -> Vec<(u64, Unit, &'static str)>;
    /// Whether it has an answer of its own to time that goes back; the exact kinds refuse it.
    fn steps_back(&self) -> bool;
    /// Whether an ask that costs nothing has a meaning: it looks at the limit and takes nothing.
    fn peeks(&self) -> bool;
    /// Whether it limits work in flight too, so that some refusals end with other work and at no instant.
    fn counts_in_flight(&self) -> bool {
        false
    }
}

impl<R: Rule + Debug + Sync + 'static> Blueprint for R
where
    R::State: 'static,
{
    fn build(&self, options: &Options) -> Box<dyn Limiter> {
        match &options.deployment {
            None => keyed(self, options, R::clone),
            Some(deployment) => {
                keyed(self, options, |rule: &R| Deployed::new(rule.clone(), deployment.clone()))
            }
        }
    }

    fn is_like(&self, other: &dyn Blueprint) -> bool {
        let other: &dyn Any = other;
        other.is::<R>()
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        Rule::knob(self, key)
    }

    fn capacities(&self, unit: Unit) -> Vec<(u64, Unit, &'static str)> {
        Rule::capacity(self).map(|(most, key)| (most, unit, key)).into_iter().collect()
    }

    fn steps_back(&self) -> bool {
        Rule::steps_back(self)
    }

    fn peeks(&self) -> bool {
        Rule::peeks(self)
    }
}

/// One limit, or one for each key; `make` puts a rule into what surrounds it.
fn keyed<R, D>(rule: &R, options: &Options, make: impl Fn(&R) -> D) -> Box<dyn Limiter>
where
    R: Rule + 'static,
    D: Rule + 'static,
    D::State: 'static,
{
    let Some(key) = options.key else { return Box::new(Single::new(make(rule), options.charge)) };
    let mut keyed = Keyed::new(make(rule), options.charge, key).max_idle_keys(options.max_idle_keys);
    for (id, rule) in &options.overrides {
        let rule: &dyn Any = &**rule;
        let rule = rule.downcast_ref::<R>().expect("an override is of the same type");
        keyed = keyed.overriding(*id, make(rule));
    }
    Box::new(keyed)
}

impl Options {
    /// How many keys are kept unless a file says otherwise.
    pub const MAX_IDLE_KEYS: usize = 100_000;

    /// Calls are counted, and given back what was not used; nothing waits.
    pub fn requests(key: Option<Keys>) -> Options {
        Options {
            charge: Charge::of(Unit::Requests),
            key,
            overrides: Vec::new(),
            max_idle_keys: Options::MAX_IDLE_KEYS,
            wait: false,
            shadow: false,
            exempt: Vec::new(),
            retry_after: Advice::default(),
            deployment: None,
        }
    }

    /// A limiter of `rule` that nothing has used yet, with everything that is wrapped around it.
    pub fn build(&self, rule: &dyn Blueprint) -> Box<dyn Limiter> {
        let mut limiter = rule.build(self);
        if self.retry_after != Advice::default() {
            limiter = Box::new(Advised::new(limiter, self.retry_after));
        }
        if self.shadow {
            limiter = Box::new(Shadow::new(limiter));
        }
        if !self.exempt.is_empty() {
            limiter = Box::new(Exempt::new(limiter, self.exempt.clone()));
        }
        limiter
    }
}
