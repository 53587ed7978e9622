//! `kind = "priority_levels"`.

use super::admission::naming;
use super::bounds::within;
use super::{Kind, Page, StageSpec};
use crate::admission::priority_levels::{Level, Settings};
use crate::scenario::client::not_zero;
use crate::scenario::width;
use crate::section::{At, Section, Share};
use crate::time::Nanos;

pub(super) const KIND: Kind = Kind {
    name: "priority_levels",
    about: "shares seats between levels of classes, which lend and borrow them by their demand",
    page: Page {
        question: "Which level gets how many seats when some are idle and others crowded?",
        formula: "nominal = ⌈seats · shares / Σ shares⌉; every `interval`, limit = f · max(least now, smoothed demand) held \
            between the least now and the most, with one f for all so that the limits are all seats together; least now \
            = max(nominal − lendable, min(nominal, highest demand)).",
        source: "Kubernetes, API priority and fairness, KEP-1040, `apf_controller.go`, `conc_alloc.go`",
        dialects: &[],
        examples: &[],
    },
    read,
};

fn read(s: &mut Section) -> StageSpec {
    let seats = s.get_or("seats", 600u64, "how many may be at work in all levels together");
    within(s, "seats", seats, 1, 1 << 32);
    let interval = s.get_or("interval", Nanos::secs(10), "how often limits are reckoned");
    not_zero(s, "interval", Some(interval));
    let width = width::read(s);
    let (mut levels, mut classes) = (Vec::new(), Vec::new());
    let mut catches_all = 0;
    for (name, mut level) in s.named("level", "a level; calls of its classes share its seats") {
        let named: Vec<At<String>> =
            level.get_or("classes", Vec::new(), "its classes; one level without any has all others");
        let shares = level.get_or("shares", 30u64, "its part of the seats");
        within(&mut level, "shares", shares, 0, 1 << 32);
        let Share(lendable) =
            level.get_or("lendable", Share(0.0), "the share of its nominal seats that it lends");
        let borrowing: Option<f64> =
            level.get("borrowing", "so many times its nominal seats it may borrow; any number unless said");
        if let Some(borrowing) = borrowing {
            within(&mut level, "borrowing", borrowing, 0.0, 1e6);
        }
        let exempt = level.get_or("exempt", false, "whether it is never limited");
        let rejects = level.get_or("reject", false, "whether it turns away what would wait");
        catches_all += u32::from(named.is_empty());
        if catches_all == 2 && named.is_empty() && !level.is_description() {
            let what = format!("`{}` is a second level for all classes that no other has", level.path());
            level.problem("classes", what, format!("name the classes of `{name}`"));
        }
        level.finish();
        let own = named.iter().map(|class| class.value.clone()).collect();
        classes.extend(named);
        levels.push(Level { classes: own, shares, lendable, borrowing, exempt, rejects });
    }
    if levels.iter().all(|level| level.shares == 0) && !s.is_description() {
        let what = format!("no level of `{}` has any share", s.path());
        s.problem("level", what, "write `level.NAME = { classes = […], shares = 30 }`");
    }
    let mut seen = std::collections::BTreeSet::new();
    for class in classes.iter().filter(|class| !seen.insert(&class.value)) {
        let what = format!("the class `{}` is in two levels", class.value);
        s.log().error(class.span.clone(), what, "name it in one");
    }
    if levels.is_empty() {
        levels.push(Level {
            classes: Vec::new(),
            shares: 1,
            lendable: 0.0,
            borrowing: None,
            exempt: false,
            rejects: false,
        });
    }
    let interval = interval.max(Nanos(1));
    naming(s, Settings { seats, interval, width, levels }, classes)
}
