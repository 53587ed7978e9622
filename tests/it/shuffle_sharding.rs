//! Shuffle sharding: the published probabilities, by combinatorics and by the dealer, and what hands are good for.

use crate::support::{number, queue, run, vectors, whole};
use std::collections::{BTreeSet, VecDeque};
use tidegate::queue::deck::Deck;
use tidegate::queue::{Queue, Ticket};
use tidegate::request::Ask;
use tidegate::rng::{Dice, Purpose};
use tidegate::time::{Nanos, SimTime};

/// The rows of the documentation's table: hand, queues, and the chance that one, four or sixteen others hold a whole hand.
fn rows() -> Vec<(usize, usize, [f64; 3])> {
    let file = vectors("overload_scenarios");
    let all = file["scenarios"].as_array().expect("a list");
    let table = all.iter().find(|each| each["id"] == "k8s-apf-shuffle-sharding").expect("it is there");
    let rows = table["expect"]["rows"].as_array().expect("rows");
    let row = |row: &serde_json::Value| {
        let chances = [2, 3, 4].map(|column| number(&row[column]));
        (whole(&row[0]) as usize, whole(&row[1]) as usize, chances)
    };
    rows.iter().map(row).collect()
}

/// n over k.
fn choose(n: usize, k: usize) -> f64 {
    if n < k { 0.0 } else { (0..k).map(|i| (n - i) as f64 / (k - i) as f64).product() }
}

#[test]
fn the_published_chances_are_those_of_hands_dealt_at_random() {
    let rows = rows();
    assert!(10 <= rows.len(), "{}", rows.len());
    for (hand, queues, expected) in rows {
        for (others, expected) in [1, 4, 16].into_iter().zip(expected) {
            // How many queues the others' hands cover, one hand after the other.
            let mut covered = vec![0.0; queues + 1];
            covered[0] = 1.0;
            for _ in 0..others {
                let mut next = vec![0.0; queues + 1];
                for (before, chance) in covered.iter().enumerate().filter(|(_, chance)| **chance > 0.0) {
                    for new in 0..=hand.min(queues - before) {
                        let ways = choose(queues - before, new) * choose(before, hand - new);
                        next[before + new] += chance * ways / choose(queues, hand);
                    }
                }
                covered = next;
            }
            let squished: f64 = covered
                .iter()
                .enumerate()
                .map(|(c, chance)| chance * choose(c, hand) / choose(queues, hand))
                .sum();
            assert!((squished / expected - 1.0).abs() < 1e-9, "{hand} of {queues}, {others}: {squished}");
        }
    }
}

#[test]
fn the_dealer_deals_hands_that_lie_within_others_as_often() {
    for (hand_size, queues, chances) in rows() {
        let deck = Deck { queues: queues as u32, hand_size: hand_size as u32 };
        for (others, chance) in [1u64, 4, 16].into_iter().zip(chances) {
            // Where it happens often enough to be seen.
            if chance < 0.01 {
                continue;
            }
            let trials = 20_000u64;
            let hash = |number: u64| Dice(number).bits(Purpose::Policy, 7);
            let mut squished = 0;
            for trial in 0..trials {
                let mut covered = [false; 1024];
                let first = trial * 100;
                for other in 1..=others {
                    deck.deal(hash(first + other)).for_each(|card| covered[card as usize] = true);
                }
                squished += u64::from(deck.deal(hash(first)).all(|card| covered[card as usize]));
            }
            let found = squished as f64 / trials as f64;
            let error = (chance * (1.0 - chance) / trials as f64).sqrt();
            assert!(
                (found - chance).abs() < 4.0 * error,
                "{hand_size} of {queues}, {others}: {found}, not {chance}"
            );
        }
    }
}

#[test]
fn who_comes_joins_the_shortest_queue_of_its_hand_and_is_turned_away_when_that_is_full() {
    let mut queue = queue(
        "kind = 'shuffle_sharding'\nkey = 'user'\nqueues = 16\nhand_size = 4\nqueue_length = 3\nmax_length = 'unlimited'",
        "",
    );
    // A crowd fills the four queues of its hand.
    let of = |user: u32| Ask { user, ..Ask::default() };
    let mut ticket = 0;
    while queue.has_room(&of(1)) {
        queue.push(SimTime(0), Ticket(ticket), &of(1), SimTime(0));
        ticket += 1;
    }
    assert_eq!(ticket, 12);
    // Others find a queue that it isn't in, and go ahead of all but one call of each of its queues.
    let others: Vec<u32> = (2..40).filter(|user| queue.has_room(&of(*user))).collect();
    assert!(30 < others.len(), "{others:?}");
    queue.push(SimTime(0), Ticket(100), &of(others[0]), SimTime(0));
    let walk = std::iter::successors(queue.first(SimTime(0)), |ticket| queue.next(SimTime(0), *ticket));
    let before = walk.take_while(|ticket| *ticket != Ticket(100)).count();
    assert!(before <= 12, "{before}");
    let mut started = 0;
    while let Some(first) = queue.first(SimTime(0)) {
        queue.start(SimTime(0), first);
        started += 1;
        if first == Ticket(100) {
            break;
        }
    }
    assert!(started <= 5, "its queue has its turn within the first round: {started}");
}

