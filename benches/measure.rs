//! CPU time, medians, and programs measured in turn.

use cpu_time::ThreadTime;

/// CPU nanoseconds of this thread while `work` runs, and what it answers.
#[allow(clippy::disallowed_methods, reason = "a bench reads clocks")]
pub fn cpu_ns<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let began = ThreadTime::now();
    let answer = work();
    (began.elapsed().as_nanos() as f64, answer)
}

/// Seconds that pass while `work` runs.
#[allow(clippy::disallowed_methods, reason = "a bench reads clocks")]
pub fn seconds<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let began = std::time::Instant::now();
    let answer = work();
    (began.elapsed().as_secs_f64(), answer)
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

/// A program to measure; answers how many times it did what is measured.
pub type Program<'a> = Box<dyn FnMut() -> u64 + 'a>;

/// CPU nanoseconds per time of each program in each of `rounds` rounds, in which they run one after the other, so
/// that all meet the same machine.
pub fn in_turn(rounds: usize, mut programs: Vec<Program<'_>>) -> Vec<Vec<f64>> {
    let mut all = vec![Vec::new(); programs.len()];
    for _ in 0..rounds {
        for (program, costs) in programs.iter_mut().zip(&mut all) {
            let (ns, times) = cpu_ns(program);
            costs.push(ns / times as f64);
        }
    }
    all
}

/// The median of the ratios of two programs, round by round.
pub fn ratio(above: &[f64], below: &[f64]) -> f64 {
    median(above.iter().zip(below).map(|(a, b)| a / b).collect())
}

/// The median cost of one program.
pub fn cost(rounds: usize, program: impl FnMut() -> u64) -> f64 {
    median(in_turn(rounds, vec![Box::new(program)]).remove(0))
}
