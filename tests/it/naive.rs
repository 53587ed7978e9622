//! A slow simulator, as obvious as can be, beside the engine: attempt by attempt they tell the same story.
//!
//! It knows one traffic of listed calls, one client, a token bucket that refuses or lets wait, a limit for each
//! tenant, a FIFO queue with its bounds, and slots. Every event is looked for in a plain list, and everything is reckoned anew when it is asked.

use crate::support::{Attempt, prepared, run_setup, setup};
use proptest::prelude::*;
use tidegate::request::Ask;
use tidegate::rng::{Dice, Purpose, Stream};
use tidegate::time::{Nanos, SimTime};

/// A scenario of the few things that both know.
#[derive(Clone, Debug)]
struct Plan {
    seed: u64,
    /// Instant and tenant (0 or 1) of each call.
    calls: Vec<(u64, usize)>,
    slots: usize,
    /// Uniform service time; equal ends are a constant.
    service: (u64, u64),
    error_rate: f64,
    queue: Option<Waiting>,
    /// The most of one tenant in flight.
    per_tenant: Option<usize>,
    bucket: Option<Bucket>,
    timeout: Option<u64>,
    cancel: bool,
    retry: Option<Retries>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    max_length: Option<usize>,
    max_wait: Option<u64>,
    head_of_line_blocks: bool,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    units: u64,
    per: u64,
    burst: u64,
    /// Whether what it would refuse waits for its turn.
    wait: bool,
}

#[derive(Clone, Copy, Debug)]
struct Retries {
    max_attempts: u32,
    base: u64,
    cap: u64,
    full_jitter: bool,
}

impl Plan {
    /// The same as a scenario file.
    fn text(&self) -> String {
        let mut text = "version = 1\nduration = '1000s'\n[traffic.api]\n".to_string();
        let mut policy = "[policy.p]\ndownstream = 'server'\n".to_string();
        if self.timeout.is_some() || self.retry.is_some() {
            text += "client = 'sdk'\n";
        }
        for (at, tenant) in &self.calls {
            text += &format!("[[traffic.api.call]]\nat = '{at}ns'\ntenant = 'x{tenant}'\n");
        }
        if self.timeout.is_some() || self.retry.is_some() {
            text += "[client.sdk]\n";
            if let Some(timeout) = self.timeout {
                text += &format!("timeout = '{timeout}ns'\ncancel = {}\n", self.cancel);
            }
            if let Some(Retries { max_attempts, base, cap, full_jitter }) = self.retry {
                let jitter = if full_jitter { "full" } else { "none" };
                text += &format!(
                    "[client.sdk.retry]\nmax_attempts = {max_attempts}\non = ['429', '503', '500', 'timeout']\n\
                     backoff = {{ base = '{base}ns', factor = 2, max = '{cap}ns', jitter = '{jitter}' }}\n"
                );
            }
        }
        let mut stages = Vec::new();
        if let Some(Bucket { units, per, burst, wait }) = self.bucket {
            text += &format!(
                "[limiter.bucket]\nkind = 'token_bucket'\nrate = '{units}/{per}ns'\nburst = {burst}\nwait = {wait}\n"
            );
            stages.push("bucket");
        }
        if let Some(limit) = self.per_tenant {
            text += &format!("[limiter.fair]\nkind = 'concurrency'\nlimit = {limit}\nkey = 'tenant'\n");
            stages.push("fair");
        }
        if let Some(Waiting { max_length, max_wait, head_of_line_blocks }) = self.queue {
            let length = max_length.map_or("'unlimited'".to_string(), |length| length.to_string());
            let order = if head_of_line_blocks { "block" } else { "pass" };
            text += &format!("[queue.line]\nmax_length = {length}\nhead_of_line = '{order}'\n");
            if let Some(wait) = max_wait {
                text += &format!("max_wait = '{wait}ns'\n");
            }
            policy += "queue = 'line'\n";
        }
        let (low, high) = self.service;
        text += &format!(
            "[downstream.server]\nconcurrency = {}\nerror_rate = {}\n\
             service_time = {{ dist = 'uniform', low = '{low}ns', high = '{high}ns' }}\n",
            self.slots, self.error_rate
        );
        text + &policy + &format!("stages = {stages:?}\n")
    }
}

