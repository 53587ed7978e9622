//! What a trace must be, and what is said of one that is not.

use super::*;
use crate::problem::{Kind, Problem, Problems};
use crate::traffic::Known;
use crate::traffic::Source;
use std::io::Write;
use tempfile::NamedTempFile;

const LONG: Nanos = MAX_LENGTH;

fn file(text: impl AsRef<[u8]>) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a file for the test");
    file.write_all(text.as_ref()).expect("written");
    file
}

fn spec(file: &NamedTempFile) -> TraceSpec {
    TraceSpec { name: "test.csv".into(), time: "t".into(), ..TraceSpec::of(file.path().into()) }
}

fn replay(spec: &TraceSpec) -> Result<Vec<u64>, Problem> {
    let facts = spec.inspect().expect("a trace without faults");
    let mut source = spec.open(&facts, LONG)?;
    let mut times = Vec::new();
    while let Some(at) = source.next(&mut Known::default())? {
        times.push(at.0);
    }
    assert_eq!(times.len() as u64, facts.kept);
    assert_eq!(times.first().copied(), Some(facts.first.0));
    assert_eq!(times.last().copied(), Some(facts.last.0));
    Ok(times)
}

/// The places (line and column) and messages of what is wrong.
fn faults(spec: &TraceSpec) -> Vec<(Option<(usize, usize)>, String)> {
    let Problems(problems) = spec.inspect().expect_err("a trace with faults");
    assert!(problems.iter().all(|p| !p.remedy.is_empty() || p.what.starts_with("and ")), "{problems:?}");
    problems.into_iter().map(|p| (p.place.map(|at| (at.line, at.column)), p.what)).collect()
}

#[test]
fn line_ends_and_byte_order_marks_change_nothing() {
    for text in ["t\n5\n5.25\n7\n", "t\r\n5\r\n5.25\r\n7", "\u{feff}t\n5\n5.25\n7", "t\n\"5\"\n 5.25 \n7\n\n"]
    {
        assert_eq!(replay(&spec(&file(text))), Ok(vec![0, 250_000_000, 2_000_000_000]), "{text:?}");
    }
}

#[test]
fn a_window_starts_at_zero_and_speed_divides_what_is_left() {
    let file = file("t_ms\n100\n101\n102\n104\n108\n");
    let spec = TraceSpec {
        time: "t_ms".into(),
        from: Some(Nanos::millis(1)),
        until: Some(Nanos::millis(8)),
        speed: Speed::parse("3").expect("valid"),
        ..spec(&file)
    };
    assert_eq!(replay(&spec), Ok(vec![0, 333_333, 1_000_000]));
}

#[test]
fn sorted_traces_start_at_their_earliest_row_and_keep_the_order_of_equals() {
    let file = file("t,n\n9,1\n7,2\n9,3\n8,4\n");
    let spec = TraceSpec { sort: true, input_tokens: Some("n".into()), ..spec(&file) };
    assert_eq!(replay(&spec), Ok(vec![0, 1_000_000_000, 2_000_000_000, 2_000_000_000]));
    let facts = spec.inspect().expect("valid");
    let mut source = spec.open(&facts, LONG).expect("unchanged");
    let mut known = Known::default();
    let order: Vec<u32> =
        std::iter::from_fn(|| source.next(&mut known).expect("unchanged").and(known.input_tokens)).collect();
    assert_eq!(order, [2, 4, 1, 3]);
}

#[test]
fn a_quote_that_is_not_closed_swallows_no_rows_in_silence() {
    let file = file("t,who\n0,\"a\n1,b\n");
    let spec = TraceSpec { tenant: Some("who".into()), ..spec(&file) };
    let faults = faults(&spec);
    assert_eq!(faults.len(), 1);
    assert!(faults[0].1.contains("several lines"), "{faults:?}");
}

