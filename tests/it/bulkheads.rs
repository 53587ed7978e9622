//! Slots and tokens between classes: a slow model of the borrowing, cases reckoned by hand, and what is conserved.

use crate::support::{Attempt, room, run};
use proptest::prelude::*;
use tidegate::admission::{Admission, Answer, Entrant, Scene};
use tidegate::request::{Ask, ClassId, End};
use tidegate::rng::Dice;
use tidegate::time::{Nanos, SimTime};

/// The classes of [`room`] by number: those that are defined come in the order of their names.
const BATCH: u16 = 0;
const INTERACTIVE: u16 = 1;

fn of(class: u16) -> Ask {
    Ask { class: ClassId(class), ..Ask::default() }
}

fn at(place: u32, ask: &Ask) -> Entrant<'_> {
    Entrant { place, ..Entrant::first(ask) }
}

/// What a bulkhead says, from its definition alone: the slots are laid out one by one.
struct Model {
    limit: u64,
    /// Guaranteed, lent at most, borrowed at most, in use, waiting: by class.
    classes: [(u64, u64, u64, u64, u64); 2],
}

impl Model {
    fn may_start(&self, class: usize) -> bool {
        let in_use: u64 = self.classes.iter().map(|class| class.3).sum();
        if in_use >= self.limit {
            return false;
        }
        let (guaranteed, _, borrow, used, _) = self.classes[class];
        if used < guaranteed {
            return true;
        }
        if used - guaranteed >= borrow {
            return false;
        }
        // What may be borrowed: common slots, and of each class's idle ones those that nobody waits for.
        let mut pool = self.limit as i64;
        let mut taken = 0;
        for (guaranteed, lend, _, used, waiting) in self.classes {
            pool -= guaranteed as i64;
            let idle = guaranteed as i64 - used as i64 - waiting as i64;
            pool += idle.clamp(0, lend as i64);
            taken += (used as i64 - guaranteed as i64).max(0);
        }
        taken < pool
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]
    /// Over any schedule: the stage says what the model says, slots never exceed the limit, a class below its guarantee
    /// waits only if all slots are in use, and all that was borrowed is given back.
    #[test]
    fn a_bulkhead_is_its_definition(
        limit in 1u64..12, first in 0u64..12, second in 0u64..12, lend in 0u64..12, borrow in 0u64..6,
        acts in prop::collection::vec((0u8..4, 0u16..2, any::<usize>()), 1..200)
    ) {
        let first = first.min(limit);
        let second = second.min(limit - first);
        let lend = lend.min(first);
        let mut stage = room(&format!(
            "kind = 'bulkhead'\nlimit = {limit}\nshare.batch = {{ guaranteed = {first}, lend = {lend} }}\n\
             share.interactive = {{ guaranteed = {second}, borrow = {borrow} }}"
        ));
        let mut model = Model { limit, classes: [(first, lend, u64::MAX, 0, 0), (second, second, borrow, 0, 0)] };
        let (mut serving, mut waiting): (Vec<(u32, u16)>, Vec<u16>) = (Vec::new(), Vec::new());
        let mut places = 0;
        for (act, class, which) in acts {
            let ask = of(class);
            match act {
                0 | 1 => {
                    let passes = model.may_start(class as usize);
                    let answer = stage.admit(SimTime(0), &at(places, &ask));
                    prop_assert_eq!(answer, if passes { Answer::Pass } else { Answer::Wait });
                    if passes {
                        stage.take(SimTime(0), &at(places, &ask));
                        serving.push((places, class));
                        model.classes[class as usize].3 += 1;
                        places += 1;
                    } else {
                        let (guaranteed, _, _, used, _) = model.classes[class as usize];
                        prop_assert!(guaranteed <= used || serving.len() as u64 == limit);
                        stage.waits(SimTime(0), &at(0, &ask));
                        waiting.push(class);
                        model.classes[class as usize].4 += 1;
                    }
                }
                2 if !serving.is_empty() => {
                    let (place, class) = serving.swap_remove(which % serving.len());
                    stage.settle(SimTime(0), &at(place, &of(class)), End::Completed(Nanos(1)));
                    model.classes[class as usize].3 -= 1;
                }
                3 if !waiting.is_empty() => {
                    let class = waiting.swap_remove(which % waiting.len());
                    stage.gave_up(SimTime(0), &at(0, &of(class)));
                    model.classes[class as usize].4 -= 1;
                }
                _ => {}
            }
            prop_assert!(serving.len() as u64 <= limit);
        }
        for (place, class) in serving {
            stage.settle(SimTime(0), &at(place, &of(class)), End::Completed(Nanos(1)));
        }
        stage.gauges(SimTime(1), &mut |name, reading| assert_eq!(reading.last, 0.0, "{name}"));
    }
}

