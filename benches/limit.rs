//! The limit: W1 to W3 written by hand, with no more structure than each needs.
//!
//! There is no engine, no calendar and no part that knows of another: a workload is one loop over the few things
//! that can come next. Each is written once over a [`Chance`]: with tidegate's own random numbers, drawn for the same
//! purposes in the same order, its results are those of the library to the last count and nanosecond; with the
//! fastest random numbers there are it says how fast a program for this workload alone can be. It counts, and keeps
//! neither histograms nor a timeline.
//!
//! One liberty is not taken: in W3 timeouts come in the order of the queue, so that a still smaller program could do
//! without a queue. The structures here (a tree of winners over the servers' finishes, a ring of timers of one
//! length, a heap of retries, a queue with tombstones) would still serve if timeouts differed.

use std::collections::VecDeque;
use tidegate::math::neg_ln_share;
use tidegate::rng::{Dice, Purpose, Stream};

const SECOND: u64 = 1_000_000_000;

/// Later than everything. Finishes share 64 bits with the number of their server, hence the shift.
const NEVER: u64 = u64::MAX >> 6;

/// What must agree with the library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub calls: u64,
    pub attempts: u64,
    pub goodput: u64,
    pub rejected: u64,
    pub timed_out: u64,
    pub abandoned: u64,
    /// Sum of the waits of the attempts that started, in nanoseconds.
    pub waits: u128,
}

/// Where random numbers come from.
pub trait Chance {
    /// What a call keeps for its later draws.
    type Luck: Copy + Default;
    /// From one arrival to the next, in mean gaps.
    fn gap(&mut self) -> f64;
    /// A call is born.
    fn call(&mut self) -> Self::Luck;
    /// How long an attempt is served, in mean service times.
    fn service(&mut self, luck: Self::Luck, attempt: u32) -> f64;
    /// The jitter of the wait after an attempt, in [0, 1).
    fn jitter(&mut self, luck: Self::Luck, attempt: u32) -> f64;
}

/// Tidegate's own random numbers.
pub struct Same {
    arrivals: Stream,
    calls: Stream,
}

impl Same {
    pub fn new(seed: u64) -> Same {
        Same {
            arrivals: Stream::new(seed, "traffic/t/arrivals"),
            calls: Stream::new(seed, "traffic/t/calls"),
        }
    }
}

impl Chance for Same {
    type Luck = u64;
    #[inline]
    fn gap(&mut self) -> f64 {
        neg_ln_share(self.arrivals.bits())
    }
    #[inline]
    fn call(&mut self) -> u64 {
        self.calls.bits()
    }
    #[inline]
    fn service(&mut self, luck: u64, attempt: u32) -> f64 {
        neg_ln_share(!Dice(luck).bits(Purpose::Service, attempt))
    }
    #[inline]
    fn jitter(&mut self, luck: u64, attempt: u32) -> f64 {
        Dice(luck).share(Purpose::Backoff, attempt)
    }
}

/// The fastest: one wyrand for everything and exponential variates by a ziggurat of 256 layers (Marsaglia, Tsang 2000).
pub struct Fastest {
    state: u64,
    /// Right edges of the layers, lowest and widest first, and the density there.
    layers: [(f64, f64); 257],
}

/// Where the tail of the ziggurat begins, and the area of a layer.
const TAIL: f64 = 7.697_117_470_131_05;
const LAYER: f64 = 0.003_949_659_822_581_557;

impl Fastest {
    #[allow(clippy::disallowed_methods, reason = "nothing is compared with these results")]
    pub fn new(seed: u64) -> Fastest {
        let mut layers = [(0.0, 1.0); 257];
        layers[0] = (LAYER * TAIL.exp(), 0.0);
        layers[1] = (TAIL, (-TAIL).exp());
        for i in 2..256 {
            let (below, density) = layers[i - 1];
            let x = -(LAYER / below + density).ln();
            layers[i] = (x, (-x).exp());
        }
        Fastest { state: seed, layers }
    }

    #[inline]
    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0xa076_1d64_78bd_642f);
        let wide = self.state as u128 * (self.state ^ 0xe703_7ed1_a0b4_28db) as u128;
        (wide >> 64) as u64 ^ wide as u64
    }

    #[inline]
    fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    #[inline]
    fn exponential(&mut self) -> f64 {
        let bits = self.bits();
        let layer = (bits & 255) as usize;
        let x = (bits >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0) * self.layers[layer].0;
        if x < self.layers[layer + 1].0 { x } else { self.edge(layer, x) }
    }

    #[cold]
    #[allow(clippy::disallowed_methods, reason = "nothing is compared with these results")]
    fn edge(&mut self, layer: usize, x: f64) -> f64 {
        if layer == 0 {
            return TAIL - (1.0 - self.share()).ln();
        }
        let (low, high) = (self.layers[layer].1, self.layers[layer + 1].1);
        if low + (high - low) * self.share() < (-x).exp() { x } else { self.exponential() }
    }
}

