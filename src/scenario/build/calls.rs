//! What the work of each downstream calls, as the engine takes it.

use super::clients::Clients;
use crate::dist::Dist;
use crate::engine::Call;
use crate::observe::EdgeLayout;
use crate::problem::Problem;
use crate::request::ClassId;
use crate::scenario::callers::Size;
use crate::scenario::graph::Post;
use crate::scenario::{Scenario, graph};

/// The calls of each post. Calls of one downstream to another share an edge.
pub(super) fn of<'a>(
    scenario: &'a Scenario,
    posts: &[Post],
    clients: &mut Clients<'a>,
) -> Result<Vec<Vec<Call>>, Problem> {
    let mut edges: Vec<(usize, usize)> = Vec::new();
    let mut all = Vec::new();
    for (number, post) in posts.iter().enumerate() {
        let mut calls = Vec::new();
        for call in &scenario.downstreams[post.downstream].hop.calls {
            let gate = posts.iter().position(|post| post.downstream == call.to);
            let gate = gate.ok_or_else(|| Problem::bug("a call leads nowhere"))?;
            let edge = edges.iter().position(|edge| *edge == (number, gate)).unwrap_or_else(|| {
                edges.push((number, gate));
                edges.len() - 1
            });
            let client = clients.of_downstream(scenario, number, call.client.or(post.client));
            calls.push(build(scenario, call, (gate, client, edge))?);
        }
        all.push(calls);
    }
    Ok(all)
}

fn build(
    scenario: &Scenario,
    call: &graph::Call,
    (gate, client, edge): (usize, usize, usize),
) -> Result<Call, Problem> {
    let times = match &call.times {
        Size::Fixed(count) => Dist::constant(f64::from(*count)).map_err(Problem::bug)?,
        Size::Drawn(dist) => dist.clone(),
    };
    let class =
        call.class.as_ref().and_then(|class| scenario.class(class)).map(|class| ClassId(class as u16));
    Ok(Call {
        gate,
        client,
        edge: edge as u16,
        class,
        times,
        share: call.share,
        at_once: call.at_once,
        beside: call.beside,
        wanted: call.wanted,
        max_depth: call.max_depth,
    })
}

/// The names of the edges, by number.
pub(super) fn edges(scenario: &Scenario, posts: &[Post], calls: &[Vec<Call>]) -> Vec<EdgeLayout> {
    let name = |number: usize| scenario.downstreams[posts[number].downstream].name.clone();
    let mut edges = Vec::new();
    for (number, call) in
        calls.iter().enumerate().flat_map(|(number, calls)| calls.iter().map(move |call| (number, call)))
    {
        let edge = usize::from(call.edge);
        if edges.len() <= edge {
            edges.resize_with(edge + 1, EdgeLayout::default);
        }
        edges[edge] = EdgeLayout { caller: name(number), target: name(call.gate) };
    }
    edges
}
