//! `kind = "provider_quota"`, and `quota = { … }` of a downstream.

use super::options::charging;
use super::{Kind, Page, StageSpec};
use crate::limiter::Mode;
use crate::limiter::quota::{Amounts, Quota};
use crate::request::Unit;
use crate::section::{Amount, Section};
use crate::time::Nanos;
use std::sync::Arc;

pub(super) const KIND: Kind = Kind {
    name: "provider_quota",
    about: "limits requests, tokens and work in flight as a provider of models does",
    page: PAGE,
    read,
};

const PAGE: Page = Page {
    question: "What will a provider of models let through, by its documented numbers?",
    formula: "A call passes if every limit passes it. A limit of L per minute is a bucket of L that gains L / 60 \
        s, so up to 2 · L pass within a minute; with a slice s, requests are counted in windows of s, ⌊L · \
        s / 60 s⌋ in each, and tokens in windows of a minute.",
    source: "The rate-limit pages of Anthropic, Azure OpenAI, OpenAI, Groq, Cerebras; Azure API Management, \
        `llm-token-limit`",
    dialects: &[
        ("none", "the limits that are given, and no others"),
        ("anthropic", "requests, tokens sent and tokens answered; the estimate, settled in the end"),
        (
            "azure_openai",
            "requests in slices of 10 s and tokens by the minute; the declared maximum, for good",
        ),
        ("openai", "requests and tokens by the minute; the declared maximum, for good"),
        ("groq", "requests and tokens by the minute and by the day; the estimate, settled in the end"),
        ("cerebras", "requests and tokens by the minute, tokens by the day; the declared maximum, for good"),
        (
            "apim",
            "tokens by the minute; the actual use afterwards, so that calls that run together overshoot",
        ),
    ],
    examples: &[
        r#"{ kind = "provider_quota", rpm = 60 }"#,
        r#"{ kind = "provider_quota", rpm = 60, slice = "10s" }"#,
    ],
};

/// What a provider documents.
#[derive(Clone, Copy, PartialEq)]
struct Preset {
    rpm: Option<u64>,
    tpm: Option<u64>,
    input_tpm: Option<u64>,
    output_tpm: Option<u64>,
    rpd: Option<u64>,
    tpd: Option<u64>,
    /// In which requests are counted.
    slice: Option<Nanos>,
    /// What tokens are charged.
    mode: Mode,
}

const NONE: Preset = Preset {
    rpm: None,
    tpm: None,
    input_tpm: None,
    output_tpm: None,
    rpd: None,
    tpd: None,
    slice: None,
    mode: Mode::EstimateOnly,
};

/// Each provider's first paid step, or its free one where that is what is documented.
const PRESETS: [(&str, Preset); 6] = [
    // Tier 1, Claude Sonnet: platform.claude.com, rate limits.
    (
        "anthropic",
        Preset {
            rpm: Some(50),
            input_tpm: Some(30_000),
            output_tpm: Some(8_000),
            mode: Mode::ReserveThenSettle,
            ..NONE
        },
    ),
    // 240k tokens of a deployment and six requests for each thousand, looked at every 1 or 10 seconds:
    // learn.microsoft.com, Azure OpenAI quota.
    ("azure_openai", Preset { rpm: Some(1_440), tpm: Some(240_000), slice: Some(Nanos::secs(10)), ..NONE }),
    // Tier 1, gpt-4o: platform.openai.com, rate limits.
    ("openai", Preset { rpm: Some(500), tpm: Some(30_000), ..NONE }),
    // Free plan, llama-3.1-8b-instant: console.groq.com, rate limits.
    (
        "groq",
        Preset {
            rpm: Some(30),
            tpm: Some(6_000),
            rpd: Some(14_400),
            tpd: Some(500_000),
            mode: Mode::ReserveThenSettle,
            ..NONE
        },
    ),
    // Free trial, gpt-oss-120b: inference-docs.cerebras.ai, rate limits.
    ("cerebras", Preset { rpm: Some(5), tpm: Some(30_000), tpd: Some(1_000_000), ..NONE }),
    // The example of the policy `llm-token-limit`: learn.microsoft.com, API Management.
    ("apim", Preset { tpm: Some(5_000), mode: Mode::ActualAfter, ..NONE }),
];

