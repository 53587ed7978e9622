//! Charts, drawn from a run's CSV files alone: the same files give the same bytes on every machine.
//!
//! Each kind of chart is one file that turns a `Scene` into drawings, and one line of the registry below. Runs of
//! several seeds are drawn under one of them, by default the first: a mean over seeds would smooth away the very
//! spikes that a reader looks for, and a mean of percentiles is none.

mod bands;
mod canvas;
mod clock;
mod compare;
mod events;
mod frame;
mod keys;
mod labels;
mod latency;
mod limits;
mod outcomes;
mod page;
mod palette;
mod png;
mod reader;
#[cfg(test)]
mod sample;
mod scale;
mod shrink;
mod table;
mod text;
mod timeline;

use crate::problem::{Problem, did_you_mean};
use std::fs;
use std::path::Path;

/// Makes the kinds of charts from one line each: variant, file, whether `run` draws it unasked, what it shows.
macro_rules! kinds {
    ($($kind:ident, $file:ident, $usual:literal, $about:literal;)*) => {
        /// A kind of chart.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind {
            $(#[doc = $about] $kind,)*
        }

        impl Kind {
            /// Every kind, in the order of the registry.
            pub const ALL: &[Kind] = &[$(Kind::$kind),*];
            /// Their names, as the command takes them.
            pub const NAMES: &[&str] = &[$(stringify!($file)),*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(Kind::$kind => stringify!($file),)* }
            }

            /// What it shows, in half a line.
            pub fn about(self) -> &'static str {
                match self { $(Kind::$kind => $about,)* }
            }

            /// Whether `run` draws it unasked.
            pub fn is_usual(self) -> bool {
                match self { $(Kind::$kind => $usual,)* }
            }

            fn draw(self, scene: &Scene) -> Vec<Drawing> {
                match self { $(Kind::$kind => $file::draw(scene),)* }
            }
        }
    };
}

kinds! {
    Outcomes, outcomes, true, "How attempts end, per policy.";
    Latency, latency, true, "How long answered calls took, per policy.";
    Limits, limits, true, "Calls in flight against their limit, and queued, per policy.";
    Compare, compare, true, "All policies side by side.";
}

impl Kind {
    /// The kind of that name.
    pub fn parse(name: &str) -> Result<Kind, Problem> {
        Kind::ALL
            .iter()
            .copied()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| unknown("kind of chart", name, Kind::NAMES))
    }
}

/// What a chart is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Scalable, for pages and reviews.
    Svg,
    /// Pixels, for what shows nothing else.
    Png,
}

impl Format {
    /// Their names, which are the files' endings too.
    pub const NAMES: &[&str] = &["svg", "png"];

    /// The format of that name.
    pub fn parse(name: &str) -> Result<Format, Problem> {
        match name {
            "svg" => Ok(Format::Svg),
            "png" => Ok(Format::Png),
            _ => Err(unknown("format of charts", name, Format::NAMES)),
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Format::Svg => "svg",
            Format::Png => "png",
        }
    }
}

fn unknown(what: &str, name: &str, names: &[&'static str]) -> Problem {
    let near = did_you_mean(name, names.iter().copied())
        .map_or(String::new(), |near| format!("did you mean `{near}`? "));
    Problem::usage(format!("`{}` is no {what}", text::tame(name, 40)))
        .remedy(format!("{near}use one of {}", names.join(", ")))
}

/// How charts are drawn; the default is what `run` takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The scenario's name, for titles. No CSV file holds it, so whoever wants the same bytes gives the same name.
    pub scenario: Option<String>,
    /// The seed to draw; the first of the file if none.
    pub seed: Option<u64>,
    /// Width in pixels, from 800 to 4000.
    pub width: u32,
    /// Pixels of a PNG per pixel of the SVG, from 1 to 4.
    pub pixel_ratio: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { scenario: None, seed: None, width: 1200, pixel_ratio: 2 }
    }
}

/// All that charts are drawn from.
struct Scene {
    scenario: Option<String>,
    width: u32,
    timeline: timeline::Timeline,
    events: Vec<events::Event>,
}

/// A finished chart.
struct Drawing {
    /// The file's name without its ending.
    name: String,
    svg: String,
}

/// Draws charts of the run in `dir` into `dir/charts` and returns the files' names relative to `dir`, sorted.
///
/// No `kinds` means those that `run` draws. Each file appears whole: it is written under another name first.
pub fn draw(dir: &Path, kinds: &[Kind], format: Format, options: &Options) -> Result<Vec<String>, Problem> {
    let scene = Scene {
        scenario: options
            .scenario
            .as_deref()
            .map(|name| text::tame(name, 80))
            .filter(|name| !name.is_empty()),
        width: options.width.clamp(800, 4000),
        timeline: reader::timeline(dir, options.seed)?,
        events: events::read(dir)?,
    };
    let usual: Vec<Kind> = Kind::ALL.iter().copied().filter(|kind| kind.is_usual()).collect();
    let mut kinds = if kinds.is_empty() { usual } else { kinds.to_vec() };
    kinds.sort();
    kinds.dedup();
    let charts = dir.join("charts");
    fs::create_dir_all(&charts).map_err(|e| Problem::io(charts.display(), "create", &e))?;
    let mut names = Vec::new();
    for drawing in kinds.into_iter().flat_map(|kind| kind.draw(&scene)) {
        let bytes = match format {
            Format::Svg => drawing.svg.into_bytes(),
            Format::Png => png::render(&drawing.svg, options.pixel_ratio.clamp(1, 4))?,
        };
        let name = format!("{}.{}", drawing.name, format.ending());
        write_whole(&charts, &name, &bytes)?;
        names.push(format!("charts/{name}"));
    }
    names.sort();
    Ok(names)
}

