//! Call graphs: when calls are made and when work goes on, by hand; what retries make of one another, in closed form; and
//! random graphs, whose accounts balance.

use crate::support::{Attempt, Rows, number, prepared, run, run_setup, setup, vectors};
use proptest::prelude::*;
use tidegate::observe::Count;
use tidegate::scenario::Scenario;
use tidegate::scenario::source::Document;

/// One call at 0 of `front`, among the downstreams that `text` describes.
fn one_call(text: &str) -> Rows {
    run(&format!(
        "version = 1\nduration = '10s'\n[traffic.t]\nat = ['0s']\n{text}\n[policy.p]\ndownstream = 'front'\n"
    ))
}

/// A downstream without limits.
fn plain(name: &str, takes: &str, more: &str) -> String {
    format!("[downstream.{name}]\nconcurrency = 'unlimited'\nservice_time = '{takes}'\n{more}\n")
}

/// When an attempt arrived and ended, in milliseconds.
fn times(attempt: &Attempt) -> (u64, u64) {
    (attempt.arrived.0 / 1_000_000, attempt.ended.0 / 1_000_000)
}

/// The attempts at a downstream, by arrival.
fn at<'r>(rows: &'r Rows, target: &str) -> Vec<&'r Attempt> {
    let mut found: Vec<&Attempt> = rows.attempts.iter().filter(|attempt| attempt.target == target).collect();
    found.sort_by_key(|attempt| (attempt.arrived, attempt.ended));
    found
}

#[test]
fn calls_are_made_in_order_and_those_beside_each_other_together() {
    let rows = one_call(
        &[
            plain(
                "front",
                "10ms",
                "calls = [{ to = 'a' }, { to = 'b' }, { to = 'c', beside = true }, { to = 'a' }]",
            ),
            plain("a", "20ms", ""),
            plain("b", "30ms", ""),
            plain("c", "50ms", ""),
        ]
        .concat(),
    );
    let of = |target: &str| at(&rows, target).into_iter().map(times).collect::<Vec<_>>();
    assert_eq!(of("a"), [(10, 30), (80, 100)]);
    assert_eq!(of("b"), [(30, 60)]);
    assert_eq!(of("c"), [(30, 80)]);
    assert_eq!(of("front"), [(0, 100)]);
    assert!(rows.attempts.iter().all(|attempt| attempt.outcome == "goodput" && attempt.call == 0));
    assert_eq!(rows.count(Count::Offered), 1, "the timeline is of the traffic's own");
    let callers: Vec<&str> = at(&rows, "b").iter().map(|attempt| attempt.caller.as_str()).collect();
    assert_eq!(callers, ["front"]);
}

#[test]
fn a_call_made_several_times_is_made_at_once_or_one_after_the_other() {
    let of = |how: &str| {
        let front = plain("front", "1ms", &format!("calls = [{{ to = 'a', times = 3{how} }}]"));
        at(&one_call(&[front, plain("a", "20ms", "")].concat()), "a")
            .into_iter()
            .map(times)
            .collect::<Vec<_>>()
    };
    assert_eq!(of(""), [(1, 21), (21, 41), (41, 61)]);
    assert_eq!(of(", at_once = true"), [(1, 21), (1, 21), (1, 21)]);
}

#[test]
fn a_slot_is_held_while_work_calls_or_released() {
    let second = |how: &str| {
        let rows = run(&format!(
            "version = 1\nduration = '1s'\n[traffic.t]\nat = ['0s', '0s']\n\
             [downstream.front]\nconcurrency = 1\nservice_time = '10ms'\nclient = 'c'\n{how}\ncalls = [{{ to = 'a' }}]\n\
             [client.c]\ntimeout = '1s'\n[queue.q]\nmax_length = 9\n{}[policy.p]\nqueue = 'q'\ndownstream = 'front'\n",
            plain("a", "100ms", "")
        ));
        let front = at(&rows, "front");
        assert_eq!(times(front[0]).1, 110);
        front[1].started.expect("it starts").0 / 1_000_000
    };
    assert_eq!(second(""), 110);
    assert_eq!(second("while_calling = 'release'"), 10);
}

