//! Payment by call through the whole server: a real chain with a stub of the dollar token, and the unchanged public
//! clients.

mod abuse;
mod checked;
mod clients;
mod drained;
mod facilitated;
mod leaving;
mod once;
mod refusals;
mod statements;

use assay_tests::{
    payment::{Till, decode},
    service::{Answer, Caller, Service, answer, try_answer},
};
use reqwest::Method;
use serde_json::{Value, json};

pub(super) use abuse::{trap, trapped};

pub(super) const PATH: &str = "/api/v2/agents/1/reputation";

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
        assert_eq!(answer.json()["code"], "settlement_pending", "{}", answer.text);
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
