//! Whose clock a limit sees, and how coarse it is.

use crate::time::{Nanos, SimTime};

/// The clocks of the gateways, or that of the store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clocks {
    /// How far the first gateway's clock is behind and the last one's ahead at the start; those between lie evenly.
    /// Zero is the store's clock for all.
    pub skew: Nanos,
    /// How much the last gateway's clock gains, as a share of the time, and the first one's loses.
    pub drift: f64,
    /// What times are rounded down to; a whole second for `TIME` in seconds.
    pub resolution: Nanos,
}

impl Default for Clocks {
    fn default() -> Clocks {
        Clocks { skew: Nanos::ZERO, drift: 0.0, resolution: Nanos(1) }
    }
}

impl Clocks {
    /// Where a gateway lies between the first, at -1, and the last, at 1; one alone is the last.
    fn place(gateway: u32, gateways: u32) -> f64 {
        if gateways < 2 { 1.0 } else { 2.0 * gateway as f64 / (gateways - 1) as f64 - 1.0 }
    }

    /// How far the gateway's clock is ahead at `now`, in nanoseconds.
    fn ahead(&self, now: SimTime, gateway: u32, gateways: u32) -> i128 {
        let place = Clocks::place(gateway, gateways);
        (place * (self.skew.0 as f64 + self.drift * now.0 as f64)) as i128
    }

    /// What the gateway's clock shows at `now`; the start of time if it would be earlier.
    pub(super) fn shows(&self, now: SimTime, gateway: u32, gateways: u32) -> SimTime {
        let shown = now.0 as i128 + self.ahead(now, gateway, gateways);
        let shown = u64::try_from(shown.max(0)).unwrap_or(u64::MAX);
        SimTime(shown - shown % self.resolution.0)
    }

    /// The first instant, later than `now`, at which the gateway's clock shows `shown`; to within a nanosecond if it
    /// drifts.
    pub(super) fn when(&self, shown: SimTime, now: SimTime, gateway: u32, gateways: u32) -> Option<SimTime> {
        let tick = shown.0.checked_next_multiple_of(self.resolution.0)? as i128;
        let place = Clocks::place(gateway, gateways);
        let at = if self.drift == 0.0 {
            tick - self.ahead(SimTime::ZERO, gateway, gateways)
        } else {
            let rate = 1.0 + place * self.drift;
            ((tick as f64 - place * self.skew.0 as f64) / rate) as i128 + 1
        };
        Some(SimTime(u64::try_from(at.max(now.0 as i128 + 1)).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_lie_evenly_between_behind_and_ahead() {
        let clocks = Clocks { skew: Nanos::millis(10), ..Clocks::default() };
        let shown = [0, 1, 2].map(|gateway| clocks.shows(SimTime(1_000_000_000), gateway, 3).0);
        assert_eq!(shown, [990_000_000, 1_000_000_000, 1_010_000_000]);
        assert_eq!(clocks.shows(SimTime(5), 0, 3), SimTime::ZERO, "no clock shows a time before the start");
    }

    #[test]
    fn a_drift_of_a_hundred_parts_in_a_million_is_a_hundred_microseconds_after_a_second() {
        let clocks = Clocks { drift: 1e-4, ..Clocks::default() };
        assert_eq!(clocks.shows(SimTime(1_000_000_000), 1, 2), SimTime(1_000_100_000));
        assert_eq!(clocks.shows(SimTime(1_000_000_000), 0, 2), SimTime(999_900_000));
    }

    #[test]
    fn a_coarse_clock_stands_still_for_its_resolution() {
        let clocks = Clocks { resolution: Nanos::SECOND, ..Clocks::default() };
        assert_eq!(clocks.shows(SimTime(1_999_999_999), 0, 1), SimTime(1_000_000_000));
        let shown = clocks.when(SimTime(1_000_000_001), SimTime(7), 0, 1);
        assert_eq!(shown, Some(SimTime(2_000_000_000)));
    }
}
