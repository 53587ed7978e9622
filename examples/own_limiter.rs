//! Hands a limiter of one's own to the engine: `cargo run --example own_limiter`.
//!
//! The limiter counts calls in fixed windows of a second. It is put before the stages of a policy that was read from
//! text; one could as well fill in every field of [`tidegate::engine::Setup`] by hand.

use std::error::Error;
use std::path::Path;
use tidegate::engine::{self, Parking, Unwatched};
use tidegate::gauge::{Gauge, Reading};
use tidegate::limiter::{Limiter, Verdict};
use tidegate::observe::rows::{Count, Nowhere};
use tidegate::request::{Ask, End, Knob};
use tidegate::scenario::Scenario;
use tidegate::scenario::build::Prepared;
use tidegate::scenario::source::Document;
use tidegate::study::{Memory, Tally};
use tidegate::time::SimTime;

const WINDOW_NS: u64 = 1_000_000_000;

/// At most `limit` calls in each second of the clock.
struct FixedWindow {
    limit: u64,
    /// The window that was used last, and how often.
    window: u64,
    used: u64,
    gauge: Gauge,
}

impl FixedWindow {
    fn new(limit: u64) -> FixedWindow {
        FixedWindow { limit, window: 0, used: 0, gauge: Gauge::new(0) }
    }

    fn used(&self, now: SimTime) -> u64 {
        if now.0 / WINDOW_NS == self.window { self.used } else { 0 }
    }
}

impl Limiter for FixedWindow {
    fn check(&self, now: SimTime, _ask: &Ask) -> Verdict {
        match (self.limit, self.used(now)) {
            (0, _) => Verdict::Never,
            (limit, used) if used < limit => Verdict::Pass,
            _ => Verdict::At(SimTime((now.0 / WINDOW_NS + 1) * WINDOW_NS)),
        }
    }

    fn take(&mut self, now: SimTime, _ask: &Ask) {
        (self.window, self.used) = (now.0 / WINDOW_NS, self.used(now) + 1);
        self.gauge.set(now, self.used);
    }

    /// A window remembers what arrived, whatever became of it.
    fn settle(&mut self, _now: SimTime, _ask: &Ask, _end: End) {}

    fn remaining(&self, now: SimTime, _ask: &Ask) -> (i128, u128) {
        ((self.limit - self.used(now)) as i128, 1)
    }

    fn change(&mut self, _now: SimTime, _knob: Knob) {}

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("used", self.gauge.read(now));
    }
}

const SCENARIO: &str = r#"
version  = 1
duration = "60s"
[traffic.api]
rate = "25/s"
[downstream.orders]
concurrency  = "unlimited"
service_time = "100ms"
[policy.windows]
downstream = "orders"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let document = Document::from_text("windows.toml", SCENARIO, Path::new("."))?;
    let (scenario, _) = Scenario::read(&document)?;
    let mut setup = Prepared::new(scenario)?.setup(0, 1)?;

    let gate = &mut setup.gates[0];
    gate.limiters.insert(0, Box::new(FixedWindow::new(20)));
    gate.parking.insert(0, Parking::No);
    setup.layout.gates[0].stages.insert(0, "twenty_a_second".into());

    let mut tally = Tally::new(Nowhere, false);
    engine::run(setup, &mut tally, &mut Unwatched)?;
    let (_, Memory { total, refusals, .. }) = tally.into_parts();
    let total = total.ok_or("the run was stopped")?;
    println!("{} calls, {} answered", total.calls, total.counts[Count::Goodput as usize]);
    for ((stage, reason), count) in refusals {
        println!("{count} turned away by {stage} ({reason})");
    }
    Ok(())
}
