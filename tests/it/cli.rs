//! The command as its users start it: what it prints, writes and answers, and what it refuses.

use assert_cmd::Command;
use std::fs;
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

/// Two policies, a second of traffic; small enough to be run many times.
const SCENARIO: &str = r#"
version  = 1
name     = "small"
duration = "20s"
interval = "1s"
seed     = 1
[traffic.api]
rate   = "30/s"
client = "caller"
[client.caller]
timeout = "2s"
[client.caller.retry]
max_attempts = 3
on = ["429", "503", "timeout"]
[limiter.bucket]
kind  = "token_bucket"
rate  = "20/s"
burst = 40
[downstream.service]
concurrency  = 10
service_time = { dist = "lognormal", median = "100ms", p99 = "400ms" }
[queue.line]
max_length = 50
[[event]]
name  = "slow"
at    = "5s"
for   = "5s"
label = "slow, \"very\""
set   = { "downstream.service.slowdown" = 4 }
[policy.limited]
stages     = ["bucket"]
queue      = "line"
downstream = "service"
[policy.open]
queue      = "line"
downstream = "service"
"#;

/// A folder with the scenario in it, in which commands are started.
struct Bench(TempDir);

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("s.toml"), SCENARIO).expect("written");
        Bench(dir)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).expect("written");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).expect(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::cargo_bin("tidegate").expect("it is built");
        command.current_dir(self.path()).args(arguments).env_remove("NO_COLOR");
        command
    }

    fn start(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("it starts")
    }

    /// Its standard output, if it ends well.
    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.start(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Its messages, if it ends with `code`.
    fn fails(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.start(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stderr)
    }

    /// Every file below `dir` with its bytes, by name.
    fn files(&self, dir: &str) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        let mut folders = vec![self.path().join(dir)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect(dir) {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(self.path().join(dir)).expect("below").display().to_string();
                    files.push((name, fs::read(&path).expect("readable")));
                }
            }
        }
        files.sort();
        files
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("it speaks UTF-8")
}

fn probe(bench: &Bench, limiter: &str, events: &str, more: &[&str]) -> Output {
    let mut command = bench.command(&["probe", limiter, "-", "--format", "csv"]);
    command.args(more).write_stdin(events).output().expect("it starts")
}

#[test]
fn a_run_ends_with_a_table_a_line_a_sentence_its_files_and_its_command() {
    let bench = Bench::new();
    let output = bench.start(&["run", "s.toml", "-o", "out"]);
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    assert!(said.starts_with("policy   seed  calls  goodput %"), "{said}");
    assert!(said.contains("\nlimited  offered   ") && said.contains("/s\n"), "{said}");
    let sentence = said.lines().last().expect("a sentence");
    assert!(sentence.starts_with('`') && sentence.contains("of calls in time"), "{sentence}");
    assert!(told.contains("wrote out/: ") && told.contains("timeline.csv"), "{told}");
    assert!(told.contains("the same again: tidegate run s.toml -o out\n"), "{told}");
    let names: Vec<String> = bench.files("out").into_iter().map(|(name, _)| name).collect();
    let tables = [
        "events.csv",
        "gauges.csv",
        "latency_hist.csv",
        "outcomes.csv",
        "run.json",
        "summary.csv",
        "timeline.csv",
    ];
    assert!(tables.iter().all(|table| names.iter().any(|name| name == table)), "{names:?}");
    assert!(names.contains(&"charts/compare.svg".to_string()) && names.len() == 14, "{names:?}");
    assert!(bench.ok(&["run", "s.toml", "-o", "out", "-q"]).is_empty(), "quiet says nothing");
}

#[test]
fn threads_folders_and_the_way_in_change_no_byte() {
    let bench = Bench::new();
    bench.ok(&["run", "s.toml", "-o", "a", "--jobs", "1", "--seeds", "1..5", "--requests"]);
    bench.ok(&["run", "s.toml", "-o", "b", "--jobs", "2", "--seeds", "1..5", "--requests", "--verify"]);
    fs::create_dir(bench.path().join("elsewhere")).expect("made");
    let mut other = bench.command(&["run", "../s.toml", "-o", "../c", "--seeds", "1..5", "--requests"]);
    other.current_dir(bench.path().join("elsewhere")).assert().success();
    let mut piped = bench.command(&["run", "-", "-o", "d", "--seeds", "1..5", "--requests"]);
    piped.write_stdin(SCENARIO).assert().success();
    let first = bench.files("a");
    for dir in ["b", "c", "d"] {
        assert!(first == bench.files(dir), "{dir} differs");
    }
}

