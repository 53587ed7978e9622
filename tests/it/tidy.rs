//! Holds the tree to its rules: layers, sizes, what may be printed, what may lie in it.

use crate::support::no_faults;
use std::fs;
use std::path::{Path, PathBuf};
use tidegate::scenario::{queue, stage};

/// From below to above: each module may use those of earlier lines, and its own.
const LAYERS: &[&[&str]] = &[
    &["time"],
    &["units", "math", "rng", "gauge", "doubling"],
    &["dist"],
    &["request", "problem"],
    &["section", "table", "records"],
    &["traffic", "client", "limiter", "admission", "queue", "downstream"],
    &["observe"],
    &["engine"],
    &["scenario"],
    &["study"],
    &["report"],
    &["cli"],
];

/// Files of more than this many lines should be two.
const MOST_LINES: usize = 400;

/// Longer files, with the lines they may have and the reason. Shorten, don't lengthen.
const LONG_FILES: &[(&str, usize, &str)] = &[];

/// The largest file that may be committed: recordings belong elsewhere.
const MOST_BYTES: u64 = 200_000;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below a folder of the tree, with its path from the root, in order. Build products are left out.
fn files(folder: &str) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(root()).expect("it is below").to_string_lossy().replace('\\', "/");
            if [".git", "target", "output"].contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() { folders.push(path) } else { found.push((name, path)) }
        }
    }
    found.sort();
    found
}

/// A source file without its tests.
struct Source {
    name: String,
    text: String,
    lines: usize,
}

fn sources() -> Vec<Source> {
    let all: Vec<(String, String)> = files("src")
        .into_iter()
        .filter(|(name, _)| name.ends_with(".rs"))
        .map(|(name, path)| (name, fs::read_to_string(path).expect("text")))
        .collect();
    let is_test_module = |name: &str| {
        let (folder, file) = name.rsplit_once('/').expect("a folder");
        let declared = format!("#[cfg(test)]\nmod {};", file.trim_end_matches(".rs"));
        let parents = [format!("{folder}.rs"), format!("{folder}/lib.rs")];
        all.iter().any(|(name, text)| parents.contains(name) && text.contains(&declared))
    };
    let source = |(name, text): &(String, String)| Source {
        name: name.clone(),
        text: text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().to_string(),
        lines: text.lines().count(),
    };
    all.iter().filter(|(name, _)| !is_test_module(name)).map(source).collect()
}

