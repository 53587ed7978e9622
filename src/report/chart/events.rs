//! What was scheduled in a run: `events.csv`, one event per name and start.

use super::table::Table;
use crate::problem::Problem;
use std::path::Path;

/// A scheduled event. Several values set at once are one event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its name.
    pub name: String,
    /// When it begins, in seconds.
    pub at_s: f64,
    /// When it ends; `None` if it stays.
    pub until_s: Option<f64>,
    /// What the reader is told: the label, or the name if there is none.
    pub label: String,
}

/// Reads the events of the run in `dir`, in the order of their starts.
pub fn read(dir: &Path) -> Result<Vec<Event>, Problem> {
    let mut table = Table::open(dir, "events.csv")?;
    let (name, label) = (table.column("name")?, table.column("label")?);
    let (at, until) = (table.column("at_s")?, table.column("until_s")?);
    let mut events: Vec<Event> = Vec::new();
    while table.advance()? {
        let at_s = table.number(at)?;
        let until_s = table.optional(until)?;
        if until_s.is_some_and(|until_s| until_s < at_s) {
            return Err(table.problem(until, "lies before `at_s`".to_string()));
        }
        let (name, mut label) = (table.text(name), table.text(label));
        if label.is_empty() {
            label.clone_from(&name);
        }
        events.push(Event { name, at_s, until_s, label });
    }
    events.sort_by(|a, b| a.at_s.total_cmp(&b.at_s).then_with(|| a.name.cmp(&b.name)));
    events.dedup_by(|b, a| a.name == b.name && a.at_s == b.at_s);
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(rows: &str) -> Result<Vec<Event>, Problem> {
        let dir = tempfile::tempdir().unwrap();
        let header = "run_id,name,at_s,until_s,label,target,value";
        std::fs::write(dir.path().join("events.csv"), format!("{header}\n{rows}")).unwrap();
        read(dir.path())
    }

    #[test]
    fn an_event_that_sets_two_values_is_one_event() {
        let events =
            events("r,slow,60,120,all slow,a,1\nr,slow,60,120,all slow,b,2\nr,cut,30,,,c,3\n").unwrap();
        assert_eq!(events.len(), 2);
        assert_eq!((events[0].label.as_str(), events[0].until_s), ("cut", None));
        assert_eq!((events[1].label.as_str(), events[1].until_s), ("all slow", Some(120.0)));
    }

    #[test]
    fn an_end_before_the_start_is_refused() {
        let problem = events("r,slow,60,12,x,a,1\n").unwrap_err().to_string();
        assert!(problem.contains("events.csv:2:11: column `until_s`"), "{problem}");
    }
}
