//! Failures of everything around the host: each submission is confirmed, or it fails with a message and a refund; none
//! is written twice.

use std::time::Instant;

use alloy::consensus::{SignableTransaction, TxEip1559};
use alloy::eips::eip2718::Encodable2718;
use alloy::primitives::{Bytes, TxKind, U256};
use alloy::signers::SignerSync;
use assay_tests::{
    ipfs::Mood,
    proxy::{Proxy, Reply},
    reputation::{CHAIN, World},
    service::{Answer, Caller, Service},
    until::until,
};
use serde_json::{Value, json};

use super::{ALL, check, confirmed, ended, said, submit};
use crate::run;

const METERED: &str = "assay_reputation_faulty";

/// A server with a key of 10 units: a second submission is admitted only if the first was refunded.
fn serve(world: &World, rpc: &str, reputation: &str) -> (Service, Caller) {
    let key = format!(
        "[[access.keys]]\nname = \"faulty\"\nkey = \"{METERED}\"\nscopes = [\"read\", \"submit\"]\nunits = 10\n"
    );
    let service = Service::start(&(world.config(rpc, reputation) + &key));
    let api = service.with_key(METERED);
    (service, api)
}

/// Waits until the node has this many pending transactions.
pub(crate) async fn waiting(world: &World, transactions: u64) {
    let pool = async || world.rpc("txpool_status", json!([])).await;
    let many = |pool: &Value| {
        let count = |name: &str| u64::from_str_radix(pool[name].as_str()?.trim_start_matches("0x"), 16).ok();
        count("pending").unwrap_or_default() + count("queued").unwrap_or_default() >= transactions
    };
    until(pool, many).await;
}

/// Waits until this many pending transactions are empty ones.
pub(crate) async fn cancelled(world: &World, transactions: usize) {
    let pool = async || world.rpc("txpool_content", json!([])).await;
    let empty = |pool: &Value| {
        let of_account = pool["pending"].as_object().into_iter().flat_map(|pending| pending.values());
        let inputs = of_account.flat_map(|by_nonce| by_nonce.as_object().into_iter().flatten());
        inputs.filter(|(_, transaction)| transaction["input"] == "0x").count() == transactions
    };
    until(pool, empty).await;
}

async fn check_one(world: &World, status: &Value) {
    let held = world.held().await;
    check(world, &held, status, &ALL);
    assert_eq!(held.len(), ALL.len());
}

/// Makes one more submission, which 10 units pay only after a refund.
async fn check_given_back(api: &Caller, status: &Value) {
    assert_eq!(status["status"], "failed");
    assert!(status["error"].as_str().is_some_and(|error| error.contains("units were given back")), "{status}");
    submit(api, 7).await;
}

#[test]
fn a_node_that_fails_three_calls_of_ten_delays_and_no_more() {
    run(async {
        let world = World::start().await;
        let proxy = Proxy::start(world.chain.url()).await;
        let (_service, api) = serve(&world, &proxy.url, "");
        let url = submit(&api, 1).await;
        let mut calls = 0_u64;
        proxy.rule(move |_| {
            calls += 1;
            // A hash: an evenly spread sequence would hit every batch.
            let mixed = calls.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            match (mixed ^ (mixed >> 27)) >> 40 & 0xff {
                0..=37 => Reply::Error { code: -32000, message: "the backend is away".into() },
                38..=76 => Reply::Status(503, None),
                _ => Reply::Pass,
            }
        });
        check_one(&world, &confirmed(&api, &url).await).await;
    });
}

#[test]
fn an_ipfs_node_that_is_away_is_waited_for() {
    run(async {
        let world = World::start().await;
        world.ipfs.be(Mood::Down);
        let (service, api) = serve(&world, world.chain.url(), "");
        let url = submit(&api, 1).await;
        let waits = |status: &Value| status["detail"].as_str().is_some_and(|detail| detail.contains("IPFS"));
        let status = until(async || api.get(&url).await.ok(), waits).await;
        println!("an IPFS node that answers 500: {status}");
        assert_eq!((&status["status"], &status["error"]), (&json!("uploading"), &Value::Null));
        service.logged("a submission waits").await;
        world.ipfs.be(Mood::Well);
        check_one(&world, &confirmed(&api, &url).await).await;
    });
}

#[test]
fn an_ipfs_node_that_lies_or_does_not_pin_is_not_believed() {
    run(async {
        let world = World::start().await;
        let (_service, api) = serve(&world, world.chain.url(), "give_up_after_ms = 6000");
        for (mood, words) in [(Mood::Lying, "another CID"), (Mood::Forgetful, "not pinned")] {
            world.ipfs.be(mood);
            let url = submit(&api, 1).await;
            let status = ended(&api, &url).await;
            assert!(status["error"].as_str().is_some_and(|error| error.contains(words)), "{status}");
            assert_eq!((&status["status"], &status["feedback_uri"]), (&json!("failed"), &Value::Null));
        }
        assert!(world.held().await.is_empty());
    });
}

