//! A check at the door that turns away a share of the calls before anything else is spent on them.
//!
//! Each call is checked, which takes `cost` of a processor; a call is refused with probability `share`, by its own luck,
//! so that every attempt of a call without credentials is refused. What the checks take is told as the gauge `busy`,
//! processors kept busy on average: it delays nothing, for it is small beside the work that it spares.

use super::{Admission, Cast, Denial, Entrant, Habits, Plan, Scene};
use crate::gauge::Reading;
use crate::request::{End, Reason};
use crate::rng::{Dice, Purpose};
use crate::time::{Nanos, SimTime};

/// A check, as it is described.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The share of calls that are refused.
    pub share: f64,
    /// What a check takes of a processor.
    pub cost: Nanos,
}

impl Plan for Settings {
    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        Box::new(Authenticate { settings: self.clone(), luck: cast.luck, checked: 0, since: SimTime::ZERO })
    }
}

/// A check at work.
#[derive(Clone, Debug)]
pub struct Authenticate {
    settings: Settings,
    luck: Dice,
    /// How many since the last reading.
    checked: u64,
    since: SimTime,
}

impl Admission for Authenticate {
    fn habits(&self) -> Habits {
        Habits { sheds: true, ..Habits::default() }
    }

    fn sheds(&mut self, _now: SimTime, entrant: &Entrant<'_>, _scene: &Scene) -> Option<Denial> {
        self.checked += 1;
        let luck = Dice(entrant.ask.dice.0 ^ self.luck.0).share(Purpose::Policy, 0);
        (luck < self.settings.share).then_some(Denial { reason: Reason::Other, scope: "unauthenticated" })
    }

    fn take(&mut self, _now: SimTime, _entrant: &Entrant<'_>) {}

    fn settle(&mut self, _now: SimTime, _entrant: &Entrant<'_>, _end: End) {}

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        let (checked, length) = (std::mem::take(&mut self.checked), now.since(self.since));
        self.since = now;
        let busy = checked as f64 * self.settings.cost.0 as f64 / (length.0 as f64).max(1.0);
        visit("busy", Reading::of(busy));
    }
}
