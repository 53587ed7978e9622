//! A file of a run while it is written, and what is known of it afterwards.

use super::spool::Spool;
use crate::problem::Problem;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A file that a run has written, as `run.json` lists it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// Its name below the run's directory, with `/`.
    pub file: String,
    /// Rows below the header, of a CSV file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Its length.
    pub bytes: u64,
    /// Its hash, in lower-case hexadecimal.
    pub sha256: String,
}

/// A CSV file being written.
#[derive(Debug)]
pub struct Output {
    name: String,
    path: PathBuf,
    file: File,
    sha256: Sha256,
    rows: u64,
    bytes: u64,
}

impl Output {
    /// Creates the file `name` in `dir` with its header.
    pub fn create(dir: &Path, name: &str, header: &str) -> Result<Output, Problem> {
        let path = dir.join(name);
        let file = File::create_new(&path).map_err(|error| Problem::io(path.display(), "create", &error))?;
        let mut output = Output { name: name.into(), path, file, sha256: Sha256::new(), rows: 0, bytes: 0 };
        output.write(format!("{header}\n").as_bytes())?;
        Ok(output)
    }

    /// Appends the rows of a spool, which is empty afterwards.
    pub fn append(&mut self, spool: &mut Spool) -> Result<(), Problem> {
        self.rows += spool.rows();
        spool.pour(|piece| self.write(piece))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.file.write_all(bytes).map_err(|error| Problem::io(self.path.display(), "write", &error))?;
        self.sha256.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// What was written.
    pub fn finish(self) -> Written {
        Written {
            file: self.name,
            rows: Some(self.rows),
            bytes: self.bytes,
            sha256: hex(&self.sha256.finalize()),
        }
    }
}

/// The length and the hash of a file that lies on the disk.
pub fn weigh(path: &Path) -> io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    let (mut sha256, mut bytes, mut piece) = (Sha256::new(), 0, vec![0; 1 << 18]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok((bytes, hex(&sha256.finalize()))),
            filled => {
                sha256.update(&piece[..filled]);
                bytes += filled as u64;
            }
        }
    }
}

/// Bytes in lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(b"0123456789abcdef"[digit as usize]))
        .collect()
}