#[test]
fn a_transaction_that_a_spike_of_the_base_fee_strands_is_replaced() {
    run(async {
        let world = World::start().await;
        world.mining(false).await;
        let (service, api) = serve(&world, world.chain.url(), "max_fee_gwei = 500.0");
        let url = submit(&api, 1).await;
        waiting(&world, 3).await;
        world.rpc("anvil_setNextBlockBaseFeePerGas", json!([U256::from(100_000_000_000_u64)])).await;
        // One block shows the spike. Empty ones would soon end it.
        world.rpc("evm_mine", json!([])).await;
        let replaced = |metrics: &Answer| {
            let count = metrics.text.lines().find_map(|line| line.strip_prefix("assay_transactions_replaced_total "));
            count.is_some_and(|count| count != "0")
        };
        service.anonymous().until("/metrics", replaced).await;
        world.mining(true).await;
        check_one(&world, &confirmed(&api, &url).await).await;
    });
}

#[test]
fn a_reorganisation_that_drops_a_transaction_brings_it_back_once() {
    run(async {
        let world = World::start().await;
        world.mining(false).await;
        let config = world.config(world.chain.url(), "").replace("confirmations = 1", "confirmations = 3");
        let service = Service::start(&config);
        let api = service.keyed();
        let url = submit(&api, 1).await;
        waiting(&world, 3).await;
        world.rpc("evm_mine", json!([])).await;
        assert_eq!(world.held().await.len(), 3);
        world.rpc("anvil_rollback", json!([1])).await;
        assert_eq!(world.held().await.len(), 0);
        world.mining(true).await;
        check_one(&world, &confirmed(&api, &url).await).await;
    });
}

#[test]
fn a_nonce_that_another_process_takes_is_seen_and_another_is_signed() {
    run(async {
        let world = World::start().await;
        world.mining(false).await;
        let (_service, api) = serve(&world, world.chain.url(), "");
        let url = submit(&api, 1).await;
        waiting(&world, 3).await;
        let nonce = nonce(&world).await;
        world.rpc("eth_sendRawTransaction", json!([foreign(&world, nonce)])).await;
        world.mining(true).await;
        let status = confirmed(&api, &url).await;
        check_one(&world, &status).await;
        let now = world.rpc("eth_getTransactionCount", json!([world.signer.address(), "latest"])).await;
        assert_eq!(now, json!(format!("{:#x}", nonce + 4)), "three feedbacks and the other's");
    });
}

#[test]
fn what_cannot_be_mined_in_time_is_taken_back_before_it_fails() {
    run(async {
        let world = World::start().await;
        world.mining(false).await;
        let (_service, api) = serve(&world, world.chain.url(), "give_up_after_ms = 10000");
        let url = submit(&api, 1).await;
        waiting(&world, 3).await;
        // Its transactions are replaced by empty ones, and the submission has not failed: they could still be mined.
        cancelled(&world, 3).await;
        assert_eq!(api.get(&url).await.ok()["status"], "submitting");
        world.mining(true).await;
        let status = ended(&api, &url).await;
        assert!(world.held().await.is_empty());
        check_given_back(&api, &status).await;
    });
}

#[test]
fn an_account_without_funds_waits_and_then_says_so() {
    run(async {
        let world = World::start().await;
        world.fund(U256::ZERO).await;
        let (service, api) = serve(&world, world.chain.url(), "");
        let url = submit(&api, 1).await;
        let started = Instant::now();
        let status = said(&api, &url, "cannot pay for gas").await;
        assert_eq!((&status["status"], &status["error"]), (&json!("submitting"), &Value::Null));
        println!("an account without funds, after {:.1} s: {status}", started.elapsed().as_secs_f64());
        service.logged("a submission waits").await;
        world.fund(U256::from(10).pow(U256::from(18))).await;
        check_one(&world, &confirmed(&api, &url).await).await;
    });
}

/// The next nonce of the signer's account.
pub(crate) async fn nonce(world: &World) -> u64 {
    let used = world.rpc("eth_getTransactionCount", json!([world.signer.address(), "latest"])).await;
    u64::from_str_radix(used.as_str().expect("a number").trim_start_matches("0x"), 16).expect("a number")
}

/// An empty transfer with the signer's key that no host knows of, with a fee that replaces any other transaction.
pub(crate) fn foreign(world: &World, nonce: u64) -> Bytes {
    let transaction = TxEip1559 {
        chain_id: CHAIN,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: 40_000_000_000,
        max_priority_fee_per_gas: 40_000_000_000,
        to: TxKind::Call(world.signer.address()),
        value: U256::ZERO,
        access_list: Default::default(),
        input: Bytes::new(),
    };
    let signature = world.signer.sign_hash_sync(&transaction.signature_hash()).expect("a signature");
    transaction.into_signed(signature).encoded_2718().into()
}
