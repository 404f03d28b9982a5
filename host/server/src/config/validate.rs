//! Rules across fields, checked before the port is bound.

use std::{collections::BTreeSet, fmt};

use super::Config;
use assay_chain::config::{ChainConfig, PriceApi, RegistryConfig};
use assay_domain::Name;
use assay_store::config::Backend;

/// No feed of a currency is let go without a round for longer, in seconds.
const LONGEST_HEARTBEAT: u64 = 7 * 24 * 3600;

/// One thing wrong, by the path of its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub key: String,
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.what)
    }
}

/// Everything wrong with `config`.
pub(super) fn problems(config: &Config) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut problem = |key: String, what: &str| found.push(Problem { key, what: what.to_owned() });

    let mut ids = BTreeSet::new();
    for (i, chain) in config.chains.iter().enumerate() {
        if !ids.insert(chain.id) {
            problem(format!("chains[{i}].id"), "another chain has this id; name each chain once");
        }
        for (key, what) in chain_problems(chain) {
            problem(format!("chains[{i}].{key}"), what);
        }
    }
    for (i, registry) in config.names.registries.iter().enumerate() {
        let dotted = |name: &str| Name::parse(name).is_ok_and(|normal| normal.as_str() == name);
        if !dotted(&registry.reverse) {
            problem(format!("names.registries[{i}].reverse"), "not a name in its normal form, such as addr.reverse");
        }
        if registry.under.as_deref().is_some_and(|under| !dotted(under)) {
            problem(format!("names.registries[{i}].under"), "not a name in its normal form, such as base.eth");
        }
        let same = |other: &&RegistryConfig| (other.chain, &other.under) == (registry.chain, &registry.under);
        if config.names.registries.iter().filter(same).count() > 1 {
            problem(format!("names.registries[{i}]"), "another registry of this chain has the same names");
        }
    }
    for (i, at) in config.outbound.allow.iter().enumerate() {
        let has_port = at.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        if !has_port
            || !url::Url::parse(&format!("http://{at}/"))
                .is_ok_and(|url| url.path() == "/" && url.username().is_empty())
        {
            problem(format!("outbound.allow[{i}]"), "not host:port, such as gateway.internal:8080");
        }
    }
    let mut sources = BTreeSet::new();
    for (i, source) in config.identity.sources.iter().enumerate() {
        if source.provider.is_empty() {
            problem(format!("identity.sources[{i}].provider"), "empty; attestations are told by it");
        }
        if !sources.insert((source.chain, source.eas, source.schema, source.attester)) {
            problem(format!("identity.sources[{i}]"), "this schema of this attester is listed twice");
        }
    }
    let mut names = BTreeSet::new();
    let mut keys = BTreeSet::new();
    for (i, key) in config.access.keys.iter().enumerate() {
        if !names.insert(&key.name) {
            problem(format!("access.keys[{i}].name"), "another key has this name; usage is kept by name");
        }
        if !keys.insert(key.key.expose()) {
            problem(format!("access.keys[{i}].key"), "another entry has the same key");
        }
        if key.key.expose().len() < 8 {
            problem(format!("access.keys[{i}].key"), "shorter than 8 characters; `assay key mint` makes a good one");
        }
        if key.scopes.is_empty() {
            problem(format!("access.keys[{i}].scopes"), "empty; name at least one of read, submit, admin");
        }
    }
    if let Some(traces) = &config.telemetry.traces {
        if !url::Url::parse(traces.endpoint.expose()).is_ok_and(|url| matches!(url.scheme(), "http" | "https")) {
            problem(
                "telemetry.traces.endpoint".into(),
                "not an http or https URL, such as http://127.0.0.1:4318/v1/traces",
            );
        }
        if !(0.0..=1.0).contains(&traces.sample) {
            problem("telemetry.traces.sample".into(), "not a share between 0 and 1");
        }
        for (name, value) in &traces.headers {
            if http::HeaderName::try_from(name).is_err() || http::HeaderValue::try_from(value.expose()).is_err() {
                problem(format!("telemetry.traces.headers.{name}"), "not a header that can be sent");
            }
        }
    }
    if config.store.backend == Backend::Redis && config.store.url.is_none() {
        problem("store.url".into(), "missing; the redis backend needs a URL");
    }
    if config.store.prefix.is_empty() || config.store.prefix.contains(['{', '}']) {
        problem("store.prefix".into(), "empty or with a brace; braces tell a cluster what to keep together");
    }
    if config.scoring.incomplete_cache_ms > 30_000 {
        problem(
            "scoring.incomplete_cache_ms".into(),
            "above 30000; an incomplete report may be cached for 30 seconds at most",
        );
    }
    if config.scoring.read_budget_ms >= config.http.request_timeout_ms {
        problem(
            "scoring.read_budget_ms".into(),
            "not below http.request_timeout_ms; a first read could never answer pending",
        );
    }
    if config.http.body_timeout_ms >= config.http.request_timeout_ms {
        problem(
            "http.body_timeout_ms".into(),
            "not below http.request_timeout_ms; a slow body would be answered as a slow server",
        );
    }
    // The least that the HTTP implementation takes.
    if config.http.max_head_bytes < 8_192 {
        problem("http.max_head_bytes".into(), "below 8192; requests of ordinary clients would be refused");
    }
    for (key, root) in [("prices.api", &config.prices.api), ("prices.fallback", &config.prices.fallback)] {
        if root.as_ref().is_some_and(|root| PriceApi::of(root).is_none()) {
            problem(key.into(), "not an http or https URL");
        }
    }
    if config.prices.fallback.is_some() && config.prices.api.is_none() {
        problem("prices.fallback".into(), "set without prices.api, which it stands behind");
    }
    for (key, value) in [
        ("models.max_component_bytes", config.models.max_component_bytes),
        ("models.max_memory_bytes", config.models.max_memory_bytes as u64),
        ("models.max_calls", u64::from(config.models.max_calls)),
        ("models.call_deadline_ms", config.models.call_deadline_ms),
        ("reading.log_range", config.reading.log_range),
        ("reading.log_concurrency", config.reading.log_concurrency as u64),
        ("reading.rpc.concurrency", config.reading.rpc.concurrency as u64),
        ("reading.rpc.timeout_ms", config.reading.rpc.timeout_ms),
        ("outbound.timeout_ms", config.outbound.timeout_ms),
        ("outbound.max_bytes", config.outbound.max_bytes as u64),
        ("outbound.concurrency", config.outbound.concurrency as u64),
        ("reading.explorer.timeout_ms", config.reading.explorer.timeout_ms),
        ("http.max_body_bytes", config.http.max_body_bytes as u64),
        ("http.max_addresses", config.http.max_addresses as u64),
        ("http.max_connections", config.http.max_connections as u64),
        ("http.max_requests", config.http.max_requests as u64),
        ("http.header_timeout_ms", config.http.header_timeout_ms),
        ("http.body_timeout_ms", config.http.body_timeout_ms),
        ("http.write_timeout_ms", config.http.write_timeout_ms),
        ("scoring.shadow_hours", config.scoring.shadow_hours),
        ("promotion.window_hours", config.promotion.window_hours),
        ("store.connect_timeout_ms", config.store.connect_timeout_ms),
        ("store.answer_timeout_ms", config.store.answer_timeout_ms),
        ("store.patience_ms", config.store.patience_ms),
        ("store.count_timeout_ms", config.store.count_timeout_ms),
    ] {
        if value == 0 {
            problem(key.into(), "0; must be at least 1");
        }
    }
    for (key, value, most) in [
        ("reading.log_concurrency", config.reading.log_concurrency as u64, 1_000),
        ("reading.rpc.concurrency", config.reading.rpc.concurrency as u64, 10_000),
        ("http.header_timeout_ms", config.http.header_timeout_ms, 600_000),
        ("http.write_timeout_ms", config.http.write_timeout_ms, 600_000),
        ("http.max_connections", config.http.max_connections as u64, 1_000_000),
        ("http.max_requests", config.http.max_requests as u64, 1_000_000),
        ("http.max_head_bytes", config.http.max_head_bytes as u64, 16 << 20),
        ("scoring.cache_ms", config.scoring.cache_ms, 86_400_000),
        ("names.cache_ms", config.names.cache_ms, 300_000),
        ("names.negative_cache_ms", config.names.negative_cache_ms, 60_000),
        ("outbound.timeout_ms", config.outbound.timeout_ms, 20_000),
        ("outbound.max_bytes", config.outbound.max_bytes as u64, 16 << 20),
        ("outbound.concurrency", config.outbound.concurrency as u64, 1_000),
        ("scoring.provenance_days", config.scoring.provenance_days, 3_650),
        ("store.connect_timeout_ms", config.store.connect_timeout_ms, 60_000),
        ("store.answer_timeout_ms", config.store.answer_timeout_ms, 60_000),
        ("store.patience_ms", config.store.patience_ms, 60_000),
        ("store.count_timeout_ms", config.store.count_timeout_ms, 60_000),
        ("scoring.shadow_hours", config.scoring.shadow_hours, 8_760),
        ("promotion.window_hours", config.promotion.window_hours, 8_760),
    ] {
        if value > most {
            problem(key.into(), &format!("{value}; may be at most {most}"));
        }
    }
    for (key, value) in [
        ("scoring.shadow_share", config.scoring.shadow_share),
        ("scoring.shadow_budget", config.scoring.shadow_budget),
        ("promotion.max_migration", config.promotion.max_migration),
        ("promotion.max_failures", config.promotion.max_failures),
    ] {
        if !(0.0..=1.0).contains(&value) {
            problem(key.into(), &format!("{value}; a share is 0 to 1"));
        }
    }
    for (key, value) in [
        ("promotion.max_psi", config.promotion.max_psi),
        ("promotion.max_latency_ratio", config.promotion.max_latency_ratio),
    ] {
        if !value.is_finite() || value < 0.0 {
            problem(key.into(), &format!("{value}; must be a number of at least 0"));
        }
    }
    if let Some(agents) = &config.agents
        && !(1..=1_800_000).contains(&agents.refresh_ms)
    {
        problem("agents.refresh_ms".into(), "must be 1 to 1800000; the index is refreshed every 30 minutes at least");
    }
    if config.ipfs.as_ref().and_then(|ipfs| ipfs.gateway.as_ref()).is_some_and(|gateway| !is_web(gateway.expose())) {
        problem("ipfs.gateway".into(), "not an http or https URL");
    }
    for (key, what) in config.access.x402.problems(config) {
        problem(format!("access.x402.{key}"), &what);
    }
    reputation_problems(config, &mut found);
    found
}

