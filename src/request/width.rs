//! How many places one call takes up at once.

use super::{Ask, Unit};

/// So many seats for so much of a unit, between 1 and a most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width {
    /// What is counted.
    pub unit: Unit,
    /// So much of it takes a seat, at least 1.
    pub per_seat: u64,
    /// The most that one call takes, at least 1.
    pub most: u64,
}

impl Width {
    /// Each call takes one seat.
    pub const ONE: Width = Width { unit: Unit::Requests, per_seat: 1, most: 1 };

    /// The seats of a call.
    pub fn of(self, ask: &Ask) -> u64 {
        ask.estimate(self.unit).div_ceil(self.per_seat).clamp(1, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_takes_a_seat_for_each_hundred_objects() {
        let width = Width { unit: Unit::InputTokens, per_seat: 100, most: 10 };
        let of = |objects| width.of(&Ask { input_tokens: objects, ..Ask::default() });
        assert_eq!([0, 1, 100, 101, 950, 5_000].map(of), [1, 1, 1, 2, 10, 10]);
    }
}