/// Writes a file under a temporary name and gives it its own when it is complete.
fn write_whole(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), Problem> {
    let (path, unfinished) = (dir.join(name), dir.join(format!(".{name}.unfinished")));
    let written = fs::write(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, &path));
    written.map_err(|e| {
        // The first failure is the one to tell.
        let _ = fs::remove_file(&unfinished);
        Problem::io(path.display(), "write", &e)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_give_the_same_bytes() {
        for format in [Format::Svg, Format::Png] {
            let dir = sample::directory(&["a", "b"], 40, "slow");
            let options = Options { pixel_ratio: 1, ..Options::default() };
            let read = || {
                let names = draw(dir.path(), &[], format, &options).unwrap();
                names.iter().map(|name| fs::read(dir.path().join(name)).unwrap()).collect::<Vec<_>>()
            };
            let first = read();
            assert_eq!(first.len(), 7);
            assert!(first == read(), "{format:?}");
        }
    }

    #[test]
    fn files_are_named_after_policy_and_kind() {
        let dir = sample::directory(&["a"], 10, "slow");
        let names =
            draw(dir.path(), &[Kind::Limits, Kind::Compare], Format::Svg, &Options::default()).unwrap();
        assert_eq!(names, ["charts/a-limits.svg", "charts/compare.svg"]);
        assert_eq!(fs::read_dir(dir.path().join("charts")).unwrap().count(), 2);
    }

    #[test]
    fn a_label_from_a_file_is_never_markup() {
        let dir = sample::directory(&["a"], 10, "<script>alert('&')</script>");
        for name in draw(dir.path(), &[], Format::Svg, &Options::default()).unwrap() {
            let svg = fs::read_to_string(dir.path().join(name)).unwrap();
            assert!(!svg.contains("<script") && svg.contains("&lt;script&gt;"));
        }
    }

    #[test]
    fn a_policy_that_names_a_path_is_refused() {
        let dir = sample::directory(&["../a"], 10, "slow");
        let problem = draw(dir.path(), &[], Format::Svg, &Options::default()).unwrap_err().to_string();
        assert!(problem.contains("timeline.csv:2:") && problem.contains("column `policy`"), "{problem}");
    }

    #[test]
    fn a_missing_column_or_file_is_named() {
        let dir = sample::directory(&["a"], 10, "slow");
        let path = dir.path().join("timeline.csv");
        let text = fs::read_to_string(&path).unwrap().replacen("goodput_count", "good_count", 1);
        fs::write(&path, text).unwrap();
        let problem = draw(dir.path(), &[], Format::Svg, &Options::default()).unwrap_err().to_string();
        assert!(problem.contains("timeline.csv:1:1: column `goodput_count` is missing"), "{problem}");
        fs::remove_file(path).unwrap();
        let problem = draw(dir.path(), &[], Format::Svg, &Options::default()).unwrap_err().to_string();
        assert!(problem.contains("cannot read") && problem.contains("timeline.csv"), "{problem}");
    }

    #[test]
    fn a_long_run_stays_a_small_file() {
        let dir = sample::directory(&["a", "b", "c"], 20_000, "slow");
        for name in draw(dir.path(), &[], Format::Svg, &Options::default()).unwrap() {
            let bytes = fs::metadata(dir.path().join(&name)).unwrap().len();
            assert!(bytes < 150_000, "{name}: {bytes}");
        }
    }

    /// Left, right and middle height of every text of a document, as wide as the narrowest common font sets it.
    fn boxes(svg: &str) -> Vec<(f64, f64, f64, f64, String)> {
        let lines: Vec<&str> = svg.lines().collect();
        let attribute = |line: &str, name: &str| {
            line.split_once(&format!(" {name}=\"")).unwrap().1.split('"').next().unwrap().to_string()
        };
        let texts = lines.iter().enumerate().filter(|(_, line)| line.starts_with("<text "));
        texts
            .map(|(i, line)| {
                let [x, y, size] =
                    ["x", "y", "font-size"].map(|name| attribute(line, name).parse::<f64>().unwrap());
                let content = lines[i + 1].replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
                let width = text::width(&content, size) * 0.95;
                let left = match attribute(line, "text-anchor").as_str() {
                    "start" => x,
                    "middle" => x - width / 2.0,
                    _ => x - width,
                };
                (left, left + width, y, size, content)
            })
            .collect()
    }

    #[test]
    fn no_two_texts_overlap_and_none_leaves_the_page() {
        let policies = ["a_policy_with_a_very_long_name_that_does_not_fit", "b", "c", "d", "e", "f"];
        for (count, label) in
            [(1, "a label ".repeat(40)), (2, "slow".to_string()), (6, "downstream 16× slower".to_string())]
        {
            let dir = sample::directory(&policies[..count], 240, &label);
            for name in draw(dir.path(), &[], Format::Svg, &Options::default()).unwrap() {
                let boxes = boxes(&fs::read_to_string(dir.path().join(&name)).unwrap());
                for (i, a) in boxes.iter().enumerate() {
                    assert!(0.0 <= a.0 && a.1 <= 1200.0 * 8.0, "{name}: {a:?}");
                    for b in &boxes[..i] {
                        let apart = a.1 <= b.0 || b.1 <= a.0 || (a.3 + b.3) / 2.0 <= (a.2 - b.2).abs();
                        assert!(apart, "{name}: {a:?} {b:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_mistyped_kind_is_answered_with_the_near_one() {
        assert_eq!(Kind::parse("latency").unwrap(), Kind::Latency);
        let problem = Kind::parse("latancy").unwrap_err().to_string();
        assert!(problem.contains("did you mean `latency`?"), "{problem}");
    }
}
