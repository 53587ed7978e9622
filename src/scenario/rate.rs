//! How the rate of a traffic changes: bursts, steps, ramps, and a rhythm of calling and silence.

use super::client::not_zero;
use crate::section::{Section, Value};
use crate::time::{Nanos, SimTime};
use crate::traffic::profile::{Change, OnOff, RateProfile};
use crate::units::Rate;

/// How the gaps between calls come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// At random, independently of each other.
    Poisson,
    /// Equal gaps.
    Paced,
}

/// A rate over time, as a file gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// How the gaps come about.
    pub law: Law,
    /// The rate at the start.
    pub rate: Rate,
    /// Steps, ramps and bursts in the order of the file, then those of events. The latest-started one holds.
    pub changes: Vec<Change>,
    /// The rhythm over all of them; `None` never pauses.
    pub on_off: Option<OnOff>,
}

/// The keys that only a traffic with a rate has.
pub const KEYS: [&str; 5] = ["arrivals", "burst", "step", "ramp", "on_off"];

impl Profile {
    /// Reads the keys of a traffic that calls at a rate.
    pub fn read(s: &mut Section) -> Profile {
        let rate = s.get("rate", "calls over time, unless there are `at`, `call` or `trace`");
        let law = s.one_of(
            "arrivals",
            &[("poisson", Law::Poisson), ("paced", Law::Paced)],
            Some(Law::Poisson),
            "at random, or in equal gaps",
        );
        let steps = s.sections("step", "changes of the rate that last");
        let ramps = s.sections("ramp", "changes of the rate in a straight line, that last");
        let bursts = s.sections("burst", "rates that replace the rate for a while");
        let changes = steps.into_iter().map(step);
        let changes = changes.chain(ramps.into_iter().map(ramp)).chain(bursts.into_iter().map(burst));
        Profile { law, rate: rate.unwrap_or_else(Rate::dummy), changes: changes.collect(), on_off: on_off(s) }
    }

    /// The same as the engine walks it.
    pub fn build(&self) -> RateProfile {
        RateProfile::new(Some(self.rate), &self.changes, self.on_off)
            .expect("a rhythm that is never on is refused")
    }
}

fn step(mut s: Section) -> Change {
    let at = SimTime(s.need::<Nanos>("at", "when").0);
    let rate = Some(s.need("rate", "the rate from then on"));
    s.finish();
    Change::Step { at, rate }
}

fn ramp(mut s: Section) -> Change {
    let (at, length) = at_and_for(&mut s);
    let to = Some(s.need("to", "the rate in the end, which stays"));
    s.finish();
    Change::Ramp { at, length, to }
}

fn burst(mut s: Section) -> Change {
    let (at, length) = at_and_for(&mut s);
    let rate = Some(s.need("rate", "the rate while it lasts"));
    s.finish();
    Change::Burst { at, length, rate }
}

fn at_and_for(s: &mut Section) -> (SimTime, Nanos) {
    let at = s.need::<Nanos>("at", "when it begins");
    let length = s.need("for", "how long it lasts");
    not_zero(s, "for", Some(length));
    (SimTime(at.0), length)
}

fn on_off(s: &mut Section) -> Option<OnOff> {
    let mut table = s.section("on_off", "a rhythm of calling and silence, which starts with calling")?;
    let (on, off) = (table.need("on", "how long it calls"), table.need("off", "how long it is silent"));
    not_zero(&table, "on", Some(on));
    not_zero(&table, "off", Some(off));
    table.finish();
    Some(OnOff { on, off }).filter(|_| on != Nanos::ZERO)
}
