//! Traffic as files describe it: who calls, and when.

use super::callers::{Size, Tokens, Who, read_features};
use super::directory::Directory;
use super::rate::{self, Profile};
use super::source::Document;
use super::trace::{Call, read_calls, read_instants, read_trace};
use crate::request::Unit;
use crate::section::{At, Section};
use crate::traffic::trace::TraceSpec;

/// Who calls, and when.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Its name.
    pub name: String,
    /// The name of its class.
    pub class: String,
    /// Number of its client; `None` waits for ever and never tries again.
    pub client: Option<usize>,
    /// When calls come.
    pub arrivals: Arrivals,
    /// Tenant of a call; `None` has none.
    pub tenant: Option<Who>,
    /// User of a call; `None` has none.
    pub user: Option<Who>,
    /// Features with the shares of calls that have them; empty for none.
    pub features: Vec<(String, f64)>,
    /// Tokens of a call.
    pub tokens: Tokens,
}

/// When calls come.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// At a rate.
    Rate(Profile),
    /// One by one as listed, in the order of time.
    Calls(Vec<Call>),
    /// As recorded.
    Trace(TraceSpec),
}

/// The class of traffic that names none.
pub const DEFAULT_CLASS: &str = "default";

impl Traffic {
    /// Reads and finishes `[traffic.NAME]`.
    pub fn read(
        name: String,
        mut s: Section,
        files: Option<&Document>,
        classes: &Directory,
        clients: &Directory,
    ) -> Traffic {
        let class = s.get::<At<String>>("class", "class of its calls; `default` unless said");
        match &class {
            Some(class) if class.value != DEFAULT_CLASS => _ = classes.find(class),
            _ => classes.use_if_defined(DEFAULT_CLASS),
        }
        let client: Option<At<String>> =
            s.get("client", "who calls; waits for ever and never retries unless said");
        let traffic = Traffic {
            name,
            class: class.map_or(DEFAULT_CLASS.into(), |class| class.value),
            client: client.and_then(|client| clients.find(&client)),
            arrivals: Arrivals::read(&mut s, files),
            tenant: Who::read(&mut s, "tenant", "tenant of a call; none unless said"),
            user: Who::read(&mut s, "user", "user of a call; none unless said"),
            features: read_features(&mut s),
            tokens: Tokens::read(&mut s, files),
        };
        s.finish();
        traffic
    }

    /// The rate that the file gives it, if it calls at a rate.
    pub fn own_rate(&self) -> Option<crate::units::Rate> {
        if let Arrivals::Rate(profile) = &self.arrivals { Some(profile.rate) } else { None }
    }

    /// What every call costs in `unit` on arrival, if all cost the same.
    pub fn constant_cost(&self, unit: Unit) -> Option<u64> {
        let fixed = |size: &Option<Size>| match size {
            None => Some(0),
            Some(Size::Fixed(count)) => Some(u64::from(*count)),
            Some(Size::Drawn(dist)) if dist.is_constant() => Some(u64::from(dist.count(0))),
            Some(Size::Drawn(_)) => None,
        };
        let max_output =
            if self.tokens.max_output.is_some() { &self.tokens.max_output } else { &self.tokens.output };
        if unit != Unit::Requests && !matches!(self.arrivals, Arrivals::Rate(_)) {
            return None;
        }
        match unit {
            Unit::Requests => Some(1),
            Unit::InputTokens => fixed(&self.tokens.input),
            Unit::OutputTokens => fixed(max_output),
            Unit::Money(price) => {
                let tokens = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
                Some(price.of(tokens(fixed(&self.tokens.input)?), tokens(fixed(max_output)?)))
            }
            Unit::Given => None,
            Unit::Tokens => Some(fixed(&self.tokens.input)? + fixed(max_output)?),
        }
    }
}

impl Arrivals {
    fn read(s: &mut Section, files: Option<&Document>) -> Arrivals {
        let ways = ["rate", "at", "call", "trace"];
        let present: Vec<&str> = ways.into_iter().filter(|way| s.has(way)).collect();
        match present[..] {
            [] if s.is_description() => {}
            [] => {
                let what = format!("`{}` does not say when calls come", s.path());
                s.problem("", what, "add `rate = \"40/s\"`, `at = [\"0s\", …]`, `[[…call]]` or `trace`");
            }
            [_] => {}
            [first, second, ..] => {
                let what = format!("`{}` has both `{first}` and `{second}`", s.path());
                s.problem(second, what, "keep one: split the traffic in two for both");
            }
        }
        let profile = Profile::read(s);
        let (instants, calls, trace) = (read_instants(s), read_calls(s), read_trace(s, files));
        if let (false, Some(key)) = (s.has("rate"), rate::KEYS.into_iter().find(|key| s.has(key)))
            && !present.is_empty()
        {
            let what = format!("`{}` says nothing without a rate", s.path_of(key));
            s.problem(key, what, format!("take it out: `{}` says when calls come", present[0]));
        }
        match present.first() {
            Some(&"trace") => trace.map_or(Arrivals::Calls(Vec::new()), Arrivals::Trace),
            Some(&"at") => Arrivals::Calls(instants),
            Some(&"call") => Arrivals::Calls(calls),
            _ => Arrivals::Rate(profile),
        }
    }
}
