//! Log-linear buckets: a power of two of them to an octave.

/// Buckets of an octave, as a power of two, for percentiles.
pub(super) const FINE: u32 = 10;
/// The same for the coarse buckets of `latency_hist.csv`.
pub(super) const COARSE: u32 = 3;

/// The log-linear bucket of a value with 2^bits buckets to an octave; values below 2^(bits+1) have their own.
#[inline]
pub(super) fn bucket(value: u64, bits: u32) -> usize {
    // Below 2^(bits+1) nothing is shifted out, as in the first octave above.
    let shift = 63 - bits - (value | ((2 << bits) - 1)).leading_zeros();
    ((shift as usize) << bits) + (value >> shift) as usize
}

/// The highest value in a bucket.
pub(super) fn highest(bucket: usize, bits: u32) -> u64 {
    let shift = (bucket >> bits).saturating_sub(1) as u32;
    let mantissa = (bucket - ((shift as usize) << bits)) as u64;
    // Wraps to the largest number in the last bucket of all.
    ((mantissa + 1) << shift).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_contiguous_and_cover_every_value() {
        for bits in [FINE, COARSE] {
            let mut next = 0u64;
            for index in 0.. {
                assert_eq!(bucket(next, bits), index, "lowest of bucket {index}");
                let top = highest(index, bits);
                assert_eq!(bucket(top, bits), index, "highest of bucket {index}");
                match top.checked_add(1) {
                    Some(after) => next = after,
                    None => break,
                }
            }
        }
    }
}
