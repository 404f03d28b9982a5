//! Further attacks of each kind: other ways to make transfers fail after they are signed, a price that rises and falls
//! again, a network with many payments, a payment that somebody else presents, hostile facilitators, and
//! damaged records.

use std::time::{Duration, Instant};

use alloy::{
    primitives::{Address, U256},
    signers::local::PrivateKeySigner,
};
use assay_tests::{
    payment::{Dollar, Order, PRICE, Till, USDC, encode, now},
    proxy::Proxy,
    redis::{self, DURABLE, Redis},
    service::{Answer, Caller, Service, answer},
    until::until,
};
use futures::future::join_all;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{
    PATH, dollars,
    drained::{looked, order},
    pay, pay_until_settled, request, with_gas,
};
use crate::{
    reputation::{ahead, cancelled, confirmed, reverted, subject, waiting},
    run,
};

/// How transfers in the pool are made to fail.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// The payer cancels its authorization.
    Cancelled,
    /// Another authorization of the payer takes its balance, sent by somebody else.
    SignedElsewhere,
    /// The builder of the block dates it after the end of the signatures.
    Dated,
}

impl Way {
    async fn strike(self, till: &Till, orders: &[Order]) {
        for sold in orders {
            match self {
                Self::Cancelled => {
                    let nonce = sold.authorization.nonce;
                    let call = Dollar::cancelAuthorizationCall { nonce };
                    ahead(&till.world, sold.authorization.from, USDC, &call).await;
                }
                Self::SignedElsewhere => {
                    let mut other = order(till, &sold.signer);
                    other.authorization.to = Address::repeat_byte(0x51);
                    other.authorization.value = U256::from(till.balance_of(sold.signer.address()).await);
                    ahead(&till.world, Address::repeat_byte(0x66), USDC, &other.call()).await;
                }
                Self::Dated => {}
            }
        }
        if matches!(self, Self::Dated) {
            till.world.rpc("evm_setNextBlockTimestamp", json!([now() + 400])).await;
        }
    }
}

/// Makes the transfers of 8 payments fail, of 8 payers or of one that paid before; returns the dollars lost.
async fn attack(way: Way, has_paid: bool) -> f64 {
    let till = Till::start().await;
    let proxy = Proxy::start(till.world.chain.url()).await;
    let config = till.config(&proxy.url, "settle_ms = 29_000");
    let service = Service::start(&with_gas(&config, "accounts_usd = 0.035"));
    let api = service.anonymous();
    let payers: Vec<_> = (0..8).map(|_| PrivateKeySigner::random()).collect();
    let of = |n: usize| if has_paid { &payers[0] } else { &payers[n] };
    for n in 0..9 {
        till.mint(of(n % 8).address(), PRICE).await;
    }
    if has_paid {
        let accepted = pay_until_settled(&api, &order(&till, &payers[0]).header(), 99).await.expect(202);
        confirmed(&api, accepted["status_url"].as_str().expect("a path")).await;
    }
    let before = till.transfers().await.len();
    let orders: Vec<Order> = (0..8).map(|n| order(&till, of(n))).collect();
    let headers: Vec<String> = orders.iter().map(Order::header).collect();
    till.world.mining(false).await;
    let paying = join_all(headers.iter().enumerate().map(|(n, header)| pay_until_settled(&api, header, n)));
    let striking = async {
        looked(&api, &proxy, 8).await;
        way.strike(&till, &orders).await;
        till.world.mining(true).await;
    };
    let (answers, ()) = tokio::join!(paying, striking);
    let (gas, count) = reverted(&till.world).await;
    let bought = answers.iter().filter(|answer| answer.status == 202).count();
    println!(
        "{way:?}, {}: {count} reverted transactions of 8 for ${:.4}; {bought} payments settled",
        if has_paid { "by a payer that paid before" } else { "by 8 newcomers" },
        dollars(gas)
    );
    assert!(answers.iter().all(|answer| [202, 402].contains(&answer.status.as_u16())), "{:?}", answers.last());
    assert_eq!(till.transfers().await.len() - before, bought, "each transfer bought");
    assert!(count > 0, "the attack does something");
    dollars(gas)
}

#[test]
fn transfers_that_fail_for_other_reasons_cost_the_budget_at_most() {
    run(async {
        for way in [Way::Cancelled, Way::SignedElsewhere, Way::Dated] {
            assert!(attack(way, false).await <= 0.035, "{way:?}");
        }
    });
}

#[test]
fn transfers_of_a_payer_that_paid_before_cost_what_it_paid_and_the_budget_at_most() {
    run(async {
        for way in [Way::Cancelled, Way::SignedElsewhere, Way::Dated] {
            assert!(attack(way, true).await <= 0.1 + 0.035, "{way:?}");
        }
    });
}

