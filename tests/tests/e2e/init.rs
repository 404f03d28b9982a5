//! `assay init`, and a server that lacks chains and keys.

use std::{path::Path, process::Command};

use assay_tests::{
    devnet::Rpc,
    node::Anvil,
    proxy::{Proxy, Reply},
    service::{Caller, Service, binary, plugins},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::run;

/// Exit code, standard output and standard error of `assay init` in `folder`.
async fn init(folder: &Path, arguments: &[String]) -> (Option<i32>, String, String) {
    let mut command = Command::new(binary());
    command.arg("init").args(arguments).current_dir(folder);
    let done = tokio::task::spawn_blocking(move || command.output()).await.expect("no panic").expect("assay runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (done.status.code(), text(done.stdout), text(done.stderr))
}

fn rpc(chain: u64, url: &str) -> [String; 2] {
    ["--rpc".to_owned(), format!("{chain}={url}")]
}

/// A node of chain 1 with 200 blocks, in which `wallet` has sent a transaction.
async fn node(wallet: &str) -> Anvil {
    let node = tokio::task::spawn_blocking(|| Anvil::start(1, 1_700_000_000)).await;
    let node = node.expect("no panic").expect("anvil starts");
    let rpc = Rpc::new(node.url()).expect("a client");
    let _: Value = rpc.request("anvil_setBalance", json!([wallet, "0xde0b6b3a7640000"])).await.expect("set");
    let _: Value = rpc.request("anvil_setNonce", json!([wallet, "0x5"])).await.expect("set");
    let _: Value = rpc.request("anvil_mine", json!(["0xc8"])).await.expect("mined");
    node
}

#[test]
fn a_folder_with_nothing_in_it_becomes_a_server_that_answers() {
    run(async {
        let wallet = "0x00000000000000000000000000000000000000AA";
        let node = node(wallet).await;
        // An endpoint that prunes, and that answers logs of 50 blocks without saying so.
        let proxy = Proxy::start(node.url()).await;
        proxy.rule(|call| {
            let number = |value: &Value| u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok();
            let old = call.method == "eth_getBalance" && number(&call.params[1]).is_some_and(|block| block < 50);
            let span = number(&call.params[0]["fromBlock"]).zip(number(&call.params[0]["toBlock"]));
            let message = match span {
                _ if old => "missing trie node 0123 (path )",
                Some((from, to)) if to - from >= 50 => "block range is too wide",
                _ => return Reply::Pass,
            };
            Reply::Error { code: -32000, message: message.into() }
        });
        let folder = TempDir::new().expect("a folder");
        let url = format!("{}/?key=s3cret", proxy.url);
        let arguments = [rpc(1, &url), rpc(1, node.url())].concat();
        let (code, out, err) = init(folder.path(), &arguments).await;
        assert_eq!(code, Some(0), "{out}\n{err}");
        for part in [
            "head 200, state of the last 100 blocks kept, logs of 10 blocks at once",
            "head 200, old state kept, logs of any range",
            "first read of a wallet: 80 log queries, and some batches of calls; once the market index is read, which \
             takes 60",
            "first read of a wallet: 4 log queries, and some batches of calls\n",
            "assay.toml is written",
            "assay serve\n",
        ] {
            assert!(out.contains(part), "{part} not in\n{out}");
        }
        assert!(!out.contains("s3cret"), "{out}");
        let file = folder.path().join("assay.toml");
        let written = std::fs::read_to_string(&file).expect("the file");
        assert!(written.contains(&format!("\"{url}\"")) && written.contains("log_range = 10\n"), "{written}");
        let key = out.lines().find_map(|line| line.trim().strip_prefix("assay_")).expect("a key");
        let key = format!("assay_{key}");
        assert!(!written.contains(&key), "the store has the hash of the key");

        // A second call changes nothing, unless it is forced; the key stays.
        let (code, _, err) = init(folder.path(), &arguments).await;
        assert!(code == Some(2) && err.contains("assay.toml exists already"), "{err}");
        let forced = [rpc(1, node.url()).to_vec(), vec!["--force".to_owned()]].concat();
        let (code, out, err) = init(folder.path(), &forced).await;
        assert!(code == Some(0) && out.contains("a key named admin already"), "{out}\n{err}");
        assert!(!std::fs::read_to_string(&file).expect("the file").contains("s3cret"));

        let config = std::fs::read_to_string(&file).expect("the file");
        let path = |name: &str| format!("{:?}", folder.path().join(name));
        let config = config.replace("\"data/assay.redb\"", &path("data/assay.redb")).replace(":8080", ":0");
        let shelf = path("plugins");
        let service = Service::start(&format!("models.shelf = {shelf}\n{config}"));
        let api = Caller::at(service.base(), &key);
        let score = api.get(&format!("/api/v2/score/address/{wallet}")).await.ok();
        assert_eq!((&score["address"], &score["model_version"]), (&json!(wallet), &json!("1.1")), "{score}");
        assert_eq!(api.get("/api/v2/admin/keys").await.ok()["keys"][0]["name"], "admin");
        assert_eq!(service.anonymous().get("/readyz").await.ok()["status"], "ready");
    });
}

#[test]
fn an_endpoint_that_answers_with_the_present_is_named() {
    run(async {
        let node = node("0x00000000000000000000000000000000000000cc").await;
        let proxy = Proxy::start(node.url()).await;
        proxy.rule(|call| match (call.method.as_str(), call.params.as_array()) {
            ("eth_call" | "eth_getBalance" | "eth_getTransactionCount", Some(params)) => {
                Reply::Instead(json!([params.first(), "latest"]))
            }
            _ => Reply::Pass,
        });
        let folder = TempDir::new().expect("a folder");
        let (code, out, err) = init(folder.path(), &rpc(1, &proxy.url)).await;
        assert_eq!(code, Some(0), "{out}\n{err}");
        assert!(out.contains("head 200, current state instead of old state"), "{out}");
        let mut check = Command::new(binary());
        check.args(["check-config", "--live"]).current_dir(folder.path());
        let done = tokio::task::spawn_blocking(move || check.output()).await.expect("no panic").expect("assay runs");
        let said = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(!done.status.success() && said.contains(": answers every request with the current state"), "{said}");
    });
}

#[test]
fn nothing_is_written_for_endpoints_that_cannot_be_used() {
    run(async {
        let node = node("0x00000000000000000000000000000000000000bb").await;
        let folder = TempDir::new().expect("a folder");
        let local = node.url();
        for (arguments, code, words) in [
            (
                [rpc(10, local), rpc(8_453, "http://127.0.0.1:1/s3cret")].concat(),
                1,
                vec!["chain 10, endpoint 127.0.0.1:", "serves chain 1, not 10", "chain 8453, endpoint 127.0.0.1:1: "],
            ),
            (rpc(31_337, local).to_vec(), 2, vec!["chain 31337 is not among the shipped ones", "8453"]),
            (rpc(1, "node.example").to_vec(), 2, vec!["write the id of a chain and a URL"]),
            (vec![], 2, vec!["give an endpoint for each chain"]),
        ] {
            let (found, out, err) = init(folder.path(), &arguments).await;
            assert_eq!(found, Some(code), "{out}\n{err}");
            assert!(words.iter().all(|words| err.contains(words)), "{words:?} not in\n{err}");
            assert!(!err.contains("s3cret"), "{err}");
        }
        assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
    });
}

#[test]
fn a_server_without_chains_and_keys_says_so() {
    run(async {
        let config =
            format!("listen = \"127.0.0.1:0\"\nmodels.shelf = {:?}\nstore.path = \"{{dir}}/assay.redb\"\n", plugins());
        let service = Service::start(&config);
        let ready = service.anonymous().get("/readyz").await.ok();
        assert_eq!(ready["status"], "ready");
        let warnings = ready["warnings"].as_array().expect("a list");
        let says = |words: &str| warnings.iter().filter_map(Value::as_str).any(|said| said.contains(words));
        assert!(warnings.len() == 2 && says("no chain is configured") && says("there is no API key"), "{ready}");
        let log = service.logged("\"listening\"").await;
        let last = log.lines().find(|line| line.contains("\"listening\"")).expect("the last line of the start");
        let last: Value = serde_json::from_str(last).expect("JSON");
        let said = last["warnings"].as_str().expect("text");
        assert!(said.contains("no chain is configured") && said.contains("there is no API key"), "{said}");
        assert_eq!(
            (&last["url"], &last["console"]),
            (&json!(service.base()), &json!(format!("{}/console", service.base())))
        );
        assert!(last["version"].is_string(), "{last}");
        assert_eq!(log.matches("\"WARN\"").count(), 2, "{log}");
    });
}
