//! `kind = "kratos_bbr"`, `"go_zero_shedder"` and `"sentinel_system"`: shedders that reckon with Little's law.

use super::admission::stage;
use super::bounds::within;
use super::{Kind, Page};
use crate::admission::{go_zero_shedder, kratos_bbr, sentinel_system};
use crate::scenario::client::not_zero;
use crate::section::{Section, Share};
use crate::time::Nanos;

pub(super) const KRATOS: Kind = Kind {
    name: "kratos_bbr",
    about: "while the processor is busy, sheds what is above the most that Little's law asks for",
    page: Page {
        question: "How much may come in while the processor is busy?",
        formula: "most = ⌊max_pass · min_rt · buckets per second / 1000⌋ over the window; shed if in flight > max(1, most) \
            while cpu ≥ cpu_threshold, or within a second of the first of a row of sheddings. The processor's use is \
            modelled: busy slots over all, looked at every 500 ms, an average of which 95 % is kept.",
        source: "go-kratos/aegis, `ratelimit/bbr/bbr.go`",
        dialects: &[],
        examples: &[],
    },
    read: |s| {
        let usual = kratos_bbr::Settings::DEFAULT;
        let settings = kratos_bbr::Settings {
            window: s.get_or("window", usual.window, WINDOW),
            bucket: s.get_or("bucket", usual.bucket, BUCKETS),
            cpu_threshold: s.get_or("cpu_threshold", usual.cpu_threshold, THRESHOLD),
            counts_failures: s.get_or("counts_failures", usual.counts_failures, FAILURES),
        };
        check(s, settings.window, ("bucket", settings.bucket), settings.cpu_threshold);
        if 1_000_000_000 < settings.window.0 / settings.bucket.max(1) {
            let what = format!(
                "`{}` gives buckets longer than a second, of which none makes a second up",
                s.path_of("window")
            );
            s.problem("window", what, "write a shorter window, or more buckets");
        }
        stage(s, settings)
    },
};

pub(super) const GO_ZERO: Kind = Kind {
    name: "go_zero_shedder",
    about: "while the processor is busy, sheds what is above a share of the most that Little's law asks for",
    page: Page {
        question: "How much may come in while the processor is busy, and less the busier it is?",
        formula: "most = max(1, max_pass · min_rt · buckets per second / 1000) · f, f = (1000 − cpu) / (1000 − \
            cpu_threshold) within [0.1, 1]; shed if cpu ≥ cpu_threshold, or was within a second after a shedding, and \
            both what is in flight and its average are above most. The processor's use is modelled: busy slots over \
            all, looked at every 250 ms, an average of which 95 % is kept.",
        source: "go-zero, `core/load/adaptiveshedder.go`",
        dialects: &[],
        examples: &[],
    },
    read: |s| {
        let usual = go_zero_shedder::Settings::DEFAULT;
        let settings = go_zero_shedder::Settings {
            window: s.get_or("window", usual.window, WINDOW),
            buckets: s.get_or("buckets", usual.buckets, BUCKETS),
            cpu_threshold: s.get_or("cpu_threshold", usual.cpu_threshold, THRESHOLD),
            counts_failures: s.get_or("counts_failures", usual.counts_failures, FAILURES),
        };
        check(s, settings.window, ("buckets", settings.buckets), settings.cpu_threshold);
        stage(s, settings)
    },
};

pub(super) const SENTINEL: Kind = Kind {
    name: "sentinel_system",
    about: "sheds by bounds on everything that comes in, and by Little's law while the load is high",
    page: Page {
        question: "Which bound of the whole machine is broken first?",
        formula: "In this order: qps, max_thread, avg_rt, load (in flight > max_success · min_rt / 1000 while it is above \
            highest_system_load), cpu. The load is modelled as what the downstream works on and has waiting inside, an \
            average over a minute; the processor's use as busy slots over all; both once a second.",
        source: "Sentinel, `SystemRuleManager.java`, `StatisticNode.java`",
        dialects: &[],
        examples: &[],
    },
    read: |s| {
        let cpu: Option<Share> = s.get("highest_cpu_usage", "the most use of the processor");
        let settings = sentinel_system::Settings {
            highest_system_load: s.get("highest_system_load", "above this load Little's law holds"),
            highest_cpu_usage: cpu.map(|Share(share)| share),
            qps: s.get("qps", "the most that may start in a second"),
            avg_rt: s.get("avg_rt", "the largest mean time in service"),
            max_thread: s.get("max_thread", "the most in flight"),
            ignores_failures: s.get_or("ignores_failures", false, "whether failures say nothing"),
        };
        let keys = ["highest_system_load", "highest_cpu_usage", "qps", "avg_rt", "max_thread"];
        if !s.is_description() && !keys.iter().any(|key| s.has(key)) {
            let what = format!("`{}` has no bound", s.path());
            s.problem("kind", what, format!("write one or more of `{}`", keys.join("`, `")));
        }
        for (key, value) in [("highest_system_load", settings.highest_system_load), ("qps", settings.qps)] {
            if let Some(value) = value {
                within(s, key, value, 0.0, 1e12);
            }
        }
        stage(s, settings)
    },
};

const WINDOW: &str = "how long what has ended counts";
const BUCKETS: &str = "in so many buckets";
const THRESHOLD: &str = "from where on the processor is busy, in thousandths";
const FAILURES: &str = "whether failures count as what is served well does";

fn check(s: &mut Section, window: Nanos, (key, buckets): (&str, u64), threshold: u64) {
    not_zero(s, "window", Some(window));
    within(s, key, buckets, 1, 100_000);
    if !s.is_description() && window.0 < 1_000_000 * buckets {
        let what = format!("`{}` gives buckets shorter than a millisecond", s.path_of("window"));
        s.problem("window", what, "write a longer window, or fewer buckets");
    }
    within(s, "cpu_threshold", threshold, 1, 999);
}