#[test]
fn without_a_name_the_run_goes_where_its_id_says() {
    let bench = Bench::new();
    bench.ok(&["run", "s.toml", "--charts", "none"]);
    let parent = bench.path().join("output/small");
    let ids: Vec<String> = fs::read_dir(parent)
        .expect("made")
        .map(|e| e.expect("one").file_name().into_string().expect("text"))
        .collect();
    assert!(ids.len() == 1 && ids[0].len() == 13 && ids[0].starts_with('r'), "{ids:?}");
    assert!(bench.read(&format!("output/small/{}/run.json", ids[0])).contains(&ids[0]));
}

#[test]
fn policies_seeds_and_values_can_be_chosen() {
    let bench = Bench::new();
    let table = bench.ok(&[
        "run",
        "s.toml",
        "-o",
        "out",
        "--charts",
        "none",
        "--format",
        "csv",
        "--policy",
        "open",
        "--seeds",
        "3,7",
        "--set",
        "traffic.api.rate=5/s",
        "--until",
        "4s",
        "--interval",
        "500ms",
    ]);
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows.len(), 3, "{table}");
    assert!(rows[1].starts_with("open,3,") && rows[2].starts_with("open,7,"), "{table}");
    let timeline = bench.read("out/timeline.csv");
    assert!(timeline.lines().nth(8).is_some_and(|row| row.contains(",7,3.500000000,0.500000000,main,")));
    let json = bench.ok(&["run", "s.toml", "-o", "out", "--charts", "none", "--format", "json"]);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&json).expect("JSON").as_array().map(Vec::len),
        Some(2)
    );
}

#[test]
fn wrong_uses_of_run_are_told_and_write_nothing() {
    let bench = Bench::new();
    bench.write("wrong.toml", &SCENARIO.replace("burst = 40", "brust = 40"));
    bench.write("silent.toml", &SCENARIO.replace("rate   = \"30/s\"", "rate   = \"30/d\""));
    for (code, arguments, says) in [
        (2, vec!["run"], "FILE"),
        (2, vec!["run", "s.toml", "--seeds", "3..1"], "runs backwards"),
        (2, vec!["run", "s.toml", "--policy", "opn"], "did you mean `open`?"),
        (2, vec!["run", "s.toml", "--jobs", "0"], "0 is not in"),
        (2, vec!["run", "s.toml", "--charts", "gif"], "svg"),
        (3, vec!["run", "wrong.toml"], "did you mean `burst`?"),
        (3, vec!["run", "s.toml", "--set", "traffic.api.rat=4/s"], "rat"),
        (3, vec!["run", "s.toml", "--until=0s"], "duration"),
        (3, vec!["run", "silent.toml"], "no call arrived"),
        (4, vec!["run", "missing.toml"], "cannot read"),
        (4, vec!["run", "s.toml", "-o", "s.toml"], "it is a file"),
    ] {
        let told = bench.fails(code, &arguments);
        assert!(told.contains(says), "{arguments:?}: {told}");
    }
    let mut left: Vec<_> =
        fs::read_dir(bench.path()).expect("there").map(|e| e.expect("one").file_name()).collect();
    left.sort();
    assert_eq!(left, ["s.toml", "silent.toml", "wrong.toml"]);
}

#[test]
fn a_directory_with_anything_else_in_it_is_refused_before_anything_is_simulated() {
    let bench = Bench::new();
    fs::create_dir(bench.path().join("mine")).expect("made");
    bench.write("mine/thesis.txt", "years");
    let told = bench.fails(4, &["run", "s.toml", "-o", "mine"]);
    assert!(told.contains("thesis.txt"), "{told}");
    assert_eq!(bench.files("mine"), [("thesis.txt".to_string(), b"years".to_vec())]);
    bench.ok(&["run", "s.toml", "-o", "run", "-q"]);
    bench.write("run/thesis.txt", "years");
    assert!(bench.fails(4, &["run", "s.toml", "-o", "run"]).contains("thesis.txt"));
    assert_eq!(bench.read("run/thesis.txt"), "years");
}

