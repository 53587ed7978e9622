//! In its steady state a run allocates nothing for an event.
//!
//! What it may allocate belongs to the end of an interval (names of gauges, say), and to a longer queue or a larger
//! histogram than there was before; so the steady state is looked at between two ends of an interval, after a while.

use crate::support::{limiter, prepared, setup};
use allocation_counter::measure;
use tidegate::engine::calendar::Moment;
use tidegate::engine::{Engine, Unwatched};
use tidegate::observe::rows::Nowhere;
use tidegate::request::{Ask, End};
use tidegate::time::{Nanos, SimTime};

/// Half again as many calls as the limiter passes, 64 slots, a bounded queue.
const LIMITED: &str = "version = 1\nduration = '60s'\n[traffic.api]\nrate = '1000/s'\n\
    [limiter.bucket]\nkind = 'token_bucket'\nrate = '800/s'\nburst = 100\n\
    [queue.line]\nmax_length = 200\n[downstream.d]\nconcurrency = 64\n\
    service_time = { dist = 'exponential', mean = '70ms' }\n\
    [policy.p]\nstages = ['bucket']\nqueue = 'line'\ndownstream = 'd'\n";

/// Timeouts and retries with jitter before a downstream that is slow half of the time.
const STORMY: &str = "version = 1\nduration = '60s'\n[traffic.api]\nrate = '900/s'\nclient = 'sdk'\n\
    [client.sdk]\ntimeout = '1s'\nretry = { max_attempts = 4, backoff = { base = '100ms', jitter = 'full' } }\n\
    [queue.line]\nmax_length = 1000\n[downstream.d]\nconcurrency = 64\n\
    service_time = { dist = 'exponential', mean = '75ms' }\n\
    [policy.p]\nqueue = 'line'\ndownstream = 'd'\n";

/// Allocations and events of the intervals from `from` to `until`, without the ends of the intervals.
fn allocations(text: &str, from: u64, until: u64) -> (u64, u64) {
    let prepared = prepared(text);
    let mut nowhere = Nowhere;
    let mut engine = Engine::new(setup(&prepared, 0, 1), &mut nowhere).expect("it can begin");
    let (mut intervals, mut allocations, mut events) = (0, 0, 0);
    while intervals < until {
        let mut due = None;
        let seen = measure(|| due = engine.step(&mut Unwatched).expect("no fault"));
        let moment = due.expect("it goes on").moment;
        if moment == Moment::Sample {
            intervals += 1;
        } else if from <= intervals {
            allocations += seen.count_total;
            events += 1;
        }
    }
    (allocations, events)
}

#[test]
fn the_counter_counts() {
    assert_eq!(measure(|| drop(std::hint::black_box(vec![0u8; 100]))).count_total, 1);
}

#[test]
fn a_limited_service_allocates_nothing_for_an_event() {
    let (allocations, events) = allocations(LIMITED, 20, 60);
    assert!(events > 60_000, "{events}");
    assert_eq!(allocations, 0, "for {events} events");
}

/// Half again as many calls as there is room for, in every order, with bounds and laws.
#[test]
fn no_queue_allocates_for_an_event() {
    for queue in [
        "kind = 'lifo'\non_overflow = 'oldest'",
        "kind = 'adaptive_lifo'\nlifo_above = 50\ncontrolled_delay = {}",
        "kind = 'priority'\nageing = '1s'\ncodel = {}",
        "kind = 'edf'\non_overflow = 'expired'\ndrop_infeasible = '1ms'",
        "kind = 'fair'\nkey = 'tenant'\nmax_predicted_wait = '100ms'",
        "kind = 'drr'\nkey = 'tenant'\nunit = 'tokens'\nmax_tokens = 9000",
        "kind = 'sfq'\nkey = 'tenant'\non_overflow = 'lowest_priority'",
    ] {
        let text = format!(
            "version = 1\nduration = '30s'\n[class.gold]\npriority = 1\ndeadline = '100ms'\n\
             [traffic.api]\nrate = '700/s'\ntenant = {{ count = 9, pick = 'zipf' }}\n\
             tokens = {{ input = 30, output = 70 }}\n[traffic.top]\nrate = '300/s'\nclass = 'gold'\n\
             [queue.line]\nmax_length = 200\n{queue}\n[downstream.d]\nconcurrency = 64\n\
             service_time = {{ dist = 'exponential', mean = '95ms' }}\n\
             [policy.p]\nqueue = 'line'\ndownstream = 'd'\n"
        );
        let (allocations, events) = allocations(&text, 15, 30);
        assert!(events > 20_000, "{events}");
        // A histogram of waits that is longer than any before doubles once in a while.
        assert!(allocations <= 8, "{allocations} for {events} events of {queue}");
    }
}

#[test]
fn a_storm_of_retries_allocates_nothing_for_an_event() {
    let (allocations, events) = allocations(STORMY, 30, 60);
    assert!(events > 60_000, "{events}");
    // A queue of timers that grows beyond what it ever held doubles once in a while.
    assert!(allocations <= 8, "{allocations} for {events} events");
}

