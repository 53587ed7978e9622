//! The records of a CSV file as they lie in its bytes.
//!
//! Nearly every line is plain: no quotes, no control characters, ended by LF or CRLF. Its fields are found in one look
//! at its bytes and stay where they are. Any other record is read by `csv_core`, whose rules hold for all.

use csv_core::ReadRecordResult;
use std::io::{self, Read};
use std::ops::Range;

/// Bytes that are read at a time.
const PIECE: usize = 1 << 17;

/// What a byte means for a plain line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// Part of a field.
    Text,
    /// Part of a field, and not ASCII.
    Wide,
    Comma,
    LineFeed,
    /// Only before a line feed.
    Return,
    /// In no plain line.
    Unusual,
}

const SORTS: [Sort; 256] = {
    let mut sorts = [Sort::Text; 256];
    let mut byte = 0;
    while byte < 256 {
        sorts[byte] = match byte as u8 {
            b',' => Sort::Comma,
            b'\n' => Sort::LineFeed,
            b'\r' => Sort::Return,
            b'\t' => Sort::Text,
            b'"' | 0..32 | 127 => Sort::Unusual,
            128.. => Sort::Wide,
            _ => Sort::Text,
        };
        byte += 1;
    }
    sorts
};

/// A CSV file, read up to some record.
pub struct Records<R> {
    source: R,
    /// What was read and not yet used: `buffer[at..filled]`.
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    /// Whether the source has ended.
    ended: bool,
    core: csv_core::Reader,
    /// The text of a record that is not plain.
    unusual: Vec<u8>,
    /// The fields of the record, in the buffer or in `unusual`.
    fields: Vec<Range<usize>>,
    shape: Shape,
    line_feeds: u64,
    /// The line on which the record begins, from 1.
    pub line: u64,
}

/// What is known of the bytes of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Plain and ASCII.
    Ascii,
    /// Plain, but what is not ASCII was not looked at.
    Wide,
    /// Anything.
    Unusual,
}

impl<R: Read> Records<R> {
    /// The records of a source, which may begin with a byte order mark.
    pub fn new(source: R) -> io::Result<Records<R>> {
        let mut records = Records {
            source,
            buffer: vec![0; PIECE],
            at: 0,
            filled: 0,
            ended: false,
            core: csv_core::Reader::new(),
            unusual: Vec::new(),
            fields: Vec::new(),
            shape: Shape::Unusual,
            line_feeds: 0,
            line: 1,
        };
        while records.filled < 3 && !records.ended {
            records.read_more()?;
        }
        if records.buffer[..records.filled].starts_with(b"\xef\xbb\xbf") {
            records.at = 3;
        }
        Ok(records)
    }

    /// Goes on to the next record; false at the end.
    pub fn next(&mut self) -> io::Result<bool> {
        // Blank lines are no records.
        loop {
            match self.buffer[self.at..self.filled].first() {
                Some(b'\n') => self.line_feeds += 1,
                Some(b'\r') => {}
                Some(_) => break,
                None if self.ended => return Ok(false),
                None => {
                    self.read_more()?;
                    continue;
                }
            }
            self.at += 1;
        }
        self.line = 1 + self.line_feeds;
        loop {
            match self.scan() {
                Some(true) => return Ok(true),
                Some(false) => return self.read_unusual(),
                None if self.ended => return self.read_unusual(),
                None => self.read_more()?,
            }
        }
    }

    /// Finds the fields of a plain line; false if it isn't plain, nothing if its end has not been read.
    fn scan(&mut self) -> Option<bool> {
        self.fields.clear();
        let bytes = &self.buffer[self.at..self.filled];
        let (mut from, mut at, mut shape) = (0, 0, Shape::Ascii);
        let length = loop {
            at += bytes[at..].iter().position(|byte| SORTS[*byte as usize] != Sort::Text)?;
            match SORTS[bytes[at] as usize] {
                Sort::Comma => {
                    self.fields.push(self.at + from..self.at + at);
                    from = at + 1;
                }
                Sort::LineFeed => break at + 1,
                Sort::Return if *bytes.get(at + 1)? == b'\n' => break at + 2,
                Sort::Return | Sort::Unusual => return Some(false),
                Sort::Wide => shape = Shape::Wide,
                Sort::Text => {}
            }
            at += 1;
        };
        self.fields.push(self.at + from..self.at + at);
        self.line_feeds += 1;
        self.shape = shape;
        self.at += length;
        Some(true)
    }

