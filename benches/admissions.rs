//! What a decision of each kind of stage that asks for room costs: whether it sheds and has room, take and settle.

use super::measure::cost;
use std::path::Path;
use tidegate::admission::{Admission, Answer, Entrant, Scene};
use tidegate::request::{Ask, ClassId, End};
use tidegate::rng::{Dice, Purpose};
use tidegate::scenario::Scenario;
use tidegate::scenario::build::Prepared;
use tidegate::scenario::source::Document;
use tidegate::scenario::stage::KINDS;
use tidegate::time::{Nanos, SimTime};

/// What stands for each kind and each dialect, with work of 20 ms at a thousand a second.
const ROWS: &[&str] = &[
    "kind = 'concurrency'\nlimit = 64",
    "kind = 'concurrency'\nlimit = 4\nkey = 'tenant'",
    "kind = 'bulkhead'\nlimit = 24\nshare.interactive = { guaranteed = 16 }",
    "kind = 'partitioned'\nlimit = 24\nshare.interactive = { percent = '60%' }",
    "kind = 'reserved'\nlimit = 24\ncritical = ['interactive']",
    "kind = 'token_budget'\nbudget = 100",
    "kind = 'aimd'",
    "kind = 'vegas'",
    "kind = 'gradient'",
    "kind = 'gradient2'",
    "kind = 'gradient2'\nwindow = {}",
    "kind = 'envoy_gradient'",
    "kind = 'failsafe_adaptive'",
    "kind = 'kratos_bbr'",
    "kind = 'go_zero_shedder'",
    "kind = 'sentinel_system'\nqps = 900\nmax_thread = 15",
    "kind = 'adaptive_throttle'",
    "kind = 'envoy_admission_control'",
    "kind = 'queue_delay'\nthreshold = '100ms'",
    "kind = 'utilization_shedder'",
    "kind = 'dagor'",
    "kind = 'overload_manager'\nthreshold = 0.9",
    "kind = 'pid_shedder'",
    "kind = 'priority_levels'\nseats = 24\nlevel.high = { classes = ['interactive'], lendable = 0.5 }\nlevel.low = {}",
    "kind = 'breakwater'\nrtt = '100ms'",
    "kind = 'seda'",
    "kind = 'authenticate'\nshare = 0.1",
    "kind = 'async_bulkhead_llm'\nmax_concurrent = 24\nbudget = 100\nshare.interactive = { protected_concurrent = 8 }",
    "kind = 'floor_lending'\nlimit = 24\nshare.interactive = { floor = 8 }",
    "kind = 'gie_saturation'\nkv_tokens = 1000",
    "kind = 'litellm_priority'\nrpm = 60000\nshare.interactive = { weight = 0.7 }",
];

/// How many are at work at a time.
const AT_WORK: usize = 20;

fn room(keys: &str) -> Box<dyn Admission> {
    let text = format!(
        "version = 1\nduration = '1s'\n[class.interactive]\npriority = 10\n[class.batch]\n\
         [traffic.t]\nclass = 'interactive'\nat = ['0s']\n[traffic.u]\nclass = 'batch'\nat = ['0s']\n[admission.a]\n{keys}\n\
         [downstream.d]\nconcurrency = 1\nservice_time = '1s'\n[policy.p]\nstages = ['a']\ndownstream = 'd'\n"
    );
    let document = Document::from_text("bench", &text, Path::new(""));
    let read = document.and_then(|document| Scenario::read(&document));
    let prepared = read.and_then(|(scenario, _)| Prepared::new(scenario));
    let prepared = prepared.unwrap_or_else(|problems| panic!("{problems}"));
    let setup = prepared.setup(0, 1).expect("nothing is read from files");
    setup.gates.into_iter().next().expect("a gate").admissions.remove(0)
}

/// Name and nanoseconds of each stage's decision.
pub fn decisions(rounds: usize, decisions: u64) -> Vec<(String, f64)> {
    for kind in KINDS.iter().filter(|kind| is_admission(kind.name)) {
        assert!(ROWS.iter().any(|row| row.contains(&format!("'{}'", kind.name))), "no row for {}", kind.name);
    }
    ROWS.iter()
        .map(|keys| {
            (keys.replace("kind = ", "").replace('\'', "").replace('\n', ", "), ns(keys, rounds, decisions))
        })
        .collect()
}

/// Whether a kind of stage asks for room.
pub fn is_admission(kind: &str) -> bool {
    let kind = KINDS.iter().find(|known| known.name == kind).expect("it is of the registry");
    let mut is_admission = false;
    tidegate::section::describe(|section| is_admission = (kind.read)(section).is_admission());
    is_admission
}

fn ns(keys: &str, rounds: usize, decisions: u64) -> f64 {
    let mut stage = room(keys);
    let mut now = SimTime::ZERO;
    // Who is at work in each place.
    let mut at_work: Vec<Option<Ask>> = vec![None; AT_WORK];
    cost(rounds, || {
        for i in 0..decisions {
            let bits = Dice(i).bits(Purpose::Policy, 1);
            // The clock moves on by 1.05 ms on average.
            now = SimTime(now.0 + (bits >> 43));
            while let Some(at) = stage.alarm().filter(|at| *at <= now) {
                stage.ring(at, &Scene::default());
            }
            let place = i as usize % AT_WORK;
            if let Some(ask) = at_work[place].take() {
                stage.settle(now, &at(place, &ask), End::Completed(Nanos(20_000_000 + (bits & 0xfffff))));
            }
            let ask = Ask {
                dice: Dice(i),
                class: ClassId((i & 1) as u16),
                tenant: i as u32 % 1_000,
                input_tokens: 5,
                ..Ask::default()
            };
            let entrant = at(place, &ask);
            if stage.sheds(now, &entrant, &Scene::default()).is_none()
                && stage.admit(now, &entrant) == Answer::Pass
            {
                stage.take(now, &entrant);
                at_work[place] = Some(ask);
            }
        }
        decisions
    })
}

fn at(place: usize, ask: &Ask) -> Entrant<'_> {
    Entrant { place: place as u32, ..Entrant::first(ask) }
}
