//! The metrics of this process, and their text for Prometheus. Anybody counts with the macros of `metrics`; what the
//! names mean stands here.

use std::{
    sync::{Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use super::process;

/// How often [`Metrics::upkeep`] is due: observations wait in memory until then.
pub const UPKEEP: Duration = Duration::from_secs(5);

/// Bounds of durations, in seconds: a model call takes microseconds, a first read of a long history many seconds.
const SECONDS: [f64; 18] = [
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
    0.5, 1.0, 5.0, 30.0,
];
/// Bounds of counts of things done together.
const COUNTS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// The metrics of this process. Every instance shows the same ones.
#[derive(Clone)]
pub struct Metrics {
    recorder: PrometheusHandle,
    started: Instant,
}

impl Metrics {
    /// Starts collecting, the first time; shows the same collection every other time.
    ///
    /// # Errors
    /// Where another recorder collects for this process already.
    pub fn collect() -> Result<Self, BuildError> {
        static COLLECTED: OnceLock<Metrics> = OnceLock::new();
        static FIRST: Mutex<()> = Mutex::new(());
        let _first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(metrics) = COLLECTED.get() {
            return Ok(metrics.clone());
        }
        let recorder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS)?
            .set_buckets_for_metric(Matcher::Suffix("_writes".into()), &COUNTS)?
            .install_recorder()?;
        describe();
        Ok(COLLECTED.get_or_init(|| Self { recorder, started: Instant::now() }).clone())
    }

    /// Everything collected, in the text format of Prometheus.
    pub fn render(&self) -> String {
        let set = |name: &'static str, value: Option<u64>| {
            if let Some(value) = value {
                gauge!(name).set(value as f64);
            }
        };
        set("process_resident_memory_bytes", process::resident_memory());
        set("process_open_fds", process::open_files());
        gauge!("assay_uptime_seconds").set(self.started.elapsed().as_secs_f64());
        self.recorder.render()
    }

    /// Folds what was observed into its histograms. Without it, memory grows with every observation until the next
    /// render.
    pub fn upkeep(&self) {
        self.recorder.run_upkeep();
    }
}