#[test]
fn a_crowd_of_one_user_leaves_the_others_their_share() {
    let served = |queue: &str| {
        let rows = run(&format!(
            "version = 1\nduration = '60s'\n[class.crowd]\n[class.others]\n\
             [traffic.crowd]\nrate = '200/s'\nclass = 'crowd'\nuser = 'elephant'\n\
             [traffic.others]\nrate = '20/s'\nclass = 'others'\nuser = {{ count = 20 }}\n\
             [queue.q]\n{queue}\nmax_wait = '15s'\n[downstream.d]\nconcurrency = 10\nservice_time = '100ms'\n\
             [policy.p]\nqueue = 'q'\ndownstream = 'd'\n"
        ));
        let attempts = rows.sorted_attempts();
        let of = |outcome: bool| {
            let all = attempts.iter().filter(|attempt| attempt.class == "others");
            all.filter(|attempt| !outcome || attempt.outcome == "goodput").count() as f64
        };
        of(true) / of(false)
    };
    let shared = served("max_length = 400");
    let sharded = served(
        "kind = 'shuffle_sharding'\nkey = 'user'\nqueues = 64\nhand_size = 6\nmax_length = 'unlimited'",
    );
    assert!(shared < 0.6 && 0.99 < sharded, "{shared} and {sharded}");
}

/// One that waits or works in the slow server.
#[derive(Clone, Copy, Debug)]
struct Call {
    ticket: u32,
    seats: u64,
    takes: u64,
    /// The progress when it came.
    came: i128,
}

#[derive(Clone, Debug, Default)]
struct SlowQueue {
    waiting: VecDeque<Call>,
    at_work: Vec<Call>,
    time: i128,
}

/// A server with so many seats and its queues, as the original reckons: all come to a queue, and whoever starts leaves it.
struct SlowServer {
    seats: u64,
    queues: Vec<SlowQueue>,
    progress: i128,
    changed: u64,
    last: usize,
    arrivals: usize,
    /// Whether seats that are idle beside a wide call that waits count as served, as in the original.
    counts_idle_seats: bool,
}

/// How long a call is thought to take.
const EXPECTED: i128 = 3_000;

impl SlowServer {
    fn in_use(&self) -> u64 {
        self.queues.iter().flat_map(|queue| &queue.at_work).map(|call| call.seats).sum()
    }

    fn catch_up(&mut self, now: u64) {
        let wanted: u64 = self.queues.iter().flat_map(|queue| &queue.waiting).map(|call| call.seats).sum();
        let active =
            self.queues.iter().filter(|queue| !queue.waiting.is_empty() || !queue.at_work.is_empty()).count();
        let most = if self.counts_idle_seats { self.seats } else { self.in_use() };
        let served = i128::from((self.in_use() + wanted).min(most));
        self.progress += i128::from(now - self.changed) * served / active.max(1) as i128;
        self.changed = now;
    }

    fn hold(&mut self, number: usize) {
        let queue = &mut self.queues[number];
        if let Some(head) = queue.waiting.front() {
            queue.time = queue.time.max(head.came);
        }
    }

    fn come(&mut self, now: u64, hand: &[usize], call: Call) {
        self.catch_up(now);
        let mut best: Option<(u64, usize)> = None;
        for card in 0..hand.len() {
            let number = hand[(self.arrivals + card) % hand.len()];
            let waiting = self.queues[number].waiting.iter().map(|call| call.seats).sum();
            if best.is_none_or(|(least, _)| waiting < least) {
                best = Some((waiting, number));
            }
        }
        self.arrivals += 1;
        let number = best.expect("a hand has cards").1;
        let progress = self.progress;
        let queue = &mut self.queues[number];
        if queue.waiting.is_empty() && queue.at_work.is_empty() {
            queue.time = progress;
        }
        queue.waiting.push_back(Call { came: progress, ..call });
        self.hold(number);
    }

    /// Starts whoever may start; answers whom, in order.
    fn dispatch(&mut self, now: u64) -> Vec<(u32, u64)> {
        self.catch_up(now);
        let mut started = Vec::new();
        while let Some(number) = self.next() {
            let head = self.queues[number].waiting[0];
            let in_use = self.in_use();
            if self.seats < in_use + head.seats && (head.seats <= self.seats || 0 < in_use) {
                break;
            }
            self.last = number;
            let queue = &mut self.queues[number];
            queue.waiting.pop_front();
            queue.time += i128::from(head.seats) * EXPECTED;
            queue.at_work.push(head);
            self.hold(number);
            started.push((head.ticket, head.takes));
        }
        started
    }

