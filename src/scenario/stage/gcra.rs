//! `kind = "gcra"`.

use super::options::{BURST, RATE, above_zero, limiter};
use super::{Kind, Page, StageSpec};
use crate::limiter::gcra::Gcra;
use crate::scenario::client::not_zero;
use crate::section::{Amount, Section};
use crate::time::Nanos;
use crate::units::MAX_AMOUNT;

pub(super) const KIND: Kind =
    Kind { name: "gcra", about: "spaces calls by a rate, with a burst of tolerance", page: PAGE, read };

const PAGE: Page = Page {
    question: "Do calls keep their spacing, but for a few that come early?",
    formula: "T = 1 / rate, τ = T · (burst − 1), TAT the theoretical arrival time. An ask of n passes if TAT + T \
        · (n − 1) − τ ≤ now; then TAT ← max(TAT, now) + T · n. In a window W no more than burst + rate · W \
        pass: it decides as a token bucket that starts full. With interval_resolution T is rounded to a multiple \
        of it, half up; one that rounds to nothing limits nothing.",
    source: "ITU-T I.371, annex A, virtual scheduling; `max_burst` as redis-cell counts it",
    dialects: &[],
    examples: &[r#"{ kind = "gcra", rate = "10/s", burst = 20 }"#],
};

fn read(s: &mut Section) -> StageSpec {
    let rate = s.need("rate", RATE);
    // Redis-cell's name, which leaves out the one that is always there.
    let beyond: Option<Amount> = s.get("max_burst", "another name of `burst`, one less");
    let burst = match beyond {
        None => above_zero(s, "burst", BURST),
        Some(Amount(beyond)) => {
            if s.has("burst") {
                s.skip("burst");
                s.problem(
                    "max_burst",
                    format!("`{}` is given beside `burst`", s.path_of("max_burst")),
                    "take one out",
                );
            }
            if beyond == MAX_AMOUNT {
                s.problem(
                    "max_burst",
                    format!("`{}` is the largest amount and one", s.path_of("max_burst")),
                    "write one less",
                );
            }
            beyond.saturating_add(1).min(MAX_AMOUNT)
        }
    };
    let resolution =
        s.get("interval_resolution", "what the gap between cells is rounded to; exact unless said");
    not_zero(s, "interval_resolution", resolution);
    match resolution.filter(|resolution| *resolution != Nanos::ZERO) {
        None => limiter(s, Gcra::new(rate, burst)),
        Some(resolution) => {
            let rounded = Gcra::rounded(rate, burst, resolution);
            if rounded.vanishes {
                let what = format!("the gap of `{}` rounds to nothing: it never limits", s.path());
                s.warning(
                    "interval_resolution",
                    what,
                    "this is what such a store does; take it out for the exact rate",
                );
            }
            limiter(s, rounded)
        }
    }
}