fn reputation_problems(config: &Config, found: &mut Vec<Problem>) {
    let mut problem = |key: &str, what: &str| found.push(Problem { key: key.into(), what: what.to_owned() });
    if let Some(agents) = &config.agents {
        if !config.chains.iter().any(|chain| chain.id == agents.chain) {
            problem("agents.chain", "no [[chains]] has this id; add the chain that the registries are on");
        }
        for (key, address) in
            [("identity_registry", agents.identity_registry), ("reputation_registry", agents.reputation_registry)]
        {
            if address.is_zero() {
                problem(&format!("agents.{key}"), "the zero address; name the contract");
            }
        }
        if agents.identity_registry == agents.reputation_registry {
            problem("agents.reputation_registry", "the same as agents.identity_registry");
        }
    }
    if let Some(reputation) = &config.reputation {
        for (key, what) in reputation.problems() {
            problem(&format!("reputation.{key}"), what);
        }
        if config.agents.is_none() {
            problem("reputation", "set without [agents]; name the registries that feedback goes to");
        }
        if config.ipfs.as_ref().is_none_or(|ipfs| ipfs.api.is_none()) {
            problem("ipfs.api", "missing; feedback documents need a Kubo-compatible node");
        }
    }
    let Some(ipfs) = &config.ipfs else { return };
    let urls = [
        ("ipfs.api", ipfs.api.as_ref()),
        ("ipfs.gateway", ipfs.gateway.as_ref()),
        ("ipfs.pinning.api", ipfs.pinning.as_ref().map(|p| &p.api)),
    ];
    for (key, url) in urls {
        if url
            .is_some_and(|url| !url::Url::parse(url.expose()).is_ok_and(|url| matches!(url.scheme(), "http" | "https")))
        {
            problem(key, "not an http or https URL");
        }
    }
}

