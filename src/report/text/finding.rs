//! One sentence that says what a run has shown.
//!
//! It says no more than the numbers: how much of what was asked was answered in time, by how much the policies
//! differ, and what became of the rest.

use super::{Sums, by_policy, share};
use crate::study::Finished;
use crate::time::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// Shares that differ by less are called equal: they print as the same number.
const EQUAL: f64 = 0.0005;

/// Shares that differ from the best by less are named beside it: one run can't tell them apart.
const CLOSE: f64 = 0.01;

/// What is called so many times as often under one policy as under another is named.
const AMPLIFIED: f64 = 1.5;

/// Of several classes one is called starved if it got nothing done for more than this share of the main phase.
const STARVED: f64 = 0.05;

/// The finding, without a line's end.
pub fn finding(jobs: &[Finished]) -> String {
    format!("{}{}{}", comparison(jobs), starvation(jobs), amplification(jobs))
}

/// The downstream that calls of one policy try far more often than those of another, if there is one.
fn amplification(jobs: &[Finished]) -> String {
    let targets: BTreeSet<&String> = jobs.iter().flat_map(|job| job.attempts.keys()).collect();
    let per_call = |jobs: &[Finished], target: &String| {
        let attempts: u64 = jobs.iter().filter_map(|job| job.attempts.get(target)).sum();
        share(attempts, Sums::of(jobs).calls)
    };
    let policies = by_policy(jobs);
    let mut widest: Option<(f64, String)> = None;
    for target in targets {
        let mut each: Vec<(f64, &str)> =
            policies.iter().map(|(name, jobs)| (per_call(jobs, target), *name)).collect();
        each.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (Some((low, gentle)), Some((high, harsh))) = (each.first(), each.last()) else { continue };
        let is_wider = widest.as_ref().is_none_or(|(widest, _)| widest < high);
        if is_wider && AMPLIFIED * low.max(f64::MIN_POSITIVE) <= *high {
            let text = format!(
                "; a call makes {high:.1} attempts at `{target}` under `{harsh}`, and {low:.1} under `{gentle}`"
            );
            widest = Some((*high, text));
        }
    }
    widest.map_or(String::new(), |(_, text)| text)
}

/// The class that had work and got nothing done for longest, if there are others and that was long.
fn starvation(jobs: &[Finished]) -> String {
    let share = |job: &Finished, starved: Nanos| {
        let main = job.total.as_ref().map_or(0, |total| total.duration.0.saturating_sub(total.warmup.0));
        starved.0 as f64 / main.max(1) as f64
    };
    let several = jobs.iter().filter(|job| 1 < job.starved.len());
    let each = several.flat_map(|job| job.starved.iter().map(move |(class, starved)| (job, class, *starved)));
    // Where all classes stand still alike, none is starved by another.
    let unlike = each.filter(|(job, _, starved)| {
        let least = job.starved.values().min().copied().unwrap_or_default();
        STARVED < share(job, Nanos(starved.0 - least.0))
    });
    // Of equals the first.
    let longest = unlike.fold(None::<(&Finished, &String, Nanos)>, |longest, next| match longest {
        Some(longest) if next.2 <= longest.2 => Some(longest),
        _ => Some(next),
    });
    longest.map_or(String::new(), |(job, class, starved)| {
        let seconds = starved.0 as f64 / 1e9;
        format!(
            "; under `{}`, class `{class}` had work for {seconds:.1} s and got nothing done",
            job.job.policy
        )
    })
}

