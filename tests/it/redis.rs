//! Limits that live in a Redis server, as scripts of our own, decision by decision beside ours.
//!
//! Time is an argument of the scripts, in nanoseconds, so that a trace is replayed as fast as the server answers. Their
//! numbers are doubles, which hold whole nanoseconds of a hundred days.

use crate::server::{Redis, Server};
use crate::support::{cost, limiter, trace};
use std::sync::Barrier;
use std::thread;
use tidegate::limiter::Verdict;
use tidegate::rng::{Dice, Purpose};
use tidegate::time::SimTime;

/// The theoretical arrival time is the value. Arguments: now, emission interval, burst, cells.
const GCRA: &str = "
    local now, interval, burst, cells = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
    local arrival = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now) + interval * cells
    local early = arrival - interval * burst - now
    if early > 0 then return {0, string.format('%.0f', early)} end
    redis.call('SET', KEYS[1], string.format('%.0f', arrival))
    return {1, '0'}";

/// What is left of the window, and when it ends, which stands in for the expiry. Arguments: now, window, limit.
const COUNTDOWN: &str = "
    local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
    local ends = tonumber(redis.call('HGET', KEYS[1], 'ends') or '0')
    if ends <= now then
        ends = now + window
        redis.call('HSET', KEYS[1], 'left', limit, 'ends', string.format('%.0f', ends))
    end
    if tonumber(redis.call('HGET', KEYS[1], 'left')) <= 0 then return {0, string.format('%.0f', ends - now)} end
    redis.call('HINCRBY', KEYS[1], 'left', -1)
    return {1, '0'}";

/// A sorted set of instants. Arguments: now, window, limit, a name for the entry.
const LOG: &str = "
    local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
    redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - window))
    if redis.call('ZCARD', KEYS[1]) >= limit then
        local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
        return {0, string.format('%.0f', tonumber(oldest[2]) + window - now)}
    end
    redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[4])
    return {1, '0'}";

fn start() -> Option<Server> {
    Server::start("redis-server", |port, folder| {
        let folder = folder.display();
        let port = port.to_string();
        let words = format!("--bind 127.0.0.1 --port {port} --save  --appendonly no --dir {folder}");
        words.split(' ').map(str::to_string).collect()
    })
}

/// When calls come and how many cells they ask for: the recorded trace, or where it is not there, bursts that end at
/// round instants, so that the edges of windows are met.
fn calls() -> Vec<(u64, u64)> {
    let bursts = (0..4_000u64).map(|n| {
        let bits = Dice(n).bits(Purpose::Policy, 1);
        (n / 8 * 250_000_000 + [0, 1, 999, 249_999_999][(bits % 4) as usize], 1 + bits % 7)
    });
    let mut calls: Vec<(u64, u64)> = bursts.collect();
    calls.sort();
    let Some(path) = trace("azure_llm_2023_code.csv") else { return calls };
    let last = calls.last().expect("bursts").0 + 60_000_000_000;
    let text = std::fs::read_to_string(path).expect("the trace is readable");
    let rows = text.lines().skip(1).map(|row| {
        // Of one day, with seven decimals: 2023-11-16 18:17:03.9799600.
        let number = |from: usize, until: usize| row[from..until].parse::<u64>().expect("digits");
        let seconds = number(11, 13) * 3_600 + number(14, 16) * 60 + number(17, 19);
        (seconds * 1_000_000_000 + number(20, 27) * 100, 1 + number(26, 27) % 7)
    });
    let rows: Vec<(u64, u64)> = rows.collect();
    let first = rows[0].0;
    calls.extend(rows.into_iter().map(|(at, cells)| (last + at - first, cells)));
    calls
}

/// Replays the calls through a script and through a limiter, and compares what they say of each.
fn compare(script: &str, arguments: &[u64], by_cells: bool, keys: &str) {
    let Some(server) = start() else { return };
    let mut redis = server.redis();
    let sha = redis.ask(&["SCRIPT", "LOAD", script]).remove(0);
    let mut limit = limiter(&format!("{keys}\nunit = 'tokens'"));
    let (mut admitted, mut refused) = (0, 0);
    for (number, (at, cells)) in calls().into_iter().enumerate() {
        let cells = if by_cells { cells } else { 1 };
        let mut words = vec!["EVALSHA".to_string(), sha.clone(), "1".into(), "key".into(), at.to_string()];
        words.extend(arguments.iter().map(u64::to_string));
        words.push(if by_cells { cells.to_string() } else { number.to_string() });
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let theirs = redis.ask(&words);
        let now = SimTime(at);
        let ours = match limit.check(now, &cost(cells)) {
            Verdict::Pass => {
                limit.take(now, &cost(cells));
                admitted += 1;
                ["1".to_string(), "0".into()]
            }
            Verdict::At(then) => {
                limit.refuse(now, &cost(cells));
                refused += 1;
                ["0".to_string(), (then.0 - at).to_string()]
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(ours, theirs[..], "call {number} at {at} ns");
    }
    assert!(500 < admitted && 500 < refused, "{admitted} admitted, {refused} refused");
}

#[test]
fn gcra_in_a_script_decides_as_ours() {
    // A cell each 35,714,285 ns, 40 at once.
    compare(GCRA, &[35_714_285, 40], true, "kind = 'gcra'\nrate = '1/35714285ns'\nburst = 40");
}

#[test]
fn the_countdown_in_a_script_decides_as_ours() {
    let keys = "kind = 'fixed_window'\ndialect = 'redis_countdown'\nlimit = 6\nwindow = '1s'";
    compare(COUNTDOWN, &[1_000_000_000, 6], false, keys);
}

#[test]
fn the_sliding_log_in_a_script_decides_as_ours() {
    compare(LOG, &[1_000_000_000, 6], false, "kind = 'sliding_log'\nlimit = 6\nwindow = '1s'");
}

/// How many of `clients` connections that ask at once are let through a countdown of `limit` by what each does.
fn admitted(
    server: &Server,
    clients: usize,
    key: &str,
    ask: impl Fn(&mut Redis, &str, &Barrier) -> bool + Sync,
) -> usize {
    let barrier = Barrier::new(clients);
    let client = || ask(&mut server.redis(), key, &barrier);
    thread::scope(|scope| {
        let asks: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
        asks.into_iter().map(|ask| ask.join().expect("an answer")).filter(|passed| *passed).count()
    })
}

#[test]
fn a_script_split_into_a_read_and_a_write_lets_too_many_through() {
    let Some(server) = start() else { return };
    let (limit, clients) = (3u32, 16);
    server.redis().ask(&["SET", "split", &limit.to_string()]);
    // All have read before the first writes: each finds the counter as it was.
    let split = |redis: &mut Redis, key: &str, barrier: &Barrier| {
        let left: i64 = redis.ask(&["GET", key])[0].parse().expect("a number");
        barrier.wait();
        if 0 < left {
            redis.ask(&["SET", key, &(left - 1).to_string()]);
        }
        0 < left
    };
    assert_eq!(admitted(&server, clients, "split", split), clients);
    let whole = |redis: &mut Redis, key: &str, barrier: &Barrier| {
        barrier.wait();
        redis.ask(&["EVAL", COUNTDOWN, "1", key, "0", "1000000000", "3"])[0] == "1"
    };
    assert_eq!(admitted(&server, clients, "whole", whole), limit as usize);
}
