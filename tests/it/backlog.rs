//! A downstream with a backlog: what it lets in beyond its slots waits inside it.

use crate::support::{Attempt, Rows, run};

/// A slot whose calls take a second each, with what `keys` say of the downstream and what `more` tables say.
fn at_work(at: &str, keys: &str, more: &str) -> Rows {
    run(&format!(
        "version = 1\nduration = '20s'\n[traffic.t]\nat = {at}\nclient = 'c'\n\
         [downstream.d]\nconcurrency = 1\nservice_time = '1s'\n{keys}\n[policy.p]\ndownstream = 'd'\n{more}\n"
    ))
}

/// When each attempt started and ended, in milliseconds, and how.
fn stories(rows: &Rows) -> Vec<(Option<u64>, u64, &'static str)> {
    let story = |attempt: &Attempt| {
        let started = attempt.started.map(|at| at.0 / 1_000_000);
        (started, attempt.ended.0 / 1_000_000, attempt.outcome)
    };
    rows.sorted_attempts().iter().map(story).collect()
}

#[test]
fn those_let_in_have_started_and_are_served_one_after_the_other() {
    let rows = at_work("['0s', '0s', '100ms', '100ms', '2s']", "backlog = 2", "[client.c]");
    let expected = [
        (Some(0), 1_000, "goodput"),
        (Some(0), 2_000, "goodput"),
        (Some(100), 3_000, "goodput"),
        (None, 100, "rejected"),
        // At 2 s one has left, so one more fits in.
        (Some(2_000), 4_000, "goodput"),
    ];
    assert_eq!(stories(&rows), expected);
    assert_eq!(rows.sorted_attempts()[3].stage, "d");
    // One works, and 4 s of 20 are worked in all.
    assert_eq!(rows.total().utilization, Some(4.0 / 20.0));
}

#[test]
fn one_who_is_taken_back_from_the_backlog_leaves_its_place_to_the_next() {
    let client = "[client.c]\ntimeout = '1500ms'\ncancel = true";
    let rows = at_work("['0s', '0s', '200ms', '600ms']", "backlog = 'unlimited'", client);
    let expected = [
        (Some(0), 1_000, "goodput"),
        // It begins at 1 s; when it is taken back, the third begins, and the fourth when that one is.
        (Some(0), 1_500, "cancelled"),
        (Some(200), 1_700, "cancelled"),
        (Some(600), 2_100, "cancelled"),
    ];
    assert_eq!(stories(&rows), expected);
    // One that is taken back inside leaves those behind it in their order.
    let rows = at_work("['0s', '400ms', '500ms', '501ms']", "backlog = 'unlimited'\nerror_rate = 0", client);
    let ends: Vec<u64> = stories(&rows).iter().map(|story| story.1).collect();
    assert_eq!(ends, [1_000, 1_900, 2_000, 2_001]);
}

#[test]
fn an_outage_fails_those_inside_and_a_slowdown_stretches_the_one_that_works() {
    let outage = "[client.c]\n[[event]]\nname = 'e'\nat = '500ms'\nfor = '2500ms'\nset = { 'downstream.d.outage' = true }";
    let rows = at_work("['0s', '0s', '1s', '4s']", "backlog = 5", outage);
    let expected = [
        (Some(0), 500, "failed"),
        (Some(0), 500, "failed"),
        (Some(1_000), 1_000, "failed"),
        (Some(4_000), 5_000, "goodput"),
    ];
    assert_eq!(stories(&rows), expected);
    let slow = "[client.c]\n[[event]]\nname = 'e'\nat = '500ms'\nset = { 'downstream.d.slowdown' = 3 }";
    let rows = at_work("['0s', '0s']", "backlog = 5\napplies_to = 'running'", slow);
    // Half a second is left, which takes three times as long; the second takes 3 s.
    assert_eq!(stories(&rows), [(Some(0), 2_000, "goodput"), (Some(0), 5_000, "goodput")]);
}

