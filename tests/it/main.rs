//! The integration tests: one binary, one file per idea.

mod server;
mod support;

mod alloc;
mod cli;
mod conservation;
mod contract;
mod determinism;
mod files;
mod keys;
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
mod tidy;
mod trace_queue;
mod wrappers;
