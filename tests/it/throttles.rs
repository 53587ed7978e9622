//! Shedders by signal: published vectors, controllers reckoned by hand, and what they do at work.

use crate::support::{Attempt, number, room, run, vectors, whole};
use tidegate::admission::overload_manager::{Resource, Settings as Manager, Trigger};
use tidegate::admission::throttle::{Formula, Settings};
use tidegate::admission::{Admission, Entrant, Scene};
use tidegate::request::{Ask, ClassId, End};
use tidegate::rng::Dice;
use tidegate::time::{Nanos, SimTime};

#[test]
fn probabilities_are_those_of_the_published_vectors() {
    let file = vectors("adaptive");
    let mut compared = 0;
    for vector in file["vectors"].as_array().expect("a list") {
        if vector["algorithm"] != "adaptive_throttle" {
            continue;
        }
        for case in vector["cases"].as_array().expect("cases") {
            let (settings, all, well, expected) = match case["K"].is_null() {
                false => {
                    let formula = Formula::Sre { k: number(&case["K"]) };
                    (formula, &case["requests"], &case["accepts"], &case["p"])
                }
                true => {
                    let formula = Formula::Failsafe { threshold: number(&case["threshold"]) };
                    (formula, &case["executions"], &case["successes"], &case["rate"])
                }
            };
            let max_rejection = case["max"].as_f64().unwrap_or(1.0);
            let settings = Settings { formula: settings, window: Nanos::secs(120), max_rejection };
            let found = settings.probability(whole(all), whole(well));
            assert!((found - number(expected)).abs() < 1e-12, "{case}: {found}");
            compared += 1;
        }
    }
    assert_eq!(compared, 17);
}

#[test]
fn envoys_probability_is_that_of_its_documentation() {
    let of = |formula, all, well| {
        Settings { formula, window: Nanos::secs(30), max_rejection: 0.8 }.probability(all, well)
    };
    let envoy = |aggression, rps_threshold| Formula::Envoy { threshold: 0.95, aggression, rps_threshold };
    // (100 − 80 / 0.95) / 101, then its root; all failed: 100 / 101, held at 80 %.
    assert!((of(envoy(1.0, 0.0), 100, 80) - 0.156_331_422_615_945).abs() < 1e-12);
    assert!((of(envoy(2.0, 0.0), 100, 80) - 0.395_387_686_474_864).abs() < 1e-12);
    assert_eq!(of(envoy(1.0, 0.0), 100, 0), 0.8);
    assert_eq!(of(envoy(1.5, 0.0), 100, 96), 0.0);
    // 100 in 30 s are 3.3 a second.
    assert_eq!(of(envoy(1.0, 4.0), 100, 0), 0.0);
    // As it began: (100 − 2 · 40) / 101.
    assert!((of(Formula::EnvoyAlpha { aggression: 2.0 }, 100, 40) - 20.0 / 101.0).abs() < 1e-12);
}

#[test]
fn a_client_lets_through_about_twice_what_is_accepted() {
    // 1,000 a second to a service that accepts 100: 200 reach it, and 800 are turned away at the door.
    let rows = run("version = 1\nduration = '8m'\nwarmup = '4m'\n[traffic.t]\nrate = '1000/s'\n\
         [admission.a]\nkind = 'adaptive_throttle'\n\
         [downstream.d]\nconcurrency = 'unlimited'\nservice_time = '1ms'\nquota = { rpm = 6000 }\n\
         [policy.p]\nstages = ['a']\ndownstream = 'd'\n");
    let attempts = rows.sorted_attempts();
    let late: Vec<&Attempt> =
        attempts.iter().filter(|attempt| 240_000_000_000 <= attempt.arrived.0).collect();
    let reached = late.iter().filter(|attempt| attempt.stage != "a").count() as f64 / 240.0;
    let accepted = late.iter().filter(|attempt| attempt.outcome == "goodput").count() as f64 / 240.0;
    assert!((190.0..210.0).contains(&reached), "{reached}");
    assert!((95.0..105.0).contains(&accepted), "{accepted}");
}

