//! Every metric of the process, with its unit and its help text.

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram};

/// Names and help texts of counters.
const COUNTERS: &[(&str, &str)] = &[
    ("assay_http_requests_total", "Requests answered, by method, route and status"),
    (
        "assay_http_refused_total",
        "Requests refused because of a limit, by reason: key or address (over the rate limit), busy (too many \
         requests in flight), waiting (too many clients waiting for submissions); connections counts connections \
         closed at once (too many from one address)",
    ),
    ("assay_rates_alone_total", "Requests counted only by this host, because Redis did not answer in time"),
    ("assay_model_calls_total", "Calls of a model, by kind and version"),
    ("assay_model_failures_total", "Failed calls of a model, by kind, version and code"),
    ("assay_model_load_failures_total", "Files and uploads that are not valid models, by code"),
    ("assay_model_swaps_total", "Changes of champion, by kind and cause"),
    (
        "assay_rpc_requests_total",
        "JSON-RPC calls of a chain, by chain, method and outcome; each call of a batch counts",
    ),
    ("assay_log_ranges_total", "Block ranges whose logs were requested, by chain"),
    ("assay_logs_refused_total", "Logs in responses that did not match the query and were ignored, by chain"),
    ("assay_receipts_total", "Transaction receipts read because of a log, by chain"),
    (
        "assay_second_opinions_total",
        "Answers for empty or doubtful histories compared with those of another endpoint, by chain and outcome: \
         confirmed, contradicted or unanswered",
    ),
    (
        "assay_positions_unexplained_total",
        "Lending histories that do not add up to the position, by chain, protocol and difference",
    ),
    ("assay_explorer_requests_total", "Requests to explorers, by chain and outcome"),
    ("assay_explorer_histories_total", "First lending histories whose transactions an explorer listed, by chain"),
    (
        "assay_explorer_reads_refused_total",
        "Explorer lists not read because too many reads of the chain were waiting, by chain",
    ),
    ("assay_snapshots_total", "Snapshots returned, by source: cache, shared with another request, or read"),
    (
        "assay_reads_completed_total",
        "Reads that slow endpoints delayed beyond their callers' limit, and that were continued to completion",
    ),
    ("assay_background_reads_total", "Lending histories whose reading continued in the background, by chain"),
    (
        "assay_background_reads_refused_total",
        "Lending histories whose reading did not continue because too many others were in progress, by chain",
    ),
    (
        "assay_prices_read_total",
        "Prices read, by chain and source: feed, oracle, kind of API, or none; also stale_feed and sequencer_down, for \
         which another source is used",
    ),
    ("assay_price_requests_total", "Requests to external price APIs, by kind of API and outcome"),
    (
        "assay_outbound_requests_total",
        "Fetches from untrusted URLs, by outcome: ok, refused, status, too_large, timed_out or unreachable",
    ),
    ("assay_ipfs_requests_total", "Requests to the IPFS node and the pinning service, by service and outcome"),
    ("assay_lending_checkpoints_total", "Saved checkpoints of lending histories, by chain"),
    ("assay_index_histories_total", "Lending histories that began with the market index, by chain"),
    ("assay_index_ranges_total", "Block ranges read for the market index, by chain"),
    (
        "assay_index_differing_total",
        "Transactions whose logs differed between two answers for the market index, by chain; receipts decided",
    ),
    ("assay_store_reconnects_total", "Connections to Redis reopened after a failure"),
    ("assay_store_retries_total", "Calls to Redis that waited, or were sent again for lack of a response"),
    (
        "assay_store_failures_total",
        "Calls to Redis that failed, by outcome: a failed read is skipped, a failed write is refused",
    ),
    ("assay_score_records_dropped_total", "Scores returned without an id, because the store was too slow"),
    ("assay_score_records_lost_total", "Scores with an id whose record could not be written"),
    ("assay_shadow_dropped_total", "Scores that challengers did not compute, because the shadow engine was too slow"),
    (
        "assay_outcome_records_dropped_total",
        "Scores that are not compared with outcomes, because the store could not be written for two days",
    ),
    ("assay_inputs_dropped_total", "Wallets that did not count for the drift of inputs, because too many waited"),
    ("assay_submissions_total", "Reputation submissions that reached a status, by status"),
    ("assay_submission_retries_total", "Submission steps that failed and are retried, by status"),
    ("assay_payments_total", "x402 payments that ended, by outcome: settled or refused"),
    ("assay_statements_sold_total", "Score statements bought with x402 payments"),
    ("assay_transactions_replaced_total", "Pending transactions replaced by another with the same nonce"),
    ("assay_gas_reverted_total", "Gas used by the account's reverted transactions, by purpose: payment or feedback"),
    ("assay_nonces_lost_total", "Nonces of the account that other senders' transactions used"),
    (
        "assay_watch_evaluations_total",
        "Evaluations of watches, by outcome: read, or unread if an input of a measure was not read",
    ),
    ("assay_batch_rows_total", "Rows of batch jobs that have an answer"),
    ("assay_watch_events_total", "Events of watches, by type"),
    ("assay_watch_deliveries_total", "Deliveries of watch events, by outcome: delivered, failed or gone"),
    ("assay_trace_batches_total", "Batches of spans sent to the collector, by outcome: ok, refused or unreachable"),
    ("assay_task_panics_total", "Background tasks that panicked, by task"),
];

