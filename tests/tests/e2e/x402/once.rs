//! A payment is settled once and spent once, however often it is presented and whenever the process dies.

use std::collections::BTreeSet;

use alloy::signers::local::PrivateKeySigner;
use assay_domain::Authorization;
use assay_tests::{
    devnet::actors,
    facilitator::{Facilitator, Manner},
    payment::{Dollar, PRICE, Till, USDC},
    proxy::{Proxy, Reply, hold_at},
    service::{Caller, Service},
    until::until,
};
use futures::future::join_all;
use serde_json::json;

use super::{PATH, pay, pay_until_settled, receipt, request, serve, submissions_of, try_pay};
use crate::{
    reputation::{confirmed, ended, subject, waiting},
    run,
};

#[test]
fn fifty_replays_at_once_are_one_transfer_and_one_submission() {
    run(async {
        let till = Till::start().await;
        let (_service, api) = serve(&till, "").await;
        let header = till.order().header();
        let answers = join_all((0..50).map(|_| pay_until_settled(&api, &header, 1))).await;
        let ids: BTreeSet<String> =
            answers.iter().map(|answer| answer.expect(202)["submission_id"].to_string()).collect();
        let hashes: BTreeSet<String> =
            answers.iter().map(|answer| receipt(answer)["transaction"].to_string()).collect();
        assert_eq!((ids.len(), hashes.len()), (1, 1), "{ids:?} {hashes:?}");
        confirmed(&api, answers[0].json()["status_url"].as_str().expect("a path")).await;
        assert_eq!((till.balance().await, till.transfers().await.len(), till.world.held().await.len()), (PRICE, 1, 1));
        assert_eq!(submissions_of(&api.get("/metrics").await.text), 1);
        // A client that lost the answer gets it again, also after the end; another request needs its own payment.
        assert_eq!(pay(&api, &header, 1).await.expect(202)["submission_id"].to_string(), *ids.first().expect("one"));
        let other = pay(&api, &header, 2).await;
        assert_eq!(other.expect(402)["error"], "invalid_exact_evm_nonce_already_used");
        let id = ids.first().expect("one").trim_matches('"').to_owned();
        let document = api.get(&format!("/api/v2/agents/1/reputation/feedback/{id}")).await;
        let settlement = &document.ok()["settlement"];
        assert_eq!(settlement["transaction"].to_string(), *hashes.first().expect("one"));
        assert_eq!(settlement["payer"], format!("eip155:8453:{}", till.order().authorization.from));
        println!("50 replays at once: {} submission, {} transfer", ids.len(), till.transfers().await.len());
    });
}

#[test]
fn who_is_slower_than_another_with_the_same_payment_gets_the_same() {
    run(async {
        let till = Till::start().await;
        let proxy = Proxy::start(till.world.chain.url()).await;
        let service = Service::start(&till.config(&proxy.url, ""));
        let api = service.anonymous();
        // The first payment also makes the calls to the asset that happen only once.
        let first = pay_until_settled(&api, &till.order().header(), 0).await.expect(202);
        confirmed(&api, first["status_url"].as_str().expect("a path")).await;
        let header = till.order().header();
        // The server finds the payment unused; its call to the asset is then held until the payment has been used.
        let mut held = false;
        proxy.rule(move |call| {
            let asset = call.params[0]["to"].as_str().is_some_and(|to| to.eq_ignore_ascii_case(&USDC.to_string()));
            if asset && !held {
                held = true;
                return Reply::Hold;
            }
            Reply::Pass
        });
        let slow = tokio::spawn({
            let (api, header) = (api.clone(), header.clone());
            async move { pay_until_settled(&api, &header, 1).await }
        });
        tokio::time::timeout(crate::reputation::PATIENCE, proxy.held()).await.expect("the asset is asked");
        let quick = pay_until_settled(&api, &header, 1).await.expect(202);
        proxy.release(1);
        let slow = slow.await.expect("it is answered").expect(202);
        assert_eq!(slow["submission_id"], quick["submission_id"]);
        assert_eq!((till.balance().await, till.transfers().await.len()), (2 * PRICE, 2));
    });
}

