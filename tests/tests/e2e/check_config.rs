//! `assay check-config --live` on real chains: it prints nothing about correct parts, and names all errors at once.

use std::{path::Path, process::Command};

use assay_tests::{
    agents,
    devnet::{Rpc, actors, feed},
    lenders::Small,
    node::Anvil,
    proxy::{Proxy, Reply},
    service::{Answer, KEY, Service, binary, plugins},
};
use serde_json::{Value, json};

use crate::{devnet, run};

/// Exit code, standard output and standard error of a check of `config`.
pub(super) fn check(config: &str) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("assay.toml"), config).expect("writing the configuration");
    let done = Command::new(binary()).current_dir(folder.path()).args(["check-config", "--live"]).output();
    let done = done.expect("assay runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (done.status.code(), text(done.stdout), text(done.stderr))
}

#[test]
fn what_this_machine_lacks_is_said_before_the_server_starts() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a-file");
    std::fs::write(&file, "").expect("a file");
    let config = format!(
        "[models]\nshelf = {:?}\n[store]\npath = {:?}\n",
        folder.path().join("nowhere"),
        file.join("data/assay.redb")
    );
    std::fs::write(folder.path().join("assay.toml"), config).expect("a file");
    let check = |name: &str| {
        let done = Command::new(binary()).current_dir(folder.path()).args(["check-config", "--config", name]).output();
        let done = done.expect("assay runs");
        String::from_utf8([done.stdout, done.stderr].concat()).expect("text")
    };
    let said = check("assay.toml");
    let here = "warning: on this machine, ";
    for part in ["models.shelf: ", "`assay init`", "store.path: ", "reading.index_path: ", "is good", here] {
        assert!(said.contains(part), "{part} not in {said}");
    }
    let redis = "[store]\nbackend = \"redis\"\nurl = \"http://redis.example\"\n";
    std::fs::write(folder.path().join("redis.toml"), redis).expect("a file");
    let said = check("redis.toml");
    assert!(said.contains("redis.toml:3: store.url: of a scheme that is not known; it is written redis://"), "{said}");
}

async fn config() -> String {
    devnet().await.config_toml("127.0.0.1:0", &plugins(), Path::new("unused.redb"), KEY)
}

#[test]
fn chains_that_agree_are_said_to() {
    run(async {
        let (code, out, err) = check(&config().await);
        assert_eq!(code, Some(0), "{out}\n{err}");
        for part in ["chain 1 Ethereum: checking", "chain 8453 Base: all", "The chains agree with it."] {
            assert!(out.contains(part), "{part} not in\n{out}");
        }
        assert!(!out.contains(KEY) && err.is_empty(), "{out}\n{err}");
    });
}

