//! `probe`: layers, names, options of limiters, and the lists that it refuses.

use assert_cmd::Command;
use std::process::Output;

fn probe(limiter: &str, events: &str, more: &[&str]) -> Output {
    let mut command = Command::cargo_bin("tidegate").expect("it is built");
    command.args(["probe", limiter, "-", "--format", "csv"]).args(more);
    command.write_stdin(events).output().expect("it starts")
}

/// Some columns of the table, if the probe ends well.
fn columns(names: &[&str], limiter: &str, events: &str, more: &[&str]) -> Vec<String> {
    let output = probe(limiter, events, more);
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{limiter}\n{events}: {told}");
    let mut reader = csv::Reader::from_reader(said.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let at = |name: &&str| header.iter().position(|column| column == *name).expect("a column");
    let places: Vec<usize> = names.iter().map(at).collect();
    let row = |record: csv::Result<csv::StringRecord>| {
        let record = record.expect("a row");
        places.iter().map(|place| record[*place].to_string()).collect::<Vec<_>>().join(" ")
    };
    reader.records().map(row).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("it speaks UTF-8")
}

#[test]
fn three_layers_leak_when_they_are_charged_one_by_one() {
    let layers = r#"[{ name = "global", kind = "token_bucket", rate = "60k/min", burst = 12000 },
        { name = "feature", kind = "token_bucket", key = "feature", rate = "20k/min", burst = 8000 },
        { name = "user", kind = "token_bucket", key = "user", rate = "5k/min", burst = 4000 }]"#;
    let asks = format!("t_s,cost,user,feature\n{}0,4000,u-77,chat\n", "0,4000,u-42,chat\n".repeat(4));
    let decided =
        |take| columns(&["decision", "limited_by", "retry_after_s"], layers, &asks, &["--take", take]);
    assert_eq!(
        decided("sequential"),
        [
            "admit  ",
            "refuse user 48.000000000",
            "refuse feature 12.000000000",
            "refuse global 4.000000000",
            "refuse global 4.000000000"
        ]
    );
    let refused = "refuse user 48.000000000";
    assert_eq!(decided("all_or_none"), ["admit  ", refused, refused, refused, "admit  "]);
}

#[test]
fn the_key_stands_for_any_name_without_a_column() {
    for key in ["user", "feature", "tenant", "class"] {
        let limiter = format!("{{ kind = 'gcra', rate = '1/s', burst = 1, key = '{key}' }}");
        assert_eq!(
            columns(&["decision"], &limiter, "t_s,key\n0,a\n0,a\n0,b\n", &[]),
            ["admit", "refuse", "admit"],
            "{key}"
        );
    }
}

#[test]
fn keys_together_have_a_limit_for_each_pair_and_some_have_numbers_of_their_own() {
    let limiter = r#"{ kind = "token_bucket", rate = "1/s", burst = 1, key = ["tenant", "feature"],
        overrides = { "acme/chat" = { rate = "1/10s", burst = 3 }, "acme/search" = { burst = 2 } } }"#;
    let asks = "t_s,tenant,feature,cost\n0,acme,chat,3\n0,acme,search,2\n0,acme,search,1\n0,acme,mail,1\n\
                0,acme,mail,1\n0,zeta,chat,1\n0,acme,chat,1\n";
    assert_eq!(
        columns(&["decision", "remaining", "retry_after_s"], limiter, asks, &[]),
        [
            "admit 0.000000000 ",
            "admit 0.000000000 ",
            "refuse 0.000000000 1.000000000",
            "admit 0.000000000 ",
            "refuse 0.000000000 1.000000000",
            "admit 0.000000000 ",
            "refuse 0.000000000 10.000000000"
        ]
    );
}

#[test]
fn a_shadow_refuses_nothing_and_decides_as_if_it_did() {
    let shadow = "{ kind = 'token_bucket', rate = '1/s', burst = 2, shadow = true }";
    // It would refuse the third at 0 s, which takes nothing, so there is one left at 1 s.
    let asks = "t_s,cost\n0,1\n0,1\n0,1\n1,1\n";
    let admitted = columns(&["decision", "remaining"], shadow, asks, &[]);
    assert_eq!(
        admitted,
        ["admit 1.000000000", "admit 0.000000000", "admit 0.000000000", "admit 0.000000000"]
    );
}

