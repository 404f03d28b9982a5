//! What a request without a key causes: calls to chains, counted, and compared with the table of the guide for
//! operators; and the rates that all such callers share.

use std::time::Duration;

use alloy::signers::local::PrivateKeySigner;
use assay_tests::{
    payment::{PRICE, Till},
    proxy::Proxy,
    service::{Answer, Caller, Service},
};
use serde_json::json;
use tokio::time::timeout;

use super::{PATH, drained::order, pay, pay_until_settled};
use crate::{
    reputation::{PATIENCE, confirmed, subject},
    run,
};

/// The figure of this kind in the guide for operators: the calls of one request, or a number and that for each agent.
fn figure(kind: &str) -> (usize, usize) {
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../host/docs/operate.md"));
    let guide = guide.expect("the guide");
    let row = guide.lines().find(|line| line.starts_with(&format!("| {kind} | ")));
    let cell = row.and_then(|row| row.split(" | ").nth(1)).unwrap_or_else(|| panic!("no row for {kind}"));
    let number = |text: &str| text.replace(',', "").parse().unwrap_or_else(|_| panic!("{kind}: {cell}"));
    let (first, each) = cell.split_once(" + ").map_or((cell, "0"), |(first, each)| (first, each));
    (number(first), number(each.trim_end_matches(" per agent")))
}

/// The calls of a request, when no call comes for half a second.
async fn calls(proxy: &Proxy, request: impl Future<Output = Answer>) -> (usize, Answer) {
    let quiet = async || {
        let mut seen = 0;
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            match proxy.take().len() {
                0 => return seen,
                more => seen += more,
            }
        }
    };
    timeout(PATIENCE, quiet()).await.expect("the host is quiet at some time");
    let answer = request.await;
    (timeout(PATIENCE, quiet()).await.expect("it is quiet again"), answer)
}

/// As [`calls`], repeated if there is one call too many: the server itself asks for the head every 30 seconds.
async fn calls_up_to(most: usize, proxy: &Proxy, request: impl AsyncFn() -> Answer) -> (usize, Answer) {
    let (made, answer) = calls(proxy, request()).await;
    if made == most + 1 { calls(proxy, request()).await } else { (made, answer) }
}

#[test]
fn a_request_without_a_key_causes_what_the_guide_says() {
    run(async {
        let till = Till::start().await;
        let proxy = Proxy::start(till.world.chain.url()).await;
        let service = Service::start(&format!("check_live = false\n{}", till.config(&proxy.url, "settle_ms = 29_000")));
        let api = service.anonymous();
        let get = async |path: &str| api.get(path).await;
        get("/api/v2/agents?limit=1").await.ok();
        let (first, each) = figure("agents");
        let (one, _) = calls_up_to(first + each, &proxy, async || get("/api/v2/agents?limit=1").await).await;
        let (none, _) = calls_up_to(first, &proxy, async || get("/api/v2/agents?limit=1&page=99").await).await;
        println!("agents: {none} calls and {} for an agent", one - none);
        assert_eq!((none, one - none), (first, each));
        let missing = "00000000-0000-4000-8000-000000000000";
        let (status, document) =
            (format!("{PATH}/status/{missing}"), format!("/api/v2/reputation/1/feedback/{missing}"));
        let evidence = format!("/api/v2/score/{missing}/evidence");
        for (kind, path) in [
            ("pages", "/"),
            ("pages", "/console/"),
            ("pages", "/openapi.json"),
            ("pages", "/nowhere"),
            ("pages", "/api/v2/models"),
            ("operation", "/metrics"),
            ("operation", "/readyz"),
            ("search", "/api/v2/agents/search?q=a"),
            ("agent", "/api/v2/agents/1"),
            ("reputation", PATH),
            ("records", &status),
            ("records", &document),
            ("records", &evidence),
            ("records", "/api/v2/models/credit/1.1/component"),
        ] {
            let most = figure(kind).0;
            let (made, answer) = calls_up_to(most, &proxy, async || get(path).await).await;
            println!("{kind}, {path}: {made} calls, at most {most}; {}", answer.status);
            assert!(made <= most, "{path}: {made}");
        }
        let mut forged = till.order();
        forged.signer = PrivateKeySigner::random();
        let poor = PrivateKeySigner::random();
        let body = json!({ "address": subject(1) });
        for (kind, status, request) in [
            ("no payment", 402, None),
            ("forged payment", 402, Some(forged.header())),
            ("unpayable payment", 402, Some(order(&till, &poor).header())),
        ] {
            let asked = async || match &request {
                Some(header) => pay(&api, header, 1).await,
                None => api.post(PATH, &body).await,
            };
            let most = figure(kind).0;
            let (made, answer) = calls_up_to(most, &proxy, asked).await;
            println!("{kind}: {made} calls, at most {most}; {}", answer.status);
            answer.expect(status);
            assert!(made <= most && made * 2 >= most, "{kind}: {made} of {most}");
        }
        let paid = async {
            let answer = pay_until_settled(&api, &till.order().header(), 1).await;
            confirmed(&api, answer.expect(202)["status_url"].as_str().expect("a path")).await;
            answer
        };
        let (made, _) = calls(&proxy, paid).await;
        println!("a payment and its submission: {made} calls");
        assert_eq!(till.balance().await, PRICE);
    });
}

/// How many of 8 requests are refused by the rate of all callers together.
async fn refused(policy: &str, request: impl AsyncFn(usize) -> Answer) -> usize {
    let mut refused = 0;
    for n in 0..8 {
        let answer = request(n).await;
        if answer.status == 429 {
            assert_eq!(answer.json()["violated-policies"], json!([policy]), "{}", answer.text);
            assert!(answer.headers.contains_key("retry-after"));
            refused += 1;
        }
    }
    refused
}

#[test]
fn callers_without_a_key_share_a_rate_and_those_who_pay_another_one() {
    run(async {
        let till = Till::start().await;
        let config = till.config(till.world.chain.url(), "").replace("guest_rate = 0", "guest_rate = 3");
        let service = Service::start(&(config + "[http]\ntrusted_proxies = [\"127.0.0.1\"]\n"));
        let (api, keyed) = (service.anonymous(), service.keyed());
        // Each from another address.
        let from = |api: &Caller, n: usize, path: &str| {
            api.request(reqwest::Method::GET, path).header("x-forwarded-for", format!("198.51.100.{n}"))
        };
        let guests =
            refused("guests", async |n| assay_tests::service::answer(from(&api, n, "/api/v2/agents/1")).await).await;
        let forged = |n: usize| {
            let mut order = till.order();
            order.signer = PrivateKeySigner::random();
            let request = api.request(reqwest::Method::POST, PATH).header("x-payment", order.header());
            let request = request.header("x-forwarded-for", format!("198.51.100.{n}"));
            request.json(&json!({ "address": subject(n) }))
        };
        let payers = refused("payers", async |n| assay_tests::service::answer(forged(n)).await).await;
        println!(
            "of 8 requests from 8 addresses, {guests} of guests and {payers} of payers are refused at a rate of 3"
        );
        assert!((4..=5).contains(&guests) && (4..=5).contains(&payers), "{guests} {payers}");
        // Keys have their own rates, and pages have none together.
        for n in 0..8 {
            assay_tests::service::answer(from(&keyed, n, "/api/v2/agents/1")).await.ok();
            assert_eq!(assay_tests::service::answer(from(&api, n, "/openapi.json")).await.status, 200);
        }
    });
}