    fn next(&self) -> Option<usize> {
        let count = self.queues.len();
        let mut best: Option<(i128, usize)> = None;
        for step in 1..=count {
            let number = (self.last + step) % count;
            let queue = &self.queues[number];
            let Some(head) = queue.waiting.front() else { continue };
            let finish = queue.time + i128::from(head.seats) * EXPECTED;
            if best.is_none_or(|(least, _)| finish < least) {
                best = Some((finish, number));
            }
        }
        best.map(|(_, number)| number)
    }

    fn end(&mut self, now: u64, ticket: u32) {
        self.catch_up(now);
        let of = |queue: &SlowQueue| queue.at_work.iter().position(|call| call.ticket == ticket);
        let (number, at) = self
            .queues
            .iter()
            .enumerate()
            .find_map(|(number, queue)| of(queue).map(|at| (number, at)))
            .expect("it is at work");
        let call = self.queues[number].at_work.remove(at);
        self.queues[number].time -= i128::from(call.seats) * (EXPECTED - i128::from(call.takes));
        self.hold(number);
    }
}

/// A level of `seats` whose calls, of so many users, are up to `widest` seats wide: in the order of the original.
fn serves_as_the_original(seats: u64, users: u32, widest: u32, load: u64, seed: u64) {
    let mut queue = queue(
        "kind = 'shuffle_sharding'\nkey = 'user'\nqueues = 8\nhand_size = 3\nqueue_length = 100000\n\
         per_class = true\nexpected_service = '3us'\nmax_length = 'unlimited'\n\
         width = { unit = 'input_tokens', per_seat = 10, most = 5 }",
        "",
    );
    let mut slow = SlowServer {
        seats,
        queues: vec![SlowQueue::default(); 8],
        progress: 0,
        changed: 0,
        last: 7,
        arrivals: 0,
        counts_idle_seats: widest == 1,
    };
    let deck = Deck { queues: 8, hand_size: 3 };
    let mut state = seed;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut asks = Vec::new();
    let mut takes = Vec::new();
    // Ends to come, and who is at work by the queue under test.
    let mut ends: BTreeSet<(u64, u32)> = BTreeSet::new();
    let (mut now, mut in_use) = (0u64, 0u64);
    let wide = |ask: &Ask| u64::from(ask.input_tokens).div_ceil(10).clamp(1, 5);
    for number in 0..3_000u32 {
        now += random(load);
        while let Some((end, ticket)) = ends.first().copied().filter(|(end, _)| *end <= now) {
            ends.pop_first();
            slow.end(end, ticket);
            queue.ended(SimTime(end), Ticket(ticket), Nanos(takes[ticket as usize]));
            in_use -= wide(&asks[ticket as usize]);
            let mut started = Vec::new();
            while let Some(first) = queue.first(SimTime(end)) {
                let seats_wanted = wide(&asks[first.0 as usize]);
                if seats < in_use + seats_wanted && 0 < in_use {
                    break;
                }
                queue.start(SimTime(end), first);
                in_use += seats_wanted;
                started.push((first.0, takes[first.0 as usize]));
                ends.insert((end + takes[first.0 as usize], first.0));
            }
            assert_eq!(started, slow.dispatch(end), "at {end} after {ticket}");
        }
        let user = random(users.into()) as u32;
        let ask = Ask { user, input_tokens: 10 * (1 + random(widest.into()) as u32), ..Ask::default() };
        let length = 1 + random(9_000);
        asks.push(ask);
        takes.push(length);
        let hand: Vec<usize> =
            deck.deal(Dice(user.into()).bits(Purpose::Policy, 0)).map(|card| card as usize).collect();
        slow.come(now, &hand, Call { ticket: number, seats: wide(&ask), takes: length, came: 0 });
        let expected = slow.dispatch(now);
        let has_room = in_use + wide(&ask) <= seats || in_use == 0;
        if has_room && queue.may_pass(SimTime(now), &ask) {
            queue.passed(SimTime(now), Ticket(number), &ask);
            in_use += wide(&ask);
            ends.insert((now + length, number));
            assert_eq!(expected, [(number, length)], "at {now}");
        } else {
            queue.push(SimTime(now), Ticket(number), &ask, SimTime(u64::MAX));
            assert_eq!(expected, [], "at {now}");
        }
    }
}

#[test]
fn calls_start_in_the_order_of_the_original() {
    for seed in 1..=20 {
        for (seats, users) in [(1, 4), (3, 2), (5, 40), (12, 7)] {
            // Well below, above and just below what the seats can do.
            for load in [15_000 / seats, 5_000 / seats, 9_000 / seats] {
                serves_as_the_original(seats, users, 1, load, seed);
                serves_as_the_original(seats, users, 3, load * 2, seed);
            }
        }
    }
}
