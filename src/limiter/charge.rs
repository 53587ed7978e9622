//! What a limit takes from a call, and what it does when the work has ended.

use crate::request::{Ask, End, Unit};

/// How calls become costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// What is counted.
    pub unit: Unit,
    /// Whether the estimate or the actual use is charged.
    pub mode: Mode,
    /// Whether work that was turned away later, or left the queue, is given back what it took.
    pub refund: bool,
}

/// Which cost is charged, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The estimate on arrival, for good.
    #[default]
    EstimateOnly,
    /// The estimate on arrival; in the end the difference to the actual use is given back or charged.
    ReserveThenSettle,
    /// Nothing on arrival, which passes while a unit is left; the actual use in the end, into debt if need be.
    ActualAfter,
    /// The estimate on arrival, given back in the end, however that comes. Files can't name it.
    InFlight,
}

/// What the end of the work changes.
pub(super) enum Settlement {
    Nothing,
    GiveBack(u64),
    Charge(u64),
}

impl Charge {
    /// The estimate on arrival, given back if nothing comes of it.
    pub fn of(unit: Unit) -> Charge {
        Charge { unit, mode: Mode::EstimateOnly, refund: true }
    }

    /// What must be left for the ask to pass.
    #[inline]
    pub(super) fn asked(&self, ask: &Ask) -> u64 {
        if self.mode == Mode::ActualAfter { 1 } else { ask.estimate(self.unit) }
    }

    /// What is taken when it passes.
    #[inline]
    pub(super) fn taken(&self, ask: &Ask) -> u64 {
        if self.mode == Mode::ActualAfter { 0 } else { ask.estimate(self.unit) }
    }

    /// What changes when it ends. Work that failed or was taken back has used what it would have.
    #[inline]
    pub(super) fn settlement(&self, ask: &Ask, end: End) -> Settlement {
        match (self.mode, end) {
            (Mode::InFlight, _) => Settlement::GiveBack(self.taken(ask)),
            (Mode::ActualAfter, End::Unused) => Settlement::Nothing,
            (_, End::Unused) if self.refund => Settlement::GiveBack(self.taken(ask)),
            (_, End::Unused) | (Mode::EstimateOnly, _) => Settlement::Nothing,
            (Mode::ReserveThenSettle | Mode::ActualAfter, _) => {
                let (taken, used) = (self.taken(ask), ask.actual(self.unit));
                if used < taken {
                    Settlement::GiveBack(taken - used)
                } else {
                    Settlement::Charge(used - taken)
                }
            }
        }
    }
}

impl Mode {
    /// Every mode with the name that files give it.
    pub const NAMES: [(&'static str, Mode); 3] = [
        ("estimate_only", Mode::EstimateOnly),
        ("reserve_then_settle", Mode::ReserveThenSettle),
        ("actual_after", Mode::ActualAfter),
    ];
}
