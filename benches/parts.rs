//! What the parts cost by themselves.

use super::measure::{cost, cpu_ns};
use std::fmt::Write;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use tidegate::observe::{RequestRow, Sink, Sketch};
use tidegate::report::csv::{Files, Rows};
use tidegate::request::Ask;
use tidegate::rng::{Dice, Purpose};
use tidegate::time::{Nanos, SimTime};
use tidegate::traffic::trace::TraceSpec;
use tidegate::traffic::{Known, Source};

use super::setups::with_files;

/// Nanoseconds per value, of adding and summarising 1,000 and 100,000 values an interval.
pub fn sketch(rounds: usize, values: u64, per_interval: u64) -> f64 {
    let mut sketch = Sketch::new();
    cost(rounds, || {
        for i in 0..values {
            sketch.add(Dice(i).bits(Purpose::Service, 1) >> 36);
            if (i + 1) % per_interval == 0 {
                black_box(sketch.take(|_, _| ()));
            }
        }
        values
    })
}

/// Nanoseconds per row of the request log, in its file, and bytes per row.
pub fn request_log(rounds: usize, rows: u64) -> (f64, f64) {
    let mut bytes = 0;
    let ask = Ask::default();
    let write = |sink: &mut Rows<'_>, call: u64| {
        let arrived = SimTime(call * 1_234_567);
        let row = RequestRow {
            call,
            attempt: 1,
            traffic: "traffic",
            class: "default",
            ask: &ask,
            arrived,
            started: Some(SimTime(arrived.0 + 7_654_321)),
            ended: SimTime(arrived.0 + 76_543_210),
            outcome: "goodput",
            reason: "",
            stage: "",
            target: "server",
            retry_after: None,
            scope: "",
            caller: "",
        };
        sink.request(&row).expect("room on the disk");
    };
    let ns = cost(rounds, || {
        let fill = |files: &Files<'_>| {
            let mut sink = files.open(0, "policy", 1);
            (0..rows).for_each(|call| write(&mut sink, call));
            files.close(sink).expect("room on the disk");
        };
        bytes = with_files(true, fill).1;
        rows
    });
    (ns, bytes as f64 / rows as f64)
}

/// Replay of a trace of so many rows from CSV: nanoseconds per row of the check, of the replay, and bytes per row.
pub fn trace(rounds: usize, rows: u64, dir: &Path) -> (f64, f64, f64) {
    let mut text = String::from("arrived_ms,input_tokens,output_tokens\n");
    for i in 0..rows {
        let bits = Dice(i).bits(Purpose::InputTokens, 0);
        writeln!(text, "{}.{:03},{},{}", i, bits % 1000, bits >> 54, bits >> 40 & 255)
            .expect("a string grows");
    }
    let file = dir.join("trace.csv");
    fs::write(&file, &text).expect("room on the disk");
    let spec = TraceSpec {
        time: "arrived_ms".into(),
        input_tokens: Some("input_tokens".into()),
        output_tokens: Some("output_tokens".into()),
        ..TraceSpec::of(file)
    };
    let facts = spec.inspect().expect("a valid trace");
    let check = cost(rounds, || {
        let (_, facts) = cpu_ns(|| spec.inspect().expect("a valid trace"));
        facts.rows
    });
    let replay = cost(rounds, || {
        let mut source = spec.open(&facts, Nanos::secs(1_000_000)).expect("unchanged");
        let (mut known, mut met) = (Known::default(), 0);
        while source.next(&mut known).expect("unchanged").is_some() {
            met += 1;
        }
        met
    });
    (check, replay, text.len() as f64 / rows as f64)
}