/// Names, units and help texts of gauges.
const GAUGES: &[(&str, Unit, &str)] = &[
    ("process_resident_memory_bytes", Unit::Bytes, "Resident memory"),
    ("process_open_fds", Unit::Count, "Open file descriptors"),
    ("assay_build_info", Unit::Count, "Always 1; the version of the server is a label"),
    ("assay_uptime_seconds", Unit::Seconds, "Time since the server started"),
    ("assay_http_connections", Unit::Count, "Open connections"),
    ("assay_http_requests_in_flight", Unit::Count, "Requests in flight, by method and route"),
    ("assay_models_loaded", Unit::Count, "Loaded models, by kind"),
    (
        "assay_model_memory_bytes",
        Unit::Bytes,
        "Memory of one call of a model, measured at load, by kind, version and class; each lane keeps about as much",
    ),
    ("assay_model_code_bytes", Unit::Bytes, "Compiled code of a model in all lanes, by kind, version and class"),
    ("assay_model_compile_seconds", Unit::Seconds, "Time it took to compile a model, by kind, version and class"),
    (
        "assay_rpc_requests_waiting",
        Unit::Count,
        "JSON-RPC requests waiting for the concurrency or rate limit of an endpoint, by chain",
    ),
    (
        "assay_rpc_pace",
        Unit::CountPerSecond,
        "Requests per second (or calls, if the endpoint counts calls) that an endpoint was found to allow, by chain \
         and endpoint; 0 if it refused none",
    ),
    ("assay_background_reads_running", Unit::Count, "Lending histories being read in the background, by chain"),
    ("assay_agents_indexed", Unit::Count, "Number of agents in the search index"),
    (
        "assay_agents_without_metadata",
        Unit::Count,
        "Number of agents whose document could not be read at the last refresh, by reason",
    ),
    ("assay_chain_head_block", Unit::Count, "Newest block seen, by chain"),
    ("assay_chain_head_age_seconds", Unit::Seconds, "Age of the newest block seen, by this host's clock, by chain"),
    (
        "assay_chain_head_max_age_seconds",
        Unit::Seconds,
        "Age above which answers are provisional (chains.max_head_age), by chain; absent if not set",
    ),
    ("assay_index_through_block", Unit::Count, "Last block in the market index, by chain"),
    ("assay_index_behind_blocks", Unit::Count, "Final blocks not yet in the market index, by chain"),
    ("assay_index_events", Unit::Count, "Lending events in the market index, by chain"),
    ("assay_index_stopped", Unit::Count, "1 while the market index is stopped, otherwise 0, by chain"),
    (
        "assay_index_bytes",
        Unit::Bytes,
        "Disk space of the market index of all chains, without databases that were set aside",
    ),
    (
        "assay_index_set_aside",
        Unit::Count,
        "Damaged databases of the market index that were set aside and are still there",
    ),
    ("assay_store_reached", Unit::Count, "1 while connected to Redis, otherwise 0"),
    ("assay_store_writable", Unit::Count, "0 while Redis refuses calls or evicts records, otherwise 1"),
    ("assay_score_records_waiting", Unit::Count, "Records of returned scores waiting to be written"),
    (
        "assay_outcome_psi",
        Unit::Count,
        "Population stability index of the newest week's scores against the first week's, by version",
    ),
    ("assay_outcome_claims_broken", Unit::Count, "Ranges whose claimed liquidation rate does not hold, by version"),
    (
        "assay_input_psi",
        Unit::Count,
        "Population stability index of an input in the newest week with enough wallets, by version and input",
    ),
    (
        "assay_inputs_drifted",
        Unit::Count,
        "Inputs that have drifted in the newest week with enough wallets, in any segment, by version",
    ),
    ("assay_submissions_open", Unit::Count, "Submissions that have not ended, by status"),
    ("assay_submissions_waited_for", Unit::Count, "Clients waiting for the next state of a submission"),
    ("assay_submissions_oldest_seconds", Unit::Seconds, "Age of the oldest submission that has not ended"),
    ("assay_gas_at_risk_dollars", Unit::Count, "Budget that transactions in flight can cost at most, by purpose"),
    ("assay_gas_lost_dollars", Unit::Count, "Budget that reverted or cancelled transactions used, not yet returned"),
    (
        "assay_watches",
        Unit::Count,
        "Watches, by state: active, paused, suspended (their key may not watch), or stale (counted as active, too)",
    ),
    ("assay_watch_overdue_seconds", Unit::Seconds, "Time by which the most overdue evaluation of a watch is late"),
    ("assay_watch_deliveries_stopped", Unit::Count, "Watches whose deliveries have stopped after failures"),
    ("assay_batch_jobs_active", Unit::Count, "Batch jobs that are queued or running, on the host that reads them"),
    ("assay_payments_open", Unit::Count, "x402 payments that are not on the chain yet"),
];