#[test]
fn a_price_that_holds_transfers_until_their_signatures_end_costs_the_budget_at_most() {
    run(async {
        let till = Till::start().await;
        let config = till.config(till.world.chain.url(), "settle_ms = 29_000");
        let service = Service::start(&with_gas(&config, "accounts_usd = 0.05"));
        let api = service.anonymous();
        let last = now() + 24;
        let mut headers = Vec::new();
        for _ in 0..4 {
            let payer = PrivateKeySigner::random();
            till.mint(payer.address(), PRICE).await;
            let mut order = order(&till, &payer);
            order.authorization.valid_before = U256::from(last);
            headers.push(order.header());
        }
        till.world.mining(false).await;
        let paying = join_all(headers.iter().enumerate().map(|(n, header)| pay_until_settled(&api, header, n)));
        let attacking = async {
            waiting(&till.world, 4).await;
            // No replacement, and no cancellation at the price of the market, has room in the budget.
            till.world.rpc("anvil_setNextBlockBaseFeePerGas", json!([U256::from(1_000_000_000)])).await;
            till.world.rpc("evm_mine", json!([])).await;
            until(async || now(), |now| *now >= last).await;
            till.world.rpc("anvil_setNextBlockBaseFeePerGas", json!([U256::ZERO])).await;
            till.world.mining(true).await;
        };
        let (answers, ()) = tokio::join!(paying, attacking);
        let (gas, count) = reverted(&till.world).await;
        println!("transfers held by the price until their signatures end: ${:.4} in {count}", dollars(gas));
        assert!(answers.iter().all(|answer| answer.status == 402), "{:?}", answers.iter().map(|a| a.status));
        assert!(dollars(gas) <= 0.05 && till.balance().await == 0, "{gas}");
    });
}

/// Presents a payment from this client address, which a trusted proxy forwards.
async fn pay_from(api: &Caller, header: &str, n: usize, address: &str) -> Answer {
    answer(request(api, header, n).header("x-forwarded-for", address)).await
}

#[test]
fn many_payments_of_one_network_fill_no_queue_and_hold_up_nobody() {
    run(async {
        let till = Till::start().await;
        let config = till.config(till.world.chain.url(), "settle_ms = 1");
        // One transfer fits at a time.
        let config = with_gas(&config, "accounts_usd = 0.015") + "[http]\ntrusted_proxies = [\"127.0.0.1\"]\n";
        let service = Service::start(&config);
        let api = service.anonymous();
        // In reality one balance would move from account to account between the payments.
        let payers: Vec<_> = (0..110).map(|_| PrivateKeySigner::random()).collect();
        join_all(payers.iter().map(|payer| till.mint(payer.address(), PRICE))).await;
        till.world.mining(false).await;
        let first = till.order().header();
        pay_from(&api, &first, 0, "198.51.100.1").await.expect(503);
        waiting(&till.world, 1).await;
        let (mut open, mut refused) = (0, None);
        for payer in &payers {
            let answer = pay_from(&api, &order(&till, payer).header(), 1, "203.0.113.1").await;
            let body = answer.expect(503);
            match body["code"].as_str() {
                Some("busy") => {
                    refused = Some(body["detail"].to_string());
                    break;
                }
                _ => open += 1,
            }
        }
        println!("{open} payments of one network are open; the next one: {}", refused.unwrap_or_default());
        assert!((90..=100).contains(&open), "{open}");
        let newcomer = till.order().header();
        pay_from(&api, &newcomer, 2, "198.51.100.2").await.expect(503);
        till.world.mining(true).await;
        let settled = async || pay_from(&api, &newcomer, 2, "198.51.100.2").await;
        until(settled, |answer| answer.status == 202).await;
        assert!(dollars(reverted(&till.world).await.0) <= 0.015);
    });
}

#[test]
fn a_payment_that_somebody_else_presents_too_buys_one_item() {
    run(async {
        let till = Till::start().await;
        let service = Service::start(&till.config(till.world.chain.url(), "settle_ms = 29_000"));
        let api = service.anonymous();
        let mut orders = Vec::new();
        for _ in 0..6 {
            let payer = PrivateKeySigner::random();
            till.mint(payer.address(), PRICE).await;
            orders.push(order(&till, &payer));
        }
        let headers: Vec<String> = orders.iter().map(Order::header).collect();
        // The thief asks for another address at the same moment, and copies the transfers out of the pool.
        let race = async |n: usize| {
            let (own, stolen) =
                tokio::join!(pay_until_settled(&api, &headers[n], n), pay_until_settled(&api, &headers[n], 50 + n));
            [own, stolen]
        };
        till.world.mining(false).await;
        let copying = async {
            waiting(&till.world, 6).await;
            for order in &orders {
                ahead(&till.world, Address::repeat_byte(0x66), USDC, &order.call()).await;
            }
            till.world.mining(true).await;
        };
        let (answers, ()) = tokio::join!(join_all((0..6).map(race)), copying);
        let mut items = 0;
        for both in &answers {
            let bought: Vec<_> = both.iter().filter(|answer| answer.status == 202).collect();
            assert!(bought.len() <= 1, "one payment bought twice");
            for answer in bought {
                confirmed(&api, answer.json()["status_url"].as_str().expect("a path")).await;
                items += 1;
            }
        }
        let transfers = till.transfers().await.len();
        println!("6 payments, each presented by two and copied: {transfers} transfers, {items} items");
        assert_eq!((transfers, items, till.world.held().await.len()), (6, 6, 6));
    });
}

