//! The contract of `src/admission.rs`, over every kind of the registry that asks for room and generated histories.
//!
//! A kind without a case here fails: whoever adds one says which configurations stand for it.

use crate::support::{is_admission, room};
use proptest::prelude::*;
use tidegate::admission::{Admission, Answer, Entrant, Scene};
use tidegate::request::{Ask, ClassId, End, Knob};
use tidegate::rng::Dice;
use tidegate::scenario::stage::KINDS;
use tidegate::time::{Nanos, SimTime};

/// A kind, and configurations that stand for it.
const CASES: &[(&str, &[&str])] = &[
    (
        "concurrency",
        &[
            "limit = 1",
            "limit = 3",
            "limit = 2\nkey = 'tenant'",
            "limit = 1\nkey = 'class'",
            "limit = 'unlimited'",
        ],
    ),
    (
        "bulkhead",
        &[
            "limit = 5",
            "limit = 9\nshare.interactive = { guaranteed = 6, lend = 3 }\nshare.batch = { guaranteed = 2, borrow = 1 }",
            "limit = 6\nshare.interactive = { guaranteed = 4, lend = 0, reclaim = 'running' }",
        ],
    ),
    ("partitioned", &["limit = 4\nshare.interactive = { percent = '70%' }"]),
    ("reserved", &["limit = 7\nreserved = '30%'\ncritical = ['interactive']"]),
    (
        "token_budget",
        &[
            "budget = 9000",
            "budget = 12000\nwhen_full = 'shed'\nshare.interactive = { protected = 5000 }\nshare.batch = { max = 6000 }",
            "budget = 9000\nestimator = { characters = 3.1, adapts = true }",
        ],
    ),
    ("aimd", &["", "initial_limit = 4\nmin_limit = 1\nmax_limit = 9\ntimeout = '100ms'\nshadow = true"]),
    ("vegas", &["", "initial_limit = 3\nwindow = { size = 3 }", "initial_limit = 5\nexempt = ['batch']"]),
    ("gradient", &["", "initial_limit = 5\nqueue_size = 1\nprobe_interval = 9\nfailure = 'sample'"]),
    ("gradient2", &["", "initial_limit = 6\nmin_limit = 2\nlong_window = 20\nfailure = 'ignore'"]),
    (
        "envoy_gradient",
        &[
            "",
            "interval = '2s'\nrequest_count = 3\nmin_concurrency = 1",
            "fixed_value = '50ms'\nmin_concurrency = 2",
        ],
    ),
    ("failsafe_adaptive", &["", "initial_limit = 2\nrecent_window_min_samples = 4\nqueueing = {}"]),
    ("kratos_bbr", &["", "cpu_threshold = 1"]),
    ("go_zero_shedder", &["", "cpu_threshold = 1\ncounts_failures = true"]),
    (
        "sentinel_system",
        &["qps = 20\nmax_thread = 5", "highest_system_load = 2\nhighest_cpu_usage = 0.5\navg_rt = '1s'"],
    ),
    ("adaptive_throttle", &["", "dialect = 'failsafe'\nwindow = '3s'"]),
    (
        "envoy_admission_control",
        &["", "dialect = 'v3alpha'", "aggression = 1.5\nrps_threshold = '2/s'\nwindow = '5s'"],
    ),
    ("queue_delay", &["threshold = '100ms'", "threshold = '1s'\nstep = '80ms'"]),
    ("utilization_shedder", &["", "interval = '50ms'\nshed_above = 0.2\nrestore_below = 0.1"]),
    ("dagor", &["", "requests = 7\nthreshold = '1ms'", "requests = 7\nthreshold = '1ms'\ncallers = 3"]),
    (
        "overload_manager",
        &[
            "threshold = 0.3",
            "resource = 'waiting'\nmax_waiting = 9\nscaling_threshold = 0.1\nsaturation_threshold = 0.7",
        ],
    ),
    (
        "priority_levels",
        &[
            "seats = 6\nlevel.high = { classes = ['interactive'], lendable = 0.5 }\nlevel.low = { shares = 60, lendable = 0.9 }",
            "seats = 4\ninterval = '100ms'\nlevel.all = { reject = true, borrowing = 0.5 }",
        ],
    ),
    ("breakwater", &["rtt = '20ms'\nsessions = 2", "rtt = '1s'\ntarget = '50ms'\nkey = 'tenant'\na = 1.0"]),
    ("seda", &["sessions = 2\nresponses = 3\ntarget = '100ms'\nleast = '9/s'"]),
    ("authenticate", &["share = '30%'"]),
    (
        "async_bulkhead_llm",
        &[
            "max_concurrent = 3",
            "max_concurrent = 5\nbudget = 9000\nhigh_priority = ['interactive']\nhigh_priority_reserve = 2000\nreports_usage = true\nestimator = { characters = 3.1, adapts = true }",
            "max_concurrent = 6\nbudget = 12000\nshare.interactive = { protected_concurrent = 2, protected_tokens = 4000 }\nshare.batch = { max_concurrent = 3, max_tokens = 5000 }",
        ],
    ),
    (
        "floor_lending",
        &[
            "limit = 6\ngateways = 2\nshare.interactive = { floor = 3 }",
            "limit = 9\nshare.interactive = { floor = 4 }\nshare.batch = { floor = 3 }\nidle = '50ms'\nreport = '20ms'",
        ],
    ),
    (
        "gie_saturation",
        &[
            "kv_tokens = 5000",
            "detector = 'concurrency'\nmax_in_flight = 2",
            "detector = 'concurrency'\nmax_in_flight = 2\nflow_control = true",
        ],
    ),
    ("litellm_priority", &["rpm = 9", "tpm = 9000\nshare.interactive = { weight = 0.8 }\nthreshold = 0.1"]),
    ("pid_shedder", &["", "dialect = 'plain'\ntarget_utilization = 0.4\nkd = 0.1"]),
];

