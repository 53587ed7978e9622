//! The clients at work under a policy: one for all traffics that name the same, one for each downstream that calls.

use crate::client::{self, Client, budget};
use crate::scenario::Scenario;
use crate::scenario::client::{Budget, Client as Spec};

/// Clients with their numbers.
#[derive(Default)]
pub(super) struct Clients<'a> {
    /// Whose it is (a downstream, or the traffics) and what it is; `None` waits for ever and never tries again.
    used: Vec<(Option<usize>, Option<&'a Spec>)>,
}

impl<'a> Clients<'a> {
    /// The number of the client that traffics have in common which name it.
    pub(super) fn of_traffic(&mut self, scenario: &'a Scenario, client: Option<usize>) -> usize {
        self.number(None, scenario, client)
    }

    /// The number of the client of a downstream.
    pub(super) fn of_downstream(
        &mut self,
        scenario: &'a Scenario,
        of: usize,
        client: Option<usize>,
    ) -> usize {
        self.number(Some(of), scenario, client)
    }

    fn number(&mut self, of: Option<usize>, scenario: &'a Scenario, client: Option<usize>) -> usize {
        let spec = client.map(|number| &scenario.clients[number]);
        let same = |other: &(Option<usize>, Option<&Spec>)| {
            other.0 == of && other.1.map(|spec| &spec.name) == spec.map(|spec| &spec.name)
        };
        self.used.iter().position(same).unwrap_or_else(|| {
            self.used.push((of, spec));
            self.used.len() - 1
        })
    }

    /// All clients before anything has happened.
    pub(super) fn build(&self) -> Vec<Client> {
        self.used.iter().map(|(_, spec)| spec.map_or_else(Client::patient, build)).collect()
    }
}

fn build(client: &Spec) -> Client {
    let retry = client.retry.as_ref().map(|retry| client::Retry {
        max_attempts: retry.max_attempts,
        on: retry.on,
        backoff: retry.backoff.clone(),
        budget: retry.budget.as_ref().map(|Budget::Finagle { ratio, ttl, min_per_second }| {
            let budget = budget::Finagle::new(*ratio, *ttl, *min_per_second as u64);
            Box::new(budget) as Box<dyn budget::Budget>
        }),
    });
    Client { timeout: client.timeout, cancel: client.cancel, retry }
}
