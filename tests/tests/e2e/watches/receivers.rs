//! The receivers of the manual, with the public packages of Standard Webhooks for TypeScript, Python and Rust, take
//! real deliveries and refuse everything else.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
};

use assay_tests::{
    packages, python,
    receiver::{Consent, Delivery, Receiver, signature},
    redis::free_port,
    service::{Caller, Service, answer},
    until::until,
};
use axum::{
    Json, Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use reqwest::Method;
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
    process::{Child, Command},
};

use super::{Market, delivery::allowing, path, run, seen, told, watch};

include!("receivers/hook.rs");

/// A body whose letters need more than one byte, so that a receiver which decodes it by parts breaks.
const BODY: &str = r#"{"type":"watch.test","timestamp":"2026-11-26T11:00:00Z","data":{"id":"evt_ä"}}"#;

fn manual() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/docs/watches.md")
}

/// The receiver of the manual in `language`.
fn code(language: &str) -> String {
    let text = std::fs::read_to_string(manual()).expect("the manual");
    let (_, rest) = text.split_once(&format!("```{language}\n")).expect("a receiver");
    rest.split_once("```").expect("its end").0.to_owned()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("receivers")
}

/// A watch whose events are delivered once it has a receiver, and its secret.
async fn secret(api: &Caller) -> (Value, String) {
    let watch = watch(api, json!({})).await;
    let secret = watch["secret"].as_str().expect("a secret").to_owned();
    (watch, secret)
}

/// The status of a delivery that somebody sends to the receiver at `port`.
async fn sent(port: u16, (signed, id, at, text): (&str, &str, i64, &str)) -> u16 {
    let request = reqwest::Client::new().post(format!("http://127.0.0.1:{port}/hook")).body(text.to_owned());
    let request = request.header("webhook-id", id).header("webhook-timestamp", at).header("webhook-signature", signed);
    request.send().await.expect("an answer").status().as_u16()
}

/// Has the server deliver two events to the receiver at `port`, and sends it what it must refuse.
async fn takes_and_refuses(api: &Caller, (watch, secret): (&Value, &str), port: u16) {
    until(async || TcpStream::connect(("127.0.0.1", port)).await.is_ok(), |is_open| *is_open).await;
    let url = json!({ "url": format!("http://127.0.0.1:{port}/hook") });
    answer(api.request(Method::PATCH, &path(watch)).json(&url)).await.ok();
    for _ in 0..2 {
        assert_eq!(api.post(&format!("{}/test", path(watch)), &json!({})).await.status, 202);
    }
    let found = seen(api, watch, |watch| watch["delivery"]["delivered_through"] == 2).await;
    let latest = found["delivery"]["latest"].as_array().expect("attempts").clone();
    assert!(latest.len() == 3 && latest.iter().all(|attempt| attempt["delivered"] == true), "{latest:?}");
    assert_eq!(latest[0]["outcome"], "consent by challenge");

    let now = chrono::Utc::now().timestamp();
    let right = signature(secret, "evt_1", now, BODY);
    assert_eq!(sent(port, (&right, "evt_1", now, BODY)).await, 200);
    let (old, new) = (now - 600, now + 600);
    let changed = BODY.replace("evt_", "evt-");
    let stranger = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
    for (what, delivery) in [
        ("another body", (right.as_str(), "evt_1", now, changed.as_str())),
        ("another id", (right.as_str(), "evt_2", now, BODY)),
        ("another time", (right.as_str(), "evt_1", now + 1, BODY)),
        ("an old one that was right", (signature(secret, "evt_1", old, BODY).as_str(), "evt_1", old, BODY)),
        ("one of the future", (signature(secret, "evt_1", new, BODY).as_str(), "evt_1", new, BODY)),
        ("another secret", (signature(stranger, "evt_1", now, BODY).as_str(), "evt_1", now, BODY)),
        ("a question by another secret", (signature(stranger, "verify_1", now, BODY).as_str(), "verify_1", now, BODY)),
        ("only v1a", ("v1a,AAAA", "evt_1", now, BODY)),
        ("no signature", ("", "evt_1", now, BODY)),
        ("garbage", ("v1,?? v1", "evt_1", now, BODY)),
    ] {
        assert_eq!(sent(port, delivery).await, 401, "{what}");
    }
    // It is alive, and takes a delivery again.
    assert_eq!(sent(port, (&right, "evt_1", now, BODY)).await, 200);
}

