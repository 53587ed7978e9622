//! Floors of classes that several gateways keep together, and lend while nobody wants them.
//!
//! Of `limit` slots each of `gateways` has a part; a call comes to one of them by its luck. A class's `floor` is kept for
//! it, a part of it on each gateway, and what no floor keeps is shared. A floor is lent when every gateway reports the
//! class idle for `idle` or longer: the controller looks at the reports every `report`, *prepares* the loan, which the
//! gateways hear and answer within `latency` each way, and *commits* it if they are all idle still; from then on others
//! may use it. When a call of the class comes, the floor is called back: nobody else gets any more of it, each gateway
//! answers when what it has lent has *drained*, and when all have, one latency later, the floor is the class's own
//! again. Nothing that runs is ended, and until then the class may start whatever has room. So a loan costs the first
//! callers up to the longest work that was lent to. Source: mofluxhq/moflux-bench, as far as its benchmark shows it.

use super::{Admission, Answer, Cast, Denial, Entrant, Habits, Plan, Scene};
use crate::gauge::{Gauge, Reading};
use crate::request::{End, Reason};
use crate::rng::{Dice, Purpose};
use crate::time::{Nanos, SimTime};

/// Gateways, as they are described.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Slots of all gateways together.
    pub limit: u64,
    /// How many gateways there are, at least 1.
    pub gateways: u64,
    /// Classes and the slots that are kept for them.
    pub floors: Vec<(String, u64)>,
    /// How long a class must have been idle everywhere.
    pub idle: Nanos,
    /// How often reports are looked at.
    pub report: Nanos,
    /// From the controller to a gateway or back.
    pub latency: Nanos,
}

/// Part number `at` of `all` in `parts` that differ by one at most.
fn part(all: u64, parts: u64, at: u64) -> u64 {
    all / parts + u64::from(at < all % parts)
}

impl Plan for Settings {
    fn build(&self, cast: &Cast<'_>) -> Box<dyn Admission> {
        let floor =
            |class: &String| self.floors.iter().find(|(name, _)| name == class).map_or(0, |floor| floor.1);
        let floors: Vec<u64> = cast.classes.iter().map(floor).collect();
        let gateway = |at: u64| {
            let floors: Vec<u64> = floors.iter().map(|floor| part(*floor, self.gateways, at)).collect();
            // What no floor keeps is the rest of the gateway's slots.
            let limit = part(self.limit, self.gateways, at).max(floors.iter().sum());
            Gateway { limit, used: vec![0; floors.len()], waiting: vec![0; floors.len()], floors }
        };
        Box::new(FloorLending {
            settings: self.clone(),
            luck: cast.luck,
            gateways: (0..self.gateways).map(gateway).collect(),
            loans: floors.iter().map(|floor| Loan { floor: *floor, ..Loan::default() }).collect(),
            in_use: Gauge::new(0),
            lent: Gauge::new(0),
            next: SimTime::ZERO.saturating_add(self.report),
        })
    }
}

/// One gateway's books, by class.
#[derive(Clone, Debug)]
struct Gateway {
    limit: u64,
    floors: Vec<u64>,
    used: Vec<u64>,
    waiting: Vec<u64>,
}

/// How a class's floor stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// It is the class's own.
    #[default]
    Own,
    /// The gateways are asked; they have all answered at that instant.
    Preparing(SimTime),
    /// Others may use it.
    Lent,
    /// It is called back, and something is at work in it still.
    Draining,
    /// All gateways have drained; their answers are in at that instant.
    Restoring(SimTime),
}

/// A class's floor, and when the class was last seen anywhere.
#[derive(Clone, Copy, Debug, Default)]
struct Loan {
    floor: u64,
    stage: Stage,
    seen: SimTime,
}

/// Gateways at work.
#[derive(Clone, Debug)]
pub struct FloorLending {
    settings: Settings,
    luck: Dice,
    gateways: Vec<Gateway>,
    /// By class.
    loans: Vec<Loan>,
    in_use: Gauge,
    /// Slots of floors that are lent.
    lent: Gauge,
    next: SimTime,
}

impl FloorLending {
    /// The gateway and the class of a call.
    fn of(&self, entrant: &Entrant<'_>) -> (usize, usize) {
        let bits = Dice(entrant.ask.dice.0 ^ self.luck.0).bits(Purpose::Policy, entrant.number);
        let gateway = (u128::from(bits) * self.gateways.len() as u128) >> 64;
        (gateway as usize, entrant.ask.class.0 as usize)
    }

    /// What all classes use of a gateway beyond their floors.
    fn beyond(gateway: &Gateway) -> u64 {
        gateway.used.iter().zip(&gateway.floors).map(|(used, floor)| used.saturating_sub(*floor)).sum()
    }

    /// What may be used of a gateway beyond the floors.
    fn open(&self, gateway: &Gateway) -> u64 {
        let floors: u64 = gateway.floors.iter().sum();
        let lent = self.loans.iter().zip(&gateway.floors).filter(|(loan, _)| loan.stage == Stage::Lent);
        gateway.limit - floors + lent.map(|(_, floor)| floor).sum::<u64>()
    }

