//! Eighty small scenarios beside a model in whole numbers: thousandths of a unit, at whole milliseconds.

use crate::support::{cost, limiter};
use tidegate::limiter::{Limiter, Verdict};
use tidegate::time::SimTime;

const GAPS_MS: [u64; 6] = [0, 333, 1, 499, 500, 1000];
const MS: u64 = 1_000_000;

/// The model: with r units a second, a millisecond brings r thousandths.
struct Model {
    capacity: u64,
    rate: u64,
    milli: u64,
}

impl Model {
    /// Whether it passes, thousandths left, and the wait in nanoseconds.
    fn ask(&mut self, gap_ms: u64, units: u64) -> (bool, u64, u64) {
        self.milli = (self.milli + self.rate * gap_ms).min(self.capacity * 1_000);
        match (units * 1_000).checked_sub(self.milli).filter(|lack| 0 < *lack) {
            None => {
                self.milli -= units * 1_000;
                (true, self.milli, 0)
            }
            // r thousandths a millisecond, a millionth of that a nanosecond.
            Some(lack) => (false, self.milli, (lack * MS).div_ceil(self.rate)),
        }
    }
}

/// Whether it passes, billionths left, and the wait.
fn ask(limiter: &mut dyn Limiter, now: u64, units: u64) -> (bool, u64, u64) {
    let (now, ask) = (SimTime(now), cost(units));
    let (passes, wait) = match limiter.check(now, &ask) {
        Verdict::Pass => (true, 0),
        Verdict::At(at) => (false, (at - now).0),
        other => panic!("{other:?}"),
    };
    if passes {
        limiter.take(now, &ask);
    } else {
        limiter.refuse(now, &ask);
    }
    let (credits, price) = limiter.remaining(now, &ask);
    (passes, (credits as u128 * 1_000_000_000 / price) as u64, wait)
}

fn make(kind: &str, rate: u64, capacity: u64) -> Box<dyn Limiter> {
    limiter(&format!("kind = '{kind}'\nunit = 'tokens'\nrate = '{rate}/s'\nburst = {capacity}"))
}

#[test]
fn eighty_scenarios_are_decided_as_the_model_does() {
    let mut scenarios = 0;
    for (capacity, rate) in (1..=4).flat_map(|capacity| (1..=4).map(move |rate| (capacity, rate))) {
        for variant in 0..5 {
            for kind in ["token_bucket", "gcra"] {
                let mut model = Model { capacity, rate, milli: capacity * 1_000 };
                let mut limiter = make(kind, rate, capacity);
                let mut other = make(kind, rate, capacity);
                let (mut now, mut admitted) = (0, Vec::new());
                for event in 0..6 {
                    let gap_ms = GAPS_MS[(event + variant) % 6];
                    let units = (event + variant) as u64 % capacity + 1;
                    now += gap_ms * MS;
                    let what =
                        format!("{kind}, capacity {capacity}, rate {rate}, variant {variant}, event {event}");
                    let (passes, milli, wait) = model.ask(gap_ms, units);
                    assert_eq!(ask(limiter.as_mut(), now, units), (passes, milli * MS, wait), "{what}");
                    if passes {
                        admitted.push((now, units));
                    }
                    // Two buckets are independent: one that nobody asked is full.
                    assert_eq!(
                        other.remaining(SimTime(now), &cost(1)).0,
                        full(kind, rate, capacity),
                        "{what}"
                    );
                }
                ask(other.as_mut(), now, 1);
                for (from, (start, _)) in admitted.iter().enumerate() {
                    for (end, _) in &admitted[from..] {
                        let cost: u64 =
                            admitted[from..].iter().filter(|(at, _)| at <= end).map(|(_, units)| units).sum();
                        let most = capacity * 1_000_000_000 + rate * (end - start);
                        assert!(cost * 1_000_000_000 <= most, "{cost} between {start} and {end}");
                    }
                }
            }
            scenarios += 1;
        }
    }
    assert_eq!(scenarios, 80);
}

#[test]
fn the_same_schedule_repeats_exactly_and_an_ask_above_the_capacity_moves_no_clock() {
    for kind in ["token_bucket", "gcra"] {
        let run = || {
            let mut limiter = make(kind, 2, 3);
            let mut answers = Vec::new();
            for event in 0..200u64 {
                let now = (event * 137 % 61 + event * 90) * MS;
                answers.push(ask(limiter.as_mut(), now, event % 3 + 1));
            }
            answers
        };
        assert_eq!(run(), run(), "{kind}");
        // Four of three never pass, and leave the bucket at the instant before: one that comes earlier still passes.
        let mut limiter = make(kind, 2, 3);
        assert!(ask(limiter.as_mut(), 100 * MS, 1).0);
        assert_eq!(limiter.check(SimTime(200 * MS), &cost(4)), Verdict::Never);
        limiter.refuse(SimTime(200 * MS), &cost(4));
        assert!(limiter.check(SimTime(150 * MS), &cost(1)).passes(), "{kind}");
    }
}

fn full(kind: &str, rate: u64, capacity: u64) -> i128 {
    make(kind, rate, capacity).remaining(SimTime(0), &cost(1)).0
}

#[test]
fn a_third_of_a_second_is_not_quite_enough() {
    for kind in ["token_bucket", "gcra"] {
        let mut limiter = make(kind, 3, 2);
        assert_eq!(ask(limiter.as_mut(), 0, 2), (true, 0, 0));
        assert_eq!(ask(limiter.as_mut(), 333 * MS, 1), (false, 999_000_000, 333_334));
        assert_eq!(ask(limiter.as_mut(), 334 * MS, 1), (true, 2_000_000, 0));
    }
}
