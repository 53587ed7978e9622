//! `kind = "leaky_meter"`.

use super::options::{RATE, keeping};
use super::{Kind, Page, StageSpec};
use crate::limiter::leaky_meter::LeakyMeter;
use crate::limiter::nginx::Nginx;
use crate::section::{Amount, Section};
use crate::units::{MAX_AMOUNT, Rate};

pub(super) const KIND: Kind = Kind {
    name: "leaky_meter",
    about: "lets pass what drains at a rate; delays an excess, and refuses one above a burst",
    page: PAGE,
    read,
};

const PAGE: Page = Page {
    question: "How far above the rate may calls come, and which of them have to slow down for it?",
    formula: "e ← max(0, e − rate · Δ + 1) + n − 1; the first ask of an idle meter is no excess. Refused if e \
        would be above burst; starts (e − delay) / rate later if e is above delay. In a window W no more \
        than burst + 1 + rate · W start.",
    source: "nginx, `ngx_http_limit_req_module.c`",
    dialects: &[
        (
            "nginx",
            "whole milliseconds and thousandths of a request; what drains and the delay are cut to whole ones",
        ),
        ("exact", "whole credits to the nanosecond; the limit of finer and finer clocks"),
    ],
    examples: &[
        r#"{ kind = "leaky_meter", rate = "10/s" }"#,
        r#"{ kind = "leaky_meter", rate = "10/s", burst = 20 }"#,
        r#"{ kind = "leaky_meter", rate = "10/s", burst = 20, delay = 8 }"#,
        r#"{ kind = "leaky_meter", rate = "10/s", burst = 20, nodelay = true }"#,
        r#"{ kind = "leaky_meter", rate = "10/s", burst = 20, nodelay = true, dialect = "exact" }"#,
    ],
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
