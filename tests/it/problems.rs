//! Wrong scenario files: each mistake is named at its place with a remedy, all at once, and nothing panics.

use std::path::Path;
use tidegate::problem::{Problem, Problems};
use tidegate::scenario::Scenario;
use tidegate::scenario::source::Document;
use tidegate::scenario::stage::Stage;
use tidegate::section::{Log, Section};

/// A scenario in which nothing is wrong. Its lines are replaced by wrong ones.
const GOOD: &str = r#"version = 1
duration = "1m"
[traffic.api]
rate = "40/s"
client = "sdk"
tokens = { input = 100, output = 50 }
[client.sdk]
timeout = "10s"
[client.sdk.retry]
max_attempts = 3
on = ["429", "timeout"]
backoff = { base = "1s" }
[downstream.orders]
concurrency = 32
service_time = "500ms"
[limiter.rpm]
kind = "token_bucket"
rate = "50/s"
burst = 10
[queue.line]
max_length = 64
[policy.gate]
stages = ["rpm"]
queue = "line"
downstream = "orders"
[[event]]
name = "slow"
at = "10s"
for = "10s"
set = { "downstream.orders.slowdown" = 4 }
"#;

fn problems(name: &str, bytes: &[u8]) -> Vec<Problem> {
    let document = Document::from_bytes(name, bytes.to_vec(), Path::new("tests"));
    match document.and_then(|document| Scenario::read(&document).map(|(_, warnings)| warnings)) {
        Ok(warnings) => warnings,
        Err(Problems(problems)) => problems,
    }
}

/// One line per problem: `line:column what; remedy`.
fn shown(problems: &[Problem]) -> Vec<String> {
    let line = |p: &Problem| {
        let place = p.place.as_ref().map_or("-".into(), |place| format!("{}:{}", place.line, place.column));
        format!("{place} {}; {}", p.what, p.remedy)
    };
    problems.iter().map(line).collect()
}

#[test]
fn the_scenario_that_the_others_are_made_of_is_right() {
    assert_eq!(shown(&problems("a.toml", GOOD.as_bytes())), Vec::<String>::new());
}

