//! The terms of payment, and the public clients that pay by them.

use assay_tests::{
    payment::{Older, PRICE, Till, USDC, decode, npm_client, pypi_client},
    service::{KEY, answer},
};
use serde_json::{Value, json};

use super::{PATH, serve};
use crate::{
    reputation::{check, confirmed, subject},
    run,
};

const ALL: [&str; 3] = ["creditScore", "sybilRisk", "identityCount"];

#[test]
fn what_is_asked_for_stands_in_both_versions() {
    run(async {
        let till = Till::start().await;
        let (service, api) = serve(&till, "base_url = \"https://assay.example/api\"").await;
        for path in [PATH, "/api/v2/reputation/1"] {
            for api in [&api, &service.with_key("wrong")] {
                let asked = api.post(path, &json!({ "address": subject(1) })).await;
                let body = asked.expect(402);
                let accepts = json!([{
                    "scheme": "exact", "network": "base", "maxAmountRequired": "100000", "asset": USDC.to_string(),
                    "payTo": till.pay_to.to_string(),
                    "resource": format!("https://assay.example/api{path}"), "mimeType": "application/json",
                    "maxTimeoutSeconds": 300,
                    "description": "Submission of an agent's reputation to the ERC-8004 Reputation Registry",
                    "extra": { "name": "USD Coin", "version": "2" }
                }]);
                assert_eq!((&body["x402Version"], &body["accepts"]), (&json!(1), &accepts), "{body}");
                assert_eq!(body["error"], "X-PAYMENT header is required");
                assert!(body["detail"].as_str().expect("words").starts_with("Invalid or missing API key"), "{body}");
                let required = decode(asked.headers["payment-required"].to_str().expect("text"));
                assert_eq!(required["error"], "PAYMENT-SIGNATURE header is required");
                assert_eq!(
                    (&required["x402Version"], &required["resource"]["url"]),
                    (&json!(2), &accepts[0]["resource"]),
                    "{required}"
                );
                assert_eq!(
                    required["accepts"],
                    json!([{
                        "scheme": "exact", "network": "eip155:8453", "amount": "100000", "asset": USDC.to_string(),
                        "payTo": till.pay_to.to_string(),
                        "maxTimeoutSeconds": 300, "extra": { "name": "USD Coin", "version": "2" }
                    }])
                );
                assert_eq!(asked.headers["cache-control"], "no-store");
            }
        }
        // All other paths need a key as before, except the free ones.
        for path in [
            "/api/v2/models",
            "/api/v2/score/address/0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
            "/api/v2/admin/audit",
        ] {
            assert_eq!(api.get(path).await.expect(401), json!({ "detail": "Invalid or missing API key" }), "{path}");
        }
        api.get("/api/v2/agents").await.ok();
        answer(api.request(reqwest::Method::GET, "/api/v2/agents/1").header("x-payment", "Free")).await.ok();
        api.get("/api/v2/agents/1/reputation/status/550e8400-e29b-41d4-a716-446655440000").await.expect(404);
        assert_eq!(service.with_key("wrong").get("/api/v2/agents").await.status, 401);
        // With a key, its units pay, whatever else the request contains.
        let keyed = service.with_key(KEY).post(PATH, &json!({ "address": subject(1), "tags": ["sybilRisk"] })).await;
        keyed.expect(202);
        assert_eq!(till.balance().await, 0);
    });
}

#[test]
fn a_lying_host_is_told_to_the_liar_alone() {
    run(async {
        let till = Till::start().await;
        let (service, api) = serve(&till, "").await;
        for (host, begins) in [
            ("assay.example:8443", "http://assay.example:8443/"),
            ("user:secret@evil.example", "http://localhost/"),
            ("evil.example/path?x", "http://localhost/"),
            ("\"><script>", "http://localhost/"),
        ] {
            let request = api.request(reqwest::Method::POST, PATH).header("host", host).json(&json!({}));
            let body = answer(request).await.expect(402);
            let resource = body["accepts"][0]["resource"].as_str().expect("a URL");
            assert_eq!(resource, format!("{begins}api/v2/agents/1/reputation"), "{host}");
        }
        let body = api.post(PATH, &json!({})).await.expect(402);
        assert_eq!(body["accepts"][0]["resource"], format!("{}{PATH}", service.base()));
    });
}

#[test]
fn the_public_clients_pay_in_both_versions_and_their_submissions_are_confirmed() {
    run(async {
        let till = Till::start().await;
        let (service, api) = serve(&till, "").await;
        let older = Older::start(service.base()).await;
        let mut payments = 0;
        for (version, base, network) in [(1, older.url.as_str(), "base"), (2, service.base(), "eip155:8453")] {
            let url = format!("{base}{PATH}");
            for client in ["npm", "PyPI"] {
                let body = json!({ "address": subject(payments) });
                let said = match client {
                    "npm" => npm_client(version, &url, &till.payer, &body).await,
                    _ => pypi_client(version, &url, &till.payer, &body).await,
                };
                println!("{client} client, version {version}: {said}");
                paid(&till, &said, network, payments).await;
                payments += 1;
                // The payer reads the status without a key.
                let status = confirmed(&api, said["body"]["status_url"].as_str().expect("a path")).await;
                check(&till.world, &till.world.held().await, &status, &ALL);
            }
        }
        assert_eq!(till.balance().await, payments as u64 * PRICE);
        assert_eq!(till.world.held().await.len(), payments * ALL.len());
    });
}

#[test]
fn clients_that_registered_only_version_1_pay_if_version_2_is_not_offered() {
    run(async {
        let till = Till::start().await;
        let (service, api) = serve(&till, "offer_v2 = false").await;
        let asked = api.post(PATH, &json!({ "address": subject(1) })).await;
        assert_eq!((&asked.expect(402)["x402Version"], asked.headers.get("payment-required")), (&json!(1), None));
        let url = format!("{}{PATH}", service.base());
        for payments in 0..2 {
            let body = json!({ "address": subject(payments) });
            let said = match payments {
                0 => npm_client(1, &url, &till.payer, &body).await,
                _ => pypi_client(1, &url, &till.payer, &body).await,
            };
            paid(&till, &said, "base", payments).await;
        }
    });
}

/// Asserts that a client's output is an accepted submission, and that the only transfer since `before` paid for it.
pub(super) async fn paid(till: &Till, said: &Value, network: &str, before: usize) {
    assert_eq!((&said["status"], &said["body"]["status"]), (&json!(202), &json!("pending")), "{said}");
    let receipt = &said["receipt"];
    assert_eq!((&receipt["success"], &receipt["network"]), (&json!(true), &json!(network)), "{said}");
    assert_eq!(receipt["payer"], till.payer.address().to_checksum(None));
    let transfers = till.transfers().await;
    assert_eq!(transfers.len(), before + 1);
    assert_eq!(transfers.last(), Some(&receipt["transaction"]), "{said}");
}
