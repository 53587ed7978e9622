//! The waits of a recorded trace before several servers, to the nanosecond.

use crate::support::{Rows, number, prepared_in, run_setup, setup, trace, vectors, whole};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tidegate::observe::Count;

const FILE: &str = "azure_llm_2023_code.csv";

/// Replays the trace through so many servers, with or without a queue; `None` where the trace is not there.
fn replay(servers: u64, queue: bool) -> Option<Rows> {
    let path = trace(FILE)?;
    let queue = if queue { "queue = 'line'\n[queue.line]\nmax_length = 'unlimited'\n" } else { "" };
    let text = format!(
        "version = 1\nduration = '1h'\ninterval = '10s'\n[traffic.azure.trace]\nfile = '{FILE}'\n\
         time = 'TIMESTAMP'\ninput_tokens = 'ContextTokens'\noutput_tokens = 'GeneratedTokens'\n\
         [downstream.model]\nconcurrency = {servers}\n\
         service_time = {{ base = '0ms', per_input_token = '200us', per_output_token = '20ms' }}\n\
         [policy.plain]\ndownstream = 'model'\n{queue}"
    );
    let prepared = prepared_in(path.parent().expect("a file lies in a folder"), &text);
    Some(run_setup(setup(&prepared, 0, 1)))
}

/// The entry of so many servers.
fn expected(servers: u64) -> Value {
    let vectors = vectors("trace_queue");
    let runs = vectors["runs"].as_array().expect("runs");
    runs.iter().find(|run| whole(&run["servers"]) == servers).expect("it is there").clone()
}

/// Nearest rank: the smallest value that at least so many hundredths do not exceed.
fn nearest_rank(sorted: &[u64], hundredths: usize) -> u64 {
    sorted[(sorted.len() * hundredths).div_ceil(100).max(1) - 1]
}

fn waits_are_those_of_the_recursion(servers: u64) {
    let Some(rows) = replay(servers, true) else { return };
    let expected = expected(servers);
    let waits: Vec<u64> =
        rows.sorted_attempts().iter().map(|attempt| attempt.wait().expect("it started")).collect();
    assert_eq!(waits.len() as u64, whole(&expected["requests"]));
    let mut sorted = waits.clone();
    sorted.sort_unstable();
    assert_eq!(sorted.iter().filter(|wait| **wait > 0).count() as u64, whole(&expected["waited"]));
    assert_eq!(nearest_rank(&sorted, 50), whole(&expected["p50_wait_ns"]));
    assert_eq!(nearest_rank(&sorted, 99), whole(&expected["p99_wait_ns"]));
    assert_eq!(nearest_rank(&sorted, 100), whole(&expected["max_wait_ns"]));
    // The table's mean has lost its last digits; the hash below has not.
    let mean = waits.iter().sum::<u64>() as f64 / waits.len() as f64;
    assert!((mean - number(&expected["mean_wait_ns"])).abs() < 0.01, "{mean}");
    let joined: Vec<String> = waits.iter().map(u64::to_string).collect();
    let hash: String = Sha256::digest(joined.join(",")).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(Some(hash.as_str()), expected["sha256_waits"].as_str());

    let longest = rows.timeline.iter().map(|row| row.queue_depth.max as u64).max();
    assert_eq!(longest, Some(whole(&expected["max_queue_len"])));
    let last = rows.attempts.iter().map(|attempt| attempt.ended.0).max();
    assert_eq!(last, Some(whole(&expected["last_departure_ns"])));

    // What the summary says of the same waits, whose percentiles may be a thousandth above.
    let summary = rows.total();
    assert_eq!(summary.queue_wait.sum, waits.iter().map(|wait| u128::from(*wait)).sum());
    assert_eq!(summary.queue_wait.max, whole(&expected["max_wait_ns"]));
    for (found, key) in [(summary.queue_wait.p50, "p50_wait_ns"), (summary.queue_wait.p99, "p99_wait_ns")] {
        let exact = whole(&expected[key]);
        assert!((exact..=exact + exact / 1_000).contains(&found), "{key}: {found}");
    }
}

#[test]
fn four_servers_have_the_waits_of_the_recursion() {
    waits_are_those_of_the_recursion(4);
}

#[test]
fn sixteen_servers_have_the_waits_of_the_recursion() {
    waits_are_those_of_the_recursion(16);
}

#[test]
fn without_a_queue_so_many_are_turned_away() {
    for servers in [4, 16] {
        let Some(rows) = replay(servers, false) else { return };
        let expected = whole(&expected(servers)["loss_system_rejections"]);
        assert_eq!(rows.count(Count::RejectedAtArrival), expected, "{servers} servers");
        assert!(rows.attempts.iter().filter(|a| a.outcome == "rejected").all(|a| a.reason == "concurrency"));
    }
}
