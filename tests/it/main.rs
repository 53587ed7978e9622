//! The integration tests: one binary, one file per idea.

mod alloc;
mod at_work;
mod cli;
mod conservation;
mod contract;
mod determinism;
mod faults;
mod files;
mod keys;
mod lesson;
mod naive;
mod nginx;
mod oracle;
mod probe;
mod problems;
mod queueing;
mod quota;
mod readme;
mod redis;
mod scenarios;
mod server;
mod support;
mod tidy;
mod trace_queue;
mod vectors;
mod wrappers;
