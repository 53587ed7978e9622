//! Scenario files as text and as trees: the one place of this layer that touches files.
//!
//! TOML and JSON become the same tree, in which every key and value knows its place. [`Document::set`] changes single
//! values from the command line, [`Document::canonical`] writes the tree in one normal form, for hashes and to be read
//! again.

mod canonical;
mod json;
mod numbers;
mod set;
mod toml;

use crate::problem::{Problem, Problems};
use crate::section::{Log, Node, Text};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The most bytes that a scenario may have. Recorded arrivals belong in a trace, which has no such bound.
pub const MOST_BYTES: usize = 4 << 20;

/// A scenario file that could be parsed: its text, its tree, and the folder that its other files are looked up in.
#[derive(Clone, Debug)]
pub struct Document {
    text: Text,
    root: Node,
    folder: PathBuf,
    repeated: Vec<Problem>,
}

/// What a text became: its tree and what is wrong with it.
struct Parsed {
    root: Node,
    /// Keys that stand twice: the tree is whole without the second, so that reading can go on.
    repeated: Vec<Problem>,
    /// Mistakes after which the tree is not what was meant.
    broken: Vec<Problem>,
}

impl Document {
    /// Reads the file at `path`, or standard input for `-`.
    pub fn open(path: &Path) -> Result<Document, Problems> {
        let name = path.display().to_string();
        let bytes =
            if name == "-" { bounded(std::io::stdin().lock()) } else { File::open(path).and_then(bounded) };
        let bytes = bytes.map_err(|error| Problem::io(&name, "read", &error).remedy(remedy_for(&error)))?;
        let folder = if name == "-" { Path::new("") } else { path.parent().unwrap_or(Path::new("")) };
        Document::from_bytes(&name, bytes, folder)
    }

    /// Parses the bytes of a file called `name` whose other files lie in `folder`.
    pub fn from_bytes(name: &str, bytes: Vec<u8>, folder: &Path) -> Result<Document, Problems> {
        if bytes.len() > MOST_BYTES {
            let what = format!("`{name}` is larger than {} MiB", MOST_BYTES >> 20);
            return Err(Problem::input(what).remedy("put recorded arrivals into a trace file").into());
        }
        match String::from_utf8(bytes) {
            Ok(text) => Document::from_text(name, &text, folder),
            Err(error) => {
                let start = error.utf8_error().valid_up_to();
                let valid = String::from_utf8_lossy(&error.as_bytes()[..start]).into_owned();
                let place = Text::new(name, valid).place(start..start + 1);
                let problem = Problem::input("the file is not UTF-8 text").at(place);
                Err(problem.remedy("save it with the encoding UTF-8").into())
            }
        }
    }

    /// Parses the text of a file called `name` whose other files lie in `folder`.
    ///
    /// JSON is what ends in `.json` or begins with a brace, which no TOML file does.
    pub fn from_text(name: &str, text: &str, folder: &Path) -> Result<Document, Problems> {
        let body = text.strip_prefix('\u{feff}').unwrap_or(text);
        let text = Text::new(name, body.to_string());
        let json = name.ends_with(".json") || body.trim_start().starts_with('{');
        let parsed = if json { json::parse(&text) } else { toml::parse(&text) };
        if !parsed.broken.is_empty() {
            return Err(Problems([parsed.broken, parsed.repeated].concat()));
        }
        Ok(Document { text, root: parsed.root, folder: folder.to_path_buf(), repeated: parsed.repeated })
    }

    /// Overrides one value: `traffic.api.rate=40/s`.
    ///
    /// The value is read as a TOML value if it is one, else taken as text. Keys that the file lacks are made, so that
    /// the reader says whether they exist; items of lists are numbered from 0 and must be there.
    pub fn set(&mut self, assignment: &str) -> Result<(), Problem> {
        let base = self.text.add_setting(assignment);
        set::apply(&mut self.root, &self.text, assignment, base)
    }

    /// The tree in its normal form: JSON without spaces, keys sorted, numbers shortest, files by base name.
    ///
    /// Policies alone keep the order of the file, since results are listed in it.
    pub fn canonical(&self) -> String {
        canonical::write(&self.root)
    }

    /// The tree.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// The text, to find places and to draw under its lines.
    pub fn text(&self) -> &Text {
        &self.text
    }

    /// A log for reading this document, which already holds the keys that stand twice.
    pub(super) fn log(&self) -> Log<'_> {
        let log = Log::new(&self.text);
        for problem in &self.repeated {
            let span = problem.place.as_ref().map_or(0..0, |place| place.span.clone());
            log.error(span, &problem.what, &problem.remedy);
        }
        log
    }

    /// Where a file that the scenario names is looked for: relative to the scenario's folder.
    pub fn resolve(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// Every file that the scenario names: its base name, by which results know it, and its path.
    pub fn files(&self) -> Vec<(String, PathBuf)> {
        let files = canonical::files(&self.root).into_iter();
        files.map(|file| (canonical::base_name(file).to_string(), self.resolve(file))).collect()
    }

    /// Whether a file that the scenario names is there.
    pub fn has_file(&self, file: &str) -> bool {
        self.resolve(file).is_file()
    }

    /// The numbers in a column of a CSV file that the scenario names; in the first column if none is named.
    pub fn numbers(&self, file: &str, column: Option<&str>) -> Result<Vec<f64>, String> {
        numbers::read(&self.resolve(file), column)
    }

    /// The same document with its other files looked up in `folder`.
    pub fn in_folder(mut self, folder: &Path) -> Document {
        self.folder = folder.to_path_buf();
        self
    }
}

/// Everything `reader` has, up to one byte more than is allowed.
fn bounded(reader: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn remedy_for(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::NotFound => "check the path, or write `-` for standard input",
        std::io::ErrorKind::PermissionDenied => "check that you may read it",
        _ => "name a file that can be read",
    }
}
