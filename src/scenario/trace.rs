//! Traffic that is replayed from a file, or call by call from the scenario itself.

use super::client::not_zero;
use super::source::Document;
use crate::section::{At, Either, Name, Section, quote};
use crate::time::{Nanos, SimTime};
use crate::traffic::trace::TimeUnit;
use std::path::PathBuf;

/// A trace and how to read it. Its first row is at 0 on its own clock, `from` at the start of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The file, found.
    pub file: PathBuf,
    /// Column of the time.
    pub time: String,
    /// What the times are written in; `None` is dates if they look like it, else seconds.
    pub time_unit: Option<TimeUnit>,
    /// Columns of what calls carry.
    pub columns: Columns,
    /// How many times faster than recorded.
    pub speed: f64,
    /// Rows before this time after the first are left out.
    pub from: Nanos,
    /// Rows from this time after the first on are left out.
    pub until: Option<Nanos>,
    /// Whether rows out of order are put in order; otherwise they are an error.
    pub sort: bool,
}

/// The columns of what calls carry, by their headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Tokens sent.
    pub input_tokens: Option<String>,
    /// Tokens of the answer.
    pub output_tokens: Option<String>,
    /// The most that the caller allows.
    pub max_output_tokens: Option<String>,
    /// Tenant.
    pub tenant: Option<String>,
    /// User.
    pub user: Option<String>,
    /// Feature.
    pub feature: Option<String>,
}

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

impl Trace {
    /// Reads `trace`: a file's name, or a table.
    pub fn read(s: &mut Section, files: Option<&Document>) -> Option<Trace> {
        let of = |file: &str| Trace {
            file: files.map_or(PathBuf::new(), |files| files.resolve(file)),
            time: "time".into(),
            time_unit: None,
            columns: Columns::default(),
            speed: 1.0,
            from: Nanos::ZERO,
            until: None,
            sort: false,
        };
        let mut table = match s.either::<String>("trace", "a CSV file of recorded calls")? {
            Either::Value(file) => {
                check_file(s, "trace", &file, files);
                return Some(of(&file));
            }
            Either::Table(table) => table,
        };
        let file: String = table.need("file", "the file, relative to the scenario");
        if table.has("file") {
            check_file(&table, "file", &file, files);
        }
        let mut trace = of(&file);
        trace.time = table.get_or("time", trace.time, "column of the time");
        trace.time_unit = table.one_of("time_unit", &units(), Some(None), "what the times are written in");
        trace.columns = Columns {
            input_tokens: table.get("input_tokens", "column of the tokens sent"),
            output_tokens: table.get("output_tokens", "column of the tokens of the answer"),
            max_output_tokens: table.get("max_output_tokens", "column of the most tokens of the answer"),
            tenant: table.get("tenant", "column of the tenant"),
            user: table.get("user", "column of the user"),
            feature: table.get("feature", "column of the feature"),
        };
        trace.speed = table.get_or("speed", 1.0, "how many times faster than recorded");
        if !(1e-6..=1e6).contains(&trace.speed) {
            let what = format!("`{}` is {}", table.path_of("speed"), trace.speed);
            table.problem("speed", what, "write a number between 0.000001 and 1000000");
        }
        trace.from = table.get_or("from", Nanos::ZERO, "leave out the rows before this time after the first");
        trace.until = table.get("until", "leave out the rows from this time after the first on");
        if trace.until.is_some_and(|until| until <= trace.from) {
            let what = format!("`{}` is not after `from`", table.path_of("until"));
            table.problem("until", what, "raise `until` or lower `from`: both count from the first row");
        }
        not_zero(&table, "until", trace.until);
        trace.sort = table.get_or("sort", false, "put rows that are out of order in order");
        table.finish();
        Some(trace)
    }
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
