//! The problems of a configuration: those of each section, and those that are about several sections.

use std::collections::BTreeSet;

use assay_domain::settings::{Problem, Problems};

use super::Config;
use assay_store::config::Backend;

/// Everything that is wrong with `config`.
pub(super) fn problems(config: &Config) -> Vec<Problem> {
    let mut found = Problems::default();
    for (i, chain) in config.chains.iter().enumerate() {
        found.section(&format!("chains[{i}]"), chain.problems());
    }
    for (section, problems) in [
        ("http", config.http.problems()),
        ("models", config.models.problems()),
        ("store", config.store.problems()),
        ("access", config.access.problems()),
        ("access.x402", config.access.x402.problems()),
        ("reading", config.reading.problems()),
        ("scoring", config.scoring.problems()),
        ("promotion", config.promotion.problems()),
        ("prices", config.prices.problems()),
        ("names", config.names.problems()),
        ("identity", config.identity.problems()),
        ("outbound", config.outbound.problems()),
        ("watches", config.watches.problems()),
        ("batch", config.batch.problems()),
        ("telemetry", config.telemetry.problems()),
    ] {
        found.section(section, problems);
    }
    let redis = config.store.url.as_ref().filter(|_| config.store.backend == Backend::Redis);
    if let Some(why) = redis.and_then(|url| assay_store::fault_of_url(url.expose())) {
        found.add("store.url", why);
    }
    if let Some(agents) = &config.agents {
        found.section("agents", agents.problems());
    }
    if let Some(reputation) = &config.reputation {
        found.section("reputation", reputation.problems());
    }
    if let Some(ipfs) = &config.ipfs {
        found.section("ipfs", ipfs.problems());
    }
    if let Some(attestation) = &config.attestation {
        let submits = config.reputation.as_ref().and_then(|reputation| reputation.account());
        found.section("attestation", attestation.problems(submits.map(|account| account.address())));
    }
    chains(config, &mut found);
    timeouts(config, &mut found);
    submissions(config, &mut found);
    payments(config, &mut found);
    found.into_vec()
}

fn chains(config: &Config, found: &mut Problems) {
    let mut ids = BTreeSet::new();
    for (i, chain) in config.chains.iter().enumerate() {
        let twice = !ids.insert(chain.id);
        found.add_if(twice, format!("chains[{i}].id"), "another chain has this id; name each chain once");
    }
    let unknown = config.agents.as_ref().is_some_and(|agents| !ids.contains(&agents.chain));
    found.add_if(unknown, "agents.chain", "no [[chains]] has this id; add the chain that the registries are on");
}

fn timeouts(config: &Config, found: &mut Problems) {
    let late = config.scoring.read_budget >= config.http.request_timeout;
    let what = "not below http.request_timeout_ms; a first read could never answer pending";
    found.add_if(late, "scoring.read_budget_ms", what);
    let x402 = &config.access.x402;
    let wrong = x402.settle.is_zero() || x402.settle >= config.http.request_timeout;
    let what = "must be at least 1 and below http.request_timeout_ms";
    found.add_if(x402.enabled && wrong, "access.x402.settle_ms", what);
}

/// Submissions need `[agents]`, `[reputation]` and a node in `[ipfs]`.
fn submissions(config: &Config, found: &mut Problems) {
    if config.reputation.is_none() {
        return;
    }
    let what = "set without [agents]; name the registries that feedback goes to";
    found.add_if(config.agents.is_none(), "reputation", what);
    let no_node = config.ipfs.as_ref().is_none_or(|ipfs| ipfs.api.is_none());
    found.add_if(no_node, "ipfs.api", "missing; feedback documents need a Kubo-compatible node");
}

fn payments(config: &Config, found: &mut Problems) {
    let x402 = &config.access.x402;
    if !x402.enabled {
        return;
    }
    let what = "set without [reputation]; payments buy submissions, so configure it";
    found.add_if(config.reputation.is_none(), "access.x402.enabled", what);
    let pays_on = x402.domain().filter(|_| x402.is_local()).map(|domain| domain.chain);
    let submits_on = config.agents.as_ref().map(|agents| agents.chain);
    let elsewhere = pays_on.zip(submits_on).is_some_and(|(pays_on, submits_on)| pays_on != submits_on);
    let what = "local, but on another chain than agents.chain: the account of [reputation] settles only on its own \
                chain; set the URL of a facilitator";
    found.add_if(elsewhere, "access.x402.facilitator", what);
}
