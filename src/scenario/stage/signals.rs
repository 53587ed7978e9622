//! Shedders by a signal: `"queue_delay"`, `"utilization_shedder"`, `"dagor"`, `"overload_manager"` and `"pid_shedder"`.

use super::admission::stage;
use super::bounds::{in_order, within};
use super::options::keys;
use super::{Kind, Page, StageSpec};
use crate::admission::overload_manager::{self, Resource, Trigger};
use crate::admission::pid_shedder::{self, Law};
use crate::admission::sessions::Sessions;
use crate::admission::{dagor, queue_delay, utilization_shedder};
use crate::request::Key;
use crate::scenario::client::not_zero;
use crate::section::{Section, Share};
use crate::time::Nanos;

pub(super) const QUEUE_DELAY: Kind = Kind {
    name: "queue_delay",
    about: "sheds while the first in the queue has waited too long",
    page: Page {
        question: "How long a wait is a sign that no more should be let in?",
        formula: "Shed if the queueing delay > threshold − step · (highest priority − its own).",
        source: "B. Cho and others, Breakwater, OSDI 2020, its active queue management; M. Welsh, SEDA, 2001",
        dialects: &[],
        examples: &[],
    },
    read: |s| {
        let threshold = s.need("threshold", "the longest wait that is put up with");
        let step = s.get_or("step", Nanos::ZERO, "so much less for each priority below the highest");
        stage(s, queue_delay::Settings { threshold, step })
    },
};

pub(super) const UTILIZATION: Kind = Kind {
    name: "utilization_shedder",
    about: "sheds classes from the least important on while the downstream stays busy",
    page: Page {
        question: "Which traffic goes first when the workers are busy, and when does it come back?",
        formula: "Every `interval`: busy > shed_above sheds one tier of priorities more, busy < restore_below one less; the \
            highest is never shed.",
        source: "P. Tarjan, Scaling your API with rate limiters (Stripe), 2017",
        dialects: &[],
        examples: &[],
    },
    read: |s| {
        let interval = s.get_or("interval", Nanos::SECOND, "how often it looks");
        not_zero(s, "interval", Some(interval));
        let Share(shed_above) =
            s.get_or("shed_above", Share(0.9), "above this share of busy slots it sheds more");
        let Share(restore_below) =
            s.get_or("restore_below", Share(0.7), "below this share of busy slots it sheds less");
        in_order(s, ("restore_below", restore_below), ("shed_above", shed_above));
        let interval = interval.max(Nanos(1));
        stage(s, utilization_shedder::Settings { interval, shed_above, restore_below })
    },
};

pub(super) const DAGOR: Kind = Kind {
    name: "dagor",
    about: "sheds by priorities of business and user, at a level that follows the queueing time",
    page: Page {
        question: "Who is shed first, so that a user's calls get through together or not at all?",
        formula: "A window of 1 s or 2,000 calls is overloaded if what started had waited more than `threshold` on average; \
            then admitted · (1 − alpha) are to come in next, else admitted · (1 + beta); the level (tier, user) moves \
            through the window's histogram until they would. Users have 128 levels, by a hash of user and hour. With \
            `callers` each of them hears the level with its answers, and turns away by it before it calls.",
        source: "H. Zhou and others, Overload Control for Scaling WeChat Microservices, SoCC 2018",
        dialects: &[],
        examples: &[],
    },
    read: |s| {
        let window = s.get_or("window", Nanos::SECOND, "the longest window");
        not_zero(s, "window", Some(window));
        let requests = s.get_or("requests", 2000u64, "the most that come in a window");
        within(s, "requests", requests, 1, 1 << 32);
        let threshold = s.get_or("threshold", Nanos::millis(20), "above this mean wait it is overloaded");
        let Share(alpha) = s.get_or("alpha", Share(0.05), "the share let in less after an overloaded window");
        let Share(beta) = s.get_or("beta", Share(0.01), "the share let in more after another");
        let callers: Option<u64> = s.get(
            "callers",
            "how many callers hear the level with each answer; it is told to nobody unless said",
        );
        let callers = callers.map(|count| within(s, "callers", count, 1, 1 << 20));
        let key = keys(s).unwrap_or(Key::Tenant.into());
        let callers = callers.map(|count| Sessions { count: count.clamp(1, 1 << 20), key });
        stage(s, dagor::Settings { window: window.max(Nanos(1)), requests, threshold, alpha, beta, callers })
    },
};

pub(super) const OVERLOAD_MANAGER: Kind = Kind {
    name: "overload_manager",
    about: "sheds with a probability that follows the pressure of a resource",
    page: Page {
        question: "From which pressure on is how much turned away?",
        formula: "Every `refresh_interval`: state = 1 if pressure ≥ threshold; or (pressure − scaling_threshold) / \
            (saturation_threshold − scaling_threshold) within [0, 1]; shed with that probability. The pressure is \
            modelled: `busy` is busy slots over all, `waiting` what waits over `max_waiting`.",
        source: "Envoy, `overload_manager_impl.cc`, API v3 `OverloadManager`",
        dialects: &[],
        examples: &[],
    },
    read: read_manager,
};

