//! Arrivals that follow a rate, by the clock or by chance, and arrivals that are listed.
//!
//! With Λ(t) the integral of the rate up to t, call k of a paced source (from 0) arrives when Λ passes k, and the
//! calls of a Poisson source arrive when Λ passes the sums of exponential variates of mean 1. So both are one walk
//! along the stretches of a profile that uses up what is left until the next call.

mod listed;
mod paced;
mod poisson;

pub use listed::Listed;
pub use paced::Paced;
pub use poisson::Poisson;

use super::profile::{Stretch, Walk};
use crate::time::SimTime;

/// The time after which a ramp has brought `calls`, in nanoseconds, or `None` if it never brings so many.
///
/// Solves rate · t + slope · t² / 2 = calls in the form that does not cancel.
fn ramp_time(rate: f64, slope: f64, calls: f64) -> Option<f64> {
    if calls == 0.0 {
        return Some(0.0);
    }
    let under_root = rate * rate + 2.0 * slope * calls;
    if under_root < 0.0 {
        return None;
    }
    let sum = rate + under_root.sqrt();
    if sum > 0.0 { Some(2.0 * calls / sum) } else { None }
}

/// The stretches of a profile up to a bound.
#[derive(Clone, Debug)]
struct Bounded {
    walk: Walk,
    bound: SimTime,
}

impl Bounded {
    fn next(&mut self) -> Option<(Stretch, SimTime)> {
        let stretch = self.walk.next().filter(|s| s.from < self.bound)?.cut_at(self.bound);
        Some((stretch, stretch.until.unwrap_or(self.bound)))
    }
}
