//! Overload control that begins at the clients: `"breakwater"` and `"seda"`; and a check at the door, `"authenticate"`.

use super::admission::stage;
use super::bounds::within;
use super::options::{PerSecond, keys};
use super::{Kind, Page, StageSpec};
use crate::admission::sessions::Sessions;
use crate::admission::{authenticate, breakwater, seda};
use crate::request::Key;
use crate::scenario::client::not_zero;
use crate::section::{Section, Share};
use crate::time::Nanos;

pub(super) const BREAKWATER: Kind = Kind {
    name: "breakwater",
    about: "hands out credits by the queueing delay; clients call only with one",
    page: Page {
        question: "How few calls may be on their way, so that a server is busy and nobody waits long?",
        formula: "Every `rtt`: delay ≥ target → credits · max(1 − b · (delay − target) / target, 1/2); else credits + a · \
            sessions. A session may have as many calls out as it has credits, which each answer sets anew: what it has out \
            and wants, and its part of what is left. What arrives at twice the target's delay is dropped. Calls without \
            a credit are given up at once.",
        source: "I. Cho and others, Overload Control for µs-scale RPCs with Breakwater, OSDI 2020",
        dialects: &[],
        examples: &[],
    },
    read: read_breakwater,
};

pub(super) const SEDA: Kind = Kind {
    name: "seda",
    about: "paces each client at a rate that follows the tail of its response times",
    page: Page {
        question: "What do clients let through that see nothing but their own response times?",
        formula: "After 100 responses or `timeout`: cur ← 0.7 · cur + 0.3 · p99, err = cur / target − 1; err > 0 → rate / 1.1; \
            err < −1/2 → rate − (err + 0.1) · increase. A bucket of four for each client.",
        source: "M. Welsh, D. Culler, Adaptive Overload Control for Busy Internet Servers, USITS 2003; Breakwater's \
            `sd_client.c`",
        dialects: &[],
        examples: &[],
    },
    read: read_seda,
};

pub(super) const AUTHENTICATE: Kind = Kind {
    name: "authenticate",
    about: "refuses a share of the calls at the door, at a small cost for each",
    page: Page {
        question: "What does it spare the rest that some calls are refused first?",
        formula: "A call is refused with probability `share`, by its own luck, so that all its attempts are. The gauge `busy` \
            is calls · cost over time: processors that checking keeps busy.",
        source: "a model of this project's own",
        dialects: &[],
        examples: &[],
    },
    read: read_authenticate,
};

fn read_sessions(s: &mut Section) -> Sessions {
    let key = keys(s).unwrap_or(Key::User.into());
    let count = s.get_or("sessions", 100u64, "clients over which calls are spread, by `key` or one by one");
    Sessions { count: within(s, "sessions", count, 1, 1 << 20).clamp(1, 1 << 20), key }
}

fn length(s: &mut Section, key: &str, usual: Nanos, doc: &'static str) -> Nanos {
    let length = s.get_or(key, usual, doc);
    not_zero(s, key, Some(length));
    length.max(Nanos(1))
}

fn read_breakwater(s: &mut Section) -> StageSpec {
    let sessions = read_sessions(s);
    let rtt = length(s, "rtt", Nanos(10_000), "how often the delay is looked at");
    let target = length(s, "target", Nanos(80_000), "the queueing delay that is aimed at");
    let a = s.get_or("a", 0.001, "credits gained for each session while the delay is short");
    within(s, "a", a, 0.0, 64.0);
    let b = s.get_or("b", 0.02, "how strongly credits are taken back");
    within(s, "b", b, 0.0, 1e6);
    stage(s, breakwater::Settings { sessions, rtt, target, a, b })
}

fn read_seda(s: &mut Section) -> StageSpec {
    let sessions = read_sessions(s);
    let target = length(s, "target", Nanos(80_000), "the response time that is aimed at, of 99 in 100");
    let responses = s.get_or("responses", 100u64, "so many responses make a sample");
    within(s, "responses", responses, 1, 100_000);
    let timeout = length(s, "timeout", Nanos::millis(1), "so long after the last sample fewer do");
    let PerSecond(least) = s.get_or("least", PerSecond(2.0), "the least rate of a client");
    if !(0.0 < least && least <= 1e9) {
        s.problem("least", format!("`{}` paces nobody", s.path_of("least")), "write a rate such as `2/s`");
    }
    let increase = s.get_or("increase", 4.0, "how fast rates rise, in calls per second and unit of error");
    within(s, "increase", increase, 0.0, 1e9);
    let responses = responses.clamp(1, 100_000);
    stage(s, seda::Settings { sessions, target, responses, timeout, least, increase })
}

fn read_authenticate(s: &mut Section) -> StageSpec {
    let Share(share) = s.need("share", "the share of calls that are refused");
    let cost = s.get_or("cost", Nanos::millis(1), "what a check takes of a processor");
    stage(s, authenticate::Settings { share, cost })
}
