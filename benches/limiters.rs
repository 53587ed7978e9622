//! What a decision of each limiter and each stage that asks for room costs, in nanoseconds.
//!
//! `cargo bench --bench limiters` measures it in a minute or two, with `-- quick` roughly.
#![allow(missing_docs)]

mod admissions;
#[allow(dead_code, reason = "the other bench measures whole programs with it too")]
mod measure;
mod passes;
mod table;

use table::Table;

fn main() {
    let quick = std::env::args().any(|argument| argument == "quick");
    let (rounds, times) = if quick { (3, 100_000) } else { (5, 1_000_000) };
    let mut table = Table::default();
    for (name, ns) in passes::decisions(rounds, times).into_iter().chain(admissions::decisions(rounds, times))
    {
        table.add(&name, ns, "ns/decision", None, "");
    }
    table.print();
}
