//! Weights of the keys of a fair queue.

/// Weights by key; keys that are not listed weigh 1.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    weights: Vec<u32>,
    scale: u64,
}

/// The largest scale: beyond it prices are rounded.
const MOST: u64 = 1 << 40;

impl Weights {
    /// Weights above 0, by the key's number.
    pub fn new(weights: Vec<u32>) -> Weights {
        let common = weights.iter().try_fold(1, |scale, weight| {
            let weight = u64::from(*weight);
            let scale: u64 = scale / gcd(scale, weight) * weight;
            (scale <= MOST).then_some(scale)
        });
        Weights { weights, scale: common.unwrap_or(MOST) }
    }

    /// What a key weighs.
    pub fn of(&self, key: u32) -> u64 {
        self.weights.get(key as usize).copied().unwrap_or(1).into()
    }

    /// What a unit costs a key in virtual time: in inverse proportion to its weight. The prices are whole and exact if
    /// the weights have a common multiple up to 2⁴⁰, else rounded up to 2⁻⁴⁰ of the dearest.
    pub fn price(&self, key: u32) -> u64 {
        self.scale.div_ceil(self.of(key))
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
