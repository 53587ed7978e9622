//! A source of bytes, with the hash of all that was read from it.

use sha2::{Digest, Sha256};
use std::io::{self, Read};

/// See the module.
pub(super) struct Hashed<R> {
    source: R,
    hash: Sha256,
}

impl<R: Read> Hashed<R> {
    pub(super) fn new(source: R) -> Hashed<R> {
        Hashed { source, hash: Sha256::new() }
    }

    /// SHA-256 of all that was read, in hexadecimal.
    pub(super) fn sha256(self) -> String {
        self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}
