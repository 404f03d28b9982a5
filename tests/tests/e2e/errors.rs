//! Every error that a caller can cause: its exact status and body.

use assay_tests::service::{Service, answer, plugins, sandbox_config};
use reqwest::Method;
use serde_json::{Value, json};

const ONE: &str = "0x0000000000000000000000000000000000000001";
const SCORE: &str = "/api/v2/sandbox/score/address/0x0000000000000000000000000000000000000001";

fn detail(text: &str) -> Value {
    json!({ "detail": text })
}

#[tokio::test]
async fn a_key_is_needed_and_its_scope_counts() {
    let reader = "assay_reader_key_0001";
    let config = format!(
        "{}[[access.keys]]\nname = \"reader\"\nkey = \"{reader}\"\nscopes = [\"read\"]\n",
        sandbox_config(&plugins())
    );
    let host = Service::start(&config);
    let refused = detail("Invalid or missing API key");
    for path in
        [SCORE, &format!("/api/v2/score/address/{ONE}"), &format!("/api/v2/report/address/{ONE}"), "/api/v2/models"]
    {
        assert_eq!(host.anonymous().get(path).await.expect(401), refused, "{path}");
        assert_eq!(host.with_key("wrong").get(path).await.expect(401), refused, "{path}");
    }
    let basic = host.anonymous().request(Method::GET, SCORE).header("authorization", "Basic abc");
    assert_eq!(answer(basic).await.expect(401), refused);
    let api = host.with_key(reader);
    api.get(SCORE).await.ok();
    assert!(
        api.put("/api/v2/admin/models/credit/champion", &json!({ "version": "1.0" })).await.expect(403)["detail"]
            .is_string()
    );
    assert!(api.post_bytes("/api/v2/admin/models", "x").await.expect(403)["detail"].is_string());
}

#[tokio::test]
async fn an_address_that_is_none_is_named_so() {
    let host = Service::sandbox(&plugins());
    let api = host.keyed();
    let wrong_checksum = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96046".replace("dA6", "DA6");
    let long = "a".repeat(5_000);
    for bad in ["0x12", "nonsense", "0xzz00000000000000000000000000000000000001", "%00", "%F0%9F%92%A9", &long] {
        for family in [
            "/api/v2/sandbox/score/address",
            "/api/v2/score/address",
            "/api/v2/sandbox/report/address",
            "/api/v2/report/address",
        ] {
            let answer = api.get(&format!("{family}/{bad}")).await;
            assert_eq!(answer.expect(400), detail("Invalid Ethereum address format"), "{family}/{bad}");
        }
    }
    for family in ["/api/v2/sandbox/score/address", "/api/v2/score/address"] {
        let said = api.get(&format!("{family}/{wrong_checksum}")).await.expect(400)["detail"].to_string();
        assert!(said.contains("Invalid Ethereum address format: the EIP-55 checksum is wrong"), "{family}: {said}");
    }
}