#[test]
fn names_are_numbered_in_the_order_of_the_alphabet() {
    let file = file("t,who,in,out\n1,zoe,5,6\n2,abe,7,8.0\n");
    let (who, tokens) = (Some("who".into()), Some("in".into()));
    let spec =
        TraceSpec { tenant: who, input_tokens: tokens, output_tokens: Some("out".into()), ..spec(&file) };
    let facts = spec.inspect().expect("valid");
    assert_eq!(facts.tenants, ["abe", "zoe"]);
    let mut source = spec.open(&facts, LONG).expect("unchanged");
    let mut known = Known::default();
    source.next(&mut known).expect("unchanged");
    assert_eq!(
        (known.tenant, known.input_tokens, known.output_tokens, known.max_output_tokens),
        (Some(1), Some(5), Some(6), None)
    );
    source.next(&mut known).expect("unchanged");
    assert_eq!((known.tenant, known.input_tokens, known.output_tokens), (Some(0), Some(7), Some(8)));
}

#[test]
fn the_replay_ends_before_the_duration() {
    let file = file("t\n0\n1\n2\n");
    let spec = spec(&file);
    let mut source = spec.open(&spec.inspect().expect("valid"), Nanos::secs(1)).expect("unchanged");
    assert_eq!(source.next(&mut Known::default()), Ok(Some(SimTime(0))));
    assert_eq!(source.next(&mut Known::default()), Ok(None));
    assert_eq!(source.next(&mut Known::default()), Ok(None));
}

#[test]
fn every_fault_is_named_with_its_line_and_column() {
    for (text, line, column, what) in [
        ("t\r\n0\r\nx\r\n", 3, 1, "`x` is no time in seconds"),
        ("t,a\r\n0,\"x\r\ny\"\r\n\r\n3,2", 2, 3, "the field goes over several lines"),
        ("t,a\n0,\"x\ny\"\n\n3,2\n", 2, 3, "the field goes over several lines"),
        ("t,a\n0,x\n\nz,2\n", 4, 1, "`z` is no time in seconds"),
        ("t\n0\nz", 3, 1, "`z` is no time in seconds"),
        ("a,t\n1,0\nüü,-1\n", 3, 4, "the time `-1` is negative"),
        ("t\n0\nNaN\n", 3, 1, "`NaN` is no time in seconds"),
        ("t\n9223372036854775808\n", 2, 1, "the time `9223372036854775808` is too large"),
        ("t,a\n0,1\n1\n", 3, 1, "the row has 1 fields, the header 2"),
        ("t,a\n0,1\n1,2,3\n", 3, 5, "the row has 3 fields, the header 2"),
        ("t\n5\n6\n4.5\n", 4, 1, "the time goes backward: `4.5` comes 1.5s before the time of line 3"),
        ("t\n0\n9000000000\n", 3, 1, "rows lie more than 36525 days apart"),
    ] {
        let found = faults(&spec(&file(text)));
        assert_eq!(found[0].0, Some((line, column)), "{text:?}: {found:?}");
        assert!(found[0].1.starts_with(what), "{text:?}: {found:?}");
        assert_eq!(found.len(), 1, "{found:?}");
    }
}

#[test]
fn text_that_is_not_utf_8_is_refused() {
    let found = faults(&spec(&file(b"t,a\n0,\xff\n")));
    assert_eq!(found, [(Some((2, 3)), "the field is not UTF-8".into())]);
}

#[test]
fn faults_in_counts_and_names_are_found() {
    let file = file("t,n,who\n0,4294967296,a\n1,,a\n2,1.5,a\n3,1,\n");
    let spec = TraceSpec { input_tokens: Some("n".into()), tenant: Some("who".into()), ..spec(&file) };
    let places: Vec<_> = faults(&spec).into_iter().map(|(place, _)| place).collect();
    assert_eq!(places, [Some((2, 3)), Some((3, 3)), Some((4, 3)), Some((5, 5))]);
}

#[test]
fn empty_files_and_empty_windows_are_refused() {
    for text in ["", "\n", "t\n", "t\r\n"] {
        assert_eq!(faults(&spec(&file(text))).len(), 1, "{text:?}");
    }
    let file = file("t\n0\n1\n");
    let found = faults(&TraceSpec { from: Some(Nanos::secs(5)), ..spec(&file) });
    assert!(found[0].1.starts_with("no row lies between"), "{found:?}");
}