#[test]
fn exempt_classes_pass_uncharged() {
    let limiter = "{ kind = 'gcra', rate = '1/s', burst = 2, exempt = ['vip', 'absent'] }";
    let asks = "t_s,class\n0,vip\n0,plain\n0,vip\n0,plain\n0,vip\n0,plain\n";
    let decided = columns(&["decision", "remaining"], limiter, asks, &[]);
    assert_eq!(
        decided,
        [
            "admit 2.000000000",
            "admit 1.000000000",
            "admit 1.000000000",
            "admit 0.000000000",
            "admit 0.000000000",
            "refuse 0.000000000"
        ]
    );
}

#[test]
fn what_a_refusal_advises_is_as_the_header_would_say() {
    // Burst 4, one in 1.9 s: after four at once the next passes at 1.9 s, and all stands as before at 7.6 s.
    let advice = |retry_after: &str| {
        let limiter =
            format!("{{ kind = 'token_bucket', rate = '10/19s', burst = 4, retry_after = {retry_after} }}");
        columns(&["retry_after_s"], &limiter, "t_ms,cost\n0,4\n0,1\n1899,1\n", &[])[1..].to_vec()
    };
    assert_eq!(advice("'exact'"), ["1.900000000", "0.001000000"]);
    assert_eq!(advice("'seconds'"), ["2.000000000", "1.000000000"]);
    assert_eq!(advice("'reset'"), ["7.600000000", "5.701000000"]);
    assert_eq!(advice("{ constant = '5s' }"), ["5.000000000", "5.000000000"]);
    assert_eq!(advice("'doubling'"), ["1.000000000", "1.000000000"]);
    for (advised, exact) in advice("{ jitter = '2s' }").iter().zip([1.9, 0.001]) {
        let advised: f64 = advised.parse().expect("a number");
        assert!((exact..=exact + 2.0).contains(&advised), "{advised} for {exact}");
    }
}

#[test]
fn the_wait_that_is_told_counts_the_refusal_that_was_just_logged() {
    // By hand: who asks again when told has nothing but that refusal, a window old, behind it.
    let log = |limit: u32, window: &str, edge: &str| {
        format!(
            "{{ kind = 'sliding_log', limit = {limit}, window = '{window}', edge = '{edge}', count_rejected = true }}"
        )
    };
    for (limiter, asks, last) in [
        (log(3, "10s", "open"), "t_ms,cost\n0,1\n1000,3\n", "refuse 10.000000000"),
        (log(1, "1s", "open"), "t_ms\n0\n400\n", "refuse 1.000000000"),
        (log(1, "1s", "closed"), "t_ms\n0\n400\n", "refuse 1.000000001"),
        (log(1, "1s", "open"), "t_ms\n0\n400\n1400\n", "admit "),
        (log(1, "1s", "closed"), "t_ns\n0\n400000000\n1400000001\n", "admit "),
        (log(4, "10s", "open"), "t_s,cost\n0,3\n4,2\n", "refuse 6.000000000"),
        (log(3, "10s", "open"), "t_s,cost\n0,1\n1,4\n", "refuse never"),
    ] {
        let decided = columns(&["decision", "retry_after_s"], &limiter, asks, &[]);
        assert_eq!(decided.last().map(String::as_str), Some(last), "{limiter} {asks}");
    }
}

#[test]
fn a_log_of_the_largest_limit_is_full_when_it_is_full() {
    let most = 1u64 << 63;
    let limiter =
        format!("{{ kind = 'sliding_log', limit = '{most}', window = '10s', count_rejected = true }}");
    let asks = format!("t_s,cost\n0,{most}\n1,{most}\n2,1\n11,{most}\n");
    assert_eq!(
        columns(&["decision", "remaining"], &limiter, &asks, &[]),
        ["admit 0.000000000", "refuse 0.000000000", "refuse 0.000000000", "refuse 0.000000000"]
    );
}