/// Lines of code with their numbers: comments are left out.
fn code(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    source.text.lines().enumerate().map(|(at, line)| (at + 1, line)).filter(|(_, line)| !is_comment(line))
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// The modules of this package that a text names after `crate::`.
fn used(text: &str) -> Vec<String> {
    let ident =
        |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("").to_string();
    let mut found = Vec::new();
    for rest in text.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            None => found.push(ident(rest)),
            Some(group) => {
                let (mut depth, mut starts) = (0, true);
                for (at, c) in group.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => starts = true,
                        c if starts && c.is_alphabetic() => {
                            found.push(ident(&group[at..]));
                            starts = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    found
}

#[test]
fn the_reader_of_uses_sees_groups_and_paths() {
    let text = "use crate::time::SimTime;\nuse crate::{math, units::{Rate, parse}, rng};\nlet x = crate::dist::one();";
    assert_eq!(used(text), ["time", "math", "units", "rng", "dist"]);
}

#[test]
fn each_layer_uses_only_what_lies_below_it() {
    let layer = |module: &str| LAYERS.iter().position(|layer| layer.contains(&module));
    let mut faults = Vec::new();
    for source in sources() {
        let module = source.name["src/".len()..].split('/').next().expect("a name").trim_end_matches(".rs");
        if ["lib", "main"].contains(&module) {
            continue;
        }
        let Some(own) = layer(module) else {
            faults.push(format!("{}: module `{module}` has no layer in tests/it/tidy.rs", source.name));
            continue;
        };
        for other in code(&source).flat_map(|(_, line)| used(line)).chain(used(&source.text)) {
            let allowed = other == module || layer(&other).is_none_or(|other| other < own);
            if !allowed {
                faults.push(format!("{}: `{module}` may not use `{other}`", source.name));
            }
        }
    }
    faults.dedup();
    no_faults(faults);
}

#[test]
fn no_source_is_too_long_to_be_read_in_a_sitting() {
    let mut faults = Vec::new();
    let sources = sources();
    for Source { name, lines, .. } in &sources {
        let allowed =
            LONG_FILES.iter().find(|(long, ..)| long == name).map_or(MOST_LINES, |(_, most, _)| *most);
        if allowed < *lines {
            faults.push(format!("{name}: {lines} lines, {allowed} allowed: make two of it"));
        }
    }
    for (name, ..) in LONG_FILES {
        match sources.iter().find(|source| source.name == *name) {
            Some(source) if source.lines <= MOST_LINES => {
                faults.push(format!("{name}: short enough now, take it off the list"))
            }
            Some(_) => {}
            None => faults.push(format!("{name}: no such file, take it off the list")),
        }
    }
    no_faults(faults);
}

#[test]
fn nothing_unwraps_but_tests_and_nothing_prints_but_the_command() {
    let mut faults = Vec::new();
    for source in sources() {
        let prints = source.name.starts_with("src/cli") || source.name == "src/main.rs";
        for (line, text) in code(&source) {
            let place = format!("{}:{line}", source.name);
            if text.contains(".unwrap()") {
                faults.push(format!("{place}: unwrap: say with `expect` why it can't be"));
            }
            if !prints && ["println!", "eprintln!", "print!(", "dbg!("].iter().any(|word| text.contains(word))
            {
                faults.push(format!("{place}: the library never prints"));
            }
        }
    }
    no_faults(faults);
}

#[test]
fn nothing_is_left_to_do_and_no_path_of_one_machine_is_named() {
    // Put together, so that this file does not name them.
    let words = [["TO", "DO"].concat(), ["FIX", "ME"].concat(), ["XX", "X "].concat()];
    let paths = [["/wo", "rk/"].concat(), ["/ho", "me/"].concat(), ["/Use", "rs/"].concat()];
    let mut faults = Vec::new();
    for (name, path) in files("") {
        if name == "Cargo.lock" {
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for (at, line) in text.lines().enumerate() {
            for word in words.iter().filter(|_| name.ends_with(".rs")).chain(&paths) {
                if line.contains(word.as_str()) {
                    faults.push(format!("{name}:{}: {}", at + 1, word.trim()));
                }
            }
        }
    }
    no_faults(faults);
}

#[test]
fn no_recording_lies_in_the_tree() {
    let large = |(name, path): (String, PathBuf)| {
        let bytes = fs::metadata(path).expect("it is there").len();
        (MOST_BYTES < bytes).then(|| format!("{name}: {bytes} bytes"))
    };
    no_faults(files("").into_iter().filter_map(large));
}

#[test]
fn each_scenario_begins_with_the_question_it_answers() {
    let mut faults = Vec::new();
    for (name, path) in files("scenarios").into_iter().filter(|(name, _)| name.ends_with(".toml")) {
        let text = fs::read_to_string(path).expect("text");
        let first = text.lines().next().unwrap_or_default();
        if !(first.starts_with("# ") && first.trim_end().ends_with('?')) {
            faults.push(format!("{name}: its first line is no question: `{first}`"));
        }
    }
    no_faults(faults);
}

#[test]
fn each_kind_of_the_registry_is_in_the_documents() {
    let documents: String = files("docs")
        .into_iter()
        .filter(|(name, _)| name.ends_with(".md"))
        .map(|(_, path)| fs::read_to_string(path).expect("text"))
        .collect();
    let kinds = stage::KINDS.iter().map(|kind| kind.name).chain(queue::KINDS.iter().map(|kind| kind.name));
    let lacking = kinds.filter(|kind| !documents.contains(&format!("\"{kind}\"")));
    no_faults(lacking.map(|kind| format!("docs: nothing about the kind \"{kind}\"")));
}
