//! `kind = "leaky_meter"`.

use super::options::{RATE, keeping};
use super::{Kind, StageSpec};
use crate::limiter::leaky_meter::LeakyMeter;
use crate::limiter::nginx::Nginx;
use crate::section::{Amount, Section};
use crate::units::{MAX_AMOUNT, Rate};

pub(super) const KIND: Kind = Kind {
    name: "leaky_meter",
    about: "lets pass what drains at a rate; delays an excess, and refuses one above a burst",
    read,
};

#[derive(Clone, Copy, PartialEq)]
enum Dialect {
    Nginx,
    Exact,
}

fn read(s: &mut Section) -> StageSpec {
    let dialects = [("nginx", Dialect::Nginx), ("exact", Dialect::Exact)];
    let dialect = s.one_of("dialect", &dialects, Some(Dialect::Nginx), "whose arithmetic");
    let rate: Rate = s.need("rate", RATE);
    let Amount(burst) = s.get_or("burst", Amount(0), "how many may be in excess");
    if burst == MAX_AMOUNT {
        s.problem(
            "burst",
            format!("`{}` leaves no room for the one that is served", s.path_of("burst")),
            "write one less",
        );
    }
    let burst = burst.min(MAX_AMOUNT - 1);
    let Amount(delay) = s.get_or("delay", Amount(0), "how many in excess start at once");
    let nodelay = s.get_or("nodelay", false, "whether all that pass start at once");
    if nodelay && s.has("delay") {
        let what = format!("`{}` is given beside `nodelay`", s.path_of("delay"));
        s.problem("delay", what, "take one out");
    }
    let delay = (!nodelay).then_some(delay);
    if dialect == Dialect::Exact {
        return keeping(s, LeakyMeter::new(rate, burst, delay));
    }
    let nginx = Nginx::new(rate, burst, delay).unwrap_or_else(|| {
        let what = format!(
            "`{}` is out of nginx's range: it drains thousandths of a request per second",
            s.path_of("rate")
        );
        s.problem("rate", what, "write from `1/1000s` on, or `dialect = \"exact\"`");
        let least: Rate = crate::section::Value::dummy();
        Nginx::new(least, burst, delay).expect("one per second is in range")
    });
    keeping(s, nginx)
}
