//! The CSV files of a run, written as rows come.
//!
//! UTF-8, LF, RFC 4180, always a header, fixed decimals (seconds nine, milliseconds and ratios six, averages and
//! gauges three), never an exponent; what is undefined is an empty cell. Every row begins with run, policy and seed,
//! and a file's rows are sorted by policy in the order of the scenario, then by seed, interval and class.
//!
//! Each job (one policy under one seed) fills [`Rows`] of its own; [`Files`] puts them in order.

mod cells;
mod columns;
mod files;
mod output;
mod rows;
mod spool;

pub use cells::Cells;
pub use columns::{EVENTS, LEAD, Table};
pub use files::{EventRow, Files};
pub use output::{Output, Written, hex, weigh};
pub use rows::{Nameless, Naming, Rows};
pub use spool::{KEPT, Spool};