/// Line of [`GOOD`], what stands there instead, and the one problem that comes of it.
const WRONG_LINES: &[(usize, &str, &str)] = &[
    // Keys.
    (1, "verison = 1", "1:1 the scenario lacks `version`; add `version = …`"),
    (1, "version = 2", "1:11 this tidegate does not know version 2"),
    (
        2,
        "durration = \"1m\"\nduration = \"1m\"",
        "2:1 a scenario has no key `durration`; did you mean `duration`?",
    ),
    (7, "[cleint.sdk]\n[client.sdk]", "7:2 a scenario has no key `cleint`; did you mean `client`?"),
    (8, "timeuot = \"10s\"", "8:1 `client.sdk` has no key `timeuot`; did you mean `timeout`?"),
    (19, "burst = 10\nbrust = 3", "20:1 `limiter.rpm` has no key `brust`; did you mean `burst`?"),
    (
        12,
        "backoff = { base = \"1s\", jiter = \"full\" }",
        "12:26 `client.sdk.retry.backoff` has no key `jiter`; did you mean `jitter`?",
    ),
    (14, "", "13:1 `downstream.orders` lacks `concurrency`; add `concurrency = …`"),
    (15, "", "13:1 `downstream.orders` lacks `service_time`"),
    (21, "", "20:1 `queue.line` lacks `max_length`"),
    (25, "", "22:1 `policy.gate` lacks `downstream`"),
    // Words.
    (
        17,
        "kind = \"token_buket\"",
        "17:8 `limiter.rpm.kind` is `token_buket`, which is none of its words; did you mean `token_bucket`?",
    ),
    (
        19,
        "burst = 10\nunit = \"token\"",
        "20:8 `limiter.rpm.unit` is `token`, which is none of its words; did you mean `tokens`?",
    ),
    (
        11,
        "on = [\"429\", \"timout\"]",
        "11:14 `client.sdk.retry.on` holds `timout`, which is no outcome; did you mean `timeout`?",
    ),
    (
        4,
        "rate = \"40/s\"\narrivals = \"posson\"",
        "5:12 `traffic.api.arrivals` is `posson`, which is none of its words; did you mean `poisson`?",
    ),
    // Types.
    (
        2,
        "duration = true",
        "2:12 `duration`: `true` is not a length of time; `duration` takes a length of time such as",
    ),
    (2, "duration = [1]", "2:12 `duration`: a list is not a length of time"),
    (2, "duration = 1979-05-27", "2:12 a date is not a value of scenario files; write a length of time"),
    (5, "client = 7", "5:10 `traffic.api.client`: the number `7` is not text; `client` takes text in quotes"),
    (14, "concurrency = 1.5", "14:15 `downstream.orders.concurrency`: `1.5` is not a whole number"),
    (14, "concurrency = \"lots\"", "14:15 `downstream.orders.concurrency`: a number is missing"),
    (23, "stages = \"rpm\"", "23:10 `policy.gate.stages`: the text `rpm` is not a list: put it in brackets"),
    (23, "stages = [1, \"rpm\"]", "23:11 `policy.gate.stages`: the number `1` is not text"),
    (
        9,
        "retry = 3\n[client.x.retry]",
        "9:9 `client.sdk.retry` is the number `3`, where a table is wanted; write its keys in braces",
    ),
    (
        6,
        "burst = { at = \"1s\" }",
        "6:9 `traffic.api.burst` is a table, where a list of tables is wanted; write each as a table `[[traffic.api.burst]]`",
    ),
    // Units.
    (
        4,
        "rate = 40",
        "4:8 `traffic.api.rate`: `40` is a number without a unit: write `\"40/s\"`; `rate` takes a rate such as `40/s`",
    ),
    (4, "rate = \"40\"", "4:8 `traffic.api.rate`: `40` has no unit of time"),
    (2, "duration = 60", "2:12 `duration`: `60` is a number without a unit: write `\"60s\"`"),
    (2, "duration = \"60\"", "2:12 `duration`: `60` has no unit"),
    (8, "timeout = \"10 parsecs\"", "8:11 `client.sdk.timeout`: `parsecs` is no unit of time"),
    // Numbers that can't be.
    (4, "rate = \"0/s\"", "4:8 `traffic.api.rate`: `0/s` is a rate of 0"),
    (18, "rate = \"0/s\"", "18:8 `limiter.rpm.rate`: `0/s` is a rate of 0"),
    (2, "duration = \"-1s\"", "2:12 `duration`: a negative number is not allowed in `-1s`"),
    (2, "duration = \"0s\"", "2:12 `duration` is 0; write a length above 0"),
    (2, "duration = \"4000d\"", "2:12 `duration` is more than 3650 days; write a shorter one"),
    (2, "duration = \"9223372036854775808s\"", "2:12 `duration`: `9223372036854775808s` is longer than"),
    (
        4,
        "rate = \"9223372036854775808/s\"",
        "3:1 `traffic.api` would make more than 1000000000000 calls; lower its highest rate",
    ),
    (
        14,
        "concurrency = 9223372036854775808",
        "14:15 `downstream.orders.concurrency`: `9223372036854775808` is more than 1000000000000000",
    ),
    (
        14,
        "concurrency = 999999999999999999999999999999999999999999",
        "14:15 a number with too many digits; write a smaller number",
    ),
    (
        14,
        "concurrency = 0",
        "14:15 `downstream.orders.concurrency` is 0: nothing would ever start; write 1 or more",
    ),
    (19, "burst = -1", "19:9 `limiter.rpm.burst`: `-1` is negative"),
    (19, "burst = 0", "19:9 `limiter.rpm.burst` is 0: nothing ever passes; write 1 or more"),
    (19, "burst = 10\ninitial = 20", "20:11 `limiter.rpm.initial` is more than the burst of 10"),
    (
        15,
        "service_time = \"1ms\"\nerror_rate = nan",
        "16:14 `downstream.orders.error_rate`: `NaN` is no number to reckon with; `error_rate` takes a share",
    ),
    (
        15,
        "service_time = \"1ms\"\nerror_rate = inf",
        "16:14 `downstream.orders.error_rate`: `inf` is no number",
    ),
    (
        15,
        "service_time = \"1ms\"\nerror_rate = 5",
        "16:14 `downstream.orders.error_rate`: `5` is more than the whole: write `\"5%\"`",
    ),
    (10, "max_attempts = 0", "10:16 `client.sdk.retry.max_attempts` is 0; write a number between 1 and 1000"),
    (
        12,
        "backoff = { base = \"1s\", factor = 0.5 }",
        "12:35 `client.sdk.retry.backoff.factor` is 0.5; write a number between 1",
    ),
    (
        12,
        "backoff = { base = \"1s\", max = \"1ms\" }",
        "12:32 `client.sdk.retry.backoff.max` is less than `base`",
    ),
    (
        2,
        "duration = \"1m\"\nwarmup = \"1m\"",
        "3:10 `warmup` of 60s leaves nothing of a `duration` of 60s; write a shorter warmup",
    ),
    (2, "duration = \"1m\"\ninterval = \"0s\"", "3:12 `interval` is 0"),
    (
        2,
        "duration = \"1m\"\ninterval = \"1us\"",
        "3:12 `interval` cuts the run into more than 10000000 rows; write an interval of 6us or more",
    ),
    (
        2,
        "duration = \"1m\"\nseed = 9007199254740992",
        "3:8 `seed`: the number `9007199254740992` is no seed; `seed` takes a whole number from 0",
    ),
    // Distributions.
    (
        15,
        "service_time = { dist = \"normal\", mean = \"1s\" }",
        "15:25 `downstream.orders.service_time.dist` is `normal`, which is none of its words; did you mean `lognormal`?",
    ),
    (15, "service_time = { dist = \"exponential\" }", "15:16 `downstream.orders.service_time` lacks `mean`"),
    (
        15,
        "service_time = { dist = \"exponential\", mean = \"0s\" }",
        "15:47 `downstream.orders.service_time.mean` is \"0s\", and must be more than 0",
    ),
    (
        15,
        "service_time = { dist = \"lognormal\", median = \"2s\", p99 = \"1s\" }",
        "15:16 `downstream.orders.service_time` is no distribution",
    ),
    (
        15,
        "service_time = { dist = \"uniform\", low = \"2s\", high = \"1s\" }",
        "15:16 `downstream.orders.service_time` is no distribution",
    ),
    (
        15,
        "service_time = { dist = \"empirical\", file = \"none.csv\" }",
        "15:45 `downstream.orders.service_time.file`: `none.csv`",
    ),
    (
        15,
        "service_time = { dist = \"empirical\" }",
        "15:16 `downstream.orders.service_time` takes either `values` or `file`",
    ),
    // Queues.
    (
        21,
        "max_length = 4\nkind = \"filo\"",
        "22:8 `queue.line.kind` is `filo`, which is none of its words; did you mean `fifo`?",
    ),
    (
        21,
        "max_length = 4\nkind = \"lifo\"\nhead_of_line = \"block\"",
        "23:1 `queue.line` has no key `head_of_line`",
    ),
    (21, "max_length = 4\nkind = \"fair\"", "20:1 `queue.line` lacks `key`"),
    (
        21,
        "max_length = 4\nkind = \"drr\"\nkey = \"user\"\nquantum = 0",
        "24:11 `queue.line.quantum` is 0: nothing ever starts; write 1 or more",
    ),
    (
        21,
        "max_length = 4\nkind = \"sfq\"\nkey = \"class\"\nweights = { gold = 2 }",
        "24:13 there is no class `gold`; define one",
    ),
    (
        21,
        "max_length = 4\nkind = \"sfq\"\nkey = \"user\"\nweights = { bob = 2 }",
        "24:13 `queue.line` gives a weight to `bob`, whom no call is of",
    ),
    (
        21,
        "max_length = 4\nkind = \"adaptive_lifo\"\nlifo_above = 10\nfifo_below = \"5ms\"",
        "24:14 one of `lifo_above` and `fifo_below` is a number and one a length of time",
    ),
    (
        21,
        "max_length = 4\nkind = \"adaptive_lifo\"\nlifo_above = \"1s\"\nfifo_below = \"1s\"",
        "24:14 `queue.line.fifo_below` is not below `lifo_above`",
    ),
    (
        21,
        "max_length = \"unlimited\"\non_overflow = \"oldest\"",
        "22:15 `queue.line.on_overflow` never comes to pass in a queue without bound",
    ),
    (
        21,
        "max_length = 4\ncodel = {}\ncontrolled_delay = {}",
        "23:20 `queue.line` has both `codel` and `controlled_delay`",
    ),
    (
        21,
        "max_length = 4\ncodel = { target = \"2s\" }",
        "22:20 `queue.line.codel.target` is longer than the interval of 100ms",
    ),
    (
        21,
        "max_length = 4\n[class.gold]\npriority = 2\n[traffic.b]\nrate = \"1/s\"\nclass = \"gold\"",
        "23:12 `class.gold.priority` changes nothing: nothing looks at it",
    ),
    // Names.
    (5, "client = \"skd\"", "5:10 there is no client `skd`; did you mean `sdk`?"),
    (5, "client = \"sdk\"\nclass = \"gold\"", "6:9 there is no class `gold`; define one"),
    (23, "stages = [\"rmp\"]", "23:11 there is no limiter or admission stage `rmp`; did you mean `rpm`?"),
    (23, "stages = [\"rpm\", \"rpm\"]", "23:18 `policy.gate.stages` has `rpm` twice; take one out"),
    (24, "queue = \"lime\"", "24:9 there is no queue `lime`; did you mean `line`?"),
    (25, "downstream = \"order\"", "25:14 there is no downstream `order`; did you mean `orders`?"),
    (
        25,
        "downstream = \"orders\"\nclient = { app = \"sdk\" }",
        "26:12 `policy.gate.client` names a traffic `app` that there is not; did you mean `api`?",
    ),
    (
        25,
        "downstream = \"orders\"\n[policy.NaN]\ndownstream = \"orders\"",
        "26:9 `NaN` is no name; a name is a lower-case word",
    ),
    (
        25,
        "downstream = \"orders\"\n[policy.nan]\ndownstream = \"orders\"",
        "26:9 `nan` is no name: readers of CSV files take it for a missing value",
    ),
    (
        20,
        "[admission.rpm]\nkind = \"concurrency\"\nlimit = 3\n[queue.line]",
        "20:1 `rpm` is a limiter and an admission stage; rename one",
    ),
    (1, "version = 1\nname = \"a/b\"", "2:8 `name`: `a/b` is no name"),
    (
        19,
        "burst = 10\nexempt = [\"defualt\"]",
        "20:11 `rpm` names `defualt`, which is no class; did you mean `default`?",
    ),
    (
        19,
        "burst = 10\nkey = \"user\"\noverrides = { u-1 = { burst = 2 } }",
        "16:1 `rpm` has numbers for `u-1`, and nobody is called so; take them out",
    ),
    (
        15,
        "service_time = \"1ms\"\nquota = { rpm = 3, wait = true }",
        "16:27 nothing waits for `downstream.orders.quota`; take it out",
    ),
    // Costs.
    (
        19,
        "burst = 10\nunit = \"tokens\"",
        "16:1 no call of `traffic.api` can ever pass `rpm`: each costs 150 tokens, the burst is 10; raise the burst to 150",
    ),
    (
        15,
        "service_time = \"500ms\"\nquota = { output_tpm = 49 }",
        "13:1 no call of `traffic.api` can ever pass `downstream.orders.quota`: each costs 50 output_tokens, the output_tpm is 49",
    ),
    (
        17,
        "kind = \"provider_quota\"\ninput_tpm = 99\n[limiter.other]\nkind = \"gcra\"",
        "16:1 no call of `traffic.api` can ever pass `rpm`: each costs 100 input_tokens, the input_tpm is 99",
    ),
    (
        17,
        "kind = \"leaky_meter\"\nunit = \"tokens\"",
        "16:1 no call of `traffic.api` can ever pass `rpm`: each costs 150 tokens, the room of burst + 1 is 11",
    ),
    (
        19,
        "burst = 10\nretry_after = { constant = \"0s\" }",
        "20:28 `limiter.rpm.retry_after.constant` is 0; write a length above 0",
    ),
    (
        19,
        "burst = 10\nmax_tokens = 9\nfill_interval = \"1s\"",
        "21:17 `limiter.rpm.rate` and `fill_interval` both say it; keep one of the two",
    ),
    (
        19,
        "burst = 10\nmax_wait = \"1s\"",
        "20:1 `limiter.rpm` has no key `max_wait` with `dialect = \"exact\"`; take it out, or write `dialect = \"go\"` or `dialect = \"juju\"`",
    ),
    // Traffic.
    (4, "", "3:1 `traffic.api` does not say when calls come; add `rate"),
    (4, "rate = \"1/s\"\nat = [\"1s\"]", "5:6 `traffic.api` has both `rate` and `at`; keep one"),
    (
        4,
        "at = [\"2s\", \"1s\"]",
        "4:13 `traffic.api`: a call comes before the one that stands before it; write the calls in order: this one at 2s or later",
    ),
    (
        4,
        "trace = { file = \"none.csv\" }",
        "4:18 `traffic.api.trace.file`: there is no file `none.csv`; write its path relative",
    ),
    (
        4,
        "trace = { file = \"it/main.rs\", from = \"2s\", until = \"1s\" }",
        "4:53 `traffic.api.trace.until` is not after `from`",
    ),
    (
        4,
        "at = [\"1s\"]\non_off = { on = \"1s\", off = \"1s\" }",
        "5:10 `traffic.api.on_off` says nothing without a rate",
    ),
    (
        6,
        "feature = { chat = \"70%\", search = \"20%\" }",
        "6:11 the shares of `traffic.api.feature` make up 90%; change them so that they make up 100%",
    ),
    (6, "tenant = { count = 0 }", "6:20 `traffic.api.tenant.count` is 0; write a number between 1"),
    (
        6,
        "tenant = { count = 3, pick = \"zip\" }",
        "6:30 `traffic.api.tenant.pick` is `zip`, which is none of its words; did you mean `zipf`?",
    ),
    (
        6,
        "on_off = { on = \"1us\", off = \"1us\" }",
        "3:1 `traffic.api` goes on and off more than 10000000 times; lengthen `on_off`",
    ),
    // Events.
    (
        30,
        "set = { \"downstrem.orders.slowdown\" = 4 }",
        "30:9 an event can't set `downstrem.orders.slowdown`: it begins with `downstrem`; did you mean `downstream`?",
    ),
    (
        30,
        "set = { \"downstream.order.slowdown\" = 4 }",
        "30:9 an event can't set `downstream.order.slowdown`: there is no downstream `order`; did you mean `orders`?",
    ),
    (
        30,
        "set = { \"downstream.orders.slowdwn\" = 4 }",
        "30:9 an event can't set `downstream.orders.slowdwn`: `downstream.orders` has no `slowdwn` to change; did you mean `slowdown`?",
    ),
    (
        30,
        "set = { \"limiter.rpm.limit\" = 4 }",
        "30:9 an event can't set `limiter.rpm.limit`: `limiter.rpm` has no `limit` to change; use `rate` or `burst`",
    ),
    (
        30,
        "set = { \"downstream.orders.slowdown\" = 0 }",
        "30:40 the slowdown `downstream.orders.slowdown` is 0; write how many times as long",
    ),
    (
        30,
        "set = { \"limiter.rpm.rate\" = 4 }",
        "30:30 `event.0.set.limiter.rpm.rate`: `4` is a number without a unit",
    ),
    (29, "for = \"0s\"", "29:7 `event.0.for` is 0"),
    (
        30,
        "[[event]]\nname = \"slow\"\nat = \"1s\"",
        "31:8 there is another event `slow`; give each a name of its own",
    ),
    // Syntax.
    (
        5,
        "client = sdk",
        "5:10 this is not TOML: string values must be quoted, expected literal string; put the text in quotes",
    ),
    (5, "client = \"sdk", "5:14 this is not TOML: invalid basic string, expected `\"`; close the text"),
    (5, "client", "5:7 this is not TOML: key with no value"),
    (7, "[client.sdk", "7:12 this is not TOML"),
    (
        2,
        "duration = \"1m\"\nduration = \"2m\"",
        "3:1 `duration` stands here a second time; keep one of the two",
    ),
    (25, "downstream = \"orders\"\n[policy.gate]", "26:9 `gate` stands here a second time"),
];

