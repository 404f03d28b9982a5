//! The scenarios of the sandbox: each answers as its description says, with the bytes of a real server under the real
//! condition.

mod answers;
mod file;
mod own;
mod payments;
mod reports;
mod submissions;

use std::collections::BTreeMap;

use assay_tests::service::{Answer, Caller, Service, plugins, sandbox_config};
use serde_json::Value;

fn sandbox(more: &str) -> Service {
    let config = sandbox_config(&plugins()) + more;
    Service::start_in(tempfile::tempdir().expect("a temporary folder"), &config, &["--sandbox"])
}

/// The addresses and agents of the scenarios by their ids.
async fn listed(api: &Caller) -> (BTreeMap<String, String>, BTreeMap<String, u64>) {
    let body = api.get("/api/v2/sandbox/scenarios").await.ok();
    let all = body["scenarios"].as_array().expect("a list");
    assert_eq!(body["count"], all.len());
    let id = |one: &Value| one["id"].as_str().expect("an id").to_owned();
    let addresses = all.iter().filter_map(|one| Some((id(one), one["address"].as_str()?.to_owned())));
    let agents = all.iter().filter_map(|one| Some((id(one), one["agent_id"].as_u64()?)));
    (addresses.collect(), agents.collect())
}

async fn score(api: &Caller, address: &str) -> Answer {
    api.get(&format!("/api/v2/score/address/{address}")).await
}

async fn report(api: &Caller, address: &str) -> Value {
    api.get(&format!("/api/v2/report/address/{address}")).await.ok()
}

fn pools(report: &Value) -> &Vec<Value> {
    report["credit_events"]["pools"].as_array().expect("pools")
}

/// `text` with each number, address and time replaced: they differ between two servers.
fn without_figures(text: &str) -> String {
    let words = text.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric());
    let plain = words.map(|word| match word.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric()) {
        end if word.starts_with(|letter: char| letter.is_ascii_digit()) => format!("#{end}"),
        _ => word.to_owned(),
    });
    plain.collect()
}