#[test]
fn fifty_payments_at_once_all_arrive_beside_submissions_of_keys() {
    run(async {
        let till = Till::start().await;
        let (service, api) = serve(&till, "settle_ms = 29_000").await;
        let headers: Vec<String> = (0..12).map(|_| till.order().header()).collect();
        let paying = join_all(headers.iter().enumerate().map(|(n, header)| pay_until_settled(&api, header, n)));
        // The same account sends the feedback of these submissions: all its nonces are assigned in one place.
        let keyed = service.keyed();
        let submitting = join_all((0..4).map(async |n| {
            let body =
                keyed.post(PATH, &json!({ "address": subject(100 + n), "tags": ["sybilRisk"] })).await.expect(202);
            body["status_url"].as_str().expect("a path").to_owned()
        }));
        let (paid, submitted) = tokio::join!(paying, submitting);
        let paths = paid
            .iter()
            .map(|answer| answer.expect(202)["status_url"].as_str().expect("a path").to_owned())
            .chain(submitted);
        for path in paths.collect::<BTreeSet<_>>() {
            confirmed(&api, &path).await;
        }
        assert_eq!((till.balance().await, till.transfers().await.len()), (12 * PRICE, 12));
        assert_eq!(till.world.held().await.len(), 16);
        assert!(api.get("/metrics").await.text.contains("\nassay_nonces_lost_total 0\n"));
    });
}

#[test]
fn who_signs_for_more_than_they_have_buys_what_they_have() {
    run(async {
        let till = Till::start().await;
        let (_service, api) = serve(&till, "").await;
        let poor = PrivateKeySigner::random();
        till.mint(poor.address(), PRICE).await;
        let order = || {
            let mut order = till.order();
            (order.authorization.from, order.signer) = (poor.address(), poor.clone());
            order.header()
        };
        let headers = [order(), order(), order()];
        let answers = join_all(headers.iter().enumerate().map(|(n, header)| pay_until_settled(&api, header, n))).await;
        let paid = answers.iter().filter(|answer| answer.status == 202).count();
        assert!(answers.iter().all(|answer| answer.status == 202 || answer.json()["error"] == "insufficient_funds"));
        assert_eq!((paid, till.balance().await, till.transfers().await.len()), (1, PRICE, 1));
        assert_eq!(submissions_of(&api.get("/metrics").await.text), 1);
    });
}

#[test]
fn a_transfer_that_somebody_else_sends_is_the_payment_and_a_cancelled_one_is_not() {
    run(async {
        let till = Till::start().await;
        let proxy = Proxy::start(till.world.chain.url()).await;
        let service = Service::start(&till.config(&proxy.url, ""));
        let api = service.anonymous();
        for (n, cancels) in [false, true].into_iter().enumerate() {
            let order = till.order();
            let header = order.header();
            proxy.rule(hold_at("eth_estimateGas", 1, false));
            let presented = tokio::spawn({
                let (api, header) = (api.clone(), header.clone());
                async move { pay_until_settled(&api, &header, n).await }
            });
            proxy.held().await;
            let Authorization { from, nonce, .. } = order.authorization;
            if cancels {
                till.send(from, USDC, &Dollar::cancelAuthorizationCall { nonce }).await;
            } else {
                till.send(actors::address(actors::FAUCET), USDC, &order.call()).await;
            }
            proxy.rule(|_| Reply::Pass);
            proxy.release(1);
            let answer = presented.await.expect("the caller is told");
            if cancels {
                assert_eq!(answer.expect(402)["error"], "invalid_exact_evm_nonce_already_used");
            } else {
                answer.expect(202);
                assert_eq!(receipt(&answer)["transaction"], till.transfers().await[0]);
            }
            assert_eq!((till.balance().await, till.transfers().await.len()), (PRICE, 1));
        }
    });
}

#[test]
fn one_idempotency_key_pays_once_whatever_is_signed_after() {
    run(async {
        let till = Till::start().await;
        let (_service, api) = serve(&till, "").await;
        let body = json!({ "address": subject(3) });
        let send = async |header: String| {
            let request =
                api.request(reqwest::Method::POST, PATH).header("idempotency-key", "one").header("x-payment", header);
            assay_tests::service::answer(request.json(&body)).await
        };
        let first = send(till.order().header()).await;
        let second = send(till.order().header()).await;
        assert_eq!(first.expect(202)["submission_id"], second.expect(202)["submission_id"]);
        assert!(!second.headers.contains_key("x-payment-response"), "nothing was paid");
        assert_eq!((till.balance().await, till.transfers().await.len()), (PRICE, 1));
    });
}

