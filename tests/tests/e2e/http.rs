//! The HTTP layer: a server with the released shelf, and no chain.

mod reports;
mod server;

use serde_json::{Value, json};
use server::{READER, Server};

const ONE: &str = "0x0000000000000000000000000000000000000001";
const VITALIK: &str = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";

fn sandbox(rest: &str) -> String {
    format!("/api/v2/sandbox/{rest}")
}

fn kinds(body: &Value) -> Vec<(String, Value)> {
    body["detail"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|v| (v["type"].as_str().unwrap().to_owned(), v["loc"].clone()))
        .collect()
}

#[tokio::test]
async fn the_key_is_looked_at_before_anything_else() {
    let server = Server::start(false);
    let paths = [
        "score/address/nonsense",
        "report/address/nonsense",
        "sandbox/score/",
        "sandbox/score/address/nonsense",
        "models",
    ];
    for path in paths.map(|path| format!("/api/v2/{path}")) {
        for authorization in [None, Some("Bearer wrong"), Some("Bearer "), Some("Basic abc"), Some(READER)] {
            let answer = server.send("GET", &path, authorization, None).await;
            assert_eq!(answer.status, 401, "{path} {authorization:?}");
            assert_eq!(answer.header("www-authenticate"), "Bearer");
            assert_eq!(answer.json(), json!({ "detail": "Invalid or missing API key" }));
        }
        assert_ne!(server.send("GET", &path, Some(&format!("bearer {READER}")), None).await.status, 401);
    }
    for (method, path) in
        [("PUT", "credit/champion"), ("PUT", "fortune/challengers"), ("DELETE", "credit/1.1"), ("POST", "")]
    {
        let path = format!("/api/v2/admin/models/{path}");
        let answer =
            server.send(method, path.trim_end_matches('/'), Some(&format!("Bearer {READER}")), Some("{")).await;
        assert_eq!((answer.status, &answer.json()["code"]), (403, &json!("scope")), "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn whatever_stands_for_an_address_is_answered() {
    let server = Server::start(false);
    let long = "a".repeat(9_000);
    let bad = [
        "0x12",
        "x",
        "%00",
        "%ff%fe",
        "%F0%9F%92%A9",
        "%2F",
        "%2e%2e%2fetc",
        "a%0d%0ab.eth",
        "0X0000000000000000000000000000000000000001",
        &long,
    ];
    for path in ["score/address", "report/address", "sandbox/score/address", "sandbox/report/address"] {
        for bad in bad {
            let answer = server.get(&format!("/api/v2/{path}/{bad}")).await;
            assert_eq!(
                (answer.status, answer.json()),
                (400, json!({ "detail": "Invalid Ethereum address format" })),
                "{path}/{bad}"
            );
        }
    }
    assert_eq!(server.get(&sandbox("score/address/vitalik.eth")).await.status, 400, "the sandbox knows no names");
    let encoded = VITALIK.replacen("d8", "%648", 1);
    assert_eq!(server.get(&sandbox(&format!("score/address/{encoded}"))).await.json()["address"], VITALIK);
    server.stop().await;
}

#[tokio::test]
async fn typed_parameters_are_validated() {
    let server = Server::start(false);
    for flag in ["perhaps", "", "2", "%ff"] {
        let answer = server.get(&format!("/api/v2/score/address/{ONE}?include_factors={flag}")).await;
        assert_eq!(answer.status, 422, "{flag}");
        assert_eq!(kinds(&answer.json()), [("bool_parsing".to_owned(), json!(["query", "include_factors"]))]);
    }
    let chain = |id: &str| sandbox(&format!("report/address/{ONE}/chain/{id}/total/usd"));
    for id in ["one", "1.0", "0x1", "1e3", "%31%20"] {
        let answer = server.get(&chain(id)).await;
        assert_eq!(answer.status, 422, "{id}");
        assert_eq!(kinds(&answer.json()), [("int_parsing".to_owned(), json!(["path", "chain_id"]))]);
    }
    for id in ["5", "0", "-1", "99999999999999999999999999"] {
        let answer = server.get(&chain(id)).await;
        assert_eq!((answer.status, answer.json()), (400, json!({ "detail": "Invalid chain id" })), "{id}");
    }
    let missing = server.get(&sandbox("score/batch")).await;
    assert_eq!(kinds(&missing.json()), [("missing".to_owned(), json!(["query", "address"]))]);
    let none = json!({ "error": "No valid addresses provided", "status_code": 400 });
    for list in ["", ",", "x", "vitalik.eth,%20,0x1"] {
        let answer = server.get(&sandbox(&format!("score?address={list}"))).await;
        assert_eq!((answer.status, answer.json()), (400, none.clone()), "{list}");
    }
    server.stop().await;
}

#[tokio::test]
async fn bodies_are_validated_field_by_field() {
    let server = Server::start(false);
    let field = json!(["body", "total_asset_usd"]);
    let deep = "[".repeat(20_000);
    for path in [sandbox(&format!("score/address/{ONE}")), format!("/api/v2/score/address/{ONE}")] {
        for (body, kind, loc) in [
            (r#"{"total_asset_usd": -0.01}"#, "greater_than_equal", &field),
            (r#"{"total_asset_usd": "5"}"#, "float_type", &field),
            (r#"{"total_asset_usd": false}"#, "float_type", &field),
            (r#"{"total_asset_usd": {}}"#, "float_type", &field),
            (r#"{"total_asset_usd": 1e999}"#, "json_invalid", &json!(["body"])),
            (r#"{"more": []}"#, "extra_forbidden", &json!(["body", "more"])),
            ("{", "json_invalid", &json!(["body"])),
            ("\u{0}", "json_invalid", &json!(["body"])),
            (&deep, "json_invalid", &json!(["body"])),
            ("[]", "model_attributes_type", &json!(["body"])),
        ] {
            let answer = server.post(&path, body).await;
            assert_eq!(answer.status, 422, "{body}");
            assert_eq!(kinds(&answer.json()), [(kind.to_owned(), loc.clone())], "{body}");
        }
    }
    let score = sandbox(&format!("score/address/{ONE}"));
    for body in ["", " ", "{}", r#"{"total_asset_usd": null}"#, r#"{"total_asset_usd": 1e308, "name": []}"#] {
        assert_eq!(server.post(&score, body).await.status, 200, "{body}");
    }
    let champion = "/api/v2/admin/models/credit/champion";
    let version = json!(["body", "version"]);
    for (body, kind) in
        [("", "missing"), (r#"{"version": 1.1}"#, "string_type"), (r#"{"version": "one"}"#, "value_error")]
    {
        let answer = server.send("PUT", champion, Some(&server.admin()), Some(body)).await;
        assert_eq!(kinds(&answer.json()), [(kind.to_owned(), version.clone())], "{body}");
    }
    let challengers = "/api/v2/admin/models/credit/challengers";
    let answer = server.send("PUT", challengers, Some(&server.admin()), Some(r#"{"versions": ["1.0", 2, "x"]}"#)).await;
    assert_eq!(kinds(&answer.json()).len(), 2, "everything that is wrong is named");
    let many = json!({ "versions": vec!["1.".repeat(10_000); 3] });
    let answer = server.send("PUT", challengers, Some(&server.admin()), Some(&many.to_string())).await;
    assert!(answer.text.len() < 1_000, "{}", answer.text.len());
    let many = json!({ "versions": vec!["x"; 5_000] });
    let answer = server.send("PUT", challengers, Some(&server.admin()), Some(&many.to_string())).await;
    assert_eq!(kinds(&answer.json()).len(), 20, "an answer is not many times the request");
    server.stop().await;
}

#[tokio::test]
async fn large_bodies_are_refused_with_an_answer() {
    let server = Server::start(false);
    let body = " ".repeat(10 << 20);
    for path in
        [sandbox(&format!("score/address/{ONE}")), format!("/api/v2/score/address/{ONE}"), "/nowhere".to_owned()]
    {
        let answer = server.post(&path, &body).await;
        assert_eq!(answer.status, 413, "{path}");
        assert!(answer.json()["detail"].as_str().unwrap().contains("65536"));
    }
    let answer = server.chunked(&sandbox(&format!("score/address/{ONE}")), 10 << 20).await;
    assert!(answer.contains("413"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn unknown_paths_and_methods_have_a_body() {
    let server = Server::start(false);
    for path in [
        "/api",
        "/api/v2/",
        "/api/v2/sandbox",
        &format!("/api/v2/score/address/{ONE}//"),
        "//",
        "/docs/nothing.js",
        "/docs/%ff",
    ] {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.json()["detail"].is_string());
    }
    let answer = server.send("DELETE", &sandbox(&format!("score/address/{ONE}")), None, None).await;
    assert_eq!(answer.status, 405);
    let allowed = answer.header("allow");
    assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");
    assert!(answer.json()["detail"].is_string());
    server.stop().await;
}

#[tokio::test]
async fn without_a_chain_a_score_says_so_and_costs_nothing() {
    let server = Server::start(false);
    for path in [format!("/api/v2/score/address/{ONE}"), format!("/api/v2/report/address/{ONE}")] {
        // The reader has three units.
        for _ in 0..4 {
            let answer = server.send_as_reader("GET", &path, None).await;
            assert_eq!((answer.status, &answer.json()["code"]), (502, &json!("no_chain")));
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn sandbox_mode_answers_production_paths_and_says_so() {
    let server = Server::start(true);
    let mock = server.get(&sandbox(&format!("score/address/{VITALIK}"))).await.json();
    let answer = server.get(&format!("/api/v2/score/address/{VITALIK}?include_factors=true")).await;
    assert_eq!(answer.header("x-assay-sandbox"), "true");
    let body = answer.json();
    assert_eq!(
        (&body["score"], &body["provisional"], &body["credit_events_coverage"]),
        (&mock["score"], &json!(false), &json!("complete"))
    );
    for factor in body["factors"].as_array().unwrap() {
        let fields: Vec<_> = factor.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["description", "label", "points", "possible", "rating"]);
    }
    let boosted =
        server.post(&format!("/api/v2/score/address/{VITALIK}"), r#"{"total_asset_usd": 100000}"#).await.json();
    assert!(boosted["score"].as_u64() > mock["score"].as_u64() && boosted["factors"].is_null());
    let name = server.get("/api/v2/score/address/Vitalik.eth").await.json();
    assert_eq!(name["address"], server.get("/api/v2/report/address/vitalik.eth").await.json()["address"]);
    let report = server.get(&format!("/api/v2/report/address/{VITALIK}")).await.json();
    assert!(report["sandbox"].is_null() && report["score"]["value"] == mock["score"]);
    server.stop().await;
}

#[tokio::test]
async fn models_are_listed_put_on_the_shelf_and_taken_off() {
    let server = Server::start(false);
    let admin = server.admin();
    let listed = server.get("/api/v2/models/").await.json();
    assert_eq!(listed["count"], 11);
    let find = |version: &str| {
        let models = listed["models"].as_array().unwrap();
        models.iter().find(|m| m["kind"] == "credit" && m["version"] == version).cloned().unwrap()
    };
    assert_eq!((&find("1.1")["role"], &find("1.0")["role"]), (&json!("champion"), &json!("available")));

    let bytes = std::fs::read(server.shelf().join("credit-1.0.wasm")).unwrap();
    let upload = "/api/v2/admin/models";
    let refused = server.upload(upload, b"no model".to_vec()).await;
    assert_eq!((refused.status, &refused.json()["code"]), (422, &json!("not_wasm")));
    let again = server.upload(upload, bytes.clone()).await;
    assert_eq!((again.status, &again.json()["version"]), (201, &json!("1.0")));
    // The shelf would refuse this file in the same words, and this server reads none of it.
    let large = server.upload(upload, vec![0; (2 << 20) + 1]).await;
    assert_eq!((large.status, &large.json()["code"]), (413, &json!("needs_large")));
    assert!(large.text.contains("2097153 bytes, and the limit is 2097152"), "{}", large.text);
    assert!(large.text.contains("models.large_lanes = 1"), "{}", large.text);
    let too_large = server.upload(upload, vec![0; (4 << 20) + 1]).await;
    assert_eq!((too_large.status, &too_large.json()["code"]), (413, &json!("too_large")));

    let roles = server
        .send("PUT", "/api/v2/admin/models/credit/challengers", Some(&admin), Some(r#"{"versions":["1.0"]}"#))
        .await;
    let expected = json!({ "kind": "credit", "champion": "1.1", "challengers": ["1.0"], "previous": null });
    assert_eq!(roles.json(), expected);
    let itself = server
        .send("PUT", "/api/v2/admin/models/credit/challengers", Some(&admin), Some(r#"{"versions":["1.1"]}"#))
        .await;
    assert_eq!(itself.status, 409);
    assert_eq!(server.send("DELETE", "/api/v2/admin/models/credit/1.1", Some(&admin), None).await.status, 409);
    assert_eq!(server.send("DELETE", "/api/v2/admin/models/credit/1.0", Some(&admin), None).await.status, 204);
    let gone = server.send("DELETE", "/api/v2/admin/models/credit/1.0", Some(&admin), None).await;
    assert_eq!(gone.status, 404);
    assert!(gone.json()["detail"].as_str().unwrap().contains("1.1"));
    assert_eq!(server.send("DELETE", "/api/v2/admin/models/credit/one", Some(&admin), None).await.status, 422);
    assert_eq!(server.upload(upload, bytes).await.status, 201);
    server.stop().await;
}

#[tokio::test]
async fn operators_and_readers_find_what_they_need_without_a_key() {
    let server = Server::start(false);
    let ready = server.public("/readyz").await.json();
    assert_eq!((&ready["status"], &ready["reasons"]), (&json!("ready"), &json!([])));
    let warned = ready["warnings"][0].as_str().is_some_and(|said| said.contains("no chain is configured"));
    assert!(warned && ready["warnings"].as_array().is_some_and(|all| all.len() == 1), "{ready}");
    assert_eq!(server.public("/healthz").await.json()["status"], "ok");
    let metrics = server.public("/metrics").await.text;
    assert!(
        metrics.contains("assay_http_requests_total{method=\"GET\",route=\"/readyz\",status=\"200\"}"),
        "{metrics}"
    );
    let document = server.public("/openapi.json").await;
    assert_eq!(document.json()["openapi"], "3.1.0");
    let compressed = server.with_header("/openapi.json", "accept-encoding", "gzip").await;
    assert_eq!(compressed.header("content-encoding"), "gzip");
    assert!(document.text.len() > 2 * compressed.text.len(), "{} bytes", compressed.text.len());
    let page = server.public("/docs/").await.text;
    let moved = server.public("/docs").await;
    assert_eq!((moved.status, moved.header("location")), (308, "docs/"));
    let files: Vec<_> = page.split("\"../console/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(files.len(), 3, "{page}");
    for file in files {
        assert_eq!(server.public(&format!("/console/{file}")).await.status, 200, "{file}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_request_id_comes_back_and_cannot_forge_a_log_line() {
    let server = Server::start(false);
    assert_eq!(server.with_header("/healthz", "x-request-id", "mine-1").await.header("x-request-id"), "mine-1");
    for forged in ["a b", &"a".repeat(65), "a\"b"] {
        let id = server.with_header("/healthz", "x-request-id", forged).await;
        assert_eq!(id.header("x-request-id").len(), 32);
    }
    server.stop().await;
}