#[test]
fn everything_that_is_wrong_is_listed_at_once() {
    run(async {
        let devnet = devnet().await;
        let (ethereum, base) = (&devnet.ethereum.market, &devnet.base.market);
        let usdc = ethereum.token("USDC").expect("USDC is a token of the devnet").address;
        let nobody = "0x00000000000000000000000000000000000000AA";
        // Chain 1 is the first in the file.
        let mut config = config()
            .await
            .replacen("symbol = \"WETH\", decimals = 18", "symbol = \"WETH\", decimals = 17", 1)
            .replacen(&format!("feed = \"{}\"", ethereum.native_feed), &format!("feed = \"{usdc}\""), 1)
            .replacen(&format!("multicall = \"{}\"", ethereum.multicall), &format!("multicall = \"{usdc}\""), 1);
        // Chain 8453 is the last, so these markets belong to it.
        let usdc_there = base.token("USDC").expect("USDC is a token of the devnet").address;
        for (protocol, name, address, from_block) in [
            ("lenderA_v3", "Nowhere", nobody.to_owned(), 1),
            ("lenderA_v3", "Coin", usdc_there.to_string(), 1),
            ("lenderA_v2", "Old", base.pool.to_string(), 1),
            ("lenderB_v3", "Comet", usdc_there.to_string(), 99_999_999),
        ] {
            config += &format!(
                "[[chains.markets]]\nprotocol = \"{protocol}\"\nmarket = \"{name}\"\naddress = \
                 \"{address}\"\nfrom_block = {from_block}\n"
            );
        }
        config +=
            &format!("[[chains]]\nid = 10\nrpc = [\"{}\", \"http://127.0.0.1:1/s3cret\"]\n", devnet.ethereum.url());

        let (code, out, err) = check(&config);
        assert_eq!(code, Some(1), "{out}\n{err}");
        let expected = [
            format!("chain 1, multicall at {usdc}: does not answer getBlockNumber and aggregate3"),
            format!("chain 1, feed of the native currency at {usdc}: does not answer decimals and latestRoundData"),
            "chain 1, token WETH at 0x".to_owned(),
            ": has 18 decimals, not 17".to_owned(),
            format!(
                "chain 8453, market lenderA_v3 Nowhere at {nobody}: no contract has this address; correct \
                 chains.markets"
            ),
            format!("chain 8453, market lenderA_v3 Coin at {usdc_there}: names no addresses provider"),
            format!("chain 8453, market lenderA_v2 Old at {}: names no addresses provider", base.pool),
            format!("chain 8453, market lenderB_v3 Comet at {usdc_there}: does not answer baseToken and numAssets"),
            format!("chain 8453, market lenderB_v3 Comet at {usdc_there}: from_block 99999999 is above"),
            "chain 10, endpoint 127.0.0.1:".to_owned(),
            ": endpoint serves chain 1, not 10; correct chains.rpc".to_owned(),
            "chain 10, endpoint 127.0.0.1:1: endpoint cannot be reached".to_owned(),
        ];
        for part in expected {
            assert!(err.contains(&part), "{part} not in\n{err}");
        }
        assert!(err.contains("disagree in 10 point(s)"), "{err}");
        assert!(!err.contains("s3cret") && !out.contains("s3cret"), "{out}\n{err}");
    });
}

/// Answers every call with the number 1.
const ONE: &str = "0x60015f5260205ff3";
/// Answers `getReservesList` with a list of itself, and every other call with its own address.
const SELF: &str = "0x5f3560e01c63d1946dbc14601557305f5260205ff35b60205f5260016020523060405260605ff3";
/// Answers `isCToken` with the number 1, and every other call with its own address.
const CTOKEN: &str = "0x5f3560e01c63fe9c44ae14601557305f5260205ff35b60015f5260205ff3";

#[test]
fn markets_of_every_protocol_are_known_by_what_they_answer() {
    run(async {
        let node = tokio::task::spawn_blocking(|| Anvil::start(59_144, 1_700_000_000))
            .await
            .expect("no panic")
            .expect("anvil starts");
        let rpc = Rpc::new(node.url()).expect("a client");
        let (market, pool) =
            ("0x00000000000000000000000000000000000000AA", "0x00000000000000000000000000000000000000bb");
        let ctoken = "0x00000000000000000000000000000000000000cc";
        for (address, code) in [(market, ONE), (pool, SELF), (ctoken, CTOKEN)] {
            let _: Value = rpc.request("anvil_setCode", json!([address, code])).await.expect("code is set");
        }
        let entry =
            |protocol, address| format!("{{ protocol = \"{protocol}\", address = \"{address}\", from_block = 0 }}");
        let chain = |markets: [String; 3]| {
            let markets = markets.join(", ");
            format!(
                "[[chains]]\nid = 59144\nrpc = [\"{}\"]\nmulticall = \"none\"\nnative = {{ symbol = \"ETH\" }}\ntokens \
                 = []\npair_factories = []\nmarkets = [{markets}]\n",
                node.url()
            )
        };
        let (code, out, err) =
            check(&chain([entry("lenderA_v2", pool), entry("lenderB_v3", market), entry("lenderB_v2", ctoken)]));
        assert_eq!(code, Some(0), "{out}\n{err}");
        let (code, _, err) =
            check(&chain([entry("lenderA_v2", market), entry("lenderB_v2", market), entry("lenderA_v3", pool)]));
        assert_eq!(code, Some(1), "{err}");
        assert!(
            err.contains(&format!("lenderA_v2 at {market}: ")) && err.contains(&format!("lenderA_v3 at {pool}: ")),
            "{err}"
        );
    });
}

