//! A stage that lets some classes pass without being asked.

use super::{Admission, Answer, Denial, Entrant, Habits, Scene};
use crate::gauge::Reading;
use crate::request::{ClassId, End, Knob, Reason};
use crate::time::{Nanos, SimTime};

/// Any stage, which calls of some classes never meet.
pub struct Exempt {
    stage: Box<dyn Admission>,
    classes: Vec<ClassId>,
}

impl Exempt {
    /// The stage for all calls but those of `classes`.
    pub fn new(stage: Box<dyn Admission>, classes: Vec<ClassId>) -> Exempt {
        Exempt { stage, classes }
    }

    fn exempts(&self, entrant: &Entrant<'_>) -> bool {
        self.classes.contains(&entrant.ask.class)
    }
}

impl Admission for Exempt {
    fn habits(&self) -> Habits {
        self.stage.habits()
    }

    fn sheds(&mut self, now: SimTime, entrant: &Entrant<'_>, scene: &Scene) -> Option<Denial> {
        if self.exempts(entrant) { None } else { self.stage.sheds(now, entrant, scene) }
    }

    fn admit(&self, now: SimTime, entrant: &Entrant<'_>) -> Answer {
        if self.exempts(entrant) { Answer::Pass } else { self.stage.admit(now, entrant) }
    }

    fn take(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        if !self.exempts(entrant) {
            self.stage.take(now, entrant);
        }
    }

    fn settle(&mut self, now: SimTime, entrant: &Entrant<'_>, end: End) {
        if !self.exempts(entrant) {
            self.stage.settle(now, entrant, end);
        }
    }

    fn waits(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        if !self.exempts(entrant) {
            self.stage.waits(now, entrant);
        }
    }

    fn gave_up(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        if !self.exempts(entrant) {
            self.stage.gave_up(now, entrant);
        }
    }

    fn lost(&mut self, now: SimTime, entrant: &Entrant<'_>, reason: Option<Reason>) -> Option<Nanos> {
        if self.exempts(entrant) { None } else { self.stage.lost(now, entrant, reason) }
    }

    /// One that is not exempt and lacks room says nothing of one that is.
    fn per_key(&self) -> bool {
        true
    }

    fn denial(&self, now: SimTime, entrant: &Entrant<'_>) -> Denial {
        self.stage.denial(now, entrant)
    }

    fn advise(&mut self, now: SimTime, entrant: &Entrant<'_>) -> Option<Nanos> {
        self.stage.advise(now, entrant)
    }

    fn alarm(&self) -> Option<SimTime> {
        self.stage.alarm()
    }

    fn ring(&mut self, now: SimTime, scene: &Scene) {
        self.stage.ring(now, scene);
    }

    /// Those that are exempt have no limit.
    fn limit(&self) -> Option<u64> {
        None
    }

    fn change(&mut self, now: SimTime, knob: Knob) {
        self.stage.change(now, knob);
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        self.stage.gauges(now, visit);
    }
}
