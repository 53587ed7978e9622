//! `kind = "token_bucket"`.

use super::options::{limiter, rate_and_burst};
use super::{Kind, StageSpec};
use crate::limiter::token_bucket::TokenBucket;
use crate::section::{Amount, Section};

pub(super) const KIND: Kind = Kind {
    name: "token_bucket",
    about: "passes what its bucket holds; the bucket gains a rate up to a burst",
    read,
};

fn read(s: &mut Section) -> StageSpec {
    let (rate, burst) = rate_and_burst(s);
    let initial: Option<Amount> =
        s.get("initial", "what the bucket holds at the start; the burst unless said");
    let initial = initial.map_or(burst, |initial| initial.0);
    if burst < initial {
        let what = format!("`{}` is more than the burst of {burst}", s.path_of("initial"));
        s.problem("initial", what, "lower it, or take it out to start with a full bucket");
    }
    limiter(s, TokenBucket { rate, burst, initial })
}
