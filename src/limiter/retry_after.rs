//! What a refusal says of its wait in a header.

use crate::time::Nanos;

/// Whole seconds of a `Retry-After`, rounded up: who waits so long passes, and nobody is told 0.
pub fn whole_seconds(wait: Nanos) -> u64 {
    wait.0.div_ceil(Nanos::SECOND.0).max(1)
}
