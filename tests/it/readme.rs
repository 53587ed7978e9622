//! The README: its examples give the output that it shows, and its chart is the one that the project draws.
//!
//! `UPDATE=1 cargo test --test it readme` writes both anew.

use crate::support::{no_faults, trace};
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// The trace as its publisher calls it, and as it is called among the test material.
const TRACE: (&str, &str) = ("AzureLLMInferenceTrace_code.csv", "azure_llm_2023_code.csv");

/// A fenced block: the words after the fence, and the lines within.
struct Block {
    info: Vec<String>,
    line: usize,
    lines: Vec<String>,
}

/// A command of a `console` block, and what is shown under it.
struct Shown {
    line: usize,
    command: String,
    output: String,
}

/// Whether what is found is to replace what is shown.
fn updates() -> bool {
    std::env::var_os("UPDATE").is_some()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for (at, line) in text.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(info) if !inside => {
                let info = info.split_whitespace().map(String::from).collect();
                blocks.push(Block { info, line: at + 1, lines: Vec::new() });
                inside = true;
            }
            Some(_) => inside = false,
            None if inside => blocks.last_mut().expect("one is open").lines.push(line.to_string()),
            None => {}
        }
    }
    blocks
}

fn shown(block: &Block) -> Vec<Shown> {
    let mut commands: Vec<Shown> = Vec::new();
    for (at, line) in block.lines.iter().enumerate() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push(Shown {
                line: block.line + at + 1,
                command: command.to_string(),
                output: String::new(),
            }),
            (None, Some(last)) => last.output += &format!("{line}\n"),
            (None, None) => panic!("README.md:{}: output of no command", block.line + at + 1),
        }
    }
    commands
}

/// Runs a command line with `tidegate` on the path; what it prints, messages among results in their order.
fn output(folder: &Path, command: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_tidegate")).parent().expect("it lies in a folder");
    let rest = std::env::var("PATH").unwrap_or_default();
    let run = Command::new("sh")
        .args(["-c", &format!("{{ {command}; }} 2>&1")])
        .env("PATH", format!("{}:{rest}", program.display()))
        .env_remove("COLUMNS")
        .current_dir(folder)
        .output()
        .expect("there is a shell");
    String::from_utf8(run.stdout).expect("it prints text")
}

#[test]
fn its_examples_print_what_it_shows() {
    let text = fs::read_to_string(root().join("README.md")).expect("there is a README");
    let folder = TempDir::new().expect("a folder");
    let scenarios = folder.path().join("scenarios");
    fs::create_dir(&scenarios).expect("made");
    for file in fs::read_dir(root().join("scenarios")).expect("scenarios") {
        let file = file.expect("an entry");
        fs::copy(file.path(), scenarios.join(file.file_name())).expect("copied");
    }
    let recording = trace(TRACE.1);
    if let Some(recording) = &recording {
        fs::copy(recording, folder.path().join(TRACE.0)).expect("copied");
    }

    let (mut commands, mut faults) = (0, Vec::new());
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    // Lines that were added so far, less those that were taken out.
    let mut moved = 0isize;
    for block in blocks(&text) {
        match block.info.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["console"] => {
                for Shown { line, command, output: expected } in shown(&block) {
                    if recording.is_none() && command.contains("azure.toml") {
                        println!("README.md:{line}: skipped, it needs {}", TRACE.0);
                        continue;
                    }
                    let found = output(folder.path(), &command);
                    if updates() {
                        let first = (line as isize + moved) as usize;
                        let (old, new) =
                            (expected.lines().count(), found.trim_end().lines().map(String::from));
                        moved += new.clone().count() as isize - old as isize;
                        lines.splice(first..first + old, new);
                    } else if found.trim_end() != expected.trim_end() {
                        faults.push(format!(
                            "README.md:{line}: `{command}` prints\n{found}\nand not\n{expected}"
                        ));
                    }
                    commands += 1;
                }
            }
            [_, file] => {
                fs::write(folder.path().join(file), block.lines.join("\n") + "\n").expect("written");
            }
            _ => {}
        }
    }
    assert!(6 <= commands, "{commands} commands were found");
    if updates() {
        fs::write(root().join("README.md"), lines.join("\n") + "\n").expect("written");
    }
    no_faults(faults);
}

#[test]
fn its_chart_is_the_one_that_the_project_draws() {
    let folder = TempDir::new().expect("a folder");
    let dir = folder.path().join("storm");
    let scenario = root().join("scenarios/retry-storm.toml");
    output(folder.path(), &format!("tidegate -q run '{}' -o storm", scenario.display()));
    let drawn = fs::read(dir.join("charts/compare.svg")).expect("it was drawn");
    let place = root().join("docs/img/compare.svg");
    if updates() {
        fs::write(&place, &drawn).expect("written");
    }
    let committed = fs::read(&place).expect("it is committed");
    assert!(
        drawn == committed,
        "docs/img/compare.svg is not charts/compare.svg of scenarios/retry-storm.toml"
    );
    assert!(committed.len() < 150_000);
}

#[test]
fn it_and_the_documents_name_files_that_are_there() {
    let mut faults = Vec::new();
    for (folder, file) in [
        ("", "README.md"),
        ("docs", "scenario.md"),
        ("docs", "limiters.md"),
        ("docs", "queues.md"),
        ("docs", "output.md"),
        ("docs", "architecture.md"),
        ("docs", "development.md"),
    ] {
        let folder = root().join(folder);
        let text = fs::read_to_string(folder.join(file)).expect(file);
        for rest in text.split("](").skip(1) {
            let link = rest.split([')', '#']).next().unwrap_or_default();
            if !link.is_empty() && !link.contains("://") && !folder.join(link).exists() {
                faults.push(format!("{file}: no `{link}`"));
            }
        }
    }
    no_faults(faults);
}