#[test]
fn a_missing_column_names_the_nearest() {
    let file = file("Timestamp,ContextTokens\n0,1\n");
    let tokens = Some("ContextToken".into());
    let spec = TraceSpec { time: "timestamp".into(), input_tokens: tokens, ..spec(&file) };
    let Problems(problems) = spec.inspect().expect_err("two columns are missing");
    assert_eq!(problems.len(), 2);
    assert_eq!(problems[0].remedy, "did you mean `Timestamp`? set `time = \"Timestamp\"`");
    assert_eq!(problems[1].remedy, "did you mean `ContextTokens`? set `input_tokens = \"ContextTokens\"`");
}

#[test]
fn problems_beyond_twenty_are_counted() {
    let found = faults(&spec(&file(format!("t\n{}", "x\n".repeat(23)))));
    assert_eq!(found.len(), 21);
    assert!(found[20].1.starts_with("and 3 more problems"), "{found:?}");
}

#[test]
fn a_missing_file_is_a_failure_to_read() {
    let gone = TraceSpec { file: "no/such/trace.csv".into(), ..spec(&file("")) };
    let Problems(problems) = gone.inspect().expect_err("no file");
    assert_eq!(problems[0].kind, Kind::Io);
}

#[test]
fn a_file_that_changed_is_refused_and_never_panics() {
    let before = file("t,who\n0,a\n1,b\n2,a\n");
    for sort in [false, true] {
        let spec = TraceSpec { tenant: Some("who".into()), sort, ..spec(&before) };
        let facts = spec.inspect().expect("valid");
        for after in [
            "",
            "x\n",
            "t,who\n0,a\n",
            "t,who\n0,a\n1,c\n2,a\n",
            "t,who\n0,a\n1\n2,a\n",
            "t,who\n0,a\n5,b\n2,a\n",
            "t,who\n0,a\n1,b\n2,b\n",
        ] {
            let changed = file(after);
            let spec = TraceSpec { file: changed.path().into(), ..spec.clone() };
            let outcome = spec.open(&facts, LONG).and_then(|mut source| {
                while source.next(&mut Known::default())?.is_some() {}
                Ok(())
            });
            let problem = outcome.expect_err(after);
            assert_eq!(problem.kind, Kind::Io, "{after:?}: {problem}");
        }
    }
}

#[test]
fn speeds_are_exact_decimals_above_zero() {
    assert_eq!(Speed::parse("1.25"), Ok(Speed { over: 125, under: 100 }));
    for text in ["0", "0.0", "-1", "", ".", "1e3", "NaN", "1.2.3", "99999999999999999999"] {
        assert!(Speed::parse(text).is_err(), "{text}");
    }
    assert_eq!(Speed::parse("0.5").expect("valid").scale(Nanos(3)), Some(Nanos(6)));
    assert_eq!(Speed::parse("0.001").expect("valid").scale(MAX_LENGTH), None);
}

#[test]
fn a_recorded_hour_of_an_llm_service_is_read_exactly() {
    let path =
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/traces/azure_llm_2023_code.csv"));
    if !path.exists() {
        assert!(option_env!("CI").is_none() && std::env::var_os("CI").is_none(), "the trace must be there");
        println!("skipped: {} is absent", path.display());
        return;
    }
    let spec = TraceSpec {
        file: path,
        time: "TIMESTAMP".into(),
        input_tokens: Some("ContextTokens".into()),
        output_tokens: Some("GeneratedTokens".into()),
        ..spec(&file(""))
    };
    let facts = spec.inspect().expect("valid");
    assert_eq!((facts.rows, facts.kept, facts.first), (8819, 8819, SimTime(0)));
    // As `sha256sum` prints it.
    assert_eq!(facts.sha256, "54e9a6d2a4bd06ba1e060304b900abbc74cbea53de96506e60fe5bb4f2277fb6");
    // 18:17:03.9799600 to 19:14:19.9280160, as the file's first and last rows say.
    assert_eq!(facts.last, SimTime(3_435_948_056_000));
    let mut source = spec.open(&facts, LONG).expect("unchanged");
    let mut known = Known::default();
    let (mut calls, mut last) = (0, None);
    while let Some(at) = source.next(&mut known).expect("unchanged") {
        calls += 1;
        last = Some((at, known.input_tokens.unwrap_or(0), known.output_tokens.unwrap_or(0)));
    }
    assert_eq!((calls, last), (8819, Some((facts.last, 549, 173))));
}
