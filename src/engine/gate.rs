//! A gate at work: it asks its limiters how fast, and its admission stages and downstream for room.

use super::calendar::Lane;
use super::live::Attempt;
use super::parked::{Line, Parked, line};
use super::setup::{Gate, Take};
use crate::admission::{Answer, Denial, Entrant, Habits};
use crate::downstream::{AnyDownstream, Downstream};
use crate::limiter::{Limiter, Verdict};
use crate::queue::{Queue, Ticket};
use crate::request::{Ask, End, Reason};
use crate::time::{Nanos, SimTime};
use std::collections::BTreeMap;

/// A gate with what the engine keeps beside it.
pub(super) struct LiveGate {
    pub(super) gate: Gate,
    /// As in the layout: limiters, admission stages, the queue, the downstream.
    pub(super) names: Vec<String>,
    /// Timers of the queue's longest wait.
    pub(super) expiries: Lane,
    pub(super) parked: Parked,
    /// Those that are refused and have not been told, by their place.
    pub(super) held: BTreeMap<u32, Refusal>,
    /// What any of the admission stages does.
    pub(super) habits: Habits,
    /// Whether the queue hears of ends.
    pub(super) queue_minds_ends: bool,
    /// Whether anybody between the limiters and the downstream hears of ends.
    pub(super) settles: bool,
    /// Whether work that comes to its end may go on: because it is paused, or calls others.
    pub(super) may_go_on: bool,
    /// The alarm of each admission stage that is in the calendar.
    pub(super) alarms: Vec<Option<SimTime>>,
}

/// What the admission stages and the downstream say of one more.
pub(super) enum Room {
    /// It may start.
    Some,
    /// Stage number `stage` has no room for it; if `for_all`, it has none for any other either.
    None { stage: usize, for_all: bool },
    /// Stage number `stage` sheds it.
    Shed { stage: usize, denial: Denial },
}

/// A limiter's refusal.
#[derive(Clone, Copy)]
pub(super) struct Refusal {
    pub(super) stage: usize,
    /// The first instant that would pass; `None` if no wait helps.
    pub(super) at: Option<SimTime>,
}

impl Refusal {
    /// The longest wait is named, never wins, ties go to the first listed.
    fn is_longer(self, than: Option<Refusal>) -> bool {
        match (than.map(|refusal| refusal.at), self.at) {
            (None, _) | (Some(Some(_)), None) => true,
            (Some(None), _) => false,
            (Some(Some(before)), Some(at)) => before < at,
        }
    }
}

/// What the limiters say of an attempt.
#[derive(Clone, Copy)]
pub(super) enum Limits {
    /// All are charged, and it goes on.
    Pass,
    /// All are charged, and it goes on at that instant.
    Delay(SimTime),
    /// One refuses it.
    Refuse(Refusal),
}

impl LiveGate {
    /// Asks the limiters for an attempt that arrives, and charges them if they all pass; who refuses hears of it.
    #[inline(always)]
    pub(super) fn limit(&mut self, now: SimTime, ask: &Ask) -> Limits {
        self.ask(now, ask, |limiter, at| {
            limiter.refuse(now, ask);
            limiter.after_refusal(now, ask, at)
        })
    }

    /// Asks the limiters again for an attempt that waits before them.
    pub(super) fn limit_again(&mut self, now: SimTime, ask: &Ask) -> Limits {
        self.ask(now, ask, |_, at| at)
    }

    #[inline(always)]
    fn ask(
        &mut self,
        now: SimTime,
        ask: &Ask,
        tell: impl Fn(&mut dyn Limiter, Option<SimTime>) -> Option<SimTime>,
    ) -> Limits {
        if self.gate.take == Take::Sequential {
            return self.ask_one_by_one(now, ask, tell);
        }
        let mut longest: Option<Refusal> = None;
        let mut start = now;
        for (stage, limiter) in self.gate.limiters.iter_mut().enumerate() {
            let at = match limiter.check(now, ask) {
                Verdict::Pass => continue,
                Verdict::Delay(until) => {
                    start = start.max(until);
                    continue;
                }
                Verdict::At(at) => Some(at),
                Verdict::Never => None,
            };
            let refusal = Refusal { stage, at: tell(limiter.as_mut(), at) };
            if refusal.is_longer(longest) {
                longest = Some(refusal);
            }
        }
        if let Some(refusal) = longest {
            return Limits::Refuse(refusal);
        }
        self.gate.limiters.iter_mut().for_each(|limiter| limiter.take(now, ask));
        if now < start { Limits::Delay(start) } else { Limits::Pass }
    }

    /// Charges one limiter after the other until one refuses; what was charged stays charged.
    fn ask_one_by_one(
        &mut self,
        now: SimTime,
        ask: &Ask,
        tell: impl Fn(&mut dyn Limiter, Option<SimTime>) -> Option<SimTime>,
    ) -> Limits {
        let limiters = &mut self.gate.limiters;
        let mut start = now;
        for stage in 0..limiters.len() {
            let at = match limiters[stage].check(now, ask) {
                verdict @ (Verdict::Pass | Verdict::Delay(_)) => {
                    limiters[stage].take(now, ask);
                    if let Verdict::Delay(until) = verdict {
                        start = start.max(until);
                    }
                    continue;
                }
                Verdict::At(at) => Some(at),
                Verdict::Never => None,
            };
            let at = tell(limiters[stage].as_mut(), at);
            let spent = End::Completed(Nanos::ZERO);
            limiters[..stage].iter_mut().for_each(|limiter| limiter.settle(now, ask, spent));
            return Limits::Refuse(Refusal { stage, at });
        }
        if now < start { Limits::Delay(start) } else { Limits::Pass }
    }

