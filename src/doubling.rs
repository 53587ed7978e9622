//! The Retry-After of API priority and fairness of Kubernetes: seconds that double while many are refused.
//!
//! It is reckoned anew at the first refusal of each second, from the refusals of the whole seconds before it, as many
//! as it says: three or more for each of them double it, up to 32, if it has stood for as long; fewer than one for each
//! take a second off. Source: `dropped_requests_tracker.go` of the API server.

use crate::time::{Nanos, SimTime};

/// See the module.
#[derive(Clone, Debug)]
pub struct Doubling {
    seconds: u64,
    raised: u64,
    /// The seconds of the last refusals and how many there were, by second modulo the length.
    history: [(u64, u64); Doubling::MOST as usize + 1],
    now: Option<u64>,
}

impl Default for Doubling {
    fn default() -> Doubling {
        Doubling { seconds: 1, raised: 0, history: [(u64::MAX, 0); Doubling::MOST as usize + 1], now: None }
    }
}

impl Doubling {
    const MOST: u64 = 32;

    /// What one is told to wait that is refused now.
    pub fn wait(&self) -> Nanos {
        Nanos::secs(self.seconds)
    }

    /// One is refused.
    pub fn refuse(&mut self, now: SimTime) {
        let second = now.0 / Nanos::SECOND.0;
        if self.now != Some(second) {
            if self.now.is_some() {
                self.reckon(second);
            }
            self.now = Some(second);
        }
        let place = &mut self.history[(second % (Doubling::MOST + 1)) as usize];
        let before = if place.0 == second { place.1 } else { 0 };
        *place = (second, before + 1);
    }

    fn reckon(&mut self, second: u64) {
        let recent = |at: &u64| *at < second && second - at <= self.seconds;
        let refused: u64 = self.history.iter().filter(|(at, _)| recent(at)).map(|(_, count)| count).sum();
        if 3 * self.seconds <= refused && self.seconds <= second.saturating_sub(self.raised) {
            self.seconds = (2 * self.seconds).min(Doubling::MOST);
            self.raised = second;
        } else if refused < self.seconds && 1 < self.seconds {
            self.seconds -= 1;
        }
    }
}
