//! Observation: facts come in, rows go out.
//!
//! The engine tells the [`Recorder`] what happens to attempts. At the end of every interval the recorder checks the
//! accounting identities, computes averages and percentiles once, and hands finished rows to a [`Sink`], which
//! writes them somewhere. Nothing is kept but counters, fixed-size histograms and the totals of the run.

mod layout;
pub mod percentiles;
mod recorder;
pub mod rows;
mod totals;

pub use layout::{EdgeLayout, GateLayout, Layout};
pub use percentiles::{Percentiles, Sketch};
pub use recorder::{From, LedgerId, Recorder, Refuser, Served, Times};
pub use rows::{
    Count, EdgeCounts, EdgeRow, GaugeRow, LatencyRow, OutcomeRow, Phase, RequestRow, Sink, SummaryRow,
    TimelineRow,
};
