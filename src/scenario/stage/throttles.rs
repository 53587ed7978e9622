//! `kind = "adaptive_throttle"` and `"envoy_admission_control"`: shares of calls that come back well.

use super::admission::stage;
use super::bounds::within;
use super::{Kind, Page, StageSpec};
use crate::admission::throttle::{Formula, Settings};
use crate::scenario::client::not_zero;
use crate::section::{Section, Share};
use crate::time::Nanos;
use crate::units::Rate;

pub(super) const ADAPTIVE: Kind = Kind {
    name: "adaptive_throttle",
    about: "turns away at the door a share of calls that grows as fewer come back well",
    page: Page {
        question: "How much may callers send to a service that refuses or fails?",
        formula: "sre: p = max(0, (requests − k · accepts) / (requests + 1)), of all requests as they come; failsafe: p = \
            min(max_rejection, max(0, (n − s / threshold) / (n + 1))), of those let through.",
        source: "Site Reliability Engineering, 2016, equation 21.1; Failsafe-go, `adaptivethrottler.go`",
        dialects: &[
            (
                "sre",
                "two minutes; what is turned away counts as a request; about k times what is accepted gets through",
            ),
            ("failsafe", "one minute; what is turned away does not count; 90 % at most"),
        ],
        examples: &[],
    },
    read: read_adaptive,
};

pub(super) const ENVOY: Kind = Kind {
    name: "envoy_admission_control",
    about: "turns away a share of calls that grows as the success rate falls below a threshold",
    page: Page {
        question: "How much may come in while less than 95 % succeeds?",
        formula: "p = min(max_rejection, max(0, (n − s / threshold) / (n + 1))^(1 / aggression)), compared in ten \
            thousandths, of those let through that have ended in the window; none below rps_threshold.",
        source: "Envoy, `admission_control.cc`, API v3 `AdmissionControl`",
        dialects: &[
            ("envoy", "as it is"),
            ("v3alpha", "as it began: p = (n − aggression · s) / (n + 1), with an aggression of 2"),
        ],
        examples: &[],
    },
    read: read_envoy,
};

const WINDOW: &str = "how long calls count, in whole seconds";
const MOST: &str = "the largest share that is turned away";
const GOOD: &str = "the share of calls that is good enough";

fn window(s: &mut Section, usual: u64) -> Nanos {
    let window = s.get_or("window", Nanos::secs(usual), WINDOW);
    not_zero(s, "window", Some(window));
    let whole = window.0.is_multiple_of(1_000_000_000) && window <= Nanos::secs(86_400);
    if !whole && !s.is_description() {
        let what = format!("`{}` is no whole number of seconds up to a day", s.path_of("window"));
        s.problem("window", what, "write whole seconds, such as `30s`");
    }
    Nanos(window.0.max(1))
}

fn threshold(s: &mut Section, usual: f64) -> f64 {
    let Share(threshold) = s.get_or("threshold", Share(usual), GOOD);
    if threshold == 0.0 {
        s.problem("threshold", format!("`{}` is 0", s.path_of("threshold")), "write a share above 0");
    }
    threshold
}

#[derive(Clone, Copy, PartialEq)]
enum Dialect {
    Sre,
    Failsafe,
}

fn read_adaptive(s: &mut Section) -> StageSpec {
    let words = [("sre", Dialect::Sre), ("failsafe", Dialect::Failsafe)];
    let dialect = s.one_of("dialect", &words, Some(Dialect::Sre), "whose formula");
    let is_sre = dialect == Dialect::Sre;
    let window = window(s, if is_sre { 120 } else { 60 });
    let mut formula = Formula::Sre { k: 2.0 };
    if is_sre || s.is_description() {
        let k = s.get_or("k", 2.0, "so many times what is accepted is let through");
        formula = Formula::Sre { k: within(s, "k", k, 1.0, 1e6) };
    }
    if !is_sre || s.is_description() {
        let threshold = threshold(s, 0.9);
        if !is_sre {
            formula = Formula::Failsafe { threshold };
        }
    }
    let Share(max_rejection) = s.get_or("max_rejection", Share(if is_sre { 1.0 } else { 0.9 }), MOST);
    stage(s, Settings { formula, window, max_rejection })
}

fn read_envoy(s: &mut Section) -> StageSpec {
    let dialect = s.one_of("dialect", &[("envoy", true), ("v3alpha", false)], Some(true), "which formula");
    let window = window(s, 30);
    let aggression =
        s.get_or("aggression", if dialect { 1.0 } else { 2.0 }, "the larger, the more are turned away");
    within(s, "aggression", aggression, 1.0, 1e6);
    let mut formula = Formula::EnvoyAlpha { aggression };
    if dialect || s.is_description() {
        let threshold = threshold(s, 0.95);
        let rate: Option<Rate> = s.get("rps_threshold", "below this rate none is turned away");
        let rps_threshold = rate.map_or(0.0, |rate| rate.units() as f64 / rate.per().0 as f64 * 1e9);
        formula = Formula::Envoy { threshold, aggression, rps_threshold };
    }
    let Share(max_rejection) = s.get_or("max_rejection", Share(if dialect { 0.8 } else { 1.0 }), MOST);
    stage(s, Settings { formula, window, max_rejection })
}
