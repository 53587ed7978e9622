//! Cells of a row as bytes: whole numbers, fixed decimals, quoted text.
//!
//! Times are whole nanoseconds, so their decimals are exact and cost two divisions. Floats are rounded correctly
//! (to nearest, ties to even, on the float's exact value), which the standard library's formatting does; whole
//! floats, the usual case of a gauge, take a short cut. No number has an exponent; what is undefined is empty.

use std::io::Write as _;

/// The two digits of every number below a hundred.
const PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut i = 0;
    while i < 100 {
        pairs[2 * i] = b'0' + (i / 10) as u8;
        pairs[2 * i + 1] = b'0' + (i % 10) as u8;
        i += 1;
    }
    pairs
};

/// Zeros to copy decimals from.
const ZEROS: &str = ".000000000";

/// Below this every whole number is a float of its own.
const WHOLE_FLOATS: f64 = 9_007_199_254_740_992.0;

/// Rows of cells, growing at the end of one buffer.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    bytes: Vec<u8>,
}

impl Cells {
    /// No cells yet.
    pub fn new() -> Cells {
        Cells::default()
    }

    /// What was written since the last `clear`.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets what was written.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Bytes that are cells already, each with its comma.
    #[inline]
    pub fn raw(&mut self, cells: &[u8]) -> &mut Cells {
        self.bytes.extend_from_slice(cells);
        self
    }

    /// A whole number.
    #[inline]
    pub fn count(&mut self, number: u64) -> &mut Cells {
        self.digits(number);
        self.comma()
    }

    /// A word that needs no quotes: a name of the scenario or of this program.
    #[inline]
    pub fn name(&mut self, name: &str) -> &mut Cells {
        self.bytes.extend_from_slice(name.as_bytes());
        self.comma()
    }

    /// Free text, in quotes if it has a comma, a quote or a line break (RFC 4180).
    pub fn text(&mut self, text: &str) -> &mut Cells {
        if !text.contains([',', '"', '\n', '\r']) {
            return self.name(text);
        }
        self.bytes.push(b'"');
        for byte in text.bytes() {
            if byte == b'"' {
                self.bytes.push(b'"');
            }
            self.bytes.push(byte);
        }
        self.bytes.push(b'"');
        self.comma()
    }

    /// Nothing: undefined.
    #[inline]
    pub fn empty(&mut self) -> &mut Cells {
        self.comma()
    }

    /// Nanoseconds as seconds with nine decimals.
    #[inline]
    pub fn seconds(&mut self, nanos: u64) -> &mut Cells {
        self.digits(nanos / 1_000_000_000);
        let rest = (nanos % 1_000_000_000) as u32;
        let (high, low) = (rest / 1_000, rest % 1_000);
        self.bytes.push(b'.');
        self.six(high);
        self.bytes.push(b'0' + (low / 100) as u8);
        self.pair(low % 100);
        self.comma()
    }

    /// Nanoseconds as milliseconds with six decimals.
    #[inline]
    pub fn millis(&mut self, nanos: u64) -> &mut Cells {
        self.digits(nanos / 1_000_000);
        self.bytes.push(b'.');
        self.six((nanos % 1_000_000) as u32);
        self.comma()
    }

    /// A float with so many decimals, at most nine; empty if it is no number.
    pub fn fixed(&mut self, value: f64, decimals: usize) -> &mut Cells {
        if !value.is_finite() {
            return self.empty();
        }
        if (0.0..WHOLE_FLOATS).contains(&value) && value.trunc() == value {
            self.digits(value as u64);
            self.bytes.extend_from_slice(&ZEROS.as_bytes()[..=decimals]);
            return self.comma();
        }
        let start = self.bytes.len();
        write!(self.bytes, "{value:.decimals$}").expect("a buffer takes every write");
        // A float a hair below zero is zero, not minus zero.
        if self.bytes[start] == b'-' && !self.bytes[start..].iter().any(|b| (b'1'..=b'9').contains(b)) {
            self.bytes.remove(start);
        }
        self.comma()
    }

    /// A ratio, six decimals.
    pub fn ratio(&mut self, value: Option<f64>) -> &mut Cells {
        self.fixed(value.unwrap_or(f64::NAN), 6)
    }

