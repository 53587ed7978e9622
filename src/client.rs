//! Clients: how long they wait, and what they do when they are refused.

pub mod backoff;
pub mod budget;

use crate::rng::Dice;
use crate::time::{Nanos, SimTime};
use backoff::Exponential;
use budget::Budget;

/// What a caller does around each call.
pub struct Client {
    /// How long it waits for one attempt; `None` is for ever.
    pub timeout: Option<Nanos>,
    /// Whether work that has started is taken back when the caller stops waiting. Otherwise it goes on for nobody.
    pub cancel: bool,
    /// Retries; `None` gives up at once.
    pub retry: Option<Retry>,
}

/// When and how often a client tries again.
pub struct Retry {
    /// Attempts in all, the first included.
    pub max_attempts: u32,
    /// What is tried again.
    pub on: Failures,
    /// The wait before each retry.
    pub backoff: Exponential,
    /// What bounds the retries of all this client's calls together.
    pub budget: Option<Box<dyn Budget>>,
}

/// How an attempt has failed, as its caller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Failure {
    /// Refused by a limiter: status 429.
    Limited = 1,
    /// Turned away for lack of room or health: status 503.
    Unavailable = 2,
    /// Served, and failed: status 500.
    Error = 4,
    /// Not answered in time.
    Timeout = 8,
}

/// A set of failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures(u8);

impl Failure {
    /// Every failure with the names that files give it.
    pub const NAMES: [(&'static str, Failure); 5] = [
        ("429", Failure::Limited),
        ("503", Failure::Unavailable),
        ("500", Failure::Error),
        ("error", Failure::Error),
        ("timeout", Failure::Timeout),
    ];
}

impl FromIterator<Failure> for Failures {
    fn from_iter<I: IntoIterator<Item = Failure>>(failures: I) -> Failures {
        Failures(failures.into_iter().fold(0, |set, failure| set | failure as u8))
    }
}

impl Failures {
    /// Whether the set has it.
    pub fn contains(self, failure: Failure) -> bool {
        self.0 & failure as u8 != 0
    }
}

impl Client {
    /// A client that waits for ever and never tries again.
    pub fn patient() -> Client {
        Client { timeout: None, cancel: false, retry: None }
    }

    /// A new call has come: its first attempt counts for the budget.
    #[inline]
    pub fn called(&mut self, now: SimTime) {
        if let Some(Retry { budget: Some(budget), .. }) = &mut self.retry {
            budget.deposit(now);
        }
    }

    /// The wait before the next attempt after `attempts` of them, or `None` to give up.
    pub fn retry(&mut self, now: SimTime, dice: Dice, attempts: u32, failure: Failure) -> Option<Nanos> {
        let retry = self.retry.as_mut()?;
        if retry.max_attempts <= attempts || !retry.on.contains(failure) {
            return None;
        }
        if let Some(budget) = &mut retry.budget
            && !budget.withdraw(now)
        {
            return None;
        }
        Some(retry.backoff.delay(dice, attempts))
    }
}
