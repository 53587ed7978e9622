//! `kind = "gcra"`.

use super::options::{limiter, rate_and_burst};
use super::{Kind, StageSpec};
use crate::limiter::gcra::Gcra;
use crate::section::Section;

pub(super) const KIND: Kind =
    Kind { name: "gcra", about: "spaces calls by a rate, with a burst of tolerance", read };

fn read(s: &mut Section) -> StageSpec {
    let (rate, burst) = rate_and_burst(s);
    limiter(s, Gcra { rate, burst })
}
