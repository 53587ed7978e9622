//! Arrivals from a list.

use crate::problem::Problem;
use crate::time::{Nanos, SimTime};
use crate::traffic::{Known, Source};

/// Calls at listed instants.
#[derive(Clone, Debug)]
pub struct Listed {
    arrivals: std::vec::IntoIter<(SimTime, Known)>,
    duration: Nanos,
}

impl Listed {
    /// The calls of `arrivals` before `duration`, with what is known of each. Equal instants keep their order;
    /// a list that goes backward is refused.
    pub fn new(arrivals: Vec<(SimTime, Known)>, duration: Nanos) -> Result<Listed, String> {
        if let Some(i) = arrivals.windows(2).position(|pair| pair[1].0 < pair[0].0) {
            return Err(format!(
                "arrival {} at {} s comes before arrival {} at {} s: list them in the order of time",
                i + 2,
                arrivals[i + 1].0,
                i + 1,
                arrivals[i].0
            ));
        }
        Ok(Listed { arrivals: arrivals.into_iter(), duration })
    }
}

impl Source for Listed {
    fn next(&mut self, known: &mut Known) -> Result<Option<SimTime>, Problem> {
        let next = self.arrivals.next().filter(|(at, _)| at.0 < self.duration.0);
        Ok(next.map(|(at, listed)| {
            *known = listed;
            at
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_calls_keep_their_order_and_say_what_they_know() {
        let known = Known { input_tokens: Some(9), ..Known::default() };
        let list = vec![(SimTime(1), known), (SimTime(1), Known::default()), (SimTime(5), known)];
        let mut source = Listed::new(list, Nanos(5)).expect("in order");
        let mut said = Known::default();
        assert_eq!(source.next(&mut said), Ok(Some(SimTime(1))));
        assert_eq!(said.input_tokens, Some(9));
        assert_eq!(source.next(&mut said), Ok(Some(SimTime(1))));
        assert_eq!(said.input_tokens, None);
        assert_eq!(source.next(&mut said), Ok(None));
    }

    #[test]
    fn a_list_that_goes_backward_is_refused() {
        let list = [2, 1].map(|t| (SimTime(t), Known::default())).into();
        let message = Listed::new(list, Nanos::SECOND).expect_err("backward");
        assert!(message.starts_with("arrival 2 at 0.000000001 s comes before arrival 1"), "{message}");
    }
}
