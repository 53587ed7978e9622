//! Shadow mode: a stage that decides and counts, and turns nobody away.
//!
//! What it would have passed it takes; what it would have shed or made to wait goes on without it and is counted. So
//! its state and its decisions are those of the stage in force, as far as the same calls come: callers who are not
//! refused don't try again. Source: Stripe's advice to ship shedders dark (P. Tarjan, Scaling your API with rate
//! limiters, 2017).

use super::{Admission, Answer, Entrant, Habits, Scene};
use crate::admission::Denial;
use crate::gauge::Reading;
use crate::request::{End, Knob, Reason};
use crate::time::{Nanos, SimTime};

/// Any stage in shadow mode.
pub struct Shadow {
    stage: Box<dyn Admission>,
    /// How many would have been turned away, or made to wait, since the last reading.
    refused: u64,
    /// Which places hold one that the stage has not taken.
    outside: Vec<bool>,
}

impl Shadow {
    /// The stage, which from now on turns nobody away.
    pub fn new(stage: Box<dyn Admission>) -> Shadow {
        Shadow { stage, refused: 0, outside: Vec::new() }
    }

    fn set_outside(&mut self, place: u32, outside: bool) {
        let place = place as usize;
        if self.outside.len() <= place {
            self.outside.resize(place + 1, false);
        }
        self.outside[place] = outside;
    }
}

impl Admission for Shadow {
    fn habits(&self) -> Habits {
        self.stage.habits()
    }

    fn sheds(&mut self, now: SimTime, entrant: &Entrant<'_>, scene: &Scene) -> Option<Denial> {
        let sheds = self.stage.sheds(now, entrant, scene).is_some();
        self.refused += u64::from(sheds);
        self.set_outside(entrant.place, sheds);
        None
    }

    fn admit(&self, _now: SimTime, _entrant: &Entrant<'_>) -> Answer {
        Answer::Pass
    }

    fn take(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        let was_shed =
            self.stage.habits().sheds && self.outside.get(entrant.place as usize).copied().unwrap_or(false);
        let passes = !was_shed && self.stage.admit(now, entrant) == Answer::Pass;
        self.set_outside(entrant.place, !passes);
        if passes {
            self.stage.take(now, entrant);
        } else if !was_shed {
            self.refused += 1;
        }
    }

    fn settle(&mut self, now: SimTime, entrant: &Entrant<'_>, end: End) {
        if !std::mem::take(&mut self.outside[entrant.place as usize]) {
            self.stage.settle(now, entrant, end);
        }
    }

    /// It waits for another stage: as far as this one goes, it waits too.
    fn waits(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        self.stage.waits(now, entrant);
    }

    fn gave_up(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        self.stage.gave_up(now, entrant);
    }

    /// Its advice is told to nobody.
    fn lost(&mut self, now: SimTime, entrant: &Entrant<'_>, reason: Option<Reason>) -> Option<Nanos> {
        let was_shed = self.outside.get(entrant.place as usize).copied().unwrap_or(false);
        if !was_shed {
            self.stage.lost(now, entrant, reason);
        }
        None
    }

    fn alarm(&self) -> Option<SimTime> {
        self.stage.alarm()
    }

    fn ring(&mut self, now: SimTime, scene: &Scene) {
        self.stage.ring(now, scene);
    }

    fn change(&mut self, now: SimTime, knob: Knob) {
        self.stage.change(now, knob);
    }

    /// Its stage's, and how many it would have turned away or made to wait since the last reading.
    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        self.stage.gauges(now, visit);
        visit("would_refuse", Reading::count(std::mem::take(&mut self.refused)));
    }
}
