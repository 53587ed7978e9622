//! Chance: one generator per named purpose, and a call's own luck.
//!
//! The run's seed and a purpose's name (`traffic/chat/arrivals`) give a [`Stream`]: ChaCha with eight rounds, the
//! stream number being a stable hash of the name, so that adding one stream never moves another. Each call draws
//! one number from its traffic's stream when it is born, its [`Dice`]; all that happens to the call (its size, its
//! service demand, its jitter) is a mix of that number, a purpose and the attempt's number. So the same call
//! meets the same luck under every policy compared, whatever happened before it.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A generator of its own for one named purpose.
///
/// Numbers are taken from the generator in batches of what it makes at once, which is cheaper than one by one.
#[derive(Clone, Debug)]
pub struct Stream {
    rng: ChaCha8Rng,
    batch: [u64; BATCH],
    used: usize,
}

/// Four blocks of ChaCha.
const BATCH: usize = 32;

impl Stream {
    /// The stream of `name` in the run with `seed`.
    pub fn new(seed: u64, name: &str) -> Stream {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(name_hash(name));
        Stream { rng, batch: [0; BATCH], used: BATCH }
    }

    /// The next number, uniform over all 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let bits = match self.batch.get(self.used) {
            Some(bits) => *bits,
            None => self.refill(),
        };
        self.used += 1;
        bits
    }

    #[inline(never)]
    fn refill(&mut self) -> u64 {
        let mut bytes = [0; 8 * BATCH];
        self.rng.fill_bytes(&mut bytes);
        for (bits, bytes) in self.batch.iter_mut().zip(bytes.as_chunks().0) {
            *bits = u64::from_le_bytes(*bytes);
        }
        self.used = 0;
        self.batch[0]
    }

    /// The next call's luck.
    #[inline]
    pub fn dice(&mut self) -> Dice {
        Dice(self.bits())
    }
}

/// FNV-1a over 64 bits (Fowler, Noll, Vo): short, and the same everywhere.
fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ byte as u64).wrapping_mul(0x0100_0000_01b3))
}

/// What a draw is for. The numbers are part of every result: append, never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Service demand.
    Service = 1,
    /// Whether the downstream fails.
    Error = 2,
    /// Jitter of a backoff.
    Backoff = 3,
    /// Which tenant.
    Tenant = 4,
    /// Which user.
    User = 5,
    /// Which feature.
    Feature = 6,
    /// Input tokens.
    InputTokens = 7,
    /// Output tokens.
    OutputTokens = 8,
    /// Maximum output tokens.
    MaxOutputTokens = 9,
    /// A policy that rolls dice.
    Policy = 10,
    /// Jitter of what a refusal advises.
    RetryAfter = 11,
    /// Characters of a call's text.
    Characters = 12,
    /// The luck of what work calls.
    Calls = 13,
    /// Whether a call of a downstream is made.
    Made = 14,
    /// How often it is made.
    Times = 15,
    /// The luck of one such call.
    Called = 16,
}

/// A call's luck: every draw for the call is a function of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dice(pub u64);

impl Dice {
    /// The call's number for `purpose` in its attempt number `attempt`, uniform over all 64 bits.
    ///
    /// The mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014; variant 13 of Stafford) over the call's
    /// number moved by an odd multiple of purpose and attempt.
    #[inline]
    pub fn bits(self, purpose: Purpose, attempt: u32) -> u64 {
        let step = (purpose as u64) << 32 | attempt as u64;
        let mut z = self.0.wrapping_add(step.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The same as a share in [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn share(self, purpose: Purpose, attempt: u32) -> f64 {
        share(self.bits(purpose, attempt))
    }
}

/// Uniform bits as a share in [0, 1), a multiple of 2^-53.
#[inline]
pub fn share(bits: u64) -> f64 {
    // Signed, because that conversion is the cheaper one.
    (bits >> 11) as i64 as f64 * (1.0 / 9_007_199_254_740_992.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_told_apart_by_name_and_by_seed() {
        let first = |seed, name| Stream::new(seed, name).bits();
        assert_eq!(first(1, "traffic/a/arrivals"), first(1, "traffic/a/arrivals"));
        assert_ne!(first(1, "traffic/a/arrivals"), first(1, "traffic/b/arrivals"));
        assert_ne!(first(1, "traffic/a/arrivals"), first(2, "traffic/a/arrivals"));
    }

    #[test]
    fn batches_are_the_numbers_of_the_generator_one_by_one() {
        let mut stream = Stream::new(7, "traffic/a/calls");
        let mut rng = stream.rng.clone();
        for number in 0..3 * BATCH {
            assert_eq!(stream.bits(), rng.next_u64(), "number {number}");
        }
    }

    #[test]
    fn names_hash_as_the_published_fnv_1a_vectors_say() {
        assert_eq!(name_hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(name_hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(name_hash("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn draws_for_other_purposes_and_attempts_are_uncorrelated() {
        let mut stream = Stream::new(1, "test");
        let n = 100_000;
        let (mut service_retry, mut service_backoff) = (0.0, 0.0);
        for _ in 0..n {
            let dice = stream.dice();
            let service = dice.share(Purpose::Service, 1) - 0.5;
            service_retry += service * (dice.share(Purpose::Service, 2) - 0.5);
            service_backoff += service * (dice.share(Purpose::Backoff, 1) - 0.5);
        }
        // The product of two independent centred uniforms has the deviation 1/12; five of them are allowed.
        let bound = 5.0 / 12.0 * (n as f64).sqrt();
        assert!(service_retry.abs() < bound && service_backoff.abs() < bound);
    }
}