/// Names, units and help texts of histograms.
const HISTOGRAMS: &[(&str, Unit, &str)] = &[
    (
        "assay_http_request_seconds",
        Unit::Seconds,
        "Time from the head of a request to the head of its response, by method and route",
    ),
    ("assay_model_call_seconds", Unit::Seconds, "Time of one call of a model, by kind and version"),
    (
        "assay_rpc_request_duration_seconds",
        Unit::Seconds,
        "Time of one JSON-RPC request with its retries, by chain and method; a batch counts as a separate method",
    ),
    ("assay_explorer_request_duration_seconds", Unit::Seconds, "Time of one request to an explorer, by chain"),
    (
        "assay_snapshot_duration_seconds",
        Unit::Seconds,
        "Time to read an address on all chains, by the coverage reached",
    ),
    (
        "assay_price_request_duration_seconds",
        Unit::Seconds,
        "Time of one request to an external price API, by kind of API",
    ),
    (
        "assay_outbound_request_duration_seconds",
        Unit::Seconds,
        "Time of one fetch from an untrusted URL, with its redirects",
    ),
    (
        "assay_ipfs_request_duration_seconds",
        Unit::Seconds,
        "Time of one request to the IPFS node or the pinning service, by service",
    ),
    ("assay_agents_refresh_seconds", Unit::Seconds, "Time of one refresh of the search index, by outcome"),
    ("assay_store_batch_writes", Unit::Count, "Writes in one commit of the embedded store"),
    ("assay_store_commit_seconds", Unit::Seconds, "Time of one commit of the embedded store, or of one write to Redis"),
];

/// Counters without labels. They start at 0, so alerts see their first increment.
const WITHOUT_LABELS: &[&str] = &[
    "assay_rates_alone_total",
    "assay_reads_completed_total",
    "assay_store_reconnects_total",
    "assay_store_retries_total",
    "assay_score_records_dropped_total",
    "assay_score_records_lost_total",
    "assay_shadow_dropped_total",
    "assay_outcome_records_dropped_total",
    "assay_inputs_dropped_total",
    "assay_transactions_replaced_total",
    "assay_nonces_lost_total",
];

/// Counters with one label whose values are known. They start at 0 for each value.
const WITH_ONE_LABEL: &[(&str, &str, &[&str])] = &[
    (
        "assay_http_refused_total",
        "reason",
        &["key", "address", "guests", "payers", "payments", "busy", "waiting", "connections"],
    ),
    ("assay_snapshots_total", "source", &["cache", "shared", "read"]),
    ("assay_submissions_total", "status", &["pending", "scoring", "uploading", "submitting", "confirmed", "failed"]),
    ("assay_payments_total", "outcome", &["settled", "refused"]),
    ("assay_watch_evaluations_total", "outcome", &["read", "unread"]),
    ("assay_watch_deliveries_total", "outcome", &["delivered", "failed", "gone"]),
    ("assay_gas_reverted_total", "of", &["payment", "feedback"]),
];

/// Registers every help text with the recorder, and the counters whose labels are known.
pub(super) fn describe() {
    for (name, help) in COUNTERS {
        describe_counter!(*name, Unit::Count, *help);
    }
    for name in WITHOUT_LABELS {
        counter!(*name).absolute(0);
    }
    for (name, label, values) in WITH_ONE_LABEL {
        for value in *values {
            counter!(*name, *label => *value).absolute(0);
        }
    }
    for (name, unit, help) in GAUGES {
        describe_gauge!(*name, *unit, *help);
    }
    for (name, unit, help) in HISTOGRAMS {
        describe_histogram!(*name, *unit, *help);
    }
}

#[cfg(test)]
pub(super) fn names() -> std::collections::BTreeSet<&'static str> {
    let counters = COUNTERS.iter().map(|(name, _)| *name);
    counters.chain(GAUGES.iter().chain(HISTOGRAMS).map(|(name, ..)| *name)).collect()
}
