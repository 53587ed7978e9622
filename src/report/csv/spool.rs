//! Rows of one job on their way to a file that many jobs share.
//!
//! Jobs run side by side, but a file's rows stand in the order of the jobs. So each job fills spools of its own, and
//! they are poured into the file when its turn has come. A spool keeps up to [`KEPT`] bytes in memory and lets the
//! rest be set aside in a temporary file, so memory is bounded whatever the length of the run.

use super::cells::Cells;
use crate::problem::Problem;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// Bytes of a spool that stay in memory.
pub const KEPT: usize = 1 << 20;

/// Rows, in memory up to [`KEPT`] and in a file beyond.
#[derive(Debug)]
pub struct Spool {
    cells: Cells,
    rows: u64,
    path: PathBuf,
    file: Option<File>,
}

impl Spool {
    /// An empty spool; `path` is where it may make its temporary file.
    pub fn new(path: PathBuf) -> Spool {
        Spool { cells: Cells::new(), rows: 0, path, file: None }
    }

    /// Where the next row is written, to be followed by [`Spool::end_row`].
    #[inline]
    pub fn row(&mut self) -> &mut Cells {
        &mut self.cells
    }

    /// Ends the row that was written.
    #[inline]
    pub fn end_row(&mut self) {
        self.cells.end();
        self.rows += 1;
    }

    /// Whether it holds as much in memory as it should.
    #[inline]
    pub fn is_full(&self) -> bool {
        KEPT <= self.cells.bytes().len()
    }

    /// Rows that it holds.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Moves what is in memory into the temporary file.
    pub fn set_aside(&mut self) -> Result<(), Problem> {
        let failed = |path: &PathBuf, error| Problem::io(path.display(), "write", &error);
        if self.file.is_none() {
            let opened = OpenOptions::new().read(true).write(true).create_new(true).open(&self.path);
            self.file = Some(opened.map_err(|error| failed(&self.path, error))?);
        }
        let file = self.file.as_mut().expect("opened above");
        file.write_all(self.cells.bytes()).map_err(|error| failed(&self.path, error))?;
        self.cells.clear();
        Ok(())
    }

    /// Hands all rows to `take`, in order, in pieces of any size, and is empty afterwards.
    pub fn pour(&mut self, mut take: impl FnMut(&[u8]) -> Result<(), Problem>) -> Result<(), Problem> {
        if let Some(file) = &mut self.file {
            let failed = |error: io::Error| Problem::io(self.path.display(), "read", &error);
            file.seek(SeekFrom::Start(0)).map_err(failed)?;
            let mut piece = vec![0; KEPT / 4];
            loop {
                match file.read(&mut piece).map_err(failed)? {
                    0 => break,
                    filled => take(&piece[..filled])?,
                }
            }
        }
        take(self.cells.bytes())?;
        self.cells.clear();
        self.remove_file();
        self.rows = 0;
        Ok(())
    }

    fn remove_file(&mut self) {
        if self.file.take().is_some() {
            // What is left behind goes with the directory that it lies in.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The temporary file goes with the spool.
impl Drop for Spool {
    fn drop(&mut self) {
        self.remove_file();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_in_order_from_memory_and_file_and_nothing_is_left() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("rows.part");
        let mut spool = Spool::new(path.clone());
        let row = [b'x'; 999];
        for number in 0..5_000 {
            spool.row().count(number).raw(&row).raw(b",");
            spool.end_row();
            if spool.is_full() {
                spool.set_aside().expect("room on the disk");
            }
        }
        assert!(path.exists(), "five megabytes do not fit the memory");
        let (mut all, rows) = (Vec::new(), spool.rows());
        spool
            .pour(|piece| {
                all.extend_from_slice(piece);
                Ok(())
            })
            .expect("it can be read");
        assert_eq!(spool.rows(), 0);
        let text = String::from_utf8(all).expect("text");
        assert_eq!(rows, 5_000);
        assert!(text.lines().enumerate().all(|(i, line)| line.starts_with(&format!("{i},x"))));
        assert_eq!(text.lines().count(), 5_000);
        assert!(!path.exists());
    }
}
