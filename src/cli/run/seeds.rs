//! Seeds as the command takes them: `7`, `1..10` or `1,2,5`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Most seeds of one run.
const MOST: u64 = 1_000_000;
/// The first number that is no seed: readers of CSV files keep all below whole.
const END: u64 = 1 << 53;

/// Seeds in rising order, and as they were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(pub Vec<u64>, String);

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Seeds, String> {
        let mut seeds = Vec::new();
        for part in text.split(',') {
            let (from, to) = part.split_once("..").unwrap_or((part, part));
            let (from, to) = (seed(from)?, seed(to.trim_start_matches('='))?);
            if to < from {
                return Err(format!("`{part}` runs backwards: write `{to}..{from}`"));
            }
            if MOST < to - from + 1 + seeds.len() as u64 {
                return Err(format!("more than {MOST} seeds"));
            }
            seeds.extend(from..=to);
        }
        let mut seen = BTreeSet::new();
        match seeds.iter().find(|seed| !seen.insert(**seed)) {
            Some(twice) => Err(format!("the seed {twice} stands twice")),
            None => {
                seeds.sort_unstable();
                Ok(Seeds(seeds, text.to_string()))
            }
        }
    }
}

fn seed(text: &str) -> Result<u64, String> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let seed = text.parse().ok().filter(|seed| plain && *seed < END);
    seed.ok_or_else(|| format!("`{text}` is no seed: write a whole number from 0 to {}", END - 1))
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_include_both_ends_and_lists_are_put_in_order() {
        let seeds = |text: &str| text.parse::<Seeds>().map(|seeds| seeds.0);
        assert_eq!(seeds("1..4"), Ok(vec![1, 2, 3, 4]));
        assert_eq!(seeds("5,1,2"), Ok(vec![1, 2, 5]));
        assert_eq!(seeds("7"), Ok(vec![7]));
        for wrong in ["", "4..1", "1,1", "-1", "+1", "x", "1..", "9007199254740992", "0..2000000", "1.5"] {
            assert!(seeds(wrong).is_err(), "{wrong}");
        }
    }
}
