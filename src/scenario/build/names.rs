//! Names by number, and from a trace's numbers to the scenario's.

use crate::problem::Problem;
use crate::scenario::callers::Population;
use crate::time::SimTime;
use crate::traffic::{Known, Source};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names by number: 0 is none, then the population of the scenario, then the names that only traces have.
#[derive(Clone, Debug, Default)]
pub struct Names {
    population: Population,
    more: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

impl Names {
    /// The names of a scenario's population.
    pub(super) fn new(population: &Population) -> Names {
        Names { population: population.clone(), ..Names::default() }
    }

    /// The number of `name` in the scenario's population.
    pub(super) fn known(&self, name: &str) -> Option<u32> {
        self.population.number(name)
    }

    /// The number of `name`, of a trace's too.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.population.number(name).or_else(|| self.numbers.get(name).copied())
    }

    /// The name of the one with `number`; empty for 0.
    pub fn name(&self, number: u32) -> Cow<'_, str> {
        match (number as usize).checked_sub(self.population.len()) {
            None => self.population.name(number),
            Some(index) => self.more.get(index).map_or("".into(), |name| name.into()),
        }
    }

    /// Whether there is nobody.
    pub fn is_empty(&self) -> bool {
        self.population.is_empty() && self.more.is_empty()
    }

    /// The number of `name`, which is added if there is none.
    pub(super) fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.population.number(name) {
            return number;
        }
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = (self.population.len() + self.more.len()) as u32;
        self.more.push(name.to_string());
        self.numbers.insert(name.to_string(), number);
        number
    }
}

/// From a trace's own numbers to the scenario's.
#[derive(Debug)]
pub(super) struct Renumber {
    pub(super) tenants: Vec<u32>,
    pub(super) users: Vec<u32>,
    pub(super) features: Vec<u32>,
}

/// A trace whose names have the scenario's numbers.
pub(super) struct Renumbered<S> {
    pub(super) source: S,
    pub(super) numbers: Arc<Renumber>,
}

impl<S: Source> Source for Renumbered<S> {
    fn next(&mut self, known: &mut Known) -> Result<Option<SimTime>, Problem> {
        let at = self.source.next(known)?;
        let find = |numbers: &[u32], own: Option<u32>| own.and_then(|own| numbers.get(own as usize).copied());
        known.tenant = find(&self.numbers.tenants, known.tenant);
        known.user = find(&self.numbers.users, known.user);
        known.feature =
            find(&self.numbers.features, known.feature.map(u32::from)).map(|number| number as u16);
        Ok(at)
    }
}