#[test]
fn throttling_begins_before_the_first_timeout_where_requests_count_as_they_come() {
    // The service hangs for ten seconds: nothing has ended yet, and no caller has given up.
    let shed_before = |kind: &str| {
        let rows = run(&format!(
            "version = 1\nduration = '20s'\n[traffic.t]\nrate = '100/s'\nclient = 'c'\n[client.c]\ntimeout = '10s'\n\
             [admission.a]\n{kind}\n[downstream.d]\nconcurrency = 'unlimited'\nservice_time = '10s'\n\
             [policy.p]\nstages = ['a']\ndownstream = 'd'\n"
        ));
        let early = |attempt: &&Attempt| attempt.arrived.0 < 10_000_000_000 && attempt.stage == "a";
        rows.sorted_attempts().iter().filter(early).count()
    };
    assert!(500 < shed_before("kind = 'adaptive_throttle'"));
    // The others count what has ended.
    assert_eq!(shed_before("kind = 'adaptive_throttle'\ndialect = 'failsafe'"), 0);
    assert_eq!(shed_before("kind = 'envoy_admission_control'"), 0);
}

/// The last value of a gauge.
fn gauge(stage: &mut Box<dyn Admission>, now: SimTime, wanted: &str) -> f64 {
    let mut seen = None;
    stage.gauges(now, &mut |name, reading| {
        if name == wanted {
            seen = Some(reading.last);
        }
    });
    seen.unwrap_or_else(|| panic!("no gauge {wanted}"))
}

fn seconds(count: u64) -> SimTime {
    SimTime(count * 1_000_000_000)
}

/// A hundred end in the second before `second`, so many of them badly; then the stage is rung.
fn tick(stage: &mut Box<dyn Admission>, second: u64, failures: u64, scene: Scene) -> f64 {
    let ask = Ask::default();
    let entrant = Entrant::first(&ask);
    for number in 0..100 {
        let now = SimTime(seconds(second).0 - 500_000_000);
        stage.take(now, &entrant);
        let took = Nanos::millis(1);
        stage.settle(now, &entrant, if number < failures { End::Failed(took) } else { End::Completed(took) });
    }
    assert_eq!(stage.alarm(), Some(seconds(second)));
    stage.ring(seconds(second), &scene);
    gauge(stage, seconds(second), "probability")
}

#[test]
fn semians_controller_adds_its_whole_output_at_each_tick() {
    let mut stage = room("kind = 'pid_shedder'");
    // 55 % fail: δ = 0.5 above the baseline of 5 %. P = 0.5, sum 0.5: 0.5 + 0.2 · 0.5.
    assert!((tick(&mut stage, 1, 55, Scene::default()) - 0.6).abs() < 1e-9);
    // P = 0.5 − 0.5 · 0.6 = 0.2, sum 0.7: 0.6 + 0.2 + 0.14.
    assert!((tick(&mut stage, 2, 55, Scene::default()) - 0.94).abs() < 1e-9);
    // The window of the tick is the one that ends with it. Six in a hundred lie within a quarter above the baseline,
    // seven do not: the baseline has moved up by 0.0017 of the difference, so P = 0.07 − 0.050034.
    let mut stage = room("kind = 'pid_shedder'\nwindow = '1s'");
    assert_eq!(tick(&mut stage, 1, 6, Scene::default()), 0.0);
    let mut stage = room("kind = 'pid_shedder'\nwindow = '1s'");
    assert!((tick(&mut stage, 1, 7, Scene::default()) - 1.2 * (0.07 - 0.050_034)).abs() < 1e-12);
}

