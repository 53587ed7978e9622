//! An admission stage as it is described: what builds any number of them, and what is wrapped around any.

use super::{Admission, Exempt, Shadow};
use crate::request::{Ask, ClassId, Key, KeyId, Keys, Knob};
use crate::rng::Dice;
use std::fmt::Debug;

/// What a stage is built from.
pub trait Plan: Debug + Send + Sync {
    /// A stage that nothing has used yet, bare of what is wrapped around any.
    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission>;
    /// Whether priorities of classes matter to it.
    fn looks_at_priority(&self) -> bool {
        false
    }
    /// What holds for a key that an event may change, when no event does; `None` if there is no such key.
    fn knob(&self, _key: &str) -> Option<Knob> {
        None
    }
}

/// Who takes part in a run, and its chance.
#[derive(Clone, Copy)]
pub struct Cast<'a> {
    /// The names of classes, by number.
    pub classes: &'a [String],
    /// Their priorities; the larger, the more important.
    pub priorities: &'a [i32],
    /// What the stage draws of its own.
    pub luck: Dice,
    /// The number of who has a name under a key; `None` if nobody has.
    pub number: &'a dyn Fn(Key, &str) -> Option<u32>,
}

/// What a stage is given beside its plan.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether it only counts what it would refuse.
    pub shadow: bool,
    /// Classes that pass without being asked.
    pub exempt: Vec<ClassId>,
}

impl Cast<'_> {
    /// The class of that name.
    pub fn class(&self, name: &str) -> Option<ClassId> {
        self.classes.iter().position(|class| class == name).map(|number| ClassId(number as u16))
    }

    /// Whose limit it is that has these names under those keys; `None` if nobody has them.
    pub fn key_id(&self, keys: Keys, names: &[String]) -> Option<KeyId> {
        let named = keys.iter().zip(names);
        let ask = named
            .into_iter()
            .try_fold(Ask::default(), |ask, (key, name)| Some(ask.with_key(key, (self.number)(key, name)?)));
        ask.map(|ask| ask.key_id(keys))
    }

    /// The priority of a class.
    pub fn priority(&self, class: ClassId) -> i32 {
        self.priorities.get(class.0 as usize).copied().unwrap_or(0)
    }
}

impl Options {
    /// A stage of `plan` that nothing has used yet, with everything that is wrapped around it.
    pub fn build(&self, plan: &dyn Plan, cast: &Cast<'_>) -> Box<dyn Admission> {
        let mut stage = plan.build(cast);
        if self.shadow {
            stage = Box::new(Shadow::new(stage));
        }
        if !self.exempt.is_empty() {
            stage = Box::new(Exempt::new(stage, self.exempt.clone()));
        }
        stage
    }
}