    /// Reads a record of any kind.
    fn read_unusual(&mut self) -> io::Result<bool> {
        self.unusual.resize(self.unusual.len().max(1 << 10), 0);
        let mut ends = vec![0; 1 << 8];
        let (mut written, mut fields) = (0, 0);
        loop {
            if self.at == self.filled && !self.ended {
                self.read_more()?;
            }
            let input = &self.buffer[self.at..self.filled];
            let (result, used, wrote, ended) =
                self.core.read_record(input, &mut self.unusual[written..], &mut ends[fields..]);
            self.line_feeds += input[..used].iter().filter(|byte| **byte == b'\n').count() as u64;
            self.at += used;
            (written, fields) = (written + wrote, fields + ended);
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.unusual.resize(2 * self.unusual.len(), 0),
                ReadRecordResult::OutputEndsFull => ends.resize(2 * ends.len(), 0),
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return Ok(false),
            }
        }
        let starts = [0].into_iter().chain(ends.iter().copied());
        self.fields.clear();
        self.fields.extend(starts.zip(ends.iter().copied()).take(fields).map(|(start, end)| start..end));
        self.shape = Shape::Unusual;
        Ok(true)
    }

    /// Reads more behind what is there.
    fn read_more(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.at..self.filled, 0);
        (self.at, self.filled) = (0, self.filled - self.at);
        if self.filled == self.buffer.len() {
            self.buffer.resize(2 * self.filled, 0);
        }
        let read = loop {
            match self.source.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.filled += read;
        self.ended = read == 0;
        Ok(())
    }

    /// How many fields the record has.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// What is known of its bytes.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// A field of the record.
    #[inline]
    pub fn field(&self, index: usize) -> Option<&[u8]> {
        let bytes = if self.shape == Shape::Unusual { &self.unusual } else { &self.buffer };
        bytes.get(self.fields.get(index)?.clone())
    }

    /// All fields of the record.
    pub fn fields(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.fields.len()).filter_map(|index| self.field(index))
    }

    /// What it read from.
    pub fn into_source(self) -> R {
        self.source
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Hands out its bytes by a few.
    struct Drops<'a>(&'a [u8], usize);

    impl Read for Drops<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = self.1.min(buffer.len());
            self.0.read(&mut buffer[..most])
        }
    }

    fn records(text: &[u8], drop: usize) -> Vec<Vec<Vec<u8>>> {
        let mut records = Records::new(Drops(text, drop)).unwrap();
        let mut all = Vec::new();
        while records.next().unwrap() {
            all.push(records.fields().map(<[u8]>::to_vec).collect());
        }
        all
    }

    fn by_the_csv_crate(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let mut reader = csv::ReaderBuilder::new().flexible(true).has_headers(false).from_reader(text);
        reader.byte_records().map(|row| row.unwrap().iter().map(<[u8]>::to_vec).collect()).collect()
    }

    #[test]
    fn a_record_begins_on_the_line_of_its_first_byte() {
        let text = b"a\n\n\"b\nc\"\r\n\r\nd\r\n\"e\"\nf";
        let mut records = Records::new(&text[..]).unwrap();
        let mut lines = Vec::new();
        while records.next().unwrap() {
            lines.push(records.line);
        }
        assert_eq!(lines, [1, 3, 6, 7, 8]);
    }

    #[test]
    fn lines_longer_than_what_is_read_at_a_time_are_whole() {
        let long = "x".repeat(3 * PIECE);
        let text = format!("a,{long}\nb,\"{long}\"\n");
        let lengths: Vec<usize> = records(text.as_bytes(), PIECE).iter().map(|row| row[1].len()).collect();
        assert_eq!(lengths, [3 * PIECE; 2]);
    }

    proptest! {
        #[test]
        fn records_are_those_of_the_csv_crate(text in "[ab,,\"\n\n\r\t€]{0,60}", drop in 1usize..70) {
            prop_assert_eq!(records(text.as_bytes(), drop), by_the_csv_crate(text.as_bytes()), "{:?}", text);
        }
    }
}
