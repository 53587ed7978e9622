//! Scenario files as commands take them.

use super::messages::Texts;
use super::screen::Stop;
use std::path::Path;
use tidegate::problem::{Problem, Problems};
use tidegate::scenario::Scenario;
use tidegate::scenario::source::Document;

/// A scenario that was read, with what it was read from.
pub struct Source {
    pub document: Document,
    pub scenario: Scenario,
    pub warnings: Problems,
    pub texts: Texts,
}

impl Source {
    /// Reads the file at `path`, or standard input for `-`, with some values overridden.
    pub fn read(path: &Path, settings: &[String]) -> Result<Source, Stop> {
        let mut texts = Texts::default();
        let document = match Document::open(path) {
            Ok(document) => document,
            Err(problems) => {
                // What can't be parsed can still be shown, if it can be read a second time.
                if let Ok(text) = std::fs::read_to_string(path) {
                    texts.add(&path.display().to_string(), text.strip_prefix('\u{feff}').unwrap_or(&text));
                }
                return Err(Stop { problems, texts, told: false });
            }
        };
        Source::of(document, settings)
    }

    /// Reads a parsed document, with some values overridden.
    pub fn of(mut document: Document, settings: &[String]) -> Result<Source, Stop> {
        let wrong: Vec<Problem> = settings.iter().filter_map(|setting| document.set(setting).err()).collect();
        let mut texts = Texts::default();
        for name in [document.text().name(), tidegate::section::Text::SETTINGS] {
            texts.add(name, document.text().of(name).unwrap_or(""));
        }
        if !wrong.is_empty() {
            return Err(Stop { problems: Problems(wrong), texts, told: false });
        }
        match Scenario::read(&document) {
            Ok((scenario, warnings)) => {
                Ok(Source { document, scenario, warnings: Problems(warnings), texts })
            }
            Err(problems) => Err(Stop { problems, texts, told: false }),
        }
    }
}
