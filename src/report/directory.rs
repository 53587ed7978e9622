//! The directory of a run: it appears whole, or not at all.
//!
//! Everything is written into a staging directory beside the target (`DIR.incomplete`), which carries a marker file
//! and is renamed into place at the end. The marker is held under a lock, so that two runs can't mix their files.
//! A directory that is empty, or holds a run and nothing else, is replaced as a whole; any other is refused before
//! anything is simulated. What a killed run left behind is marked, and the next run into the same place clears it.

use crate::problem::Problem;
use crate::report::run_json;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

/// The file that marks a directory whose run has not been completed.
pub const MARKER: &str = "INCOMPLETE";

/// The marker's first line, by which it is known to be ours.
const MARK: &str = "tidegate: the run in this directory is not complete";

/// Where temporary files lie while the run goes on.
const PARTS: &str = ".parts";

/// Where the directory that is being replaced lies for the blink of an eye.
const REPLACED: &str = ".replaced";

/// Files that only a run writes, beside those that its `run.json` lists.
const OURS: [&str; 6] = ["run.json", MARKER, PARTS, REPLACED, "charts", "report.html"];

/// A run's directory while it is written. Dropped without [`publish`](Self::publish), it leaves nothing behind.
#[derive(Debug)]
pub struct RunDirectory {
    target: PathBuf,
    staging: PathBuf,
    marker: File,
    made_parents: Vec<PathBuf>,
    kept: bool,
}

impl RunDirectory {
    /// Claims `target` for one run, or says why it can't be had. The target itself is not touched yet.
    pub fn claim(target: &Path) -> Result<RunDirectory, Problem> {
        let Some(name) = target.file_name() else {
            return Err(Problem::usage(format!("`{}` is no name of a directory to make", target.display()))
                .remedy("name one that the run may create or replace, such as `-o out`"));
        };
        let target = target.with_file_name(name); // without a trailing slash
        refuse_foreign(&target)?;
        let mut staging_name = OsString::from(name);
        staging_name.push(".incomplete");
        let staging = target.with_file_name(staging_name);
        refuse_foreign(&staging)?;
        let made_parents = make_parents(&target)?;
        let claimed = lock(&staging, &target).map(|marker| RunDirectory {
            target,
            staging,
            marker,
            made_parents,
            kept: false,
        })?;
        claimed.clear().map_err(|error| Problem::io(claimed.staging.display(), "clear", &error))?;
        Ok(claimed)
    }

    /// Where the run's files are to be written.
    pub fn staging(&self) -> &Path {
        &self.staging
    }

    /// Where the files will be in the end.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Where temporary files are to be written; gone in the end.
    pub fn parts(&self) -> PathBuf {
        self.staging.join(PARTS)
    }

    /// Moves the finished files into place, as a whole.
    pub fn publish(mut self) -> Result<(), Problem> {
        let failed = |path: &Path, error| Problem::io(path.display(), "move the run to", &error);
        fs::remove_dir_all(self.parts()).map_err(|error| failed(&self.target, error))?;
        let replaced = self.staging.join(REPLACED);
        let replaces = self.target.exists();
        if replaces {
            fs::rename(&self.target, &replaced).map_err(|error| failed(&self.target, error))?;
        }
        if let Err(error) = fs::rename(&self.staging, &self.target) {
            if replaces {
                // If even this fails, the next run into the same place finds it and puts it back.
                self.kept = fs::rename(&replaced, &self.target).is_err();
            }
            return Err(failed(&self.target, error));
        }
        self.kept = true;
        if replaces {
            let replaced = self.target.join(REPLACED);
            fs::remove_dir_all(&replaced)
                .map_err(|error| Problem::io(replaced.display(), "remove", &error))?;
        }
        let marker = self.target.join(MARKER);
        fs::remove_file(&marker).map_err(|error| Problem::io(marker.display(), "remove", &error))
    }

    /// Keeps what was written, marked as incomplete, and says where: at the target if there was nothing, else beside.
    pub fn keep_incomplete(mut self) -> Result<PathBuf, Problem> {
        self.kept = true;
        let failed = |path: &Path, error| Problem::io(path.display(), "keep the files in", &error);
        fs::remove_dir_all(self.parts()).map_err(|error| failed(&self.staging, error))?;
        // Succeeds if it is there and empty, and then makes room.
        let _ = fs::remove_dir(&self.target);
        if self.target.symlink_metadata().is_ok() {
            return Ok(self.staging.clone());
        }
        fs::rename(&self.staging, &self.target).map_err(|error| failed(&self.target, error))?;
        Ok(self.target.clone())
    }