/// When each call of a class started, in milliseconds, under a bulkhead of four slots in which jobs take 2 s each and
/// people's calls 100 ms.
fn starts(share: &str, class: &str) -> Vec<Option<u64>> {
    let rows = run(&format!(
        "version = 1\nduration = '30s'\n[class.batch]\n[class.interactive]\n\
         [traffic.jobs]\nclass = 'batch'\ntokens = {{ output = 20 }}\n\
         at = ['0s', '0s', '0s', '0s', '0s', '0s', '0s', '0s', '0s', '0s']\n\
         [traffic.people]\nclass = 'interactive'\ntokens = {{ output = 1 }}\nat = ['500ms', '500ms', '500ms']\n\
         [queue.q]\nmax_length = 50\n[admission.a]\nkind = 'bulkhead'\nlimit = 4\n{share}\n\
         [downstream.d]\nconcurrency = 4\nservice_time = {{ per_output_token = '100ms' }}\n\
         [policy.p]\nstages = ['a']\nqueue = 'q'\ndownstream = 'd'\n"
    ));
    let of_class = |attempt: &&Attempt| attempt.class == class;
    let attempts = rows.sorted_attempts();
    attempts.iter().filter(of_class).map(|attempt| attempt.started.map(|at| at.0 / 1_000_000)).collect()
}

#[test]
fn borrowed_slots_come_back_within_the_longest_borrowed_service() {
    let lending = "share.interactive = { guaranteed = 3 }\nshare.batch = { guaranteed = 1 }";
    // All four slots are at work on jobs when the people come; at 2 s all three of them start.
    assert_eq!(starts(lending, "interactive"), [Some(2_000); 3]);
    let jobs = starts(lending, "batch");
    assert_eq!(jobs[..5], [Some(0), Some(0), Some(0), Some(0), Some(2_000)]);
    // A hundred milliseconds later their slots are idle again, and lent.
    assert_eq!(jobs[5..8], [Some(2_100); 3]);
}

#[test]
fn in_a_static_split_nobody_waits_for_another_class_and_slots_stay_idle() {
    let split =
        "share.interactive = { guaranteed = 3, lend = 0 }\nshare.batch = { guaranteed = 1, lend = 0 }";
    assert_eq!(starts(split, "interactive"), [Some(500); 3]);
    let expected: Vec<_> = (0..10).map(|job| Some(2_000 * job)).collect();
    assert_eq!(starts(split, "batch"), expected);
}

#[test]
fn a_part_that_is_kept_back_lets_the_first_start_at_once() {
    let some = "share.interactive = { guaranteed = 3, lend = 2 }\nshare.batch = { guaranteed = 1 }";
    assert_eq!(starts(some, "interactive"), [Some(500), Some(600), Some(700)]);
    assert_eq!(starts(some, "batch")[..3], [Some(0); 3]);
}

#[test]
fn a_bulkhead_names_the_bound() {
    let mut stage =
        room("kind = 'bulkhead'\nlimit = 4\nshare.interactive = { guaranteed = 2, lend = 1, borrow = 1 }");
    let (batch, interactive) = (of(BATCH), of(INTERACTIVE));
    let scope = |stage: &dyn Admission, ask: &Ask| stage.denial(SimTime(0), &Entrant::first(ask)).scope;
    // Two are common and one is lent.
    for place in 0..3 {
        assert_eq!(stage.admit(SimTime(0), &at(place, &batch)), Answer::Pass);
        stage.take(SimTime(0), &at(place, &batch));
    }
    assert_eq!(stage.admit(SimTime(0), &at(3, &batch)), Answer::Wait);
    assert_eq!(scope(&*stage, &batch), "guaranteed");
    assert_eq!(stage.admit(SimTime(0), &at(3, &interactive)), Answer::Pass);
    stage.take(SimTime(0), &at(3, &interactive));
    assert_eq!(scope(&*stage, &interactive), "limit");
    stage.settle(SimTime(0), &at(0, &batch), End::Completed(Nanos(1)));
    stage.settle(SimTime(0), &at(1, &batch), End::Completed(Nanos(1)));
    stage.settle(SimTime(0), &at(2, &batch), End::Completed(Nanos(1)));
    (0..2).for_each(|place| stage.take(SimTime(0), &at(place, &interactive)));
    assert_eq!(scope(&*stage, &interactive), "borrow");
}

