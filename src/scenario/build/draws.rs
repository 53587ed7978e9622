//! What is drawn for the calls of a traffic.

use crate::dist::{Dist, Pick};
use crate::problem::Problem;
use crate::scenario::Scenario;
use crate::scenario::callers::{Population, Size, Who};
use crate::scenario::traffic::{Arrivals, Traffic};
use crate::traffic::draws::{Choice, Draws};

/// Whether calls of the traffic have tokens.
pub(super) fn has_tokens(traffic: &Traffic) -> bool {
    traffic.tokens.any()
        || match &traffic.arrivals {
            Arrivals::Rate(_) => false,
            Arrivals::Calls(calls) => calls
                .iter()
                .any(|call| call.input_tokens.or(call.output_tokens).or(call.max_output_tokens).is_some()),
            Arrivals::Trace(trace) => trace.input_tokens.is_some() || trace.output_tokens.is_some(),
        }
}

/// The draws of the traffic.
pub(super) fn of(scenario: &Scenario, traffic: &Traffic) -> Result<Draws, Problem> {
    let who = |who: &Option<Who>, population: &Population| {
        who.as_ref().map(|who| choice(who, population)).transpose().map_err(Problem::bug)
    };
    let dist = |size: &Option<Size>| {
        let dist = |size: &Size| match size {
            Size::Fixed(count) => Dist::constant(*count as f64),
            Size::Drawn(dist) => Ok(dist.clone()),
        };
        size.as_ref().map(dist).transpose().map_err(Problem::bug)
    };
    Ok(Draws {
        tenant: who(&traffic.tenant, &scenario.tenants)?,
        user: who(&traffic.user, &scenario.users)?,
        feature: features(&traffic.features, &scenario.features).map_err(Problem::bug)?,
        input_tokens: dist(&traffic.tokens.input)?,
        output_tokens: dist(&traffic.tokens.output)?,
        max_output_tokens: dist(&traffic.tokens.max_output)?,
        source_knows: !matches!(traffic.arrivals, Arrivals::Rate(_)),
    })
}

fn choice(who: &Who, population: &Population) -> Result<Choice, String> {
    Ok(match who {
        Who::Fixed(name) => Choice::Run { first: population.number(name).unwrap_or(0), pick: Pick::fixed(0) },
        Who::Uniform(count) => Choice::Run { first: 1, pick: Pick::uniform(*count)? },
        Who::Zipf { count, exponent } => Choice::Run { first: 1, pick: Pick::zipf(*count, *exponent)? },
    })
}

fn features(shares: &[(String, f64)], population: &Population) -> Result<Option<Choice>, String> {
    if shares.is_empty() {
        return Ok(None);
    }
    let weights: Vec<f64> = shares.iter().map(|(_, share)| *share).collect();
    let numbers = shares.iter().map(|(name, _)| population.number(name).unwrap_or(0)).collect();
    Ok(Some(Choice::Listed { numbers, pick: Pick::weighted(&weights)? }))
}