#[test]
fn feeds_are_held_to_their_own_heartbeats_and_the_sequencer_to_its_grace() {
    run(async {
        const NOW: u64 = 1_700_000_000;
        let node =
            tokio::task::spawn_blocking(|| Anvil::start(59_144, NOW)).await.expect("no panic").expect("anvil starts");
        let rpc = Rpc::new(node.url()).expect("a client");
        let code = format!("0x{}", &feed::creation_code().to_string()[20..]);
        let aggregator = async |address: &str, answer: u64, age: u64| {
            let word = |number: u64| format!("{number:#066x}");
            let _: Value = rpc.request("anvil_setCode", json!([address, code])).await.expect("code is set");
            for (slot, value) in [(0, answer), (1, NOW - age)] {
                let _: Value = rpc
                    .request("anvil_setStorageAt", json!([address, word(slot), word(value)]))
                    .await
                    .expect("a slot is set");
            }
        };
        let (native, token, uptime) = (
            "0x00000000000000000000000000000000000000AA",
            "0x00000000000000000000000000000000000000bb",
            "0x00000000000000000000000000000000000000cc",
        );
        let config = |heartbeat: u64| {
            format!(
                "[[chains]]\nid = 59144\nrpc = [\"{}\"]\nmulticall = \"none\"\nsequencer = \"{uptime}\"\nmarkets = []\n\
                 pair_factories = []\nnative = {{ symbol = \"ETH\", feed = \"{native}\", heartbeat = 60 }}\n\
                 tokens = [{{ address = \"{token}\", symbol = \"T\", decimals = 8, feed = \"{token}\", \
                 heartbeat = {heartbeat} }}]\n",
                node.url()
            )
        };
        aggregator(native, 5, 70).await;
        aggregator(token, 5, 4_000).await;
        aggregator(uptime, 0, 7_200).await;
        let (code, out, err) = check(&config(3_600));
        assert_eq!(code, Some(0), "{out}\n{err}");
        aggregator(native, 5, 80).await;
        aggregator(uptime, 1, 7_200).await;
        let (code, _, err) = check(&config(3_000));
        assert_eq!(code, Some(1), "{err}");
        for part in [
            format!(
                "feed of the native currency at {native}: has stopped: its answer is 80 s old with a heartbeat of 60 s"
            ),
            format!("feed of token T at {token}: has stopped: its answer is 4000 s old"),
            format!("uptime feed of the sequencer at {uptime}: says the sequencer is down"),
        ] {
            assert!(err.contains(&part), "{part} not in\n{err}");
        }
        aggregator(native, 5, 60).await;
        aggregator(uptime, 0, 3_600).await;
        let (_, _, err) = check(&config(3_600));
        assert!(err.contains("came back within the last hour") && err.contains("disagree in 1 point(s)"), "{err}");
    });
}

#[test]
fn registries_of_agents_are_known_by_what_they_answer() {
    run(async {
        let mut chain = Small::start(8_453).await.expect("the chain starts");
        let (good, other) =
            (agents::deploy(&mut chain).await.expect("deployed"), agents::deploy(&mut chain).await.expect("deployed"));
        good.register(&mut chain, "ada", &[String::new(), String::new()]).await.expect("agents are registered");
        let config = |identity: alloy::primitives::Address, reputation: alloy::primitives::Address| {
            format!(
                "[[chains]]\nid = 8453\nname = \"Base\"\nrpc = [\"{}\"]\nfinality = 2\nmulticall = \"none\"\nsequencer \
                 = \"none\"\n\
                 native = {{ symbol = \"ETH\" }}\ntokens = []\npair_factories = []\nmarkets = []\n{}",
                chain.url(),
                agents::Agents { identity, reputation }.toml(8_453, 1_000)
            )
        };
        let (code, out, err) = check(&config(good.identity, good.reputation));
        assert_eq!(code, Some(0), "{out}\n{err}");
        assert!(out.contains("all 2 contracts are as configured"), "{out}");
        let nobody = actors::address("nobody");
        for (identity, reputation, words) in [
            (good.reputation, other.reputation, vec!["names no owner of the agents 0 to 15", "is for the agents of "]),
            (nobody, good.reputation, vec!["correct agents.identity_registry", "not of agents.identity_registry"]),
            (good.identity, nobody, vec!["no contract has this address; correct agents.reputation_registry"]),
            (
                good.identity,
                other.identity,
                vec!["does not answer getIdentityRegistry(); correct agents.reputation_registry"],
            ),
            (good.identity, other.reputation, vec!["is for the agents of "]),
        ] {
            let (code, _, err) = check(&config(identity, reputation));
            assert_eq!(code, Some(1), "{err}");
            assert!(words.iter().all(|words| err.contains(words)), "{words:?} not in\n{err}");
            assert!(err.contains(&format!("disagree in {} point(s)", words.len())), "{err}");
        }
    });
}