#[test]
fn partitions_hold_when_the_whole_is_in_use() {
    // Ten slots: ⌈1.5⌉ = 2 of them are batch's, and ⌈8.5⌉ = 9 the people's.
    let mut stage = room(
        "kind = 'partitioned'\nlimit = 10\nshare.batch = { percent = '15%' }\nshare.interactive = { percent = '85%' }",
    );
    let (batch, interactive) = (of(BATCH), of(INTERACTIVE));
    for place in 0..10 {
        assert_eq!(stage.admit(SimTime(0), &at(place, &batch)), Answer::Pass, "while the whole has room");
        stage.take(SimTime(0), &at(place, &batch));
    }
    assert_eq!(stage.admit(SimTime(0), &at(10, &batch)), Answer::Wait);
    for place in 10..19 {
        assert_eq!(stage.admit(SimTime(0), &at(place, &interactive)), Answer::Pass);
        stage.take(SimTime(0), &at(place, &interactive));
    }
    assert_eq!(stage.admit(SimTime(0), &at(19, &interactive)), Answer::Wait);
}

#[test]
fn a_fifth_is_kept_for_what_is_critical() {
    // ⌈11 · 0.2⌉ = 3 of 11.
    let mut stage = room("kind = 'reserved'\nlimit = 11\nreserved = 0.2\ncritical = ['interactive']");
    let (batch, interactive) = (of(BATCH), of(INTERACTIVE));
    for place in 0..8 {
        assert_eq!(stage.admit(SimTime(0), &at(place, &batch)), Answer::Pass);
        stage.take(SimTime(0), &at(place, &batch));
    }
    assert_eq!(stage.admit(SimTime(0), &at(8, &batch)), Answer::Wait);
    assert_eq!(stage.denial(SimTime(0), &at(8, &batch)).scope, "reserved");
    for place in 8..11 {
        assert_eq!(stage.admit(SimTime(0), &at(place, &interactive)), Answer::Pass);
        stage.take(SimTime(0), &at(place, &interactive));
    }
    assert_eq!(stage.admit(SimTime(0), &at(11, &interactive)), Answer::Wait);
    assert_eq!(stage.denial(SimTime(0), &at(11, &interactive)).scope, "limit");
}

fn tokens(class: u16, input: u32, output: u32, max_output: u32) -> Ask {
    Ask { input_tokens: input, output_tokens: output, max_output_tokens: max_output, ..of(class) }
}

fn gauge(stage: &mut Box<dyn Admission>, wanted: &str) -> f64 {
    let mut seen = None;
    stage.gauges(SimTime(1), &mut |name, reading| {
        if name == wanted {
            seen = Some(reading.last);
        }
    });
    seen.unwrap_or_else(|| panic!("no gauge {wanted}"))
}

#[test]
fn a_budget_reserves_the_most_and_settles_what_was_used() {
    // A chat reserves 1,600, a document 27,000.
    let chat = tokens(INTERACTIVE, 1_200, 150, 400);
    let document = tokens(BATCH, 24_000, 5_000, 3_000);
    let mut stage = room(
        "kind = 'token_budget'\nbudget = 60000\nshare.interactive = { protected = 10000 }\nshare.batch = { max = 54000 }",
    );
    let scope = |stage: &dyn Admission, ask: &Ask| stage.denial(SimTime(0), &Entrant::first(ask)).scope;
    for place in 0..2 {
        if place == 1 {
            // 54,000 would leave 6,000 of the 10,000 that are the chats'.
            assert_eq!(stage.admit(SimTime(0), &at(1, &document)), Answer::Wait);
            assert_eq!(scope(&*stage, &document), "protected");
            break;
        }
        assert_eq!(stage.admit(SimTime(0), &at(place, &document)), Answer::Pass);
        stage.take(SimTime(0), &at(place, &document));
    }
    // 33,000 are left: 20 chats of 1,600.
    for place in 1..21 {
        assert_eq!(stage.admit(SimTime(0), &at(place, &chat)), Answer::Pass);
        stage.take(SimTime(0), &at(place, &chat));
    }
    assert_eq!(stage.admit(SimTime(0), &at(21, &chat)), Answer::Wait);
    assert_eq!(scope(&*stage, &chat), "budget");
    assert_eq!(gauge(&mut stage, "tokens_in_use"), 59_000.0);
    // The document used 29,000 of 27,000; a chat 1,350 of 1,600.
    stage.settle(SimTime(1), &at(0, &document), End::Completed(Nanos(1)));
    stage.settle(SimTime(1), &at(1, &chat), End::Completed(Nanos(1)));
    let found = ["tokens_in_use", "settled", "refunded", "debt"].map(|name| gauge(&mut stage, name));
    assert_eq!(found, [30_400.0, 30_350.0, 250.0, 2_000.0]);
    // Who declares no output is taken to write 2,048; who is larger than the budget can't ever start.
    let silent = tokens(BATCH, 1_000, 10, 0);
    stage.take(SimTime(1), &at(0, &silent));
    assert_eq!(gauge(&mut stage, "tokens_in_use"), 33_448.0);
    let huge = tokens(BATCH, 60_000, 1, 1);
    assert!(stage.sheds(SimTime(1), &at(1, &huge), &Scene::default()).is_some());
    assert!(stage.sheds(SimTime(1), &at(1, &document), &Scene::default()).is_none(), "it waits");
}

