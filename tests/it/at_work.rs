//! Limiters at work in a run: what they delay, and what a downstream's own quota refuses.

use crate::support::{Attempt, run};
use tidegate::time::Nanos;

/// Calls at the start of the run before `limiter`, which is in force; work takes 10 ms.
fn attempts(calls: usize, client: &str, limiter: &str, downstream: &str) -> Vec<Attempt> {
    let at = vec!["'0s'"; calls].join(", ");
    let stages = if limiter.is_empty() { "" } else { "stages = ['l']\n" };
    let limiter = if limiter.is_empty() { String::new() } else { format!("[limiter.l]\n{limiter}\n") };
    let text = format!(
        "version = 1\nduration = '60s'\n[traffic.t]\nat = [{at}]\nclient = 'c'\n[client.c]\n{client}\n{limiter}\
         [downstream.d]\nconcurrency = 'unlimited'\nservice_time = '10ms'\n{downstream}\n\
         [policy.p]\n{stages}downstream = 'd'\n"
    );
    run(&text).sorted_attempts()
}

/// When an attempt started, in milliseconds.
fn started(attempt: &Attempt) -> Option<u64> {
    attempt.started.map(|at| at.0 / 1_000_000)
}

#[test]
fn a_leaky_queue_starts_calls_in_equal_gaps_and_refuses_who_would_wait_too_long() {
    let limiter = "kind = 'leaky_queue'\nrate = '10/s'\nmax_wait = '350ms'";
    let attempts = attempts(5, "", limiter, "");
    let starts: Vec<_> = attempts.iter().map(started).collect();
    assert_eq!(starts, [Some(0), Some(100), Some(200), Some(300), None]);
    // The next turn is at 400 ms, which is near enough from 50 ms on.
    let refused = &attempts[4];
    assert_eq!((refused.reason, refused.stage.as_str()), ("rate_limited", "l"));
    assert_eq!(refused.retry_after, Some(Nanos::millis(50)));
}

#[test]
fn nginx_lets_an_excess_start_later_and_refuses_one_above_the_burst() {
    let limiter = "kind = 'leaky_meter'\nrate = '10/s'\nburst = 3\ndelay = 1";
    let starts: Vec<_> = attempts(6, "", limiter, "").iter().map(started).collect();
    // An excess of one starts at once; the two above it wait 100 ms for each.
    assert_eq!(starts, [Some(0), Some(0), Some(100), Some(200), None, None]);
}

#[test]
fn who_stops_waiting_before_its_turn_leaves_and_its_turn_passes_by() {
    let limiter = "kind = 'leaky_queue'\nrate = '10/s'";
    let attempts = attempts(4, "timeout = '150ms'", limiter, "");
    let outcomes: Vec<_> = attempts.iter().map(|attempt| attempt.outcome).collect();
    assert_eq!(outcomes, ["goodput", "goodput", "abandoned", "abandoned"]);
    assert_eq!(attempts.iter().map(|attempt| attempt.ended.0).max(), Some(150_000_000));
}

#[test]
fn the_longest_delay_of_several_limiters_holds() {
    let text = "version = 1\nduration = '60s'\n[traffic.t]\nat = ['0s', '0s']\n\
        [limiter.slow]\nkind = 'leaky_queue'\nrate = '2/s'\n[limiter.fast]\nkind = 'leaky_queue'\nrate = '5/s'\n\
        [downstream.d]\nconcurrency = 1\nservice_time = '10ms'\n\
        [policy.p]\nstages = ['fast', 'slow']\ndownstream = 'd'\n";
    for take in ["all_or_none", "sequential"] {
        let attempts = run(&format!("{text}take = '{take}'\n")).sorted_attempts();
        assert_eq!(attempts.iter().map(started).collect::<Vec<_>>(), [Some(0), Some(500)], "{take}");
    }
}

#[test]
fn a_provider_refuses_beyond_its_quota_and_says_when_to_come_back() {
    let attempts = attempts(3, "", "", "quota = { rpm = 2 }");
    let refused = &attempts[2];
    assert_eq!(attempts.iter().map(started).collect::<Vec<_>>(), [Some(0), Some(0), None]);
    assert_eq!((refused.reason, refused.stage.as_str()), ("rate_limited", "d"));
    // Two a minute: the next in half of one.
    assert_eq!(refused.retry_after, Some(Nanos::secs(30)));
}

#[test]
fn a_quota_is_asked_when_work_would_start_and_not_before() {
    let attempts = attempts(3, "", "", "quota = { concurrency = 2 }");
    assert_eq!(attempts.iter().map(started).collect::<Vec<_>>(), [Some(0), Some(0), None]);
    let text = "version = 1\nduration = '60s'\n[traffic.t]\nat = ['0s', '0s', '0s']\n\
        [queue.q]\nmax_length = 9\n[downstream.d]\nconcurrency = 1\nservice_time = '10ms'\n\
        quota = { concurrency = 1 }\n[policy.p]\nqueue = 'q'\ndownstream = 'd'\n";
    let starts: Vec<_> = run(text).sorted_attempts().iter().map(started).collect();
    assert_eq!(starts, [Some(0), Some(10), Some(20)]);
}

#[test]
fn a_client_hears_the_advice_that_the_limiter_gives() {
    let limiter = "kind = 'token_bucket'\nrate = '10/s'\nburst = 1\nretry_after = 'seconds'";
    assert_eq!(attempts(2, "", limiter, "")[1].retry_after, Some(Nanos::SECOND));
}
