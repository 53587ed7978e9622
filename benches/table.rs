//! A table of figures as Markdown.

/// The rows to print in the end.
#[derive(Default)]
pub struct Table {
    rows: Vec<[String; 5]>,
}

impl Table {
    pub fn add(&mut self, what: &str, ours: f64, unit: &str, limit: Option<(f64, f64)>, target: &str) {
        let (floor, ratio) = match limit {
            Some((floor, ratio)) => (format!("{floor:.1}"), format!("{ratio:.2}")),
            None => Default::default(),
        };
        let digits = if ours < 10.0 { 2 } else { 1 };
        self.rows.push([what.into(), format!("{ours:.digits$} {unit}"), floor, ratio, target.into()]);
    }

    /// As Markdown, aligned, so that a person can read it here and in docs/performance.md.
    pub fn print(&self) {
        let head = ["what", "tidegate", "limit", "ratio", "to reach"].map(String::from);
        let width = |i: usize| {
            let cells = self.rows.iter().chain([&head]).map(|row: &[String; 5]| row[i].chars().count());
            cells.max().unwrap_or(0)
        };
        let [w0, w1, w2, w3, w4] = [0, 1, 2, 3, 4].map(width);
        let print = |[what, ours, limit, ratio, target]: &[String; 5]| {
            println!("| {what:w0$} | {ours:>w1$} | {limit:>w2$} | {ratio:>w3$} | {target:w4$} |")
        };
        print(&head);
        let rule = |width: usize| "-".repeat(width + 1);
        println!("|{}-|{}:|{}:|{}:|{}-|", rule(w0), rule(w1), rule(w2), rule(w3), rule(w4));
        self.rows.iter().for_each(print);
    }
}