impl Chance for Fastest {
    type Luck = ();
    #[inline]
    fn gap(&mut self) -> f64 {
        self.exponential()
    }
    #[inline]
    fn call(&mut self) {}
    #[inline]
    fn service(&mut self, _luck: (), _attempt: u32) -> f64 {
        self.exponential()
    }
    #[inline]
    fn jitter(&mut self, _luck: (), _attempt: u32) -> f64 {
        self.share()
    }
}

/// To the nearest nanosecond.
#[inline]
fn nanos(length: f64) -> u64 {
    (length + 0.5) as i64 as u64
}

/// Instants of calls, with what is rounded away carried into the next gap.
struct Arrivals {
    mean_gap: f64,
    rounded_away: f64,
    now: u64,
    until: u64,
}

impl Arrivals {
    fn new(mean_gap: f64, until: u64) -> Arrivals {
        Arrivals { mean_gap, rounded_away: 0.0, now: 0, until }
    }

    #[inline]
    fn next(&mut self, gap: f64) -> u64 {
        let exact = gap * self.mean_gap + self.rounded_away;
        let gap = nanos(exact);
        self.rounded_away = exact - gap as f64;
        self.now += gap;
        if self.now < self.until { self.now } else { NEVER }
    }
}

/// W1: 800 calls a second, one server of 1 ms on average, a queue without bound.
pub fn w1<C: Chance>(mut chance: C, duration: u64) -> Tally {
    let mut tally = Tally::default();
    let mut arrivals = Arrivals::new(1e9 / 800.0, duration);
    let mut queue: VecDeque<(u64, C::Luck)> = VecDeque::with_capacity(1024);
    let mut arrival = arrivals.next(chance.gap());
    let mut finish = NEVER;
    loop {
        if finish <= arrival {
            if finish == NEVER {
                return tally;
            }
            tally.goodput += 1;
            finish = match queue.pop_front() {
                Some((arrived, luck)) => {
                    tally.waits += (finish - arrived) as u128;
                    finish + nanos(chance.service(luck, 1) * 1e6)
                }
                None => NEVER,
            };
        } else {
            tally.calls += 1;
            tally.attempts += 1;
            let luck = chance.call();
            if finish == NEVER {
                finish = arrival + nanos(chance.service(luck, 1) * 1e6);
            } else {
                queue.push_back((arrival, luck));
            }
            arrival = arrivals.next(chance.gap());
        }
    }
}

/// The finishes of 64 servers: a tree of winners, whose update compares six times and never branches.
///
/// A key is the instant and, in the six lowest bits, the server. Servers that finish at one instant are told apart
/// by nothing that counts.
struct Servers {
    nodes: [u64; 128],
    idle: u64,
}

impl Servers {
    fn new() -> Servers {
        Servers { nodes: [u64::MAX; 128], idle: u64::MAX }
    }

    #[inline]
    fn set(&mut self, server: usize, key: u64) {
        let mut node = 64 + server;
        let mut winner = key;
        self.nodes[node & 127] = key;
        for _ in 0..6 {
            winner = winner.min(self.nodes[(node ^ 1) & 127]);
            node /= 2;
            self.nodes[node & 127] = winner;
        }
    }

    /// The first finish: when, and of which server.
    #[inline]
    fn first(&self) -> (u64, usize) {
        (self.nodes[1] >> 6, (self.nodes[1] & 63) as usize)
    }

    #[inline]
    fn start(&mut self, server: usize, finish: u64) {
        self.set(server, finish << 6 | server as u64);
    }

    /// An idle server, if there is one, which no longer is.
    #[inline]
    fn take_idle(&mut self) -> Option<usize> {
        if self.idle == 0 {
            return None;
        }
        let server = self.idle.trailing_zeros() as usize;
        self.idle &= self.idle - 1;
        Some(server)
    }

    #[inline]
    fn rest(&mut self, server: usize) {
        self.idle |= 1 << server;
        self.set(server, u64::MAX);
    }
}

