//! nginx's `limit_req`: a leaky bucket as a meter, in whole milliseconds and thousandths of a request.
//!
//! With r the rate in thousandths of a request per second, whole, and Δ the whole milliseconds since the last request
//! that moved the clock: e ← max(0, e − ⌊r·Δ / 1000⌋ + 1000). Refused if e would be more than 1000·burst; else it starts
//! (e − 1000·delay)·1000 / r ms later, cut to whole ones, if e is more than 1000·delay. The first request has e = 0. What
//! is refused changes nothing. An ask of n counts as n requests at once, of which the last is judged.
//!
//! A clock that steps back by less than a minute brings nothing; by more, 1 ms, from which it goes on. Source:
//! `ngx_http_limit_req_module.c`.

use super::{Level, Rule, Verdict};
use crate::request::Knob;
use crate::time::SimTime;
use crate::units::Rate;

/// A meter's rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nginx {
    /// Thousandths of a request per second, at least 1.
    rate: u64,
    /// Requests that may be in excess.
    burst: u64,
    /// Requests in excess that start at once; `None` delays nothing.
    delay: Option<u64>,
    written: Rate,
}

/// Excess in thousandths of a request, and the millisecond that it stands at; nothing before the first request.
#[derive(Clone, Debug)]
pub struct State {
    excess: i128,
    last_ms: Option<u64>,
}

const MILLI: i128 = 1_000;
const NANOS_PER_MS: u64 = 1_000_000;
/// A clock that steps back by more is taken for set anew.
const SET_ANEW_MS: i128 = 60_000;

impl Nginx {
    /// A meter; `None` if the rate is less than a thousandth of a request per second, which would never drain.
    pub fn new(rate: Rate, burst: u64, delay: Option<u64>) -> Option<Nginx> {
        let per_second = u128::from(rate.units()) * 1_000_000_000_000 / u128::from(rate.per().0);
        let milli = u64::try_from(per_second).ok().filter(|milli| 0 < *milli)?;
        Some(Nginx { rate: milli, burst, delay, written: rate })
    }

    /// Milliseconds that count since the last request.
    fn elapsed(&self, state: &State, now: SimTime) -> i128 {
        let last = state.last_ms.unwrap_or_default();
        match i128::from(now.0 / NANOS_PER_MS) - i128::from(last) {
            back if back < -SET_ANEW_MS => 1,
            back if back < 0 => 0,
            ms => ms,
        }
    }

    /// The excess that an ask of `cost` requests would leave, at least one.
    fn excess(&self, state: &State, now: SimTime, cost: u64) -> i128 {
        let more = MILLI * (i128::from(cost) - 1);
        if state.last_ms.is_none() {
            return more;
        }
        let drained = i128::from(self.rate) * self.elapsed(state, now) / MILLI;
        (state.excess - drained + MILLI).max(0) + more
    }

    /// Thousandths of requests in the meter, with the one that is served.
    fn water(&self, state: &State, now: SimTime) -> i128 {
        let drained = i128::from(self.rate) * self.elapsed(state, now) / MILLI;
        if state.last_ms.is_none() { 0 } else { (state.excess + MILLI - drained).max(0) }
    }

    fn account(&self, state: &mut State, now: SimTime, cost: u64) {
        let excess = self.excess(state, now, cost);
        let moves = state.last_ms.is_none() || self.elapsed(state, now) != 0;
        let last_ms = if moves { Some(now.0 / NANOS_PER_MS) } else { state.last_ms };
        *state = State { excess, last_ms };
    }
}

impl Rule for Nginx {
    type State = State;

    fn fresh(&self) -> State {
        State { excess: 0, last_ms: None }
    }

    fn check(&self, state: &State, now: SimTime, cost: u64) -> Verdict {
        if cost == 0 {
            return Verdict::Pass;
        }
        let (excess, most) = (self.excess(state, now, cost), MILLI * i128::from(self.burst));
        if most < MILLI * (i128::from(cost) - 1) {
            return Verdict::Never;
        }
        if most < excess {
            // The first whole millisecond by which enough has drained.
            let drain = state.excess + MILLI * i128::from(cost) - most;
            let ms = (drain * MILLI + i128::from(self.rate) - 1) / i128::from(self.rate);
            let at = (i128::from(state.last_ms.unwrap_or_default()) + ms) * i128::from(NANOS_PER_MS);
            return u64::try_from(at).map_or(Verdict::Never, |at| Verdict::At(SimTime(at)));
        }
        match self.delay.map(|delay| excess - MILLI * i128::from(delay)) {
            Some(late) if 0 < late => {
                let nanos = late * MILLI / i128::from(self.rate) * i128::from(NANOS_PER_MS);
                match u64::try_from(i128::from(now.0) + nanos) {
                    Ok(start) if now.0 < start => Verdict::Delay(SimTime(start)),
                    Ok(_) => Verdict::Pass,
                    Err(_) => Verdict::Never, // past the end of representable time
                }
            }
            _ => Verdict::Pass,
        }
    }

    fn take(&self, state: &mut State, now: SimTime, cost: u64) {
        if 0 < cost {
            self.account(state, now, cost);
        }
    }

    fn charge(&self, state: &mut State, now: SimTime, cost: u64) {
        self.take(state, now, cost);
    }

    /// What may pass at once, as it stands at a whole millisecond; between them it is drawn as a line.
    fn level(&self, state: &State, now: SimTime) -> Level {
        // A thousandth of a request is 10^9 credits, of which a nanosecond drains r.
        const CREDITS: i128 = 1_000_000_000;
        let full = MILLI * (i128::from(self.burst) + 1);
        let left = full - self.water(state, now);
        Level {
            credits: left * CREDITS,
            full: full * CREDITS,
            gain: self.rate,
            price: 1_000_000_000_000,
            until: None,
        }
    }

    fn reset(&self, state: &State, now: SimTime) -> Option<SimTime> {
        let water = self.water(state, now);
        if water == 0 {
            return Some(now);
        }
        let ms = (water * MILLI + i128::from(self.rate) - 1) / i128::from(self.rate);
        let at = (i128::from(now.0 / NANOS_PER_MS) + ms) * i128::from(NANOS_PER_MS);
        u64::try_from(at).ok().map(SimTime)
    }

    /// The next request finds no excess, as the first does.
    fn is_idle(&self, state: &State, fresh: &State, now: SimTime) -> bool {
        fresh.last_ms.is_none() && self.water(state, now) == 0
    }

    fn capacity(&self) -> Option<(u64, &'static str)> {
        Some((self.burst.saturating_add(1), "room of burst + 1"))
    }

    fn steps_back(&self) -> bool {
        true
    }

    fn knob(&self, key: &str) -> Option<Knob> {
        match key {
            "rate" => Some(Knob::Rate(self.written)),
            "burst" => Some(Knob::Burst(self.burst)),
            _ => None,
        }
    }

    fn with(&self, knob: Knob) -> Option<Nginx> {
        match knob {
            Knob::Rate(rate) => Nginx::new(rate, self.burst, self.delay),
            Knob::Burst(burst) => Some(Nginx { burst, ..self.clone() }),
            _ => None,
        }
    }
}
