//! `kind = "token_budget"`.

use super::admission::naming;
use super::bounds::within;
use super::{Kind, Page, StageSpec};
use crate::admission::{estimator, token_budget};
use crate::dist::Dist;
use crate::scenario::dist;
use crate::scenario::dist::Quantity;
use crate::section::{At, Either, Section};

pub(super) const KIND: Kind = Kind {
    name: "token_budget",
    about: "lets work hold at most so many tokens in flight",
    page: Page {
        question: "Is there room for one that is a hundred times as large as the last?",
        formula: "cost = estimated input + largest output; it passes if reserved + cost ≤ budget, and ≤ max of its class, \
            and Σ max(0, reserved of a class − protected) ≤ budget − Σ protected with it. The reservation ends with the \
            work: unused tokens are refunded, further ones are debt. A cost that never fits is turned away.",
        source: "async-bulkhead-llm, `tokenBudget` and `admissionClasses`",
        dialects: &[],
        examples: &[],
    },
    read,
};

fn read(s: &mut Section) -> StageSpec {
    let budget: u64 = s.need("budget", "tokens that may be in flight");
    if budget == 0 && !s.is_description() {
        s.problem(
            "budget",
            format!("`{}` is 0: nothing ever passes", s.path_of("budget")),
            "write 1 or more",
        );
    }
    let output_cap = s.get_or("output_cap", 2048u64, "the largest output of a call that declares none");
    let words = [("wait", false), ("shed", true)];
    let sheds = s.one_of("when_full", &words, Some(false), "what becomes of work that does not fit now");
    let (mut shares, mut classes) = (Vec::new(), Vec::new());
    for (class, mut share) in s.named("share", "the part of a class; others have what is left") {
        classes.push(At { value: class.clone(), span: share.span() });
        let protected = share.get_or("protected", 0u64, "tokens that no other class may have");
        let max: Option<u64> = share.get("max", "the most that it may have; the budget unless said");
        if max.is_some_and(|max| max < protected) && !share.is_description() {
            let what = format!("`{}` is less than what is protected", share.path_of("max"));
            share.problem("max", what, "raise it, or protect less");
        }
        share.finish();
        shares.push(token_budget::Share { class, protected, max });
    }
    let protected = shares.iter().fold(0u64, |sum, share| sum.saturating_add(share.protected));
    if budget < protected && !s.is_description() {
        let what = format!("`{}` protects {protected} tokens of {budget}", s.path());
        s.problem("budget", what, "raise `budget`, or protect less");
    }
    let estimator = read_estimator(s);
    naming(s, token_budget::Settings { budget, shares, output_cap, estimator, sheds }, classes)
}

/// How input is estimated; it is known unless the table is there.
pub(super) fn read_estimator(s: &mut Section) -> Option<estimator::Settings> {
    let mut s = s.section("estimator", "estimates input from characters; it is known unless said")?;
    let ratio = s.get_or("ratio", 4.0, "characters that a token is taken to have");
    within(&mut s, "ratio", ratio, 0.01, 1000.0);
    let doc = "characters that the calls really have for each token: a number or a distribution";
    let characters = match s.either::<f64>("characters", doc) {
        Some(Either::Table(mut table)) => {
            let dist = dist::read::<Characters>(&mut table, None);
            table.finish();
            dist
        }
        Some(Either::Value(number)) => {
            Dist::constant(within(&mut s, "characters", number, 0.01, 1000.0)).unwrap_or_else(|_| usual())
        }
        None => usual(),
    };
    let extra = s.get_or("extra", 0u64, "tokens that are added for each call");
    within(&mut s, "extra", extra, 0, 1 << 32);
    let adapts = s.get_or("adapts", false, "whether it learns a factor for each class");
    s.finish();
    Some(estimator::Settings { characters, ratio, extra, adapts })
}

/// Four to a token.
fn usual() -> Dist {
    Dist::constant(4.0).expect("four is a number")
}

/// Characters for each token.
struct Characters(f64);

impl crate::section::Value for Characters {
    const SHAPE: &'static str = f64::SHAPE;
    fn read(node: &crate::section::Node) -> Result<Characters, Vec<crate::section::Fault>> {
        f64::read(node).map(Characters)
    }
    fn dummy() -> Characters {
        Characters(1.0)
    }
    fn show(&self) -> String {
        self.0.to_string()
    }
}

impl Quantity for Characters {
    fn number(&self) -> f64 {
        self.0
    }
    const UNITS: &'static [(&'static str, f64)] = &[("1", 1.0)];
}
