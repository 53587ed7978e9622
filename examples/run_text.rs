//! Runs a scenario from text and prints a summary: `cargo run --example run_text`.

use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use tidegate::observe::rows::Nowhere;
use tidegate::report::text::{self, Layout};
use tidegate::scenario::Scenario;
use tidegate::scenario::build::Prepared;
use tidegate::scenario::source::Document;
use tidegate::study::{self, Control, Job};

const SCENARIO: &str = r#"
version  = 1
duration = "2m"

[traffic.api]
rate = "45/s"

[downstream.orders]
concurrency  = 16
service_time = { dist = "lognormal", median = "300ms", p99 = "1s" }

[queue.short]
max_length = 8

[policy.no_queue]
downstream = "orders"

[policy.short_queue]
queue      = "short"
downstream = "orders"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let document = Document::from_text("orders.toml", SCENARIO, Path::new("."))?;
    let (scenario, warnings) = Scenario::read(&document)?;
    warnings.iter().for_each(|warning| eprintln!("{warning}"));
    let policies: Vec<String> = scenario.policies.iter().map(|policy| policy.name.clone()).collect();
    let prepared = Prepared::new(scenario)?;

    let build = |job: &Job| {
        let policy =
            policies.iter().position(|name| *name == job.policy).expect("jobs are of these policies");
        prepared.setup(policy, job.seed)
    };
    let control = Control { threads: 2, stop: &AtomicBool::new(false), progress: &|_| () };
    let results = study::run(&study::jobs(&policies, &[1, 2, 3]), &build, &Nowhere, &control)?;

    print!("{}", text::results(&results.jobs, Layout::Human).to_text(Layout::Human));
    println!("\n{}", text::finding(&results.jobs));
    Ok(())
}
