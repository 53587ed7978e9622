//! Whether a run's files are what the run wrote, and whether they agree with each other.

mod accounts;
mod graph;

use crate::problem::Problem;
use crate::report::csv::weigh;
use crate::report::directory::MARKER;
use crate::report::run_json::RunJson;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;

pub use accounts::check_accounts;

/// Compares the length and the hash of every listed file, and names each that differs.
pub fn check_files(dir: &Path, run: &RunJson) -> Vec<Problem> {
    let mut problems = Vec::new();
    if run.incomplete || dir.join(MARKER).exists() {
        let what =
            format!("the run in `{}` was not completed: its files lack their last rows", dir.display());
        problems.push(Problem::not_reproducible(what).remedy("run it again"));
    }
    for written in &run.outputs {
        let path = dir.join(&written.file);
        let wrong = match weigh_regular(&path) {
            Ok((bytes, _)) if bytes != written.bytes => {
                format!("has {bytes} bytes, and the run wrote {}", written.bytes)
            }
            Ok((_, sha256)) if sha256 != written.sha256 => {
                "is not what the run wrote: its SHA-256 differs".into()
            }
            Ok(_) => continue,
            Err(error) if error.kind() == io::ErrorKind::NotFound => "is missing".into(),
            Err(error) => format!("can't be read: {error}"),
        };
        problems.push(Problem::not_reproducible(format!("`{}` {wrong}", written.file)));
    }
    problems
}

fn weigh_regular(path: &Path) -> io::Result<(u64, String)> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    weigh(path)
}

/// The first line, from 1, in which two files differ; `None` if they are the same.
pub fn first_difference(left: &Path, right: &Path) -> io::Result<Option<usize>> {
    let (mut left, mut right) = (BufReader::new(File::open(left)?), BufReader::new(File::open(right)?));
    let (mut one, mut other) = (Vec::new(), Vec::new());
    for line in 1.. {
        one.clear();
        other.clear();
        let read = (left.read_until(b'\n', &mut one)?, right.read_until(b'\n', &mut other)?);
        if one != other {
            return Ok(Some(line));
        }
        if read == (0, 0) {
            break;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_differing_line_is_found_even_at_the_end() {
        let dir = tempfile::tempdir().expect("a directory");
        let write = |name: &str, text: &str| {
            fs::write(dir.path().join(name), text).expect("written");
            dir.path().join(name)
        };
        let whole = write("whole", "a\nb\nc\n");
        for (name, text, line) in [
            ("same", "a\nb\nc\n", None),
            ("edited", "a\nB\nc\n", Some(2)),
            ("cut", "a\nb\n", Some(3)),
            ("no-end", "a\nb\nc", Some(3)),
        ] {
            assert_eq!(first_difference(&whole, &write(name, text)).expect("readable"), line, "{name}");
        }
    }
}