#[test]
fn an_estimator_is_wrong_by_its_ratio_and_learns() {
    // Five characters to a token, of which it takes four for one: 1,000 tokens are estimated as 1,250 and 10 more.
    let keys =
        "kind = 'token_budget'\nbudget = 100000\nestimator = { characters = 5, extra = 10, adapts = true }";
    let mut stage = room(keys);
    let ask = tokens(BATCH, 1_000, 0, 1);
    let cost = |stage: &mut Box<dyn Admission>| {
        stage.take(SimTime(1), &at(0, &ask));
        let cost = gauge(stage, "tokens_in_use");
        stage.settle(SimTime(1), &at(0, &ask), End::Completed(Nanos(1)));
        cost
    };
    for _ in 0..5 {
        assert_eq!(cost(&mut stage), 1_261.0);
    }
    // The factor of five calls is 1,000 / 1,260, so the next estimate is right: 1,000, and 1 of output.
    assert_eq!(cost(&mut stage), 1_001.0);
    // Half a token to a character: the factor would be 8, and is held at 2.
    let mut stage =
        room("kind = 'token_budget'\nbudget = 100000\nestimator = { characters = 0.5, adapts = true }");
    assert_eq!(cost(&mut stage), 126.0);
    (0..4).for_each(|_| _ = cost(&mut stage));
    assert_eq!(cost(&mut stage), 251.0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]
    /// Reserved and debt are settled, refunded and in flight; what is in flight is within the budget.
    #[test]
    fn tokens_are_conserved(
        acts in prop::collection::vec((0u8..3, 0u16..2, 0u32..4_000, 0u32..3_000, 0u32..3_000, any::<u64>()), 1..150)
    ) {
        let mut stage = room(
            "kind = 'token_budget'\nbudget = 20000\nshare.interactive = { protected = 4000, max = 15000 }\n\
             estimator = { characters = { dist = 'lognormal', median = 4, p99 = 7 }, adapts = true }",
        );
        let (mut serving, mut places, mut reserved): (Vec<(u32, Ask)>, u32, f64) = (Vec::new(), 0, 0.0);
        for (act, class, input, output, max, dice) in acts {
            let ask = Ask { dice: Dice(dice), ..tokens(class, input, output, max) };
            if act < 2 {
                let entrant = at(places, &ask);
                let fits = stage.sheds(SimTime(0), &entrant, &Scene::default()).is_none();
                if fits && stage.admit(SimTime(0), &entrant) == Answer::Pass {
                    let before = gauge(&mut stage, "tokens_in_use");
                    stage.take(SimTime(0), &entrant);
                    reserved += gauge(&mut stage, "tokens_in_use") - before;
                    serving.push((places, ask));
                    places += 1;
                }
            } else if !serving.is_empty() {
                let (place, ask) = serving.swap_remove(dice as usize % serving.len());
                stage.settle(SimTime(0), &at(place, &ask), End::Completed(Nanos(1)));
            }
            let [in_use, settled, refunded, debt] =
                ["tokens_in_use", "settled", "refunded", "debt"].map(|name| gauge(&mut stage, name));
            prop_assert!(in_use <= 20_000.0);
            prop_assert_eq!(reserved + debt, settled + refunded + in_use);
        }
    }
}

#[test]
fn a_key_may_have_a_concurrency_of_its_own() {
    let rows = run(
        "version = 1\nduration = '1s'\n[traffic.a]\nat = ['0s', '0s', '0s', '0s']\ntenant = 'acme'\n\
         [traffic.b]\nat = ['0s', '0s', '0s']\ntenant = 'zeta'\n\
         [admission.c]\nkind = 'concurrency'\nlimit = 1\nkey = 'tenant'\noverrides = { acme = { limit = 3 } }\n\
         [downstream.d]\nconcurrency = 'unlimited'\nservice_time = '10s'\n[policy.p]\nstages = ['c']\ndownstream = 'd'\n",
    );
    let started = |traffic: &str| {
        let all = rows.sorted_attempts();
        all.iter().filter(|attempt| attempt.traffic == traffic && attempt.started.is_some()).count()
    };
    assert_eq!([started("a"), started("b")], [3, 1]);
}