#[test]
fn no_kind_of_limiter_allocates_for_a_decision() {
    for keys in [
        "kind = 'token_bucket'\nrate = '1000/s'\nburst = 40",
        "kind = 'token_bucket'\nrate = '1000/s'\nburst = 40\nkey = 'user'",
        "kind = 'token_bucket'\ndialect = 'go'\nrate = '1000/s'\nburst = 40",
        "kind = 'token_bucket'\ndialect = 'juju'\nrate = '1000/s'\nburst = 40\nmax_wait = '1ms'",
        "kind = 'token_bucket'\nrefill = 'interval'\nrate = '10/10ms'\nburst = 40",
        "kind = 'token_bucket'\nbandwidths = [{ rate = '1000/s', burst = 40 }, { rate = '3k/3s', burst = 90 }]",
        "kind = 'gcra'\nrate = '1000/s'\nburst = 40",
        "kind = 'leaky_meter'\nrate = '1000/s'\nburst = 40",
        "kind = 'leaky_meter'\ndialect = 'exact'\nrate = '1000/s'\nburst = 40",
        "kind = 'leaky_queue'\nrate = '1000/s'",
        "kind = 'leaky_queue'\ndialect = 'uber'\nrate = '1000/s'",
        "kind = 'leaky_queue'\ndialect = 'failsafe'\nrate = '1000/s'\nmax_wait = '9ms'",
        "kind = 'fixed_window'\nlimit = 40\nwindow = '40ms'",
        "kind = 'fixed_window'\nlimit = 40\nwindow = '40ms'\ndialect = 'resilience4j'",
        "kind = 'sliding_log'\nlimit = 40\nwindow = '40ms'",
        "kind = 'sliding_log'\nlimit = 40\nwindow = '40ms'\ncount_rejected = true",
        "kind = 'sliding_counter'\nlimit = 40\nwindow = '40ms'",
        "kind = 'sliding_counter'\nlimit = 40\nwindow = '40ms'\ndialect = 'russellluo'",
        "kind = 'warm_up'\nrate = '1000/s'\nwarm_up = '1s'\nmax_wait = '9ms'",
        "kind = 'warm_up'\ndialect = 'sentinel'\nrate = '1000/s'\nwarm_up = '5s'",
        "kind = 'srtcm'\ncir = '1000/s'\ncbs = 40\nebs = 20",
        "kind = 'trtcm'\ncir = '900/s'\ncbs = 40\npir = '1000/s'\npbs = 20",
        "kind = 'token_bucket'\ndialect = 'envoy'\nmax_tokens = 40\ntokens_per_fill = 10\nfill_interval = '10ms'",
        "kind = 'fixed_window'\nlimit = 40\nwindow = '40ms'\ndialect = 'tower'",
        "kind = 'fixed_window'\nlimit = 40\nwindow = '40ms'\ndialect = 'redis_countdown'",
        "kind = 'sliding_counter'\nlimit = 40\nwindow = '40ms'\ndialect = 'limits'",
        "kind = 'sliding_counter'\nlimit = 40\nwindow = '40ms'\ndialect = 'upstash'",
        "kind = 'provider_quota'\nrpm = 60000\ntpm = 600000",
        "kind = 'token_bucket'\ndialect = 'bucket4j'\nrate = '1000/s'\nburst = 40",
        "kind = 'token_bucket'\nrefill = 'aligned'\nrate = '10/10ms'\nburst = 40",
        "kind = 'fixed_window'\nlimit = 40\nwindow = '40ms'\nopens = 'first_hit'",
        "kind = 'sliding_log'\nlimit = 40\nwindow = '40ms'\nedge = 'closed'",
        "kind = 'gcra'\nrate = '1000/s'\nburst = 40\nexempt = ['default']",
        "kind = 'gcra'\nrate = '1000/s'\nburst = 40\ndeployment = { gateways = 4, access = 'lock', latency = '20us' }",
        "kind = 'gcra'\nrate = '1000/s'\nburst = 40\ndeployment = { gateways = 4, latency = '1ms', clock_skew = '2ms' }",
        "kind = 'token_bucket'\nrate = '1000/s'\nburst = 40\nshadow = true",
        "kind = 'token_bucket'\nrate = '1000/s'\nburst = 40\nretry_after = 'doubling'",
    ] {
        let mut limiter = limiter(keys);
        let mut asks = |from: u64, to: u64| {
            let mut passed = 0;
            for number in from..to {
                let now = SimTime(number * 400_000 + number % 7 * 50_000);
                let ask = Ask { user: number as u32 % 50, ..Ask::default() };
                if limiter.check(now, &ask).passes() {
                    limiter.take(now, &ask);
                    limiter.settle(now, &ask, End::Completed(Nanos(1)));
                    passed += 1;
                } else {
                    limiter.refuse(now, &ask);
                }
            }
            passed
        };
        asks(0, 2_000);
        let mut passed = 0;
        let seen = measure(|| passed = asks(2_000, 12_000));
        assert_eq!(seen.count_total, 0, "{keys}");
        assert!(0 < passed || keys.contains("count_rejected"), "{keys}");
    }
}