    /// The share of `part` in `whole`, six decimals; undefined without a whole.
    pub fn share(&mut self, part: u64, whole: u64) -> &mut Cells {
        self.ratio((whole > 0).then(|| part as f64 / whole as f64))
    }

    /// An average or a gauge, three decimals.
    pub fn average(&mut self, value: Option<f64>) -> &mut Cells {
        self.fixed(value.unwrap_or(f64::NAN), 3)
    }

    /// A cell that may be undefined.
    #[inline]
    pub fn maybe<T>(
        &mut self,
        value: Option<T>,
        write: impl FnOnce(&mut Cells, T) -> &mut Cells,
    ) -> &mut Cells {
        match value {
            Some(value) => write(self, value),
            None => self.empty(),
        }
    }

    /// Ends the row: the last comma becomes the line's end.
    #[inline]
    pub fn end(&mut self) {
        let last = self.bytes.last_mut().expect("a row has cells");
        debug_assert_eq!(*last, b',');
        *last = b'\n';
    }

    #[inline]
    fn comma(&mut self) -> &mut Cells {
        self.bytes.push(b',');
        self
    }

    #[inline]
    fn pair(&mut self, number: u32) {
        let at = 2 * number as usize;
        self.bytes.extend_from_slice(&PAIRS[at..at + 2]);
    }

    #[inline]
    fn six(&mut self, number: u32) {
        self.pair(number / 10_000);
        self.pair(number / 100 % 100);
        self.pair(number % 100);
    }

    #[inline]
    fn digits(&mut self, mut number: u64) {
        if number < 10 {
            self.bytes.push(b'0' + number as u8);
            return;
        }
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        while number >= 100 {
            let pair = 2 * (number % 100) as usize;
            number /= 100;
            at -= 2;
            digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
        }
        if number >= 10 {
            at -= 2;
            digits[at..at + 2].copy_from_slice(&PAIRS[2 * number as usize..2 * number as usize + 2]);
        } else {
            at -= 1;
            digits[at] = b'0' + number as u8;
        }
        self.bytes.extend_from_slice(&digits[at..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cell(write: impl FnOnce(&mut Cells) -> &mut Cells) -> String {
        let mut cells = Cells::new();
        write(&mut cells).end();
        String::from_utf8(cells.bytes).expect("cells are text").trim_end_matches('\n').to_string()
    }

    #[test]
    fn text_is_quoted_only_where_it_must_be() {
        assert_eq!(cell(|c| c.text("500 ms → 8 s")), "500 ms → 8 s");
        assert_eq!(cell(|c| c.text("a, \"b\"\n")), "\"a, \"\"b\"\"\n\"");
    }

    #[test]
    fn what_is_no_number_is_empty_and_zero_has_no_sign() {
        assert_eq!(cell(|c| c.fixed(f64::NAN, 3)), "");
        assert_eq!(cell(|c| c.fixed(f64::INFINITY, 3)), "");
        assert_eq!(cell(|c| c.fixed(-0.0, 3)), "0.000");
        assert_eq!(cell(|c| c.fixed(-1e-9, 3)), "0.000");
        assert_eq!(cell(|c| c.share(1, 0)), "");
        assert_eq!(cell(|c| c.fixed(1e20, 3)), "100000000000000000000.000");
    }

    proptest! {
        #[test]
        fn whole_numbers_and_times_are_those_of_the_standard_library(number: u64, shift in 0u32..64) {
            let n = number >> shift;
            prop_assert_eq!(cell(|c| c.count(n)), n.to_string());
            prop_assert_eq!(cell(|c| c.seconds(n)), format!("{}.{:09}", n / 1_000_000_000, n % 1_000_000_000));
            prop_assert_eq!(cell(|c| c.millis(n)), format!("{}.{:06}", n / 1_000_000, n % 1_000_000));
        }

        #[test]
        fn floats_are_those_of_the_standard_library(value in 0.0f64..1e12, whole in 0u64..1 << 53) {
            prop_assert_eq!(cell(|c| c.fixed(value, 6)), format!("{value:.6}"));
            prop_assert_eq!(cell(|c| c.fixed(whole as f64, 3)), format!("{whole}.000"));
        }
    }
}