#[test]
fn semians_controller_lets_go_though_it_has_turned_everybody_away() {
    let mut stage = room("kind = 'pid_shedder'\nwindow = '2s'");
    for second in 1..=10 {
        tick(&mut stage, second, 100, Scene::default());
    }
    assert_eq!(gauge(&mut stage, seconds(10), "probability"), 1.0);
    // Nothing ends any more: an error rate of 0 takes it down tick by tick.
    let mut last = 2.0;
    for second in 11..=40 {
        stage.ring(seconds(second), &Scene::default());
        let rejection = gauge(&mut stage, seconds(second), "probability");
        assert!(rejection <= last, "{second}");
        last = rejection;
    }
    assert!(last < 0.01, "{last}");
}

#[test]
fn what_the_queue_turns_away_has_failed_for_those_who_count_answers() {
    let shed = |stage: &str, more: &str| {
        let rows = run(&format!(
            "version = 1\nduration = '20s'\n[traffic.t]\nrate = '10/s'\n[admission.a]\nkind = '{stage}'\n{more}\n\
             [queue.q]\nmax_length = 1\nmax_wait = '10ms'\n[policy.p]\nstages = ['a']\nqueue = 'q'\ndownstream = 'd'\n"
        ));
        rows.sorted_attempts().iter().filter(|attempt| attempt.stage == "a").count()
    };
    // One slot for work of a second: nine of ten find no room.
    let busy = "[downstream.d]\nconcurrency = 1\nservice_time = '1s'";
    const FAILSAFE: &str = "adaptive_throttle'\ndialect = 'failsafe";
    for stage in ["envoy_admission_control", "pid_shedder", FAILSAFE] {
        assert!(50 < shed(stage, busy), "{stage}");
    }
    // What the service itself refuses for its rate is an answer to Envoy, and none to Failsafe.
    let quick = "[downstream.d]\nconcurrency = 'unlimited'\nservice_time = '1ms'\nquota = { rpm = 6 }";
    assert_eq!(shed("envoy_admission_control", quick), 0);
    assert!(50 < shed(FAILSAFE, quick));
}

#[test]
fn the_plain_controller_follows_the_delay_and_does_not_wind_up() {
    let mut stage =
        room("kind = 'pid_shedder'\ndialect = 'plain'\ntarget_delay = '100ms'\nmax_rejection = 0.5");
    let delay = |ms| Scene { delay: Nanos::millis(ms), ..Scene::default() };
    // e = 1: 0.2 + 0.1; then e = 0: the sum alone.
    assert!((tick(&mut stage, 1, 0, delay(200)) - 0.3).abs() < 1e-9);
    assert!((tick(&mut stage, 2, 0, delay(100)) - 0.1).abs() < 1e-9);
    // Ten seconds of ten times the delay hold it at its bound; the sum stands still meanwhile.
    for second in 3..13 {
        assert_eq!(tick(&mut stage, second, 0, delay(1_000)), 0.5);
    }
    assert_eq!(tick(&mut stage, 13, 0, delay(0)), 0.0, "it lets go at once");
}

#[test]
fn pressure_is_a_step_or_a_slope() {
    let of = |trigger| Manager { refresh_interval: Nanos::SECOND, resource: Resource::Busy, trigger };
    let step = of(Trigger::Threshold(0.9));
    assert_eq!([0.89, 0.9, 1.0].map(|pressure| step.state(pressure)), [0.0, 1.0, 1.0]);
    let slope = of(Trigger::Scaled(0.8, 0.95));
    assert_eq!([0.5, 0.8, 0.95, 1.0].map(|pressure| slope.state(pressure)), [0.0, 0.0, 1.0, 1.0]);
    assert!((slope.state(0.875) - 0.5).abs() < 1e-9);
}

