//! Traffic that is replayed from a file, or call by call from the scenario itself.

use super::client::not_zero;
use super::source::Document;
use crate::section::{At, Either, Name, Section, quote};
use crate::time::{Nanos, SimTime};
use crate::traffic::trace::{Speed, TimeUnit, TraceSpec};
use std::path::PathBuf;

/// One call of a traffic that lists its calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// When it comes.
    pub at: SimTime,
    /// Who it is from, if not as the traffic says.
    pub tenant: Option<String>,
    /// Which user, if not as the traffic says.
    pub user: Option<String>,
    /// Which feature, if not as the traffic says.
    pub feature: Option<String>,
    /// Tokens sent, if not as the traffic says.
    pub input_tokens: Option<u32>,
    /// Tokens of the answer, if not as the traffic says.
    pub output_tokens: Option<u32>,
    /// The most that the caller allows, if not as the traffic says.
    pub max_output_tokens: Option<u32>,
}

/// The words for what times are written in; `auto` looks at the first.
fn units() -> Vec<(&'static str, Option<TimeUnit>)> {
    let named = TimeUnit::NAMES.into_iter().map(|(name, unit)| (name, Some(unit)));
    named.chain([("auto", None)]).collect()
}

/// Reads `trace`: a file's name, or a table.
pub fn read_trace(s: &mut Section, files: Option<&Document>) -> Option<TraceSpec> {
    let mut table = match s.either::<String>("trace", "a CSV file of recorded calls")? {
        Either::Value(file) => {
            check_file(s, "trace", &file, files);
            return Some(TraceSpec::of(files.map_or(PathBuf::new(), |files| files.resolve(&file))));
        }
        Either::Table(table) => table,
    };
    let file: String = table.need("file", "the file, relative to the scenario");
    if table.has("file") {
        check_file(&table, "file", &file, files);
    }
    let mut trace = TraceSpec::of(files.map_or(PathBuf::new(), |files| files.resolve(&file)));
    trace.time = table.get_or("time", trace.time, "column of the time");
    trace.time_unit = table.one_of("time_unit", &units(), Some(None), "what the times are written in");
    trace.input_tokens = table.get("input_tokens", "column of the tokens sent");
    trace.output_tokens = table.get("output_tokens", "column of the tokens of the answer");
    trace.max_output_tokens = table.get("max_output_tokens", "column of the most tokens of the answer");
    trace.tenant = table.get("tenant", "column of the tenant");
    trace.user = table.get("user", "column of the user");
    trace.feature = table.get("feature", "column of the feature");
    let speed = table.get_or("speed", 1.0, "how many times faster than recorded");
    // The shortest decimal that reads as this number is what the file says, exactly.
    match Speed::parse(&speed.to_string()) {
        Ok(exact) if (1e-6..=1e6).contains(&speed) => trace.speed = exact,
        _ => {
            let what = format!("`{}` is {speed}", table.path_of("speed"));
            table.problem("speed", what, "write a number between 0.000001 and 1000000");
        }
    }
    let from = table.get_or("from", Nanos::ZERO, "leave out the rows before this time after the first");
    trace.from = (Nanos::ZERO < from).then_some(from);
    trace.until = table.get("until", "leave out the rows from this time after the first on");
    if trace.until.is_some_and(|until| until <= from) {
        let what = format!("`{}` is not after `from`", table.path_of("until"));
        table.problem("until", what, "raise `until` or lower `from`: both count from the first row");
    }
    not_zero(&table, "until", trace.until);
    trace.sort = table.get_or("sort", false, "put rows that are out of order in order");
    table.finish();
    Some(trace)
}

fn check_file(s: &Section, key: &str, file: &str, files: Option<&Document>) {
    if files.is_some_and(|files| !files.has_file(file)) {
        let what = format!("`{}`: there is no file {}", s.path_of(key), quote(file));
        s.problem(key, what, "write its path relative to the scenario's folder");
    }
}

/// Reads `at = [ … ]`: instants, never backwards.
pub fn read_instants(s: &mut Section) -> Vec<Call> {
    let instants: Vec<At<Nanos>> = s.get("at", "the instants of all calls").unwrap_or_default();
    if s.has("at") && instants.is_empty() {
        s.skip("at");
    }
    in_order(
        s,
        instants
            .into_iter()
            .map(|At { value, span }| (span, Call { at: SimTime(value.0), ..Call::default() })),
    )
}

/// Reads `[[call]]`: calls one by one, never backwards.
pub fn read_calls(s: &mut Section) -> Vec<Call> {
    let read = |mut call: Section| {
        let name = |call: &mut Section, key: &str, doc| call.get::<Name>(key, doc).map(|name| name.0);
        let read = Call {
            at: SimTime(call.need::<Nanos>("at", "when it comes").0),
            tenant: name(&mut call, "tenant", "its tenant, if not the traffic's"),
            user: name(&mut call, "user", "its user, if not the traffic's"),
            feature: name(&mut call, "feature", "its feature, if not the traffic's"),
            input_tokens: call.get("input_tokens", "tokens sent, if not the traffic's"),
            output_tokens: call.get("output_tokens", "tokens of the answer, if not the traffic's"),
            max_output_tokens: call
                .get("max_output_tokens", "most tokens of the answer, if not the traffic's"),
        };
        let span = call.span_of("at");
        call.finish();
        (span, read)
    };
    let calls: Vec<_> = s.sections("call", "calls one by one").into_iter().map(read).collect();
    in_order(s, calls.into_iter())
}

fn in_order(s: &Section, calls: impl Iterator<Item = (std::ops::Range<usize>, Call)>) -> Vec<Call> {
    let mut sorted: Vec<Call> = Vec::new();
    for (span, call) in calls {
        if let Some(before) = sorted.last().filter(|before| call.at < before.at) {
            let what = format!("`{}`: a call comes before the one that stands before it", s.path());
            s.log().error(
                span,
                what,
                format!("write the calls in order: this one at {} or later", Nanos(before.at.0)),
            );
            continue;
        }
        sorted.push(call);
    }
    sorted
}
