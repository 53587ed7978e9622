//! Retry budgets: what bounds the retries of all calls of a client together.

use crate::time::{Nanos, SimTime};

/// Two verbs: every call deposits, every retry withdraws.
pub trait Budget: Send {
    /// A call's first attempt was made.
    fn deposit(&mut self, now: SimTime);
    /// Whether a retry may be made; if so, it is paid for.
    fn withdraw(&mut self, now: SimTime) -> bool;
}

/// Finagle's budget: retries are a share of the calls of the last while, and a few per second for nothing.
///
/// Every call deposits 1000 (nothing if the share is 0); a retry costs ⌊1000 / share⌋ (1 if the share is 0) and may
/// be made while deposits less withdrawals of the last `ttl`, plus a reserve of `min_per_second` retries for every
/// second of it, cover its cost. The last `ttl` is counted in ten slices. Source: `RetryBudget` of twitter/util's
/// Finagle.
#[derive(Clone, Debug)]
pub struct Finagle {
    deposit: i64,
    withdrawal: i64,
    reserve: i64,
    slice: Nanos,
    slices: [i64; 10],
    /// The number of the newest slice since the start.
    newest: u64,
    balance: i64,
}

impl Finagle {
    /// A budget of `share` of the calls over `ttl`, and `min_per_second` on top.
    pub fn new(share: f64, ttl: Nanos, min_per_second: u64) -> Finagle {
        let (deposit, withdrawal) = if share > 0.0 { (1_000, (1_000.0 / share) as i64) } else { (0, 1) };
        let reserve = (min_per_second as u128 * ttl.0 as u128 / 1_000_000_000) as i64 * withdrawal;
        Finagle {
            deposit,
            withdrawal,
            reserve,
            slice: Nanos((ttl.0 / 10).max(1)),
            slices: [0; 10],
            newest: 0,
            balance: 0,
        }
    }

    /// Forgets the slices that are older than the last ten.
    fn advance(&mut self, now: SimTime) {
        let current = now.0 / self.slice.0;
        let passed = (current - self.newest).min(10);
        for i in 1..=passed {
            let slot = &mut self.slices[((self.newest + i) % 10) as usize];
            self.balance -= *slot;
            *slot = 0;
        }
        if passed == 10 {
            self.slices = [0; 10];
            self.balance = 0;
        }
        self.newest = current;
    }

    fn add(&mut self, amount: i64) {
        self.slices[(self.newest % 10) as usize] += amount;
        self.balance += amount;
    }
}

impl Budget for Finagle {
    fn deposit(&mut self, now: SimTime) {
        self.advance(now);
        self.add(self.deposit);
    }

    fn withdraw(&mut self, now: SimTime) -> bool {
        self.advance(now);
        if self.balance + self.reserve < self.withdrawal {
            return false;
        }
        self.add(-self.withdrawal);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_calls_may_be_retried() {
        let mut budget = Finagle::new(0.1, Nanos::secs(10), 0);
        (0..100).for_each(|_| budget.deposit(SimTime::ZERO));
        let granted = (0..100).filter(|_| budget.withdraw(SimTime::ZERO)).count();
        assert_eq!(granted, 10);
    }

    #[test]
    fn the_reserve_grants_retries_without_any_call_and_comes_back_after_the_ttl() {
        let mut budget = Finagle::new(0.2, Nanos::secs(10), 10);
        let granted = |budget: &mut Finagle, at| (0..1_000).filter(|_| budget.withdraw(SimTime(at))).count();
        assert_eq!(granted(&mut budget, 0), 100);
        assert_eq!(granted(&mut budget, 9_999_999_999), 0);
        assert_eq!(granted(&mut budget, 10_000_000_000), 100);
    }
}
