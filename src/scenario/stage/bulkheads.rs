//! `kind = "bulkhead"`, `"partitioned"` and `"reserved"`: slots between classes.

use super::admission::naming;
use super::{Kind, Page, StageSpec};
use crate::admission::{bulkhead, partitioned, reserved};
use crate::section::{At, Limit, Section, Share};

pub(super) const BULKHEAD: Kind = Kind {
    name: "bulkhead",
    about: "slots that classes are guaranteed, and lend while they are idle",
    page: Page {
        question: "Who may use the slots that somebody else is guaranteed, and until when?",
        formula: "Below its guarantee a class starts while any slot is free. Beyond it, while all that is borrowed is less \
            than limit − Σ guaranteed + Σ min(lend, guaranteed − in use − waiting) over the classes, and what it has \
            borrowed itself is less than `borrow`. Nothing that runs is ended: once a class's work waits, what ends is \
            its own again, after the longest borrowed service time at the latest.",
        source: "M. Nygard, Release It!, 2007; S. Floyd, V. Jacobson, Link-sharing, 1995; Kubernetes KEP-1040",
        dialects: &[],
        examples: &[],
    },
    read: read_bulkhead,
};

pub(super) const PARTITIONED: Kind = Kind {
    name: "partitioned",
    about: "shares of a limit that hold only when all of it is in use",
    page: Page {
        question: "Who may start when everything is in use?",
        formula: "Passes if in flight < limit, or in flight of its class < max(1, ⌈limit · share⌉); a class without a share \
            has none. More than limit may be in flight.",
        source: "Netflix concurrency-limits, `AbstractPartitionedLimiter.java`",
        dialects: &[],
        examples: &[],
    },
    read: read_partitioned,
};

pub(super) const RESERVED: Kind = Kind {
    name: "reserved",
    about: "keeps a share of the slots for critical classes",
    page: Page {
        question: "Does critical work find a slot when the rest is busy with other work?",
        formula: "Critical classes pass if in flight < limit, others if in flight < limit − ⌈limit · reserved⌉.",
        source: "P. Tarjan, Scaling your API with rate limiters (Stripe), 2017",
        dialects: &[],
        examples: &[],
    },
    read: read_reserved,
};

/// All slots of a stage, 1 or more.
fn limit(s: &mut Section) -> u64 {
    let limit: u64 = s.need("limit", "how many may be in flight");
    if limit == 0 && !s.is_description() {
        s.problem("limit", format!("`{}` is 0: nothing ever passes", s.path_of("limit")), "write 1 or more");
    }
    limit
}

fn read_bulkhead(s: &mut Section) -> StageSpec {
    let limit = limit(s);
    let (mut shares, mut classes) = (Vec::new(), Vec::new());
    for (class, mut share) in s.named("share", "the part of a class; classes without one borrow") {
        classes.push(At { value: class.clone(), span: share.span() });
        let guaranteed = share.need("guaranteed", "slots that it has whenever it wants them");
        let Limit(lend) =
            share.get_or("lend", Limit(None), "how many of those others may use while they are idle");
        if lend.is_some_and(|lend| guaranteed < lend) && !share.is_description() {
            let what = format!("`{}` is more than it is guaranteed", share.path_of("lend"));
            share.problem("lend", what, "lend as many at most, or `unlimited` for all");
        }
        let Limit(borrow) =
            share.get_or("borrow", Limit(None), "how many it may have beyond what it is guaranteed");
        let reclaims = share.one_of(
            "reclaim",
            &[("waiting", true), ("running", false)],
            Some(true),
            "what its demand is: what runs and waits, or what runs",
        );
        share.finish();
        shares.push(bulkhead::Share { class, guaranteed, lend, borrow, reclaims });
    }
    let guaranteed = shares.iter().fold(0u64, |sum, share| sum.saturating_add(share.guaranteed));
    if limit < guaranteed && !s.is_description() {
        let what = format!("`{}` guarantees {guaranteed} slots of {limit}", s.path());
        s.problem("limit", what, "raise `limit`, or guarantee less");
    }
    naming(s, bulkhead::Settings { limit, shares }, classes)
}

fn read_partitioned(s: &mut Section) -> StageSpec {
    let limit = limit(s);
    let (mut shares, mut classes) = (Vec::new(), Vec::new());
    for (class, mut part) in s.named("share", "the part of a class; classes without one have none") {
        classes.push(At { value: class.clone(), span: part.span() });
        let Share(percent) = part.need("percent", "its share of the limit");
        part.finish();
        shares.push((class, percent));
    }
    let sum: f64 = shares.iter().map(|(_, share)| share).sum();
    if 1.0 + 1e-9 < sum && !s.is_description() {
        let what = format!("the shares of `{}` are more than the whole", s.path());
        s.problem("share", what, "write shares of 100 % together at most");
    }
    naming(s, partitioned::Settings { limit, shares }, classes)
}

fn read_reserved(s: &mut Section) -> StageSpec {
    let limit = limit(s);
    let Share(reserved) = s.get_or("reserved", Share(0.2), "the share that is kept");
    let critical: Vec<At<String>> = s.need("critical", "the classes that it is kept for");
    if reserved == 1.0 && !s.is_description() {
        s.problem("reserved", format!("`{}` leaves nothing to others", s.path_of("reserved")), "keep less");
    }
    let names = critical.iter().map(|class| class.value.clone()).collect();
    naming(s, reserved::Settings { limit, reserved, critical: names }, critical)
}
