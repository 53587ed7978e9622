//! Writes the trace that `scenarios/replay.toml` replays: fifteen minutes of calls to a language model, with a rush.
//!
//! ```text
//! cargo run --example make_trace > scenarios/replay.csv
//! ```
//!
//! The same bytes come out on every machine: arrivals and sizes are drawn with the library's own streams.

use std::io::{self, Write};
use tidegate::dist::Dist;
use tidegate::rng::{Purpose, Stream};
use tidegate::time::{Nanos, SimTime};
use tidegate::traffic::arrivals::Poisson;
use tidegate::traffic::profile::{Change, RateProfile};
use tidegate::traffic::{Known, Source};
use tidegate::units::parse_rate;

/// Seed of all that is drawn.
const SEED: u64 = 2024;

/// The whole trace as text.
pub fn trace() -> Result<String, String> {
    let rush = Change::Burst {
        at: SimTime(300_000_000_000),
        length: Nanos::secs(120),
        rate: Some(parse_rate("8/s")?),
    };
    let profile = RateProfile::new(Some(parse_rate("2/s")?), &[rush], None)?;
    let mut arrivals = Poisson::new(&profile, Stream::new(SEED, "trace/arrivals"), Nanos::secs(900));
    let mut luck = Stream::new(SEED, "trace/calls");
    let (input, output) = (Dist::lognormal(900.0, 6_000.0)?, Dist::lognormal(120.0, 900.0)?);

    let mut text = String::from("time_s,input_tokens,output_tokens\n");
    while let Some(at) = arrivals.next(&mut Known::default()).map_err(|problem| problem.to_string())? {
        let dice = luck.dice();
        let input_tokens = input.count(dice.bits(Purpose::InputTokens, 0)).max(1);
        let output_tokens = output.count(dice.bits(Purpose::OutputTokens, 0)).max(1);
        let (seconds, millis) = (at.0 / 1_000_000_000, at.0 / 1_000_000 % 1_000);
        text += &format!("{seconds}.{millis:03},{input_tokens},{output_tokens}\n");
    }
    Ok(text)
}

fn main() -> io::Result<()> {
    let text = trace().map_err(io::Error::other)?;
    io::stdout().lock().write_all(text.as_bytes())
}
