//! A deterministic discrete-event traffic simulator.
#![forbid(unsafe_code)]

pub mod dist;
pub mod gauge;
pub mod math;
pub mod problem;
pub mod request;
pub mod rng;
pub mod time;
pub mod units;
