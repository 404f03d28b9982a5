//! Payments that are refused, each with its own reason; nothing is queued, written or transferred.

use alloy::primitives::{Address, Bytes, U256};
use alloy::signers::local::PrivateKeySigner;
use assay_tests::{
    lenders::stubs,
    payment::{Dollar, Order, PRICE, Till, USDC, decode, encode, now},
    service::{Answer, answer},
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{PATH, pay, receipt, serve, submissions_of};
use crate::{conformance::assert_declared, reputation::subject, run};

#[test]
fn each_payment_that_is_wrong_is_refused_for_its_own_reason() {
    run(async {
        let till = Till::start().await;
        let (_service, api) = serve(&till, "").await;
        let document = api.get("/openapi.json").await.ok();
        // What a client needs before and after a payment is free, and its security says so.
        let free = &document["paths"]["/api/v2/agents/{agent_id}"]["get"]["security"];
        assert_eq!(free, &json!([{ "key": [] }, {}]));
        api.get("/api/v2/agents/1").await.ok();
        let declared =
            |answer: &Answer| assert_declared(&document, "POST", "/api/v2/agents/{agent_id}/reputation", answer);
        let order = till.order();
        let bent = |bend: &dyn Fn(&mut Order)| {
            let mut order = till.order();
            bend(&mut order);
            order
        };
        let poor = PrivateKeySigner::random();
        till.mint(poor.address(), PRICE - 1).await;
        let used = till.order();
        till.send(used.authorization.from, USDC, &Dollar::cancelAuthorizationCall { nonce: used.authorization.nonce })
            .await;
        let mut forged = order.signature().to_vec();
        forged[40] ^= 1;
        let cases: Vec<(&str, &str, String)> = vec![
            ("unsupported_scheme", "scheme", bent(&|order| order.scheme = "upto".into()).header()),
            ("invalid_network", "network", bent(&|order| order.network = "base-sepolia".into()).header()),
            ("invalid_x402_version", "x402Version", bent(&|order| order.said = Some(2)).header()),
            (
                "invalid_exact_evm_payload_signature",
                "not by",
                bent(&|order| order.signer = PrivateKeySigner::random()).header(),
            ),
            ("invalid_exact_evm_payload_signature", "not by", order.signed(forged.into())),
            ("invalid_exact_evm_payload_signature", "not by", order.signed(Bytes::from_static(&[1, 2, 3]))),
            // Version 1 names no asset, so a signature for another asset does not match.
            (
                "invalid_exact_evm_payload_signature",
                "asset",
                bent(&|order| order.domain.asset = Address::repeat_byte(9)).header(),
            ),
            ("invalid_exact_evm_payload_signature", "chain 8453", bent(&|order| order.domain.chain = 84_532).header()),
            (
                "invalid_exact_evm_payload_recipient_mismatch",
                "recipient of the payment must be",
                bent(&|order| order.authorization.to = Address::repeat_byte(9)).header(),
            ),
            (
                "invalid_exact_evm_payload_authorization_value",
                "at least 100000",
                bent(&|order| order.authorization.value = U256::from(PRICE - 1)).header(),
            ),
            (
                "invalid_exact_evm_payload_authorization_valid_before",
                "expired",
                bent(&|order| order.authorization.valid_before = U256::from(now() - 1)).header(),
            ),
            (
                "invalid_exact_evm_payload_authorization_valid_before",
                "less than 20 seconds",
                bent(&|order| order.authorization.valid_before = U256::from(now() + 2)).header(),
            ),
            (
                "invalid_exact_evm_payload_authorization_valid_after",
                "not valid yet",
                bent(&|order| order.authorization.valid_after = U256::from(now() + 60)).header(),
            ),
            // It would be followed for longer than anybody waits.
            (
                "invalid_exact_evm_payload_authorization_valid_before",
                "longer than 3900",
                bent(&|order| order.authorization.valid_before = U256::from(1) << 255).header(),
            ),
            (
                "insufficient_funds",
                "less of the asset",
                bent(&|order| (order.authorization.from, order.signer) = (poor.address(), poor.clone())).header(),
            ),
            ("invalid_exact_evm_nonce_already_used", "another nonce", used.header()),
        ];
        for (reason, words, header) in &cases {
            let refused = pay(&api, header, 1).await;
            declared(&refused);
            let body = refused.expect(402);
            assert_eq!(body["error"], *reason, "{body}");
            assert!(body["detail"].as_str().expect("words").contains(words), "{words} not in {body}");
            assert_eq!(
                (&body["x402Version"], body["accepts"].as_array().map(Vec::len)),
                (&json!(1), Some(1)),
                "{body}"
            );
            assert_eq!(decode(refused.headers["payment-required"].to_str().expect("text"))["error"], *reason);
            assert!(!refused.headers.contains_key("x-payment-response"), "nothing was tried");
        }
        // Version 2 repeats the terms and accepts exactly the requested amount.
        let asked = api.post(PATH, &json!({})).await;
        let accepts = decode(asked.headers["payment-required"].to_str().expect("text"))["accepts"][0].clone();
        let two = async |order: &Order, accepted: &Value| {
            let body = json!({ "address": subject(1) });
            answer(api.request(Method::POST, PATH).header("payment-signature", order.header_two(accepted)).json(&body))
                .await
        };
        let changed = |key: &str, value: Value| {
            let mut accepts = accepts.clone();
            accepts[key] = value;
            accepts
        };
        for (reason, order, accepted) in [
            (
                "invalid_payment_requirements",
                till.order(),
                changed("asset", json!(Address::repeat_byte(9).to_string())),
            ),
            ("invalid_network", till.order(), changed("network", json!("eip155:84532"))),
            ("invalid_network", till.order(), changed("network", json!("base"))),
            ("invalid_exact_evm_payload_recipient_mismatch", till.order(), changed("payTo", json!(USDC.to_string()))),
            (
                "invalid_exact_evm_payload_authorization_value",
                bent(&|order| order.authorization.value = U256::from(PRICE + 1)),
                accepts.clone(),
            ),
            ("invalid_exact_evm_payload_authorization_value", till.order(), changed("amount", json!("1"))),
        ] {
            let body = two(&order, &accepted).await.expect(402);
            assert_eq!(body["error"], reason, "{body}");
        }
        // A malformed payment header is an error of its own, and not a request without payment.
        for header in
            ["Free", "", "e30=", "%%%", &"A".repeat(17_000), &encode(&json!({ "x402Version": 1, "scheme": "exact" }))]
        {
            let refused = pay(&api, header, 1).await;
            declared(&refused);
            assert_eq!(refused.expect(400)["code"], "malformed_payment");
        }
        let twice =
            api.request(Method::POST, PATH).header("x-payment", order.header()).header("x-payment", order.header());
        assert_eq!(
            answer(twice.json(&json!({ "address": subject(1) }))).await.expect(400)["code"],
            "malformed_payment"
        );
        // A request that would fail anyway takes no payment.
        for (path, body, status) in [
            (PATH, json!({}), 400),
            (PATH, json!({ "address": "nobody" }), 400),
            (PATH, json!({ "address": subject(1), "tags": ["luck"] }), 422),
            ("/api/v2/agents/0/reputation", json!({ "address": subject(1) }), 422),
            ("/api/v2/agents/77/reputation", json!({ "address": subject(1) }), 404),
        ] {
            let request = api.request(Method::POST, path).header("x-payment", order.header()).json(&body);
            answer(request).await.expect(status);
        }
        assert_eq!((till.balance().await, till.transfers().await.len()), (0, 0));
        let metrics = api.get("/metrics").await.text;
        assert_eq!(submissions_of(&metrics), 0, "{metrics}");
        for outcome in ["settled", "refused"] {
            let none = format!("assay_payments_total{{outcome=\"{outcome}\"}} 0");
            assert!(metrics.contains(&none), "{metrics}");
        }
        // The payment in all these requests was not taken, so it is still valid.
        let accepted = pay(&api, &order.header(), 1).await;
        declared(&accepted);
        assert_eq!((accepted.status.as_u16(), receipt(&accepted)["success"].as_bool()), (202, Some(true)));
        assert_eq!(till.balance().await, PRICE);
    });
}

#[test]
fn more_than_the_price_is_taken_by_version_one_and_a_contract_pays_by_its_own_rules() {
    run(async {
        let till = Till::start().await;
        let (_service, api) = serve(&till, "contract_signatures = true").await;
        let mut order = till.order();
        order.authorization.value = U256::from(PRICE + 5);
        pay(&api, &order.header(), 1).await.expect(202);
        assert_eq!(till.balance().await, PRICE + 5);
        // The owner of a contract account signs in the contract's own format, which only the contract can check.
        let wallet = Address::repeat_byte(0x71);
        let code = stubs("Dollar.sol").await.expect("the stubs compile")["WalletStub"].clone();
        let code = [code.as_ref(), till.payer.address().into_word().as_slice()].concat();
        let made = till.world.rpc("eth_call", json!([{ "data": Bytes::from(code) }, "latest"])).await;
        till.world.rpc("anvil_setCode", json!([wallet, made])).await;
        till.mint(wallet, PRICE).await;
        let mut order = till.order();
        order.authorization.from = wallet;
        let by_hand = order.signature();
        let body = pay(&api, &order.signed(by_hand.clone()), 2).await.expect(402);
        assert_ne!(body["error"], "unexpected_settle_error", "{body}");
        let accepted = pay(&api, &order.signed([by_hand.as_ref(), &[7]].concat().into()), 2).await;
        accepted.expect(202);
        assert_eq!(receipt(&accepted)["payer"].as_str().and_then(|payer| payer.parse().ok()), Some(wallet));
        assert_eq!((till.balance().await, till.balance_of(wallet).await), (2 * PRICE + 5, 0));
    });
}

#[test]
fn what_goes_elsewhere_at_the_last_moment_is_refused_after_it_was_tried() {
    run(async {
        let till = Till::start().await;
        let proxy = assay_tests::proxy::Proxy::start(till.world.chain.url()).await;
        let service = assay_tests::service::Service::start(&till.config(&proxy.url, ""));
        let api = service.anonymous();
        // The payer spends the balance while the transfer is being signed.
        proxy.rule(|call| {
            if call.method == "eth_estimateGas" {
                assay_tests::proxy::Reply::Hold
            } else {
                assay_tests::proxy::Reply::Pass
            }
        });
        let order = till.order();
        let header = order.header();
        let presented = tokio::spawn({
            let (api, header) = (api.clone(), header.clone());
            async move { pay(&api, &header, 1).await }
        });
        proxy.held().await;
        let have = till.balance_of(till.payer.address()).await;
        till.send(
            till.payer.address(),
            USDC,
            &Dollar::transferCall { to: Address::repeat_byte(9), value: U256::from(have) },
        )
        .await;
        proxy.rule(|_| assay_tests::proxy::Reply::Pass);
        proxy.release(100);
        let refused = presented.await.expect("the caller is told");
        assert_eq!(refused.expect(402)["error"], "insufficient_funds");
        let told = receipt(&refused);
        assert_eq!(
            (&told["success"], &told["errorReason"], &told["transaction"]),
            (&json!(false), &json!("insufficient_funds"), &json!(""))
        );
        // With a new balance, the same payment is valid.
        till.mint(till.payer.address(), PRICE).await;
        pay(&api, &header, 1).await.expect(202);
        assert_eq!((till.balance().await, till.transfers().await.len()), (PRICE, 1));
    });
}