/// W2: 1000 calls a second, a token bucket of 800/s and 100, 64 servers of 70 ms on average, a queue of 200.
pub fn w2<C: Chance>(mut chance: C, duration: u64) -> Tally {
    // One token costs 1,250,000 credits, one nanosecond brings 1.
    const TOKEN: u64 = 1_250_000;
    const FULL: u64 = 100 * TOKEN;
    let mut tally = Tally::default();
    let mut arrivals = Arrivals::new(1e9 / 1000.0, duration);
    let mut servers = Servers::new();
    let mut queue: VecDeque<(u64, C::Luck)> = VecDeque::with_capacity(256);
    let (mut credits, mut touched) = (FULL, 0);
    let mut arrival = arrivals.next(chance.gap());
    loop {
        let (finish, server) = servers.first();
        if finish <= arrival {
            if finish == NEVER {
                return tally;
            }
            tally.goodput += 1;
            match queue.pop_front() {
                Some((arrived, luck)) => {
                    tally.waits += (finish - arrived) as u128;
                    servers.start(server, finish + nanos(chance.service(luck, 1) * 70e6));
                }
                None => servers.rest(server),
            }
            continue;
        }
        tally.calls += 1;
        tally.attempts += 1;
        let luck = chance.call();
        let level = FULL.min(credits + (arrival - touched));
        if level < TOKEN {
            tally.rejected += 1;
        } else if let Some(server) = servers.take_idle() {
            (credits, touched) = (level - TOKEN, arrival);
            servers.start(server, arrival + nanos(chance.service(luck, 1) * 70e6));
        } else if queue.len() < 200 {
            (credits, touched) = (level - TOKEN, arrival);
            queue.push_back((arrival, luck));
        } else {
            // The token was taken and given back.
            (credits, touched) = (level, arrival);
            tally.rejected += 1;
        }
        arrival = arrivals.next(chance.gap());
    }
}

/// Timers of W3 that may be pending at once: its bound is the 3,600 attempts of a second.
const TIMERS: usize = 1 << 13;

/// An attempt that was let in, in the ring of timers.
#[derive(Clone, Copy, Default)]
struct Attempt<L> {
    arrived: u64,
    luck: L,
    number: u32,
    state: State,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum State {
    #[default]
    Queued,
    Serving,
    Done,
}

/// A retry that waits.
#[derive(Clone, Copy)]
struct Retry<L> {
    at: u64,
    /// Its number in the order of scheduling, then the attempt's number.
    order: u64,
    luck: L,
}

impl<L> Retry<L> {
    #[inline]
    fn key(&self) -> u128 {
        (self.at as u128) << 64 | self.order as u128
    }
}

/// A heap with four children per node.
struct Retries<L> {
    entries: Vec<Retry<L>>,
    scheduled: u64,
}

impl<L: Copy> Retries<L> {
    #[inline]
    fn first(&self) -> u64 {
        self.entries.first().map_or(NEVER, |retry| retry.at)
    }

    #[inline]
    fn push(&mut self, at: u64, attempt: u32, luck: L) {
        self.scheduled += 1;
        let retry = Retry { at, order: self.scheduled << 3 | attempt as u64, luck };
        let mut hole = self.entries.len();
        self.entries.push(retry);
        while 0 < hole {
            let parent = (hole - 1) / 4;
            if self.entries[parent].key() < retry.key() {
                break;
            }
            self.entries[hole] = self.entries[parent];
            hole = parent;
        }
        self.entries[hole] = retry;
    }

