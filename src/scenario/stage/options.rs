//! The keys that every limiter has: what is charged, for whom, and what is wrapped around it; and those that several
//! have.

use super::{Limit, StageSpec, deployment, overrides, retry_after};
use crate::limiter::{Blueprint, Charge, Mode, Options};
use crate::request::{Key, Keys, Price, Unit};
use crate::scenario::client::not_zero;
use crate::section::{Amount, At, Content, Fault, Node, Section, Value, one_fault, quote};
use crate::time::Nanos;
use crate::units::{Rate, parse_quota};
use std::sync::Arc;

/// A limiter of `rule` with the options that the table gives it, which gives back what was not used unless told.
pub(super) fn limiter(s: &mut Section, rule: impl Blueprint + 'static) -> StageSpec {
    boxed(s, Arc::new(rule), true)
}

/// A limiter of a product that gives nothing back unless told.
pub(super) fn keeping(s: &mut Section, rule: impl Blueprint + 'static) -> StageSpec {
    boxed(s, Arc::new(rule), false)
}

/// A limiter of any rule.
pub(super) fn boxed(s: &mut Section, rule: Arc<dyn Blueprint>, refunds: bool) -> StageSpec {
    let unit = unit(s);
    let mode = s.one_of(
        "charge",
        &Mode::NAMES,
        Some(Mode::EstimateOnly),
        "the estimate on arrival, the same settled in the end, or the actual use afterwards",
    );
    charging(s, rule, unit, mode, refunds)
}