#[test]
fn what_is_charged_after_use_is_so_in_a_list_too() {
    let bucket = "{ kind = 'token_bucket', rate = '1/s', burst = 2, charge = 'actual_after' }";
    assert_eq!(
        columns(&["decision", "remaining", "retry_after_s"], bucket, "t_s,cost\n0,9\n1,1\n8,1\n", &[]),
        ["admit -7.000000000 ", "refuse -6.000000000 7.000000000", "admit 0.000000000 "]
    );
    let apim = "{ kind = 'provider_quota', preset = 'apim', tpm = 60 }";
    assert_eq!(
        columns(&["decision", "remaining"], apim, "t_s,cost\n0,90\n1,1\n", &[]),
        ["admit -30.000000000", "refuse -29.000000000"]
    );
}

#[test]
fn what_a_list_of_asks_cannot_show_is_said() {
    let output = probe("{ kind = 'gcra', rate = '1/s', burst = 1, wait = true }", "t_s\n0\n0\n", &[]);
    assert_eq!(output.status.code(), Some(0));
    let told = text(&output.stderr);
    assert!(told.contains("`gcra`: a list of asks has no queue, so what would wait is refused"), "{told}");
    let output = probe("{ kind = 'warm_up', rate = '2M/s' }", "t_s\n0\n", &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text(&output.stderr).contains("warning: `limiter.rate` is more than 100k/s"),
        "{:?}",
        output.stderr
    );
    let output = probe("{ kind = 'provider_quota', rpm = 9, concurrency = 2 }", "t_s\n0\n", &[]);
    assert_eq!(output.status.code(), Some(3));
    let told = text(&output.stderr);
    assert!(told.contains("limits work in flight, and a list of asks has no ends"), "{told}");
}

#[test]
fn what_is_left_of_a_window_is_as_its_product_rounds_it() {
    // 3 in the first second; half a second into the next 1.5 of them count, of which two products see 1.
    let left = |dialect: &str, more: &str| {
        let limiter =
            format!("{{ kind = 'sliding_counter', limit = 3, window = '1s', dialect = '{dialect}' }}");
        columns(&["decision", "remaining"], &limiter, &format!("t_ms,cost\n0,3\n1500,{more}\n"), &[])
            .remove(1)
    };
    assert_eq!(left("cloudflare", "1"), "admit 0.500000000");
    assert_eq!(left("limits", "1"), "admit 0.500000000");
    assert_eq!(left("russellluo", "2"), "admit 0.000000000");
    assert_eq!(left("upstash", "2"), "admit 0.000000000");
    assert_eq!(left("upstash", "9"), "admit 0.000000000", "it overshoots, and says 0");
}