/// One step of a history.
#[derive(Clone, Debug)]
struct Step {
    later: u64,
    act: Act,
}

#[derive(Clone, Debug)]
enum Act {
    /// One comes, and waits if it has to.
    Come(Ask),
    /// One that is at work ends.
    End(usize, fn(Nanos) -> End),
    /// One that waits leaves.
    Leave(usize),
    /// The limit is another.
    Limit(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let later = prop_oneof![
        3 => Just(0u64),
        2 => 1u64..10_000_000,
        3 => 1u64..300_000_000,
        1 => 1u64..10_000_000_000,
        1 => Just(100_000_000_000),
    ];
    let ask = (any::<u64>(), 0u32..3, 0u16..2, 0u32..2_000, 0u32..2_000, 0u32..2_000).prop_map(
        |(dice, tenant, class, input, output, max)| Ask {
            dice: Dice(dice),
            tenant,
            user: tenant,
            class: ClassId(class),
            input_tokens: input,
            output_tokens: output,
            max_output_tokens: max,
            ..Ask::default()
        },
    );
    let end = prop_oneof![
        6 => Just(End::Completed as fn(Nanos) -> End),
        1 => Just(End::Failed as fn(Nanos) -> End),
        1 => Just(End::Cancelled as fn(Nanos) -> End),
    ];
    let act = prop_oneof![
        6 => ask.prop_map(Act::Come),
        5 => (any::<usize>(), end).prop_map(|(which, end)| Act::End(which, end)),
        1 => any::<usize>().prop_map(Act::Leave),
        1 => (1u64..40).prop_map(Act::Limit),
    ];
    (later, act).prop_map(|(later, act)| Step { later, act })
}

/// One that is alive.
#[derive(Clone, Copy, Debug)]
struct Live {
    ask: Ask,
    place: u32,
    came: SimTime,
    started: SimTime,
}

impl Live {
    fn entrant(&self, now: SimTime, queued: bool) -> Entrant<'_> {
        Entrant { ask: &self.ask, place: self.place, number: 1, waited: now - self.came, queued }
    }
}

/// Two stages of the same description, told the same; one of them is asked more often.
struct Twins {
    stage: Box<dyn Admission>,
    twin: Box<dyn Admission>,
    /// Whether a limit on what is in flight has been changed.
    changed: bool,
    waiting: Vec<Live>,
    serving: Vec<Live>,
}

impl Twins {
    fn place(&self) -> u32 {
        let taken = |place: &u32| self.waiting.iter().chain(&self.serving).any(|live| live.place == *place);
        (0..).find(|place| !taken(place)).expect("places never end")
    }

    fn scene(&self, now: SimTime) -> Scene {
        let delay = self.waiting.first().map_or(Nanos::ZERO, |first| now - first.came);
        let (waiting, busy) = (self.waiting.len() as u64, self.serving.len() as u64);
        Scene { waiting, delay, busy, slots: Some(16), backlog: 0 }
    }

