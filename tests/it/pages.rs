//! `docs/limiters.md` is what the registry says of each limiter, with the worst case that a probe of it finds.
//!
//! `UPDATE=1 cargo test --test it pages` writes it anew.

use crate::reference::{dialects, is_as_committed, parameters, questions, shared, wrapped};
use crate::support::is_admission;
use std::path::Path;
use tidegate::engine::Take;
use tidegate::limiter::Charge;
use tidegate::request::{Ask, Unit};
use tidegate::scenario::source::Document;
use tidegate::scenario::stage::{KINDS, Kind, Limit, Stage, StageSpec};
use tidegate::section::{Content, Log, Param, Section, describe};
use tidegate::study::probe::{Chain, Event};
use tidegate::time::{Nanos, SimTime};

const PLACE: &str = "docs/limiters.md";

/// Asks in a window: one each millisecond of a second.
const ASKS: u64 = 1_000;
/// Instants in a window at which they may begin.
const PHASES: u64 = 20;
/// Windows that they last.
const LENGTH: u64 = 4;
/// Windows of silence before all.
const SILENCE: u64 = 10;
/// Windows of a prelude that keeps asking, and its asks in each.
const PRELUDE: (u64, u64) = (8, 100);
const MINUTE: Nanos = Nanos::secs(60);
/// Bars to a window.
const TENTHS: u64 = 10;
/// Lines that the highest bar takes.
const HEIGHT: u64 = 4;

#[test]
fn the_page_about_limiters_is_what_the_registry_and_a_probe_say() {
    is_as_committed(PLACE, "pages", &page());
}

#[test]
fn each_dialect_and_preset_of_a_kind_has_its_line() {
    for kind in KINDS {
        let params = describe(kind.read);
        let choice = params.iter().find(|param| ["dialect", "preset"].contains(&&*param.key));
        let words: Vec<&str> =
            choice.map_or(Vec::new(), |choice| choice.shape.split('`').skip(1).step_by(2).collect());
        let told: Vec<&str> = kind.page.dialects.iter().map(|(word, _)| *word).collect();
        assert_eq!(told, words, "{}", kind.name);
    }
}

#[test]
fn the_adversary_finds_what_is_known_of_windows_buckets_and_counters() {
    // Twice the limit across a boundary; where the first hit opens the window, that one is spent.
    assert_eq!(worst("{ kind = 'fixed_window', limit = 7, window = '1s' }").most, 14);
    assert_eq!(worst("{ kind = 'fixed_window', limit = 7, window = '1s', opens = 'first_hit' }").most, 13);
    assert_eq!(worst("{ kind = 'sliding_log', limit = 7, window = '3s' }").most, 7);
    // The k-th of a new window passes once more than (k − 1) / limit of it is over: all of them before its end.
    assert_eq!(worst("{ kind = 'sliding_counter', limit = 8, window = '2s' }").most, 16);
    // Whole fills: a full bucket just before one of them.
    let interval = "{ kind = 'token_bucket', rate = '5/1s', burst = 30, refill = 'interval' }";
    assert_eq!(worst(interval).most, 35);
    // The burst, and what comes while less than a second goes by.
    assert_eq!(worst("{ kind = 'token_bucket', rate = '5/s', burst = 30 }").most, 34);
    assert_eq!(worst("{ kind = 'gcra', rate = '5/s', burst = 30 }").most, 34);
}

/// The kinds that are limiters, with their keys.
fn limiters() -> Vec<(&'static Kind, Vec<Param>)> {
    let kinds = KINDS.iter().filter(|kind| !is_admission(kind));
    kinds.map(|kind| (kind, describe(|section| _ = (kind.read)(section)))).collect()
}

fn page() -> String {
    let limiters = limiters();
    let shared = shared(&limiters);
    let questions = questions(limiters.iter().map(|(kind, _)| (kind.name, kind.page.question)));
    let top: Vec<Param> = shared.iter().filter(|param| !is_nested(param)).cloned().collect();
    let mut text = format!("{HEAD}\n{questions}\n{SHARED}\n{}", parameters(&top));
    for (kind, params) in &limiters {
        text += &section(kind, params, &shared);
    }
    text
}