fn chain_problems(chain: &ChainConfig) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    if chain.id == 0 {
        found.push(("id".into(), "0 is no chain id"));
    }
    if chain.rpc.is_empty() {
        found.push(("rpc".into(), "empty; at least one JSON-RPC URL is needed"));
    }
    for (i, rpc) in chain.rpc.iter().enumerate() {
        if !is_web(rpc.expose()) {
            found.push((format!("rpc[{i}]"), "not an http or https URL"));
        }
    }
    if chain.explorer.as_ref().is_some_and(|explorer| !is_web(explorer.expose())) {
        found.push(("explorer".into(), "not an http or https URL"));
    }
    let tokens = chain.tokens.iter().enumerate().map(|(i, token)| (format!("tokens[{i}].heartbeat"), token.heartbeat));
    for (key, heartbeat) in [("native.heartbeat".to_owned(), chain.native.heartbeat)].into_iter().chain(tokens) {
        if !(1..=LONGEST_HEARTBEAT).contains(&heartbeat) {
            found.push((key, "must be 1 to 604800 seconds, a week"));
        }
    }
    let mut markets = BTreeSet::new();
    for (i, market) in chain.markets.iter().enumerate() {
        if !markets.insert((market.protocol, market.address)) {
            found.push((format!("markets[{i}].address"), "this market is listed twice"));
        }
    }
    found
}

fn is_web(url: &str) -> bool {
    url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}