    /// Asks twice, and once of the twin.
    fn ask(&self, now: SimTime, live: &Live, queued: bool) -> Result<Answer, TestCaseError> {
        let entrant = &live.entrant(now, queued);
        let answer = self.stage.admit(now, entrant);
        prop_assert_eq!(self.stage.admit(now, entrant), answer, "an answer changed the next one");
        prop_assert_eq!(self.twin.admit(now, entrant), answer, "the twin answers otherwise");
        let later = now.saturating_add(Nanos(1_000_000_000_000));
        let later = self.stage.alarm().map_or(later, |alarm| later.min(SimTime(alarm.0 - 1))).max(now);
        prop_assert_eq!(self.stage.admit(later, entrant), answer, "time alone changed the answer");
        Ok(answer)
    }

    fn start(&mut self, now: SimTime, live: Live, queued: bool) {
        let live = Live { started: now, ..live };
        self.stage.take(now, &live.entrant(now, queued));
        self.twin.take(now, &live.entrant(now, queued));
        self.serving.push(live);
    }

    fn comes(&mut self, now: SimTime, ask: Ask) -> Result<(), TestCaseError> {
        let live = Live { ask, place: self.place(), came: now, started: now };
        let scene = self.scene(now);
        let shed = self.stage.sheds(now, &live.entrant(now, false), &scene);
        prop_assert_eq!(self.twin.sheds(now, &live.entrant(now, false), &scene), shed);
        prop_assert!(shed.is_none() || self.stage.habits().sheds, "it sheds, which it does not say");
        if shed.is_some() {
            return Ok(());
        }
        match self.ask(now, &live, false)? {
            Answer::Pass => self.start(now, live, false),
            Answer::Wait => {
                prop_assert!(!self.stage.denial(now, &live.entrant(now, false)).reason.name().is_empty());
                self.stage.waits(now, &live.entrant(now, true));
                self.twin.waits(now, &live.entrant(now, true));
                self.waiting.push(live);
            }
            Answer::Shed(_) => {}
        }
        self.bounds()
    }

    /// What is in flight is within the limit, unless that was lowered.
    fn bounds(&self) -> Result<(), TestCaseError> {
        if let Some(limit) = self.stage.limit().filter(|_| !self.changed && !self.stage.habits().adapts) {
            prop_assert!(self.serving.len() as u64 <= limit, "more in flight than the limit");
        }
        Ok(())
    }

    fn leaves(&mut self, now: SimTime, index: usize) {
        let live = self.waiting.remove(index);
        self.stage.gave_up(now, &live.entrant(now, true));
        self.twin.gave_up(now, &live.entrant(now, true));
    }

    /// Offers room to those that wait, first come, first served.
    fn offer(&mut self, now: SimTime) -> Result<(), TestCaseError> {
        let mut index = 0;
        while index < self.waiting.len() {
            let live = self.waiting[index];
            match self.ask(now, &live, true)? {
                Answer::Pass => {
                    self.waiting.remove(index);
                    self.start(now, live, true);
                    self.bounds()?;
                }
                Answer::Shed(_) => self.leaves(now, index),
                Answer::Wait if self.stage.per_key() => index += 1,
                Answer::Wait => break,
            }
        }
        Ok(())
    }

    /// Rings as often as the stage wants up to `until`.
    fn ring_until(&mut self, until: SimTime) -> Result<(), TestCaseError> {
        loop {
            let alarm = self.stage.alarm();
            prop_assert_eq!(self.twin.alarm(), alarm);
            prop_assert!(
                alarm.is_none() || self.stage.habits().keeps_time,
                "it has an alarm, which it does not say"
            );
            let Some(at) = alarm.filter(|at| *at <= until) else { return Ok(()) };
            let scene = self.scene(at);
            self.stage.ring(at, &scene);
            self.twin.ring(at, &scene);
            prop_assert!(self.stage.alarm().is_none_or(|next| at < next), "the alarm did not move on");
            self.offer(at)?;
        }
    }

    fn ends(&mut self, now: SimTime, which: usize, end: fn(Nanos) -> End) -> Result<(), TestCaseError> {
        let live = self.serving.swap_remove(which % self.serving.len());
        let end = end(now - live.started);
        self.stage.settle(now, &live.entrant(live.started, false), end);
        self.twin.settle(now, &live.entrant(live.started, false), end);
        self.offer(now)
    }

    fn gauge(&mut self, now: SimTime, wanted: &str) -> Option<f64> {
        let mut seen = None;
        self.stage.gauges(now, &mut |name, reading| {
            assert!(reading.last.is_finite() && reading.min <= reading.max, "{name}: {reading:?}");
            if name == wanted {
                seen = Some(reading.last);
            }
        });
        seen
    }
}

