//! The shape of the files: what every reader of CSV may rely on.

use assert_cmd::Command;
use std::collections::BTreeMap;
use std::fs;
use tempfile::TempDir;

const SCENARIO: &str = r#"
version  = 1
name     = "shapes"
duration = "10s"
warmup   = "2s"
interval = "3s"
seed     = 9007199254740991
[class.gold]
priority = 2
[class.iron]
[traffic.a]
rate   = "20/s"
class  = "iron"
client = "caller"
tenant = { count = 3 }
user   = "bob"
tokens = { input = 100, output = { dist = "uniform", low = 1, high = 50 } }
[traffic.b]
rate    = "7/s"
class   = "gold"
feature = { search = "40%", chat = "60%" }
[client.caller]
timeout = "400ms"
[client.caller.retry]
max_attempts = 2
[limiter.bucket]
kind  = "token_bucket"
rate  = "15/s"
burst = 5
[downstream.d]
concurrency  = 3
error_rate   = "5%"
service_time = { dist = "exponential", mean = "150ms" }
[queue.q]
max_length = 4
max_wait   = "300ms"
[[event]]
name  = "pause"
at    = "4s"
for   = "1s"
label = "a, \"b\""
set   = { "downstream.d.outage" = true, "limiter.bucket.rate" = "5/s" }
[[event]]
name = "grow"
at   = "6s"
set  = { "downstream.d.concurrency" = 5 }
[policy.z]
stages     = ["bucket"]
queue      = "q"
downstream = "d"
[policy.a]
downstream = "d"
"#;

/// Runs the scenario and returns its directory.
fn run() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("s.toml"), SCENARIO).expect("written");
    let mut command = Command::cargo_bin("tidegate").expect("it is built");
    command.current_dir(dir.path()).args([
        "run",
        "s.toml",
        "-o",
        "out",
        "--requests",
        "--seeds",
        "9,2",
        "-q",
    ]);
    command.assert().success();
    dir
}

/// Header and rows of a file.
fn table(dir: &TempDir, name: &str) -> (Vec<String>, Vec<BTreeMap<String, String>>) {
    let mut reader = csv::Reader::from_path(dir.path().join("out").join(name)).expect(name);
    let header: Vec<String> = reader.headers().expect("a header").iter().map(String::from).collect();
    let rows = reader.deserialize().collect::<Result<_, _>>().expect("rows of one width");
    (header, rows)
}

const TABLES: [&str; 6] =
    ["timeline.csv", "outcomes.csv", "latency_hist.csv", "gauges.csv", "summary.csv", "requests.csv"];

#[test]
fn columns_are_those_that_are_documented() {
    let dir = run();
    for (name, width, last) in [
        ("timeline.csv", 68, "first_token_p95_ms"),
        ("outcomes.csv", 12, "count"),
        ("latency_hist.csv", 9, "count"),
        ("gauges.csv", 12, "last"),
        ("summary.csv", 33, "cost_usd"),
        ("requests.csv", 26, "caller"),
        ("events.csv", 7, "value"),
    ] {
        let (header, rows) = table(&dir, name);
        assert_eq!((header.len(), header[header.len() - 1].as_str()), (width, last), "{name}");
        assert_eq!(header[0], "run_id");
        assert!(!rows.is_empty(), "{name}");
        let text = fs::read_to_string(dir.path().join("out").join(name)).expect("text");
        assert!(text.ends_with('\n') && !text.contains('\r') && !text.contains("\n\n"), "{name}");
    }
}

#[test]
fn numbers_have_fixed_decimals_and_no_exponent() {
    let dir = run();
    for name in TABLES {
        let (_, rows) = table(&dir, name);
        for (column, cell) in rows.iter().flatten().filter(|(_, cell)| !cell.is_empty()) {
            let decimals = match column.as_str() {
                c if c.ends_with("_s") => 9,
                c if c.ends_with("_ms") || c.ends_with("_ratio") || c.contains("jain") => 6,
                "retry_amplification" => 6,
                "avg" | "min" | "max" | "last" => 3,
                c if c.ends_with("_avg") || c.starts_with("limit_") => 3,
                c if c.ends_with("_count") || ["seed", "count", "call", "attempt"].contains(&c) => 0,
                c if c.ends_with("tokens") || c.ends_with("_max") || c.ends_with("_last") => 0,
                _ => continue,
            };
            let (whole, fraction) = cell.split_once('.').unwrap_or((cell, ""));
            let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
            assert!(digits(whole) && digits(fraction) && !whole.is_empty(), "{name}: {column} is {cell}");
            assert_eq!(fraction.len(), decimals, "{name}: {column} is {cell}");
        }
    }
}

#[test]
fn rows_are_sorted_and_the_timeline_is_dense() {
    let dir = run();
    let (_, rows) = table(&dir, "timeline.csv");
    let mut lead: Vec<(String, String)> =
        rows.iter().map(|row| (row["policy"].clone(), row["seed"].clone())).collect();
    lead.dedup();
    let jobs = [("z", "2"), ("z", "9"), ("a", "2"), ("a", "9")].map(|(p, s)| (p.to_string(), s.to_string()));
    assert_eq!(lead, jobs, "policies as in the file, seeds in rising order");
    for job in rows.chunk_by(|a, b| (&a["policy"], &a["seed"]) == (&b["policy"], &b["seed"])) {
        for (i, row) in job.iter().enumerate() {
            assert_eq!(row["interval_index"], (i / 2).to_string());
            assert_eq!(row["class"], ["gold", "iron"][i % 2]);
        }
        let edges: Vec<&str> = job.iter().step_by(2).map(|row| row["t_start_s"].as_str()).take(6).collect();
        assert_eq!(edges[..5], ["0.000000000", "2.000000000", "3.000000000", "6.000000000", "9.000000000"]);
        let phases: Vec<&str> = job.iter().step_by(2).map(|row| row["phase"].as_str()).collect();
        assert_eq!(phases[..5], ["warmup", "main", "main", "main", "main"]);
        assert!(phases[5..].iter().all(|phase| *phase == "drain"));
    }
    for name in ["outcomes.csv", "latency_hist.csv", "gauges.csv"] {
        let (_, rows) = table(&dir, name);
        let place = |row: &BTreeMap<String, String>| {
            let job = (row["policy"].clone(), row["seed"].clone());
            (
                jobs.iter().position(|other| *other == job),
                row["interval_index"].parse::<u64>().expect("a number"),
            )
        };
        assert!(rows.iter().map(place).is_sorted(), "{name}");
    }
}