fn read(s: &mut Section) -> StageSpec {
    let names: Vec<(&'static str, Option<Preset>)> = [("none", None)]
        .into_iter()
        .chain(PRESETS.iter().map(|(name, preset)| (*name, Some(*preset))))
        .collect();
    let preset =
        s.choice_or_first("preset", &names, "whose documented numbers hold where no others are given");
    let numbers = preset.flatten().unwrap_or(NONE);
    let Preset { rpm, tpm, input_tpm, output_tpm, rpd, tpd, slice, mode } = numbers;
    let amounts = Amounts {
        rpm: amount(s, "rpm", rpm, "requests per minute"),
        tpm: amount(s, "tpm", tpm, "tokens per minute, sent and answered"),
        input_tpm: amount(s, "input_tpm", input_tpm, "tokens sent per minute"),
        output_tpm: amount(s, "output_tpm", output_tpm, "tokens of answers per minute"),
        rpd: amount(s, "rpd", rpd, "requests per day"),
        tpd: amount(s, "tpd", tpd, "tokens per day"),
        concurrency: amount(s, "concurrency", None, "requests in flight"),
        slice: read_slice(s, slice),
    };
    let is_empty = (Amounts { slice: None, ..amounts.clone() }) == Amounts::default();
    // A preset that is wrong itself would have limited something.
    if is_empty && preset.is_some() && !s.is_description() {
        s.problem("", format!("`{}` limits nothing", s.path()), "add a `preset`, or a limit such as `tpm`");
    }
    if let (Some(slice), Some(rpm)) = (amounts.slice, amounts.rpm)
        && Amounts::in_slice(rpm, slice) == 0
    {
        let what =
            format!("`{}` of {rpm} leaves no request for {slice}: nothing ever passes", s.path_of("rpm"));
        s.problem("rpm", what, "raise it, or lengthen `slice`");
        return charging(
            s,
            Arc::new(Quota::new(&Amounts { slice: None, ..amounts })),
            Unit::Tokens,
            mode,
            true,
        );
    }
    let mode = s.one_of(
        "charge",
        &Mode::NAMES,
        Some(mode),
        "what tokens cost: the estimate on arrival, the same settled in the end, or the actual use afterwards",
    );
    charging(s, Arc::new(Quota::new(&amounts)), Unit::Tokens, mode, true)
}

/// The length of a slice, of which a minute has a whole number and each lets something pass.
fn read_slice(s: &mut Section, preset: Option<Nanos>) -> Option<Nanos> {
    let slice = s.get::<Nanos>(
        "slice",
        "in which requests are counted, and tokens by the minute; refills unless said",
    );
    let slice = slice.or(preset)?;
    if slice == Nanos::ZERO || !Nanos::secs(60).0.is_multiple_of(slice.0) {
        let what = format!("`{}` of {slice} does not divide a minute", s.path_of("slice"));
        s.problem("slice", what, "write `1s` or `10s`");
        return None;
    }
    Some(slice)
}

/// The most that a rate can bring.
const MOST: u64 = 1 << 62;

fn amount(s: &mut Section, key: &str, preset: Option<u64>, doc: &'static str) -> Option<u64> {
    let Amount(amount) = s.get(key, doc).or(preset.map(Amount))?;
    if amount == 0 {
        s.problem(key, format!("`{}` is 0: nothing ever passes", s.path_of(key)), "write 1 or more");
    }
    if MOST < amount {
        s.problem(
            key,
            format!("`{}` is more than {MOST}", s.path_of(key)),
            "lower it, or take it out for no limit",
        );
    }
    Some(amount.clamp(1, MOST))
}
