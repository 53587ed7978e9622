//! A queue as the engine takes it.

use super::Prepared;
use crate::queue::adaptive_lifo::AdaptiveLifo;
use crate::queue::bounds::{Bounds, Overflow};
use crate::queue::drr::DeficitRoundRobin;
use crate::queue::edf::EarliestDeadline;
use crate::queue::fair::Fair;
use crate::queue::fifo::{Fifo, InOrder};
use crate::queue::flows::Sharing;
use crate::queue::lifo::Lifo;
use crate::queue::line::{self, Line};
use crate::queue::priority::Priority;
use crate::queue::sfq::StartTimeFair;
use crate::queue::shuffle_sharding::ShuffleSharding;
use crate::queue::weights::Weights;
use crate::queue::{self, AnyQueue};
use crate::request::Key;
use crate::scenario::queue::{Order, Queue, Shares};

/// The queue before anything waits in it.
pub(super) fn build(prepared: &Prepared, queue: &Queue) -> AnyQueue {
    match &queue.order {
        Order::Fifo { head_of_line_blocks } if is_plain(queue) => {
            Fifo::new(queue.max_length, queue.max_wait).head_of_line(*head_of_line_blocks).into()
        }
        Order::Fifo { head_of_line_blocks } => {
            boxed(line(prepared, queue, InOrder::default()).head_of_line(*head_of_line_blocks))
        }
        Order::Lifo => boxed(line(prepared, queue, Lifo::default())),
        Order::AdaptiveLifo(backlog) => boxed(line(prepared, queue, AdaptiveLifo::new(*backlog))),
        Order::Priority { ageing } => {
            boxed(line(prepared, queue, Priority::new(priorities(prepared), *ageing)))
        }
        Order::EarliestDeadline { shortest_service } => {
            boxed(line(prepared, queue, EarliestDeadline::default()).drop_infeasible(*shortest_service))
        }
        Order::Fair(shares) => boxed(line(prepared, queue, Fair::new(sharing(prepared, shares)))),
        Order::DeficitRoundRobin(shares, quantum) => {
            boxed(line(prepared, queue, DeficitRoundRobin::new(sharing(prepared, shares), *quantum)))
        }
        Order::StartTimeFair(shares) => {
            boxed(line(prepared, queue, StartTimeFair::new(sharing(prepared, shares))))
        }
        Order::ShuffleSharding(sharding) => boxed(line(prepared, queue, ShuffleSharding::new(*sharding))),
    }
}

/// Whether it is bounded in length and wait alone, so that it can be held by value.
fn is_plain(queue: &Queue) -> bool {
    queue.overflow == Overflow::Newest
        && queue.law.is_none()
        && queue.max_tokens.is_none()
        && queue.max_predicted_wait.is_none()
}

fn boxed(queue: impl queue::Queue + 'static) -> AnyQueue {
    AnyQueue::Other(Box::new(queue))
}

fn line<O: line::Order>(prepared: &Prepared, queue: &Queue, order: O) -> Line<O> {
    let bounds = Bounds {
        max_length: queue.max_length,
        max_tokens: queue.max_tokens,
        max_predicted_wait: queue.max_predicted_wait,
        overflow: queue.overflow,
        priorities: priorities(prepared),
    };
    Line::new(order, bounds, queue.max_wait).law(queue.law.map(|law| law.build()))
}

pub(super) fn priorities(prepared: &Prepared) -> Vec<i32> {
    prepared.scenario.classes.iter().map(|class| class.priority).collect()
}

fn sharing(prepared: &Prepared, shares: &Shares) -> Sharing {
    let classes = &prepared.scenario.classes;
    let mut weights = match (&shares.weights, shares.key) {
        (None, Key::Class) => classes.iter().map(|class| class.weight).collect(),
        _ => Vec::new(),
    };
    for (name, weight) in shares.listed() {
        let Some(number) = prepared.number(shares.key, &name.value) else { continue };
        let index = number as usize;
        if weights.len() <= index {
            weights.resize(index + 1, 1);
        }
        weights[index] = *weight;
    }
    Sharing { key: shares.key, unit: shares.unit, weights: Weights::new(weights) }
}