#[test]
fn dagor_lets_in_five_per_cent_less_after_an_overloaded_window_and_the_least_important_go_first() {
    let mut stage = room("kind = 'dagor'");
    // Of a window of a thousand, which came by class and user; what was let in waits so long.
    let mut window = |number: u64, wait_ms: u64| {
        let (mut admitted, mut shed) = (Vec::new(), Vec::new());
        for call in 0..1_000u32 {
            let ask = Ask {
                class: ClassId((call % 2) as u16),
                user: call % 500 + 1,
                dice: Dice(call.into()),
                ..Ask::default()
            };
            let now = SimTime(seconds(number).0 + u64::from(call) * 900_000);
            let entrant = Entrant { waited: Nanos::millis(wait_ms), ..Entrant::first(&ask) };
            match stage.sheds(now, &entrant, &Scene::default()) {
                None => {
                    stage.take(now, &entrant);
                    stage.settle(now, &entrant, End::Completed(Nanos(1)));
                    admitted.push(ask);
                }
                Some(_) => shed.push(ask),
            }
        }
        stage.ring(seconds(number + 1), &Scene::default());
        (admitted, shed)
    };
    let (all, none) = window(0, 30);
    assert_eq!((all.len(), none.len()), (1_000, 0));
    let mut last = 1_000;
    for number in 1..9 {
        let (admitted, shed) = window(number, 30);
        // Five per cent less, down to the next of 128 users' levels of some four calls each.
        let wanted = (last as f64 * 0.95) as usize;
        assert!(admitted.len() <= wanted && wanted <= admitted.len() + 24, "{last}, then {}", admitted.len());
        // Batch, which is class 0, goes before any interactive call; a user's calls go together.
        assert!(shed.iter().all(|ask| ask.class == ClassId(0)));
        assert!(
            shed.iter()
                .all(|ask| admitted.iter().all(|other| other.class != ask.class || other.user != ask.user))
        );
        last = admitted.len();
    }
    // A calm window lets in one per cent more.
    window(9, 1);
    let (admitted, _) = window(10, 1);
    assert!(last < admitted.len() + 60 && admitted.len() <= last + 60, "{last}, then {}", admitted.len());
}

#[test]
fn dagor_lets_in_again_after_it_has_shut_everybody_out() {
    // Ten windows in which what starts has waited too long take the level to its lowest; then all is calm.
    let mut stage = room("kind = 'dagor'\nalpha = 0.9");
    let mut window = |number: u64, wait_ms: u64, named: bool| {
        let mut admitted = 0;
        for call in 0..200u64 {
            let user = if named { call as u32 % 50 + 1 } else { 0 };
            let ask = Ask { user, dice: Dice(call.wrapping_mul(0x9e37_79b9_7f4a_7c15)), ..Ask::default() };
            let now = SimTime(seconds(number).0 + call * 1_000_000);
            let entrant = Entrant { waited: Nanos::millis(wait_ms), ..Entrant::first(&ask) };
            if stage.sheds(now, &entrant, &Scene::default()).is_none() {
                stage.take(now, &entrant);
                stage.settle(now, &entrant, End::Completed(Nanos(1)));
                admitted += 1;
            }
        }
        stage.ring(seconds(number + 1), &Scene::default());
        admitted
    };
    (0..10).for_each(|number| _ = window(number, 1_000, true));
    let lowest = window(10, 1_000, true);
    assert!(lowest < 10, "{lowest}");
    let calm: Vec<u64> = (11..200).map(|number| window(number, 0, true)).collect();
    assert_eq!(calm.last(), Some(&200), "{calm:?}");
    // Calls without a user are not one user, who would be let in or shut out as a whole.
    window(200, 1_000, false);
    let fewer = window(201, 1_000, false);
    assert!((1..150).contains(&fewer), "{fewer}");
}