#[test]
fn work_fails_with_a_call_that_it_needs_and_lets_the_others_go() {
    let rows = |answer: &str, client: &str| {
        one_call(
            &[
                format!("[client.c]\ntimeout = '10s'\n{client}\n"),
                plain(
                    "front",
                    "10ms",
                    &format!(
                        "client = 'c'\ncalls = [{{ to = 'bad', answer = '{answer}' }}, {{ to = 'slow', beside = true }}]"
                    ),
                ),
                plain("bad", "20ms", "error_rate = '100%'"),
                plain("slow", "100ms", "calls = [{ to = 'leaf' }]\nclient = 'c'"),
                plain("leaf", "100ms", ""),
            ]
            .concat(),
        )
    };
    let ends = |rows: &Rows| {
        let of = |target| at(rows, target).first().map(|attempt| (attempt.outcome, times(attempt).1));
        [of("front"), of("slow"), of("leaf")]
    };
    // What was let go goes on for nobody, and what it calls in turn is still wanted by it.
    let needed = rows("needed", "");
    assert_eq!(ends(&needed), [Some(("failed", 30)), Some(("wasted", 210)), Some(("goodput", 210))]);
    let cancelled = rows("needed", "cancel = true");
    assert_eq!(ends(&cancelled), [Some(("failed", 30)), Some(("cancelled", 30)), None]);
    let optional = rows("optional", "");
    assert_eq!(ends(&optional), [Some(("goodput", 210)), Some(("goodput", 210)), Some(("goodput", 210))]);
    let background = rows("background", "");
    assert_eq!(ends(&background)[0], Some(("goodput", 210)));
}

#[test]
fn what_is_taken_back_takes_back_what_it_has_called() {
    let rows = run(&format!(
        "version = 1\nduration = '10s'\n[traffic.t]\nat = ['0s']\nclient = 'c'\n[client.c]\ntimeout = '50ms'\ncancel = true\n\
         {}{}{}[policy.p]\ndownstream = 'front'\n",
        plain("front", "10ms", "client = 'c'\ncalls = [{ to = 'middle' }]"),
        plain("middle", "10ms", "client = 'c'\ncalls = [{ to = 'leaf' }]"),
        plain("leaf", "1s", ""),
    ));
    let ends: Vec<_> = ["front", "middle", "leaf"]
        .map(|target| at(&rows, target)[0])
        .map(|attempt| (attempt.outcome, times(attempt).1))
        .to_vec();
    assert_eq!(ends, [("cancelled", 50), ("cancelled", 50), ("cancelled", 50)]);
}

#[test]
fn an_outage_fails_work_that_waits_for_its_calls() {
    let rows = one_call(
        &[
            plain("front", "10ms", "calls = [{ to = 'leaf' }]"),
            plain("leaf", "1s", ""),
            "[[event]]\nname = 'e'\nat = '500ms'\nfor = '1ms'\nset = { 'downstream.front.outage' = true }\n"
                .into(),
        ]
        .concat(),
    );
    assert_eq!((at(&rows, "front")[0].outcome, times(at(&rows, "front")[0]).1), ("failed", 500));
    assert_eq!((at(&rows, "leaf")[0].outcome, times(at(&rows, "leaf")[0]).1), ("wasted", 1_010));
}

#[test]
fn an_agent_fans_out_as_deep_as_it_may_and_meets_the_limit_at_the_leaf() {
    // 1 → 3 → 9: an agent calls three more of its like, which call three more each, and those nobody.
    let agent = "calls = [{ to = 'front', times = 3, at_once = true, max_depth = 2, answer = 'optional' }]";
    let rows = one_call(&plain("front", "10ms", agent));
    assert_eq!(at(&rows, "front").len(), 1 + 3 + 9);
    assert_eq!(times(at(&rows, "front")[0]), (0, 30));
    let limited = run(&format!(
        "version = 1\nduration = '10s'\n[traffic.t]\nat = ['0s']\n[admission.slots]\nkind = 'concurrency'\nlimit = 6\n{}\
         [policy.p]\nstages = ['slots']\ndownstream = 'front'\n",
        plain("front", "10ms", agent)
    ));
    // One holds its slot, three more theirs. Of the first's calls two find one; none of the second's, which ends at once and
    // leaves its slot to one of the third's.
    let refused = limited.attempts.iter().filter(|attempt| attempt.stage == "slots").count();
    assert_eq!((limited.attempts.len(), refused), (13, 6));
}

