//! `tidegate policies`.

use super::screen::{Screen, Stop};
use clap::{Args, ValueEnum};
use serde::Serialize;
use tidegate::problem::{Problem, did_you_mean};
use tidegate::report::text::{Layout, Table};
use tidegate::scenario::Scenario;
use tidegate::scenario::queue::{self, Queue};
use tidegate::scenario::stage::KINDS;
use tidegate::section::{Param, describe};

/// List what scenarios can be made of, or the settings of one kind
#[derive(Debug, Args)]
pub struct Policies {
    /// A kind such as `token_bucket`, or a table such as `traffic`
    kind: Option<String>,
    /// How the list is written
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Human,
    Json,
    Md,
}

/// A kind of part, or a table that has no kinds.
struct Entry {
    table: String,
    kind: String,
    about: String,
    /// Who defined it, where the registry says so.
    source: Option<&'static str>,
    params: Vec<Param>,
}

/// An entry of the list as programs read it: the columns that people see, then all that is known of it.
#[derive(Serialize)]
struct Listed<'a> {
    table: &'a str,
    kind: &'a str,
    about: &'a str,
    r#trait: &'a str,
    summary: &'a str,
    source: Option<&'static str>,
    parameters: Vec<Parameter<'a>>,
}

#[derive(Serialize)]
struct Parameter<'a> {
    name: &'a str,
    shape: String,
    default: Option<&'a str>,
    required: bool,
    about: String,
}

impl Policies {
    pub fn run(self, screen: &Screen) -> Result<(), Stop> {
        let layout = match self.format {
            Format::Human => Layout::Human,
            Format::Json => Layout::Json,
            Format::Md => Layout::Markdown,
        };
        let entries = entries();
        let text = match &self.kind {
            None if layout == Layout::Json => json(&entries)?,
            None => list(&entries).to_text(layout),
            Some(word) => {
                let mut found: Vec<&Entry> = entries.iter().filter(|entry| entry.kind == *word).collect();
                if found.is_empty() {
                    found = entries.iter().filter(|entry| entry.table == *word).collect();
                }
                if found.is_empty() {
                    return Err(unknown(word, &entries).into());
                }
                settings(&found).to_text(layout)
            }
        };
        screen.result(&text)?;
        if self.kind.is_none() {
            screen.note("\nsettings of one kind: tidegate policies KIND");
        }
        Ok(())
    }
}

fn unknown(word: &str, entries: &[Entry]) -> Problem {
    let names = || entries.iter().flat_map(|entry| [entry.kind.as_str(), entry.table.as_str()]);
    let near = did_you_mean(word, names()).map_or(String::new(), |near| format!("did you mean `{near}`? "));
    let kinds: Vec<&str> = entries.iter().map(|entry| entry.kind.as_str()).collect();
    Problem::usage(format!("there is no kind or table `{}`", word.escape_debug()))
        .remedy(format!("{near}known: {}", kinds.join(", ")))
}

/// Every stage by kind, then the tables of a scenario by theirs.
fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    for kind in KINDS {
        let mut is_admission = false;
        let params = describe(|section| is_admission = (kind.read)(section).is_admission());
        entries.push(Entry {
            table: if is_admission { "admission" } else { "limiter" }.into(),
            kind: kind.name.into(),
            about: kind.about.into(),
            source: Some(kind.page.source),
            params,
        });
    }
    for kind in queue::KINDS {
        let params = describe(|section| _ = Queue::read_as(kind, "name".into(), section));
        entries.push(Entry {
            table: "queue".into(),
            kind: kind.name.into(),
            about: kind.about.into(),
            source: Some(kind.source),
            params,
        });
    }
    let all = Scenario::describe();
    for (table, under) in [
        ("downstream", "downstream.NAME."),
        ("budget", "client.NAME.retry.budget."),
        ("client", "client.NAME."),
        ("traffic", "traffic.NAME."),
        ("class", "class.NAME."),
        ("policy", "policy.NAME."),
        ("event", "event[]."),
    ] {
        let mut params = below(&all, under);
        let kinds = params.iter().position(|param| param.key == "kind").map(|at| params.remove(at));
        let about = all.iter().find(|param| format!("{}.", param.key) == under).map_or("", |param| param.doc);
        let words = kinds.map_or(vec![table.to_string()], |kinds| words(&kinds.shape));
        for kind in words {
            entries.push(Entry {
                table: table.into(),
                kind,
                about: about.into(),
                source: None,
                params: params.clone(),
            });
        }
    }
    entries
}

/// The settings below a path, with their keys from there.
fn below(all: &[Param], under: &str) -> Vec<Param> {
    let strip =
        |param: &Param| Some(Param { key: param.key.strip_prefix(under)?.to_string(), ..param.clone() });
    all.iter().filter_map(strip).collect()
}

/// The words in backticks.
fn words(shape: &str) -> Vec<String> {
    shape.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

fn list(entries: &[Entry]) -> Table {
    let mut table =
        Table::new(&[("table", "table", false), ("kind", "kind", false), ("about", "what it does", false)]);
    for entry in entries {
        table.rows.push(vec![entry.table.clone(), entry.kind.clone(), entry.about.clone()]);
    }
    table
}

fn json(entries: &[Entry]) -> Result<String, Problem> {
    let listed: Vec<Listed> = entries.iter().map(Listed::of).collect();
    let text = serde_json::to_string_pretty(&listed);
    text.map(|text| text + "\n").map_err(|why| Problem::bug(format!("the list is no JSON: {why}")))
}

impl Listed<'_> {
    fn of(entry: &Entry) -> Listed<'_> {
        Listed {
            table: &entry.table,
            kind: &entry.kind,
            about: &entry.about,
            r#trait: &entry.table,
            summary: &entry.about,
            source: entry.source,
            parameters: entry.params.iter().map(Parameter::of).collect(),
        }
    }
}

impl Parameter<'_> {
    fn of(param: &Param) -> Parameter<'_> {
        Parameter {
            name: &param.key,
            shape: param.shape.replace('`', ""),
            default: param.default.as_deref(),
            required: param.required,
            about: param.doc.replace('`', ""),
        }
    }
}

fn settings(entries: &[&Entry]) -> Table {
    let mut table = Table::new(&[
        ("kind", "kind", false),
        ("key", "key", false),
        ("takes", "takes", false),
        ("default", "default", false),
        ("about", "what it means", false),
    ]);
    for entry in entries {
        for param in &entry.params {
            let default = match (&param.default, param.required) {
                (Some(default), _) => default.clone(),
                (None, true) => "(required)".into(),
                (None, false) => String::new(),
            };
            let cells = [&entry.kind, &param.key, &param.shape, &default, &param.doc.to_string()];
            table.rows.push(cells.map(|cell| cell.replace('`', "")).to_vec());
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_settings_and_each_a_meaning() {
        for entry in entries() {
            assert!(!entry.params.is_empty() && !entry.about.is_empty(), "{}", entry.kind);
            assert!(entry.params.iter().all(|param| !param.doc.is_empty()), "{}", entry.kind);
        }
    }
}
