//! Payment by call through the whole server: a real chain with a stub of the dollar token, and the unchanged public
//! clients.

mod abuse;
mod checked;
mod clients;
mod copied;
mod drained;
mod facilitated;
mod gas;
mod leaving;
mod once;
mod priced;
mod queued;
mod refusals;
mod statements;
mod unkeyed;
mod variants;
mod watches;

use assay_tests::{
    payment::{Till, decode},
    service::{Answer, Caller, Service, answer, try_answer},
};
use reqwest::Method;
use serde_json::{Value, json};

pub(super) use abuse::{trap, trapped};

pub(super) const PATH: &str = "/api/v2/agents/1/reputation";

/// A host's configuration with these keys in `[reputation.gas]`. A unit of gas costs a tenth of a millionth of a
/// dollar, so that a transfer can cost about a cent.
pub(super) fn with_gas(config: &str, gas: &str) -> String {
    let plain = "gas = { native_usd = 1.0 }";
    assert!(config.contains(plain), "{config}");
    config.replace(plain, &format!("gas = {{ native_usd = 100_000.0, {gas} }}"))
}

/// Dollars for `gas` units of gas, as [`with_gas`] prices them.
pub(super) fn dollars(gas: u64) -> f64 {
    gas as f64 / 1e7
}

/// Makes submission `n` with a payment of version 1.
pub(super) async fn pay(api: &Caller, header: &str, n: usize) -> Answer {
    answer(request(api, header, n)).await
}

/// As [`pay`]; `None` if the server ended before it answered.
async fn try_pay(api: &Caller, header: &str, n: usize) -> Option<Answer> {
    try_answer(request(api, header, n)).await.ok()
}

fn request(api: &Caller, header: &str, n: usize) -> reqwest::RequestBuilder {
    let body = json!({ "address": crate::reputation::subject(n), "tags": ["sybilRisk"] });
    api.request(Method::POST, PATH).header("x-payment", header).json(&body)
}

/// The payment result in the header of version 1.
#[track_caller]
fn receipt(answer: &Answer) -> Value {
    decode(answer.headers["x-payment-response"].to_str().expect("text"))
}

/// Sends a payment repeatedly until its settlement has ended.
pub(super) async fn pay_until_settled(api: &Caller, header: &str, n: usize) -> Answer {
    loop {
        let answer = pay(api, header, n).await;
        if answer.status != 503 {
            return answer;
        }
        let code = answer.json()["code"].clone();
        assert!(code == "settlement_pending" || code == "settlement_queued", "{}", answer.text);
        assert!(answer.headers.contains_key("retry-after"));
    }
}

async fn serve(till: &Till, x402: &str) -> (Service, Caller) {
    let service = Service::start(&till.config(till.world.chain.url(), x402));
    let api = service.anonymous();
    (service, api)
}

/// The number of pending submissions in this text of metrics.
fn submissions_of(text: &str) -> usize {
    text.lines()
        .filter(|line| line.starts_with("assay_submissions_total") && line.contains("status=\"pending\""))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok())
        .sum()
}