#[test]
#[cfg(unix)]
fn an_interrupted_run_is_marked_and_the_next_one_replaces_it() {
    let bench = Bench::new();
    bench.write("long.toml", &SCENARIO.replace("\"20s\"", "\"300d\"").replace("\"1s\"", "\"100s\""));
    for (dir, kept) in [("out", "out"), ("whole", "whole.incomplete")] {
        if dir == "whole" {
            bench.ok(&["run", "s.toml", "-o", dir, "-q", "--charts", "none"]);
        }
        let mut run = std::process::Command::new(assert_cmd::cargo::cargo_bin("tidegate"))
            .args(["run", "long.toml", "-o", dir, "--charts", "none"])
            .current_dir(bench.path())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("it starts");
        let staging = bench.path().join(format!("{dir}.incomplete/timeline.csv"));
        while !staging.exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        let pid = run.id().to_string();
        assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().expect("kill").success());
        let status = run.wait().expect("it ends");
        let mut told = String::new();
        std::io::Read::read_to_string(&mut run.stderr.take().expect("piped"), &mut told).expect("text");
        assert_eq!(status.code(), Some(130), "{told}");
        assert!(told.contains(&format!("`{kept}`")) && told.contains("INCOMPLETE"), "{told}");
        assert!(bench.read(&format!("{kept}/INCOMPLETE")).contains("not complete"));
        assert!(bench.read(&format!("{kept}/timeline.csv")).lines().count() > 1, "what was written stays");
        assert!(bench.fails(6, &["verify", kept]).contains("not completed"));
    }
    let whole = bench.files("whole");
    bench.ok(&["run", "s.toml", "-o", "whole", "-q", "--charts", "none"]);
    assert!(whole == bench.files("whole"), "the old run was left alone");
    bench.ok(&["run", "s.toml", "-o", "out", "-q", "--charts", "none"]);
    let left: Vec<String> = fs::read_dir(bench.path())
        .expect("there")
        .map(|e| e.expect("one").file_name().into_string().expect("text"))
        .collect();
    assert!(left.iter().all(|name| !name.contains("incomplete")), "{left:?}");
    assert!(!bench.path().join("out/INCOMPLETE").exists());
}

#[test]
fn verify_proves_a_run_and_finds_what_was_edited() {
    let bench = Bench::new();
    bench.ok(&["run", "s.toml", "-o", "out", "-q", "--requests"]);
    assert!(bench.ok(&["verify", "out"]).contains("running it again gave the same bytes"));
    for (file, from, to) in [
        ("timeline.csv", ",0,", ",1,"),
        ("outcomes.csv", "goodput", "wasted"),
        ("summary.csv", ",0,", ",1,"),
        ("gauges.csv", "0.000", "0.001"),
        ("latency_hist.csv", ",1\n", ",2\n"),
        ("events.csv", "slow", "slaw"),
        ("requests.csv", "goodput", "wasted_"),
        ("charts/compare.svg", "<svg", "<svg "),
        ("run.json", "\"seed\": 1", "\"seed\": 2"),
    ] {
        let path = format!("out/{file}");
        let whole = bench.read(&path);
        let edited = whole.replacen(from, to, 1);
        assert_ne!(whole, edited, "{file}");
        bench.write(&path, &edited);
        let told = bench.fails(6, &["verify", "out"]);
        assert!(told.contains(&format!("`{file}`")), "{file}: {told}");
        bench.write(&path, &whole);
    }
    fs::remove_file(bench.path().join("out/gauges.csv")).expect("removed");
    assert!(bench.fails(6, &["verify", "out"]).contains("`gauges.csv` is missing"));
}

