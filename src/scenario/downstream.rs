//! Downstreams as files describe them.

use super::dist;
use super::graph::{Hop, Scope};
use super::source::Document;
use super::stage;
use super::stage::bounds::within;
use crate::downstream::service::Service;
use crate::request::Knob;
use crate::section::{Either, Limit, Section, Share};
use crate::time::Nanos;

/// A downstream with slots.
#[derive(Clone, Debug)]
pub struct Downstream {
    /// Its name.
    pub name: String,
    /// The most that it works on at once; `None` is unlimited.
    pub concurrency: Option<u64>,
    /// How many it lets in beyond that, to wait inside; `None` is unlimited.
    pub backlog: Option<u64>,
    /// Whether work of higher priority takes the slots of work of lower priority.
    pub preempts: bool,
    /// How long work takes.
    pub service_time: Service,
    /// How much longer work takes for each that is worked on when it starts, as a share.
    pub load_factor: f64,
    /// Share of attempts that fail.
    pub error_rate: f64,
    /// Whether a slowdown also applies to work that runs when it begins or ends.
    pub stretch_running: bool,
    /// What it refuses by itself, as a provider of models does.
    pub quota: Option<stage::Limit>,
    /// What stands before it whoever calls, and what its work calls.
    pub hop: Hop,
}

impl Downstream {
    /// Reads and finishes `[downstream.NAME]`.
    pub fn read(name: String, mut s: Section, files: Option<&Document>, scope: &Scope) -> Downstream {
        s.one_of("kind", &[("slots", ())], Some(()), "which downstream");
        let concurrency: Limit = s.need("concurrency", "how many it works on at once");
        if concurrency == Limit(Some(0)) {
            let what = format!("`{}` is 0: nothing would ever start", s.path_of("concurrency"));
            s.problem("concurrency", what, "write 1 or more, or `unlimited`");
        }
        let backlog = s.get_or(
            "backlog",
            Limit(Some(0)),
            "how many it lets in beyond that, to wait inside: as the policy sees it they have started",
        );
        let preempts = s.get_or(
            "preempt",
            false,
            "whether work of a class of higher priority takes the slot of lower work, which goes on later",
        );
        let service_time = read_service(&mut s, files);
        let load_factor: f64 = s.get_or(
            "load_factor",
            0.0,
            "how much longer work takes, as a share, for each that is worked on when it starts, itself included",
        );
        within(&mut s, "load_factor", load_factor, 0.0, 1e6);
        let error_rate: Share =
            s.get_or("error_rate", Share(0.0), "share of attempts that fail at their end");
        let words = [("started", false), ("running", true)];
        let stretch_running = s.one_of(
            "applies_to",
            &words,
            Some(false),
            "what a slowdown applies to: work started while it lasts, or running work too",
        );
        if preempts && stretch_running {
            let what = format!("`{}` pauses work, which a slowdown of running work can't reach", s.path());
            s.problem("applies_to", what, "write `applies_to = \"started\"`, or take `preempt` out");
        }
        if preempts && backlog == Limit(Some(0)) && !s.is_description() {
            let what = format!("`{}` has no backlog in which what is paused could wait", s.path());
            s.problem("preempt", what, "add `backlog = \"unlimited\"`, or a number");
        }
        let quota = s.section("quota", "what it refuses by itself, as a provider of models does");
        let quota = quota.and_then(stage::Limit::read_quota);
        let hop = Hop::read(&mut s, files, scope);
        if preempts && !hop.calls.is_empty() && !s.is_description() {
            let what = format!("`{}` pauses work, which can't wait for calls then", s.path());
            s.problem("preempt", what, "take `preempt` or `calls` out");
        }
        s.finish();
        Downstream {
            name,
            concurrency: concurrency.0,
            backlog: backlog.0,
            preempts,
            service_time,
            load_factor,
            error_rate: error_rate.0,
            stretch_running,
            quota,
            hop,
        }
    }

    /// The keys that an event may change.
    pub const CHANGEABLE: [&'static str; 4] = ["slowdown", "concurrency", "error_rate", "outage"];

    /// What holds for a key that an event may change, when no event does.
    pub fn own(&self, key: &str) -> Option<Knob> {
        Some(match key {
            "slowdown" => Knob::Slowdown(1.0),
            "concurrency" => Knob::Concurrency(self.concurrency),
            "error_rate" => Knob::ErrorRate(self.error_rate),
            "outage" => Knob::Outage(false),
            _ => return None,
        })
    }
}

/// Reads `service_time`: a length, a distribution, or a base and times per token.
fn read_service(s: &mut Section, files: Option<&Document>) -> Service {
    const DOC: &str = "how long work takes: a length, a distribution, or a base and times per token";
    match s.either::<Nanos>("service_time", DOC) {
        Some(Either::Table(table)) => read_service_table(table, files),
        Some(Either::Value(length)) => Service::Drawn(dist::constant(length.0 as f64)),
        None => {
            if !s.has("service_time") {
                let what = format!("`{}` lacks `service_time`", s.path());
                s.problem("", what, "add `service_time = …`: a length such as `500ms`, or a distribution");
            }
            Service::Drawn(dist::constant(0.0))
        }
    }
}

fn read_service_table(mut s: Section, files: Option<&Document>) -> Service {
    let describing = s.is_description();
    let per_token = ["base", "per_input_token", "per_output_token"].iter().any(|key| s.has(key));
    let mut service = Service::Drawn(dist::constant(0.0));
    if per_token || describing {
        service = Service::PerToken {
            base: s.get_or("base", Nanos::ZERO, "time of any call"),
            per_input: s.get_or("per_input_token", Nanos::ZERO, "time per token sent"),
            per_output: s.get_or("per_output_token", Nanos::ZERO, "time per token of the answer"),
        };
    }
    if !per_token {
        service = Service::Drawn(dist::read::<Nanos>(&mut s, files));
    }
    s.finish();
    service
}