#[test]
fn an_endpoint_without_old_state_is_a_warning() {
    run(async {
        let url = devnet().await.ethereum.url();
        let proxy = Proxy::start(url).await;
        proxy.rule(|call| match call.params[1].as_str() {
            Some(block) if block.starts_with("0x") && call.method == "eth_getBalance" => {
                Reply::Error { code: -32000, message: "missing trie node 0123 (path )".into() }
            }
            _ => Reply::Pass,
        });
        let config = config().await.replace(url, &proxy.url);
        let words = "the endpoint keeps no state of old blocks";
        let (code, out, err) = check(&config);
        assert_eq!(code, Some(0), "{out}\n{err}");
        assert_eq!(out.matches(&format!("chain 1 Ethereum: warning: {words}")).count(), 1, "{out}");
        assert_eq!(out.matches(words).count(), 1, "{out}");

        let service = Service::start(&crate::configured(&plugins(), "").await.replace(url, &proxy.url));
        let warns = |ready: &Answer| {
            let ready = ready.ok();
            assert_eq!((&ready["status"], &ready["reasons"]), (&json!("ready"), &json!([])));
            ready["warnings"].is_array()
        };
        let warnings = service.keyed().until("/readyz", warns).await.json()["warnings"].take();
        assert_eq!(warnings.as_array().map(Vec::len), Some(1));
        assert!(
            warnings[0].as_str().is_some_and(|said| said.starts_with("chain 1 Ethereum: ") && said.contains(words))
        );
    });
}

#[test]
fn a_server_that_runs_warns_of_what_the_check_refuses() {
    run(async {
        let config = crate::configured(&plugins(), "").await.replacen(
            "symbol = \"WETH\", decimals = 18",
            "symbol = \"WETH\", decimals = 17",
            1,
        );
        let (code, _, err) = check(&config);
        assert_eq!(code, Some(1), "{err}");
        let service = Service::start(&config);
        let ready = service.keyed().until("/readyz", |ready| ready.json()["warnings"].is_array()).await.ok();
        let warnings: Vec<_> = ready["warnings"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        let said =
            warnings.iter().any(|said| said.contains("token WETH at 0x") && said.contains("has 18 decimals, not 17"));
        assert!(said, "{warnings:?}");
        assert_eq!(ready["status"], "ready", "scores need no WETH");
        service.logged("the configuration contradicts a check").await;
    });
}

#[test]
fn another_network_with_the_same_id_is_one_sentence() {
    run(async {
        let now = chrono::Utc::now().timestamp().unsigned_abs();
        let node = Anvil::start(1, now).expect("a node");
        let config = format!(
            "listen = \"127.0.0.1:0\"\n[models]\nshelf = {:?}\n[store]\npath = \"{{dir}}/assay.redb\"\n\
             [[access.keys]]\nname = \"test\"\nkey = \"{KEY}\"\nscopes = [\"read\"]\n\
             [[chains]]\nid = 1\nrpc = [{:?}]\n",
            plugins(),
            node.url()
        );
        let service = Service::start(&config);
        let ready = service.keyed().until("/readyz", |ready| ready.json()["warnings"].is_array()).await.ok();
        let warnings = ready["warnings"].as_array().expect("a list");
        let said = warnings[0].as_str().expect("a text");
        assert!(warnings.len() == 1 && said.contains("it is another network with this id"), "{warnings:?}");
        let wallet = actors::address("borrower");
        let report = service.keyed().get(&format!("/api/v2/report/address/{wallet}")).await.ok();
        assert_ne!(report["credit_events"]["coverage"], "complete", "{report}");
        let log = service.logged("no market of chains.markets answers").await;
        for of_each in ["no market of its protocol", "a position cannot be read"] {
            assert!(!log.contains(of_each), "{log}");
        }
    });
}