#[test]
fn verify_says_what_it_could_not_run_again() {
    let bench = Bench::new();
    let replayed = SCENARIO.replace("rate   = \"30/s\"", "trace = \"t.csv\"");
    fs::create_dir(bench.path().join("data")).expect("made");
    bench.write("data/t.csv", "time\n0\n0.5\n1\n");
    bench.write("data/s.toml", &replayed);
    bench.ok(&["run", "data/s.toml", "-o", "out", "-q"]);
    assert!(!bench.read("out/run.json").contains("data"), "a run knows its traces by name");
    let said = bench.ok(&["verify", "out"]);
    assert!(said.contains("not run again") && said.contains("t.csv") && said.contains("--inputs"), "{said}");
    assert!(bench.ok(&["verify", "out", "--inputs", "data"]).contains("gave the same bytes"));
    bench.write("data/t.csv", "time\n0\n0.5\n2\n");
    assert!(bench.ok(&["verify", "out", "--inputs", "data"]).contains("not run again"));
}

#[test]
fn verify_and_chart_refuse_what_is_no_run() {
    let bench = Bench::new();
    assert!(bench.fails(4, &["verify", "nowhere"]).contains("run.json"));
    fs::create_dir(bench.path().join("out")).expect("made");
    for (text, says) in [
        ("", "no description of a run"),
        ("{}", "no description of a run"),
        ("[[[[", "no description of a run"),
        ("{\"tool\": 1e999}", "no description of a run"),
    ] {
        bench.write("out/run.json", text);
        assert!(bench.fails(3, &["verify", "out"]).contains(says), "{text}");
    }
    fs::remove_file(bench.path().join("out/run.json")).expect("removed");
    assert!(bench.fails(4, &["chart", "out"]).contains("timeline.csv"));
    assert!(bench.fails(2, &["chart", "out", "--kind", "latancy"]).contains("did you mean `latency`?"));
    assert!(bench.fails(2, &["chart", "out", "--charts", "gif"]).contains("gif"));
    assert!(bench.fails(4, &["chart", "nowhere"]).contains("nowhere"));
}

#[test]
fn charts_drawn_again_are_the_same() {
    let bench = Bench::new();
    bench.ok(&["run", "s.toml", "-o", "out", "-q"]);
    let before = bench.files("out");
    fs::remove_dir_all(bench.path().join("out/charts")).expect("removed");
    assert!(bench.ok(&["chart", "out"]).contains("out/charts/compare.svg\n"));
    assert!(before == bench.files("out"));
}

#[test]
fn check_tells_everything_at_once_with_places() {
    let bench = Bench::new();
    assert!(bench.ok(&["check", "s.toml"]).contains("s.toml: right; `small`, 2 policies"));
    let wrong = SCENARIO.replace("burst = 40", "brust = 40").replace("\"30/s\"", "30");
    bench.write("wrong.toml", &wrong);
    let told = bench.fails(3, &["check", "wrong.toml", "s.toml"]);
    assert!(told.contains("wrong.toml:8:10") && told.contains("wrong.toml:18:1"), "{told}");
    assert!(told.contains("did you mean `burst`?"), "{told}");
    let output = bench.start(&["check", "--format", "json", "wrong.toml"]);
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(findings[0]["line"], 8, "{findings}");
    assert!(output.stderr.is_empty());
    bench.write("broken.toml", "version = \n");
    bench.write("binary.toml", "");
    fs::write(bench.path().join("binary.toml"), [0xff, 0xfe, 0x00]).expect("written");
    bench.write("empty.toml", "");
    for (code, file) in
        [(3, "broken.toml"), (3, "binary.toml"), (3, "empty.toml"), (4, "missing.toml"), (4, ".")]
    {
        assert!(!bench.fails(code, &["check", file]).is_empty());
    }
    assert!(bench.fails(2, &["check"]).contains("FILE"));
}

