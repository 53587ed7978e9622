//! A deterministic discrete-event traffic simulator.
//!
//! On a virtual clock it replays seeded or recorded arrivals through the limiters, admission policies, queues and
//! clients that people deploy, and says what was accepted, rejected and queued. The same scenario and seed give the
//! same results on every machine. The command `tidegate` is this library with a face.
//!
//! # The tour
//!
//! ```text
//!                                    ┌─────────────── gate ───────────────┐
//! traffic ──call──▶ client ─attempt──▶ limiters ─▶ admission ─▶ start ────▶ downstream ──▶ answer
//!                     ▲                │ refused    │ no room ─▶ queue ┘     │ well, failed, for nobody
//!                     └── retry, or give up ◀───────┴─────────────┴─────────┘
//! ```
//!
//! [`traffic`] says when the next call comes, and its luck is drawn: every random number about it is a function of
//! that luck ([`rng`]). Its [`client`] makes an attempt. Each [`limiter`] is asked *how fast*: it passes the attempt,
//! names the first instant at which it would, or says never. Each [`admission`] stage is asked *is there room*, and so
//! is the [`downstream`]; what lacks room waits in the [`queue`]. Work that ends gives back what it took, and lets the
//! next one in. A client whose attempt failed, was turned away or took too long tries again or gives up.
//!
//! The [`engine`] owns the clock and the order of events; what is decided in an event is decided by the parts, which
//! know neither the engine nor each other. It tells [`observe`] what happens, which checks that the accounts balance
//! and hands rows to a sink at the end of each interval.
//!
//! # A simulation from a text
//!
//! ```
//! use std::path::Path;
//! use std::sync::atomic::AtomicBool;
//! use tidegate::observe::rows::{Count, Nowhere};
//! use tidegate::scenario::{Scenario, build::Prepared, source::Document};
//! use tidegate::study::{self, Control, Job};
//!
//! let text = r#"
//!     version  = 1
//!     duration = "10s"
//!     [traffic.api]
//!     at = ["0s", "0s", "0s", "1s"]
//!     [limiter.bucket]
//!     kind  = "token_bucket"
//!     rate  = "1/s"
//!     burst = 2
//!     [downstream.orders]
//!     concurrency  = 8
//!     service_time = "100ms"
//!     [policy.limited]
//!     stages     = ["bucket"]
//!     downstream = "orders"
//! "#;
//! let document = Document::from_text("tour.toml", text, Path::new("."))?;
//! let (scenario, _warnings) = Scenario::read(&document)?;
//! let prepared = Prepared::new(scenario)?;
//!
//! let jobs = study::jobs(&["limited".to_string()], &[1]);
//! let control = Control { threads: 1, stop: &AtomicBool::new(false), progress: &|_| () };
//! let results = study::run(&jobs, &|job: &Job| prepared.setup(0, job.seed), &Nowhere, &control)?;
//!
//! let total = results.jobs[0].total.as_ref().expect("it was not stopped");
//! assert_eq!(total.calls, 4);
//! assert_eq!(total.counts[Count::Goodput as usize], 3);
//! assert_eq!(total.counts[Count::RejectedRateLimited as usize], 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The modules
//!
//! Each uses only those above it.
//!
//! | module | what it is |
//! |---|---|
//! | [`time`], [`units`], [`math`], [`rng`], [`gauge`], [`dist`] | instants and lengths, exact rates, portable functions, chance |
//! | [`request`], [`table`], [`problem`], [`section`] | what a call carries; states by key; what is wrong, where, and what instead; tables of a file |
//! | [`traffic`], [`client`], [`limiter`], [`admission`], [`queue`], [`downstream`] | the parts: one trait each, one policy per file |
//! | [`observe`] | counts, percentiles, accounts |
//! | [`engine`] | one policy under one seed, from its first event to its last |
//! | [`scenario`] | from a file to a checked description to a simulation |
//! | [`study`] | all policies under all seeds, on several threads |
//! | [`report`] | the files of a run, and what is made of them |
#![forbid(unsafe_code)]

pub mod admission;
pub mod client;
pub mod dist;
pub mod doubling;
pub mod downstream;
pub mod engine;
pub mod gauge;
pub mod limiter;
pub mod math;
pub mod observe;
pub mod problem;
pub mod queue;
pub(crate) mod records;
pub mod report;
pub mod request;
pub mod rng;
pub mod scenario;
pub mod section;
pub mod study;
pub mod table;
pub mod time;
pub mod traffic;
pub mod units;
