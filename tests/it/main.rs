//! The integration tests: one binary, one file per idea.

mod support;

mod alloc;
mod cli;
mod conservation;
mod contract;
mod determinism;
mod files;
mod keys;
mod naive;
mod oracle;
mod probe;
mod problems;
mod queueing;
mod quota;
mod readme;
mod scenarios;
mod tidy;
mod trace_queue;
mod wrappers;
