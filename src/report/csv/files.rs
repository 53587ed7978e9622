//! All CSV files of a run, filled by jobs that may run at the same time, in the order of the jobs.

use super::columns::{EVENTS, Table};
use super::output::{Output, Written};
use super::rows::{Naming, Rows};
use super::spool::Spool;
use crate::problem::Problem;
use crate::time::SimTime;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One changed value of a scheduled event, a row of `events.csv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// The event's name.
    pub name: String,
    /// When it happens.
    pub at: SimTime,
    /// When the value is as it was before; `None` if the change is permanent.
    pub until: Option<SimTime>,
    /// What charts call it.
    pub label: String,
    /// The path of the value.
    pub target: String,
    /// The new value, as the file writes it.
    pub value: String,
}

/// The spools of one job, in the order of [`Table::ALL`].
pub type Spools = [Spool; Table::ALL.len()];

/// The CSV files of a run while they are written.
pub struct Files<'a> {
    run_id: String,
    names: &'a dyn Naming,
    requests: bool,
    parts: PathBuf,
    events: Written,
    queue: Mutex<Queue>,
}

/// The files, whose turn it is, and what waits for its turn.
struct Queue {
    outputs: Vec<(Table, Output)>,
    turn: usize,
    waiting: BTreeMap<usize, Spools>,
}

impl<'a> Files<'a> {
    /// Creates the files in `dir`, but for those that are `left_out`; rows may wait in files in `parts`.
    pub fn create(
        dir: &Path,
        parts: PathBuf,
        run_id: &str,
        events: &[EventRow],
        names: &'a dyn Naming,
        left_out: &[Table],
    ) -> Result<Files<'a>, Problem> {
        let wanted = |table: &Table| !left_out.contains(table);
        let outputs = Table::ALL
            .into_iter()
            .filter(wanted)
            .map(|table| Ok((table, Output::create(dir, table.file(), &table.header())?)))
            .collect::<Result<_, Problem>>()?;
        let events = write_events(dir, &parts, run_id, events)?;
        let queue = Mutex::new(Queue { outputs, turn: 0, waiting: BTreeMap::new() });
        let requests = wanted(&Table::Requests);
        Ok(Files { run_id: run_id.into(), names, requests, parts, events, queue })
    }

    /// Begins the rows of job number `job`.
    pub fn open(&self, job: usize, policy: &str, seed: u64) -> Rows<'_> {
        let spools = Table::ALL.map(|table| Spool::new(self.parts.join(format!("{job}-{}", table.file()))));
        Rows::new(self, job, [&self.run_id, policy, &seed.to_string()], spools)
    }

    /// Takes the rows of a job that has ended and writes those of all jobs whose turn has come.
    pub fn close(&self, rows: Rows<'_>) -> Result<(), Problem> {
        let (job, spools) = rows.into_parts();
        let mut queue = self.lock();
        queue.waiting.insert(job, spools);
        loop {
            let turn = queue.turn;
            let Some(spools) = queue.waiting.remove(&turn) else { return Ok(()) };
            queue.append(spools)?;
            queue.turn += 1;
        }
    }

    /// Makes room in a job's full spool: into the file if it is the job's turn, else aside.
    pub fn relieve(&self, job: usize, table: Table, spool: &mut Spool) -> Result<(), Problem> {
        let mut queue = self.lock();
        if queue.turn == job {
            return queue.output(table).map_or(Ok(()), |output| output.append(spool));
        }
        drop(queue);
        spool.set_aside()
    }

    /// What the rows call tenants, features and users.
    pub fn names(&self) -> &'a dyn Naming {
        self.names
    }

    /// Whether rows of `requests.csv` are wanted.
    pub fn wants_requests(&self) -> bool {
        self.requests
    }

    /// Writes what still waits, in order, and says what was written. Jobs that never came leave no rows.
    pub fn finish(self) -> Result<Vec<Written>, Problem> {
        let mut queue = self.queue.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (_, spools) in std::mem::take(&mut queue.waiting) {
            queue.append(spools)?;
        }
        let outputs = queue.outputs.into_iter().map(|(_, output)| output.finish());
        Ok(outputs.chain([self.events]).collect())
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // A thread that panicked ends the run anyway.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn output(&mut self, table: Table) -> Option<&mut Output> {
        self.outputs.iter_mut().find(|(of, _)| *of == table).map(|(_, output)| output)
    }

    fn append(&mut self, spools: Spools) -> Result<(), Problem> {
        for (table, mut spool) in Table::ALL.into_iter().zip(spools) {
            if let Some(output) = self.output(table) {
                output.append(&mut spool)?;
            }
        }
        Ok(())
    }
}

fn write_events(dir: &Path, parts: &Path, run_id: &str, events: &[EventRow]) -> Result<Written, Problem> {
    let mut output = Output::create(dir, "events.csv", EVENTS)?;
    let mut spool = Spool::new(parts.join("events.csv"));
    for event in events {
        let cells = spool.row();
        cells.name(run_id).text(&event.name).seconds(event.at.0);
        cells.maybe(event.until, |cells, until| cells.seconds(until.0));
        cells.text(&event.label).text(&event.target).text(&event.value);
        spool.end_row();
    }
    output.append(&mut spool)?;
    Ok(output.finish())
}