#[test]
fn more_slots_let_those_inside_begin() {
    let more = "[client.c]\n[[event]]\nname = 'e'\nat = '200ms'\nset = { 'downstream.d.concurrency' = 3 }";
    let rows = at_work("['0s', '0s', '0s', '0s']", "backlog = 5", more);
    let expected = [
        (Some(0), 1_000, "goodput"),
        (Some(0), 1_200, "goodput"),
        (Some(0), 1_200, "goodput"),
        (Some(0), 2_000, "goodput"),
    ];
    assert_eq!(stories(&rows), expected);
}

#[test]
fn a_backlog_serves_as_the_same_queue_before_the_downstream_does() {
    let text = |keys: &str, policy: &str| {
        format!(
            "version = 1\nduration = '60s'\n[traffic.t]\nrate = '20/s'\n[downstream.d]\nconcurrency = 4\n\
             service_time = {{ dist = 'exponential', mean = '190ms' }}\n{keys}\n[policy.p]\ndownstream = 'd'\n{policy}\n"
        )
    };
    let inside = run(&text("backlog = 20", ""));
    let before = run(&text("", "queue = 'q'\n[queue.q]\nkind = 'fifo'\nmax_length = 20"));
    let ends = |rows: &Rows| -> Vec<(u64, &'static str)> {
        rows.sorted_attempts().iter().map(|attempt| (attempt.ended.0, attempt.outcome)).collect()
    };
    assert_eq!(ends(&inside), ends(&before));
    assert!(inside.sorted_attempts().iter().any(|attempt| attempt.outcome == "rejected"));
}

#[test]
fn work_that_is_paused_is_kept_account_of_whatever_happens_to_it() {
    // Every run balances its accounts; here paused work is given up, taken back, hit by an outage and slowed down.
    for cancel in [false, true] {
        let rows = crate::support::run(&format!(
            "version = 1\nduration = '60s'\n[class.high]\npriority = 5\n[class.mid]\npriority = 1\n[class.low]\n\
             [traffic.h]\nrate = '8/s'\nclass = 'high'\nclient = 'c'\n[traffic.m]\nrate = '10/s'\nclass = 'mid'\nclient = 'c'\n\
             [traffic.l]\nrate = '10/s'\nclass = 'low'\nclient = 'c'\n\
             [client.c]\ntimeout = '1s'\ncancel = {cancel}\n[client.c.retry]\nmax_attempts = 3\non = ['timeout', 'error', '503']\n\
             backoff = {{ base = '50ms' }}\n\
             [downstream.d]\nconcurrency = 4\nbacklog = 40\npreempt = true\nerror_rate = '5%'\n\
             service_time = {{ dist = 'exponential', mean = '200ms' }}\n\
             [[event]]\nname = 'out'\nat = '20s'\nfor = '2s'\nset = {{ 'downstream.d.outage' = true }}\n\
             [[event]]\nname = 'slow'\nat = '30s'\nfor = '5s'\nset = {{ 'downstream.d.slowdown' = 3 }}\n\
             [[event]]\nname = 'fewer'\nat = '40s'\nfor = '5s'\nset = {{ 'downstream.d.concurrency' = 2 }}\n\
             [policy.p]\ndownstream = 'd'\n"
        ));
        let attempts = rows.sorted_attempts();
        let share = |class: &str| {
            let all = attempts.iter().filter(|attempt| attempt.class == class && attempt.attempt == 1);
            let count = all.count() as f64;
            let good = attempts.iter().filter(|a| a.class == class && a.outcome == "goodput").count() as f64;
            good / count
        };
        // A full backlog turns everybody away alike; of those inside the higher go first.
        let [high, mid, low] = ["high", "mid", "low"].map(share);
        assert!(0.4 < high && mid < high && low + 0.3 < mid, "{high} {mid} {low}");
    }
}