#[test]
fn each_mistake_is_named_at_its_place_with_a_remedy() {
    let mut failed = Vec::new();
    for (line, wrong, expected) in WRONG_LINES {
        let lines = GOOD.lines().enumerate().map(|(i, l)| if i + 1 == *line { wrong } else { l });
        let text = lines.collect::<Vec<_>>().join("\n");
        let found = problems("a.toml", text.as_bytes());
        let said = shown(&found);
        if !said.iter().any(|s| s.starts_with(expected))
            || found.iter().any(|p| p.remedy.is_empty() || p.place.is_none())
        {
            failed.push(format!("{wrong}\n  wanted {expected}\n  found  {}", said.join("\n         ")));
        }
    }
    assert!(failed.is_empty(), "\n{}\n", failed.join("\n"));
}

#[test]
fn whole_files_that_are_nothing_are_told_so() {
    let deep_dots = format!("{}a = 1", "a.".repeat(100_000));
    let deep_list = format!("a = {}", "[".repeat(100_000));
    let long_text = format!("version = 1\nduration = \"{}\"", "x".repeat(1_000_000));
    let long_key = format!("{} = 1", "k".repeat(1_000_000));
    let cases: &[(&str, &[u8], &str)] = &[
        ("a.toml", b"", "1:1 the scenario lacks `version`"),
        ("a.toml", b"# only\n# comments\n", "1:1 the scenario has no traffic; add `[traffic.NAME]`"),
        ("a.toml", b"version = 1\nname = \"\xff\"", "2:9 the file is not UTF-8 text; save it"),
        ("a.toml", b"\xff\xfe", "1:1 the file is not UTF-8 text"),
        ("a.toml", b"\0", "1:1 this is not TOML"),
        ("a.toml", deep_dots.as_bytes(), "1:"),
        ("a.toml", deep_list.as_bytes(), "1:"),
        ("a.toml", long_text.as_bytes(), "2:12 `duration`: `xxx"),
        ("a.toml", long_key.as_bytes(), "1:1 a scenario has no key `kkk"),
        (
            "a.json",
            b"{\"version\": 1,}",
            "1:15 this is not JSON: a key in double quotes is missing; write keys",
        ),
        ("a.json", b"{\"version\": 1, \"version\": 1}", "1:16 `version` stands here a second time"),
        (
            "a.json",
            b"{\"version\": 1, \"duration\": null}",
            "1:28 this is not JSON: null is no value here; leave",
        ),
        ("a.json", b"{\"version\": 1, \"duration\": 60}", "1:28 `duration`: `60` is a number without a unit"),
        ("a.json", b"[1]", "1:1 the scenario is a list, where a table is wanted"),
        ("-", b"{\"version\": 1, \"durration\": \"1m\"}", "1:16 a scenario has no key `durration`"),
        ("a.json", b"", "1:1 this is not JSON: the file ends too early"),
    ];
    for (name, bytes, expected) in cases {
        let found = problems(name, bytes);
        let said = shown(&found);
        assert!(said.iter().any(|s| s.starts_with(expected)), "wanted {expected}\nfound {}", said.join("\n"));
        assert!(found.iter().all(|p| !p.remedy.is_empty()), "{}", said.join("\n"));
        assert!(said.iter().map(String::len).sum::<usize>() < 10_000, "messages stay short");
    }
}

