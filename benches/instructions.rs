//! One run of W1, W2 or W3 of a fixed size, whose instructions are counted from outside.
//!
//! `instructions W2 library` runs it through the library with all rows of its files, `instructions W2 hand` by hand with
//! the same random numbers; both print the number of calls. `.ci/instructions` counts the first and compares,
//! `benches/where.py` tells which parts of either the instructions belong to. Without arguments, as `cargo bench`
//! starts it, it does nothing.
#![allow(missing_docs)]

#[allow(dead_code, reason = "the other random numbers are for time, not for instructions")]
mod limit;
#[allow(dead_code, reason = "only the three workloads are run here")]
mod setups;

use tidegate::engine::{self, Unwatched};
use tidegate::report::csv::Files;
use tidegate::time::Nanos;

const SEED: u64 = 1;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (which, duration) = match arguments.first().map(String::as_str) {
        Some("W1") => (1, Nanos::secs(125)),
        Some("W2") => (2, Nanos::secs(100)),
        Some("W3") => (3, Nanos::secs(120)),
        _ => return,
    };
    let calls = match arguments.get(1).map(String::as_str) {
        Some("hand") => {
            let chance = limit::Same::new(SEED);
            match which {
                1 => limit::w1(chance, duration.0),
                2 => limit::w2(chance, duration.0),
                _ => limit::w3(chance, duration.0),
            }
            .calls
        }
        _ => {
            let run = |files: &Files<'_>| {
                let mut rows = files.open(0, "policy", SEED);
                let setup = setups::workload(which, SEED, duration);
                let outcome = engine::run(setup, &mut rows, &mut Unwatched).expect("the accounts balance");
                // So few rows stay in memory. They are not hashed, for which callgrind lacks the usual instructions.
                drop(rows);
                outcome.calls
            };
            setups::with_files(false, run).0
        }
    };
    println!("{calls}");
}