/// Holds one history of one admission stage to the contract.
fn obeys(keys: &str, history: &[Step]) -> Result<(), TestCaseError> {
    let (stage, twin) = (room(keys), room(keys));
    let mut twins = Twins { stage, twin, changed: false, waiting: Vec::new(), serving: Vec::new() };
    let mut now = SimTime(0);
    for step in history {
        now = now.saturating_add(Nanos(step.later));
        twins.ring_until(now)?;
        match &step.act {
            Act::Come(ask) => twins.comes(now, *ask)?,
            Act::End(which, end) if !twins.serving.is_empty() => twins.ends(now, *which, *end)?,
            Act::Leave(which) if !twins.waiting.is_empty() => {
                twins.leaves(now, which % twins.waiting.len());
                twins.offer(now)?;
            }
            Act::Limit(limit) => {
                twins.changed = true;
                twins.stage.change(now, Knob::Limit(Some(*limit)));
                twins.twin.change(now, Knob::Limit(Some(*limit)));
                twins.offer(now)?;
            }
            _ => {}
        }
    }
    let in_flight = twins.serving.len() as f64;
    // What is exempt, or would have been turned away, is not in its use.
    let takes_all = !keys.contains("shadow") && !keys.contains("exempt");
    if let Some(in_use) = twins.gauge(now, "in_use").filter(|_| takes_all) {
        prop_assert_eq!(in_use, in_flight, "the gauge counts what is in flight");
    }
    while !twins.serving.is_empty() {
        twins.ends(now, 0, End::Completed)?;
    }
    prop_assert!(
        twins.gauge(now, "in_use").is_none_or(|in_use| in_use == 0.0),
        "something was not given back"
    );
    prop_assert!(
        twins.gauge(now, "tokens_in_use").is_none_or(|tokens| tokens == 0.0),
        "tokens were not given back"
    );
    Ok(())
}

fn cases(kind: &str) -> &'static [&'static str] {
    CASES.iter().find(|(name, _)| *name == kind).map_or(&[], |(_, cases)| cases)
}

#[test]
fn every_kind_that_asks_for_room_is_held_to_the_contract() {
    let admissions: Vec<&str> =
        KINDS.iter().filter(|kind| is_admission(kind)).map(|kind| kind.name).collect();
    for kind in &admissions {
        assert!(!cases(kind).is_empty(), "the kind `{kind}` has no case in tests/it/rooms.rs: add some");
    }
    assert_eq!(admissions.len(), CASES.len(), "a case of no kind");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_case_keeps_the_contract(history in prop::collection::vec(step(), 1..150)) {
        for (kind, cases) in CASES {
            for case in *cases {
                let keys = format!("kind = '{kind}'\n{case}");
                obeys(&keys, &history)
                    .map_err(|error| TestCaseError::fail(format!("{}: {error}", keys.replace('\n', ", "))))?;
            }
        }
    }
}

#[test]
fn a_stage_in_shadow_mode_takes_what_it_would_pass_and_counts_the_rest() {
    let mut stage = room("kind = 'concurrency'\nlimit = 2\nshadow = true");
    let ask = Ask::default();
    let entrant = |place| Entrant { place, ..Entrant::first(&ask) };
    for place in 0..5 {
        assert_eq!(stage.admit(SimTime(0), &entrant(place)), Answer::Pass);
        stage.take(SimTime(0), &entrant(place));
    }
    let read = |stage: &mut Box<dyn Admission>| {
        let mut seen = Vec::new();
        stage.gauges(SimTime(1), &mut |name, reading| seen.push((name, reading.last)));
        seen
    };
    assert_eq!(read(&mut stage), [("in_use", 2.0), ("would_refuse", 3.0)]);
    // One that it has not taken ends, then one that it has: a place is free then.
    stage.settle(SimTime(1), &entrant(4), End::Completed(Nanos(1)));
    assert_eq!(read(&mut stage), [("in_use", 2.0), ("would_refuse", 0.0)]);
    stage.settle(SimTime(1), &entrant(0), End::Completed(Nanos(1)));
    stage.take(SimTime(1), &entrant(0));
    assert_eq!(read(&mut stage), [("in_use", 2.0), ("would_refuse", 0.0)]);
}

#[test]
fn an_exempt_class_is_not_asked() {
    let mut stage = room("kind = 'concurrency'\nlimit = 1\nexempt = ['interactive']");
    let ask = |class| Ask { class: ClassId(class), ..Ask::default() };
    let (interactive, batch) = (ask(1), ask(0));
    stage.take(SimTime(0), &Entrant::first(&batch));
    let answers = [&batch, &interactive].map(|ask| stage.admit(SimTime(0), &Entrant::first(ask)));
    assert!(answers.contains(&Answer::Pass) && answers.contains(&Answer::Wait), "{answers:?}");
}