#[test]
fn retries_at_every_layer_multiply() {
    let file = vectors("overload_scenarios");
    let all = file["scenarios"].as_array().expect("a list");
    let of = |id: &str| all.iter().find(|each| each["id"] == id).expect("it is there");
    let layers = of("sre-retry-layers");
    let expected = number(&layers["expect"]["leaf_attempts_per_user_action"]);
    let retry = "[client.c.retry]\nmax_attempts = 4\non = ['error']\nbackoff = { base = '1ms' }\n";
    let rows = run(&format!(
        "version = 1\nduration = '1s'\n[traffic.t]\nat = ['0s']\nclient = 'c'\n{retry}{}{}{}[policy.p]\ndownstream = 'a'\n",
        plain("a", "1ms", "client = 'c'\ncalls = [{ to = 'b' }]"),
        plain("b", "1ms", "client = 'c'\ncalls = [{ to = 'c' }]"),
        plain("c", "1ms", "error_rate = 1.0"),
    ));
    assert_eq!(at(&rows, "c").len() as f64, expected);
    let edges: Vec<_> =
        rows.edges.iter().map(|(a, b, n)| (a.as_str(), b.as_str(), n.calls, n.attempts)).collect();
    assert_eq!(edges, [("a", "b", 4, 16), ("b", "c", 16, 64)]);
}

#[test]
fn load_and_success_under_failures_are_those_of_the_closed_form() {
    let file = vectors("overload_scenarios");
    let all = file["scenarios"].as_array().expect("a list");
    let case = all.iter().find(|each| each["id"] == "retry-load-closed-form").expect("it is there");
    let list = |value: &serde_json::Value| {
        value.as_array().expect("a list").iter().map(number).collect::<Vec<f64>>()
    };
    let (shares, loads) = (list(&case["params"]["p"]), list(&case["expect"]["load"]));
    let successes = list(&case["expect"]["success"]);
    for ((p, load), success) in shares.into_iter().zip(loads).zip(successes) {
        // At the traffic's own client, and at that of a downstream.
        let rows = run(&format!(
            "version = 1\nduration = '2000s'\n[traffic.t]\nrate = '20/s'\n\
             [client.c.retry]\nmax_attempts = 4\non = ['error']\nbackoff = {{ base = '1ms' }}\n{}{}\
             [policy.p]\ndownstream = 'front'\n",
            plain("front", "1ms", "client = 'c'\ncalls = [{ to = 'leaf' }]"),
            plain("leaf", "1ms", &format!("error_rate = {p:?}")),
        ));
        let n = rows.total().calls as f64;
        let (_, _, edge) = &rows.edges[0];
        assert_eq!(edge.calls as f64, n);
        let answered = edge.answered as f64 / n;
        let error = (success * (1.0 - success) / n).sqrt();
        assert!((answered - success).abs() <= 4.0 * error, "{p}: {answered}, not {success}");
        assert_eq!(edge.answered, rows.total().counts[Count::Goodput as usize]);
        // Attempts lie between one and four: their deviation is at most one and a half. Published to three places.
        let attempts = edge.attempts as f64 / n;
        assert!((attempts - load).abs() <= 4.0 * 1.5 / n.sqrt() + 5e-4, "{p}: {attempts}, not {load}");
    }
}

#[test]
fn a_call_has_the_same_luck_whatever_happens_elsewhere() {
    // The same calls of the same work, under a policy that turns many away and one that turns none away.
    let prepared = prepared(&format!(
        "version = 1\nduration = '20s'\n[traffic.t]\nrate = '20/s'\nuser = {{ count = 9 }}\n\
         tokens = {{ input = {{ dist = 'uniform', low = 1, high = 99 }}, output = 5 }}\n\
         [limiter.l]\nkind = 'token_bucket'\nrate = '5/s'\nburst = 5\n\
         [downstream.front]\nconcurrency = 'unlimited'\nservice_time = '1ms'\n\
         calls = [{{ to = 'leaf', times = {{ dist = 'uniform', low = 1, high = 4 }} }}]\n{}\
         [policy.all]\ndownstream = 'front'\n[policy.some]\nstages = ['l']\ndownstream = 'front'\n",
        "[downstream.leaf]\nconcurrency = 'unlimited'\nservice_time = { dist = 'exponential', mean = '30ms' }\n"
    ));
    let leaves = |policy: usize| {
        let rows = run_setup(setup(&prepared, policy, 7));
        let calls = rows.attempts.iter().filter(|attempt| attempt.target == "leaf").map(|attempt| {
            let took = attempt.ended - attempt.started.expect("it has room");
            (attempt.call, attempt.ask.dice.0, attempt.ask.user, attempt.ask.input_tokens, took)
        });
        let mut calls: Vec<_> = calls.collect();
        calls.sort_unstable();
        calls
    };
    let (all, some) = (leaves(0), leaves(1));
    assert!(100 < some.len() && some.len() < all.len());
    assert!(some.iter().all(|call| all.binary_search(call).is_ok()));
}