#[test]
fn fields_that_are_given_twice_or_cannot_be_seen_are_refused() {
    run(async {
        let till = Till::start().await;
        let service = Service::start(&till.config(till.world.chain.url(), ""));
        let api = service.keyed();
        let (one, other) = (subject(1), subject(2));
        let post = |body: String| api.post_bytes(PATH, body);
        for body in [
            format!("{{\"address\":\"{one}\",\"address\":\"{other}\"}}"),
            // The same key, once with an escape.
            format!("{{\"address\":\"{one}\",\"\\u0061ddress\":\"{other}\"}}"),
            format!("{{\"address\":\"{one}\",\"address\\u200b\":\"{other}\"}}"),
            format!("{{\"address\":\"{one}\\u200b\"}}"),
            format!("{{\"\\ufeffaddress\":\"{one}\"}}"),
            format!("\u{feff}{{\"address\":\"{one}\"}}"),
            format!("{{\"address\":\"{one}\",\"tags\":[\"sybilRisk\\u200d\"]}}"),
        ] {
            let refused = post(body.clone()).await;
            println!("{}: {}", body.escape_debug(), refused.text);
            assert!([400, 422].contains(&refused.status.as_u16()), "{body}: {}", refused.text);
        }
        // Two headers of one version, and a payment in two writings.
        let header = till.order().header();
        let anonymous = service.anonymous();
        let once = anonymous.request(reqwest::Method::POST, PATH).header("x-payment", &header);
        let twice = once.header("X-Payment", &header).json(&json!({ "address": one }));
        assert_eq!(answer(twice).await.expect(400)["code"], "malformed_payment");
        for text in [format!("{header}\u{200b}"), encode(&json!([1])), encode(&json!({ "x402Version": "1" }))] {
            let refused = answer(
                anonymous
                    .request(reqwest::Method::POST, PATH)
                    .header("x-payment", text.as_bytes())
                    .json(&json!({ "address": one })),
            )
            .await;
            assert_eq!(refused.expect(400)["code"], "malformed_payment", "{text}");
        }
        assert_eq!((till.balance().await, till.world.held().await.len()), (0, 0));
    });
}

#[test]
fn a_price_that_rises_after_a_payment_was_taken_sells_nothing_below_cost() {
    run(async {
        let till = Till::start().await;
        let config = till.config(till.world.chain.url(), "settle_ms = 700");
        let service = Service::start(&with_gas(&config, "accounts_usd = 0.015"));
        let api = service.anonymous();
        let payers: Vec<_> = (0..2).map(|_| PrivateKeySigner::random()).collect();
        let mut headers = Vec::new();
        for payer in &payers {
            till.mint(payer.address(), PRICE).await;
        }
        till.world.mining(false).await;
        for (n, payer) in payers.iter().enumerate() {
            headers.push(order(&till, payer).header());
            pay(&api, &headers[n], n).await.expect(503);
        }
        waiting(&till.world, 1).await;
        // The second one waits for its turn; its sale now costs ten times its price.
        till.world.rpc("anvil_setNextBlockBaseFeePerGas", json!([U256::from(40_000_000)])).await;
        till.world.rpc("evm_mine", json!([])).await;
        let dear = pay(&api, &till.order().header(), 3).await;
        println!("a sale below its cost: {}", dear.text);
        assert_eq!(dear.expect(503)["code"], "gas_above_price");
        assert_eq!(till.transfers().await.len(), 0);
        till.world.rpc("anvil_setNextBlockBaseFeePerGas", json!([U256::ZERO])).await;
        till.world.mining(true).await;
        for (n, header) in headers.iter().enumerate() {
            let settled = async || pay(&api, header, n).await;
            until(settled, |answer| answer.status == 202).await;
        }
        assert_eq!((till.transfers().await.len(), reverted(&till.world).await.1), (2, 0));
    });
}

