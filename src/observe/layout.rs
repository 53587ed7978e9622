//! The names and times of a run, as its rows need them.

use crate::time::{Nanos, SimTime};

/// The names and times that rows are made of.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Classes, by number.
    pub classes: Vec<String>,
    /// What can turn work away or serve it, by number of the gate.
    pub gates: Vec<GateLayout>,
    /// Which downstream calls which, by number of the edge.
    pub edges: Vec<EdgeLayout>,
    /// Length of an interval.
    pub interval: Nanos,
    /// Where the main phase begins.
    pub warmup: Nanos,
    /// Where arrivals end.
    pub duration: Nanos,
    /// Whether any call has tokens.
    pub tokens: bool,
    /// Whether calls have tenants.
    pub tenants: bool,
    /// How long the drain may last.
    pub drain: Nanos,
    /// The last event that passes: from when to when.
    pub passing_event: Option<(SimTime, SimTime)>,
}

impl Layout {
    /// The instant at which a run is cut off, whatever is alive.
    pub fn last(&self) -> SimTime {
        SimTime(self.duration.0).saturating_add(self.drain)
    }
}

/// The names of one gate.
#[derive(Clone, Debug, Default)]
pub struct GateLayout {
    /// The downstream's name.
    pub target: String,
    /// Everything that turns work away: limiters, admission stages, the queue, the downstream itself.
    pub stages: Vec<String>,
}

/// The names of an edge of the call graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgeLayout {
    /// The downstream that calls.
    pub caller: String,
    /// The downstream that is called.
    pub target: String,
}