pub(super) const PID: Kind = Kind {
    name: "pid_shedder",
    about: "turns away a share that a PID controller moves after an error",
    page: Page {
        question: "Which share has to go so that failures, delay or use stay where they should be?",
        formula: "semian: rejection += kp · P + ki · Σ P dt + kd · ΔP / dt, P = δ − (1 − δ) · rejection, δ the failures above \
            a smoothed baseline. plain: rejection = kp · e + ki · Σ e dt + kd · Δe / dt, e = signal / target − 1; the sum \
            stands still while the output is held at a bound.",
        source: "Semian, `pid_controller.rb`; K. Åström, R. Murray, Feedback Systems, 2008",
        dialects: &[
            (
                "semian",
                "failures, each second over ten; kp 1, ki 0.2, kd 0; the whole output is added at each tick",
            ),
            ("plain", "the queueing delay or the share of busy slots; the output is the share"),
        ],
        examples: &[],
    },
    read: read_pid,
};

fn read_manager(s: &mut Section) -> StageSpec {
    let refresh_interval = s.get_or("refresh_interval", Nanos::SECOND, "how often the pressure is read");
    not_zero(s, "refresh_interval", Some(refresh_interval));
    let words = [("busy", false), ("waiting", true)];
    let waiting = s.one_of("resource", &words, Some(false), "what is under pressure");
    let most: Option<u64> = s.get("max_waiting", "so many waiting are the whole; for `waiting`");
    if waiting && most.unwrap_or(0) == 0 && !s.is_description() {
        let what = format!("`{}` lacks `max_waiting`", s.path());
        s.problem("max_waiting", what, "say how many waiting are the whole, 1 or more");
    }
    let threshold: Option<Share> = s.get("threshold", "all are shed from this pressure on");
    let scaling: Option<Share> = s.get("scaling_threshold", "none is shed up to this pressure");
    let saturation: Option<Share> =
        s.get("saturation_threshold", "all are shed from this pressure on, scaled");
    let trigger = match (threshold, scaling, saturation) {
        (Some(Share(threshold)), None, None) => Trigger::Threshold(threshold),
        (None, Some(Share(scaling)), Some(Share(saturation))) if scaling < saturation => {
            Trigger::Scaled(scaling, saturation)
        }
        _ => {
            if !s.is_description() {
                let what = format!("`{}` has no trigger that can be meant", s.path());
                let remedy = "write `threshold`, or `scaling_threshold` and a larger `saturation_threshold`";
                s.problem("kind", what, remedy);
            }
            Trigger::Threshold(1.0)
        }
    };
    let resource =
        if waiting { Resource::Waiting { most: most.unwrap_or(1).max(1) } } else { Resource::Busy };
    let refresh_interval = refresh_interval.max(Nanos(1));
    stage(s, overload_manager::Settings { refresh_interval, resource, trigger })
}

fn read_pid(s: &mut Section) -> StageSpec {
    let semian = s.one_of("dialect", &[("semian", true), ("plain", false)], Some(true), "whose controller");
    let interval = s.get_or("interval", Nanos::SECOND, "how often it moves");
    not_zero(s, "interval", Some(interval));
    let gain = |s: &mut Section, key: &str, usual: f64, doc: &'static str| {
        let gain = s.get_or(key, usual, doc);
        within(s, key, gain, 0.0, 1e6)
    };
    let kp = gain(s, "kp", if semian { 1.0 } else { 0.2 }, "the gain of the error");
    let ki = gain(s, "ki", if semian { 0.2 } else { 0.1 }, "the gain of its sum");
    let kd = gain(s, "kd", 0.0, "the gain of its change");
    let mut law = Law::Semian { window: Nanos::secs(10), dead_zone: 0.25 };
    if semian || s.is_description() {
        let window = s.get_or("window", Nanos::secs(10), "how long what has ended counts");
        not_zero(s, "window", Some(window));
        let Share(dead_zone) = s.get_or("dead_zone", Share(0.25), "so much above the baseline is no error");
        law = Law::Semian { window: window.max(interval), dead_zone };
    }
    if !semian || s.is_description() {
        let delay: Option<Nanos> = s.get("target_delay", "the queueing delay that is aimed at");
        let busy: Option<Share> = s.get("target_utilization", "the share of busy slots that is aimed at");
        let Share(max_rejection) =
            s.get_or("max_rejection", Share(1.0), "the largest share that is turned away");
        law = match (delay, busy) {
            (Some(target), None) if 0 < target.0 => Law::Delay { target, max_rejection },
            (None, Some(Share(target))) if 0.0 < target => Law::Utilization { target, max_rejection },
            _ => {
                if !s.is_description() {
                    let what = format!("`{}` has no target, or two", s.path());
                    s.problem("kind", what, "write `target_delay` or `target_utilization`, above 0");
                }
                law
            }
        };
    }
    stage(s, pid_shedder::Settings { interval: interval.max(Nanos(1)), kp, ki, kd, law })
}