#[test]
fn a_file_that_is_too_large_is_refused_and_one_of_many_mistakes_is_cut_short() {
    let large = vec![b'#'; 5 << 20];
    assert!(
        shown(&problems("a.toml", &large))[0].starts_with("- `a.toml` is larger than 4 MiB; put recorded")
    );
    let many: String = (0..100_000).map(|i| format!("x{i} = 1\n")).collect();
    let found = problems("a.toml", many.as_bytes());
    assert_eq!(found.len(), 101);
    assert!(found[100].what.ends_with("more problems are not shown"));
}

#[test]
fn a_missing_file_is_a_matter_of_input_and_output() {
    let Problems(found) = Document::open(Path::new("tests/none.toml")).expect_err("it is not there");
    assert!(found[0].what.starts_with("cannot read `tests/none.toml`"));
    assert_eq!((Problems(found.clone()).exit_code(), found[0].remedy.is_empty()), (4, false));
}

#[test]
fn no_cut_of_a_file_and_no_change_of_a_byte_panics() {
    for end in 0..GOOD.len() {
        problems("a.toml", &GOOD.as_bytes()[..end]);
    }
    for at in (0..GOOD.len()).step_by(3) {
        for byte in [b'"', b'[', b'\n', b'-', b'9', 0xff] {
            let mut bytes = GOOD.as_bytes().to_vec();
            bytes[at] = byte;
            problems("a.toml", &bytes);
        }
    }
}

