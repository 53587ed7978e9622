//! The one pass over a trace before it is replayed: everything that is wrong, and what it holds.

use super::clock::TimeUnit;
use super::rows::{Fault, Rows};
use super::{Fall, TraceFacts, TraceSpec};
use crate::problem::{Place, Problem, Problems};
use crate::time::{Nanos, SimTime};
use std::collections::BTreeSet;

/// Problems beyond so many are only counted.
const MOST_PROBLEMS: usize = 20;

/// What was found so far.
#[derive(Default)]
struct Findings {
    problems: Vec<Problem>,
    more: usize,
    tenants: BTreeSet<String>,
    users: BTreeSet<String>,
    features: BTreeSet<String>,
    /// The times of all rows, if they may come in any order.
    times: Vec<i64>,
    unit: Option<TimeUnit>,
    /// Time and line of the row before.
    before: Option<(i64, u64)>,
    window: Window,
}

/// The rows that are replayed.
#[derive(Default)]
struct Window {
    origin: Option<i64>,
    kept: u64,
    /// When the first and the last of them arrive.
    ends: Option<(SimTime, SimTime)>,
}

impl Window {
    /// Takes a row at `ns` into account; false if it lies too far from the first.
    fn add(&mut self, spec: &TraceSpec, ns: i64) -> bool {
        let origin = *self.origin.get_or_insert(ns);
        let fall = spec.fall(origin, ns);
        if let Fall::At(at) = fall {
            self.kept += 1;
            self.ends = Some((self.ends.map_or(at, |(first, _)| first), at));
        }
        fall != Fall::TooFar
    }
}

impl TraceSpec {
    /// Reads the whole file once and says what it holds, or everything that is wrong with it.
    pub fn inspect(&self) -> Result<TraceFacts, Problems> {
        let mut rows = Rows::open(self).map_err(Problems)?;
        let mut found = Findings::default();
        while rows.next()? {
            if let Err(fault) = found.row(self, &rows) {
                found.report(rows.problem(fault));
            }
        }
        found.times.sort_unstable();
        for ns in std::mem::take(&mut found.times) {
            if !found.window.add(self, ns) {
                found.report(self.whole(TOO_FAR).remedy(TOO_FAR_REMEDY));
                break;
            }
        }
        found.finish(self, rows)
    }

    /// A problem of the file as a whole.
    fn whole(&self, what: &str) -> Problem {
        let file = self.file.display().to_string();
        let place = Place { file: file.clone(), line: 1, column: 1, span: 0..0 };
        Problem::input(format!("{what} in the trace `{file}`")).at(place)
    }
}

const TOO_FAR: &str = "rows lie more than 36525 days apart";
const TOO_FAR_REMEDY: &str = "check the unit of the time (`time_unit`), or cut the window with `until`";

impl Findings {
    /// Looks at the row that was just read.
    fn row(&mut self, spec: &TraceSpec, rows: &Rows) -> Result<(), Fault> {
        rows.check_shape()?;
        let columns = &rows.columns;
        let unit = *self.unit.get_or_insert_with(|| {
            spec.time_unit.unwrap_or_else(|| TimeUnit::guess(&columns.time.name, rows.text(&columns.time)))
        });
        let ns = rows.time(unit)?;
        for column in [&columns.input_tokens, &columns.output_tokens, &columns.max_output_tokens] {
            rows.count_in(column.as_ref())?;
        }
        intern(&mut self.tenants, rows.name_in(columns.tenant.as_ref())?);
        intern(&mut self.users, rows.name_in(columns.user.as_ref())?);
        intern(&mut self.features, rows.name_in(columns.feature.as_ref())?);
        if spec.sort {
            self.times.push(ns);
            return Ok(());
        }
        let before = self.before.replace((ns, rows.line()));
        if let Some((earlier, line)) = before.filter(|(earlier, _)| ns < *earlier) {
            let lag = Nanos(earlier.abs_diff(ns));
            let here = rows.text(&columns.time);
            let what = format!("the time goes backward: `{here}` comes {lag} before the time of line {line}");
            return Err(Fault::new(
                &columns.time,
                what,
                "put the rows in the order of time, or set `sort = true`",
            ));
        }
        if self.window.add(spec, ns) {
            return Ok(());
        }
        Err(Fault::new(&columns.time, TOO_FAR.into(), TOO_FAR_REMEDY))
    }

    fn report(&mut self, problem: Problem) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(problem);
        } else {
            self.more += 1;
        }
    }

    fn finish(mut self, spec: &TraceSpec, rows: Rows) -> Result<TraceFacts, Problems> {
        if rows.count == 0 {
            self.report(spec.whole("there is no row after the header").remedy("it needs one row per call"));
        }
        if u16::try_from(self.features.len()).is_err() {
            self.report(
                spec.whole("there are more than 65535 features").remedy("name another column in `feature`"),
            );
        }
        if self.problems.is_empty() && self.window.kept == 0 {
            let remedy = "change them: they are counted from the first row, in the trace's own time";
            self.report(spec.whole("no row lies between `from` and `until`").remedy(remedy));
        }
        if self.more > 0 {
            self.problems.push(spec.whole(&format!("and {} more problems", self.more)));
        }
        match (self.unit, self.window.origin, self.window.ends) {
            (Some(unit), Some(origin), Some((first, last))) if self.problems.is_empty() => Ok(TraceFacts {
                rows: rows.count,
                sha256: rows.sha256(),
                kept: self.window.kept,
                first,
                last,
                tenants: self.tenants.into_iter().collect(),
                users: self.users.into_iter().collect(),
                features: self.features.into_iter().collect(),
                unit,
                origin,
            }),
            _ => Err(Problems(self.problems)),
        }
    }
}

/// Keeps a name that is met for the first time.
#[inline]
fn intern(names: &mut BTreeSet<String>, name: Option<&str>) {
    if let Some(name) = name.filter(|name| !names.contains(*name)) {
        names.insert(name.into());
    }
}
