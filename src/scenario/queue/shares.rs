//! `kind = "fair"`, `"drr"`, `"sfq"` and `"shuffle_sharding"`: queues that share between keys.

use super::{Kind, Order, Shares};
use crate::queue::deck::Deck;
use crate::queue::shuffle_sharding::Sharding;
use crate::request::{Key, Unit};
use crate::scenario::client::not_zero;
use crate::scenario::width;
use crate::section::{Amount, At, Section};
use crate::time::Nanos;

pub(super) const FAIR: Kind = Kind {
    name: "fair",
    about: "one call of each key in turn",
    question: "Does one caller's crowd keep the others waiting?",
    formula: "round robin over keys",
    source: "Nagle, RFC 970, 1985",
    read: |s| Order::Fair(Shares { key: key(s), unit: Unit::Requests, weights: Some(Vec::new()) }),
};

pub(super) const DEFICIT_ROUND_ROBIN: Kind = Kind {
    name: "drr",
    about: "deficit round robin: a quantum for each key in turn, kept until it can be spent",
    question: "Who gets how much when calls cost different amounts?",
    formula: "deficit += quantum * weight; start while cost <= deficit",
    source: "Shreedhar and Varghese, SIGCOMM 1995",
    read: read_deficit_round_robin,
};

pub(super) const START_TIME_FAIR: Kind = Kind {
    name: "sfq",
    about: "start-time fair: capacity in proportion to weights, by virtual time",
    question: "How close to its share does each key stay, over any stretch of time?",
    formula: "S = max(v, F); F = S + cost / weight",
    source: "Goyal, Vin and Cheng, SIGCOMM 1996",
    read: |s| Order::StartTimeFair(shares(s)),
};

pub(super) const SHUFFLE_SHARDING: Kind = Kind {
    name: "shuffle_sharding",
    about: "deals each key a hand of queues, of which it joins the shortest; the queues are served fairly",
    question: "Does a crowd of one key leave others a queue that it isn't in, however many keys there are?",
    formula: "join the shortest queue of hand(hash of key); start the first of the queue with the least time + \
        seats * expected_service; time += that at the start, += seats * (actual - expected_service) at the end",
    source: "Kubernetes, API priority and fairness, KEP-1040, `queueset.go`",
    read: read_deck,
};

fn read_deck(s: &mut Section) -> Order {
    let key = key(s);
    let queues = s.get_or("queues", 64u32, "how many queues there are");
    let hand_size = s.get_or("hand_size", 8u32, "how many of them a key is dealt");
    let queue_length = s.get_or("queue_length", 50u64, "how many may wait in each");
    let is_a_hand = 0 < hand_size && hand_size <= queues && queues <= MOST_QUEUES;
    if !is_a_hand {
        let what = format!("`{}` deals hands of {hand_size} from {queues} queues", s.path());
        s.problem("hand_size", what, format!("write 1 to `queues`, and at most {MOST_QUEUES} queues"));
    } else if !Deck::can_deal(queues, hand_size) {
        let what = format!("`{}`: {hand_size} of {queues} queues are more than 60 bits can deal", s.path());
        s.problem("hand_size", what, "write fewer, so that ⌈hand_size · log2(queues)⌉ is 60 at most");
    }
    if queue_length == 0 {
        let what = format!("`{}` is 0: nobody ever waits", s.path_of("queue_length"));
        s.problem("queue_length", what, "write 1 or more");
    }
    let per_class =
        s.get_or("per_class", false, "whether each class has queues of its own, as a priority level has");
    let expected_service = s.get_or(
        "expected_service",
        Nanos::millis(3),
        "how long a call is thought to take, until it has ended",
    );
    not_zero(s, "expected_service", Some(expected_service));
    let width = width::read(s);
    let (queues, hand_size) = if is_a_hand { (queues, hand_size) } else { (1, 1) };
    Order::ShuffleSharding(Sharding {
        key,
        deck: Deck { queues, hand_size },
        queue_length: queue_length.max(1),
        per_class,
        width,
        expected_service: expected_service.max(Nanos(1)),
    })
}

/// More queues than anybody has.
const MOST_QUEUES: u32 = 65_536;

fn key(s: &mut Section) -> Key {
    s.one_of("key", &Key::NAMES, None, "between whom capacity is shared")
}

fn shares(s: &mut Section) -> Shares {
    let key = key(s);
    let unit = s.one_of("unit", &Unit::NAMES, Some(Unit::Requests), "what is shared out");
    let table = s.section("weights", "weights by name, 1 for others; those of the classes unless said");
    Shares { key, unit, weights: table.map(read_weights) }
}

fn read_weights(mut s: Section) -> Vec<(At<String>, u32)> {
    let mut weights = Vec::new();
    for name in s.keys() {
        let weight: u32 = s.need(&name, "the weight of this key");
        if weight == 0 {
            s.problem(&name, format!("`{}` is 0: it would never start", s.path_of(&name)), "write 1 or more");
        }
        weights.push((At { span: s.key_span(&name), value: name }, weight.max(1)));
    }
    s.finish();
    weights
}

fn read_deficit_round_robin(s: &mut Section) -> Order {
    let shares = shares(s);
    let quantum: Option<Amount> =
        s.get("quantum", "what each turn brings, times the weight; 1 request or 1000 tokens unless said");
    if quantum == Some(Amount(0)) {
        s.problem(
            "quantum",
            format!("`{}` is 0: nothing ever starts", s.path_of("quantum")),
            "write 1 or more",
        );
    }
    let usual = if shares.unit == Unit::Requests { 1 } else { 1_000 };
    Order::DeficitRoundRobin(shares, quantum.map_or(usual, |quantum| quantum.0.max(1)))
}
