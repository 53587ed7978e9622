//! The limiters that `probe` was given on the command line.

use super::super::messages::Texts;
use std::path::Path;
use tidegate::limiter::Limiter;
use tidegate::problem::Problems;
use tidegate::request::{Key, Unit};
use tidegate::rng::Stream;
use tidegate::scenario::source::Document;
use tidegate::scenario::stage::{Limit, Stage, StageSpec};
use tidegate::section::{At, Content, Log, Name, Section};

/// What the argument is called in messages.
const ARGUMENT: &str = "LIMITER";

/// Limiters in the order in which they are asked, and their names.
pub struct Limiters {
    pub names: Vec<String>,
    pub limits: Vec<Limit>,
    /// What is odd about them, and no mistake.
    pub warnings: Problems,
}

impl Limiters {
    /// Reads a table, or a list of tables.
    pub fn read(argument: &str, texts: &mut Texts) -> Result<Limiters, Problems> {
        // The argument is a value, and a file has keys.
        let text = format!("limiter = {argument}");
        texts.add(ARGUMENT, &text);
        let document = Document::from_text(ARGUMENT, &text, Path::new(""))?;
        let log = Log::new(document.text());
        let mut root = Section::root(document.root(), &log);
        let listed = match &document.root().content {
            Content::Table(table) => {
                table.get("limiter").is_some_and(|entry| matches!(entry.node.content, Content::Array(_)))
            }
            _ => false,
        };
        let sections = if listed {
            root.sections("limiter", "limiters in the order in which they are asked")
        } else {
            root.section("limiter", "a limiter").into_iter().collect()
        };
        root.finish();
        if sections.is_empty() && log.is_empty() {
            log.error(0..text.len(), "there is no limiter in the list", "add `{ kind = … }`");
        }
        let mut limiters = Limiters { names: Vec::new(), limits: Vec::new(), warnings: Problems::default() };
        for section in sections {
            limiters.add(section, &log);
        }
        let any_error = log.any_error();
        let problems = Problems(log.into_problems());
        if any_error { Err(problems) } else { Ok(Limiters { warnings: problems, ..limiters }) }
    }

    /// Each limiter with its name.
    pub fn named(&self) -> impl Iterator<Item = (&String, &Limit)> {
        self.names.iter().zip(&self.limits)
    }

    /// The limiters, with the chance that they have in a run with seed 1.
    pub(super) fn build(&self, number: &dyn Fn(Key, &str) -> Option<u32>) -> Vec<Box<dyn Limiter>> {
        let luck = |name: &String| Stream::new(1, &format!("limiter/{name}")).dice();
        self.named().map(|(name, limit)| limit.build_among(number, luck(name))).collect()
    }

    fn add(&mut self, mut section: Section<'_>, log: &Log<'_>) {
        let name =
            section.get::<At<Name>>("name", "what the table of decisions calls it; its kind unless said");
        let span = section.span();
        let stage = Stage::read(name.as_ref().map_or(String::new(), |name| name.value.0.clone()), section);
        if let Some(name) = name.filter(|name| self.names.contains(&name.value.0)) {
            let what = format!("there are two limiters called `{}`", name.value.0);
            log.error(name.span, what, "give each a name of its own");
        }
        let named = if stage.name.is_empty() { stage.kind.to_string() } else { stage.name.clone() };
        match stage.spec {
            StageSpec::Limiter(mut limit) => {
                if limit.rule.counts_in_flight() {
                    let what = format!("`{named}` limits work in flight, and a list of asks has no ends");
                    let remedy = "take `concurrency` out, or simulate it with `tidegate run`";
                    log.error(span, what, remedy);
                }
                // The list gives the costs.
                limit.options.charge.unit = Unit::Given;
                self.names.push(named);
                self.limits.push(limit);
            }
            _ if stage.kind.is_empty() => {} // told by the reader
            _ => {
                let what = format!("`{}` asks whether there is room, not how fast", stage.kind);
                let remedy =
                    "probe a limiter; simulate this one with `tidegate run`, where work starts and ends";
                log.error(span, what, remedy);
            }
        }
    }
}