#[test]
fn probe_prints_the_hand_calculation_to_the_digit() {
    let bench = Bench::new();
    let bucket = r#"{ kind = "token_bucket", rate = "2/s", burst = 3 }"#;
    let output = probe(&bench, bucket, "t_ms,cost\n0,2\n0,2\n499,2\n500,2\n750,1\n1000,1\n", &[]);
    assert_eq!(
        text(&output.stdout),
        "t_s,key,cost,decision,remaining,retry_after_s,delay_s,reset_s,colour,limited_by\n\
         0.000000000,,2,admit,1.000000000,,0.000000000,1.000000000,,\n\
         0.000000000,,2,refuse,1.000000000,0.500000000,,1.000000000,,token_bucket\n\
         0.499000000,,2,refuse,1.998000000,0.001000000,,0.501000000,,token_bucket\n\
         0.500000000,,2,admit,0.000000000,,0.000000000,1.500000000,,\n\
         0.750000000,,1,refuse,0.500000000,0.250000000,,1.250000000,,token_bucket\n\
         1.000000000,,1,admit,0.000000000,,0.000000000,1.500000000,,\n"
    );
    let thirds = r#"{ kind = "token_bucket", rate = "3/s", burst = 2 }"#;
    let output = probe(&bench, thirds, "t_ms,cost\r\n0,2\r\n0,1\r\n333,1\r\n334,1\r\n0334,9", &[]);
    let said = text(&output.stdout);
    assert!(
        said.contains("0.000000000,,1,refuse,0.000000000,0.333333334,,0.666666667,,token_bucket\n"),
        "{said}"
    );
    assert!(said.contains("0.334000000,,9,refuse,0.002000000,never,,0.666000000,,token_bucket\n"), "{said}");
}

#[test]
fn probe_charges_layers_together_or_one_by_one() {
    let bench = Bench::new();
    let layers = r#"[{ name = "global", kind = "token_bucket", rate = "60k/min", burst = 12000 },
        { name = "user", kind = "token_bucket", key = "user", rate = "5k/min", burst = 4000 }]"#;
    let asks = "t_s,cost,key\n0,4000,u-42\n0,4000,u-42\n0,4000,u-42\n0,4000,u-77\n";
    let bound = |take: &str| {
        let said = text(&probe(&bench, layers, asks, &["--take", take]).stdout);
        said.lines().skip(1).map(|row| row.rsplit(',').next().unwrap_or("").to_string()).collect::<Vec<_>>()
    };
    assert_eq!(bound("all_or_none"), ["", "user", "user", ""]);
    assert_eq!(bound("sequential"), ["", "user", "user", "global"]);
}

#[test]
fn probe_refuses_time_that_steps_back_and_says_so() {
    let bench = Bench::new();
    for kind in ["token_bucket", "gcra"] {
        let limiter = format!("{{ kind = \"{kind}\", rate = \"2/s\", burst = 3 }}");
        let output = probe(&bench, &limiter, "t_ms,cost\n100,1\n99,1\n100,1\n", &[]);
        let (said, told) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(3), "{told}");
        assert!(told.contains("-:3:1") && told.contains(kind), "{told}");
        assert!(
            said.contains(&format!("0.099000000,,1,refuse,2.000000000,0.001000000,,0.501000000,,{kind}\n")),
            "{said}"
        );
        assert!(said.ends_with("0.100000000,,1,admit,1.000000000,,0.000000000,1.000000000,,\n"), "{said}");
    }
}

