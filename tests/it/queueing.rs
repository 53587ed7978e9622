//! Queueing theory: what long seeded runs show lies within four standard errors of the closed forms.
//!
//! The mean service time is 1 s throughout, so that times in seconds are those of the tables. Each row is run under
//! many seeds, since waits within one run are too alike for a standard error; the warm-up is several relaxation
//! times, about (1 + cs²) / (1 − ρ)² services for a single server.

use crate::support::{
    Estimate, Summary, no_faults, number, prepared, rows, run_setup, setup, vectors, whole,
};
use serde_json::Value;
use tidegate::engine::{self, Unwatched};
use tidegate::observe::{
    Count, GaugeRow, LatencyRow, OutcomeRow, Percentiles, RequestRow, Sink, SummaryRow, TimelineRow,
};
use tidegate::problem::Problem;

/// So many runs give one estimate.
const SEEDS: u64 = 24;

/// A system: who arrives, what serves, how much may wait.
struct System {
    arrivals: String,
    servers: String,
    service: String,
    /// The most that may wait; `None` is without bound.
    queue: Option<u64>,
    /// Further lines of the queue: its kind.
    discipline: &'static str,
    /// Further lines: `stages = …` and the stages.
    stages: String,
    /// Seconds before results count.
    warmup: f64,
    /// Calls of each run, about.
    calls: f64,
    rate: f64,
}

const EXPONENTIAL: &str = "{ dist = 'exponential', mean = '1s' }";

/// M/G/c with so many servers and so much load, without bound.
fn mgc(servers: u64, rho: f64, service: &str, cs2: f64) -> System {
    let rate = rho * servers as f64;
    // Relaxation times in services of one server; a busy system of many servers relaxes as fast as one of them.
    let relaxation = (1.0 + cs2) / ((1.0 - rho) * (1.0 - rho)) / servers as f64 + 5.0;
    System {
        arrivals: poisson(rate),
        servers: servers.to_string(),
        service: service.to_string(),
        queue: None,
        discipline: "",
        stages: String::new(),
        warmup: 6.0 * relaxation,
        // A percentile of few relaxation times is too small on average.
        calls: (100.0 * relaxation * rate).clamp(8_000.0, 120_000.0),
        rate,
    }
}

/// So many a second, to nine decimals, which an exact rate can hold.
fn poisson(rate: f64) -> String {
    format!("rate = '{rate:.9}/s'")
}

/// What one run has shown.
struct Seen {
    summary: Summary,
    /// Waits of the attempts that started in the main phase, sorted, in seconds.
    waits: Vec<f64>,
    /// The integral of the number that wait, over the main phase, per second.
    queue_avg: f64,
    arrivals: u64,
}

#[derive(Default)]
struct Watcher {
    warmup_ns: u64,
    waits: Vec<u64>,
    summary: Option<Summary>,
    area: u128,
    length: u64,
    arrivals: u64,
}

impl Sink for Watcher {
    fn timeline(&mut self, row: &TimelineRow<'_>) -> Result<(), Problem> {
        if row.phase == tidegate::observe::Phase::Main {
            self.area += row.queue_depth.area;
            self.length += row.length.0;
        }
        Ok(())
    }
    fn outcome(&mut self, _row: &OutcomeRow<'_>) -> Result<(), Problem> {
        Ok(())
    }
    fn latency(&mut self, _row: &LatencyRow<'_>) -> Result<(), Problem> {
        Ok(())
    }
    fn gauge(&mut self, _row: &GaugeRow<'_>) -> Result<(), Problem> {
        Ok(())
    }
    fn summary(&mut self, row: &SummaryRow<'_>) -> Result<(), Problem> {
        if row.class.is_none() {
            self.summary = Some(Summary {
                class: None,
                calls: row.calls,
                counts: row.counts,
                queue_wait: row.queue_wait,
                latency: row.latency,
                queue_depth_max: row.queue_depth_max,
                in_flight_avg: row.in_flight_avg,
                utilization: row.utilization,
            });
        }
        Ok(())
    }
    fn wants_requests(&self) -> bool {
        true
    }
    fn request(&mut self, row: &RequestRow<'_>) -> Result<(), Problem> {
        if self.warmup_ns <= row.arrived.0 {
            self.arrivals += 1;
            self.waits.extend(row.started.map(|started| (started - row.arrived).0));
        }
        Ok(())
    }
}

