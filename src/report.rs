//! What a person sees of a run: its files, and everything that is made from them alone.

#[cfg(feature = "cli")]
pub mod chart;
pub mod csv;
pub mod directory;
pub mod record;
pub mod run_json;
pub mod text;
pub mod verify;
