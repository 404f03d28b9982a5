//! Typed clients that public tools generate from the server's own document: they need no patch, call every operation
//! and decode every answer, errors too.

use std::{collections::BTreeMap, path::Path, process::Stdio};

use assay_tests::{
    packages, python,
    service::{KEY, Service, plugins, sandbox_config},
};
use serde::Deserialize;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{devnet, released_on_devnet, run};

/// What a generated client did: the statuses of each operation, with a key and with a wrong one, and the answers that
/// it could not decode or that the document does not declare.
#[derive(Debug, Deserialize)]
struct Called {
    calls: BTreeMap<String, Vec<u16>>,
    undecoded: Vec<Value>,
    /// What the typed client read of a score with a key and with a wrong one.
    #[serde(default)]
    read: Vec<Value>,
}

/// Calls every operation of `service` by `script` in `clients/`.
async fn call_everything(interpreter: &Path, script: &str, service: &Service, address: &str) -> Called {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(script);
    let mut command = tokio::process::Command::new(interpreter);
    command.arg(script).args([service.base(), KEY, address]).arg(plugins().join("credit-1.0.wasm"));
    let done = command.stdin(Stdio::null()).kill_on_drop(true).output().await.expect("the client");
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    serde_json::from_str(out.trim()).unwrap_or_else(|_| panic!("{}: {out}\n{err}", done.status))
}

fn operations(document: &Value) -> usize {
    let paths = document["paths"].as_object().expect("paths").values();
    paths.map(|item| item.as_object().expect("operations").len()).sum()
}

/// Has `script` call a sandbox and a server on the devnet, and returns what it read of the score of each.
async fn calls_everything(interpreter: &Path, script: &str) -> Vec<Vec<Value>> {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let sandbox = Service::start_in(dir, &sandbox_config(&plugins()), &["--sandbox"]);
    let real = released_on_devnet().await;
    let wallet = devnet().await.wallet("borrower").address.to_string();
    let mut read = Vec::new();
    for (service, address) in [(&sandbox, "0x0000000000000000000000000000000000000001"), (&real, wallet.as_str())] {
        let called = call_everything(interpreter, script, service, address).await;
        assert_eq!(called.undecoded, [] as [Value; 0]);
        let document = service.anonymous().get("/openapi.json").await.ok();
        assert_eq!(called.calls.len(), operations(&document));
        for (operation, statuses) in &called.calls {
            let wrong_key = match operation.as_str() {
                "get_health" | "get_readiness" | "get_metrics" => 200,
                "get_inference_server" | "get_inference_health" | "get_inference_readiness" => 200,
                // The sandbox signs mock statements, and the other server none.
                "list_attestation_signers" if std::ptr::eq(service, &sandbox) => 200,
                "list_attestation_signers" => 502,
                _ => 401,
            };
            assert_eq!((statuses.len(), statuses[1]), (2, wrong_key), "{operation}");
        }
        assert_eq!((called.calls["get_score"][0], called.calls["get_report"][0]), (200, 200));
        read.push(called.read);
    }
    read
}

#[test]
fn a_generated_python_client_calls_every_operation_and_decodes_every_answer() {
    run(async {
        let python = tokio::task::spawn_blocking(python::interpreter).await.expect("no panic").expect("Python");
        calls_everything(&python, "generated.py").await;
    });
}

#[test]
fn a_generated_typescript_client_compiles_and_gets_the_declared_answer_of_every_operation() {
    run(async {
        tokio::task::spawn_blocking(packages::client_packages).await.expect("no panic").expect("the packages");
        for read in calls_everything(Path::new("node"), "generated.mjs").await {
            assert!(read[0].as_u64().is_some_and(|score| (300..=1000).contains(&score)), "{read:?}");
            assert_eq!(read[1], "Invalid or missing API key");
        }
    });
}

#[test]
fn a_refusal_that_leaves_the_body_unread_says_that_the_connection_ends() {
    run(async {
        let service = Service::sandbox(&plugins());
        let mut client = TcpStream::connect(service.address()).await.expect("a connection");
        let path = "/api/v2/score/address/0x0000000000000000000000000000000000000001";
        // The body is still on its way when the key is refused.
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: assay\r\nauthorization: Bearer wrong\r\ncontent-length: 2\r\n\r\n");
        client.write_all(head.as_bytes()).await.expect("a head");
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.expect("an answer and the end");
        assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("\r\nconnection: close\r\n"), "{answer}");
    });
}

#[test]
fn a_request_names_one_host() {
    run(async {
        let service = Service::sandbox(&plugins());
        for (head, status) in [
            ("HTTP/1.1\r\nhost: assay\r\n", "200"),
            ("HTTP/1.1\r\n", "400"),
            ("HTTP/1.1\r\nhost: assay\r\nhost: other\r\n", "400"),
            ("HTTP/1.0\r\n", "200"),
            ("HTTP/1.0\r\nhost: assay\r\nhost: other\r\n", "400"),
        ] {
            let mut client = TcpStream::connect(service.address()).await.expect("a connection");
            let request = format!("GET /healthz {head}connection: close\r\n\r\n");
            client.write_all(request.as_bytes()).await.expect("a head");
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.expect("an answer and the end");
            assert_eq!(answer.split(' ').nth(1), Some(status), "{head:?}: {answer}");
        }
    });
}
