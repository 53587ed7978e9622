//! Labels beside the lines they name, moved apart so that no two overlap.

use super::canvas::{Anchor, Canvas, Font};
use super::palette::Colour;

/// Height that one label takes.
const LINE: f64 = 16.0;

/// A label with the height at which it would like to stand.
#[derive(Clone, Debug)]
pub struct Label {
    /// What it says.
    pub text: String,
    /// Where it belongs.
    pub y: f64,
    /// The colour of its line.
    pub colour: Colour,
}

/// Heights near the wanted ones, at least `gap` apart and between `top` and `bottom`, in the wanted order.
///
/// Those that can't fit at all are `None`, from the last on.
pub fn spread(wanted: &[f64], gap: f64, top: f64, bottom: f64) -> Vec<Option<f64>> {
    let room = (((bottom - top) / gap) + 1e-9) as usize + 1;
    let mut order: Vec<usize> = (0..wanted.len().min(room)).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]).then(a.cmp(b)));
    let mut heights = vec![None; wanted.len()];
    let mut lowest = top;
    for &i in &order {
        let y = wanted[i].max(lowest);
        heights[i] = Some(y);
        lowest = y + gap;
    }
    let mut highest = bottom;
    for &i in order.iter().rev() {
        let y = heights[i].map_or(highest, |y: f64| y.min(highest));
        heights[i] = Some(y);
        highest = y - gap;
    }
    heights
}

/// Writes the labels in a column that starts at `x`, within `top` and `bottom`.
pub fn write(canvas: &mut Canvas, labels: &[Label], x: f64, top: f64, bottom: f64, size: f64) {
    let wanted: Vec<f64> = labels.iter().map(|label| label.y).collect();
    for (label, y) in labels.iter().zip(spread(&wanted, LINE, top, bottom)) {
        if let Some(y) = y {
            let font = Font { size, colour: label.colour, bold: true };
            let room = canvas.width() - x - 8.0;
            canvas.text(&super::text::fit(&label.text, size * 1.08, room), (x, y), Anchor::Left, font);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_distance_and_stay_on_the_page() {
        for wanted in
            [vec![50.0; 4], vec![0.0, 1.0, 2.0], vec![99.0, 100.0, 98.0], vec![-5.0, 200.0], vec![30.0; 12]]
        {
            let mut heights: Vec<f64> = spread(&wanted, 16.0, 0.0, 100.0).into_iter().flatten().collect();
            heights.sort_by(f64::total_cmp);
            assert!(heights.windows(2).all(|pair| 16.0 <= pair[1] - pair[0] + 1e-9), "{heights:?}");
            assert!(heights.iter().all(|y| (-1e-9..=100.0 + 1e-9).contains(y)), "{heights:?}");
        }
    }

    #[test]
    fn a_label_with_room_stays_where_it_belongs() {
        assert_eq!(spread(&[10.0, 60.0], 16.0, 0.0, 100.0), [Some(10.0), Some(60.0)]);
    }

    #[test]
    fn labels_beyond_the_room_are_left_out() {
        assert_eq!(spread(&[0.0; 9], 16.0, 0.0, 32.0).iter().flatten().count(), 3);
    }
}
