//! How two quantities went together over a window: Pearson's coefficient, and how much the second varied.
//!
//! A window with fewer than ten pairs, or in which either varies by less than a hundredth of its mean, shows no
//! correlation. Source: Failsafe-go, `internal/util/windows.go`.

use super::failsafe_adaptive::WARM_UP;

/// The last so many pairs.
#[derive(Clone, Debug)]
pub struct Correlation {
    pairs: Vec<(f64, f64)>,
    size: usize,
    next: usize,
}

/// What a window shows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Finding {
    /// Pearson's coefficient, between −1 and 1; 0 if there is none.
    pub coefficient: f64,
    /// The deviation of the second quantity over its mean; 0 if too few are known.
    pub variation: f64,
}

impl Correlation {
    /// An empty window of that size.
    pub fn new(size: usize) -> Correlation {
        Correlation { pairs: Vec::with_capacity(size), size, next: 0 }
    }

    /// One more pair, for the oldest; answers what the window shows then.
    pub fn add(&mut self, x: f64, y: f64) -> Finding {
        if self.pairs.len() < self.size {
            self.pairs.push((x, y));
        } else {
            self.pairs[self.next] = (x, y);
        }
        self.next = (self.next + 1) % self.size;
        let n = self.pairs.len() as f64;
        if n < f64::from(WARM_UP) {
            return Finding::default();
        }
        let mean_x = self.pairs.iter().map(|pair| pair.0).sum::<f64>() / n;
        let mean_y = self.pairs.iter().map(|pair| pair.1).sum::<f64>() / n;
        let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
        for (x, y) in &self.pairs {
            let (x, y) = (x - mean_x, y - mean_y);
            (xx, yy, xy) = (xx + x * x, yy + y * y, xy + x * y);
        }
        let (variation_x, variation) = ((xx / n).sqrt() / mean_x, (yy / n).sqrt() / mean_y);
        if variation_x < 0.01 || variation < 0.01 {
            return Finding { coefficient: 0.0, variation };
        }
        Finding { coefficient: xy / (xx.sqrt() * yy.sqrt()), variation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures are those of Python's `statistics` module.
    #[test]
    fn it_is_pearsons_coefficient_over_the_last_pairs() {
        let mut window = Correlation::new(10);
        // Pushed out by the tenth pair after it.
        assert_eq!(window.add(1e6, 1e6), Finding::default());
        let ys = [2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0];
        let mut last = Finding::default();
        for (x, y) in ys.iter().enumerate() {
            last = window.add(x as f64 + 1.0, *y);
        }
        assert!((last.coefficient - 0.986_194_117_8).abs() < 1e-9, "{last:?}");
        assert!((last.variation - 0.663_640_146_5).abs() < 1e-9, "{last:?}");
    }

    #[test]
    fn what_hardly_varies_shows_nothing() {
        let mut window = Correlation::new(50);
        let last = (0..20).map(|x| window.add(f64::from(x + 1), 1000.0 + f64::from(x % 2))).last();
        assert_eq!(last.expect("twenty").coefficient, 0.0);
    }
}