    #[inline]
    fn pop(&mut self) -> Option<Retry<L>> {
        let last = self.entries.pop()?;
        let Some(top) = self.entries.first().copied() else { return Some(last) };
        let mut hole = 0;
        loop {
            let first = 4 * hole + 1;
            let next = match self.entries.get(first..).and_then(|rest| rest.first_chunk::<4>()) {
                Some(group) => {
                    let left = usize::from(group[1].key() < group[0].key());
                    let right = 2 + usize::from(group[3].key() < group[2].key());
                    first + if group[right].key() < group[left].key() { right } else { left }
                }
                None => match (first..self.entries.len()).min_by_key(|index| self.entries[*index].key()) {
                    Some(next) => next,
                    None => break,
                },
            };
            if last.key() < self.entries[next].key() {
                break;
            }
            self.entries[hole] = self.entries[next];
            hole = next;
        }
        self.entries[hole] = last;
        Some(top)
    }
}

/// W3: 900 calls a second, 64 servers of 60 ms on average, eight times slower from half to three quarters of the
/// run, callers that wait 1 s and try up to four times, 100 ms · 2^k apart with full jitter, a queue of 1000.
pub fn w3<C: Chance>(chance: C, duration: u64) -> Tally {
    let mut storm = Storm {
        chance,
        slow: duration / 2..duration / 4 * 3,
        servers: Servers::new(),
        serving: [0; 64],
        timers: vec![Attempt::default(); TIMERS],
        oldest: 0,
        newest: 0,
        queue: VecDeque::with_capacity(4096),
        waiting: 0,
        retries: Retries { entries: Vec::with_capacity(4096), scheduled: 0 },
        tally: Tally::default(),
    };
    let mut arrivals = Arrivals::new(1e9 / 900.0, duration);
    let mut arrival = arrivals.next(storm.chance.gap());
    loop {
        let (finish, server) = storm.servers.first();
        let timeout = storm.timeout();
        let retry = storm.retries.first();
        if finish <= timeout.min(retry).min(arrival) {
            if finish == NEVER {
                return storm.tally;
            }
            storm.finish(finish, server);
        } else if timeout <= retry.min(arrival) {
            storm.time_out(timeout);
        } else if retry <= arrival {
            let Some(Retry { order, luck, .. }) = storm.retries.pop() else { continue };
            storm.attempt(retry, luck, order as u32 % 8 + 1);
        } else {
            storm.tally.calls += 1;
            let luck = storm.chance.call();
            storm.attempt(arrival, luck, 1);
            arrival = arrivals.next(storm.chance.gap());
        }
    }
}

struct Storm<C: Chance> {
    chance: C,
    slow: std::ops::Range<u64>,
    servers: Servers,
    /// Which attempt each server works on.
    serving: [u32; 64],
    /// Attempts let in within the last second, by their number: from the oldest to before the newest.
    timers: Vec<Attempt<C::Luck>>,
    oldest: u32,
    newest: u32,
    /// Attempts that wait, and tombstones of those whose timers have fired.
    queue: VecDeque<u32>,
    waiting: u32,
    retries: Retries<C::Luck>,
    tally: Tally,
}

impl<C: Chance> Storm<C> {
    /// When the oldest timer fires.
    #[inline]
    fn timeout(&self) -> u64 {
        if self.oldest == self.newest {
            return NEVER;
        }
        self.timers[self.oldest as usize % TIMERS].arrived + SECOND
    }

    #[inline]
    fn takes(&mut self, now: u64, luck: C::Luck, attempt: u32) -> u64 {
        let takes = nanos(self.chance.service(luck, attempt) * 60e6);
        if self.slow.contains(&now) { nanos(takes as f64 * 8.0) } else { takes }
    }

    #[inline]
    fn attempt(&mut self, now: u64, luck: C::Luck, number: u32) {
        self.tally.attempts += 1;
        let state = if let Some(server) = self.servers.take_idle() {
            let takes = self.takes(now, luck, number);
            self.servers.start(server, now + takes);
            self.serving[server] = self.newest;
            State::Serving
        } else if self.waiting < 1000 {
            self.queue.push_back(self.newest);
            self.waiting += 1;
            State::Queued
        } else {
            self.tally.rejected += 1;
            return self.failed(now, luck, number);
        };
        self.timers[self.newest as usize % TIMERS] = Attempt { arrived: now, luck, number, state };
        self.newest += 1;
        assert!(self.newest - self.oldest < TIMERS as u32, "more timers than an attempt per call and place");
    }

    #[inline]
    fn finish(&mut self, now: u64, server: usize) {
        let done = self.serving[server];
        if self.oldest <= done {
            self.tally.goodput += 1;
            self.timers[done as usize % TIMERS].state = State::Done;
            self.skip_done();
        }
        while let Some(next) = self.queue.pop_front() {
            if self.oldest <= next {
                let Attempt { arrived, luck, number, .. } = self.timers[next as usize % TIMERS];
                self.timers[next as usize % TIMERS].state = State::Serving;
                self.waiting -= 1;
                self.tally.waits += (now - arrived) as u128;
                let takes = self.takes(now, luck, number);
                self.servers.start(server, now + takes);
                self.serving[server] = next;
                return;
            }
        }
        self.servers.rest(server);
    }

    /// Timers of what is done don't fire.
    #[inline]
    fn skip_done(&mut self) {
        while self.oldest < self.newest && self.timers[self.oldest as usize % TIMERS].state == State::Done {
            self.oldest += 1;
        }
    }

    #[inline]
    fn time_out(&mut self, now: u64) {
        let Attempt { luck, number, state, .. } = self.timers[self.oldest as usize % TIMERS];
        self.oldest += 1;
        self.skip_done();
        self.tally.timed_out += 1;
        if state == State::Queued {
            self.tally.abandoned += 1;
            self.waiting -= 1;
        }
        self.failed(now, luck, number);
    }

    #[inline]
    fn failed(&mut self, now: u64, luck: C::Luck, number: u32) {
        if number < 4 {
            let bound = (100_000_000u64 << (number - 1)) as f64;
            let wait = nanos(bound * self.chance.jitter(luck, number));
            self.retries.push(now + wait, number, luck);
        }
    }
}