    /// Empties the staging directory of what an earlier run has left, and marks it.
    fn clear(&self) -> io::Result<()> {
        let replaced = self.staging.join(REPLACED);
        if replaced.is_dir() && self.target.symlink_metadata().is_err() {
            fs::rename(&replaced, &self.target)?;
        }
        for entry in fs::read_dir(&self.staging)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else if entry.file_name() != MARKER {
                fs::remove_file(entry.path())?;
            }
        }
        let mut marker = &self.marker;
        marker.set_len(0)?;
        marker.rewind()?;
        let name = self.target.file_name().unwrap_or_default().to_string_lossy();
        writeln!(
            marker,
            "{MARK}\n\nA run into `{name}` is going on, or was interrupted or killed before its end: files may be\n\
             missing or lack their last rows. Once no run is going on, this directory may be deleted; the next\n\
             run into `{name}` replaces it."
        )?;
        fs::create_dir(self.parts())
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        // Nothing can be done about a failure here; what is left is marked, and the next run clears it.
        let _ = fs::remove_dir_all(&self.staging);
        for parent in &self.made_parents {
            let _ = fs::remove_dir(parent);
        }
    }
}

/// Creates the directories above `target` and returns those that were missing, the innermost first.
fn make_parents(target: &Path) -> Result<Vec<PathBuf>, Problem> {
    let above = target.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
    let missing: Vec<PathBuf> = above.take_while(|path| !path.exists()).map(Path::to_path_buf).collect();
    if let Some(parent) = missing.first() {
        fs::create_dir_all(parent).map_err(|error| Problem::io(parent.display(), "create", &error))?;
    }
    Ok(missing)
}

/// Creates the staging directory, unless it is there, and locks its marker.
fn lock(staging: &Path, target: &Path) -> Result<File, Problem> {
    let path = staging.join(MARKER);
    let failed = |error| Problem::io(path.display(), "create", &error);
    loop {
        match fs::create_dir(staging) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Problem::io(staging.display(), "create", &error));
            }
            _ => {}
        }
        let marker = match OpenOptions::new().write(true).create(true).truncate(false).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue, // moved away meanwhile
            opened => opened.map_err(failed)?,
        };
        match marker.try_lock() {
            Ok(()) if same_file(&marker, &path) => return Ok(marker),
            Ok(()) => {} // the run that held it has ended and moved it away
            Err(TryLockError::WouldBlock) => {
                return Err(busy(target));
            }
            Err(TryLockError::Error(error)) => return Err(Problem::io(path.display(), "lock", &error)),
        }
    }
}

fn busy(target: &Path) -> Problem {
    let what = format!("another run is writing to `{}`", target.display());
    let error = io::Error::new(io::ErrorKind::ResourceBusy, "it is in use");
    Problem { what, ..Problem::io(target.display(), "use", &error) }
        .remedy("wait for it to end, or choose another directory with `-o`")
}

#[cfg(unix)]
fn same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    file.metadata().map(identity).ok() == fs::metadata(path).map(identity).ok()
}

#[cfg(not(unix))]
fn same_file(_file: &File, path: &Path) -> bool {
    path.exists()
}

/// Fails unless `path` is free: nothing, an empty directory, or one that holds a run and nothing else.
fn refuse_foreign(path: &Path) -> Result<(), Problem> {
    let refused = |why: String, remedy: &str| {
        let error = io::Error::new(io::ErrorKind::AlreadyExists, why);
        Err(Problem::io(path.display(), "write a run to", &error).remedy(remedy))
    };
    let other = "choose another directory with `-o`";
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Problem::io(path.display(), "look at", &error)),
        Ok(found) if found.is_symlink() => {
            return refused("it is a symbolic link".into(), "name the directory that it points to");
        }
        Ok(found) if !found.is_dir() => return refused("it is a file".into(), other),
        Ok(_) => {}
    }
    let Some(stranger) = stranger(path).map_err(|error| Problem::io(path.display(), "look into", &error))?
    else {
        return Ok(());
    };
    let why = format!("it holds `{}`, which no run has written", stranger.to_string_lossy());
    refused(why, "choose another directory with `-o`, or move away what is in it")
}

/// The first entry of `directory`, by name, that does not belong to a run.
fn stranger(directory: &Path) -> io::Result<Option<OsString>> {
    let mut names = fs::read_dir(directory)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort();
    let marked = fs::read(directory.join(MARKER)).is_ok_and(|text| text.starts_with(MARK.as_bytes()));
    let listed = run_json::files_of(&directory.join("run.json"));
    if !marked && listed.is_none() {
        return Ok(names.into_iter().next());
    }
    let listed = listed.unwrap_or_default();
    let ours = |name: &OsString| {
        let name = name.to_string_lossy();
        OURS.contains(&&*name) || listed.iter().any(|file| *file == name) || run_json::is_table(&name)
    };
    if let Some(name) = names.into_iter().find(|name| !ours(name)) {
        return Ok(Some(name));
    }
    Ok(strange_chart(&directory.join("charts"))?
        .map(|name| format!("charts/{}", name.to_string_lossy()).into()))
}