#[test]
fn the_payment_of_a_failed_submission_pays_for_the_same_request_alone() {
    run(async {
        let till = Till::start().await;
        let config = till.config(till.world.chain.url(), "");
        let service = Service::start(&config.replace("poll_ms = 50", "poll_ms = 50\ngive_up_after_ms = 8000"));
        let api = service.anonymous();
        let order = till.order();
        till.world.ipfs.be(assay_tests::ipfs::Mood::Down);
        let first = pay(&api, &order.header(), 1).await.expect(202);
        // One with an Idempotency-Key, by another payment.
        let keyed_order = till.order();
        let keyed = async |api: &Caller| {
            let request = request(api, &keyed_order.header(), 4).header("idempotency-key", "one");
            assay_tests::service::answer(request).await.expect(202)
        };
        let keyed_first = keyed(&api).await;
        for submission in [&first, &keyed_first] {
            let status = ended(&api, submission["status_url"].as_str().expect("a path")).await;
            assert_eq!(status["status"], "failed");
        }
        till.world.ipfs.be(assay_tests::ipfs::Mood::Well);
        // The next submission has all the time that it needs.
        let service = Service::start_in(service.kill(), &config, &[]);
        let api = service.anonymous();
        // Authorization and signature are public in the transfer's calldata: anybody can present them.
        let hash = till.transfers().await[0].clone();
        let sent = till.world.rpc("eth_getTransactionByHash", json!([hash])).await;
        let calldata = sent["input"].as_str().expect("calldata").to_owned();
        let signature = order.signature().to_string();
        assert!(calldata.contains(&signature[2..66]), "the signature is public");
        let stolen = pay(&api, &order.header(), 2).await;
        println!("the payment of a failed submission, presented for another: {} {}", stolen.status, stolen.text);
        assert_eq!(stolen.expect(402)["error"], "invalid_exact_evm_nonce_already_used");
        // The payer gets what was paid for, also with another payment for the same request, which is not taken.
        let again = pay(&api, &till.order().header(), 1).await.expect(202);
        assert_ne!(again["submission_id"], first["submission_id"]);
        confirmed(&api, again["status_url"].as_str().expect("a path")).await;
        assert_eq!(pay(&api, &order.header(), 1).await.expect(202)["submission_id"], again["submission_id"]);
        let keyed_again = keyed(&api).await;
        assert_ne!(keyed_again["submission_id"], keyed_first["submission_id"]);
        confirmed(&api, keyed_again["status_url"].as_str().expect("a path")).await;
        assert_eq!(keyed(&api).await["submission_id"], keyed_again["submission_id"]);
        assert_eq!((till.balance().await, till.transfers().await.len()), (2 * PRICE, 2));
    });
}

#[test]
fn a_payment_that_arrives_late_is_of_the_request_it_was_made_for() {
    run(async {
        let till = Till::start().await;
        let facilitator = Facilitator::start(&till.world.chain.rpc).await;
        let keys = format!("facilitator = \"{}\"\nfacilitator_timeout_ms = 10_000", facilitator.url);
        let (_service, api) = serve(&till, &keys).await;
        // The facilitator refuses it, and settles it later.
        facilitator.be(Manner::Refusing);
        let order = till.order();
        assert_eq!(pay(&api, &order.header(), 1).await.expect(402)["error"], "insufficient_funds");
        till.send(actors::address("facilitator"), USDC, &order.call()).await;
        let stolen = pay_until_settled(&api, &order.header(), 2).await;
        println!("a payment that arrived late, presented for another request: {} {}", stolen.status, stolen.text);
        assert_eq!(stolen.expect(402)["error"], "invalid_exact_evm_nonce_already_used");
        pay_until_settled(&api, &order.header(), 1).await.expect(202);
    });
}

