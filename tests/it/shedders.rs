//! Limits that measure and shedders by Little's law, each against a trace that is reckoned by hand from its definition.

use crate::support::room;
use tidegate::admission::adaptive::{Law, Sample, Settings};
use tidegate::admission::{Admission, Entrant, Scene, failsafe_adaptive, gradient};
use tidegate::request::{Ask, End};
use tidegate::rng::Dice;
use tidegate::time::{Nanos, SimTime};

/// A stage with calls in numbered places.
struct Stage(Box<dyn Admission>);

fn ms(count: u64) -> SimTime {
    SimTime(count * 1_000_000)
}

impl Stage {
    fn of(keys: &str) -> Stage {
        Stage(room(keys))
    }

    fn starts(&mut self, at_ms: u64, count: u32) {
        let ask = Ask::default();
        (0..count).for_each(|_| self.0.take(ms(at_ms), &Entrant::first(&ask)));
    }

    /// So many end, each after so long in service.
    fn end(&mut self, at_ms: u64, count: u32, took_ms: u64) {
        let ask = Ask::default();
        let end = End::Completed(Nanos::millis(took_ms));
        (0..count).for_each(|_| self.0.settle(ms(at_ms), &Entrant::first(&ask), end));
    }

    /// Rings up to that instant, with so many of ten slots busy.
    fn ring_until(&mut self, at_ms: u64, busy: u64) {
        while let Some(at) = self.0.alarm().filter(|at| *at <= ms(at_ms)) {
            self.0.ring(at, &Scene { busy, slots: Some(10), ..Scene::default() });
        }
    }

    fn sheds(&mut self, at_ms: u64) -> bool {
        let ask = Ask::default();
        self.0.sheds(ms(at_ms), &Entrant::first(&ask), &Scene::default()).is_some()
    }

    fn scope(&mut self, at_ms: u64) -> &'static str {
        let ask = Ask::default();
        self.0.sheds(ms(at_ms), &Entrant::first(&ask), &Scene::default()).map_or("", |denial| denial.scope)
    }

    fn gauge(&mut self, at_ms: u64, wanted: &str) -> f64 {
        let mut seen = None;
        self.0.gauges(ms(at_ms), &mut |name, reading| {
            if name == wanted {
                seen = Some(reading.last);
            }
        });
        seen.expect("a gauge of that name")
    }
}

#[test]
fn the_modelled_processor_is_an_average_of_busy_slots_in_thousandths() {
    let mut stage = Stage::of("kind = 'kratos_bbr'");
    // ⌊0 · 0.95 + 1000 · 0.05⌋ = 50; ⌊47.5 + 50⌋ = 97; ⌊92.15 + 50⌋ = 142; then idle: ⌊134.9⌋ = 134.
    let mut seen = Vec::new();
    for (at, busy) in [(500, 10), (1_000, 10), (1_500, 10), (2_000, 0)] {
        stage.ring_until(at, busy);
        seen.push(stage.gauge(at, "cpu"));
    }
    assert_eq!(seen, [50.0, 97.0, 142.0, 134.0]);
}

#[test]
fn kratos_sheds_above_the_best_count_times_the_best_time() {
    let mut stage = Stage::of("kind = 'kratos_bbr'\ncpu_threshold = 40");
    // Five end in the first tenth of a second after 100 ms each, two in the second after 150 ms.
    stage.starts(0, 7);
    stage.end(50, 5, 100);
    stage.end(150, 2, 150);
    stage.ring_until(500, 10);
    assert_eq!(stage.gauge(500, "cpu"), 50.0);
    // ⌊5 · 100 · 10 / 1000⌋ = 5 in flight are well, six are too many.
    stage.starts(550, 5);
    assert!(!stage.sheds(560));
    stage.starts(561, 1);
    assert!(stage.sheds(562));
    // It goes on below the threshold, for a second after the first shedding and no longer.
    stage.ring_until(1_500, 0);
    assert!(stage.gauge(1_500, "cpu") >= 40.0);
    let mut calm = Stage::of("kind = 'kratos_bbr'\ncpu_threshold = 49");
    calm.starts(0, 7);
    calm.end(50, 5, 100);
    calm.end(150, 2, 150);
    calm.ring_until(500, 10);
    calm.starts(550, 6);
    assert!(calm.sheds(560));
    calm.ring_until(1_000, 0);
    assert_eq!(calm.gauge(1_000, "cpu"), 47.0);
    assert!(calm.sheds(1_560), "a second after the first");
    assert!(!calm.sheds(1_561), "and then no more");
}

#[test]
fn go_zero_sheds_if_what_is_in_flight_and_its_average_are_above_its_share() {
    let mut stage = Stage::of("kind = 'go_zero_shedder'\ncpu_threshold = 40");
    // Ten in flight, of which one ends and one starts thirty times: the average nears nine, 9 · (1 − 0.9^30) = 8.62.
    stage.starts(0, 10);
    for step in 0..30 {
        stage.end(step, 1, 100);
        stage.starts(step, 1);
    }
    stage.ring_until(250, 10);
    assert_eq!(stage.gauge(250, "cpu"), 50.0);
    // 30 in the best tenth, 100 ms: 30 in flight at most, of which (1000 − 50) / (1000 − 40) = 0.9896: 29.7.
    assert!(!stage.sheds(260), "ten are in flight");
    stage.starts(261, 20);
    assert!(!stage.sheds(262), "thirty are above 29.7, but their average is not");
}