#[tokio::test]
async fn bodies_that_do_not_fit_are_a_validation_list() {
    let host = Service::sandbox(&plugins());
    let api = host.keyed();
    let field = json!(["body", "total_asset_usd"]);
    for (body, kind) in [
        (r#"{"total_asset_usd": -1}"#, "greater_than_equal"),
        (r#"{"total_asset_usd": "many"}"#, "float_type"),
        (r#"{"total_asset_usd": [1]}"#, "float_type"),
        (r#"{"total_asset_usd": true}"#, "float_type"),
    ] {
        let answer = api.post_bytes(SCORE, body).await.expect(422);
        assert_eq!((&answer["detail"][0]["type"], &answer["detail"][0]["loc"]), (&json!(kind), &field), "{body}");
        assert!(answer["detail"][0]["msg"].is_string());
    }
    for body in ["{", "nonsense", "[1, 2]", "3", "{\"total_asset_usd\": 1e999}", "{\"total_asset_usd\": NaN}", "\u{0}"]
    {
        let answer = api.post_bytes(SCORE, body.to_owned()).await.expect(422);
        let first = &answer["detail"][0];
        assert!(first["type"].is_string() && first["loc"][0] == "body" && first["msg"].is_string(), "{body}: {answer}");
    }
    let deep = "[".repeat(20_000);
    assert!(api.post_bytes(SCORE, deep).await.expect(422)["detail"].is_array());
    let huge = api.post(SCORE, &json!({ "total_asset_usd": 1e300 })).await.ok();
    assert!(huge["score"].as_u64().unwrap() <= 1000);
    let megabytes = api.post_bytes(SCORE, vec![b' '; 10 << 20]).await;
    assert!(megabytes.expect(413)["detail"].is_string());
}

#[tokio::test]
async fn several_addresses_need_one_that_is_valid() {
    let host = Service::sandbox(&plugins());
    let api = host.keyed();
    let none = json!({ "error": "No valid addresses provided", "status_code": 400 });
    for family in ["/api/v2/sandbox/score/", "/api/v2/sandbox/score/batch/"] {
        assert_eq!(api.get(&format!("{family}?address=a,b,,")).await.expect(400), none);
        assert_eq!(api.get(&format!("{family}?address=")).await.expect(400), none);
        let missing = api.get(family).await.expect(422);
        assert_eq!(
            (&missing["detail"][0]["type"], &missing["detail"][0]["loc"]),
            (&json!("missing"), &json!(["query", "address"]))
        );
        // The limit counts distinct addresses.
        api.get(&format!("{family}?address={}", vec![ONE; 101].join(","))).await.ok();
        let many = (1..=101).map(|n| format!("0x{n:040x}")).collect::<Vec<_>>().join(",");
        let answer = api.get(&format!("{family}?address={many}")).await.expect(400).to_string();
        assert!(answer.contains("100"), "{answer}");
    }
}

#[tokio::test]
async fn unknown_things_have_a_body_too() {
    let host = Service::sandbox(&plugins());
    let api = host.keyed();
    for path in ["/api", "/api/v2/nothing", "/api/v2/sandbox", "/api/v3/score/address/x"] {
        assert!(api.get(path).await.expect(404)["detail"].is_string(), "{path}");
    }
    let method = api.delete(SCORE).await;
    assert!(method.headers.contains_key("allow") && method.expect(405)["detail"].is_string());
    let flag = api.get(&format!("/api/v2/score/address/{ONE}?include_factors=perhaps")).await.expect(422);
    assert_eq!(flag["detail"][0]["loc"], json!(["query", "include_factors"]));
    let chain = api.get(&format!("/api/v2/sandbox/report/address/{ONE}/chain/one/total/usd")).await;
    assert!(matches!(chain.status.as_u16(), 400 | 422), "{}", chain.text);
    let version = api.put("/api/v2/admin/models/credit/champion", &json!({ "version": "9.9" })).await.expect(404);
    assert!(version["detail"].as_str().unwrap().contains("1.1"), "{version}");
    let kind = api.put("/api/v2/admin/models/fortune/champion", &json!({ "version": "1.0" })).await.expect(404);
    assert!(kind["detail"].as_str().unwrap().contains("credit"), "{kind}");
    let champion = api.delete("/api/v2/admin/models/credit/1.1").await.expect(409);
    assert!(champion["detail"].as_str().unwrap().contains("champion"), "{champion}");
}

#[tokio::test]
async fn a_key_with_units_runs_out_and_is_told() {
    let config = format!(
        "{}[[access.keys]]\nname = \"small\"\nkey = \"assay_small_key_0001\"\nscopes = [\"read\"]\nunits = 2\n",
        sandbox_config(&plugins())
    );
    let host = Service::start(&config);
    let api = host.with_key("assay_small_key_0001");
    for _ in 0..5 {
        api.get(SCORE).await.ok();
    }
    // No chain is configured, so a production score fails, and a failure costs nothing.
    for _ in 0..5 {
        assert!(api.get(&format!("/api/v2/score/address/{ONE}")).await.expect(502)["detail"].is_string());
        // A failed call gets its units back after its answer.
        api.until("/api/v2/usage", |usage| usage.ok()["used"] == 0).await;
    }
}

#[tokio::test]
async fn the_documents_of_the_service_are_public() {
    let host = Service::sandbox(&plugins());
    let api = host.anonymous();
    assert_eq!(api.get("/healthz").await.status.as_u16(), 200);
    assert_eq!(api.get("/readyz").await.status.as_u16(), 200);
    assert!(api.get("/metrics").await.text.contains("assay_"));
    let openapi = api.get("/openapi.json").await.ok();
    assert!(openapi["openapi"].as_str().unwrap().starts_with("3.1"));
    assert!(openapi["paths"]["/api/v2/score/address/{address}"]["post"].is_object());
    let docs = api.get("/docs/").await;
    assert!(docs.status.is_success() && docs.text.contains("<html"), "{}", docs.text);
    assert!(!docs.text.contains("https://"), "the page loads nothing from elsewhere");
}