#[test]
fn probe_refuses_wrong_lists_and_limiters() {
    let bench = Bench::new();
    let bucket = r#"{ kind = "token_bucket", rate = "2/s", burst = 3 }"#;
    for (limiter, events, says) in [
        (bucket, "t_ms,cost\n1,0\n", "`0` is no cost"),
        (bucket, "t_ms,cost\n1,1.5\n", "`1.5` is no cost"),
        (bucket, "t_ms,cost\n-1,1\n", "`-1` is no time"),
        (bucket, "t_ms,costs\n1,1\n", "did you mean `cost`?"),
        (bucket, "cost\n1\n", "no column of times"),
        (bucket, "t_ms,t_s\n1,1\n", "several columns of times"),
        (bucket, "t_ms,cost\n1\n", "has 1 cells"),
        (bucket, "t_ms\n", "no ask"),
        (bucket, "", "empty"),
        (
            r#"{ kind = "token_bukket", rate = "2/s", burst = 3 }"#,
            "t_ms\n1\n",
            "did you mean `token_bucket`?",
        ),
        (r#"{ kind = "token_bucket", rate = "0/s", burst = 3 }"#, "t_ms\n1\n", "rate"),
        (r#"{ kind = "concurrency", limit = 3 }"#, "t_ms\n1\n", "not how fast"),
        ("[]", "t_ms\n1\n", "no limiter"),
        ("kind", "t_ms\n1\n", "LIMITER:1:"),
    ] {
        let output = probe(&bench, limiter, events, &[]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{limiter} {events}: {told}");
        assert!(told.contains(says), "{limiter} {events}: {told}");
        assert!(output.stdout.is_empty(), "nothing is printed of a wrong list");
    }
    assert!(bench.fails(4, &["probe", bucket, "missing.csv"]).contains("missing.csv"));
}

#[test]
fn new_writes_what_check_finds_right_and_replaces_nothing() {
    let bench = Bench::new();
    let list = bench.ok(&["new", "--list"]);
    for name in list.lines().filter_map(|line| line.split_whitespace().next()) {
        let file = format!("{name}.toml");
        bench.ok(&["new", name, "-o", &file]);
        assert_eq!(bench.ok(&["new", name]), bench.read(&file));
        assert!(bench.fails(4, &["new", name, "-o", &file]).contains("no file is ever replaced"));
    }
    assert!(bench.ok(&["check", "minimal.toml"]).contains("right"));
    bench.ok(&["run", "minimal.toml", "-q"]);
    assert!(bench.fails(2, &["new", "minmal"]).contains("did you mean `minimal`?"));
    assert!(bench.fails(4, &["new", "-o", "no/such/folder.toml"]).contains("cannot create"));
    bench.fails(2, &["new", "--list", "minimal"]);
}

#[test]
fn policies_completions_and_man_describe_the_program() {
    let bench = Bench::new();
    let list = bench.ok(&["policies"]);
    for kind in ["token_bucket", "gcra", "concurrency", "fifo", "slots", "finagle"] {
        assert!(list.contains(kind), "{kind}: {list}");
    }
    assert!(bench.ok(&["policies", "token_bucket", "--format", "md"]).contains("| token_bucket | burst |"));
    let json = bench.ok(&["policies", "--format", "json"]);
    let list: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let gcra = list.as_array().and_then(|all| all.iter().find(|entry| entry["kind"] == "gcra")).expect("it");
    assert_eq!((&gcra["table"], &gcra["trait"]), (&"limiter".into(), &"limiter".into()), "{gcra}");
    assert!(gcra["source"].as_str().is_some_and(|source| source.contains("I.371")), "{gcra}");
    let refund = gcra["parameters"].as_array().and_then(|all| all.iter().find(|p| p["name"] == "refund"));
    let refund = refund.expect("every limiter has it");
    assert_eq!((&refund["default"], &refund["required"]), (&"true".into(), &false.into()), "{refund}");
    assert!(bench.fails(2, &["policies", "gcar"]).contains("did you mean `gcra`?"));
    assert!(bench.ok(&["completions", "bash"]).contains("tidegate"));
    assert!(bench.ok(&["man"]).contains(".TH tidegate"));
    assert!(bench.ok(&["man", "run"]).contains("scenario"));
    assert!(bench.fails(2, &["man", "rnu"]).contains("did you mean `run`?"));
    bench.fails(2, &["completions", "cmd.exe"]);
    assert!(bench.fails(2, &["verfy"]).contains("verify"));
    assert!(bench.ok(&["--version"]).starts_with("tidegate "));
}

#[test]
fn colours_come_when_asked_for() {
    let bench = Bench::new();
    bench.write("wrong.toml", "version = 2\n");
    assert!(!bench.fails(3, &["check", "wrong.toml"]).contains('\u{1b}'));
    assert!(bench.fails(3, &["check", "wrong.toml", "--color", "always"]).contains('\u{1b}'));
    assert!(!bench.fails(3, &["check", "wrong.toml", "--color", "never"]).contains('\u{1b}'));
}

#[test]
#[cfg(unix)]
fn a_reader_that_goes_away_is_no_failure_and_a_full_disk_is() {
    let bench = Bench::new();
    let binary = assert_cmd::cargo::cargo_bin("tidegate");
    let shell =
        |line: String| std::process::Command::new("sh").args(["-c", &line]).output().expect("a shell");
    let piped = shell(format!("'{}' policies; '{}' man | true", binary.display(), binary.display()));
    assert!(piped.status.success() && piped.stderr.ends_with(b"KIND\n"), "{}", text(&piped.stderr));
    if Path::new("/dev/full").exists() {
        let full = shell(format!("'{}' policies > /dev/full", binary.display()));
        assert_eq!(full.status.code(), Some(4), "{}", text(&full.stderr));
    }
    drop(bench);
}