    /// The line in which a refused attempt may wait: if every limiter that refuses it lets it, and a wait helps.
    pub(super) fn parking_line(&self, now: SimTime, refusal: Refusal, ask: &Ask) -> Option<Line> {
        refusal.at?;
        let gate = &self.gate;
        let refuses = |stage: &usize| !gate.limiters[*stage].check(now, ask).passes();
        let all_park =
            (0..gate.limiters.len()).filter(refuses).all(|stage| line(&gate.parking, stage, ask).is_some());
        if all_park { line(&gate.parking, refusal.stage, ask) } else { None }
    }

    /// Asks the admission stages and the downstream.
    #[inline(always)]
    pub(super) fn room(
        &self,
        downstream: &AnyDownstream,
        now: SimTime,
        index: u32,
        attempt: &Attempt,
    ) -> Room {
        let (gate, ask) = (&self.gate, &attempt.ask);
        if !gate.admissions.is_empty() {
            match self.room_of_stages(now, &attempt.entrant(now, index)) {
                Room::Some => {}
                lacking => return lacking,
            }
        }
        let stage = self.downstream_number();
        if !downstream.has_room(ask) {
            return Room::None { stage, for_all: true };
        }
        match &gate.quota {
            Some(quota) if !quota.check(now, ask).passes() => {
                let scope = quota.binding(now, ask);
                Room::Shed { stage, denial: Denial { reason: Reason::RateLimited, scope } }
            }
            _ => Room::Some,
        }
    }

    /// Asks the admission stages.
    #[inline(always)]
    fn room_of_stages(&self, now: SimTime, entrant: &Entrant<'_>) -> Room {
        let mut lacking = None;
        for (number, stage) in self.gate.admissions.iter().enumerate() {
            let number = self.gate.limiters.len() + number;
            match stage.admit(now, entrant) {
                Answer::Pass => {}
                Answer::Shed(denial) => return Room::Shed { stage: number, denial },
                Answer::Wait => {
                    let (first, for_all) = lacking.unwrap_or((number, false));
                    lacking = Some((first, for_all || !stage.per_key()));
                }
            }
        }
        lacking.map_or(Room::Some, |(stage, for_all)| Room::None { stage, for_all })
    }

    /// How long an attempt that a limiter has refused is kept before it is told.
    pub(super) fn holds(&self, now: SimTime, refusal: Refusal, ask: &Ask) -> Nanos {
        self.gate.limiters[refusal.stage].holds(now, ask)
    }

    /// What a limiter tells an attempt that it has refused to wait.
    pub(super) fn advice(&self, now: SimTime, refusal: Refusal, ask: &Ask) -> Option<Nanos> {
        self.gate.limiters[refusal.stage].advise(now, ask, refusal.at)
    }

    /// The downstream's own quota hears that it has refused an attempt; answers what it tells it to wait.
    pub(super) fn refused_by_quota(&mut self, now: SimTime, ask: &Ask) -> Option<Nanos> {
        let quota = self.gate.quota.as_mut()?;
        let at = quota.check(now, ask).at();
        quota.refuse(now, ask);
        quota.advise(now, ask, at)
    }

    /// Whether nothing at all can start, whoever asks.
    #[inline(always)]
    pub(super) fn is_full(&self, downstream: &AnyDownstream) -> bool {
        self.gate.admissions.is_empty() && downstream.is_full()
    }

    /// Whether one that has room starts without waiting.
    #[inline(always)]
    pub(super) fn lets_pass(&mut self, now: SimTime, index: u32, ask: &Ask) -> bool {
        let Some(queue) = &mut self.gate.queue else { return true };
        let passes = queue.may_pass(now, ask);
        if passes {
            queue.passed(now, Ticket(index), ask);
        }
        passes
    }

    /// The queue's number among the stages.
    pub(super) fn queue_number(&self) -> usize {
        self.gate.limiters.len() + self.gate.admissions.len()
    }

    /// The downstream's number among the stages.
    pub(super) fn downstream_number(&self) -> usize {
        self.queue_number() + usize::from(self.gate.queue.is_some())
    }

    /// Why an attempt is turned away that lacks room at a stage and can't wait.
    pub(super) fn denial(&self, stage: usize, now: SimTime, entrant: &Entrant<'_>) -> Denial {
        let admission = self.gate.admissions.get(stage - self.gate.limiters.len());
        admission.map_or(Denial::of(Reason::Concurrency), |stage| stage.denial(now, entrant))
    }

    /// What an admission stage tells one to wait that it has turned away.
    pub(super) fn admission_advice(
        &mut self,
        stage: usize,
        now: SimTime,
        entrant: &Entrant<'_>,
    ) -> Option<Nanos> {
        let number = stage.checked_sub(self.gate.limiters.len())?;
        self.gate.admissions.get_mut(number)?.advise(now, entrant)
    }
}