#[test]
fn requests_carry_names_and_exact_times() {
    let dir = run();
    let (_, rows) = table(&dir, "requests.csv");
    let nanos = |cell: &str| cell.replace('.', "").parse::<u64>().expect("a number");
    for row in &rows {
        let (arrived, ended) = (nanos(&row["arrived_s"]), nanos(&row["ended_s"]));
        assert_eq!(nanos(&row["latency_ms"]), ended - arrived);
        match row["started_s"].as_str() {
            "" => assert!(row["queue_wait_ms"].is_empty() && row["service_ms"].is_empty(), "{row:?}"),
            started => {
                assert_eq!(nanos(&row["queue_wait_ms"]), nanos(started) - arrived);
                assert_eq!(nanos(&row["service_ms"]), ended - nanos(started));
            }
        }
        let (tenant, user, feature) = (row["tenant"].as_str(), row["user"].as_str(), row["feature"].as_str());
        if row["traffic"] == "a" {
            assert!(["t1", "t2", "t3"].contains(&tenant) && user == "bob" && feature.is_empty(), "{row:?}");
        } else {
            assert!(tenant.is_empty() && user.is_empty() && ["search", "chat"].contains(&feature), "{row:?}");
        }
        assert_eq!(row["reason"].is_empty(), row["outcome"] != "rejected", "{row:?}");
    }
    let (_, timeline) = table(&dir, "timeline.csv");
    let offered: usize =
        timeline.iter().map(|row| row["offered_count"].parse::<usize>().expect("a count")).sum();
    assert_eq!(rows.len(), offered, "one row for every attempt");
}

#[test]
fn events_have_a_row_for_each_value_and_quoted_labels() {
    let dir = run();
    let (_, rows) = table(&dir, "events.csv");
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().filter(|row| row["name"] == "pause").all(|row| row["label"] == "a, \"b\""));
    assert_eq!(rows[0]["until_s"], "5.000000000");
    assert_eq!((rows[2]["until_s"].as_str(), rows[2]["value"].as_str()), ("", "5"));
}

#[test]
fn run_json_lists_every_other_file_with_its_rows_and_no_trace_of_the_machine() {
    let dir = run();
    let text = fs::read_to_string(dir.path().join("out/run.json")).expect("text");
    let run: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(!text.contains(&dir.path().display().to_string()) && !text.contains("s.toml"), "{text}");
    for output in run["outputs"].as_array().expect("a list") {
        let name = output["file"].as_str().expect("a name");
        let bytes = fs::read(dir.path().join("out").join(name)).expect(name);
        assert_eq!(output["bytes"], bytes.len(), "{name}");
        if name.ends_with(".csv") {
            assert_eq!(output["rows"], table(&dir, name).1.len(), "{name}");
        }
    }
    assert_eq!(run["seeds"], serde_json::json!([2, 9]));
    assert_eq!(run["policies"], serde_json::json!(["z", "a"]));
    assert_eq!(run["fingerprints"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_hostile_run_json_is_answered_and_never_followed() {
    let dir = run();
    let path = dir.path().join("out/run.json");
    let text = fs::read_to_string(&path).expect("text");
    fs::write(dir.path().join("secret"), "keep out").expect("written");
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    for (from, to, code) in [
        ("\"timeline.csv\"", "\"../secret\"".to_string(), 3),
        ("\"timeline.csv\"", "\"/etc/passwd\"".to_string(), 3),
        ("\"timeline.csv\"", "\"\"".to_string(), 3),
        ("\"timeline.csv\"", "\"a\\u0000b\"".to_string(), 3),
        ("\"timeline.csv\"", "\"no-such-file.csv\"".to_string(), 6),
        ("\"policies\": [", "\"policies\": [\"nobody\", ".to_string(), 3),
        ("\"seeds\": [", "\"seeds\": [-1, ".to_string(), 3),
        ("\"seeds\": [", "\"seeds\": [1e400, ".to_string(), 3),
        ("\"duration\": \"10s\"", "\"duration\": \"-10s\"".to_string(), 3),
        ("\"duration\": \"10s\"", format!("\"duration\": {deep}"), 3),
        ("\"model_version\": 1", "\"model_version\": 99999999999".to_string(), 3),
        (
            "\"traces\": []",
            "\"traces\": [{\"name\": \"../secret\", \"rows\": 1, \"sha256\": \"\"}]".to_string(),
            3,
        ),
    ] {
        let edited = text.replacen(from, &to, 1);
        assert_ne!(edited, text, "{from}");
        fs::write(&path, edited).expect("written");
        let mut command = Command::cargo_bin("tidegate").expect("it is built");
        let output = command.current_dir(dir.path()).args(["verify", "out"]).output().expect("it starts");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{to:.60}: {told}");
        assert!(!told.contains("keep out") && !told.contains("fault"), "{told}");
    }
}
