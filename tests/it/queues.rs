//! Each queue discipline beside an obvious one that looks through everything that waits; fair queues held to their
//! bounds; the laws of dequeuing to their definitions.

use crate::support::{queue, run, vectors, whole};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use tidegate::observe::Count;
use tidegate::queue::codel::CoDel;
use tidegate::queue::controlled_delay::Folly;
use tidegate::queue::line::Law;
use tidegate::queue::{AnyQueue, Queue, Ticket};
use tidegate::request::{Ask, ClassId};
use tidegate::scenario::queue::KINDS;
use tidegate::time::{Nanos, SimTime};

/// Three classes, by name in the order of their numbers (and `default`, the fourth).
const CLASSES: &str = "[class.a]\npriority = 0\nweight = 1\n[class.b]\npriority = 3\nweight = 2\n\
    [class.c]\npriority = -2\nweight = 3\n";
const PRIORITIES: [i128; 3] = [0, 3, -2];
const WEIGHTS: [u64; 3] = [1, 2, 3];

/// Configurations that stand for their kinds. A kind without one fails.
fn cases(kind: &str) -> &'static [&'static str] {
    match kind {
        "fifo" => &["", "kind = 'fifo'\nmax_tokens = 1000000"],
        "lifo" => &["kind = 'lifo'"],
        "adaptive_lifo" => &[
            "kind = 'adaptive_lifo'\nlifo_above = 5\nfifo_below = 2",
            "kind = 'adaptive_lifo'\nlifo_above = '60ns'\nfifo_below = '20ns'",
        ],
        "priority" => &["kind = 'priority'", "kind = 'priority'\nageing = '17ns'"],
        "edf" => &["kind = 'edf'"],
        "fair" => &["kind = 'fair'\nkey = 'class'"],
        "drr" => &[
            "kind = 'drr'\nkey = 'class'",
            "kind = 'drr'\nkey = 'class'\nunit = 'tokens'\nquantum = 7",
            "kind = 'drr'\nkey = 'class'\nunit = 'tokens'\nquantum = 50\nweights = { a = 5 }",
        ],
        "shuffle_sharding" => &[
            "kind = 'shuffle_sharding'\nkey = 'class'\nqueues = 8\nhand_size = 3\nqueue_length = 1000",
            "kind = 'shuffle_sharding'\nkey = 'user'\nqueues = 3\nhand_size = 2\nqueue_length = 1000\n\
                 per_class = true\nexpected_service = '7ns'\nwidth = { per_seat = 9, most = 3 }",
        ],
        "sfq" => &["kind = 'sfq'\nkey = 'class'", "kind = 'sfq'\nkey = 'class'\nunit = 'tokens'"],
        other => panic!("the kind `{other}` of the registry has no case in tests/it/queues.rs: add some"),
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Class, tokens, and how far off the deadline is.
    Push(u16, u32, u64),
    /// The one at this place of the walk leaves.
    Remove(usize),
    /// The first starts.
    Start,
    /// The walk passes over so many, and the next starts.
    PassOver(usize),
    Later(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let push = (0u16..3, 0u32..40, prop_oneof![0u64..200, Just(1_000_000)]);
    let step = prop_oneof![
        5 => push.prop_map(|(class, tokens, deadline)| Step::Push(class, tokens, deadline)),
        1 => (0usize..12).prop_map(Step::Remove),
        3 => Just(Step::Start),
        1 => (0usize..12).prop_map(Step::PassOver),
        2 => (1u64..40).prop_map(Step::Later),
    ];
    prop::collection::vec(step, 1..150)
}

fn ask(class: u16, tokens: u32) -> Ask {
    Ask { class: ClassId(class), input_tokens: tokens, ..Ask::default() }
}

/// All that wait, in the order of the queue.
fn walk(queue: &AnyQueue, now: SimTime) -> Vec<Ticket> {
    std::iter::successors(queue.first(now), |ticket| queue.next(now, *ticket)).take(10_000).collect()
}

fn sorted(tickets: impl IntoIterator<Item = Ticket>) -> Vec<u32> {
    let mut numbers: Vec<u32> = tickets.into_iter().map(|ticket| ticket.0).collect();
    numbers.sort_unstable();
    numbers
}

/// One that waits in the slow queue.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Waiter {
    ticket: Ticket,
    sequence: u64,
    came: u64,
    class: u16,
    tokens: u64,
    deadline: u64,
}

/// Everything that waits in a heap, looked through anew for each question.
#[derive(Default)]
struct Slow {
    waiting: Vec<Waiter>,
    sequence: u64,
    free: Vec<u32>,
    tickets: u32,
}

impl Slow {
    fn push(&mut self, now: SimTime, class: u16, tokens: u32, deadline: SimTime) -> Waiter {
        // Tickets are used again in an order that has nothing to do with that of arrival.
        let ticket = Ticket(self.free.pop().unwrap_or_else(|| {
            self.tickets += 1;
            self.tickets - 1
        }));
        self.sequence += 1;
        let (sequence, tokens) = (self.sequence, u64::from(tokens));
        let waiter = Waiter { ticket, sequence, came: now.0, class, tokens, deadline: deadline.0 };
        self.waiting.push(waiter);
        waiter
    }

    fn take(&mut self, ticket: Ticket) -> Waiter {
        let at = self.waiting.iter().position(|waiter| waiter.ticket == ticket).expect("it waits");
        self.free.push(ticket.0);
        self.waiting.remove(at)
    }

    fn by_key<K: Ord>(&self, key: impl Fn(&Waiter) -> K) -> Vec<Ticket> {
        let mut all = self.waiting.clone();
        all.sort_by_key(|waiter| (key(waiter), waiter.sequence));
        all.iter().map(|waiter| waiter.ticket).collect()
    }

    fn class(&self, class: u16) -> impl Iterator<Item = &Waiter> {
        self.waiting.iter().filter(move |waiter| waiter.class == class)
    }
}

/// Runs the steps through a queue and the slow one; `tell` hears of each change, `agree` compares.
fn compare<M: Default>(
    keys: &str,
    steps: &[Step],
    tell: impl Fn(&mut M, &Slow, u64, Told),
    agree: impl Fn(&M, &Slow, SimTime, &[Ticket]) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let mut queue = queue(&format!("max_length = 'unlimited'\n{keys}"), CLASSES);
    let (mut slow, mut model, mut now) = (Slow::default(), M::default(), SimTime::ZERO);
    for step in steps {
        let order = walk(&queue, now);
        let place = |at: usize| order.get(at % order.len().max(1)).copied();
        match *step {
            Step::Later(length) => now = SimTime(now.0 + length),
            Step::Push(class, tokens, deadline) => {
                let (ask, deadline) = (ask(class, tokens), SimTime(now.0 + deadline));
                prop_assert!(queue.has_room(&ask));
                let waiter = slow.push(now, class, tokens, deadline);
                queue.push(now, waiter.ticket, &ask, deadline);
                tell(&mut model, &slow, now.0, Told::Came(waiter));
            }
            Step::Remove(at) => {
                let Some(ticket) = place(at) else { continue };
                queue.remove(now, ticket);
                let waiter = slow.take(ticket);
                tell(&mut model, &slow, now.0, Told::Left(waiter));
            }
            Step::Start | Step::PassOver(_) => {
                let at = if let Step::PassOver(at) = step { at % order.len().max(1) } else { 0 };
                let Some(ticket) = place(at) else { continue };
                let next = queue.start(now, ticket);
                let waiter = slow.take(ticket);
                tell(&mut model, &slow, now.0, Told::Started(waiter));
                // Those passed over, and those that the rest of the walk comes by, are all that wait.
                let rest = std::iter::successors(next, |ticket| queue.next(now, *ticket)).take(10_000);
                let mut seen = sorted(order[..at].iter().copied().chain(rest));
                seen.dedup();
                prop_assert_eq!(seen, sorted(slow.waiting.iter().map(|waiter| waiter.ticket)));
            }
        }
        let order = walk(&queue, now);
        prop_assert_eq!(order.len() as u64, queue.len());
        prop_assert_eq!(
            sorted(order.iter().copied()),
            sorted(slow.waiting.iter().map(|waiter| waiter.ticket)),
            "all are walked by, once"
        );
        agree(&model, &slow, now, &order)?;
    }
    Ok(())
}

#[derive(Clone, Copy, Debug)]
enum Told {
    Came(Waiter),
    Left(Waiter),
    Started(Waiter),
}

/// Whether the newest go first.
#[derive(Default)]
struct Turned(bool);

/// Round robin with deficits, turn by turn.
#[derive(Default)]
struct Rounds {
    round: VecDeque<u16>,
    deficit: BTreeMap<u16, u64>,
}

impl Rounds {
    /// Ends turns one by one until the first can pay.
    fn settle(&mut self, slow: &Slow, quantum: &dyn Fn(u16) -> u64, cost: &dyn Fn(&Waiter) -> u64) {
        while let Some(class) = self.round.front().copied() {
            let head = slow.class(class).next().expect("flows in the round have somebody");
            if cost(head) <= self.deficit[&class] {
                break;
            }
            self.round.rotate_left(1);
            let next = self.round[0];
            *self.deficit.entry(next).or_default() += quantum(next);
        }
    }

    fn hear(&mut self, slow: &Slow, told: Told, quantum: &dyn Fn(u16) -> u64, cost: &dyn Fn(&Waiter) -> u64) {
        match told {
            Told::Came(waiter) if !self.round.contains(&waiter.class) => {
                self.round.push_back(waiter.class);
                self.deficit.insert(waiter.class, 0);
                if self.round.len() == 1 {
                    self.deficit.insert(waiter.class, quantum(waiter.class));
                }
            }
            Told::Came(_) => {}
            Told::Left(waiter) | Told::Started(waiter) => {
                let deficit = self.deficit.get_mut(&waiter.class).expect("it was in the round");
                if let Told::Started(..) = told {
                    while *deficit < cost(&waiter) {
                        *deficit += quantum(waiter.class);
                    }
                    *deficit -= cost(&waiter);
                }
                if slow.class(waiter.class).next().is_none() {
                    let had_its_turn = self.round.front() == Some(&waiter.class);
                    self.round.retain(|class| *class != waiter.class);
                    if let (true, Some(next)) = (had_its_turn, self.round.front()) {
                        *self.deficit.get_mut(next).expect("it is in the round") += quantum(*next);
                    }
                }
            }
        }
        self.settle(slow, quantum, cost);
    }
}

/// Start-time fair tags as the paper has them, reckoned when a call comes. In sixths, for weights 1, 2 and 3.
#[derive(Default)]
struct Tags {
    virtual_time: u64,
    last_finish: BTreeMap<u16, u64>,
    /// By sequence.
    start: BTreeMap<u64, u64>,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_kind_walks_by_each_that_waits_exactly_once(steps in steps()) {
        for keys in KINDS.iter().flat_map(|kind| cases(kind.name)) {
            compare::<()>(keys, &steps, |_, _, _, _| {}, |_, _, _, _| Ok(()))?;
        }
    }

    #[test]
    fn queues_by_a_key_walk_in_its_order(steps in steps()) {
        type Key = fn(&Waiter) -> i128;
        let kinds: [(&str, Key); 5] = [
            (cases("fifo")[0], |_| 0),
            (cases("fifo")[1], |_| 0),
            (cases("lifo")[0], |waiter| -i128::from(waiter.sequence)),
            (cases("priority")[0], |waiter| -PRIORITIES[usize::from(waiter.class)]),
            (cases("edf")[0], |waiter| waiter.deadline.into()),
        ];
        for (keys, key) in kinds {
            compare::<()>(keys, &steps, |_, _, _, _| {}, |_, slow, _, order| {
                prop_assert_eq!(order, &slow.by_key(key)[..], "{}", keys);
                Ok(())
            })?;
        }
    }

    /// Priority plus wait over ageing, as fractions.
    #[test]
    fn a_wait_makes_up_for_priority(steps in steps()) {
        compare::<()>(cases("priority")[1], &steps, |_, _, _, _| {}, |_, slow, now, order| {
            let standing = |waiter: &Waiter| {
                -(17 * PRIORITIES[usize::from(waiter.class)] + i128::from(now.0 - waiter.came))
            };
            prop_assert_eq!(order, &slow.by_key(standing)[..]);
            Ok(())
        })?;
    }

    #[test]
    fn the_newest_go_first_from_the_backlog_above_down_to_the_one_below(steps in steps()) {
        let by_sequence = |turned: bool, slow: &Slow| {
            let sign = if turned { -1 } else { 1 };
            slow.by_key(|waiter| sign * waiter.sequence as i64)
        };
        compare::<Turned>(cases("adaptive_lifo")[0], &steps, |turned, slow, _, _| {
            let waiting = slow.waiting.len();
            turned.0 = if turned.0 { 2 < waiting } else { 5 <= waiting };
        }, |turned, slow, _, order| {
            prop_assert_eq!(order, &by_sequence(turned.0, slow)[..]);
            Ok(())
        })?;
        let look = |turned: bool, slow: &Slow, now: u64| {
            let age = slow.waiting.iter().map(|waiter| now - waiter.came).max().unwrap_or(0);
            if turned { 20 < age } else { 60 <= age }
        };
        compare::<Turned>(cases("adaptive_lifo")[1], &steps, |turned, slow, now, told| {
            // Who leaves is counted for a last time before.
            if let Told::Left(waiter) | Told::Started(waiter) = told {
                let before = Slow { waiting: [slow.waiting.clone(), vec![waiter]].concat(), ..Slow::default() };
                turned.0 = look(turned.0, &before, now);
            }
            turned.0 = look(turned.0, slow, now);
        }, |turned, slow, now, order| {
            prop_assert_eq!(order, &by_sequence(look(turned.0, slow, now.0), slow)[..]);
            Ok(())
        })?;
    }

    #[test]
    fn a_fair_queue_takes_one_of_each_class_in_turn(steps in steps()) {
        compare::<VecDeque<u16>>(cases("fair")[0], &steps, |round, slow, _, told| match told {
            Told::Came(waiter) => if !round.contains(&waiter.class) { round.push_back(waiter.class) },
            Told::Left(waiter) => if slow.class(waiter.class).next().is_none() {
                round.retain(|class| *class != waiter.class);
            },
            Told::Started(waiter) => {
                round.retain(|class| *class != waiter.class);
                if slow.class(waiter.class).next().is_some() {
                    round.push_back(waiter.class);
                }
            }
        }, |round, slow, _, order| {
            let flat = round.iter().flat_map(|class| slow.class(*class)).map(|waiter| waiter.ticket);
            prop_assert_eq!(order, &flat.collect::<Vec<_>>()[..]);
            Ok(())
        })?;
    }

    #[test]
    fn deficits_are_those_of_turns_taken_one_by_one(steps in steps()) {
        type Cost = fn(&Waiter) -> u64;
        let tokens: Cost = |waiter| waiter.tokens.max(1);
        let kinds: [(&str, u64, [u64; 3], Cost); 3] = [
            (cases("drr")[0], 1, WEIGHTS, |_| 1),
            (cases("drr")[1], 7, WEIGHTS, tokens),
            (cases("drr")[2], 50, [5, 1, 1], tokens),
        ];
        for (keys, quantum, weights, cost) in kinds {
            let quantum = move |class: u16| quantum * weights[usize::from(class)];
            compare::<Rounds>(keys, &steps, |rounds, slow, _, told| {
                rounds.hear(slow, told, &quantum, &cost);
            }, |rounds, slow, _, order| {
                let flat = rounds.round.iter().flat_map(|class| slow.class(*class)).map(|waiter| waiter.ticket);
                prop_assert_eq!(order, &flat.collect::<Vec<_>>()[..], "{}", keys);
                Ok(())
            })?;
        }
    }

    /// Tags as the paper gives them, when calls come; so nobody leaves or is passed over here.
    #[test]
    fn start_tags_are_those_of_the_paper(steps in steps()) {
        let steps: Vec<Step> =
            steps.into_iter().filter(|step| !matches!(step, Step::Remove(_) | Step::PassOver(_))).collect();
        for (at, keys) in cases("sfq").iter().enumerate() {
            let cost = |waiter: &Waiter| if at == 0 { 1 } else { waiter.tokens.max(1) };
            compare::<Tags>(keys, &steps, |tags, _, _, told| match told {
                Told::Came(waiter) => {
                    let last = tags.last_finish.entry(waiter.class).or_default();
                    let start = tags.virtual_time.max(*last);
                    *last = start + 6 / WEIGHTS[usize::from(waiter.class)] * cost(&waiter);
                    tags.start.insert(waiter.sequence, start);
                }
                Told::Left(_) => unreachable!("they were filtered out"),
                Told::Started(waiter) => tags.virtual_time = tags.start[&waiter.sequence],
            }, |tags, slow, _, order| {
                let first = slow.waiting.iter().min_by_key(|waiter| (tags.start[&waiter.sequence], waiter.sequence));
                prop_assert_eq!(order.first().copied(), first.map(|waiter| waiter.ticket), "{}", keys);
                Ok(())
            })?;
        }
    }

    /// Shreedhar and Varghese, theorem 2, and Goyal, Vin and Cheng, theorem 1: over any stretch of time in which two
    /// flows wait, what they get per unit of weight differs by so much at most.
    #[test]
    fn flows_that_wait_all_the_time_stay_within_the_bounds_of_their_queue(
        costs in prop::collection::vec((0u16..3, 1u32..60), 300),
        quantum in 1u64..120,
    ) {
        let dearest = |class: u16| {
            f64::from(costs.iter().filter(|(of, _)| *of == class).map(|(_, cost)| *cost).max().unwrap_or(1))
        };
        let per_weight = |class: u16| dearest(class) / WEIGHTS[usize::from(class)] as f64;
        let drr = format!("kind = 'drr'\nkey = 'class'\nunit = 'tokens'\nquantum = {quantum}");
        for (keys, slack) in [(drr.as_str(), quantum as f64), (cases("sfq")[1], 0.0)] {
            let mut queue = queue(&format!("max_length = 'unlimited'\n{keys}"), CLASSES);
            let mut left = [0; 3];
            for (ticket, (class, cost)) in costs.iter().enumerate() {
                queue.push(SimTime::ZERO, Ticket(ticket as u32), &ask(*class, *cost), SimTime::ZERO);
                left[usize::from(*class)] += 1;
            }
            // The least and most that one flow was ahead of another while both had somebody waiting.
            let (mut served, mut ahead) = ([0.0; 3], [[(0.0f64, 0.0f64); 3]; 3]);
            while let Some(ticket) = queue.first(SimTime::ZERO) {
                queue.start(SimTime::ZERO, ticket);
                let (class, cost) = costs[ticket.0 as usize];
                let class = usize::from(class);
                served[class] += f64::from(cost) / WEIGHTS[class] as f64;
                for (one, other) in [(0usize, 1usize), (0, 2), (1, 2)] {
                    if left[one] > 0 && left[other] > 0 {
                        let (least, most) = &mut ahead[one][other];
                        *least = least.min(served[one] - served[other]);
                        *most = most.max(served[one] - served[other]);
                        let bound = slack + per_weight(one as u16) + per_weight(other as u16);
                        prop_assert!(*most - *least <= bound + 1e-9, "{}: {} to {}, {}", keys, least, most, bound);
                    }
                }
                left[class] -= 1;
            }
        }
    }

    /// Requests of one unit each: within one quantum of the weights, and after whole rounds exactly at them.
    #[test]
    fn weights_are_kept_within_one_quantum(each in 12u32..60) {
        for keys in ["kind = 'drr'\nkey = 'class'", "kind = 'sfq'\nkey = 'class'"] {
            let mut queue = queue(&format!("max_length = 'unlimited'\n{keys}"), CLASSES);
            for ticket in 0..3 * each {
                queue.push(SimTime::ZERO, Ticket(ticket), &ask((ticket % 3) as u16, 9), SimTime::ZERO);
            }
            let mut served = [0u64; 3];
            for count in 1..=2 * u64::from(each) {
                let Some(ticket) = queue.first(SimTime::ZERO) else { break };
                queue.start(SimTime::ZERO, ticket);
                served[ticket.0 as usize % 3] += 1;
                if served[2] == u64::from(each) {
                    break;
                }
                for (one, other) in [(0, 1), (0, 2), (1, 2)] {
                    let (one, other) = (served[one] * 6 / WEIGHTS[one], served[other] * 6 / WEIGHTS[other]);
                    prop_assert!(one.abs_diff(other) <= 6, "{}: {:?}", keys, served);
                }
                if count % 6 == 0 && keys.contains("drr") {
                    prop_assert_eq!(served, [count / 6, count / 3, count / 2]);
                }
            }
        }
    }

    #[test]
    fn equal_flows_that_wait_all_the_time_have_a_jain_index_of_one(
        tenants in 2u32..9, rounds in 1u32..9, order in prop::collection::vec(0u32..9, 200)
    ) {
        for kind in ["fair", "drr", "sfq"] {
            let mut queue = queue(&format!("kind = '{kind}'\nkey = 'tenant'\nmax_length = 'unlimited'"), "");
            // Each has enough, in an order of no meaning, some much more.
            let regular = (0..tenants * rounds).map(|at| at % tenants);
            for (ticket, tenant) in order.iter().map(|at| at % tenants).chain(regular).enumerate() {
                let ask = Ask { tenant, ..Ask::default() };
                queue.push(SimTime::ZERO, Ticket(ticket as u32), &ask, SimTime::ZERO);
            }
            let tenant_of = |ticket: Ticket| match order.get(ticket.0 as usize) {
                Some(at) => at % tenants,
                None => (ticket.0 - order.len() as u32) % tenants,
            };
            let mut served = vec![0.0; tenants as usize];
            for _ in 0..tenants * rounds {
                let ticket = queue.first(SimTime::ZERO).expect("enough wait");
                queue.start(SimTime::ZERO, ticket);
                served[tenant_of(ticket) as usize] += 1.0;
            }
            let (sum, squares) = (served.iter().sum::<f64>(), served.iter().map(|x| x * x).sum::<f64>());
            prop_assert_eq!(sum * sum / (served.len() as f64 * squares), 1.0, "{}: {:?}", kind, served);
        }
    }

    /// The loop of the RFC, section 5, over a plain queue of instants.
    #[test]
    fn codel_drops_what_the_loop_of_the_rfc_drops(
        steps in prop::collection::vec((0u32..6, 0u64..40), 1..400)
    ) {
        let keys = "max_length = 'unlimited'\ncodel = { target = '5ms', interval = '100ms' }";
        let (mut queue, mut slow, mut now, mut ticket) = (queue(keys, ""), Rfc::default(), 0, 0);
        for (pushes, later) in steps {
            now += later * 1_000_000;
            for _ in 0..pushes.saturating_sub(2) {
                queue.push(SimTime(now), Ticket(ticket), &Ask::default(), SimTime::ZERO);
                slow.waiting.push_back((now, ticket));
                ticket += 1;
            }
            let expected = slow.dequeue(now);
            prop_assert_eq!(dequeue(&mut queue, SimTime(now)), expected, "at {} ms", now / 1_000_000);
        }
    }
}

/// Who starts, and who is shed before it.
type Dequeued = (Option<u32>, Vec<u32>);

fn dequeue(queue: &mut AnyQueue, now: SimTime) -> Dequeued {
    let mut shed = Vec::new();
    while let Some(ticket) = queue.first(now) {
        if !queue.sheds(now, ticket) {
            queue.start(now, ticket);
            return (Some(ticket.0), shed);
        }
        queue.remove(now, ticket);
        shed.push(ticket.0);
    }
    (None, shed)
}

/// RFC 8289 with times as floats, at 5 ms and 100 ms.
#[derive(Default)]
struct Rfc {
    waiting: VecDeque<(u64, u32)>,
    first_above: f64,
    drop_next: f64,
    count: f64,
    last_count: f64,
    dropping: bool,
}

impl Rfc {
    /// The head, and whether it may be dropped.
    fn head(&mut self, now: u64) -> (Option<u32>, bool) {
        let head = self.waiting.pop_front();
        let long = head.is_some_and(|(came, _)| 5_000_000 <= now - came) && !self.waiting.is_empty();
        let mut ok = false;
        if !long {
            self.first_above = 0.0;
        } else if self.first_above == 0.0 {
            self.first_above = now as f64 + 1e8;
        } else {
            ok = self.first_above <= now as f64;
        }
        (head.map(|(_, ticket)| ticket), ok)
    }

    fn dequeue(&mut self, now: u64) -> Dequeued {
        let mut shed = Vec::new();
        let (mut head, mut ok) = self.head(now);
        if self.dropping {
            self.dropping = ok;
            while self.dropping && self.drop_next <= now as f64 {
                shed.extend(head);
                self.count += 1.0;
                (head, ok) = self.head(now);
                if ok {
                    self.drop_next += 1e8 / self.count.sqrt();
                } else {
                    self.dropping = false;
                }
            }
        } else if ok {
            shed.extend(head);
            (head, _) = self.head(now);
            self.dropping = true;
            let delta = self.count - self.last_count;
            let recent = now as f64 - self.drop_next < 16e8;
            self.count = if 1.0 < delta && recent { delta } else { 1.0 };
            self.drop_next = now as f64 + 1e8 / self.count.sqrt();
            self.last_count = self.count;
        }
        (head, shed)
    }
}

const MS: u64 = 1_000_000;

fn codel() -> CoDel {
    CoDel::new(Nanos::millis(5), Nanos::millis(100))
}

/// The sums of 100 ms / √n, reckoned with fifty digits and rounded to the nanosecond.
const DROPS: [u64; 34] = [
    0, 100000000, 170710678, 228445705, 278445705, 323167065, 363991894, 401788341, 437143680, 470477013,
    502099790, 532250924, 561118438, 588853448, 615579572, 641399461, 666399461, 690653023, 714223249,
    737164823, 759525503, 781347292, 802667363, 823518805, 843931219, 863931219, 883542833, 902787842,
    921686065, 940255599, 958513018, 976473548, 994151217, 1011558983,
];

#[test]
fn codel_drops_at_the_instants_of_the_rfc() {
    let (mut law, start) = (codel(), 7_000_000_123);
    let long = Nanos::SECOND;
    assert!(!law.sheds(SimTime(start - 100 * MS), long, false), "the interval begins");
    for drop in DROPS {
        assert!(!law.sheds(SimTime(start + drop - 1), long, false), "a nanosecond before {drop}");
        assert!(law.sheds(SimTime(start + drop), long, false), "at {drop}");
        assert!(!law.sheds(SimTime(start + drop), long, false), "the next one starts");
    }
    assert_eq!(DROPS.iter().filter(|drop| **drop <= 1_000 * MS).count(), 33, "in the first second");
}

#[test]
fn a_run_sheds_from_its_queue_what_the_loop_of_the_rfc_drops() {
    // Twice as many as one server can take: 200 a second, 10 ms each, dequeued every 10 ms.
    let rows = run("version = 1\nduration = '3s'\n[traffic.t]\nrate = '200/s'\narrivals = 'paced'\n\
        [downstream.d]\nconcurrency = 1\nservice_time = '10ms'\n[policy.p]\nqueue = 'q'\ndownstream = 'd'\n\
        [queue.q]\nmax_length = 'unlimited'\ncodel = {}\n");
    let (mut slow, mut expected) = (Rfc::default(), BTreeMap::from([(0, (Some(0), "goodput"))]));
    let (mut call, mut now) = (1, 0);
    while expected.len() < 600 {
        now += 10;
        while call < 600 && u64::from(call) * 5 < now {
            slow.waiting.push_back((u64::from(call) * 5 * MS, call));
            call += 1;
        }
        let (started, shed) = slow.dequeue(now * MS);
        expected.extend(shed.into_iter().map(|call| (call, (None, "shed"))));
        expected.extend(started.map(|call| (call, (Some(now), "goodput"))));
    }
    let seen = rows.sorted_attempts().into_iter().map(|a| {
        let end = if a.reason.is_empty() { a.outcome } else { a.reason };
        assert!(a.reason.is_empty() || a.stage == "q");
        (a.call as u32, (a.started.map(|at| at.0 / MS), end))
    });
    assert_eq!(seen.collect::<BTreeMap<_, _>>(), expected);
    assert!(expected.values().filter(|(_, end)| *end == "shed").count() > 33);
}

#[test]
fn a_slow_time_does_not_keep_everybody_out_for_good() {
    // Eight times as slow for two seconds: the predicted wait is beyond the bound until the queue has been empty.
    let rows = run("version = 1\nduration = '30s'\n[traffic.t]\nrate = '15/s'\narrivals = 'paced'\n\
        [downstream.d]\nconcurrency = 1\nservice_time = '100ms'\n[policy.p]\nqueue = 'q'\ndownstream = 'd'\n\
        [queue.q]\nmax_length = 'unlimited'\nmax_predicted_wait = '500ms'\n\
        [[event]]\nname = 'slow'\nat = '5s'\nfor = '2s'\nset = { 'downstream.d.slowdown' = 8 }\n");
    let started = |from: u64| {
        rows.attempts
            .iter()
            .filter(move |a| a.started.is_some_and(|at| from * 1_000 * MS <= at.0 && a.arrived < at))
            .count()
    };
    assert!(started(20) > 90, "{}", started(20));
}

#[test]
fn codel_forgets_an_overload_once_the_line_has_been_empty() {
    // Overload for 500 ms, nothing for 10 s, then two wait for 6 ms.
    let keys = "max_length = 'unlimited'\ncodel = {}";
    let mut queue = queue(keys, "");
    let push = |queue: &mut AnyQueue, at: u64, ticket: u32| {
        queue.push(SimTime(at), Ticket(ticket), &Ask::default(), SimTime::ZERO);
    };
    (0..100).for_each(|ticket| push(&mut queue, 0, ticket));
    let mut shed = 0;
    for at in (10..500).step_by(10) {
        shed += dequeue(&mut queue, SimTime(at * MS)).1.len();
    }
    assert_eq!(
        shed, 7,
        "from 110 ms on, each at the first dequeuing after it is due; the eighth is due at 512 ms"
    );
    while let Some(ticket) = queue.first(SimTime(500 * MS)) {
        queue.remove(SimTime(500 * MS), ticket);
    }
    push(&mut queue, 10_500 * MS, 0);
    push(&mut queue, 10_500 * MS, 1);
    assert_eq!(dequeue(&mut queue, SimTime(10_506 * MS)), (Some(0), vec![]));
}

#[test]
fn codel_goes_on_from_the_drops_of_the_phase_before_and_not_from_all() {
    let mut law = codel();
    let long = Nanos::SECOND;
    // Two phases that begin at `start`, with so many drops each, and end at once.
    let mut phase = |start: u64, dues: &[u64]| {
        assert!(!law.sheds(SimTime(start - 100 * MS), long, false));
        for due in dues {
            assert!(law.sheds(SimTime(start + due), long, false), "at {due}");
            assert!(!law.sheds(SimTime(start + due), long, false));
        }
        assert!(!law.sheds(SimTime(start + dues[dues.len() - 1] + 1), Nanos::ZERO, false));
    };
    // Six drops: the count goes from 1 to 6, five more than it began with.
    phase(1_000 * MS, &DROPS[..6]);
    // Soon after, the first gap is that of count 5: 100 ms / √5.
    phase(2_000 * MS, &[0, 44_721_360]);
    // That phase went from 5 to 6: one more, from which the next begins with count 1.
    phase(3_000 * MS, &[0, 100 * MS, 170_710_678]);
    // Long after, whatever there was is forgotten.
    phase(60_000 * MS, &[0, 100 * MS]);
}

#[test]
fn folly_sheds_beyond_twice_the_target_while_the_least_wait_was_above_it() {
    let mut law = Folly::new(Nanos::millis(5), Nanos::millis(100));
    let mut sheds = |at: u64, waited: u64| law.sheds(SimTime(at * MS), Nanos::millis(waited), false);
    // The first of all, and the one that ends the interval before it, start whatever they waited.
    assert_eq!([sheds(1, 50), sheds(2, 50)], [false, false]);
    // Overloaded by the least wait of 50 ms: up to 10 ms is well.
    assert_eq!([sheds(3, 11), sheds(4, 10), sheds(5, 50)], [true, false, true]);
    // At 102 ms the interval is not over yet; after it the least was 10 ms: overloaded still.
    assert_eq!([sheds(102, 11), sheds(103, 50), sheds(104, 11)], [true, false, true]);
    // One short wait makes the next interval a good one.
    assert_eq!([sheds(150, 5), sheds(204, 50), sheds(205, 90)], [false, false, false]);
}

#[test]
fn the_article_lets_wait_for_n_while_the_line_drains_and_for_m_while_it_does_not() {
    let vectors = vectors("adaptive");
    let list = vectors["vectors"].as_array().expect("a list");
    let config =
        &list.iter().find(|vector| vector["id"] == "facebook-codel-lifo").expect("it is there")["config"];
    let (m, n) = (whole(&config["M_ms"]), whole(&config["N_ms"]));
    let keys =
        format!("max_length = 'unlimited'\ncontrolled_delay = {{ target = '{m}ms', interval = '{n}ms' }}");
    let mut queue = queue(&keys, "");
    let mut wait = |ticket: u32, at: u64| {
        queue.push(SimTime(at), Ticket(ticket), &Ask::default(), SimTime::ZERO);
        queue.max_wait(SimTime(at)).expect("there is always a limit").0 / MS
    };
    // Last empty at 40 ms, when the first came.
    assert_eq!([wait(0, 40 * MS), wait(1, 90 * MS), wait(2, 140 * MS), wait(3, 140 * MS + 1)], [n, n, n, m]);
    for ticket in 0..4 {
        queue.remove(SimTime(200 * MS), Ticket(ticket));
    }
    queue.push(SimTime(300 * MS), Ticket(0), &Ask::default(), SimTime::ZERO);
    assert_eq!(queue.max_wait(SimTime(300 * MS)), Some(Nanos::millis(n)));
}

/// What a run says of its attempts, in the order of their calls.
fn outcomes(text: &str) -> Vec<(u64, Option<u64>, &'static str)> {
    let attempts = run(text).sorted_attempts();
    let ms = |at: SimTime| at.0 / MS;
    attempts
        .iter()
        .map(|a| (ms(a.arrived), a.started.map(ms), if a.reason.is_empty() { a.outcome } else { a.reason }))
        .collect()
}

/// One server that takes 100 ms, calls of two classes that come one by one.
fn server(queue: &str, calls: &[(&str, &str)]) -> String {
    let mut text = format!(
        "version = 1\nduration = '10s'\n[downstream.d]\nconcurrency = 1\nservice_time = '100ms'\n\
         [policy.p]\nqueue = 'q'\ndownstream = 'd'\n[queue.q]\n{queue}\n\
         [class.high]\npriority = 2\ndeadline = '150ms'\n[class.low]\ndeadline = '1s'\n"
    );
    for (number, (class, at)) in calls.iter().enumerate() {
        text += &format!(
            "[traffic.t{number}]\nclass = '{class}'\nat = ['{at}']\ntokens = {{ input = 10, output = 0 }}\n"
        );
    }
    text
}

#[test]
fn the_one_that_leaves_on_overflow_is_the_one_that_was_asked_for() {
    let calls = [("low", "0ms"), ("low", "10ms"), ("low", "20ms"), ("high", "30ms"), ("low", "40ms")];
    let ends = |how: &str| {
        let queue = format!("max_length = 2\non_overflow = '{how}'");
        outcomes(&server(&queue, &calls)).into_iter().map(|(.., end)| end).collect::<Vec<_>>()
    };
    let (full, good) = ("queue_full", "goodput");
    assert_eq!(ends("newest"), [good, good, good, full, full]);
    // At 30 ms the call of 10 ms leaves, at 40 ms that of 20 ms. The high one starts at 100 ms, too late.
    assert_eq!(ends("oldest"), [good, full, full, "wasted", good]);
    // The newest of the low ones leaves for the high one; a low one finds nobody below it.
    assert_eq!(ends("lowest_priority"), [good, good, full, "wasted", full]);
    // Nobody's deadline is over by then.
    assert_eq!(ends("expired"), [good, good, good, full, full]);
}

#[test]
fn whose_deadline_is_over_leaves_for_one_that_comes() {
    let calls =
        [("low", "0ms"), ("low", "1ms"), ("high", "2ms"), ("low", "3ms"), ("low", "152ms"), ("low", "153ms")];
    let queue = "max_length = 3\non_overflow = 'expired'\nkind = 'lifo'";
    // 100 ms: the call of 3 ms starts, and the queue holds those of 1 and 2 ms. The deadline of the high one is at
    // 152 ms: then the call of that instant has room, and a millisecond later it is over and gives its place.
    let ends: Vec<_> =
        outcomes(&server(queue, &calls)).into_iter().map(|(_, started, end)| (started, end)).collect();
    let (full, good) = ("queue_full", "goodput");
    assert_eq!(
        ends,
        [
            (Some(0), good),
            (Some(400), good),
            (None, full),
            (Some(100), good),
            (Some(300), good),
            (Some(200), good)
        ]
    );
}

#[test]
fn a_queue_bounded_in_tokens_lets_so_many_wait() {
    let calls = [("low", "0ms"), ("low", "1ms"), ("low", "2ms"), ("low", "3ms"), ("low", "101ms")];
    let queue = "max_length = 'unlimited'\nmax_tokens = 20";
    let ends: Vec<_> = outcomes(&server(queue, &calls)).into_iter().map(|(.., end)| end).collect();
    assert_eq!(ends, ["goodput", "goodput", "goodput", "queue_full", "goodput"]);
}

#[test]
fn a_wait_is_predicted_from_the_gaps_between_starts() {
    // Starts at 100, 200 and 300 ms while some wait: the mean gap is 100 ms from 200 ms on. At 201 ms two wait, and a
    // third would wait for 300 ms; at 301 ms one waits, and another would for 200 ms.
    let calls = [
        ("low", "0ms"),
        ("low", "1ms"),
        ("low", "2ms"),
        ("low", "3ms"),
        ("low", "4ms"),
        ("low", "201ms"),
        ("low", "301ms"),
        ("low", "302ms"),
    ];
    let queue = "max_length = 'unlimited'\nmax_predicted_wait = '200ms'";
    let ends: Vec<_> = outcomes(&server(queue, &calls)).into_iter().map(|(.., end)| end).collect();
    let (full, good) = ("queue_full", "goodput");
    assert_eq!(ends, [good, good, good, good, good, full, good, full]);
}

#[test]
fn what_can_not_be_in_time_is_shed_when_its_turn_comes() {
    let calls = [("low", "0ms"), ("high", "1ms"), ("high", "50ms"), ("low", "60ms")];
    let plain = outcomes(&server("kind = 'edf'\nmax_length = 9", &calls));
    assert_eq!(plain[1..3], [(1, Some(100), "wasted"), (50, Some(200), "wasted")]);
    let dropping = outcomes(&server("kind = 'edf'\nmax_length = 9\ndrop_infeasible = '100ms'", &calls));
    // The one of 1 ms has until 151 ms, that of 50 ms until the very instant at which it would end.
    let calls = [("low", "0ms"), ("high", "1ms"), ("high", "50ms"), ("low", "60ms")];
    assert_eq!(dropping[1], (1, None, "shed"));
    assert_eq!(dropping[2..], [(50, Some(100), "goodput"), (60, Some(200), "goodput")]);
    assert_eq!(calls.len(), dropping.len());
}

#[test]
fn greedy_tenants_get_no_more_than_the_others_of_a_fair_queue() {
    let mut text =
        "version = 1\nduration = '60s'\nwarmup = '10s'\ndrain = '0s'\n[downstream.d]\nconcurrency = 3\n\
        service_time = '250ms'\n[policy.p]\nqueue = 'q'\ndownstream = 'd'\n\
        [queue.q]\nkind = 'fair'\nkey = 'tenant'\nmax_length = 'unlimited'\n"
            .to_string();
    for (tenant, rate) in [("a", 4), ("b", 9), ("c", 30), ("d", 100)] {
        text += &format!("[traffic.{tenant}]\nrate = '{rate}/s'\ntenant = '{tenant}'\n");
    }
    let rows = run(&text);
    assert!(rows.count(Count::Goodput) > 700);
    let mut starts = BTreeMap::<u32, u64>::new();
    for attempt in rows.attempts.iter().filter(|a| a.started.is_some_and(|at| SimTime(10_000 * MS) <= at)) {
        *starts.entry(attempt.tenant).or_default() += 1;
    }
    // 12 a second for 50 s, in four equal parts.
    assert_eq!(starts.len(), 4);
    assert!(starts.values().all(|count| count.abs_diff(150) <= 1), "{starts:?}");
}
