//! The trace as a source: the second reading, row by row.

use super::rows::Rows;
use super::{Fall, TraceFacts, TraceSpec};
use crate::problem::{Kind, Problem};
use crate::time::{Nanos, SimTime};
use crate::traffic::{Known, Source};

/// Calls as a trace recorded them.
pub struct TraceSource {
    spec: TraceSpec,
    facts: TraceFacts,
    duration: Nanos,
    reading: Reading,
    /// The last number of each column of names: neighbours are often the same.
    last: [usize; 3],
}

enum Reading {
    /// Row by row; the instant of the last call.
    Streaming(Box<Rows>, SimTime),
    /// What is left of the sorted rows.
    Sorted(std::vec::IntoIter<(SimTime, Known)>),
    Over,
}

impl TraceSpec {
    /// Opens the trace, of which `facts` were found, for a replay of its calls before `duration`.
    pub fn open(&self, facts: &TraceFacts, duration: Nanos) -> Result<TraceSource, Problem> {
        let rows = Rows::open(self).map_err(|problems| self.first_of(problems))?;
        let (spec, facts) = (self.clone(), facts.clone());
        let reading = Reading::Streaming(Box::new(rows), SimTime::ZERO);
        let mut source = TraceSource { spec, facts, duration, reading, last: [0; 3] };
        if self.sort {
            let mut calls = Vec::with_capacity(source.facts.kept as usize);
            let mut known = Known::default();
            while let Some(at) = source.next_row(&mut known)? {
                calls.push((at, known));
            }
            calls.sort_by_key(|(at, _)| *at);
            source.reading = Reading::Sorted(calls.into_iter());
        }
        Ok(source)
    }

    /// The header was right when the trace was inspected: unless reading failed, the file has changed.
    fn first_of(&self, problems: Vec<Problem>) -> Problem {
        problems.into_iter().find(|p| p.kind == Kind::Io).unwrap_or_else(|| self.changed())
    }

    fn changed(&self) -> Problem {
        let mut problem =
            Problem::input(format!("the trace `{}` changed after it was checked", self.file.display()))
                .remedy("leave the file alone while it is replayed, and run again");
        problem.kind = Kind::Io;
        problem
    }
}

impl TraceSource {
    /// The next row in the window, in the order of the file, and what it says.
    #[inline]
    fn next_row(&mut self, known: &mut Known) -> Result<Option<SimTime>, Problem> {
        let Reading::Streaming(rows, last) = &mut self.reading else { return Ok(None) };
        while rows.next()? {
            let fall = rows.time(self.facts.unit).map(|ns| self.spec.fall(self.facts.origin, ns));
            match fall {
                Ok(Fall::Before) => {}
                Ok(Fall::After) if self.spec.sort => {}
                Ok(Fall::At(at)) if self.spec.sort || *last <= at => {
                    *last = at;
                    return match read(rows, &self.facts, &mut self.last, known) {
                        Some(()) => Ok(Some(at)),
                        None => Err(self.spec.changed()),
                    };
                }
                // Times never go backward, so nothing that follows is in the window either.
                Ok(Fall::After) => return Ok(None),
                _ => return Err(self.spec.changed()),
            }
        }
        let Reading::Streaming(rows, _) = std::mem::replace(&mut self.reading, Reading::Over) else {
            return Ok(None);
        };
        if rows.count != self.facts.rows || rows.sha256() != self.facts.sha256 {
            return Err(self.spec.changed());
        }
        Ok(None)
    }
}

/// Reads what the row says of its call, if it is such a row as was inspected.
#[inline]
fn read(rows: &Rows, facts: &TraceFacts, last: &mut [usize; 3], known: &mut Known) -> Option<()> {
    let columns = &rows.columns;
    rows.check_shape().ok()?;
    let [tenant, user, feature] = last;
    let number = |column, names: &[String], last: &mut usize| {
        let Some(name) = rows.name_in(column).ok()? else { return Some(None) };
        if names.get(*last).is_none_or(|last| last != name) {
            *last = names.binary_search_by(|known| known.as_str().cmp(name)).ok()?;
        }
        Some(Some(*last as u32))
    };
    known.input_tokens = rows.count_in(columns.input_tokens.as_ref()).ok()?;
    known.output_tokens = rows.count_in(columns.output_tokens.as_ref()).ok()?;
    known.max_output_tokens = rows.count_in(columns.max_output_tokens.as_ref()).ok()?;
    known.tenant = number(columns.tenant.as_ref(), &facts.tenants, tenant)?;
    known.user = number(columns.user.as_ref(), &facts.users, user)?;
    known.feature = number(columns.feature.as_ref(), &facts.features, feature)?.map(|feature| feature as u16);
    Some(())
}

impl Source for TraceSource {
    fn next(&mut self, known: &mut Known) -> Result<Option<SimTime>, Problem> {
        let next = match &mut self.reading {
            Reading::Streaming(..) => self.next_row(known)?,
            Reading::Sorted(calls) => calls.next().map(|(at, row)| {
                *known = row;
                at
            }),
            Reading::Over => None,
        };
        let next = next.filter(|at| at.0 < self.duration.0);
        if next.is_none() {
            self.reading = Reading::Over;
        }
        Ok(next)
    }
}
