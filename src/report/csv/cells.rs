//! Cells of a row as bytes: whole numbers, fixed decimals, quoted text.
//!
//! Times are whole nanoseconds, so their decimals are exact and cost two divisions. Floats are rounded correctly
//! (to nearest, ties to even, on the float's exact value), which the standard library's formatting does; whole
//! floats, the usual case of a gauge, take a short cut. No number has an exponent; what is undefined is empty.

use std::io::Write as _;

/// The two digits of every number below a hundred.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut i = 0;
    while i < 100 {
        pairs[i] = [b'0' + (i / 10) as u8, b'0' + (i % 10) as u8];
        i += 1;
    }
    pairs
};

/// The most digits of a whole number.
const DIGITS: usize = 20;

/// Zeros to copy decimals from.
const ZEROS: &str = "000000000";

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
        self.digits(number, b',');
        self
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
        self.digits(nanos / 1_000_000_000, b'.');
        let rest = (nanos % 1_000_000_000) as u32;
        let [a, b, c, d] = [rest / 10_000_000, rest / 100_000, rest / 1_000, rest / 10].map(pair);
        let last = b'0' + (rest % 10) as u8;
        self.bytes.extend_from_slice(&[a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1], last, b',']);
        self
    }

    /// Nanoseconds as milliseconds with six decimals.
    #[inline]
    pub fn millis(&mut self, nanos: u64) -> &mut Cells {
        self.digits(nanos / 1_000_000, b'.');
        let rest = (nanos % 1_000_000) as u32;
        let [a, b, c] = [rest / 10_000, rest / 100, rest].map(pair);
        self.bytes.extend_from_slice(&[a[0], a[1], b[0], b[1], c[0], c[1], b',']);
        self
    }

    /// A float with so many decimals, at most nine; empty if it is no number.
    pub fn fixed(&mut self, value: f64, decimals: usize) -> &mut Cells {
        if !value.is_finite() {
            return self.empty();
        }
        if (0.0..WHOLE_FLOATS).contains(&value) && value.trunc() == value {
            self.digits(value as u64, b'.');
            self.bytes.extend_from_slice(&ZEROS.as_bytes()[..decimals]);
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

    /// A whole number and the byte that ends it.
    #[inline]
    fn digits(&mut self, mut number: u64, end: u8) {
        if number < 10 {
            return self.bytes.extend_from_slice(&[b'0' + number as u8, end]);
        }
        // From the last digit to the first, then copied as a piece of fixed length, of which the rest is cut off.
        let mut digits = [0; 2 * DIGITS + 1];
        digits[DIGITS] = end;
        let mut at = DIGITS;
        while 10 <= number {
            at -= 2;
            let [high, low] = PAIRS[(number % 100) as usize];
            (digits[at], digits[at + 1]) = (high, low);
            number /= 100;
        }
        if 0 < number {
            at -= 1;
            digits[at] = b'0' + number as u8;
        }
        let length = self.bytes.len() + DIGITS + 1 - at;
        self.bytes.extend_from_slice(&digits[at..][..=DIGITS]);
        self.bytes.truncate(length);
    }
}

/// The last two digits of a number.
#[inline]
fn pair(number: u32) -> [u8; 2] {
    PAIRS[(number % 100) as usize]
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