#[test]
fn a_clock_of_the_chain_that_is_behind_ends_no_signature_late() {
    run(async {
        let till = Till::start().await;
        let service = Service::start(&till.config(till.world.chain.url(), "settle_ms = 29_000"));
        let api = service.anonymous();
        let payer = PrivateKeySigner::random();
        till.mint(payer.address(), PRICE).await;
        till.world.mining(false).await;
        let mut short = order(&till, &payer);
        let last = now() + 24;
        short.authorization.valid_before = U256::from(last);
        let header = short.header();
        let paying = pay_until_settled(&api, &header, 1);
        let holding = async {
            waiting(&till.world, 1).await;
            cancelled(&till.world, 1).await;
            // The block is dated within the signature; the cancellation counts by the clock of the host.
            till.world.mining(true).await;
        };
        let (refused, ()) = tokio::join!(paying, holding);
        refused.expect(402);
        assert_eq!((till.balance().await, reverted(&till.world).await.1), (0, 0));
    });
}

/// What a facilitator sends in place of an answer.
#[derive(Debug, Clone, Copy)]
enum Hostile {
    /// Headers, a letter at a time.
    DrippingHead,
    /// A body, a letter at a time.
    DrippingBody,
    /// A body without an end.
    Endless,
}

/// Answers one request in this manner, until the other side leaves.
async fn drip(manner: Hostile, mut stream: TcpStream) -> std::io::Result<()> {
    let _ = stream.read(&mut [0; 4_096]).await?;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n").await?;
    if !matches!(manner, Hostile::DrippingHead) {
        stream.write_all(b"transfer-encoding: chunked\r\n\r\n").await?;
    }
    let endless = format!("10000\r\n{}\r\n", " ".repeat(65_536));
    loop {
        match manner {
            Hostile::DrippingHead => stream.write_all(b"x").await?,
            Hostile::DrippingBody => stream.write_all(b"1\r\n \r\n").await?,
            Hostile::Endless => stream.write_all(endless.as_bytes()).await?,
        }
        if !matches!(manner, Hostile::Endless) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// A server that answers every connection in this manner. It ends with the runtime.
async fn hostile(manner: Hostile) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(drip(manner, stream));
        }
    });
    url
}

#[test]
fn a_facilitator_that_drips_or_never_ends_holds_nobody_up() {
    run(async {
        let till = Till::start().await;
        for manner in [Hostile::DrippingHead, Hostile::DrippingBody, Hostile::Endless] {
            let url = hostile(manner).await;
            let keys = format!("facilitator = \"{url}\"\nfacilitator_timeout_ms = 1_000\nsettle_ms = 2_000");
            let service = Service::start(&till.config(till.world.chain.url(), &keys));
            let (api, before) = (service.anonymous(), service.resident());
            let headers: Vec<String> = (0..8).map(|_| till.order().header()).collect();
            let started = Instant::now();
            let answers = join_all(headers.iter().enumerate().map(|(n, header)| pay(&api, header, n))).await;
            let (took, grown) = (started.elapsed(), service.peak().saturating_sub(before) >> 20);
            println!("{manner:?}: {:?} after {took:.1?}, {grown} MiB more", answers[0].json()["code"]);
            for answer in &answers {
                assert_eq!(answer.expect(502)["code"], "payment_not_checked");
            }
            // The request is repeated once.
            assert!(took < Duration::from_secs(25) && grown < 64, "{manner:?}: {took:?}, {grown} MiB");
        }
        assert_eq!(till.balance().await, 0);
    });
}

#[test]
fn a_damaged_record_of_losses_stops_payments_until_it_is_mended() {
    run(async {
        let till = Till::start().await;
        let server = Redis::start(&DURABLE);
        let config = till.config(till.world.chain.url(), "settle_ms = 1_500");
        let config = redis::on(&with_gas(&config, "accounts_usd = 0.1"), &server.url(), "damaged:");
        let service = Service::start(&config);
        let api = service.anonymous();
        for (n, damage) in ["nonsense", "-1", "{\"lost\":18446744073709551615}"].into_iter().enumerate() {
            let key = "{damaged:}gas-lost/class/accounts";
            redis::ask(server.port, &["set", key, damage]);
            let (header, before) = (till.order().header(), till.transfers().await.len());
            let refused = pay(&api, &header, n).await;
            println!("losses as {damage:?}: {} {}", refused.status, refused.text);
            assert_eq!(refused.expect(500)["code"], "store");
            assert_eq!(till.transfers().await.len(), before, "nothing is signed");
            service.logged("gas-lost/class/accounts").await;
            redis::ask(server.port, &["del", key]);
            let settled = async || pay(&api, &header, n).await;
            until(settled, |answer| answer.status == 202).await;
        }
        assert_eq!((till.transfers().await.len(), till.balance().await), (3, 3 * PRICE));
    });
}
