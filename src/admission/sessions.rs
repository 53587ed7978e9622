//! Clients' connections to a service, over which overload controls keep books: so many, each call on one of them.

use crate::request::{Ask, Keys};
use crate::rng::{Dice, Purpose};

/// How calls are spread over connections.
#[derive(Clone, Copy, Debug)]
pub struct Sessions {
    /// How many there are, at least 1.
    pub count: u64,
    /// Whose calls go over the same one. Calls without such a name go over any.
    pub key: Keys,
}

impl Sessions {
    /// The connection of a call.
    pub fn of(&self, ask: &Ask) -> usize {
        let [few, tenant, user] = ask.key_id(self.key).0;
        let who = match few | tenant | user {
            0 => ask.dice.0,
            _ => (u64::from(tenant) << 32 | u64::from(user)) ^ u64::from(few).rotate_right(16),
        };
        let bits = Dice(who).bits(Purpose::Policy, 0);
        ((u128::from(bits) * u128::from(self.count)) >> 64) as usize
    }
}