/// What is to happen, in the order of those that happen at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Finish(usize),
    Wake(usize),
    Expire(usize),
    Timeout(usize),
    Retry(usize),
    Arrive(usize),
}

impl Event {
    fn rank(self) -> u32 {
        match self {
            Event::Finish(_) => 0,
            Event::Wake(_) => 1,
            Event::Expire(_) => 2,
            Event::Timeout(_) => 3,
            Event::Retry(_) => 4,
            Event::Arrive(_) => 5,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the bucket, waiting for its turn.
    Parked,
    Queued,
    Serving,
    Gone,
}

struct Try {
    call: usize,
    number: u32,
    arrived: u64,
    started: Option<u64>,
    place: Place,
    fails: bool,
    orphan: bool,
}

struct Naive<'a> {
    plan: &'a Plan,
    dice: Vec<Dice>,
    now: u64,
    made: u64,
    events: Vec<(u64, u32, u64, Event)>,
    /// Attempts that each call has made.
    attempts_of: Vec<u32>,
    tries: Vec<Try>,
    queue: Vec<usize>,
    /// Those before the bucket.
    parked: Vec<usize>,
    credits: u128,
    filled: u64,
    story: Vec<Attempt>,
}

/// Every attempt of the plan, as the slow simulator tells it.
fn naive(plan: &Plan) -> Vec<Attempt> {
    let mut stream = Stream::new(plan.seed, "traffic/api/calls");
    let mut naive = Naive {
        plan,
        dice: plan.calls.iter().map(|_| stream.dice()).collect(),
        now: 0,
        made: 0,
        events: Vec::new(),
        attempts_of: vec![0; plan.calls.len()],
        tries: Vec::new(),
        queue: Vec::new(),
        parked: Vec::new(),
        credits: plan.bucket.map_or(0, |bucket| u128::from(bucket.burst) * u128::from(bucket.per)),
        filled: 0,
        story: Vec::new(),
    };
    for (call, (at, _)) in plan.calls.iter().enumerate() {
        naive.schedule(*at, Event::Arrive(call));
    }
    while let Some(next) = naive.events.iter().enumerate().min_by_key(|(_, event)| **event).map(|(at, _)| at)
    {
        let (time, _, _, event) = naive.events.remove(next);
        naive.now = time;
        naive.handle(event);
    }
    naive.story.sort_by_key(|attempt| (attempt.call, attempt.attempt));
    naive.story
}

impl Naive<'_> {
    fn schedule(&mut self, at: u64, event: Event) {
        self.made += 1;
        self.events.push((at, event.rank(), self.made, event));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrive(call) | Event::Retry(call) => self.attempt(call),
            Event::Finish(at) if self.tries[at].place == Place::Serving => {
                let outcome = match (self.tries[at].fails, self.tries[at].orphan) {
                    (true, _) => "failed",
                    (false, true) => "wasted",
                    (false, false) => "goodput",
                };
                let (call, orphan) = (self.tries[at].call, self.tries[at].orphan);
                self.end(at, outcome, "", "", None);
                if outcome == "failed" && !orphan {
                    self.failed(call);
                }
                self.offer();
            }
            Event::Wake(at) if self.parked.first() == Some(&at) => match self.lack() {
                None => {
                    self.charge();
                    self.leave_parked(at);
                    self.tries[at].place = Place::Gone;
                    self.seek_room(at);
                }
                Some(wait) => self.schedule(self.now + wait, Event::Wake(at)),
            },
            Event::Expire(at) if self.tries[at].place == Place::Queued => {
                self.leave_queue(at);
                self.end(at, "rejected", "queue_timeout", "line", None);
                self.failed(self.tries[at].call);
                self.offer();
            }
            Event::Timeout(at) if self.tries[at].place != Place::Gone => {
                match self.tries[at].place {
                    Place::Serving if !self.plan.cancel => self.tries[at].orphan = true,
                    Place::Serving => self.end(at, "cancelled", "", "", None),
                    Place::Parked => {
                        self.leave_parked(at);
                        self.end(at, "abandoned", "", "", None);
                    }
                    _ => {
                        self.leave_queue(at);
                        self.end(at, "abandoned", "", "", None);
                    }
                }
                self.failed(self.tries[at].call);
                self.offer();
            }
            _ => {}
        }
    }

    fn attempt(&mut self, call: usize) {
        self.attempts_of[call] += 1;
        let at = self.tries.len();
        self.tries.push(Try {
            call,
            number: self.attempts_of[call],
            arrived: self.now,
            started: None,
            place: Place::Gone,
            fails: false,
            orphan: false,
        });
        if self.enter(at)
            && let Some(timeout) = self.plan.timeout
        {
            self.schedule(self.now + timeout, Event::Timeout(at));
        }
    }

    /// Leads an attempt in; answers whether it is still there.
    fn enter(&mut self, at: usize) -> bool {
        let wait = self.lack();
        if self.plan.bucket.is_some_and(|bucket| bucket.wait) && (wait.is_some() || !self.parked.is_empty()) {
            self.tries[at].place = Place::Parked;
            self.parked.push(at);
            if let (Some(wait), [_only]) = (wait, &self.parked[..]) {
                self.schedule(self.now + wait, Event::Wake(at));
            }
            return true;
        }
        if wait.is_some() {
            self.end(at, "rejected", "rate_limited", "bucket", wait);
            self.failed(self.tries[at].call);
            return false;
        }
        self.charge();
        self.seek_room(at)
    }

    /// Starts one that the bucket has passed, or lets it wait; answers whether it is still there.
    fn seek_room(&mut self, at: usize) -> bool {
        let call = self.tries[at].call;
        let must_wait =
            !self.queue.is_empty() && self.plan.queue.is_some_and(|queue| queue.head_of_line_blocks);
        let lacking = if self.tenant_is_full(call) {
            Some("fair")
        } else if self.serving(|_| true) == self.plan.slots {
            Some("server")
        } else {
            None
        };
        let Some(lacking) = lacking.or(must_wait.then_some("line")) else {
            self.start(at);
            return true;
        };
        match self.plan.queue {
            Some(queue) if queue.max_length.is_none_or(|most| self.queue.len() < most) => {
                self.tries[at].place = Place::Queued;
                self.queue.push(at);
                if let Some(wait) = queue.max_wait {
                    self.schedule(self.now + wait, Event::Expire(at));
                }
                return true;
            }
            Some(_) => {
                self.give_back();
                self.end(at, "rejected", "queue_full", "line", None);
            }
            None => {
                self.give_back();
                self.end(at, "rejected", "concurrency", lacking, None);
            }
        }
        self.failed(call);
        false
    }

    fn start(&mut self, at: usize) {
        let (dice, number) = (self.dice[self.tries[at].call], self.tries[at].number);
        let (low, high) = (self.plan.service.0 as f64, self.plan.service.1 as f64);
        let takes = (low + (high - low) * dice.share(Purpose::Service, number)).round() as u64;
        self.tries[at].place = Place::Serving;
        self.tries[at].started = Some(self.now);
        self.tries[at].fails = dice.share(Purpose::Error, number) < self.plan.error_rate;
        self.schedule(self.now + takes, Event::Finish(at));
    }

    /// Lets those in who have room, in their order.
    fn offer(&mut self) {
        let mut turn = 0;
        while turn < self.queue.len() && self.serving(|_| true) < self.plan.slots {
            let at = self.queue[turn];
            if !self.tenant_is_full(self.tries[at].call) {
                self.queue.remove(turn);
                self.start(at);
            } else if self.plan.queue.is_some_and(|queue| queue.head_of_line_blocks) {
                return;
            } else {
                turn += 1;
            }
        }
    }

    fn serving(&self, which: impl Fn(&Try) -> bool) -> usize {
        self.tries.iter().filter(|each| each.place == Place::Serving && which(each)).count()
    }

    fn tenant_is_full(&self, call: usize) -> bool {
        let tenant = |call: usize| self.plan.calls[call].1;
        let mine = self.serving(|each| tenant(each.call) == tenant(call));
        self.plan.per_tenant.is_some_and(|limit| limit <= mine)
    }

    /// How long until the bucket holds enough; `None` if it does, or there is none.
    fn lack(&mut self) -> Option<u64> {
        let bucket = self.plan.bucket?;
        self.fill();
        let lack = u128::from(bucket.per).saturating_sub(self.credits);
        (lack > 0).then(|| lack.div_ceil(u128::from(bucket.units)) as u64)
    }

    fn charge(&mut self) {
        self.credits -= self.plan.bucket.map_or(0, |bucket| u128::from(bucket.per));
    }

    /// When the first leaves, the next is looked at within the same instant.
    fn leave_parked(&mut self, at: usize) {
        let was_first = self.parked[0] == at;
        self.parked.retain(|other| *other != at);
        if was_first {
            self.wake_first();
        }
    }

    fn wake_first(&mut self) {
        if let Some(first) = self.parked.first() {
            self.schedule(self.now, Event::Wake(*first));
        }
    }

    fn leave_queue(&mut self, at: usize) {
        self.queue.retain(|other| *other != at);
        self.give_back();
    }

    fn fill(&mut self) {
        if let Some(Bucket { units, per, burst, .. }) = self.plan.bucket {
            let gained = u128::from(self.now - self.filled) * u128::from(units);
            self.credits = (self.credits + gained).min(u128::from(burst) * u128::from(per));
            self.filled = self.now;
        }
    }

    fn give_back(&mut self) {
        self.fill();
        if let Some(Bucket { per, burst, .. }) = self.plan.bucket {
            self.credits = (self.credits + u128::from(per)).min(u128::from(burst) * u128::from(per));
        }
        self.wake_first();
    }

    fn failed(&mut self, call: usize) {
        let Some(retry) = self.plan.retry else { return };
        let made = self.attempts_of[call];
        if made < retry.max_attempts {
            let bound = (retry.base << (made - 1)).min(retry.cap);
            let share = if retry.full_jitter { self.dice[call].share(Purpose::Backoff, made) } else { 1.0 };
            self.schedule(self.now + (bound as f64 * share).round() as u64, Event::Retry(call));
        }
    }

    fn end(
        &mut self,
        at: usize,
        outcome: &'static str,
        reason: &'static str,
        stage: &str,
        wait: Option<u64>,
    ) {
        let each = &mut self.tries[at];
        each.place = Place::Gone;
        let ask = Ask { dice: self.dice[each.call], ..Ask::default() };
        self.story.push(Attempt {
            call: each.call as u64,
            attempt: each.number,
            traffic: "api".into(),
            class: "default".into(),
            tenant: 0,
            arrived: SimTime(each.arrived),
            started: each.started.map(SimTime),
            ended: SimTime(self.now),
            outcome,
            reason,
            stage: stage.to_string(),
            retry_after: wait.map(Nanos),
            scope: "",
            caller: String::new(),
            target: "server".into(),
            ask,
        });
    }
}