fn describe() {
    describe_gauge!("process_resident_memory_bytes", Unit::Bytes, "Resident memory");
    describe_gauge!("process_open_fds", Unit::Count, "Open file descriptors");
    describe_gauge!("assay_uptime_seconds", Unit::Seconds, "Time since the server started");
    describe_counter!("assay_http_requests_total", Unit::Count, "Requests answered, by method, route and status");
    describe_histogram!(
        "assay_http_request_seconds",
        Unit::Seconds,
        "Time from a request's head to its answer's head, by method and route"
    );
    describe_gauge!("assay_http_connections", Unit::Count, "Connections that are open");
    describe_counter!(
        "assay_http_refused_total",
        Unit::Count,
        "Requests turned away before any route, by reason: key or address, whose rate was passed, or busy; and as connections those that were \
         closed at once, because their address had as many as it may"
    );
    describe_counter!(
        "assay_rates_alone_total",
        Unit::Count,
        "Requests whose rate this host counted by itself, because Redis did not answer soon"
    );
    describe_gauge!("assay_http_requests_in_flight", Unit::Count, "Requests being answered, by method and route");
    describe_counter!("assay_model_calls_total", Unit::Count, "Calls of a model, by kind and version");
    describe_counter!(
        "assay_model_failures_total",
        Unit::Count,
        "Calls of a model that failed, by kind, version and code"
    );
    describe_histogram!("assay_model_call_seconds", Unit::Seconds, "Time of one call of a model, by kind and version");
    describe_counter!("assay_model_load_failures_total", Unit::Count, "Files and uploads that are no model, by code");
    describe_counter!("assay_model_swaps_total", Unit::Count, "Changes of champion, by kind and cause");
    describe_gauge!("assay_models_loaded", Unit::Count, "Models in service, by kind");
    describe_counter!(
        "assay_rpc_requests_total",
        Unit::Count,
        "JSON-RPC calls of a chain, each one of a batch, by chain, method and outcome"
    );
    describe_histogram!(
        "assay_rpc_request_duration_seconds",
        Unit::Seconds,
        "Time of one JSON-RPC request with its retries, by chain and method, where a batch is a method"
    );
    describe_gauge!(
        "assay_rpc_requests_waiting",
        Unit::Count,
        "JSON-RPC requests that wait for a place or their turn at an endpoint, by chain"
    );
    describe_counter!("assay_log_ranges_total", Unit::Count, "Ranges of blocks whose logs were asked for, by chain");
    describe_counter!(
        "assay_logs_refused_total",
        Unit::Count,
        "Logs given that were not asked for and not counted, by chain"
    );
    describe_counter!("assay_receipts_total", Unit::Count, "Receipts of transactions that logs pointed at, by chain");
    describe_counter!(
        "assay_second_opinions_total",
        Unit::Count,
        "Histories without any log that another endpoint was asked for, by chain and outcome: confirmed, contradicted or unanswered"
    );
    describe_counter!(
        "assay_positions_unexplained_total",
        Unit::Count,
        "Lending histories that did not add up to the position, by chain, protocol and difference"
    );
    describe_counter!("assay_explorer_requests_total", Unit::Count, "Requests to explorers, by chain and outcome");
    describe_histogram!(
        "assay_explorer_request_duration_seconds",
        Unit::Seconds,
        "Time of one request to an explorer, by chain"
    );
    describe_counter!(
        "assay_explorer_reads_refused_total",
        Unit::Count,
        "Lists that were not read because too many reads of the chain were waiting, by chain"
    );
    describe_counter!(
        "assay_snapshots_total",
        Unit::Count,
        "Snapshots given, by source: cache, shared with another request, or read"
    );
    describe_histogram!(
        "assay_snapshot_duration_seconds",
        Unit::Seconds,
        "Time of reading an address on all chains, by the coverage reached"
    );
    describe_counter!(
        "assay_background_reads_total",
        Unit::Count,
        "Lending histories that went on being read in the background, by chain"
    );
    describe_gauge!(
        "assay_background_reads_running",
        Unit::Count,
        "Lending histories being read with nobody waiting, by chain"
    );
    describe_counter!(
        "assay_background_reads_refused_total",
        Unit::Count,
        "Lending histories not read on because enough others were, by chain"
    );
    describe_counter!(
        "assay_prices_read_total",
        Unit::Count,
        "Prices read anew, by chain and source: feed, oracle, kind of API, or none of those; also stale_feed and sequencer_down, for which another source serves"
    );
    describe_counter!(
        "assay_price_requests_total",
        Unit::Count,
        "Requests to external price APIs, by kind of API and outcome"
    );
    describe_histogram!(
        "assay_price_request_duration_seconds",
        Unit::Seconds,
        "Time of one request to an external price API, by kind of API"
    );
    describe_counter!(
        "assay_outbound_requests_total",
        Unit::Count,
        "Documents and gateways fetched from where strangers say, by outcome: ok, refused, status, too_large, timed_out or unreachable"
    );
    describe_histogram!(
        "assay_outbound_request_duration_seconds",
        Unit::Seconds,
        "Time of fetching one of them, with its redirects"
    );
    describe_counter!(
        "assay_ipfs_requests_total",
        Unit::Count,
        "Requests to the IPFS node and the pinning service, by whom and outcome"
    );
    describe_histogram!("assay_ipfs_request_duration_seconds", Unit::Seconds, "Time of one of them, by whom");
    describe_gauge!("assay_agents_indexed", Unit::Count, "Agents in the search index");
    describe_gauge!(
        "assay_agents_without_metadata",
        Unit::Count,
        "Agents whose document was not read the last time, by reason"
    );
    describe_histogram!(
        "assay_agents_refresh_seconds",
        Unit::Seconds,
        "Time of one refresh of the search index, by outcome"
    );
    describe_gauge!("assay_chain_head_block", Unit::Count, "Newest block seen, by chain");
    describe_histogram!("assay_store_batch_writes", Unit::Count, "Writes that shared one commit of the embedded store");
    describe_histogram!(
        "assay_store_commit_seconds",
        Unit::Seconds,
        "Time of one commit of the embedded store, or of one write to Redis"
    );
    describe_counter!(
        "assay_lending_checkpoints_total",
        Unit::Count,
        "Writes of how far lending histories were read, by chain"
    );
    describe_gauge!(
        "assay_store_reached",
        Unit::Count,
        "1 while there is a connection to Redis, 0 while there is none"
    );
    describe_counter!(
        "assay_store_reconnects_total",
        Unit::Count,
        "Connections to Redis that were made anew after one broke"
    );
    describe_counter!(
        "assay_store_retries_total",
        Unit::Count,
        "Calls of Redis that were put off, or sent again because no answer came"
    );
    describe_counter!(
        "assay_store_failures_total",
        Unit::Count,
        "Calls of Redis that were given up: what is read is then done without, and what is written is refused; by outcome"
    );
    describe_gauge!("assay_score_records_waiting", Unit::Count, "Scores served whose records wait to be written");
    describe_counter!(
        "assay_score_records_dropped_total",
        Unit::Count,
        "Scores served without an id: the store was behind"
    );
    describe_counter!(
        "assay_score_records_lost_total",
        Unit::Count,
        "Scores whose record could not be written, though they have an id"
    );
    describe_counter!(
        "assay_shadow_dropped_total",
        Unit::Count,
        "Scores that challengers did not see: the shadow was behind"
    );
    describe_counter!(
        "assay_submissions_total",
        Unit::Count,
        "Submissions of reputation that came to a status, by status"
    );
    describe_gauge!("assay_submissions_open", Unit::Count, "Submissions that have not ended, by status");
    describe_gauge!(
        "assay_submissions_oldest_seconds",
        Unit::Seconds,
        "Age of the oldest submission that has not ended"
    );
    describe_counter!(
        "assay_submission_retries_total",
        Unit::Count,
        "Steps of submissions that did not succeed and are tried again, by status"
    );
    describe_counter!(
        "assay_payments_total",
        Unit::Count,
        "Payments by call that came to an end, by outcome: settled or refused"
    );
    describe_gauge!("assay_payments_open", Unit::Count, "Payments by call on their way to the chain");
    describe_counter!(
        "assay_transactions_replaced_total",
        Unit::Count,
        "Waiting transactions replaced by others with their nonce"
    );
    describe_counter!(
        "assay_nonces_lost_total",
        Unit::Count,
        "Nonces of the account that transactions from elsewhere used"
    );
    describe_counter!(
        "assay_trace_batches_total",
        Unit::Count,
        "Batches of spans sent to the collector, by outcome: ok, refused or unreachable"
    );
    describe_counter!("assay_task_panics_total", Unit::Count, "Background tasks that panicked, by task");
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use metrics::{counter, histogram};

    use super::*;

    #[test]
    fn every_metric_is_described() {
        let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let crates = fs::read_dir(host).unwrap().map(|entry| entry.unwrap().path().join("src"));
        let (mut folders, mut names) = (crates.filter(|src| src.is_dir()).collect::<Vec<_>>(), BTreeSet::new());
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = fs::read_to_string(&path).unwrap();
                    let texts = text.split('"').filter(|text| text.starts_with("assay_"));
                    let is_name =
                        |text: &&str| text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') && !text.ends_with('_');
                    names.extend(texts.filter(is_name).map(str::to_owned));
                }
            }
        }
        let source = include_str!("metrics.rs").split_once("fn describe()").unwrap().1;
        let nameless: Vec<_> = names.iter().filter(|name| !source.contains(&format!("\"{name}\""))).collect();
        assert!(names.len() > 20 && nameless.is_empty(), "{nameless:?} of {names:?}");
    }

    #[test]
    fn dashboard_and_alerts_name_metrics_that_there_are() {
        let ours = |word: &&str| (word.starts_with("assay_") || word.starts_with("process_")) && !word.ends_with('_');
        let words = |text: &str| -> BTreeSet<String> {
            text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(ours).map(str::to_owned).collect()
        };
        let source =
            include_str!("metrics.rs").split_once("fn describe()").unwrap().1.split_once("mod tests").unwrap().0;
        let described = words(source);
        let base = |name: &str| {
            let histogram = ["_bucket", "_count", "_sum"].into_iter().find_map(|suffix| name.strip_suffix(suffix));
            histogram.filter(|base| described.contains(*base)).unwrap_or(name).to_owned()
        };
        let (dashboard, alerts) =
            (include_str!("../../../../.ops/grafana.json"), include_str!("../../../../.ops/alerts.yml"));
        let shown: BTreeSet<String> = words(dashboard).iter().map(|name| base(name)).collect();
        assert_eq!(shown, described, "the dashboard shows every metric and no other");
        let watched: BTreeSet<String> = words(alerts).iter().map(|name| base(name)).collect();
        assert!(
            watched.len() > 15 && watched.is_subset(&described),
            "{:?}",
            watched.difference(&described).collect::<Vec<_>>()
        );
        serde_json::from_str::<serde_json::Value>(dashboard).unwrap();
    }

    #[test]
    fn what_is_counted_is_rendered_with_its_meaning() {
        let metrics = Metrics::collect().unwrap();
        counter!("assay_task_panics_total", "task" => "rendered").increment(2);
        histogram!("assay_store_commit_seconds").record(0.003);
        let text = Metrics::collect().unwrap().render();
        for line in [
            "# HELP assay_task_panics_total Background tasks that panicked, by task",
            "assay_task_panics_total{task=\"rendered\"} 2",
            "assay_store_commit_seconds_bucket{le=\"0.005\"}",
            "process_resident_memory_bytes ",
            "process_open_fds ",
            "assay_uptime_seconds ",
        ] {
            assert!(text.contains(line), "{line} not in\n{text}");
        }
        metrics.upkeep();
    }
}