impl System {
    fn text(&self) -> String {
        let ms = |seconds: f64| (seconds * 1_000.0) as u64;
        let (warmup, duration) = (ms(self.warmup), ms(self.warmup + self.calls / self.rate));
        let System { arrivals, servers, service, stages, .. } = self;
        let servers = if servers == "unlimited" { "'unlimited'" } else { servers };
        let queue = match self.queue {
            Some(0) => ("", String::new()),
            bound => {
                let bound = bound.map_or("'unlimited'".to_string(), |bound| bound.to_string());
                ("queue = 'line'", format!("[queue.line]\nmax_length = {bound}\n{}", self.discipline))
            }
        };
        format!(
            "version = 1\nduration = '{duration}ms'\nwarmup = '{warmup}ms'\ninterval = '100000s'\n\
             [traffic.calls]\n{arrivals}\n[downstream.server]\nconcurrency = {servers}\nservice_time = {service}\n\
             {}\n[policy.plain]\ndownstream = 'server'\n{}\n{stages}\n",
            queue.1, queue.0
        )
    }

    fn runs(&self) -> Vec<Seen> {
        self.runs_of(SEEDS)
    }

    fn runs_of(&self, seeds: u64) -> Vec<Seen> {
        let prepared = prepared(&self.text());
        (1..=seeds)
            .map(|seed| {
                let warmup_ns = prepared.scenario.warmup.0;
                let mut watcher = Watcher { warmup_ns, ..Watcher::default() };
                engine::run(setup(&prepared, 0, seed), &mut watcher, &mut Unwatched)
                    .unwrap_or_else(|problem| panic!("{problem}"));
                let mut waits: Vec<f64> = watcher.waits.iter().map(|ns| *ns as f64 / 1e9).collect();
                waits.sort_by(f64::total_cmp);
                Seen {
                    summary: watcher.summary.expect("a run ends with a summary"),
                    waits,
                    queue_avg: watcher.area as f64 / watcher.length as f64,
                    arrivals: watcher.arrivals,
                }
            })
            .collect()
    }
}

impl Seen {
    fn wait_mean(&self) -> f64 {
        mean(&self.summary.queue_wait)
    }

    /// The share of waits above a bound.
    fn waits_above(&self, bound: f64) -> f64 {
        let up_to = self.waits.partition_point(|wait| *wait <= bound);
        (self.waits.len() - up_to) as f64 / self.waits.len() as f64
    }

    fn rejected(&self) -> f64 {
        self.summary.share(Count::RejectedAtArrival, Count::Offered)
    }
}

