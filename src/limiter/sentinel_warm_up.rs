//! Sentinel's warm-up: a threshold that is low after silence and rises as calls come.
//!
//! With `rate` calls per second, a warm-up and a cold factor, tokens are saved up to max = warning + ⌊2·warm_up·rate /
//! (1 + cold_factor)⌋, where warning = ⌊warm_up·rate⌋ / (cold_factor − 1) in whole numbers. Once per whole second: if fewer
//! than warning are saved, or more but the second before passed fewer than ⌊rate⌋ / cold_factor, the rate for the time since
//! is added; then what the second before passed is taken off. It starts cold, with max.
//!
//! An ask of n passes if what passed in the last second and n are not more than the rate, or with `above` tokens over
//! warning, than the next double above 1 / (above·slope + 1/rate). The last second is two buckets of 500 ms. When time
//! steps back nothing is filled, and a call counts in the bucket of its time if that is still kept. Source: Sentinel's
//! `WarmUpController`, `StatisticNode`, `LeapArray`.

use super::{Level, Rule, Verdict};
use crate::time::SimTime;

/// A controller's rule.
#[derive(Clone, Debug, PartialEq)]
pub struct SentinelWarmUp {
    rate: f64,
    cold_factor: u64,
    warning: u64,
    max: u64,
    slope: f64,
}

/// Tokens as of a second, and what passed lately.
#[derive(Clone, Debug)]
pub struct State {
    /// Saved tokens and the second of the last filling; nothing before the first ask.
    saved: Option<(u64, u64)>,
    /// The 500 ms bucket that was used last, its count, and that of the one before.
    bucket: u64,
    present: u64,
    last: u64,
    /// The second that was used last, its count, and that of the one before.
    second: u64,
    this_second: u64,
    second_before: u64,
}

const BUCKET_NS: u64 = 500_000_000;
const SECOND_NS: u64 = 1_000_000_000;

impl SentinelWarmUp {
    /// A controller of `rate` calls per second that warms up in so many seconds. A cold factor is 2 or more.
    pub fn new(rate: f64, warm_up_seconds: u64, cold_factor: u64) -> SentinelWarmUp {
        assert!(1 < cold_factor, "a cold factor is 2 or more");
        let calls = warm_up_seconds as f64 * rate;
        let warning = calls as u64 / (cold_factor - 1);
        let max = warning + (2.0 * calls / (1.0 + cold_factor as f64)) as u64;
        let slope = (cold_factor as f64 - 1.0) / rate / (max - warning) as f64;
        SentinelWarmUp { rate, cold_factor, warning, max, slope }
    }

    /// Whether a call passes that comes after silence. If not, none ever does.
    pub fn passes_when_cold(&self) -> bool {
        self.passes(&self.fresh(), SimTime::ZERO, 1)
    }

    /// Counts moved on to now, or as they are if time has stepped back: of the bucket before and this one, of the second
    /// before and this one.
    fn moved(&self, state: &State, now: SimTime) -> State {
        let (bucket, second) = (state.bucket.max(now.0 / BUCKET_NS), state.second.max(now.0 / SECOND_NS));
        let shift = |steps: u64, last: u64, present: u64| match steps {
            0 => (last, present),
            1 => (present, 0),
            _ => (0, 0),
        };
        let (last, present) = shift(bucket - state.bucket, state.last, state.present);
        let (second_before, this_second) =
            shift(second - state.second, state.second_before, state.this_second);
        let mut then =
            State { saved: state.saved, bucket, present, last, second, this_second, second_before };
        then.saved = Some((self.saved(state.saved, second, second_before), second));
        then
    }

    /// Tokens at `second`, before which `passed` calls passed in a second.
    fn saved(&self, saved: Option<(u64, u64)>, second: u64, passed: u64) -> u64 {
        let Some((tokens, filled)) = saved else { return self.max };
        if second <= filled {
            return tokens;
        }
        let cools =
            tokens < self.warning || self.warning < tokens && passed < self.rate as u64 / self.cold_factor;
        let gained = if cools { (second - filled) as f64 * self.rate } else { 0.0 };
        let tokens = (tokens as f64 + gained) as u64;
        tokens.min(self.max).saturating_sub(passed)
    }