    /// Whether any gateway has more at work beyond the floors than may be without loans.
    fn has_drained(&self) -> bool {
        self.gateways.iter().all(|gateway| FloorLending::beyond(gateway) <= self.open(gateway))
    }

    /// A class is seen: its floor is called back if it is lent, and not lent if that was being prepared.
    fn see(&mut self, now: SimTime, class: usize) {
        let loan = &mut self.loans[class];
        loan.seen = now;
        match loan.stage {
            Stage::Preparing(_) => loan.stage = Stage::Own,
            Stage::Lent => {
                loan.stage = Stage::Draining;
                self.lent.down(now, self.loans[class].floor);
                self.drain(now);
            }
            _ => {}
        }
    }

    fn drain(&mut self, now: SimTime) {
        if self.loans.iter().any(|loan| loan.stage == Stage::Draining) && self.has_drained() {
            let at = now.saturating_add(self.settings.latency);
            for loan in self.loans.iter_mut().filter(|loan| loan.stage == Stage::Draining) {
                loan.stage = Stage::Restoring(at);
            }
        }
    }

    fn is_idle(&self, class: usize) -> bool {
        self.gateways.iter().all(|gateway| gateway.used[class] + gateway.waiting[class] == 0)
    }
}

impl Admission for FloorLending {
    fn habits(&self) -> Habits {
        Habits { sheds: true, keeps_time: true, minds_queue: true, ..Habits::default() }
    }

    /// It turns nobody away at once, but hears who comes.
    fn sheds(&mut self, now: SimTime, entrant: &Entrant<'_>, _scene: &Scene) -> Option<Denial> {
        self.see(now, entrant.ask.class.0 as usize);
        None
    }

    fn admit(&self, _now: SimTime, entrant: &Entrant<'_>) -> Answer {
        let (gateway, class) = self.of(entrant);
        let gateway = &self.gateways[gateway];
        let is_full = gateway.limit <= gateway.used.iter().sum();
        let has_floor = gateway.used[class] < gateway.floors[class];
        if !is_full && (has_floor || FloorLending::beyond(gateway) < self.open(gateway)) {
            Answer::Pass
        } else {
            Answer::Wait
        }
    }

    fn take(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        let (gateway, class) = self.of(entrant);
        self.gateways[gateway].used[class] += 1;
        self.gateways[gateway].waiting[class] -= u64::from(entrant.queued);
        self.in_use.up(now, 1);
    }

    fn settle(&mut self, now: SimTime, entrant: &Entrant<'_>, _end: End) {
        let (gateway, class) = self.of(entrant);
        self.gateways[gateway].used[class] -= 1;
        self.in_use.down(now, 1);
        self.loans[class].seen = now;
        self.drain(now);
    }

    fn waits(&mut self, _now: SimTime, entrant: &Entrant<'_>) {
        let (gateway, class) = self.of(entrant);
        self.gateways[gateway].waiting[class] += 1;
    }

    fn gave_up(&mut self, now: SimTime, entrant: &Entrant<'_>) {
        let (gateway, class) = self.of(entrant);
        self.gateways[gateway].waiting[class] -= 1;
        self.loans[class].seen = now;
    }

    /// Another gateway may have room, and another class.
    fn per_key(&self) -> bool {
        true
    }

    fn denial(&self, _now: SimTime, entrant: &Entrant<'_>) -> Denial {
        let (gateway, _) = self.of(entrant);
        let gateway = &self.gateways[gateway];
        let is_full = gateway.limit <= gateway.used.iter().sum();
        Denial { reason: Reason::Concurrency, scope: if is_full { "gateway" } else { "floor" } }
    }

    fn alarm(&self) -> Option<SimTime> {
        let answers = self.loans.iter().filter_map(|loan| match loan.stage {
            Stage::Preparing(at) | Stage::Restoring(at) => Some(at),
            _ => None,
        });
        answers.chain([self.next]).min()
    }

    fn ring(&mut self, now: SimTime, _scene: &Scene) {
        let Settings { idle, latency, report, .. } = self.settings;
        let reports = self.next <= now;
        if reports {
            self.next = now.saturating_add(report);
        }
        for class in 0..self.loans.len() {
            let loan = self.loans[class];
            let stage = match loan.stage {
                Stage::Preparing(at) if at <= now => {
                    self.lent.up(now, loan.floor);
                    Stage::Lent
                }
                Stage::Restoring(at) if at <= now => Stage::Own,
                Stage::Own
                    if reports && 0 < loan.floor && self.is_idle(class) && idle <= now.since(loan.seen) =>
                {
                    Stage::Preparing(now.saturating_add(Nanos(latency.0.saturating_mul(2).max(1))))
                }
                other => other,
            };
            self.loans[class].stage = stage;
        }
    }

    fn limit(&self) -> Option<u64> {
        Some(self.settings.limit)
    }

    fn gauges(&mut self, now: SimTime, visit: &mut dyn FnMut(&'static str, Reading)) {
        visit("in_use", self.in_use.read(now));
        visit("lent", self.lent.read(now));
    }
}
