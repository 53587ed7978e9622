//! A limit as it runs in production: its state lies in a store that several gateways share.
//!
//! The rule is exact; what goes wrong lies around it. A read and a write are two steps between which others come, a
//! lock is waited for, clocks differ, copies are brought together only now and then, the store is away, a key is made
//! in two steps between which its maker dies. [`Deployed`] wraps a rule and does what such a deployment does; beside
//! it runs the ideal limit on the same asks, and the differences are counted: *over-admitted* is what the ideal limit
//! would have refused, *falsely refused* is what it would have passed.
//!
//! An ask reads when it arrives and starts when the store has answered, one latency later; a refusal is told at once, but
//! for want of a lock after the longest wait for it. Latencies, gateways and crashes are drawn for the limit's asks one after the other.

mod clock;
mod deployed;
#[cfg(test)]
mod tests;

use crate::dist::Dist;
use crate::rng::{Dice, Purpose};
use crate::time::{Nanos, SimTime};
pub use clock::Clocks;
pub use deployed::Deployed;

/// What stands around a limit.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Gateways that share the limit, at least 1; each ask comes to one of them by chance.
    pub gateways: u32,
    /// How a gateway reads and writes.
    pub access: Access,
    /// From a gateway's question to the store's answer, over nanoseconds; `None` takes no time.
    pub latency: Option<Dist>,
    /// Whose clock the limit sees.
    pub clocks: Clocks,
    /// When the store is away: from, until.
    pub outages: Vec<(SimTime, SimTime)>,
    /// Whether asks pass while the store is away.
    pub fails_open: bool,
    /// How a key is made and looked at.
    pub expiry: Expiry,
    /// What chance depends on.
    pub luck: Dice,
}

/// How a gateway decides on the shared state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// In one step inside the store, as a script does.
    Atomic,
    /// Reads, decides, and writes what it made of what it read: writes in between are lost.
    Optimistic,
    /// Under a lock, held for two latencies and granted in the order of asking; who would wait longer is refused.
    Lock {
        /// The longest wait for the lock.
        timeout: Nanos,
    },
    /// On a copy of its own; every so often each gateway hears what the others have taken.
    Local {
        /// Between two exchanges.
        every: Nanos,
    },
}

/// How a key comes to be and goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expiry {
    /// With its expiry, in one step.
    Together,
    /// Set, then given an expiry: with this chance its maker dies in between, and the key never expires. An ask looks
    /// whether the key is there and then reads it, one latency later; if it has expired by then, the ask is refused.
    TwoSteps {
        /// Share of makers that die.
        crash: f64,
    },
}

impl Deployment {
    /// One gateway and a store that answers at once: the limit itself.
    pub fn ideal() -> Deployment {
        Deployment {
            gateways: 1,
            access: Access::Atomic,
            latency: None,
            clocks: Clocks::default(),
            outages: Vec::new(),
            fails_open: false,
            expiry: Expiry::Together,
            luck: Dice(0),
        }
    }

    /// The chance of ask number `ask` at `now`; the instant tells keys apart, each of which counts its own asks.
    fn luck_of(&self, ask: u64, now: SimTime) -> Dice {
        let mixed = now.0.wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ ask.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Dice(self.luck.0.wrapping_add(mixed))
    }

    /// The gateway that ask number `ask` comes to.
    fn gateway(&self, ask: u64, now: SimTime) -> u32 {
        let bits = self.luck_of(ask, now).bits(Purpose::Policy, 0);
        ((bits as u128 * self.gateways as u128) >> 64) as u32
    }

    /// How long the store takes to answer ask number `ask`.
    fn latency(&self, ask: u64, now: SimTime) -> Nanos {
        self.latency
            .as_ref()
            .map_or(Nanos::ZERO, |latency| latency.nanos(self.luck_of(ask, now).bits(Purpose::Policy, 1)))
    }

    /// Whether the gateway that serves ask number `ask` dies before it has given a new key its expiry.
    fn crashes(&self, ask: u64, now: SimTime) -> bool {
        matches!(self.expiry, Expiry::TwoSteps { crash } if self.luck_of(ask, now).share(Purpose::Policy, 2) < crash)
    }

    /// Until when the store is away.
    fn away_until(&self, now: SimTime) -> Option<SimTime> {
        self.outages.iter().find(|(from, until)| *from <= now && now < *until).map(|(_, until)| *until)
    }
}