#[test]
fn a_refusal_of_a_quota_says_which_of_its_limits_bound() {
    let quota = "{ name = 'provider', kind = 'provider_quota', rpm = 2, tpm = 1000 }";
    let asks = "t_s,cost\n0,900\n0,200\n0,10\n0,10\n0,1001\n";
    assert_eq!(
        columns(&["decision", "limited_by", "retry_after_s"], quota, asks, &[]),
        [
            "admit  ",
            "refuse provider.tpm 6.000000000",
            "admit  ",
            "refuse provider.rpm 30.000000000",
            "refuse provider.tpm never"
        ]
    );
    for (keys, says) in [
        ("", "limits nothing"),
        ("rpm = 0", "is 0: nothing ever passes"),
        ("preset = 'antropic'", "did you mean `anthropic`?"),
        ("rpm = 3, slice = '7s'", "does not divide a minute"),
        ("rpm = 59, slice = '1s'", "leaves no request for 1s"),
        ("rpm = 3, unit = 'tokens'", "has no key `unit`"),
        ("rpm = 3, key = 'user', overrides = { a = { tpm = 3 } }", "another form"),
    ] {
        let comma = if keys.is_empty() { "" } else { ", " };
        let output = probe(&format!("{{ kind = 'provider_quota'{comma}{keys} }}"), "t_s\n0\n", &[]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{keys}: {told}");
        assert!(told.contains(says), "{keys}: {told}");
    }
}

#[test]
fn a_jitter_around_the_wait_is_never_below_nothing_and_not_always_the_same() {
    // Waits of 10 s at first, with a jitter of 20 s: half as long below nothing as above.
    let limiter =
        "{ kind = 'gcra', rate = '1/10s', burst = 1, retry_after = { jitter = '20s', around = true } }";
    let asks = format!("t_s\n0\n{}", "0\n".repeat(400));
    let advised: Vec<f64> = columns(&["retry_after_s"], limiter, &asks, &[])[1..]
        .iter()
        .map(|advice| advice.parse().expect("never negative, and a number"))
        .collect();
    assert!(advised.iter().all(|wait| (0.0..=30.0).contains(wait)));
    // A quarter of the interval from -10 to 30 is below nothing; four standard errors of 400 are 0.0866.
    let at_once = advised.iter().filter(|wait| **wait == 0.0).count() as f64 / 400.0;
    assert!((at_once - 0.25).abs() < 0.0866, "{at_once} at once");
}

#[test]
fn wrong_costs_and_times_are_told_by_their_type_and_decide_nothing() {
    let bucket = "{ kind = 'token_bucket', rate = '2/s', burst = 3 }";
    for (row, says) in [
        ("1,-1", "`-1` is no cost: it is below 0"),
        ("1,0", "`0` is no cost"),
        ("18446744074000,1", "`18446744074000` is no time"),
        ("1,9223372036854775809", "`9223372036854775809` is no cost"),
        ("1,NaN", "`NaN` is no cost: it is not a number"),
        (",1", "`` is no time"),
        ("1,true", "`true` is no cost: it is true or false"),
        ("1,1.0", "`1.0` is no cost: it is a fraction"),
        ("1,1e3", "`1e3` is no cost"),
        ("1,\"1\"", "`\"1\"` is no cost: it is text in quotes"),
        ("1,many", "`many` is no cost"),
    ] {
        let output = probe(bucket, &format!("t_ms,cost\n0,1\n{row}\n"), &[]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{row}: {told}");
        assert!(told.contains(says) && told.contains("-:3:1"), "{row}: {told}");
        assert!(told.contains("write"), "{row}: no remedy in {told}");
        assert!(output.stdout.is_empty(), "{row}: nothing is decided in a wrong list");
    }
    // Quotes around other cells are as good as none.
    assert_eq!(columns(&["decision"], bucket, "t_ms,key,cost\n\"0\",\"a,b\",3\n", &[]), ["admit"]);
}

#[test]
fn options_that_contradict_each_other_are_refused_with_their_place() {
    for (options, says) in [
        ("wait = true, shadow = true", "nothing waits"),
        ("wait = true, key = ['user', 'class']", "several keys together"),
        ("key = ['user', 'user']", "stands twice"),
        ("key = []", "nothing is in the brackets"),
        ("key = 'usr'", "`usr` is none of its words"),
        ("max_idle_keys = 3", "one limit for all"),
        ("overrides = { a = { burst = 2 } }", "one limit for all"),
        ("key = 'user', overrides = { a = { brust = 2 } }", "did you mean `burst`?"),
        ("key = 'user', overrides = { a = { burst = 0 } }", "is 0: nothing ever passes"),
        ("key = 'user', overrides = { a = { unit = 'tokens' } }", "holds for all keys alike"),
        ("key = 'user', overrides = { a = 3 }", "where a table is wanted"),
        ("key = ['user', 'class'], overrides = { a = { burst = 2 } }", "has 2 names"),
        ("retry_after = 'later'", "none of its words"),
        ("retry_after = { constant = '1s', basis = 'reset' }", "take one out"),
        ("retry_after = { around = true }", "a jitter of nothing"),
        ("retry_after = { constant = '-1s' }", "`-1s`"),
    ] {
        let limiter = format!("{{ kind = 'token_bucket', rate = '2/s', burst = 3, {options} }}");
        let output = probe(&limiter, "t_ms\n0\n", &[]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{options}: {told}");
        assert!(told.contains(says) && told.contains("LIMITER:1:"), "{options}: {told}");
    }
}

#[test]
fn of_layers_the_one_with_the_longest_wait_is_told_though_the_refusal_made_it_longer() {
    // The bucket is ready at 12 s. The log would be free at 10 s, but it has logged the refusal at 9 s: 19 s.
    let layers = r#"[{ kind = "sliding_log", limit = 1, window = "10s", count_rejected = true },
        { kind = "token_bucket", rate = "1/12s", burst = 1 }]"#;
    let asks = "t_s\n0\n9\n";
    let decided = columns(&["decision", "limited_by", "retry_after_s"], layers, asks, &[]);
    assert_eq!(decided, ["admit  ", "refuse sliding_log 10.000000000"]);
}
