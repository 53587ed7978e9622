//! Slots that work of higher priority takes from work of lower priority, which goes on later where it was.
//!
//! Who finds every slot in use takes that of the work of the lowest priority below its own, of equals the one that came
//! last; that work is paused. Slots that come free go to the highest priority inside, of equals to who came first,
//! paused or not begun yet. What is paused has what remained of its time (preemptive-resume; A. Cobham, 1954; H. White, L.
//! Christie, 1958).

use super::slots::Slots;
use super::{Downstream, Effect, Use, Work};
use crate::gauge::{Gauge, Reading};
use crate::request::{Ask, Knob};
use crate::time::SimTime;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Whose turn it is: the highest priority, then who came first.
type Turn = (Reverse<i32>, u64);

/// See the module.
#[derive(Clone, Debug)]
pub struct Preemptive {
    slots: Slots,
    /// By class.
    priorities: Vec<i32>,
    /// How many may be inside without a slot; `None` is unlimited.
    most: Option<u64>,
    /// What runs: when it ends, and whether it fails then; the last of them is the first to be paused.
    running: BTreeMap<Turn, (u32, SimTime, bool)>,
    /// What is inside without a slot: paused, with what remains of it, or not begun.
    waiting: BTreeMap<Turn, (u32, Option<Work>)>,
    /// By place.
    turns: Vec<Turn>,
    /// Who was named last as the next to begin.
    named: Option<(Turn, u32, Option<Work>)>,
    arrivals: u64,
    depth: Gauge,
}

impl Preemptive {
    /// Slots without a backlog of their own, to which so many more are let in.
    pub fn new(slots: Slots, most: Option<u64>, priorities: Vec<i32>) -> Preemptive {
        Preemptive {
            slots,
            priorities,
            most,
            running: BTreeMap::new(),
            waiting: BTreeMap::new(),
            turns: Vec::new(),
            named: None,
            arrivals: 0,
            depth: Gauge::new(0),
        }
    }

    fn wait(&mut self, now: SimTime, turn: Turn, place: u32, work: Option<Work>) {
        self.waiting.insert(turn, (place, work));
        self.depth.up(now, 1);
    }

    fn run(&mut self, now: SimTime, turn: Turn, place: u32, work: Work) -> Work {
        self.running.insert(turn, (place, now.saturating_add(work.takes), work.fails));
        work
    }
}

impl Downstream for Preemptive {
    fn has_room(&self, _ask: &Ask) -> bool {
        !self.slots.is_full() || self.most.is_none_or(|most| (self.waiting.len() as u64) < most)
    }

    fn start(&mut self, now: SimTime, place: u32, ask: &Ask, attempt: u32) -> Option<Work> {
        let priority = self.priorities.get(ask.class.0 as usize).copied().unwrap_or(0);
        let turn = (Reverse(priority), self.arrivals);
        self.arrivals += 1;
        if self.turns.len() <= place as usize {
            self.turns.resize(place as usize + 1, turn);
        }
        self.turns[place as usize] = turn;
        if self.slots.is_full() {
            let last = self.running.last_entry().filter(|last| turn.0 < last.key().0);
            let Some(last) = last else {
                self.wait(now, turn, place, None);
                return None;
            };
            let (paused, (victim, ends, fails)) = last.remove_entry();
            self.slots.leave(now, victim);
            self.wait(now, paused, victim, Some(Work { takes: ends.since(now), fails }));
        }
        let work = self.slots.begin(now, ask, attempt);
        Some(self.run(now, turn, place, work))
    }

    fn next(&mut self, now: SimTime) -> Option<u32> {
        if self.slots.is_full() {
            return None;
        }
        let (turn, (place, work)) = self.waiting.pop_first()?;
        self.depth.down(now, 1);
        self.named = Some((turn, place, work));
        Some(place)
    }

    fn begin(&mut self, now: SimTime, ask: &Ask, attempt: u32) -> Work {
        let (turn, place, paused) = self.named.take().expect("who begins was named");
        let fresh = self.slots.begin(now, ask, attempt);
        self.run(now, turn, place, paused.unwrap_or(fresh))
    }

    fn leave(&mut self, now: SimTime, place: u32) {
        let turn = self.turns[place as usize];
        match self.running.remove(&turn) {
            Some(_) => self.slots.leave(now, place),
            None => self.withdraw(now, place),
        }
    }

    fn withdraw(&mut self, now: SimTime, place: u32) {
        if self.waiting.remove(&self.turns[place as usize]).is_some() {
            self.depth.down(now, 1);
        }
    }

    fn pauses(&self) -> bool {
        true
    }

    fn is_paused(&self, place: u32) -> bool {
        self.waiting.contains_key(&self.turns[place as usize])
    }

    fn busy(&self) -> u64 {
        self.slots.busy()
    }

    fn backlog(&self) -> u64 {
        self.waiting.len() as u64
    }

    fn slots(&self) -> Option<u64> {
        self.slots.slots()
    }

    fn capacity(&self) -> Option<u64> {
        self.slots.slots()?.checked_add(self.most?)
    }

    fn change(&mut self, now: SimTime, knob: Knob) -> Effect {
        self.slots.change(now, knob)
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) -> Use {
        let used = self.slots.gauges(now, visit);
        visit("backlog", self.depth.read(now));
        used
    }
}

#[cfg(test)]
mod tests {
    use super::super::service::Service;
    use super::*;
    use crate::dist::Dist;
    use crate::request::ClassId;
    use crate::time::Nanos;

    #[test]
    fn the_lowest_is_paused_and_goes_on_where_it_was() {
        let service = Service::Drawn(Dist::constant(100.0).expect("a number"));
        let mut slots = Preemptive::new(Slots::new(Some(1), service), None, vec![0, 1, 2]);
        let ask = |class: u16| Ask { class: ClassId(class), ..Ask::default() };
        let takes = |work: Option<Work>| work.map(|work| work.takes.0);
        assert_eq!(takes(slots.start(SimTime(0), 0, &ask(0), 1)), Some(100));
        // At 30 a higher one takes the slot, at 50 the highest takes it from that; an equal one waits.
        assert_eq!(takes(slots.start(SimTime(30), 1, &ask(1), 1)), Some(100));
        assert_eq!(takes(slots.start(SimTime(50), 2, &ask(2), 1)), Some(100));
        assert_eq!(takes(slots.start(SimTime(60), 3, &ask(2), 1)), None);
        assert_eq!([0, 1, 2].map(|place| slots.is_paused(place)), [true, true, false]);
        // The slot comes free at 150: the highest that waits, then what was paused last and has 80 left, then the first.
        let mut ended = SimTime(150);
        for (gone, next, left) in [(2, 3, 100), (3, 1, 80), (1, 0, 70)] {
            slots.leave(ended, gone);
            assert_eq!(slots.next(ended), Some(next));
            assert_eq!(slots.begin(ended, &ask(0), 1).takes, Nanos(left));
            assert_eq!(slots.next(ended), None);
            ended = SimTime(ended.0 + left);
        }
        slots.leave(ended, 0);
        assert_eq!((slots.busy(), slots.backlog(), ended), (0, 0, SimTime(400)));
    }
}