fn comparison(jobs: &[Finished]) -> String {
    let mut policies: Vec<(&str, Sums, &[Finished])> =
        by_policy(jobs).into_iter().map(|(name, jobs)| (name, Sums::of(jobs), jobs)).collect();
    policies.retain(|(_, sums, _)| sums.calls > 0);
    let seeds = jobs.iter().filter(|job| job.job.policy == jobs[0].job.policy).count();
    let over = if seeds > 1 { format!(" over {seeds} seeds") } else { String::new() };
    // Of equals the first stays first.
    policies.sort_by(|a, b| b.1.answered().total_cmp(&a.1.answered()));
    let (Some((best, best_sums, best_jobs)), Some((worst, worst_sums, worst_jobs))) =
        (policies.first(), policies.last())
    else {
        return "no call counted: all arrived in the warm-up".into();
    };
    let (high, low) = (best_sums.answered(), worst_sums.answered());
    if policies.len() == 1 {
        return format!(
            "`{best}` answered {} of calls in time{over}; {}",
            percent(high),
            rest(best_sums, best_jobs)
        );
    }
    if high - low < EQUAL {
        let all = if policies.len() == 2 {
            "both policies".into()
        } else {
            format!("all {} policies", policies.len())
        };
        return format!(
            "{all} answered the same share of calls in time{over}, {}; {}",
            percent(high),
            slowest(&policies)
        );
    }
    let leaders: Vec<&(&str, Sums, &[Finished])> =
        policies.iter().filter(|(_, sums, _)| high - sums.answered() < CLOSE).collect();
    let tied = 1 < leaders.len() && leaders.len() < policies.len();
    let times = if low == 0.0 {
        format!("while `{worst}` answered none")
    } else if high / low < 1.1 {
        format!("{:.1} points more than `{worst}` ({})", 100.0 * (high - low), percent(low))
    } else {
        format!("{:.1} times as many as `{worst}` ({})", high / low, percent(low))
    };
    let who = if tied {
        let shares = leaders.iter().map(|(name, sums, _)| format!("`{name}` ({})", percent(sums.answered())));
        format!("{} answered the most calls in time", shares.collect::<Vec<_>>().join(" and "))
    } else {
        format!("`{best}` answered {} of calls in time", percent(high))
    };
    format!("{who}{over}, {times}; under `{worst}`, {}", rest(worst_sums, worst_jobs))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// What became of most of the work that was not answered in time.
fn rest(sums: &Sums, jobs: &[Finished]) -> String {
    let refused = || format!("of attempts were turned away{}", most_refusals(jobs));
    let fates: [(f64, &dyn Fn() -> String); 4] = [
        (share(sums.rejected, sums.offered), &refused),
        (share(sums.wasted, sums.completed), &|| "of the work done was for callers who had given up".into()),
        (share(sums.abandoned, sums.offered), &|| "of attempts waited until their callers gave up".into()),
        (share(sums.failed, sums.offered), &|| "of attempts failed in service".into()),
    ];
    // Of equals the first.
    let (most, fate) = fates.iter().rev().max_by(|a, b| a.0.total_cmp(&b.0)).expect("there are four fates");
    if *most < EQUAL {
        return "nothing was turned away and no work was wasted".into();
    }
    format!("{} {}", percent(*most), fate())
}

/// The stage that turned away most.
fn most_refusals(jobs: &[Finished]) -> String {
    let mut by_stage: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for ((stage, reason), count) in jobs.iter().flat_map(|job| &job.refusals) {
        *by_stage.entry((stage, reason)).or_default() += count;
    }
    // Of equals the first by name.
    let most = by_stage.iter().rev().max_by_key(|(_, count)| **count);
    most.map_or(String::new(), |((stage, reason), _)| format!(", most of them by `{stage}` ({reason})"))
}

/// How policies that answer alike differ in the time that it takes.
fn slowest(policies: &[(&str, Sums, &[Finished])]) -> String {
    let p99 = |jobs: &[Finished]| {
        let mut all: Vec<u64> = jobs.iter().filter_map(|j| j.total.as_ref()).map(|t| t.latency.p99).collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or(0)
    };
    let mut by_speed: Vec<(&str, u64)> = policies.iter().map(|(name, _, jobs)| (*name, p99(jobs))).collect();
    by_speed.sort_by_key(|(_, p99)| *p99);
    let (fast, slow) = (by_speed[0], by_speed[by_speed.len() - 1]);
    if slow.1 as f64 <= fast.1 as f64 * 1.01 {
        return "their p99 latencies are within 1 % of each other too".into();
    }
    let millis = |nanos: u64| format!("{:.1} ms", nanos as f64 / 1e6);
    format!(
        "the p99 latency was lowest under `{}` ({}) and highest under `{}` ({})",
        fast.0,
        millis(fast.1),
        slow.0,
        millis(slow.1)
    )
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn a_large_difference_is_told_as_a_factor() {
        let mut poor = sample::job("endless", 1, 1_000, 252);
        sample::waste(&mut poor, 748);
        let said = finding(&[poor, sample::job("bounded", 1, 1_000, 756)]);
        assert_eq!(
            said,
            "`bounded` answered 75.6 % of calls in time, 3.0 times as many as `endless` (25.2 %); \
             under `endless`, 74.8 % of the work done was for callers who had given up"
        );
    }

    #[test]
    fn what_one_run_cannot_tell_apart_leads_together() {
        let jobs = [("a", 290), ("b", 760), ("c", 758)].map(|(name, good)| sample::job(name, 1, 1_000, good));
        let said = finding(&jobs);
        let wanted = "`b` (76.0 %) and `c` (75.8 %) answered the most calls in time, 2.6 times as many as `a` (29.0 %); ";
        assert!(said.starts_with(wanted), "{said}");
    }

    #[test]
    fn equals_are_called_equal() {
        let said = finding(&[sample::job("a", 1, 1_000, 900), sample::job("b", 1, 1_000, 900)]);
        assert_eq!(
            said,
            "both policies answered the same share of calls in time, 90.0 %; \
             their p99 latencies are within 1 % of each other too"
        );
    }

    #[test]
    fn a_class_that_others_starve_is_named() {
        let mut job = sample::job("priority", 1, 1_000, 700);
        sample::starve(&mut job, "interactive", 0);
        sample::starve(&mut job, "batch", 400);
        let said = finding(&[job.clone()]);
        assert!(
            said.ends_with("; under `priority`, class `batch` had work for 0.4 s and got nothing done"),
            "{said}"
        );
        // An outage of all starves none of them.
        sample::starve(&mut job, "interactive", 380);
        assert!(!finding(&[job]).contains("got nothing done"));
    }

    #[test]
    fn one_policy_is_told_by_what_bound_it() {
        let mut job = sample::job("p", 1, 1_000, 700);
        sample::refuse(&mut job, "bucket", "rate_limited", 300);
        let second = finding(&[job.clone(), sample::job("p", 2, 1_000, 1_000)]);
        assert_eq!(
            finding(&[job]),
            "`p` answered 70.0 % of calls in time; 30.0 % of attempts were turned away, most of them by `bucket` (rate_limited)"
        );
        assert!(second.starts_with("`p` answered 85.0 % of calls in time over 2 seeds; "), "{second}");
    }
}