/// Times are multiples of 50 ms as often as not, so that much happens at one instant.
fn time(most: u64) -> impl Strategy<Value = u64> {
    let tick = 50_000_000;
    prop_oneof![3 => (0..=most).prop_map(move |n| n * tick), 1 => 0..=most * tick]
}

fn plan() -> impl Strategy<Value = Plan> {
    let calls = prop::collection::vec((time(6), 0usize..2), 1..60).prop_map(|gaps| {
        let mut now = 0;
        let arrive = |(gap, tenant)| {
            now += gap;
            (now, tenant)
        };
        gaps.into_iter().map(arrive).collect::<Vec<_>>()
    });
    let service = (time(12), prop_oneof![Just(0), time(10)]).prop_map(|(low, more)| (low, low + more));
    let queue = (prop::option::of(0usize..6), prop::option::of(time(10)), any::<bool>()).prop_map(
        |(max_length, max_wait, head_of_line_blocks)| Waiting {
            max_length,
            max_wait: max_wait.filter(|wait| *wait > 0),
            head_of_line_blocks,
        },
    );
    let bucket = (1u64..8, time(20), 1u64..5, any::<bool>()).prop_map(|(units, per, burst, wait)| Bucket {
        units,
        per: per.max(1),
        burst,
        wait,
    });
    // The bucket's fraction is reduced when it is read, which moves neither decisions nor waits.
    let retry =
        (1u32..5, time(8), time(20), any::<bool>()).prop_map(|(max_attempts, base, more, full_jitter)| {
            Retries { max_attempts, base, cap: base + more, full_jitter }
        });
    let timeout = prop::option::of(time(15)).prop_map(|timeout| timeout.filter(|timeout| *timeout > 0));
    (
        (0u64..1_000, calls, 1usize..5, service),
        prop_oneof![2 => Just(0.0), 1 => Just(0.25)],
        prop::option::weighted(0.8, queue),
        prop::option::of(1usize..3),
        prop::option::of(bucket),
        (timeout, any::<bool>()),
        prop::option::weighted(0.7, retry),
    )
        .prop_map(
            |(
                (seed, calls, slots, service),
                error_rate,
                queue,
                per_tenant,
                bucket,
                (timeout, cancel),
                retry,
            )| {
                Plan {
                    seed,
                    calls,
                    slots,
                    service,
                    error_rate,
                    queue,
                    per_tenant,
                    bucket,
                    timeout,
                    cancel,
                    retry,
                }
            },
        )
}