#[test]
fn callers_that_hear_dagors_level_turn_away_before_they_call() {
    // Half again as many calls as there are slots for, from ten callers.
    let shed = |more: &str| {
        let rows = run(&format!(
            "version = 1\nduration = '60s'\n[class.interactive]\npriority = 10\n[class.batch]\n\
             [traffic.t]\nrate = '75/s'\nclass = 'interactive'\nuser = {{ count = 5000 }}\ntenant = {{ count = 10 }}\n\
             [traffic.u]\nrate = '75/s'\nclass = 'batch'\nuser = {{ count = 5000 }}\ntenant = {{ count = 10 }}\n\
             [admission.a]\nkind = 'dagor'\n{more}\n[queue.q]\nmax_length = 'unlimited'\n\
             [downstream.d]\nconcurrency = 10\nservice_time = {{ dist = 'exponential', mean = '100ms' }}\n\
             [policy.p]\nstages = ['a']\nqueue = 'q'\ndownstream = 'd'\n"
        ));
        let attempts = rows.sorted_attempts();
        let by = |scope: &str| attempts.iter().filter(|attempt| attempt.scope == scope).count();
        let people = attempts.iter().filter(|attempt| attempt.class == "interactive");
        let served = people.clone().filter(|attempt| attempt.outcome == "goodput").count();
        (by("caller"), by("level"), served as f64 / people.count() as f64)
    };
    let (none, level, _) = shed("");
    assert!(none == 0 && 1_000 < level, "{none} and {level}");
    let (caller, level, people) = shed("callers = 10");
    assert!(3 * level < caller, "{caller} by callers, {level} by the service");
    assert!(0.9 < people, "{people}");
}

/// A downstream of ten slots and 100 ms under 150 calls a second, half of them interactive; how long the interactive
/// ones waited, and the shares of each class that were served.
fn overloaded(stage: &str) -> (u64, [f64; 2]) {
    let rows = run(&format!(
        "version = 1\nduration = '60s'\n[class.interactive]\npriority = 10\n[class.batch]\n\
         [traffic.t]\nrate = '75/s'\nclass = 'interactive'\nuser = {{ count = 5000 }}\n\
         [traffic.u]\nrate = '75/s'\nclass = 'batch'\nuser = {{ count = 5000 }}\n\
         [admission.a]\n{stage}\n[queue.q]\nmax_length = 'unlimited'\n\
         [downstream.d]\nconcurrency = 10\nservice_time = {{ dist = 'exponential', mean = '100ms' }}\n\
         [policy.p]\nstages = ['a']\nqueue = 'q'\ndownstream = 'd'\n"
    ));
    let class =
        |name: &str| rows.summaries.iter().find(|row| row.class.as_deref() == Some(name)).expect("a class");
    let served = ["interactive", "batch"].map(|name| {
        let class = class(name);
        class.counts[tidegate::observe::Count::Goodput as usize] as f64 / class.calls as f64
    });
    (class("interactive").queue_wait.p99 / 1_000_000, served)
}

#[test]
fn each_shedder_keeps_waits_short_and_those_with_priorities_spare_the_important() {
    let (none, _) = overloaded("kind = 'concurrency'\nlimit = 'unlimited'");
    assert!(15_000 < none, "{none}");
    for (stage, spares) in [
        ("kind = 'queue_delay'\nthreshold = '500ms'", false),
        ("kind = 'queue_delay'\nthreshold = '1s'\nstep = '90ms'", true),
        ("kind = 'dagor'", true),
        ("kind = 'utilization_shedder'\ninterval = '500ms'", true),
        (
            "kind = 'overload_manager'\nresource = 'waiting'\nmax_waiting = 100\nscaling_threshold = 0.1\nsaturation_threshold = 0.9",
            false,
        ),
        ("kind = 'pid_shedder'\ndialect = 'plain'\ntarget_delay = '200ms'\ninterval = '200ms'", false),
    ] {
        let (wait, [interactive, batch]) = overloaded(stage);
        assert!(wait < 5_000, "{stage}: {wait} ms");
        assert!(0.8 < interactive + batch, "{stage}: {interactive} and {batch} served");
        assert!(!spares || batch + 0.3 < interactive, "{stage}: {interactive} and {batch}");
    }
}
