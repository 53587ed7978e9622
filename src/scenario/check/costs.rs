//! Costs that are the same for each call and larger than a limit; limits on tokens of calls that have none.

use super::Places;
use crate::limiter::Mode;
use crate::limiter::deployment::Deployment;
use crate::request::Knob;
use crate::scenario::Scenario;
use crate::scenario::event::Target;
use crate::scenario::stage::{Limit, StageSpec};
use crate::scenario::traffic::Traffic;
use std::collections::BTreeSet;
use std::ops::Range;

/// A limit somewhere in the scenario: what messages call it, where it stands, and how to go without it.
struct Found<'s> {
    name: String,
    span: Range<usize>,
    limit: &'s Limit,
    /// What an event raises its capacity to, at most.
    raised: u64,
    without: String,
}

/// Reports limits that some traffic can never pass.
pub(super) fn check(scenario: &Scenario, places: &Places) {
    let mut asked = BTreeSet::new();
    for policy in &scenario.policies {
        let targets = policy.stages.iter().map(|stage| Target::Stage(*stage));
        for target in targets.chain([Target::Downstream(policy.downstream)]) {
            if !asked.insert(target) {
                continue;
            }
            let without = format!("leave it out of `policy.{}`", policy.name);
            if let Some(found) = find(scenario, target, without, places) {
                scenario.traffics.iter().for_each(|traffic| found.check(traffic, places));
            }
        }
    }
}

fn find<'s>(scenario: &'s Scenario, target: Target, without: String, places: &Places) -> Option<Found<'s>> {
    match target {
        Target::Stage(number) => {
            let stage = &scenario.stages[number];
            let StageSpec::Limiter(limit) = &stage.spec else { return None };
            let raised = scenario.changes.iter().filter(|change| change.target == target);
            let raised = raised.filter_map(|change| match change.knob {
                Knob::Burst(most) => Some(most),
                Knob::Limit(most) => Some(most.unwrap_or(u64::MAX)),
                _ => None,
            });
            let (name, raised) = (stage.name.clone(), raised.max().unwrap_or(0));
            Some(Found { name, span: places.stages.span(number), limit, raised, without })
        }
        Target::Downstream(number) => {
            let downstream = scenario.downstreams.get(number)?; // none if its table is wrong
            let limit = downstream.quota.as_ref()?;
            let name = format!("downstream.{}.quota", downstream.name);
            let without = "take out `quota`".to_string();
            Some(Found { name, span: places.downstreams.span(number), limit, raised: 0, without })
        }
        _ => None,
    }
}

impl Found<'_> {
    fn check(&self, traffic: &Traffic, places: &Places) {
        let options = &self.limit.options;
        let passes_while_away =
            |deployment: &Deployment| deployment.fails_open && !deployment.outages.is_empty();
        if options.shadow
            || options.deployment.as_ref().is_some_and(passes_while_away)
            || self.limit.exempt.iter().any(|class| class.value == traffic.class)
        {
            return;
        }
        for (most, unit, key) in self.limit.capacities() {
            let Some(cost) = traffic.constant_cost(unit) else { continue };
            let (name, stage, unit_name) = (&traffic.name, &self.name, unit.name());
            // What is charged afterwards passes while anything is left.
            let needed = if options.charge.mode == Mode::ActualAfter { cost.min(1) } else { cost };
            if most.max(self.raised) < needed {
                let what = format!(
                    "no call of `traffic.{name}` can ever pass `{stage}`: each costs {cost} {unit_name}, the {key} is {most}"
                );
                let remedy = format!("raise the {key} to {cost} or more, or {}", self.without);
                places.log.error(self.span.clone(), what, remedy);
            } else if cost == 0 && !traffic.tokens.any() {
                let what = format!("`{stage}` counts {unit_name}, and calls of `traffic.{name}` have none");
                places.log.warning(self.span.clone(), what, format!("add `tokens` to `traffic.{name}`"));
            }
        }
    }
}