#[test]
fn ten_mistakes_in_one_file_are_all_reported_in_its_order() {
    let text = r#"version = 1
durration = "1m"
duration = 60
[traffic.api]
rate = "0/s"
client = "skd"
class = "gold"
[client.sdk]
timeout = "-1s"
[downstream.orders]
concurrency = 0
service_time = { dist = "normal" }
[limiter.rpm]
kind = "token_buket"
[policy.gate]
stages = ["rmp"]
downstream = "orders"
[[event]]
name = "slow"
at = "1s"
set = { "downstream.orders.slowness" = 2 }
"#;
    let found = problems("a.toml", text.as_bytes());
    let errors: Vec<Problem> =
        found.into_iter().filter(|p| p.severity == tidegate::problem::Severity::Error).collect();
    insta::assert_snapshot!(Problems(errors), @r#"
a.toml:2:1: a scenario has no key `durration`
  did you mean `duration`? known: `admission`, `class`, `client`, `description`, `downstream`, `drain`, `duration`, `event`, `interval`, `limiter`, `name`, `policy`, `queue`, `seed`, `traffic`, `version`, `warmup`
a.toml:3:12: `duration`: `60` is a number without a unit: write `"60s"`
  `duration` takes a length of time such as `500ms` or `1h30m`
a.toml:5:8: `traffic.api.rate`: `0/s` is a rate of 0, which nothing ever passes
  `rate` takes a rate such as `40/s` or `60k/min`
a.toml:6:10: there is no client `skd`
  did you mean `sdk`?
a.toml:7:9: there is no class `gold`
  define one, or take the name out: the scenario has no class
a.toml:9:11: `client.sdk.timeout`: a negative number is not allowed in `-1s`
  `timeout` takes a length of time such as `500ms` or `1h30m`
a.toml:11:15: `downstream.orders.concurrency` is 0: nothing would ever start
  write 1 or more, or `unlimited`
a.toml:12:25: `downstream.orders.service_time.dist` is `normal`, which is none of its words
  did you mean `lognormal`? known: `constant`, `uniform`, `exponential`, `lognormal`, `gamma`, `weibull`, `pareto`, `empirical`
a.toml:14:8: `limiter.rpm.kind` is `token_buket`, which is none of its words
  did you mean `token_bucket`?
a.toml:16:11: there is no limiter or admission stage `rmp`
  did you mean `rpm`?
a.toml:21:9: an event can't set `downstream.orders.slowness`: `downstream.orders` has no `slowness` to change
  use `slowdown`, `concurrency`, `error_rate` or `outage`
"#);
}

#[test]
fn large_files_are_read_or_refused_without_delay() {
    let base = "version = 1\nduration = \"1h\"\n[downstream.d]\nconcurrency = 1\nservice_time = \"1ms\"\n[policy.p]\ndownstream = \"d\"\n";
    let fill = |each: &dyn Fn(usize) -> String| -> String {
        let mut text = base.to_string();
        (0..)
            .map(each)
            .take_while(|part| {
                text.push_str(part);
                text.len() < 1 << 20
            })
            .for_each(drop);
        text
    };
    let instants: String = (0..100_000).map(|i| format!("\"{i}ms\",")).collect();
    for text in [
        format!("{base}[traffic.t]\nat = [{instants}]\n"),
        fill(&|i| format!("[traffic.t{i}]\nrate = \"1/s\"\n")),
        fill(&|i| format!("[traffic.t{i}]\nrate = \"1/s\"\n[limiter.l{i}]\nkind = \"gcra\"\nrate = \"1/s\"\nburst = 1\n[policy.p{i}]\nstages = [\"l{i}\"]\ndownstream = \"d\"\n")),
        fill(&|i| format!("[policy.p{i}]\ndownstream = \"x{i}\"\n[limiter.n{i}]\n")),
        format!("{base}[traffic.t]\nrate = \"1/s\"\n{}", fill(&|i| format!("[[event]]\nname = \"e{i}\"\nat = \"{i}ms\"\nfor = \"1h\"\nset = {{ \"downstream.d.slowdown\" = {} }}\n", i + 1)).replace(base, "")),
        fill(&|i| if i == 0 { "[traffic.t]\nrate = \"1/s\"\n".into() } else { format!("[[traffic.t.step]]\nat = \"{i}ms\"\nrate = \"2/s\"\n") }),
    ] {
        assert!(problems("a.toml", text.as_bytes()).len() <= 101);
    }
}

/// The examples of `docs/scenario.md`.
#[test]
fn the_examples_of_the_reference_are_right() {
    let reference = include_str!("../../docs/scenario.md");
    let blocks: Vec<&str> =
        reference.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let whole = blocks[0];
    for block in blocks.iter().skip(1).filter(|block| block.starts_with('[')) {
        let said = shown(&problems("a.toml", format!("{whole}{block}").as_bytes()));
        assert!(said.iter().all(|s| s.contains("there is no file `AzureLLM")), "{block}\n{said:?}");
    }
    assert_eq!(shown(&problems("a.toml", whole.as_bytes())), Vec::<String>::new());
}

#[test]
fn a_cost_above_a_limit_is_no_mistake_where_it_passes_all_the_same() {
    for keys in [
        "burst = 10\nunit = \"tokens\"\nshadow = true",
        "burst = 10\nunit = \"tokens\"\nexempt = [\"default\"]",
        "burst = 10\nunit = \"tokens\"\ncharge = \"actual_after\"",
        "burst = 10\nunit = \"tokens\"\nkey = \"class\"\noverrides = { default = { burst = 150 } }",
        "burst = 10\nunit = \"tokens\"\n[[event]]\nname = \"more\"\nat = \"1s\"\nset = { \"limiter.rpm.burst\" = 150 }",
    ] {
        let text = GOOD.replace("burst = 10", keys);
        let problems = problems("a.toml", text.as_bytes());
        assert!(problems.is_empty(), "{keys}: {:?}", shown(&problems));
    }
    let apim = "kind = \"provider_quota\"\npreset = \"apim\"\ntpm = 20";
    let text = GOOD.replace("kind = \"token_bucket\"\nrate = \"50/s\"\nburst = 10", apim);
    assert_eq!(shown(&problems("a.toml", text.as_bytes())), [""; 0]);
}

#[test]
fn limiters_that_never_pass_contradict_themselves_or_overflow_are_refused() {
    for (keys, says) in [
        ("kind = 'token_bucket'\nrate = '0/s'\nburst = 1", "2:8 `limiter.l.rate`: `0/s` is a rate of 0"),
        ("kind = 'token_bucket'\nrate = '1/s'\nburst = 0", "3:9 `limiter.l.burst` is 0: nothing ever passes"),
        (
            "kind = 'token_bucket'\nrate = '1/s'\nburst = 2\ninitial = 3",
            "4:11 `limiter.l.initial` is more than the burst",
        ),
        (
            "kind = 'token_bucket'\nrate = '1/s'\nburst = '9223372036854775809'",
            "is more than 9223372036854775808",
        ),
        (
            "kind = 'token_bucket'\nrate = '9223372036854775807/s'\nburst = 1",
            "more digits than a rate can hold",
        ),
        (
            "kind = 'token_bucket'\nrate = '1/s'\nburst = 2\nmax_wait = '1s'",
            "4:1 `limiter.l` has no key `max_wait`",
        ),
        ("kind = 'token_bucket'\nrefill = 'interval'\nrate = '0.5/s'\nburst = 2", "brings a part of a unit"),
        (
            "kind = 'token_bucket'\nrefill = 'continuous'\nfill_interval = '1s'\nmax_tokens = 2\nrate = '1/s'\nburst = 1",
            "2:10 `limiter.l.fill_interval` fills at intervals, but `refill` is continuous",
        ),
        (
            "kind = 'token_bucket'\ndialect = 'envoy'\nfill_interval = '0s'\nmax_tokens = 2",
            "`limiter.l.fill_interval` is 0",
        ),
        ("kind = 'token_bucket'\nbandwidths = []", "2:14 `limiter.l.bandwidths` is empty"),
        (
            "kind = 'token_bucket'\nrefill = 'aligned'\nadaptive_initial = true\ninitial = 1\nrate = '1/s'\nburst = 2",
            "4:11 `limiter.l.initial` and `adaptive_initial` both say",
        ),
        (
            "kind = 'gcra'\nrate = '1/s'\nburst = 2\nmax_burst = 1",
            "4:13 `limiter.l.max_burst` is given beside `burst`",
        ),
        ("kind = 'leaky_meter'\nrate = '1/d'", "2:8 `limiter.l.rate` is out of nginx's range"),
        (
            "kind = 'leaky_meter'\nrate = '1/s'\ndelay = 3\nnodelay = true",
            "3:9 `limiter.l.delay` is given beside `nodelay`",
        ),
        (
            "kind = 'leaky_queue'\ndialect = 'uber'\nrate = '2000M/s'",
            "3:8 `limiter.l.rate` is more than one per nanosecond",
        ),
        ("kind = 'leaky_queue'\ndialect = 'uber'\nrate = '1/s'\nmax_wait = '1s'", "has no key `max_wait`"),
        ("kind = 'fixed_window'\nlimit = 1\nwindow = '0s'", "3:10 `limiter.l.window` is 0"),
        (
            "kind = 'fixed_window'\nlimit = 1\nwindow = '1s'\ndialect = 'tower'\nopens = 'aligned'",
            "5:9 `limiter.l.opens` contradicts the dialect",
        ),
        (
            "kind = 'sliding_log'\nlimit = true\nwindow = '1s'",
            "2:9 `limiter.l.limit`: `true` is not a whole number",
        ),
        (
            "kind = 'sliding_log'\nlimit = 1.0\nwindow = '1s'",
            "2:9 `limiter.l.limit`: `1.0` is not a whole number",
        ),
        (
            "kind = 'sliding_counter'\ndialect = 'upstash'\nlimit = 1\nwindow = '1us'",
            "4:10 `limiter.l.window` is no whole number of milliseconds",
        ),
        ("kind = 'warm_up'\nrate = '0/s'", "2:8 `limiter.l.rate` is 0"),
        (
            "kind = 'warm_up'\ndialect = 'sentinel'\nrate = '2/s'\nwarm_up = '10s'",
            "3:8 `limiter.l.rate` never passes a call: cold",
        ),
        ("kind = 'srtcm'\ncir = '1/s'\ncbs = 0\nebs = 0", "3:7 `limiter.l` has two bursts of 0"),
        (
            "kind = 'trtcm'\ncir = '2/s'\ncbs = 1\npir = '1/s'\npbs = 1",
            "4:7 `limiter.l.pir` is less than the committed rate",
        ),
    ] {
        let text = format!("{keys}\n");
        let document = Document::from_text("a.toml", &text, Path::new("")).expect("it is TOML");
        let log = Log::new(document.text());
        // The table stands by itself, and is called what it would be called in a scenario.
        Stage::read("l".into(), Section::of(document.root(), &log, "limiter.l".into()));
        let problems: Vec<String> = log
            .into_problems()
            .iter()
            .map(|problem| problem.to_string().replace("a.toml:", "").replacen(": ", " ", 1))
            .collect();
        assert!(problems.iter().any(|problem| problem.contains(says)), "{keys}\n{says}\n{problems:?}");
    }
}
