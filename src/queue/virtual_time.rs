//! Fair queuing of calls whose service is unknown until they have ended: queues in the order of a virtual time.
//!
//! A set of queues has a progress R, which advances with time by the seats in use over the queues that have anybody
//! waiting or at work: the service that each of them has got. The turn is that of the queue with the least virtual finish,
//! its own time + seats · expected service of its first; of equals, of the first after the one served last. A queue that
//! was idle begins at R. Its time grows by that work when one starts, and is corrected by seats · (expected − actual) when
//! it ends; while somebody waits it is never less than R was when its first came, so that a queue can't save up. Times are
//! seat-nanoseconds, R is rounded down. Source: Kubernetes, API priority and fairness, `fairqueuing/queueset`; there the
//! seats in use and those wanted by who waits count up to the level's limit, which is the same unless a wide call waits
//! beside idle seats.

use super::Ticket;
use super::flows::Flows;
use super::list::{Ends, Links};
use crate::time::{Nanos, SimTime};

/// What a set reckons by.
pub(super) struct Tempo<'a> {
    /// Who waits, and what each costs.
    pub(super) flows: &'a Flows,
    /// The number of the set's first queue among the flows.
    pub(super) first: u32,
    /// How long a call is thought to take.
    pub(super) expected: Nanos,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Set {
    progress: i128,
    changed: SimTime,
    seats_in_use: u64,
    /// Queues that have somebody waiting or at work.
    active: u64,
    /// The queue served last.
    last: u32,
    /// By number within the set.
    queues: Vec<Own>,
    /// Those that wait, in no order that matters.
    waiting: Links,
    ends: Ends,
    /// By ticket: R when it came.
    came: Vec<i128>,
}

/// A queue's own.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    time: i128,
    depth: u64,
    at_work: u64,
}

impl Own {
    fn is_active(self) -> bool {
        0 < self.depth + self.at_work
    }
}

/// Where a queue stands: its virtual finish, and how many places after the one served last.
type Standing = (i128, u32);

impl Set {
    pub(super) fn new(queues: u32) -> Set {
        Set {
            progress: 0,
            changed: SimTime::ZERO,
            seats_in_use: 0,
            active: 0,
            last: queues - 1,
            queues: vec![Own::default(); queues as usize],
            waiting: Links::default(),
            ends: Ends::default(),
            came: Vec::new(),
        }
    }

    fn progress(&self, now: SimTime) -> i128 {
        let served = i128::from(now.since(self.changed).0) * i128::from(self.seats_in_use);
        self.progress + served / i128::from(self.active.max(1))
    }

    fn catch_up(&mut self, now: SimTime) {
        self.progress = self.progress(now);
        self.changed = now;
    }

    fn own(&mut self, tempo: &Tempo<'_>, queue: u32) -> &mut Own {
        &mut self.queues[(queue - tempo.first) as usize]
    }

    fn work(tempo: &Tempo<'_>, seats: u64) -> i128 {
        i128::from(seats) * i128::from(tempo.expected.0)
    }

    /// One comes, to a queue of the set, and will wait or start.
    pub(super) fn comes(&mut self, tempo: &Tempo<'_>, now: SimTime, ticket: Ticket, queue: u32) {
        self.catch_up(now);
        let index = ticket.0 as usize;
        if self.came.len() <= index {
            self.came.resize(index + 1, 0);
        }
        self.came[index] = self.progress;
        let progress = self.progress;
        let own = self.own(tempo, queue);
        if !own.is_active() {
            own.time = progress;
        } else if own.depth == 0 {
            own.time = own.time.max(progress);
        }
    }

    /// The one that has come waits, in the flows already.
    pub(super) fn waits(&mut self, tempo: &Tempo<'_>, queue: u32) {
        let own = self.own(tempo, queue);
        let (was_empty, was_active) = (own.depth == 0, own.is_active());
        own.depth += 1;
        if was_empty {
            self.waiting.push(&mut self.ends, queue - tempo.first);
        }
        self.active += u64::from(!was_active);
    }

    /// One that waited has left the flows.
    pub(super) fn leaves(&mut self, tempo: &Tempo<'_>, now: SimTime, queue: u32) {
        self.catch_up(now);
        let own = self.own(tempo, queue);
        own.depth -= 1;
        let (is_empty, is_active) = (own.depth == 0, own.is_active());
        if is_empty {
            self.waiting.remove(&mut self.ends, queue - tempo.first);
        }
        self.active -= u64::from(!is_active);
    }

