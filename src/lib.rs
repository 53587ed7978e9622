//! A deterministic discrete-event traffic simulator.
#![forbid(unsafe_code)]

pub mod admission;
pub mod client;
pub mod dist;
pub mod downstream;
pub mod engine;
pub mod gauge;
pub mod limiter;
pub mod math;
pub mod observe;
pub mod problem;
pub mod queue;
pub mod report;
pub mod request;
pub mod rng;
pub mod scenario;
pub mod section;
pub mod study;
pub mod time;
pub mod traffic;
pub mod units;