fn mean(percentiles: &Percentiles) -> f64 {
    percentiles.mean().expect("there were some") / 1e9
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Compares one quantity over the runs with what it should be.
fn compare(
    what: String,
    runs: &[Seen],
    expected: f64,
    least: f64,
    of: impl Fn(&Seen) -> f64,
) -> Option<String> {
    let values: Vec<f64> = runs.iter().map(of).collect();
    Estimate::of(&values).fault(&what, expected, least)
}

/// The standard error that a share would have of independent trials.
fn least_of_share(share: f64, runs: &[Seen]) -> f64 {
    let trials: u64 = runs.iter().map(|run| run.arrivals).sum();
    (share * (1.0 - share) / trials as f64).sqrt()
}

fn table(name: &str) -> Vec<Value> {
    rows(&vectors("queueing")[name]).to_vec()
}

#[test]
fn one_exponential_server_has_the_waits_of_mm1() {
    // At a load of 0.99 no affordable run is long enough.
    for row in table("mm1").iter().filter(|row| number(&row["rho"]) < 0.97) {
        let rho = number(&row["rho"]);
        let runs = mgc(1, rho, EXPONENTIAL, 1.0).runs();
        let of = |key: &str| number(&row[key]);
        let what = |key: &str| format!("M/M/1 at {rho}: {key}");
        no_faults(
            [
                compare(what("Wq"), &runs, of("Wq"), 0.0, Seen::wait_mean),
                compare(what("W"), &runs, of("W"), 0.0, |run| mean(&run.summary.latency)),
                compare(what("W p50"), &runs, of("W_p50"), 0.0, |run| seconds(run.summary.latency.p50)),
                compare(what("W p99"), &runs, of("W_p99"), 0.0, |run| seconds(run.summary.latency.p99)),
                compare(what("Wq p99"), &runs, of("Wq_p99"), 0.0, |run| seconds(run.summary.queue_wait.p99)),
                compare(what("Lq"), &runs, of("Lq"), 0.0, |run| run.queue_avg),
                compare(what("L"), &runs, of("L"), 0.0, |run| run.queue_avg + run.summary.in_flight_avg),
                compare(what("P0"), &runs, of("P0"), 0.0, |run| {
                    1.0 - run.summary.utilization.expect("slots")
                }),
            ]
            .into_iter()
            .flatten(),
        );
    }
}

#[test]
fn several_exponential_servers_have_the_waits_of_erlang_c() {
    for row in table("mmc").iter().filter(|row| whole(&row["c"]) > 1) {
        let (c, rho) = (whole(&row["c"]), number(&row["rho"]));
        let runs = mgc(c, rho, EXPONENTIAL, 1.0).runs();
        let of = |key: &str| number(&row[key]);
        let what = |key: &str| format!("M/M/{c} at {rho}: {key}");
        // An arrival waits with probability C, then for an exponential time.
        let (waits, arrivals) = (of("ErlangC"), runs.iter().map(|run| run.arrivals).sum::<u64>() as f64);
        let least = (2.0 * waits / arrivals).sqrt() / (c as f64 * (1.0 - rho));
        let mut faults = vec![
            compare(what("C"), &runs, waits, least_of_share(waits, &runs), |run| run.waits_above(0.0)),
            compare(what("Wq"), &runs, of("Wq"), least, Seen::wait_mean),
            compare(what("W"), &runs, of("W"), least, |run| mean(&run.summary.latency)),
            compare(what("Lq"), &runs, of("Lq"), least * c as f64 * rho, |run| run.queue_avg),
            compare(
                what("P(Wq > 1)"),
                &runs,
                of("P_Wq_gt_1"),
                least_of_share(of("P_Wq_gt_1"), &runs),
                |run| run.waits_above(1.0),
            ),
        ];
        // Where about one in a hundred waits at all, the 99th percentile is now nothing and now something.
        if !(0.005..0.02).contains(&waits) {
            let p99 = |run: &Seen| seconds(run.summary.queue_wait.p99);
            faults.push(compare(what("Wq p99"), &runs, of("Wq_p99"), 0.0, p99));
        }
        no_faults(faults.into_iter().flatten());
    }
}

#[test]
fn a_loss_system_blocks_as_erlang_b_whatever_the_service_time() {
    let lognormal = lognormal(4.0);
    let blocks = |servers: u64, erlangs: f64, blocking: f64| {
        let mut faults = Vec::new();
        for service in [EXPONENTIAL, lognormal.as_str(), "'1s'"] {
            let system = System {
                arrivals: poisson(erlangs),
                servers: servers.to_string(),
                service: service.to_string(),
                queue: Some(0),
                discipline: "",
                stages: String::new(),
                warmup: 60.0,
                calls: 4_000.0,
                rate: erlangs,
            };
            let runs = system.runs();
            let what = format!("{servers} servers, {erlangs} Erlangs, {service}");
            faults.extend(compare(what, &runs, blocking, least_of_share(blocking, &runs), Seen::rejected));
        }
        faults
    };
    let mut faults = Vec::new();
    for row in table("mmc") {
        faults.extend(blocks(whole(&row["c"]), number(&row["A"]), number(&row["ErlangB"])));
    }
    for row in table("erlangB_inverse") {
        faults.extend(blocks(whole(&row["N"]), number(&row["A"]), number(&row["B"])));
    }
    no_faults(faults);
}

/// Lognormal with mean 1 s and a squared coefficient of variation: its logarithms' variance is ln(1 + cs²).
fn lognormal(cs2: f64) -> String {
    let sigma = tidegate::math::ln(1.0 + cs2).sqrt();
    format!("{{ dist = 'lognormal', mean = '1s', sigma = {sigma} }}")
}

#[test]
fn a_bounded_queue_blocks_and_delays_as_mmck() {
    let mut faults = Vec::new();
    for (name, key) in [("mm1K", "W_accepted"), ("mmcK", "Wq_accepted")] {
        for row in table(name) {
            let (c, k, rho) = (row["c"].as_u64().unwrap_or(1), whole(&row["K"]), number(&row["rho"]));
            let rate = rho * c as f64;
            let system = System {
                arrivals: poisson(rate),
                servers: c.to_string(),
                service: EXPONENTIAL.to_string(),
                queue: Some(k - c),
                discipline: "",
                stages: String::new(),
                warmup: 10.0 * k as f64 + 100.0,
                calls: 6_000.0,
                rate,
            };
            let runs = system.runs();
            let of = |key: &str| number(&row[key]);
            let what = |key: &str| format!("M/M/{c}/{k} at {rho}: {key}");
            let blocking = of("P_block");
            let least = least_of_share(blocking, &runs);
            faults.extend(compare(what("blocked"), &runs, blocking, least, Seen::rejected));
            // Relative to what arrived, so that the number of arrivals does not count twice.
            let answered = |run: &Seen| run.summary.share(Count::Completed, Count::Offered);
            faults.extend(compare(what("throughput"), &runs, of("throughput") / rate, least, answered));
            let delay = |run: &Seen| {
                if key == "W_accepted" { mean(&run.summary.latency) } else { mean(&run.summary.queue_wait) }
            };
            faults.extend(compare(what(key), &runs, of(key), 0.0, delay));
            if name == "mm1K" {
                let number_in_system = |run: &Seen| run.queue_avg + run.summary.in_flight_avg;
                faults.extend(compare(what("L"), &runs, of("L"), 0.0, number_in_system));
            } else {
                faults.extend(compare(what("Lq"), &runs, of("Lq"), 0.0, |run| run.queue_avg));
            }
        }
    }
    no_faults(faults);
}

#[test]
fn constant_service_has_the_waits_of_crommelin() {
    let mut faults = Vec::new();
    for row in table("md1") {
        let rho = number(&row["rho"]);
        let runs = mgc(1, rho, "'1s'", 0.0).runs();
        let of = |key: &str| number(&row[key]);
        let what = |key: &str| format!("M/D/1 at {rho}: {key}");
        faults.extend(compare(what("Wq"), &runs, of("Wq"), 0.0, Seen::wait_mean));
        for (key, bound) in [("P_wait0", 0.0), ("P_Wq_le_1", 1.0), ("P_Wq_le_2", 2.0), ("P_Wq_le_5", 5.0)] {
            let least = least_of_share(of(key), &runs);
            faults.extend(compare(what(key), &runs, of(key), least, |run| 1.0 - run.waits_above(bound)));
        }
        faults.extend(compare(what("Wq p90"), &runs, of("Wq_p90"), 0.0, |run| {
            seconds(run.summary.queue_wait.p90)
        }));
        faults.extend(compare(what("Wq p99"), &runs, of("Wq_p99"), 0.0, |run| {
            seconds(run.summary.queue_wait.p99)
        }));
    }
    no_faults(faults);
}

#[test]
fn any_service_time_has_the_mean_wait_of_pollaczek_and_khinchine() {
    let mut faults = Vec::new();
    // The exponential is M/M/1, tested above.
    for row in table("mg1").iter().filter(|row| number(&row["cs2"]) != 1.0) {
        let (rho, cs2) = (number(&row["rho"]), number(&row["cs2"]));
        let service = match cs2 {
            0.0 => "'1s'".to_string(),
            0.25 => "{ dist = 'gamma', mean = '1s', shape = 4 }".to_string(),
            _ => lognormal(cs2),
        };
        let runs = mgc(1, rho, &service, cs2).runs();
        let what = |key: &str| format!("M/G/1 at {rho}, cs² = {cs2}: {key}");
        faults.extend(compare(what("Wq"), &runs, number(&row["Wq"]), 0.0, Seen::wait_mean));
        faults.extend(compare(what("W"), &runs, number(&row["W"]), 0.0, |run| mean(&run.summary.latency)));
        faults.extend(compare(what("Lq"), &runs, number(&row["Lq"]), 0.0, |run| run.queue_avg));
    }
    no_faults(faults);
}

#[test]
fn first_in_first_out_has_the_second_moment_of_takacs() {
    let mut faults = Vec::new();
    for row in table("mg1_fifo_vs_lifo") {
        let rho = number(&row["rho"]);
        let (service, cs2) = if row["service"] == "exponential" { (EXPONENTIAL, 1.0) } else { ("'1s'", 0.0) };
        let runs = mgc(1, rho, service, cs2).runs();
        let second =
            |run: &Seen| run.waits.iter().map(|wait| wait * wait).sum::<f64>() / run.waits.len() as f64;
        let what = format!("E[Wq²] at {rho}, {service}");
        faults.extend(compare(what, &runs, number(&row["Wq2_FIFO"]), 0.0, second));
    }
    no_faults(faults);
}

#[test]
fn last_in_first_out_has_the_same_mean_and_a_larger_second_moment() {
    let mut faults = Vec::new();
    for row in table("mg1_fifo_vs_lifo") {
        let rho = number(&row["rho"]);
        let (service, cs2) = if row["service"] == "exponential" { (EXPONENTIAL, 1.0) } else { ("'1s'", 0.0) };
        let runs = System { discipline: "kind = 'lifo'", ..mgc(1, rho, service, cs2) }.runs();
        let second =
            |run: &Seen| run.waits.iter().map(|wait| wait * wait).sum::<f64>() / run.waits.len() as f64;
        let what = |key: &str| format!("{key} last in, first out at {rho}, {service}");
        faults.extend(compare(what("Wq"), &runs, number(&row["Wq_mean"]), 0.0, Seen::wait_mean));
        faults.extend(compare(what("E[Wq²]"), &runs, number(&row["Wq2_LIFO"]), 0.0, second));
    }
    no_faults(faults);
}

/// Two classes, the first before the second: rates, and lines that give each its service.
fn two_classes(
    queue: &str,
    servers: u64,
    rates: [f64; 2],
    calls: [&str; 2],
    service: &str,
    length: f64,
) -> String {
    let [high, low] = rates.map(poisson);
    let (warmup, duration) = ((length / 20.0).round(), length);
    format!(
        "version = 1\nduration = '{duration}s'\nwarmup = '{warmup}s'\ninterval = '100000s'\n\
         [class.high]\npriority = 1\n[class.low]\n\
         [traffic.high]\nclass = 'high'\n{high}\n{}\n[traffic.low]\nclass = 'low'\n{low}\n{}\n\
         [downstream.server]\nconcurrency = {servers}\nservice_time = {service}\n\
         [queue.line]\nmax_length = 'unlimited'\n{queue}\n\
         [policy.plain]\nqueue = 'line'\ndownstream = 'server'\n",
        calls[0], calls[1]
    )
}

/// The mean waits of both classes, run by run.
fn waits_by_class(text: &str) -> Vec<[f64; 2]> {
    means_by_class(text, |summary| mean(&summary.queue_wait))
}

/// A mean of each class, run by run.
fn means_by_class(text: &str, of: impl Fn(&Summary) -> f64) -> Vec<[f64; 2]> {
    let prepared = prepared(text);
    let run = |seed| {
        let rows = run_setup(setup(&prepared, 0, seed));
        ["high", "low"].map(|class| {
            let of_class = |summary: &&Summary| summary.class.as_deref() == Some(class);
            of(rows.summaries.iter().find(of_class).expect("it called"))
        })
    };
    (1..=SEEDS).map(run).collect()
}

fn compare_classes(what: &str, waits: &[[f64; 2]], expected: [f64; 2]) -> Vec<String> {
    let fault = |class: usize| {
        let values: Vec<f64> = waits.iter().map(|waits| waits[class]).collect();
        Estimate::of(&values).fault(&format!("{what}, class {class}"), expected[class], 0.0)
    };
    [fault(0), fault(1)].into_iter().flatten().collect()
}

/// Both classes of a row of one server, whose work is in tokens of a tenth of a millisecond so that each has its own.
fn of_a_row(row: &serde_json::Value) -> String {
    let pair = |key: &str| [0, 1].map(|class| number(&row[key][class]));
    let exponential = pair("ES2")[0] > pair("ES")[0] * pair("ES")[0];
    let calls = pair("ES").map(|seconds| {
        let tokens = (seconds * 10_000.0) as u64;
        match exponential {
            true => format!("tokens = {{ input = 0, output = {{ dist = 'exponential', mean = {tokens} }} }}"),
            false => format!("tokens = {{ input = 0, output = {tokens} }}"),
        }
    });
    let service = "{ base = '0s', per_output_token = '100us' }";
    let [one, two] = &calls;
    two_classes("kind = 'priority'", 1, pair("lam"), [one, two], service, 30_000.0)
}

#[test]
fn priorities_that_preempt_have_the_times_of_the_closed_form() {
    let mut faults = Vec::new();
    for row in table("mg1_priority") {
        // Everything waits inside the server, which takes slots from what is less important.
        let text = of_a_row(&row)
            .replace("[queue.line]\nmax_length = 'unlimited'\nkind = 'priority'\n", "")
            .replace("queue = 'line'\n", "")
            .replace("[downstream.server]\n", "[downstream.server]\npreempt = true\nbacklog = 'unlimited'\n");
        let expected = [0, 1].map(|class| number(&row["T_preemptive_resume"][class]));
        let times = means_by_class(&text, |summary| mean(&summary.latency));
        faults.extend(compare_classes(row["desc"].as_str().expect("a description"), &times, expected));
    }
    no_faults(faults);
}

#[test]
fn priorities_have_the_waits_of_cobham() {
    let mut faults = Vec::new();
    for row in table("mg1_priority") {
        let expected = [0, 1].map(|class| number(&row["Wq_nonpreemptive"][class]));
        let what = row["desc"].as_str().expect("a description");
        faults.extend(compare_classes(what, &waits_by_class(&of_a_row(&row)), expected));
    }
    // Several servers with equal exponential services: what arrives waits C / cμ on average for the first to end, and
    // the same factors hold.
    for row in table("mmc").iter().filter(|row| whole(&row["c"]) > 1 && number(&row["ErlangC"]) > 0.3) {
        let (c, rho) = (whole(&row["c"]), number(&row["rho"]));
        if rho > 0.9 {
            continue;
        }
        let rate = c as f64 * rho;
        let first = number(&row["ErlangC"]) / c as f64;
        let high = 0.4 * rho;
        let expected = [first / (1.0 - high), first / (1.0 - high) / (1.0 - rho)];
        let rates = [0.4 * rate, 0.6 * rate];
        let text =
            two_classes("kind = 'priority'", c, rates, ["", ""], EXPONENTIAL, (40_000.0 / rate).round());
        faults.extend(compare_classes(&format!("M/M/{c} at {rho}"), &waits_by_class(&text), expected));
    }
    no_faults(faults);
}

/// Exponential patience as so many traffics, each with a client of one patience: the middles of equal parts.
const PATIENCES: u64 = 250;

#[test]
fn impatient_callers_abandon_as_erlang_a_says() {
    let mut faults = Vec::new();
    for row in table("erlangA") {
        let of = |key: &str| number(&row[key]);
        let (servers, rate, theta) = (whole(&row["n"]), of("lam"), of("theta"));
        let length = (6_000.0 / rate).round();
        let warmup = (20.0 + 3.0 / theta).round();
        let duration = warmup + length;
        let mut text = format!(
            "version = 1\nduration = '{duration}s'\nwarmup = '{warmup}s'\ninterval = '100000s'\n\
             [downstream.server]\nconcurrency = {servers}\nservice_time = {EXPONENTIAL}\n\
             [queue.line]\nmax_length = 'unlimited'\n[policy.plain]\nqueue = 'line'\ndownstream = 'server'\n"
        );
        for part in 0..PATIENCES {
            let left = 1.0 - (part as f64 + 0.5) / PATIENCES as f64;
            let patience = (-tidegate::math::ln(left) / theta * 1e9) as u64;
            let each = poisson(rate / PATIENCES as f64);
            text += &format!(
                "[traffic.t{part}]\n{each}\nclient = 'c{part}'\n[client.c{part}]\ntimeout = '{patience}ns'\n"
            );
        }
        let prepared = prepared(&text);
        let summary = |seed| run_setup(setup(&prepared, 0, seed)).summaries[0].clone();
        let runs: Vec<Summary> = (1..=SEEDS).map(summary).collect();
        let abandoned: Vec<f64> =
            runs.iter().map(|run| run.share(Count::AbandonedQueued, Count::Offered)).collect();
        let busy: Vec<f64> = runs.iter().map(|run| run.utilization.expect("slots")).collect();
        let what = |key: &str| format!("{servers} servers, {rate} a second, θ = {theta}: {key}");
        faults.extend(Estimate::of(&abandoned).fault(&what("P(abandon)"), of("P_abandon"), 0.0));
        faults.extend(Estimate::of(&busy).fault(&what("utilisation"), of("util"), 0.0));
    }
    no_faults(faults);
}

#[test]
fn equal_gaps_before_an_exponential_server_have_the_waits_of_dm1() {
    let mut faults = Vec::new();
    for row in table("gim1").iter().filter(|row| row["model"] == "D/M/1") {
        let rho = number(&row["rho"]);
        let mut system = mgc(1, rho, EXPONENTIAL, 1.0);
        system.arrivals = format!("arrivals = 'paced'\n{}", system.arrivals);
        let runs = system.runs();
        let what = |key: &str| format!("D/M/1 at {rho}: {key}");
        faults.extend(compare(what("Wq"), &runs, number(&row["Wq"]), 0.0, Seen::wait_mean));
        let waits = number(&row["P_wait"]);
        faults.extend(compare(what("P(wait)"), &runs, waits, 0.0, |run| run.waits_above(0.0)));
    }
    no_faults(faults);
}

#[test]
fn a_bucket_and_gcra_pass_the_share_of_poisson_calls_that_theory_says() {
    let mut faults = Vec::new();
    for row in rows(&vectors("limiter_under_poisson")["token_bucket_poisson"]) {
        let (burst, rho) = (whole(&row["burst"]), number(&row["rho"]));
        let passed = |kind: &str| {
            let stage = format!("kind = '{kind}'\nrate = '1/s'\nburst = {burst}");
            let system = System {
                arrivals: poisson(rho),
                servers: "unlimited".to_string(),
                service: "'1ms'".to_string(),
                queue: Some(0),
                discipline: "",
                stages: format!("stages = ['limit']\n[limiter.limit]\n{stage}"),
                // From full, the bucket drifts like a walk with variance 1 + rho a second.
                warmup: 200.0 + 3.0 * (burst * burst) as f64,
                calls: 6_000.0 + 5.0 * (burst * burst) as f64,
                rate: rho,
            };
            system.runs_of(12)
        };
        let (bucket, gcra) = (passed("token_bucket"), passed("gcra"));
        for (bucket, gcra) in bucket.iter().zip(&gcra) {
            assert_eq!(bucket.summary, gcra.summary, "a bucket and GCRA differ at burst {burst}, load {rho}");
        }
        let accepted = number(&row["accept_prob"]);
        let what = format!("burst {burst} at {rho}");
        let least = least_of_share(accepted, &bucket);
        faults.extend(compare(what, &bucket, accepted, least, |run| {
            run.summary.share(Count::AdmittedDirect, Count::Offered)
        }));
    }
    no_faults(faults);
}

/// The share of Poisson calls that pass a limit, on its own, is what the closed form says.
fn passes_the_share(
    what: String,
    stage: String,
    arrivals_per_s: f64,
    window_s: f64,
    accepted: f64,
) -> Option<String> {
    let system = System {
        arrivals: poisson(arrivals_per_s),
        servers: "unlimited".to_string(),
        service: "'1ms'".to_string(),
        queue: Some(0),
        discipline: "",
        stages: format!("stages = ['limit']\n[limiter.limit]\n{stage}"),
        warmup: 20.0 * window_s,
        calls: 8_000.0,
        rate: arrivals_per_s,
    };
    let runs = system.runs_of(12);
    let least = least_of_share(accepted, &runs);
    compare(what, &runs, accepted, least, |run| run.summary.share(Count::AdmittedDirect, Count::Offered))
}

#[test]
fn windows_pass_the_share_of_poisson_calls_that_theory_says() {
    let tables = [
        ("fixed_window_poisson", "kind = 'fixed_window'"),
        ("first_request_fixed_window_poisson", "kind = 'fixed_window'\nopens = 'first_hit'"),
        ("sliding_log_poisson", "kind = 'sliding_log'"),
    ];
    let all = vectors("limiter_under_poisson");
    let mut faults = Vec::new();
    for (table, kind) in tables {
        for row in rows(&all[table]) {
            let (limit, load) = (whole(&row["limit"]), number(&row["offered_over_limit"]));
            let stage = format!("{kind}\nlimit = {limit}\nwindow = '1s'");
            let what = format!("{table}: limit {limit} at {load}");
            faults.extend(passes_the_share(
                what,
                stage,
                load * limit as f64,
                1.0,
                number(&row["accept_prob"]),
            ));
        }
    }
    no_faults(faults);
}

#[test]
fn a_concurrency_limit_before_unlimited_slots_blocks_as_erlang_b() {
    let mut faults = Vec::new();
    for row in rows(&vectors("limiter_under_poisson")["concurrency_limit_poisson"]) {
        let limit = whole(&row["max_in_flight"]);
        let rate = number(&row["offered_erlangs_over_c"]) * limit as f64;
        let system = System {
            arrivals: poisson(rate),
            servers: "unlimited".to_string(),
            service: "{ dist = 'uniform', low = '500ms', high = '1500ms' }".to_string(),
            queue: Some(0),
            discipline: "",
            stages: format!("stages = ['limit']\n[admission.limit]\nkind = 'concurrency'\nlimit = {limit}"),
            warmup: 30.0,
            calls: 6_000.0,
            rate,
        };
        let runs = system.runs();
        let accepted = number(&row["accept_prob"]);
        let least = least_of_share(accepted, &runs);
        let what = format!("limit {limit}, {rate} Erlangs");
        faults.extend(compare(what, &runs, accepted, least, |run| {
            run.summary.share(Count::AdmittedDirect, Count::Offered)
        }));
    }
    no_faults(faults);
}
