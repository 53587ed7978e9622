//! Which files there are, and their columns.

use crate::observe::Count;

/// A CSV file of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Table {
    /// One row per interval and class: the timeline.
    Timeline,
    /// One row per interval, class and way of ending.
    Outcomes,
    /// One row per interval, class and bucket of latencies.
    LatencyHist,
    /// One row per interval, stage and gauge.
    Gauges,
    /// One row per class, and the total.
    Summary,
    /// One row per edge of the call graph.
    Edges,
    /// One row per attempt.
    Requests,
}

/// What every row begins with.
pub const LEAD: &str = "run_id,policy,seed";

/// The columns of `events.csv`.
pub const EVENTS: &str = "run_id,name,at_s,until_s,label,target,value";

const TIMELINE: [&str; 2] = [
    "interval_index,t_start_s,interval_s,phase,class",
    "queue_depth_avg,queue_depth_max,queue_depth_last,inflight_avg,inflight_max,inflight_last,\
     limit_avg,limit_min,limit_max,utilization_ratio,\
     tokens_offered,tokens_reserved,tokens_settled,tokens_refunded,tokens_inflight_avg,cost_usd,\
     queue_wait_p50_ms,queue_wait_p95_ms,queue_wait_p99_ms,queue_wait_max_ms,\
     latency_mean_ms,latency_p50_ms,latency_p90_ms,latency_p95_ms,latency_p99_ms,latency_max_ms,\
     service_p50_ms,service_p99_ms,first_token_p95_ms",
];

const OUTCOMES: &str = "interval_index,t_start_s,phase,class,outcome,reason,stage,target,count";

const LATENCY_HIST: &str = "interval_index,t_start_s,phase,class,le_ms,count";

const GAUGES: &str = "interval_index,t_start_s,phase,stage,gauge,avg,min,max,last";

const SUMMARY: &str = "scope,class,duration_s,warmup_s,calls_count,offered_count,admitted_count,\
     rejected_count,degraded_count,goodput_count,abandoned_count,unfinished_count,\
     goodput_ratio,rejected_ratio,degraded_ratio,wasted_ratio,retry_amplification,\
     latency_p50_ms,latency_p95_ms,latency_p99_ms,latency_max_ms,queue_wait_mean_ms,queue_wait_p99_ms,\
     queue_depth_max,inflight_avg,utilization_ratio,fairness_jain_tenant,starved_s,recovery_s,cost_usd";

const REQUESTS: &str = "call,attempt,traffic,class,tenant,feature,user,input_tokens,output_tokens,\
     max_output_tokens,arrived_s,started_s,ended_s,queue_wait_ms,service_ms,latency_ms,\
     outcome,reason,stage,target,retry_after_s,scope,caller";

const EDGES: &str = "caller,target,calls_count,attempts_count,answered_count,failed_count,\
     retry_amplification,attempts_per_call";

impl Table {
    /// Every table, in the order in which files are named.
    pub const ALL: [Table; 7] = [
        Table::Timeline,
        Table::Outcomes,
        Table::LatencyHist,
        Table::Gauges,
        Table::Summary,
        Table::Edges,
        Table::Requests,
    ];

    /// The file's name.
    pub fn file(self) -> &'static str {
        match self {
            Table::Timeline => "timeline.csv",
            Table::Outcomes => "outcomes.csv",
            Table::LatencyHist => "latency_hist.csv",
            Table::Gauges => "gauges.csv",
            Table::Summary => "summary.csv",
            Table::Edges => "edges.csv",
            Table::Requests => "requests.csv",
        }
    }

    /// The header, without the line's end.
    pub fn header(self) -> String {
        let columns = match self {
            Table::Timeline => [TIMELINE[0], &Count::COLUMNS.join(","), TIMELINE[1]].join(","),
            Table::Outcomes => OUTCOMES.into(),
            Table::LatencyHist => LATENCY_HIST.into(),
            Table::Gauges => GAUGES.into(),
            Table::Summary => SUMMARY.into(),
            Table::Edges => EDGES.into(),
            Table::Requests => REQUESTS.into(),
        };
        format!("{LEAD},{columns}")
    }
}
