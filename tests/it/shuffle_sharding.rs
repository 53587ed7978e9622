//! Shuffle sharding: the published probabilities, by combinatorics and by the dealer, and what hands are good for.

use crate::support::{number, queue, run, vectors, whole};
use tidegate::queue::shuffle_sharding::Deck;
use tidegate::queue::{Queue, Ticket};
use tidegate::request::{Ask, Key};
use tidegate::rng::{Dice, Purpose};
use tidegate::time::SimTime;

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
        let deck =
            Deck { key: Key::User, queues: queues as u32, hand_size: hand_size as u32, queue_length: 50 };
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