    /// One begins to work that has just come or left the flows.
    pub(super) fn starts(&mut self, tempo: &Tempo<'_>, ticket: Ticket, queue: u32) {
        let seats = tempo.flows.cost(ticket);
        self.seats_in_use += seats;
        self.last = queue - tempo.first;
        let own = self.own(tempo, queue);
        let was_active = own.is_active();
        own.at_work += 1;
        own.time += Set::work(tempo, seats);
        self.active += u64::from(!was_active);
        self.hold(tempo, queue);
    }

    /// One ends that has worked so long.
    pub(super) fn ends(&mut self, tempo: &Tempo<'_>, now: SimTime, ticket: Ticket, queue: u32, took: Nanos) {
        self.catch_up(now);
        let seats = tempo.flows.cost(ticket);
        self.seats_in_use -= seats;
        let own = self.own(tempo, queue);
        own.at_work -= 1;
        own.time += i128::from(seats) * (i128::from(took.0) - i128::from(tempo.expected.0));
        let is_active = own.is_active();
        self.active -= u64::from(!is_active);
        self.hold(tempo, queue);
    }

    /// Keeps a queue from saving up.
    fn hold(&mut self, tempo: &Tempo<'_>, queue: u32) {
        if let Some(head) = tempo.flows.head(queue) {
            let came = self.came[head.0 as usize];
            let own = self.own(tempo, queue);
            own.time = own.time.max(came);
        }
    }

    /// Where a queue of that number and time stands whose first takes so many seats.
    fn standing(&self, tempo: &Tempo<'_>, number: u32, time: i128, seats: u64) -> Standing {
        let queues = self.queues.len() as u32;
        (time + Set::work(tempo, seats), (number + queues - self.last - 1) % queues)
    }

    /// Where a queue stands in which somebody waits.
    fn standing_of(&self, tempo: &Tempo<'_>, number: u32) -> Option<Standing> {
        let head = tempo.flows.head(tempo.first + number)?;
        Some(self.standing(tempo, number, self.queues[number as usize].time, tempo.flows.cost(head)))
    }

    /// The queues that wait, with their standings.
    fn standings(&self, tempo: &Tempo<'_>) -> impl Iterator<Item = (Standing, u32)> {
        let numbers = std::iter::successors(self.ends.first(), |number| self.waiting.after(*number));
        numbers.filter_map(move |number| Some((self.standing_of(tempo, number)?, tempo.first + number)))
    }

    fn least(&self, tempo: &Tempo<'_>, wanted: impl Fn(Standing) -> bool) -> Option<Ticket> {
        let (_, queue) = self.standings(tempo).filter(|(standing, _)| wanted(*standing)).min()?;
        tempo.flows.head(queue)
    }

    /// The one whose turn it is.
    pub(super) fn first(&self, tempo: &Tempo<'_>) -> Option<Ticket> {
        self.least(tempo, |_| true)
    }

    /// The virtual finish of a queue that waits.
    pub(super) fn finish(&self, tempo: &Tempo<'_>, queue: u32) -> i128 {
        self.standing_of(tempo, queue - tempo.first).map_or(self.progress, |(finish, _)| finish)
    }

    /// The one whose turn it is among queues that don't finish before that.
    pub(super) fn first_not_before(&self, tempo: &Tempo<'_>, finish: i128) -> Option<Ticket> {
        self.least(tempo, |standing| finish <= standing.0)
    }

    /// The first of the queue whose turn comes after that of another, which waits.
    pub(super) fn after(&self, tempo: &Tempo<'_>, queue: u32) -> Option<Ticket> {
        let own = self.standing_of(tempo, queue - tempo.first)?;
        self.least(tempo, |standing| own < standing)
    }

    /// Whether one that comes to a queue now would have its turn before all that wait.
    pub(super) fn goes_before_all(&self, tempo: &Tempo<'_>, now: SimTime, queue: u32, seats: u64) -> bool {
        let number = queue - tempo.first;
        let (own, progress) = (self.queues[number as usize], self.progress(now));
        let time = if own.is_active() { own.time.max(progress) } else { progress };
        let standing = self.standing(tempo, number, time, seats);
        own.depth == 0 && self.standings(tempo).all(|(other, _)| standing < other)
    }
}
