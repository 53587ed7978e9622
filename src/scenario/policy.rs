//! Policies as files describe them: stages, a queue, and the downstream behind them.

use super::directory::Directory;
use super::graph::read_stages;
use crate::engine::Take;
use crate::section::{At, Section, quote};

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
    /// Downstreams that are called, with what is otherwise under this policy.
    pub inner: Vec<Inner>,
}

/// What a policy changes at a downstream that is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inner {
    /// Number of the downstream.
    pub downstream: usize,
    /// Its stages here; `None` are its own.
    pub stages: Option<Vec<usize>>,
    /// Number of its queue here; `None` is its own.
    pub queue: Option<usize>,
    /// Number of the client through which it calls others here; `None` is its own.
    pub client: Option<usize>,
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
        let stages = read_stages(&mut s, scope.stages, "limiters and admission, in the order they are asked");
        let queue: Option<At<String>> = s.get("queue", "where work waits for room; none unless said");
        let downstream: Option<At<String>> = s.require("downstream", "what does the work");
        let take = s.one_of(
            "take",
            &Take::NAMES,
            Some(Take::AllOrNone),
            "whether limiters are charged together, or one after the other and leak",
        );
        let clients = clients(&mut s, scope);
        let inner = s.named("inner", "what is otherwise at a downstream that is called, by its name");
        let inner = inner.into_iter().filter_map(|(name, s)| Inner::read(&name, s, scope)).collect();
        s.finish();
        Policy {
            name,
            stages,
            queue: queue.and_then(|queue| scope.queues.find(&queue)),
            downstream: downstream.and_then(|downstream| scope.downstreams.find(&downstream)).unwrap_or(0),
            clients,
            take,
            inner,
        }
    }
}

impl Inner {
    fn read(name: &str, mut s: Section, scope: &Scope) -> Option<Inner> {
        let given = s.has("stages");
        let stages = read_stages(&mut s, scope.stages, "its limiters and admission; its own unless said");
        let queue: Option<At<String>> = s.get("queue", "its queue; its own unless said");
        let client: Option<At<String>> =
            s.get("client", "through which it calls others; its own unless said");
        let downstream = scope.downstreams.number(name);
        if downstream.is_none() && !s.is_description() {
            let what = format!("`{}` is about {}, which is no downstream", s.path(), quote(name));
            s.log().error(s.span(), what, s.log().suggest(name, scope.downstreams.names()));
        }
        s.finish();
        Some(Inner {
            downstream: downstream?,
            stages: given.then_some(stages),
            queue: queue.and_then(|queue| scope.queues.find(&queue)),
            client: client.and_then(|client| scope.clients.find(&client)),
        })
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
