//! `kind = "srtcm"` and `kind = "trtcm"`, by the names of their RFCs or by ours.

use super::options::{above_zero, keeping};
use super::{Kind, Page, StageSpec};
use crate::limiter::srtcm::SrTcm;
use crate::limiter::token_bucket::TokenBucket;
use crate::limiter::trtcm::TrTcm;
use crate::section::{Amount, Section, Value};
use crate::units::Rate;

pub(super) const SINGLE_RATE: Kind = Kind {
    name: "srtcm",
    about: "marks green within a burst, yellow within an excess burst, and refuses what is red",
    page: SINGLE_RATE_PAGE,
    read: single_rate,
};

pub(super) const TWO_RATES: Kind = Kind {
    name: "trtcm",
    about: "marks green within one rate, yellow within a peak rate, and refuses what is red",
    page: TWO_RATES_PAGE,
    read: two_rates,
};

const SINGLE_RATE_PAGE: Page = Page {
    question: "Which calls are within the rate, which make use of a quiet time before, and which are too many?",
    formula: "The rate fills bucket C up to burst, and what overflows it fills bucket E up to excess_burst. \
        Green if n ≤ C, which takes n from C; else yellow if n ≤ E, which takes n from E; else red: \
        refused. In a window W no more than burst + excess_burst + rate · W pass.",
    source: "RFC 2697, section 3, colour-blind",
    dialects: &[],
    examples: &[r#"{ kind = "srtcm", rate = "10/s", burst = 20, excess_burst = 10 }"#],
};

const TWO_RATES_PAGE: Page = Page {
    question: "Which calls are within a promised rate, and which are above it but below a peak?",
    formula: "The rate fills bucket C up to burst, peak_rate fills bucket P up to peak_burst. Red if n > P: refused; \
        else n is taken from P, and it is yellow if n > C; else green, and taken from C too. In a window W \
        no more than peak_burst + peak_rate · W pass.",
    source: "RFC 2698, section 3, colour-blind",
    dialects: &[],
    examples: &[r#"{ kind = "trtcm", rate = "5/s", burst = 10, peak_rate = "10/s", peak_burst = 20 }"#],
};

const COMMITTED_RATE: &str = "the committed rate";
const COMMITTED_BURST: &str = "the committed burst: what is green at once";

fn single_rate(s: &mut Section) -> StageSpec {
    let rate = s.need(named(s, "rate", "cir"), COMMITTED_RATE);
    let burst: Amount = s.need(named(s, "burst", "cbs"), COMMITTED_BURST);
    let excess: Amount = s.need(named(s, "excess_burst", "ebs"), "what is yellow at once");
    if burst.0.max(excess.0) == 0 {
        let what = format!("`{}` has two bursts of 0: nothing ever passes", s.path());
        s.problem(named(s, "burst", "cbs"), what, "write 1 or more for one of them");
    }
    keeping(s, SrTcm { rate, burst: burst.0, excess_burst: excess.0 })
}

fn two_rates(s: &mut Section) -> StageSpec {
    let (rate, peak_rate): (Rate, Rate) = (
        s.need(named(s, "rate", "cir"), COMMITTED_RATE),
        s.need(named(s, "peak_rate", "pir"), "the peak rate, at least the committed one"),
    );
    let burst = above_zero(s, named(s, "burst", "cbs"), COMMITTED_BURST);
    let peak_burst = above_zero(s, named(s, "peak_burst", "pbs"), "the peak burst: what passes at once");
    let slower = u128::from(peak_rate.units()) * u128::from(rate.per().0)
        < u128::from(rate.units()) * u128::from(peak_rate.per().0);
    let key = named(s, "peak_rate", "pir");
    if slower && s.has(key) && s.has(named(s, "rate", "cir")) {
        let what = format!("`{}` is less than the committed rate {}", s.path_of(key), rate.show());
        s.problem(key, what, "raise it");
    }
    keeping(
        s,
        TrTcm { committed: TokenBucket::new(rate, burst), peak: TokenBucket::new(peak_rate, peak_burst) },
    )
}

/// Whichever of two names stands in the table.
fn named(s: &Section, ours: &'static str, theirs: &'static str) -> &'static str {
    if s.has(theirs) && !s.has(ours) { theirs } else { ours }
}