#[test]
fn a_transfer_that_a_reorganisation_puts_below_the_start_is_found() {
    run(async {
        let till = Till::start().await;
        let (_service, api) = serve(&till, "").await;
        till.world.mining(false).await;
        till.world.rpc("anvil_mine", json!(["0x8"])).await;
        let presented = tokio::spawn({
            let (api, header) = (api.clone(), till.order().header());
            async move { pay_until_settled(&api, &header, 1).await }
        });
        waiting(&till.world, 1).await;
        // The payment is unused in the newest block. Four blocks are replaced, and the transfer is in the first.
        till.world.rpc("anvil_rollback", json!([4])).await;
        till.world.mining(true).await;
        let answer = tokio::time::timeout(crate::reputation::PATIENCE, presented).await;
        println!("a transfer below the start: {}", answer.as_ref().map_or("never clear", |_| "found"));
        answer.expect("it becomes clear").expect("the caller is told").expect(202);
        assert_eq!((till.balance().await, till.transfers().await.len()), (PRICE, 1));
    });
}

/// The moment when the process is killed.
#[derive(Debug, Clone, Copy)]
enum Boundary {
    /// At the nth call of a method, before the call reaches the node.
    At(&'static str, usize),
    /// At the first call after that one, so the process has not seen its effect.
    After(&'static str, usize),
    /// Directly after the transfer is mined.
    Arrived,
    /// Directly after the answer.
    Answered,
}

const BOUNDARIES: [Boundary; 8] = [
    Boundary::At("eth_feeHistory", 1),
    Boundary::At("eth_estimateGas", 1),
    Boundary::At("eth_sendRawTransaction", 1),
    Boundary::After("eth_sendRawTransaction", 1),
    Boundary::At("eth_getLogs", 1),
    Boundary::At("eth_getTransactionReceipt", 1),
    Boundary::Arrived,
    Boundary::Answered,
];

#[test]
fn killed_around_settling_it_is_one_transfer_and_one_submission() {
    run(async {
        let till = Till::start().await;
        let proxy = Proxy::start(till.world.chain.url()).await;
        let config = till.config(&proxy.url, "");
        let mut service = Service::start(&config);
        let mut ids = BTreeSet::new();
        for (n, boundary) in BOUNDARIES.into_iter().enumerate() {
            let (api, header) = (service.anonymous(), till.order().header());
            // The open work of the last process is done by then, so only calls for this payment are counted.
            let presented = match boundary {
                Boundary::At(method, nth) => Some(hold_at(method, nth, false)),
                Boundary::After(method, nth) => Some(hold_at(method, nth, true)),
                Boundary::Arrived | Boundary::Answered => None,
            };
            let held = presented.is_some();
            if let Some(rule) = presented {
                proxy.rule(rule);
            }
            let asked = tokio::spawn({
                let (api, header) = (api.clone(), header.clone());
                async move { try_pay(&api, &header, n).await }
            });
            match boundary {
                Boundary::At(..) | Boundary::After(..) => {
                    let reached = tokio::time::timeout(crate::reputation::PATIENCE, proxy.held()).await;
                    assert!(reached.is_ok(), "{boundary:?} is never reached");
                }
                Boundary::Arrived => {
                    until(async || till.transfers().await.len(), |transfers| *transfers > n).await;
                }
                Boundary::Answered => {
                    assert!(asked.await.expect("the caller is told").is_some_and(|answer| answer.status == 202))
                }
            }
            let dir = service.kill();
            proxy.rule(|_| Reply::Pass);
            proxy.release(usize::from(held));
            service = Service::start_in(dir, &config, &[]);
            let api = service.anonymous();
            let answer = pay_until_settled(&api, &header, n).await;
            let body = answer.expect(202);
            assert_eq!(receipt(&answer)["success"], true);
            assert_eq!(
                (till.transfers().await.len(), till.balance().await),
                (n + 1, (n as u64 + 1) * PRICE),
                "{boundary:?}"
            );
            ids.insert(body["submission_id"].to_string());
            confirmed(&api, body["status_url"].as_str().expect("a path")).await;
        }
        assert_eq!((ids.len(), till.world.held().await.len()), (BOUNDARIES.len(), BOUNDARIES.len()));
        println!(
            "{} kills around settling: {} transfers, {} submissions",
            BOUNDARIES.len(),
            till.transfers().await.len(),
            ids.len()
        );
    });
}