/// The first entry of a run's charts, by name, that is no chart.
fn strange_chart(charts: &Path) -> io::Result<Option<OsString>> {
    if !charts.is_dir() {
        return Ok(None);
    }
    let mut strange = Vec::new();
    for entry in fs::read_dir(charts)? {
        let entry = entry?;
        let chart = Path::new(&entry.file_name()).extension().is_some_and(|end| end == "svg" || end == "png");
        if !chart || !entry.file_type()?.is_file() {
            strange.push(entry.file_name());
        }
    }
    Ok(strange.into_iter().min())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch() -> tempfile::TempDir {
        tempfile::tempdir().expect("a directory")
    }

    fn run_into(target: &Path, text: &str) -> Result<(), Problem> {
        let directory = RunDirectory::claim(target)?;
        fs::write(directory.staging().join("run.json"), run_json::tests::smallest()).expect("written");
        fs::write(directory.staging().join("timeline.csv"), text).expect("written");
        directory.publish()
    }

    fn names(path: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(path)
            .expect("a directory")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_run_appears_whole_and_replaces_the_one_before() {
        let scratch = scratch();
        let target = scratch.path().join("a/b/out");
        run_into(&target, "first").expect("free");
        run_into(&target, "second").expect("a run is replaced");
        assert_eq!(names(&target), ["run.json", "timeline.csv"]);
        assert_eq!(names(&scratch.path().join("a/b")), ["out"]);
        assert_eq!(fs::read_to_string(target.join("timeline.csv")).expect("there"), "second");
    }

    #[test]
    fn what_is_not_a_run_is_refused_and_stays() {
        let scratch = scratch();
        let target = scratch.path().join("out");
        fs::create_dir(&target).expect("made");
        run_into(&target, "into an empty one").expect("an empty directory is free");
        fs::write(target.join("notes.txt"), "mine").expect("written");
        let refusal = run_into(&target, "again").expect_err("it holds notes");
        assert_eq!(refusal.kind, crate::problem::Kind::Io);
        assert!(refusal.what.contains("notes.txt"), "{refusal}");
        let file = target.join("notes.txt");
        assert!(run_into(&file, "a file").expect_err("a file").what.contains("it is a file"));
        assert_eq!(names(scratch.path()), ["out"]);
    }

    #[test]
    fn a_second_run_into_the_same_place_is_refused_while_the_first_goes_on() {
        let scratch = scratch();
        let target = scratch.path().join("out");
        let first = RunDirectory::claim(&target).expect("free");
        let second = RunDirectory::claim(&target).expect_err("in use");
        assert!(second.what.contains("another run"), "{second}");
        assert!(first.parts().is_dir(), "the first is left alone");
        first.publish().expect("it can end");
        assert_eq!(names(scratch.path()), ["out"]);
    }

    #[test]
    fn a_dropped_run_leaves_the_old_one_and_no_trace() {
        let scratch = scratch();
        let target = scratch.path().join("out");
        run_into(&target, "old").expect("free");
        drop(RunDirectory::claim(&target).expect("a run may be replaced"));
        drop(RunDirectory::claim(&scratch.path().join("x/y/z")).expect("free"));
        assert_eq!(names(scratch.path()), ["out"]);
        assert_eq!(fs::read_to_string(target.join("timeline.csv")).expect("there"), "old");
    }

    #[test]
    fn an_interrupted_run_is_kept_marked_where_it_does_no_harm() {
        let scratch = scratch();
        let target = scratch.path().join("out");
        let kept = RunDirectory::claim(&target).expect("free").keep_incomplete().expect("kept");
        assert_eq!(kept, target);
        assert_eq!(names(&target), [MARKER]);
        run_into(&target, "whole").expect("an incomplete run is replaced");
        let kept = RunDirectory::claim(&target).expect("free").keep_incomplete().expect("kept");
        assert_eq!(kept, scratch.path().join("out.incomplete"));
        assert_eq!(fs::read_to_string(target.join("timeline.csv")).expect("there"), "whole");
        run_into(&target, "next").expect("the next run takes over what was left");
        assert_eq!(names(scratch.path()), ["out"]);
    }

    #[test]
    #[cfg(unix)]
    fn a_link_is_refused() {
        let scratch = scratch();
        std::os::unix::fs::symlink("elsewhere", scratch.path().join("out")).expect("linked");
        let refusal = run_into(&scratch.path().join("out"), "text").expect_err("a link");
        assert!(refusal.what.contains("symbolic link"), "{refusal}");
    }
}