/// What is counted; money needs prices.
fn unit(s: &mut Section) -> Unit {
    let money = ("money", Unit::Money(Price::default()));
    let words: Vec<(&'static str, Unit)> = Unit::NAMES.into_iter().chain([money]).collect();
    let unit = s.one_of("unit", &words, Some(Unit::Requests), "what is counted");
    let costs_money = matches!(unit, Unit::Money(_));
    if !costs_money && !s.is_description() {
        return unit;
    }
    let Some(mut table) = s.section("price", "what a token costs, for the unit `money`") else {
        if costs_money {
            let what = format!("`{}` counts money and has no prices", s.path());
            s.problem("unit", what, "add `price = { input = …, output = … }`, whole numbers for a token");
        }
        return unit;
    };
    let input = table.get_or("input", 0u32, "a token that is sent, in whole units of a small currency");
    let output = table.get_or("output", 0u32, "a token of an answer, in the same");
    if input == 0 && output == 0 && costs_money {
        table.problem("", format!("`{}` makes every call free", table.path()), "write a price above 0");
    }
    table.finish();
    Unit::Money(Price { input, output })
}

/// The same for a kind that knows by itself what it counts.
pub(super) fn charging(
    s: &mut Section,
    rule: Arc<dyn Blueprint>,
    unit: Unit,
    mode: Mode,
    refunds: bool,
) -> StageSpec {
    let key = keys(s);
    overrides::note(s);
    let max_idle_keys = s.get_or(
        "max_idle_keys",
        Options::MAX_IDLE_KEYS as u64,
        "how many keys are kept before those are forgotten that stand as if unused",
    );
    let refund = s.get_or(
        "refund",
        refunds,
        "whether work that is turned away later, or leaves the queue, is given back what it took",
    );
    let wait = s.get_or("wait", false, "whether calls wait here for their turn instead of being refused");
    let shadow = s.get_or("shadow", false, "whether it only counts what it would refuse");
    let exempt: Vec<At<String>> = s.get_or("exempt", Vec::new(), "classes that pass uncharged");
    let options = Options {
        charge: Charge { unit, mode, refund },
        key,
        overrides: Vec::new(),
        max_idle_keys: max_idle_keys as usize,
        wait,
        shadow,
        exempt: Vec::new(),
        retry_after: retry_after::read(s),
        deployment: deployment::read(s),
    };
    contradictions(s, &*rule, &options);
    StageSpec::Limiter(Limit { rule, options, overrides: Vec::new(), exempt })
}

fn contradictions(s: &Section, rule: &dyn Blueprint, options: &Options) {
    if options.wait && rule.counts_in_flight() {
        let what = format!("`{}` has no turn to wait for: work in flight ends at no known instant", s.path());
        let remedy =
            "take out `wait`, or replace `concurrency` by a stage `kind = \"concurrency\"` and a queue";
        s.problem("wait", what, remedy);
    }
    if options.wait && options.shadow {
        let what = format!("`{}` in shadow mode refuses nothing, so nothing waits for it", s.path());
        s.problem("wait", what, "take out `wait` or `shadow`");
    }
    if options.wait && options.key.is_some_and(|keys| keys.alone().is_none()) {
        let what = format!("`{}` has no line for each of several keys together", s.path());
        s.problem("wait", what, "take out `wait`, or write one `key`");
    }
    if options.key.is_none() && s.has("max_idle_keys") {
        let what = format!("`{}` bounds keys, and there is one limit for all", s.path_of("max_idle_keys"));
        s.problem("max_idle_keys", what, "add `key`, or take it out");
    }
}

/// What has a limit of its own each.
pub(super) fn keys(s: &mut Section) -> Option<Keys> {
    s.get_or("key", Listed(None), "what has a limit of its own each; one for all unless said").0
}

/// A key, several together, or none.
struct Listed(Option<Keys>);

impl Value for Listed {
    const SHAPE: &'static str = "`class`, `tenant`, `feature` or `user`, several of them in brackets for each of their combinations, or `none`";

    fn read(node: &Node) -> Result<Listed, Vec<Fault>> {
        if matches!(&node.content, Content::Text(text) if text == "none") {
            return Ok(Listed(None));
        }
        let items = match &node.content {
            Content::Array(items) => &items[..],
            _ => std::slice::from_ref(node),
        };
        let mut keys: Vec<Key> = Vec::new();
        for item in items {
            let name = String::read(item)?;
            match Key::NAMES.iter().find(|(known, _)| *known == name) {
                Some((_, key)) if !keys.contains(key) => keys.push(*key),
                Some(_) => return Err(one_fault(item, format!("{} stands twice", quote(&name)))),
                None => return Err(one_fault(item, format!("{} is none of its words", quote(&name)))),
            }
        }
        let none = || one_fault(node, "nothing is in the brackets");
        Keys::new(&keys).map(|keys| Listed(Some(keys))).ok_or_else(none)
    }

    fn dummy() -> Listed {
        Listed(None)
    }

    fn show(&self) -> String {
        "\"none\"".into()
    }
}

/// A rate, and a burst above 0.
pub(super) fn rate_and_burst(s: &mut Section) -> (Rate, u64) {
    (s.need("rate", RATE), above_zero(s, "burst", BURST))
}

/// What `rate` means.
pub(super) const RATE: &str = "how fast it fills";
/// What `burst` means.
pub(super) const BURST: &str = "the most that may pass at once";

/// An amount that must be there and above 0.
pub(super) fn above_zero(s: &mut Section, key: &str, doc: &'static str) -> u64 {
    let Amount(amount) = s.need(key, doc);
    if amount == 0 {
        s.problem(key, format!("`{}` is 0: nothing ever passes", s.path_of(key)), "write 1 or more");
    }
    amount.max(1)
}

/// What the bucket holds at the start: no more than the burst, which it is unless said.
pub(super) fn initial(s: &mut Section, burst: u64) -> u64 {
    let initial: Option<Amount> =
        s.get("initial", "what the bucket holds at the start; the burst unless said");
    let initial = initial.map_or(burst, |initial| initial.0);
    if burst < initial {
        let what = format!("`{}` is more than the burst of {burst}", s.path_of("initial"));
        s.problem("initial", what, "lower it, or take it out to start with a full bucket");
    }
    initial
}

/// A limit above 0 and the length of its window.
pub(super) fn limit_and_window(s: &mut Section) -> (u64, Nanos) {
    let limit = above_zero(s, "limit", "the most that may pass in a window");
    let window: Nanos = s.need("window", "how long a window is");
    not_zero(s, "window", Some(window));
    (limit, Nanos(window.0.max(1)))
}

/// The longest wait that a product takes upon itself; `unlimited` never refuses for it.
pub(super) fn max_wait(s: &mut Section, default: Option<Nanos>) -> Option<Nanos> {
    s.get_or("max_wait", Wait(default), "the longest that one waits for its turn instead of being refused").0
}

/// A length of time, or no bound at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wait(Option<Nanos>);

impl Value for Wait {
    const SHAPE: &'static str = "a length of time such as `500ms`, or `unlimited`";
    fn read(node: &Node) -> Result<Wait, Vec<Fault>> {
        match &node.content {
            Content::Text(text) if text == "unlimited" => Ok(Wait(None)),
            _ => Nanos::read(node).map(|length| Wait(Some(length))),
        }
    }
    fn dummy() -> Wait {
        Wait(None)
    }
    fn show(&self) -> String {
        self.0.map_or("\"unlimited\"".into(), |length| length.show())
    }
}

/// Whole units for each length, as they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quota(pub u64, pub Nanos);

impl Value for Quota {
    const SHAPE: &'static str = Rate::SHAPE;
    fn read(node: &Node) -> Result<Quota, Vec<Fault>> {
        // What is no rate at all is told as such.
        Rate::read(node)?;
        let Content::Text(text) = &node.content else { return Ok(Quota::dummy()) };
        parse_quota(text).map(|(units, per)| Quota(units, per)).map_err(|why| one_fault(node, why))
    }
    fn dummy() -> Quota {
        Quota(1, Nanos::SECOND)
    }
    fn show(&self) -> String {
        format!("\"{}/{}\"", self.0, self.1)
    }
}

/// Units per second as a double; products that reckon so also know a rate of 0 and an unlimited one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PerSecond(pub f64);

impl Value for PerSecond {
    const SHAPE: &'static str = Rate::SHAPE;
    fn read(node: &Node) -> Result<PerSecond, Vec<Fault>> {
        match &node.content {
            Content::Text(text) if text == "unlimited" => Ok(PerSecond(f64::INFINITY)),
            Content::Text(text) if parse_quota(text).is_ok_and(|(units, _)| units == 0) => Ok(PerSecond(0.0)),
            _ => Rate::read(node).map(|rate| PerSecond(rate.per_second())),
        }
    }
    fn dummy() -> PerSecond {
        PerSecond(1.0)
    }
    fn show(&self) -> String {
        format!("\"{}/s\"", self.0)
    }
}
