//! The keys that every admission stage has: what is wrapped around it.

use super::{Room, StageSpec};
use crate::admission::Plan;
use crate::section::{At, Section};
use std::sync::Arc;

/// A stage of `plan` with the options that the table gives it.
pub(super) fn stage(s: &mut Section, plan: impl Plan + 'static) -> StageSpec {
    naming(s, plan, Vec::new())
}

/// The same, whose table names `classes`.
pub(super) fn naming(s: &mut Section, plan: impl Plan + 'static, classes: Vec<At<String>>) -> StageSpec {
    let shadow = s.get_or("shadow", false, "whether it only counts what it would refuse");
    let exempt: Vec<At<String>> = s.get_or("exempt", Vec::new(), "classes that pass without being asked");
    StageSpec::Admission(Room { plan: Arc::new(plan), shadow, exempt, classes })
}