#[test]
fn go_zero_sheds_beyond_the_share() {
    let mut stage = Stage::of("kind = 'go_zero_shedder'\ncpu_threshold = 40");
    // Two end in each tenth of a second after 100 ms: ⌊2 · 100 · 10 / 1000⌋ = 2, of which 0.99.
    stage.starts(0, 6);
    for step in 0..20 {
        stage.end(50 * step, 1, 100);
        stage.starts(50 * step, 1);
    }
    stage.ring_until(1_000, 10);
    // Six in flight, 5 · (1 − 0.9^20) = 4.39 on average: both above 2.
    assert!(stage.sheds(1_001));
    // One in flight is not, whatever the average.
    stage.end(1_002, 5, 100);
    assert!(!stage.sheds(1_003));
}

#[test]
fn sentinel_names_the_first_of_its_bounds_that_is_broken() {
    let mut stage = Stage::of("kind = 'sentinel_system'\nqps = 3\nmax_thread = 4\navg_rt = '200ms'");
    stage.starts(10, 3);
    assert_eq!(stage.scope(20), "qps", "a fourth in the last second");
    assert_eq!(stage.scope(999), "qps");
    assert_eq!(stage.scope(1_000), "", "the third window begins, in the place of the first");
    // A second later both windows have begun anew; three are in flight.
    assert_eq!(stage.scope(1_510), "");
    stage.starts(1_510, 2);
    assert_eq!(stage.scope(1_520), "thread", "five are more than four");
    stage.end(1_600, 4, 900);
    assert_eq!(stage.scope(1_610), "rt");
    assert_eq!(stage.scope(2_700), "", "those have left the last second");
    // Little's law while the load is high: the larger window had two ends, twice that a second, 500 ms: two in flight.
    let mut stage = Stage::of("kind = 'sentinel_system'\nhighest_system_load = 0.1");
    stage.starts(900, 5);
    stage.ring_until(1_000, 10);
    // 10 · (1 − e^(−1/60)) = 0.165.
    assert!((stage.gauge(1_000, "load") - 0.165_285).abs() < 1e-5);
    stage.end(1_100, 2, 500);
    assert_eq!(stage.scope(1_200), "load", "three are above two");
    stage.end(1_210, 1, 500);
    // Three ends: 6 a second · 0.5 s are three in flight, and two are there.
    assert_eq!(stage.scope(1_220), "");
}

fn sample(at_ms: u64, rtt_ms: u64, in_flight: u64, dropped: bool) -> Sample {
    Sample { now: ms(at_ms), rtt: Nanos::millis(rtt_ms), in_flight, dropped, full: true }
}

#[test]
fn the_first_gradient_follows_its_formula() {
    let mut law = gradient::Settings { probe_interval: None, ..gradient::Settings::DEFAULT }.law(Dice(1));
    let mut after = |rtt, in_flight, dropped| {
        law.sample(&sample(1_000, rtt, in_flight, dropped));
        law.limit()
    };
    // Gradient 1, queue ⌊√50⌋ = 7: 57, which is not smoothed upward.
    assert_eq!(after(10, 50, false), 57);
    // Gradient 20 / 40: 57 / 2 + 7 = 35.5; 0.8 · 57 + 0.2 · 35.5 = 52.7.
    assert_eq!(after(40, 57, false), 52);
    // A drop: 47.43; 0.8 · 52.7 + 0.2 · 47.43 = 51.646.
    assert_eq!(after(10, 52, true), 51);
    assert_eq!(after(10, 20, false), 51, "less than half is in use");
}

#[test]
fn failsafe_moves_by_a_step_for_each_window_and_stays_near_what_is_in_flight() {
    let mut law = failsafe_adaptive::Settings::DEFAULT.law(Dice(1));
    let mut now = 0;
    let mut window = |law: &mut failsafe_adaptive::FailsafeAdaptive, rtt, in_flight| {
        now += 1_100;
        (0..50).for_each(|_| law.sample(&sample(now, rtt, in_flight, false)));
        law.limit()
    };
    // No more than before: the queue is 0, so one more for each window of fifty samples and a second.
    assert_eq!([0; 3].map(|_| window(&mut law, 100, 20)), [21, 22, 23]);
    // Forty-nine samples are no window.
    (0..49).for_each(|_| law.sample(&sample(100_000, 100, 20, false)));
    assert_eq!(law.limit(), 23);
    let mut law = failsafe_adaptive::Settings::DEFAULT.law(Dice(1));
    // Two in flight: five times that is 10, so the limit comes down by one for each window, and stops there.
    let limits: Vec<u64> = (0..12).map(|_| window(&mut law, 100, 2)).collect();
    assert_eq!(limits[..10], [19, 18, 17, 16, 15, 14, 13, 12, 11, 10]);
    assert_eq!(limits[10..], [10, 10]);
    // Ten times the time: the baseline follows slowly, the queue is long, and the limit falls.
    let mut law = failsafe_adaptive::Settings { initial_limit: 60, ..failsafe_adaptive::Settings::DEFAULT }
        .law(Dice(1));
    (0..15).for_each(|_| _ = window(&mut law, 100, 60));
    let before = law.limit();
    let limits: Vec<u64> = (0..10).map(|_| window(&mut law, 1_000, 60)).collect();
    assert!(limits[9] < before, "{before}, then {limits:?}");
}