#[test]
fn graphs_without_an_end_are_refused() {
    let fault = |text: &str| {
        let text = format!(
            "version = 1\nduration = '1s'\n[traffic.t]\nat = ['0s']\n{text}[policy.p]\ndownstream = 'a'\n"
        );
        let document = Document::from_text("test.toml", &text, std::path::Path::new("")).expect("it is TOML");
        Scenario::read(&document).map(|_| ()).expect_err("it is wrong").to_string()
    };
    let cycle =
        [plain("a", "1ms", "calls = [{ to = 'b' }]"), plain("b", "1ms", "calls = [{ to = 'a' }]")].concat();
    assert!(fault(&cycle).contains("`a` calls itself without an end: a → b → a"), "{}", fault(&cycle));
    let wide = plain("a", "1ms", "calls = [{ to = 'a', times = 100, max_depth = 9 }]");
    assert!(fault(&wide).contains("more than 1000000 calls"), "{}", fault(&wide));
    let unknown = plain("a", "1ms", "calls = [{ to = 'b' }]");
    assert!(fault(&unknown).contains("there is no downstream `b`"), "{}", fault(&unknown));
    let beside = [plain("a", "1ms", "calls = [{ to = 'b', beside = true }]"), plain("b", "1ms", "")].concat();
    assert!(fault(&beside).contains("none to stand beside"), "{}", fault(&beside));
}

