//! Statements that payments buy: each once, without a key, and also after the server died in between.

use alloy::primitives::{Address, U256};
use assay_tests::{
    payment::{Order, Till, npm_client, pypi_client},
    redis::{self, DURABLE, Redis},
    service::{Answer, Caller, Service, answer},
    until::until,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::receipt;
use crate::{
    reputation::subject,
    run,
    statements::{ATTESTER, Filed, PREDEPLOY, signing},
};

/// Price of a statement: half of that of a submission.
const PRICE: u64 = 50_000;

fn path(wallet: Address) -> String {
    format!("/api/v2/score/address/{wallet}/attestation")
}

/// A configuration whose statements are sold.
fn selling(till: &Till) -> String {
    let config = till.config(till.world.chain.url(), &format!("statement_price = {PRICE}"));
    let config = config.replacen("[models]", "[models]\npublic = true", 1);
    format!("{config}{}", signing(ATTESTER, 8453, PREDEPLOY))
}

fn order(till: &Till) -> Order {
    let mut order = till.order();
    order.authorization.value = U256::from(PRICE);
    order
}

/// Presents a payment until it is settled.
async fn buy(api: &Caller, path: &str, header: &str) -> Answer {
    loop {
        let bought = answer(api.request(Method::POST, path).header("x-payment", header)).await;
        if bought.status != 503 {
            return bought;
        }
        assert_eq!(bought.json()["code"], "settlement_pending", "{}", bought.text);
    }
}

#[test]
fn a_payment_buys_one_statement_that_anyone_can_verify() {
    run(async {
        let till = Till::start().await;
        let service = Service::start(&selling(&till));
        let api = service.anonymous();
        let path = path(subject(1));
        let asked = api.post(&path, &json!({})).await.expect(402);
        let accepts = &asked["accepts"][0];
        assert_eq!(
            (&accepts["maxAmountRequired"], &accepts["payTo"]),
            (&json!("50000"), &json!(till.pay_to.to_checksum(None)))
        );
        assert_eq!(accepts["description"], "Signed statement of a credit score, an off-chain EAS attestation");
        assert!(asked["detail"].as_str().is_some_and(|words| words.contains("0.05 USD Coin")), "{asked}");

        let header = order(&till).header();
        let bought = buy(&api, &path, &header).await;
        let statement = bought.ok();
        assert_eq!(receipt(&bought)["success"], true);
        assert_eq!((till.balance().await, till.transfers().await.len()), (PRICE, 1));
        let filed = Filed::made(&api, statement.clone()).await;
        filed.verify(&[]).agrees(&["statement", "signature", "signer", "term", "evidence", "model"]);

        // A client that lost the answer gets it again, with the same payment or another one, which is not taken.
        assert_eq!(buy(&api, &path, &header).await.ok(), statement);
        let another = buy(&api, &path, &order(&till).header()).await;
        assert_eq!((another.ok(), another.headers.get("x-payment-response")), (statement, None));
        // Whatever else is asked for needs a payment of its own, and a statement does not pay for a submission.
        for other in [self::path(subject(2)), format!("{path}?model_version=1.1")] {
            let refused = buy(&api, &other, &header).await.expect(402);
            assert_eq!(refused["error"], "invalid_exact_evm_nonce_already_used", "{other}");
        }
        let submitted = super::pay(&api, &header, 1).await.expect(402);
        assert_eq!(submitted["error"], "invalid_exact_evm_nonce_already_used");
        let too_little = super::pay(&api, &order(&till).header(), 1).await.expect(402);
        assert_eq!(too_little["error"], "invalid_exact_evm_payload_authorization_value");
        assert_eq!((till.balance().await, till.transfers().await.len()), (PRICE, 1));
        assert!(api.get("/metrics").await.text.contains("assay_statements_sold_total 1"));
    });
}

#[test]
fn what_cannot_be_stated_is_refused_before_a_payment_or_keeps_it() {
    run(async {
        let till = Till::start().await;
        let config = selling(&till).replacen("[scoring]", "[scoring]\ncache_ms = 1", 1);
        let service = Service::start(&config);
        let api = service.anonymous();
        let header = order(&till).header();
        let known = path(subject(1));
        for (query, status, code) in
            [("model_version=9.9", 404, "unknown_model"), ("as_of=2020-01-01", 409, "history_unread")]
        {
            assert_eq!(buy(&api, &format!("{known}?{query}"), &header).await.expect(status)["code"], code);
        }
        assert_eq!(till.balance().await, 0);

        // A wallet without activity has no statement until it has some.
        let idle = Address::repeat_byte(0xee);
        let refused = buy(&api, &path(idle), &header).await;
        let words = refused.expect(404);
        assert!(words["detail"].as_str().is_some_and(|words| words.contains("the payment is kept")), "{words}");
        assert_eq!(receipt(&refused)["success"], true);
        buy(&api, &path(idle), &order(&till).header()).await.expect(404);
        till.transact(json!({ "from": idle, "to": Address::ZERO, "gasPrice": "0x0" })).await;
        let statement = until(async || buy(&api, &path(idle), &header).await, |answer| answer.status == 200).await;
        assert_eq!(statement.ok()["sig"]["message"]["recipient"], idle.to_checksum(None));
        assert_eq!((till.balance().await, till.transfers().await.len()), (PRICE, 1));

        // Without [attestation] nothing is for sale, and a key is asked for.
        let silent = Service::start(&till.config(till.world.chain.url(), ""));
        assert_eq!(silent.anonymous().post(&known, &json!({})).await.status, 401);
    });
}

#[test]
fn a_payment_outlives_the_server_that_settled_it() {
    run(async {
        let till = Till::start().await;
        let config = selling(&till);
        let mut service = Service::start(&config);
        for n in 0..4 {
            let (path, header) = (path(subject(n)), order(&till).header());
            // In every other round the transfer has not landed when the server dies.
            let lands = n % 2 == 0;
            till.world.mining(lands).await;
            let asked = tokio::spawn({
                let (api, path, header) = (service.anonymous(), path.clone(), header.clone());
                async move {
                    let request = api.request(Method::POST, &path).header("x-payment", header);
                    let _ = request.send().await;
                }
            });
            if lands {
                until(async || till.transfers().await.len(), |transfers| *transfers > n).await;
            } else {
                crate::reputation::waiting(&till.world, 1).await;
            }
            let folder = service.kill();
            asked.abort();
            till.world.mining(true).await;
            service = Service::start_in(folder, &config, &[]);
            let api = service.anonymous();
            let statement = buy(&api, &path, &header).await.ok();
            assert_eq!(buy(&api, &path, &header).await.ok(), statement);
            assert_eq!((till.balance().await, till.transfers().await.len()), ((n as u64 + 1) * PRICE, n + 1));
        }
    });
}

#[test]
fn unchanged_clients_buy_statements() {
    run(async {
        let till = Till::start().await;
        let service = Service::start(&selling(&till));
        for n in 0..2 {
            let url = format!("{}{}", service.base(), path(subject(n)));
            let said: Value = match n {
                0 => npm_client(2, &url, &till.payer, &json!({})).await,
                _ => pypi_client(2, &url, &till.payer, &json!({})).await,
            };
            assert_eq!((&said["status"], &said["receipt"]["success"]), (&json!(200), &json!(true)), "{said}");
            assert_eq!(said["body"]["sig"]["message"]["recipient"], subject(n).to_checksum(None), "{said}");
            assert_eq!(till.transfers().await.len(), n + 1);
        }
        assert_eq!(till.balance().await, 2 * PRICE);
    });
}

#[test]
fn each_host_of_a_fleet_shows_what_another_sold() {
    run(async {
        let till = Till::start().await;
        let server = Redis::start(&DURABLE);
        let config = redis::on(&selling(&till), &format!("redis://127.0.0.1:{}", server.port), "sold:");
        let [one, two] = [Service::start(&config), Service::start(&config)];
        let (path, header) = (path(subject(1)), order(&till).header());
        let statement = buy(&one.anonymous(), &path, &header).await.ok();
        assert_eq!(buy(&two.anonymous(), &path, &header).await.ok(), statement);
        let filed = Filed::made(&two.anonymous(), statement).await;
        filed.verify(&[]).agrees(&["statement", "signature", "signer", "term", "evidence", "model"]);
        assert_eq!((till.balance().await, till.transfers().await.len()), (PRICE, 1));
        // With a key as well: what one host signs is shown by the other.
        let keyed = one.keyed().post(&path, &json!({})).await.ok();
        let filed = Filed::made(&two.keyed(), keyed).await;
        filed.verify(&[]).agrees(&["statement", "signature", "signer", "term", "evidence", "model"]);
    });
}
