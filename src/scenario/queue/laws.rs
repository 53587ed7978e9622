//! Laws of dequeuing: `codel` and `controlled_delay`, tables of a queue of any kind.

use crate::queue::codel::CoDel;
use crate::queue::controlled_delay::{Article, Folly};
use crate::queue::line;
use crate::scenario::client::not_zero;
use crate::section::Section;
use crate::time::Nanos;

/// Who is shed when its turn has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Law {
    /// By which law.
    pub kind: LawKind,
    /// The wait that is aimed at.
    pub target: Nanos,
    /// How long more is put up with.
    pub interval: Nanos,
}

/// The laws that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LawKind {
    /// RFC 8289.
    CoDel,
    /// Controlled delay as the article has it.
    Article,
    /// Controlled delay as folly has it.
    Folly,
}

impl Law {
    /// The law at rest.
    pub fn build(&self) -> Box<dyn line::Law> {
        let Law { kind, target, interval } = *self;
        match kind {
            LawKind::CoDel => Box::new(CoDel::new(target, interval)),
            LawKind::Article => Box::new(Article { target, interval }),
            LawKind::Folly => Box::new(Folly::new(target, interval)),
        }
    }
}

/// The law of a queue.
pub(super) fn read(s: &mut Section) -> Option<Law> {
    let codel = s.section("codel", "sheds by RFC 8289 when a turn comes; not unless said");
    let codel = codel.map(|s| read_law(s, LawKind::CoDel));
    let controlled =
        s.section("controlled_delay", "short waits while the queue does not drain; not unless said");
    let controlled = controlled.map(|mut s| {
        let dialects = [("article", LawKind::Article), ("folly", LawKind::Folly)];
        let dialect = s.one_of(
            "dialect",
            &dialects,
            Some(LawKind::Article),
            "a limit on waits that is set on arrival, or looked at when a turn comes",
        );
        read_law(s, dialect)
    });
    if codel.is_some() && controlled.is_some() && !s.is_description() {
        let what = format!("`{}` has both `codel` and `controlled_delay`", s.path());
        s.problem("controlled_delay", what, "keep one: compare them in two queues");
    }
    codel.or(controlled)
}

fn read_law(mut s: Section, kind: LawKind) -> Law {
    let target = s.get_or("target", Nanos::millis(5), "the wait that is aimed at");
    let interval = s.get_or("interval", Nanos::millis(100), "how long longer waits are put up with");
    not_zero(&s, "target", Some(target));
    not_zero(&s, "interval", Some(interval));
    if CoDel::LONGEST < interval {
        let what = format!("`{}` is more than {}", s.path_of("interval"), CoDel::LONGEST);
        s.problem("interval", what, "write a shorter one: a few of the longest waits that are well");
    } else if interval < target {
        let what = format!("`{}` is longer than the interval of {interval}", s.path_of("target"));
        s.problem("target", what, "write a shorter one: 5 to 10 % of the interval");
    }
    s.finish();
    Law { kind, target, interval: interval.min(CoDel::LONGEST) }
}