/// A server that may deliver to this port of this machine.
fn service(market: &Market, port: u16) -> Service {
    Service::start(&market.config(market.chain.url(), &format!("[outbound]\nallow = [\"127.0.0.1:{port}\"]\n")))
}

fn spawned(command: &mut Command, secret: &str, port: u16) -> Child {
    let command = command.env("ASSAY_WEBHOOK_SECRET", secret).env("PORT", port.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true).spawn().expect("the receiver starts")
}

#[test]
fn the_receiver_in_typescript_takes_deliveries_and_refuses_others() {
    run(async {
        let market = Market::start().await;
        let port = free_port();
        let service = service(&market, port);
        let api = service.keyed();
        let (watch, secret) = secret(&api).await;
        tokio::task::spawn_blocking(packages::receiver_packages).await.expect("no panic").expect("npm");
        let _hook = spawned(Command::new("node").arg(folder().join("hook.mjs")).arg(manual()), &secret, port);
        takes_and_refuses(&api, (&watch, &secret), port).await;
    });
}

#[test]
fn the_receiver_in_python_takes_deliveries_and_refuses_others() {
    run(async {
        let market = Market::start().await;
        let port = free_port();
        let service = service(&market, port);
        let api = service.keyed();
        let (watch, secret) = secret(&api).await;
        let python = tokio::task::spawn_blocking(python::of_receivers).await.expect("no panic").expect("Python");
        let mut command = Command::new(python);
        let _hook = spawned(command.args(["-c", &code("python")]).stderr(Stdio::null()), &secret, port);
        takes_and_refuses(&api, (&watch, &secret), port).await;
    });
}

#[test]
fn the_receiver_in_rust_takes_deliveries_and_refuses_others() {
    run(async {
        assert_eq!(code("rust"), include_str!("receivers/hook.rs"), "the manual has the code that this test runs");
        let market = Market::start().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let service = service(&market, port);
        let api = service.keyed();
        let (watch, secret) = secret(&api).await;
        let webhook = Arc::new(Webhook::new(&secret).expect("a secret"));
        let app = Router::new().route("/hook", post(hook)).with_state(webhook);
        let server = tokio::spawn(async move { axum::serve(listener, app).await });
        takes_and_refuses(&api, (&watch, &secret), port).await;
        server.abort();
    });
}

/// What a script in `receivers/` says of deliveries.
async fn checked(command: &mut Command, key: &Value, deliveries: &[Delivery]) -> Vec<bool> {
    let shown = |one: &Delivery| {
        let Delivery { id, timestamp, signatures, text, .. } = one;
        json!({ "id": id, "timestamp": timestamp, "signatures": signatures, "text": text })
    };
    let given = json!({ "key": key, "deliveries": deliveries.iter().map(shown).collect::<Value>() }).to_string();
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().expect("the script starts");
    let mut stdin = child.stdin.take().expect("its input");
    stdin.write_all(given.as_bytes()).await.expect("it reads");
    drop(stdin);
    let done = child.wait_with_output().await.expect("its end");
    serde_json::from_slice(&done.stdout).expect("its answer")
}

#[test]
fn ordinary_libraries_check_the_signature_that_needs_no_secret() {
    run(async {
        let market = Market::start().await;
        let receiver = Receiver::start(Consent::Allows).await;
        let service = Service::start(&market.config(market.chain.url(), &allowing(&[&receiver])));
        let api = service.keyed();
        let watch = watch(&api, json!({ "url": receiver.url })).await;
        for _ in 0..2 {
            api.post(&format!("{}/test", path(&watch)), &json!({})).await;
        }
        told(&api, &watch, 2).await;
        let mut deliveries = receiver.received(2).await;
        let mut changed = deliveries[0].clone();
        changed.text = changed.text.replace("watch.test", "watch.best");
        let mut later = deliveries[0].clone();
        later.timestamp = (later.timestamp.parse::<u64>().expect("seconds") + 1).to_string();
        deliveries.extend([changed, later]);
        let key = &api.get(&path(&watch)).await.ok()["delivery"]["public_key"];
        let node = checked(Command::new("node").arg(folder().join("v1a.mjs")), key, &deliveries).await;
        let python = tokio::task::spawn_blocking(python::of_receivers).await.expect("no panic").expect("Python");
        let in_python = checked(Command::new(python).arg(folder().join("v1a.py")), key, &deliveries).await;
        for verdicts in [node, in_python] {
            assert_eq!(verdicts, [true, true, false, false]);
        }
    });
}