const HEAD: &str = "\
<!-- Written by `UPDATE=1 cargo test --test it pages` from the registry of kinds. Change that, not this. -->

# Limiters

Each section is about one `kind`: how it decides, its keys, its dialects, its source, and its worst case. n is what an
ask costs, Δ the time since the last one, W the length of a window.

The worst case is not reckoned but found by a probe, with asks for one unit each. An adversary is silent for ten
windows, then asks a thousand times a window, beginning at any twentieth of a window; in between it has asked not at
all, once at the start of a window, or for eight windows, a hundred times in each. Shown is the schedule that gets most
through within any [t, t + W), where what is delayed counts when it starts. W is the limit's own window where it has
one, a minute for a quota, and else a second. In a drawing each bar is a tenth of a window, the first ten are the worst
window, and the number beside the axis is the highest bar's.

In a list that is replayed time may step back. The exact kinds refuse such a list. Bucket4j, Envoy, tower, upstash,
`limits` and RussellLuo let time stand still until it has caught up; Go gains nothing, and gains again what is lived twice;
nginx lets nothing drain, and takes more than a minute for a clock set anew; a Redis counter begins anew; juju and
Resilience4j take the ticks between away again; Sentinel, Uber and Guava keep the turn that they have reserved.

[`concurrency`](admission.md#concurrency) limits work in flight and no rate: it is among the stages that ask for room.
[Scenario files](scenario.md) say how a limiter is put to use, and `tidegate probe` answers to any other list of asks.
";

const SHARED: &str = "\
## Keys of every limiter

What a section says otherwise holds there. The tables of `retry_after` and `deployment` are in
[Scenario files](scenario.md).
";

/// Whether it is a key of a table within the limiter's.
fn is_nested(param: &Param) -> bool {
    param.key.contains('.')
}

fn section(kind: &Kind, params: &[Param], shared: &[Param]) -> String {
    let about = &kind.page;
    let mut text = format!("\n## `{}`\n\n", kind.name);
    text += &wrapped(&format!("**{}** `kind = \"{}\"` {}.", about.question, kind.name, kind.about));
    text += &format!("\n{}", wrapped(&format!("**Formula.** {}", about.formula)));
    let own: Vec<Param> = params.iter().filter(|param| !shared.contains(param)).cloned().collect();
    text += &format!("\n{}", parameters(&own));
    let lacks = |param: &&Param| !is_nested(param) && params.iter().all(|own| own.key != param.key);
    for param in shared.iter().filter(lacks) {
        text += &format!("\nIt has no key `{}`.\n", param.key);
    }
    text += &dialects(about, params);
    text += &format!("\n{}", wrapped(&format!("**Source.** {}.", about.source)));
    text += "\n**Worst case.**\n";
    let mut drawn: Vec<Vec<u64>> = Vec::new();
    for example in about.examples {
        let Worst { most, window, bars } = worst(example);
        let window = match window {
            Nanos::SECOND => "a second".into(),
            MINUTE => "a minute".into(),
            other => other.to_string(),
        };
        text += &format!("\n- `{example}`: at most **{most}** in {window}");
        if drawn.contains(&bars) {
            text += ", as drawn above\n";
        } else {
            text += &format!("\n\n{}", drawing(&bars));
            drawn.push(bars);
        }
    }
    text
}

/// What the best schedule of the adversary got.
struct Worst {
    /// The most that started within any half-open window.
    most: usize,
    window: Nanos,
    /// Starts in each tenth of that window and of the one after it.
    bars: Vec<u64>,
}

fn worst(example: &str) -> Worst {
    let (limit, window) = read(example);
    let mut worst = Worst { most: 0, window, bars: Vec::new() };
    for prelude in preludes(window.0) {
        for phase in 0..2 * PHASES {
            let begin = window.0 * (SILENCE + PRELUDE.0) + window.0 / PHASES * phase;
            let asks = (0..LENGTH * ASKS).map(|ask| begin + window.0 / ASKS * ask);
            let starts = starts(&limit, prelude.iter().copied().chain(asks));
            let (most, first) = fullest(&starts, window.0);
            if worst.most < most {
                let tenth = window.0 / TENTHS;
                let bars = (0..2 * TENTHS).map(|bar| {
                    let range = first + bar * tenth..first + (bar + 1) * tenth;
                    starts.iter().filter(|start| range.contains(start)).count() as u64
                });
                worst = Worst { most, window, bars: bars.collect() };
            }
        }
    }
    worst
}

/// Asks before those that press: none, one that opens what a first ask opens, and many that warm up what was cold.
fn preludes(window: u64) -> [Vec<u64>; 3] {
    let (windows, asks) = PRELUDE;
    let opener = window * (SILENCE + windows);
    [vec![], vec![opener], (0..windows * asks).map(|ask| window * SILENCE + window / asks * ask).collect()]
}

/// When what was admitted of these asks starts, in order.
fn starts(limit: &Limit, asks: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut chain = Chain::new(vec![limit.build()], Take::AllOrNone);
    let start = |at: u64| {
        let decision = chain.decide(&Event { at: SimTime(at), ask: Ask::costing(1) });
        decision.delay.map(|delay| at + delay.0)
    };
    let mut starts: Vec<u64> = asks.filter_map(start).collect();
    starts.sort();
    starts
}

/// The most starts within `window`, and the first of them; the first such window.
fn fullest(starts: &[u64], window: u64) -> (usize, u64) {
    let mut fullest = (0, 0);
    for (at, first) in starts.iter().enumerate() {
        let count = starts[at..].partition_point(|start| start - first < window);
        if fullest.0 < count {
            fullest = (count, *first);
        }
    }
    fullest
}

/// The limiter of a text as `probe` takes it, and the window that it is looked at in.
fn read(example: &str) -> (Limit, Nanos) {
    let document = Document::from_text("example", &format!("limiter = {example}"), Path::new(""))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let log = Log::new(document.text());
    let mut root = Section::root(document.root(), &log);
    let Content::Table(table) = &document.root().content else { panic!("{example} is a table") };
    let Content::Table(keys) = &table["limiter"].node.content else { panic!("{example} is a table") };
    let by_minute = keys.contains_key("rpm");
    let window = root.section("limiter", "").and_then(|mut s| s.get::<Nanos>("window", ""));
    let stage = Stage::read("limiter".into(), root.section("limiter", "").expect("it is there"));
    assert!(log.is_empty(), "{:?} in {example}", log.into_problems());
    let StageSpec::Limiter(mut limit) = stage.spec else { panic!("{example} is no limiter") };
    limit.options.charge = Charge::of(Unit::Given);
    (limit, window.unwrap_or(if by_minute { MINUTE } else { Nanos::SECOND }))
}

/// Bars side by side over an axis in windows.
fn drawing(bars: &[u64]) -> String {
    const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let highest = bars.iter().copied().max().unwrap_or(0).max(1);
    let mut text = "  ```text\n".to_string();
    for line in (0..HEIGHT).rev() {
        let label = if line + 1 == HEIGHT { highest.to_string() } else { String::new() };
        let cells = bars.iter().map(|bar| {
            let eighths = (bar * HEIGHT * 8).div_ceil(highest);
            EIGHTHS[eighths.saturating_sub(line * 8).min(8) as usize].to_string().repeat(2)
        });
        text += format!("  {label:>4} │{}", cells.collect::<String>()).trim_end();
        text += "\n";
    }
    text += &format!("       └{}\n", "─".repeat(2 * bars.len()));
    let half = bars.len();
    text + &format!("        0{:>half$}{:>half$} windows\n  ```\n", 1, 2)
}