    /// Calls per second that may pass with so many tokens.
    fn threshold(&self, tokens: u64) -> f64 {
        match tokens.checked_sub(self.warning) {
            Some(above) => (1.0 / (above as f64 * self.slope + 1.0 / self.rate)).next_up(),
            None => self.rate,
        }
    }

    fn passes(&self, state: &State, now: SimTime, cost: u64) -> bool {
        let then = self.moved(state, now);
        let (tokens, _) = then.saved.unwrap_or_default();
        let passed = then.last.saturating_add(then.present).saturating_add(cost);
        passed as f64 <= self.threshold(tokens)
    }
}

impl Rule for SentinelWarmUp {
    type State = State;
    const JUMPS: bool = true;

    fn fresh(&self) -> State {
        State { saved: None, bucket: 0, present: 0, last: 0, second: 0, this_second: 0, second_before: 0 }
    }

    fn check(&self, state: &State, now: SimTime, cost: u64) -> Verdict {
        if self.passes(state, now, cost) {
            return Verdict::Pass;
        }
        // Nothing changes within a bucket. Two seconds on all that passed has left the counts: from then on it cools, and
        // what doesn't pass never does.
        let then = self.moved(state, now);
        let buckets = then.bucket.saturating_add(1)..=then.bucket.saturating_add(2 * 2 + 2);
        let mut starts = buckets.filter_map(|bucket| bucket.checked_mul(BUCKET_NS)).map(SimTime);
        starts.find(|at| self.passes(&then, *at, cost)).map_or(Verdict::Never, Verdict::At)
    }

    fn take(&self, state: &mut State, now: SimTime, cost: u64) {
        self.charge(state, now, cost);
    }

    fn charge(&self, state: &mut State, now: SimTime, cost: u64) {
        *state = self.moved(state, now);
        let add = |steps_back: u64, last: &mut u64, present: &mut u64| match steps_back {
            0 => *present = present.saturating_add(cost),
            1 => *last = last.saturating_add(cost),
            _ => {}
        };
        add(state.bucket - now.0 / BUCKET_NS, &mut state.last, &mut state.present);
        add(state.second - now.0 / SECOND_NS, &mut state.second_before, &mut state.this_second);
    }

    fn refuse(&self, state: &mut State, now: SimTime, _cost: u64) {
        *state = self.moved(state, now);
    }

    /// What may pass now, in billionths. It changes with every bucket until it is quiet and as cold as it gets; after a long
    /// silence it is told again only when that has grown by a part in 64, so that years of cooling are a few steps.
    fn level(&self, state: &State, now: SimTime) -> Level {
        let then = self.moved(state, now);
        let (tokens, _) = then.saved.unwrap_or_default();
        let is_quiet = then.last.max(then.present).max(then.this_second).max(then.second_before) == 0;
        let rests = is_quiet && (tokens == self.max || tokens == self.warning);
        let silent = then.bucket - state.bucket;
        let next = then.bucket.checked_add(1 + silent / 64).and_then(|bucket| bucket.checked_mul(BUCKET_NS));
        let billionths = |calls: f64| (calls * 1e9).floor() as i128;
        let room = self.threshold(tokens) - then.last.saturating_add(then.present) as f64;
        let until = next.filter(|_| !rests).map(SimTime);
        Level { credits: billionths(room), full: billionths(self.rate), gain: 0, price: 1_000_000_000, until }
    }

    /// When it is as cold as at the start has no instant that can be told ahead; the end of the last second has.
    fn reset(&self, _state: &State, now: SimTime) -> Option<SimTime> {
        now.checked_add(crate::time::Nanos(SECOND_NS))
    }

    /// When it will be as cold as at the start is not told ahead.
    fn gone_at(&self, state: &State, now: SimTime) -> Option<SimTime> {
        (state.saved.is_none() || self.is_idle(state, state, now)).then_some(now)
    }

    /// Quiet, and as cold as at the start.
    fn is_idle(&self, state: &State, _fresh: &State, now: SimTime) -> bool {
        let State { saved, present, last, this_second, second_before, .. } = self.moved(state, now);
        let is_quiet = [present, last, this_second, second_before] == [0; 4];
        is_quiet && saved.is_some_and(|(tokens, _)| tokens == self.max)
    }

    fn steps_back(&self) -> bool {
        true
    }

    fn capacity(&self) -> Option<(u64, &'static str)> {
        Some((self.rate as u64, "rate"))
    }
}