/// A random graph of four downstreams: each calls later ones, and the last calls the first again, but not for ever.
fn graph() -> impl Strategy<Value = String> {
    let client = (0usize..4, prop::bool::ANY, 1u32..4);
    let call = (0usize..4, 1u32..4, prop::bool::ANY, prop::bool::ANY, 0usize..3, 0usize..3);
    let downstream = (1u64..4, prop::collection::vec(call, 0..3), prop::bool::ANY, 0usize..4, 0usize..3);
    (prop::collection::vec(client, 4), prop::collection::vec(downstream, 4), 0usize..3).prop_map(
        |(clients, downstreams, event)| {
            let mut text = String::from(
                "version = 1\nduration = '5s'\ndrain = '20000s'\n[traffic.t]\nrate = '20/s'\nclient = 'c0'\n\
                 [queue.q]\nmax_length = 3\nmax_wait = '200ms'\n[queue.l]\nkind = 'lifo'\nmax_length = 3\n\
                 [limiter.b]\nkind = 'token_bucket'\nrate = '30/s'\nburst = 3\nwait = true\n\
                 [admission.s]\nkind = 'concurrency'\nlimit = 4\n",
            );
            for (number, (timeout, cancel, attempts)) in clients.into_iter().enumerate() {
                let timeout = ["", "timeout = '40ms'\n", "timeout = '150ms'\n", "timeout = '1s'\n"][timeout];
                let cancel = if cancel && !timeout.is_empty() { "cancel = true\n" } else { "" };
                text += &format!(
                    "[client.c{number}]\n{timeout}{cancel}[client.c{number}.retry]\nmax_attempts = {attempts}\n\
                     on = ['error', '429', '503', 'timeout']\nbackoff = {{ base = '10ms', jitter = 'full' }}\n"
                );
            }
            for (number, (slots, calls, release, before, errors)) in downstreams.into_iter().enumerate() {
                let calls: Vec<String> = calls
                    .into_iter()
                    .enumerate()
                    .map(|(place, (to, times, at_once, beside, answer, share))| {
                        // Back to itself or to an earlier one only twice.
                        let depth = if to <= number { ", max_depth = 2" } else { "" };
                        let answer = ["needed", "optional", "background"][answer];
                        let share = ["'100%'", "'50%'", "'10%'"][share];
                        let beside = beside && 0 < place;
                        format!(
                            "{{ to = 'd{to}', times = {times}, at_once = {at_once}, beside = {beside}, answer = '{answer}', \
                             share = {share}{depth} }}"
                        )
                    })
                    .collect();
                let release = if release { "release" } else { "hold" };
                let before = ["", "stages = ['b']\n", "stages = ['s']\nqueue = 'q'\n", "queue = 'l'\n"][before];
                let errors = ["0%", "20%", "90%"][errors];
                text += &format!(
                    "[downstream.d{number}]\nconcurrency = {}\nerror_rate = '{errors}'\nclient = 'c{number}'\n\
                     while_calling = '{release}'\nservice_time = {{ dist = 'exponential', mean = '20ms' }}\n{before}calls = [{}]\n",
                    slots * 2,
                    calls.join(", ")
                );
            }
            let events = [
                "",
                "[[event]]\nname = 'e'\nat = '2s'\nfor = '500ms'\nset = { 'downstream.d1.outage' = true }\n",
                "[[event]]\nname = 'e'\nat = '2s'\nfor = '500ms'\nset = { 'downstream.d0.outage' = true, 'downstream.d2.concurrency' = 1 }\n",
            ];
            text + events[event] + "[policy.p]\nqueue = 'q'\ndownstream = 'd0'\n"
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// The engine checks its accounts and Little's law for the traffic's calls and for those of downstreams.
    #[test]
    fn random_graphs_balance(text in graph(), seed in 1u64..1_000) {
        let prepared = prepared(&text);
        let rows = run_setup(setup(&prepared, 0, seed));
        let inner = rows.attempts.iter().filter(|attempt| !attempt.caller.is_empty()).count() as u64;
        prop_assert_eq!(inner, rows.edges.iter().map(|(_, _, counts)| counts.attempts).sum::<u64>());
        let ends: u64 = rows.ends.iter().map(|end| end.count).sum();
        prop_assert_eq!(ends, rows.attempts.len() as u64, "each attempt has one end");
        // Work that holds the last slot while it waits for its own downstream, in a queue without an end, waits for ever.
        let may_lock = text.contains("max_depth");
        let unfinished = rows.attempts.iter().any(|attempt| attempt.outcome == "unfinished");
        prop_assert!(may_lock || !unfinished, "{}", text);
    }
}

#[test]
fn a_run_of_a_graph_verifies_and_what_was_edited_is_found() {
    let dir = tempfile::tempdir().expect("a directory");
    // One whose policies' downstream nobody else calls, and one that calls itself.
    let layers = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/retry-layers.toml"),
    );
    let agent = format!(
        "version = 1\nduration = '5s'\n[traffic.t]\nrate = '3/s'\n{}[policy.p]\ndownstream = 'front'\n",
        plain("front", "10ms", "calls = [{ to = 'front', times = 3, max_depth = 2 }]")
    );
    for (name, text) in [("layers", layers.expect("it ships")), ("agent", agent)] {
        let (file, out) = (dir.path().join(format!("{name}.toml")), dir.path().join(name));
        std::fs::write(&file, text).expect("written");
        let tidegate = || assert_cmd::Command::cargo_bin("tidegate").expect("it is built");
        let run =
            tidegate().arg("run").arg(&file).arg("-o").arg(&out).args(["-q", "--charts", "none"]).assert();
        run.success();
        tidegate().arg("verify").arg(&out).arg("-q").assert().success();
        // The first number of attempts at a downstream that is called, one higher.
        for (table, column) in [("outcomes.csv", "count"), ("edges.csv", "attempts_count")] {
            let path = out.join(table);
            let whole = std::fs::read_to_string(&path).expect("it is there");
            let mut lines: Vec<String> = whole.lines().map(str::to_string).collect();
            let place = lines[0].split(',').position(|title| title == column).expect("a column");
            let target = if name == "agent" || table == "edges.csv" { "" } else { ",database," };
            let line = lines.iter().skip(1).position(|line| line.contains(target)).expect("a row") + 1;
            let mut cells: Vec<String> = lines[line].split(',').map(str::to_string).collect();
            cells[place] = (cells[place].parse::<u64>().expect("a count") + 1).to_string();
            lines[line] = cells.join(",");
            std::fs::write(&path, lines.join("\n") + "\n").expect("written");
            let told = tidegate().arg("verify").arg(&out).assert().failure();
            let told = String::from_utf8_lossy(&told.get_output().stderr).into_owned();
            assert!(
                told.contains("`edges.csv` does not agree with `outcomes.csv`"),
                "{name}, {table}: {told}"
            );
            std::fs::write(&path, whole).expect("written");
        }
    }
}

#[test]
fn work_that_waits_in_its_own_slots_for_itself_waits_for_ever() {
    let locked = |how: &str| {
        let rows = one_call(&format!(
            "[downstream.front]\nconcurrency = 1\nservice_time = '10ms'\nbacklog = 'unlimited'\n{how}\n\
             calls = [{{ to = 'front', max_depth = 1 }}]\n"
        ));
        rows.count(Count::Unfinished)
    };
    assert_eq!(locked(""), 1);
    assert_eq!(locked("while_calling = 'release'"), 0);
}
