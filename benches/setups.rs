//! Simulations to measure, made from the library's parts.

use tidegate::client::backoff::{Exponential, Jitter};
use tidegate::client::{Client, Failure, Retry};
use tidegate::dist::{Dist, Pick};
use tidegate::downstream::service::Service;
use tidegate::downstream::slots::Slots;
use tidegate::engine::{Change, Gate, Parking, Setup, Take, Target, Traffic};
use tidegate::limiter::token_bucket::TokenBucket;
use tidegate::limiter::{Blueprint, Limiter, Options};
use tidegate::observe::{GateLayout, Layout};
use tidegate::queue::fifo::Fifo;
use tidegate::report::csv::{Files, Nameless, Table};
use tidegate::request::{ClassId, Key, Knob};
use tidegate::rng::Stream;
use tidegate::time::{Nanos, SimTime};
use tidegate::traffic::AnySource;
use tidegate::traffic::arrivals::{Listed, Poisson};
use tidegate::traffic::draws::{Choice, Draws};
use tidegate::traffic::profile::RateProfile;
use tidegate::units::Rate;

/// Lets `work` fill the CSV files of a run in a directory that goes away; answers what it does, and the bytes written.
pub fn with_files<T>(requests: bool, work: impl FnOnce(&Files<'_>) -> T) -> (T, u64) {
    let dir = tempfile::tempdir().expect("a directory for what is written");
    let left_out: &[Table] = if requests { &[Table::Edges] } else { &[Table::Edges, Table::Requests] };
    let files = Files::create(dir.path(), dir.path().into(), "0123456789ab", &[], &Nameless, left_out);
    let files = files.expect("an empty directory");
    let answer = work(&files);
    let written = files.finish().expect("room on the disk");
    (answer, written.iter().map(|file| file.bytes).sum())
}

pub fn per_second(calls: u64) -> Rate {
    Rate::new(calls, Nanos::SECOND).expect("not zero")
}

fn exponential(mean_ns: f64) -> Service {
    Service::Drawn(Dist::exponential(mean_ns).expect("positive"))
}

fn poisson(name: &str, rate: Rate, seed: u64, duration: Nanos) -> Traffic {
    let stream = Stream::new(seed, &format!("traffic/{name}/arrivals"));
    Traffic {
        name: name.into(),
        source: AnySource::Poisson(Box::new(Poisson::new(&RateProfile::constant(rate), stream, duration))),
        dice: Stream::new(seed, &format!("traffic/{name}/calls")),
        draws: Draws::default(),
        class: ClassId(0),
        client: 0,
        gate: 0,
    }
}

fn gate(limiters: Vec<Box<dyn Limiter>>, queue: Option<u64>) -> Gate {
    Gate {
        parking: vec![Parking::No; limiters.len()],
        limiters,
        admissions: vec![],
        queue: Some(Fifo::new(queue, None).into()),
        downstream: 0,
        quota: None,
        take: Take::AllOrNone,
        calls: vec![],
        frees_slot: false,
    }
}

/// One traffic, one gate, one downstream.
fn simple(rate: Rate, gate: Gate, downstream: Slots, seed: u64, duration: Nanos) -> Setup {
    let mut stages = vec!["bucket".to_string(); gate.limiters.len()];
    stages.extend(["queue".into(), "server".into()]);
    Setup {
        layout: Layout {
            classes: vec!["default".into()],
            gates: vec![GateLayout { target: "server".into(), stages }],
            interval: Nanos::SECOND,
            duration,
            drain: Nanos(10 * duration.0),
            ..Layout::default()
        },
        deadlines: vec![None],
        traffics: vec![poisson("t", rate, seed, duration)],
        clients: vec![Client::patient()],
        gates: vec![gate],
        downstreams: vec![downstream.into()],
        changes: vec![],
    }
}

/// A queue before one server: `w1` of the limit.
pub fn w1(seed: u64, duration: Nanos) -> Setup {
    let downstream = Slots::new(Some(1), exponential(1e6));
    simple(per_second(800), gate(vec![], None), downstream, seed, duration)
}

fn bucket(rate: Rate, burst: u64, key: Option<Key>) -> Vec<Box<dyn Limiter>> {
    vec![TokenBucket::new(rate, burst).build(&Options::requests(key.map(Into::into)))]
}

/// A token bucket before 64 servers: `w2` of the limit.
pub fn w2(seed: u64, duration: Nanos) -> Setup {
    let gate = gate(bucket(per_second(800), 100, None), Some(200));
    simple(per_second(1000), gate, Slots::new(Some(64), exponential(70e6)), seed, duration)
}

/// A retry storm: `w3` of the limit.
pub fn w3(seed: u64, duration: Nanos) -> Setup {
    let downstream = Slots::new(Some(64), exponential(60e6));
    let mut setup = simple(per_second(900), gate(vec![], Some(1000)), downstream, seed, duration);
    setup.clients[0] = Client {
        timeout: Some(Nanos::SECOND),
        cancel: false,
        retry: Some(Retry {
            max_attempts: 4,
            on: [Failure::Timeout, Failure::Unavailable, Failure::Limited].into_iter().collect(),
            backoff: Exponential {
                base: Nanos::millis(100),
                factor: 2.0,
                max: Nanos::secs(1000),
                jitter: Jitter::Full,
            },
            budget: None,
        }),
    };
    let slowdown =
        |at, factor| Change { at: SimTime(at), target: Target::Downstream(0), knob: Knob::Slowdown(factor) };
    setup.changes = vec![slowdown(duration.0 / 2, 8.0), slowdown(duration.0 / 4 * 3, 1.0)];
    setup
}

/// W1 to W3 by number.
pub fn workload(which: u32, seed: u64, duration: Nanos) -> Setup {
    match which {
        1 => w1(seed, duration),
        2 => w2(seed, duration),
        _ => w3(seed, duration),
    }
}

/// `count` independent copies of W2 side by side in one run.
pub fn side_by_side(count: u64, duration: Nanos) -> Setup {
    let mut all = w2(1, duration);
    for i in 1..count {
        let mut one = w2(1, duration);
        all.traffics
            .push(Traffic { gate: i as usize, ..poisson(&format!("t{i}"), per_second(1000), 1, duration) });
        all.layout.gates.append(&mut one.layout.gates);
        one.gates[0].downstream = i as usize;
        all.gates.append(&mut one.gates);
        all.downstreams.append(&mut one.downstreams);
    }
    all
}

/// W2 with a bucket for each of 1,000 tenants, together as large as its own.
pub fn keyed(duration: Nanos) -> Setup {
    let rate = Rate::new(4, Nanos::secs(5)).expect("not zero");
    let gate = gate(bucket(rate, 2, Some(Key::Tenant)), Some(200));
    let mut setup = simple(per_second(1000), gate, Slots::new(Some(64), exponential(70e6)), 1, duration);
    let pick = Pick::uniform(1_000).expect("not zero");
    setup.traffics[0].draws.tenant = Some(Choice::Run { first: 0, pick });
    setup.layout.tenants = true;
    setup
}

/// W2 with its traffic split into `count` classes.
pub fn classes(count: u64, duration: Nanos) -> Setup {
    let mut setup = w2(1, duration);
    let traffic = |i| Traffic {
        class: ClassId(i as u16),
        ..poisson(&format!("t{i}"), per_second(1000 / count), 1, duration)
    };
    setup.traffics = (0..count).map(traffic).collect();
    setup.layout.classes = (0..count).map(|i| format!("class{i}")).collect();
    setup.deadlines = vec![None; count as usize];
    setup
}

/// `waiting` calls that come at once and wait for one server, and as many new ones as it serves: that many timers
/// are pending all the time, and none fires.
pub fn waiting(waiting: u64, duration: Nanos) -> Setup {
    let mut setup = w1(1, duration);
    setup.downstreams = vec![Slots::new(Some(1), exponential(1.25e6)).into()];
    let crowd =
        Listed::new(vec![Default::default(); waiting as usize], duration).expect("all at one instant");
    setup.traffics.push(Traffic { source: crowd.into(), ..poisson("crowd", per_second(1), 1, duration) });
    setup.clients[0].timeout = Some(Nanos::secs(10_000_000));
    setup.layout.drain = Nanos::secs(10_000);
    setup
}

/// `busy` calls in service on average: each has a finish and a timer of ten times its mean service time pending.
pub fn in_service(busy: u64, duration: Nanos) -> Setup {
    let mean_ns = busy * 1_000;
    let downstream = Slots::new(None, exponential(mean_ns as f64));
    let mut setup = simple(per_second(1_000_000), gate(vec![], None), downstream, 1, duration);
    setup.clients[0].timeout = Some(Nanos(mean_ns * 10));
    setup
}
