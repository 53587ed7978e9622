//! The first instant at which something holds that holds ever after.

use crate::time::SimTime;

/// The first instant after `from` and not after `to` at which `holds`, which never stops holding once it does.
///
/// For products that reckon in floating point, whose decisions have no inverse in closed form.
pub(super) fn first_instant(from: SimTime, to: SimTime, holds: impl Fn(SimTime) -> bool) -> Option<SimTime> {
    if to <= from || !holds(to) {
        return None;
    }
    let (mut refused, mut passes) = (from.0, to.0);
    while 1 < passes - refused {
        let middle = refused + (passes - refused) / 2;
        if holds(SimTime(middle)) { passes = middle } else { refused = middle }
    }
    Some(SimTime(passes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_to_the_nanosecond_at_any_distance() {
        for at in [6, 1_000, u64::MAX - 1, u64::MAX] {
            let holds = |now: SimTime| at <= now.0;
            assert_eq!(first_instant(SimTime(5), SimTime(u64::MAX), holds), Some(SimTime(at)));
        }
        assert_eq!(first_instant(SimTime(5), SimTime(100), |now| 100 < now.0), None);
    }
}