/// The engine's story of the same plan.
fn engine(plan: &Plan) -> Vec<Attempt> {
    let mut attempts = run_setup(setup(&prepared(&plan.text()), 0, plan.seed)).sorted_attempts();
    attempts.iter_mut().for_each(|attempt| (attempt.tenant, attempt.ask.tenant) = (0, 0));
    attempts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_tells_the_same_story_as_a_slow_and_obvious_simulator(plan in plan()) {
        let (engine, naive) = (engine(&plan), naive(&plan));
        for (ours, theirs) in engine.iter().zip(&naive) {
            prop_assert_eq!(ours, theirs, "in\n{}", plan.text());
        }
        prop_assert_eq!(engine.len(), naive.len());
    }
}

/// Two slots, one for each tenant; a queue in which the first blocks. Tenant 0 works for 10 s; its second call
/// comes at 1 s and is the first to wait.
fn blocked_at_the_head(later: &[(u64, usize)], max_wait: Option<u64>) -> Vec<Attempt> {
    let s = 1_000_000_000;
    let mut calls = vec![(0, 0), (s, 0)];
    calls.extend(later.iter().map(|(at, tenant)| (at * s, *tenant)));
    engine(&Plan {
        seed: 1,
        calls,
        slots: 2,
        service: (10 * s, 10 * s),
        error_rate: 0.0,
        queue: Some(Waiting { max_length: None, max_wait, head_of_line_blocks: true }),
        per_tenant: Some(1),
        bucket: None,
        timeout: None,
        cancel: false,
        retry: None,
    })
}

#[test]
fn an_arrival_does_not_overtake_one_that_blocks_the_line() {
    let attempts = blocked_at_the_head(&[(2, 1)], None);
    let started: Vec<_> =
        attempts.iter().map(|attempt| attempt.started.map(|at| at.0 / 1_000_000_000)).collect();
    assert_eq!(started, [Some(0), Some(10), Some(10)]);
}

#[test]
fn when_the_one_that_blocks_the_line_expires_those_behind_it_start() {
    let attempts = blocked_at_the_head(&[(2, 1)], Some(4_000_000_000));
    let started: Vec<_> =
        attempts.iter().map(|attempt| attempt.started.map(|at| at.0 / 1_000_000_000)).collect();
    assert_eq!(started, [Some(0), None, Some(5)]);
}
