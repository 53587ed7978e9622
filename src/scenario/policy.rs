//! Policies as files describe them: stages, a queue, and the downstream behind them.

use super::directory::Directory;
use crate::engine::Take;
use crate::section::{At, Section, quote};
use std::collections::BTreeSet;

/// A protection under comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// Numbers of its stages, in the order of the file.
    pub stages: Vec<usize>,
    /// Number of its queue; `None` rejects what has no room.
    pub queue: Option<usize>,
    /// Number of its downstream.
    pub downstream: usize,
    /// For each traffic, the number of the client that it has under this policy.
    pub clients: Vec<Option<usize>>,
    /// How limiters are charged.
    pub take: Take,
}

/// The names that a policy refers to, and the clients that traffics have otherwise.
pub struct Scope<'d, 'a> {
    /// Limiters and admission, in one namespace.
    pub stages: &'d Directory<'a>,
    /// Queues.
    pub queues: &'d Directory<'a>,
    /// Downstreams.
    pub downstreams: &'d Directory<'a>,
    /// Traffics.
    pub traffics: &'d Directory<'a>,
    /// Clients.
    pub clients: &'d Directory<'a>,
    /// For each traffic, the client that it has.
    pub usual: &'d [Option<usize>],
}

impl Policy {
    /// Reads and finishes `[policy.NAME]`.
    pub fn read(name: String, mut s: Section, scope: &Scope) -> Policy {
        let names: Vec<At<String>> =
            s.get_or("stages", Vec::new(), "limiters and admission, in the order they are asked");
        let mut seen = BTreeSet::new();
        let mut stages = Vec::new();
        for stage in names {
            match scope.stages.find(&stage) {
                Some(number) if seen.insert(number) => stages.push(number),
                Some(_) => {
                    let what = format!("`{}` has {} twice", s.path_of("stages"), quote(&stage.value));
                    s.log().error(stage.span, what, "take one out: a stage is asked once");
                }
                None => {}
            }
        }
        let queue: Option<At<String>> = s.get("queue", "where work waits for room; none unless said");
        let downstream: Option<At<String>> = s.require("downstream", "what does the work");
        let take = s.one_of(
            "take",
            &Take::NAMES,
            Some(Take::AllOrNone),
            "whether limiters are charged together, or one after the other and leak",
        );
        let clients = clients(&mut s, scope);
        s.finish();
        Policy {
            name,
            stages,
            queue: queue.and_then(|queue| scope.queues.find(&queue)),
            downstream: downstream.and_then(|downstream| scope.downstreams.find(&downstream)).unwrap_or(0),
            clients,
            take,
        }
    }
}

/// The clients under this policy: the usual ones but for those that `client = { traffic = "client" }` replaces.
fn clients(s: &mut Section, scope: &Scope) -> Vec<Option<usize>> {
    let mut clients = scope.usual.to_vec();
    let Some(mut table) = s.section("client", "other clients for some traffics, as `traffic = \"client\"`")
    else {
        return clients;
    };
    for name in table.keys() {
        let client: Option<At<String>> = table.require(&name, "the client that this traffic has here");
        let client = client.and_then(|client| scope.clients.find(&client));
        match scope.traffics.number(&name) {
            Some(traffic) => clients[traffic] = client,
            None => {
                let what = format!("`{}` names a traffic {} that there is not", table.path(), quote(&name));
                table.log().error(
                    table.key_span(&name),
                    what,
                    table.log().suggest(&name, scope.traffics.names()),
                );
            }
        }
    }
    table.finish();
    clients
}
