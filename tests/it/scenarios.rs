//! The scenarios that ship: right without a warning, and the recording among them is the one that can be made again.

use crate::support::no_faults;
use std::fs;
use std::path::Path;
use tidegate::scenario::Scenario;
use tidegate::scenario::build::Prepared;
use tidegate::scenario::source::Document;

#[allow(dead_code)]
#[path = "../../examples/make_trace.rs"]
mod make_trace;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

#[test]
fn each_is_right_without_a_warning_and_compares_policies() {
    let (mut count, mut faults) = (0, Vec::new());
    for entry in fs::read_dir(folder()).expect("scenarios") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        count += 1;
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let document = Document::open(&path).unwrap_or_else(|problems| panic!("{problems}"));
        let (scenario, warnings) = Scenario::read(&document).unwrap_or_else(|problems| panic!("{problems}"));
        faults.extend(warnings.iter().map(ToString::to_string));
        if scenario.name != name || scenario.policies.len() < 2 {
            faults.push(format!(
                "{name}: is called `{}`, {} policies",
                scenario.name,
                scenario.policies.len()
            ));
        }
        Prepared::new(scenario).unwrap_or_else(|problems| panic!("{problems}"));
    }
    assert!(5 <= count);
    no_faults(faults);
}

#[test]
fn the_recording_is_made_again_byte_for_byte() {
    let committed = fs::read_to_string(folder().join("replay.csv")).expect("text");
    assert!(make_trace::trace().expect("its numbers are right") == committed);
    assert!(committed.len() < 60_000);
}

#[test]
fn each_gives_the_summary_that_was_looked_at() {
    for name in [
        "burst",
        "heavy-background",
        "queue-overload",
        "replay",
        "retry-storm",
        "shared-slots",
        "slow-downstream",
        "token-memory",
    ] {
        let output = tempfile::tempdir().expect("a folder");
        let run = output.path().join("run");
        let scenario = folder().join(format!("{name}.toml"));
        assert_cmd::Command::cargo_bin("tidegate")
            .expect("the command")
            .arg("run")
            .arg(scenario)
            .args(["--charts", "none", "-q", "-o"])
            .arg(&run)
            .assert()
            .success();
        let summary = fs::read_to_string(run.join("summary.csv")).expect("a summary");
        // The run's own name changes with every word of the file; the numbers should not.
        let numbers: Vec<&str> =
            summary.lines().filter_map(|line| line.split_once(',')).map(|(_, rest)| rest).collect();
        insta::assert_snapshot!(format!("summary_{name}"), numbers.join("\n"));
    }
}
