//! Names instead of addresses, through the whole server: the real registry and resolver of ENS, stubs of resolvers with
//! off-chain records, and a local gateway.

mod reverts;
mod universal;

use std::time::{Duration, Instant};

use alloy::primitives::{Address, keccak256};
use alloy::sol_types::SolValue;
use assay_tests::{
    devnet::actors::{self, address as wallet},
    lenders::Small,
    people::{
        self,
        ens::{self, Ens},
        gateway::Gateway,
    },
    proxy::{Call, Proxy, Reply},
    service::{Service, plugins, sandbox_config},
    until::until,
};
use futures::future::join_all;
use serde_json::json;

use super::run;

const NOT_FOUND: &str = "Address not found or has no on-chain activity";
/// How old a head may be when a read begins with it.
const GOOD_FOR: Duration = Duration::from_secs(1);

/// A chain with names.
struct World {
    chain: Small,
    ens: Ens,
}

impl World {
    async fn start() -> Self {
        let mut chain = Small::start(1).await.expect("the chain starts");
        let ens = ens::deploy(&mut chain).await.expect("ENS is deployed");
        ens.name(&mut chain, "ada.eth", wallet("ada"));
        ens.name(&mut chain, "🅰🅱.eth", wallet("emil"));
        ens.name(&mut chain, "zero.eth", Address::ZERO);
        // A wallet needs activity to have a score.
        for name in ["ada", "emil"] {
            chain.queue(
                wallet(name),
                wallet(actors::TREASURY),
                &people::ens::Resolver::setNameCall { node: keccak256(name), name: name.into() },
            );
        }
        chain.mine().await.expect("names are registered");
        Self { chain, ens }
    }

    /// A server with the chain at `rpc`. `more` begins in the section of names.
    fn serve(&self, rpc: &str, more: &str) -> Service {
        self.serve_with(rpc, "", more)
    }

    /// As [`serve`](Self::serve), with more keys of the registry, each after a comma. `rpc` may be several, as in
    /// `a", "b`.
    fn serve_with(&self, rpc: &str, keys: &str, more: &str) -> Service {
        let toml = with_chain(1, rpc);
        let registry = self.ens.registry;
        let names = format!(
            "[names]\nregistries = \
             [{{ provider = \"ens\", chain = 1, registry = \"{registry}\", reverse = \"addr.reverse\"{keys} }}]\n"
        );
        // The checks in the background would ask for the head too.
        Service::start(&format!("check_live = false\n{toml}\n[reading.rpc]\nretries = 0\n{names}{more}"))
    }
}

/// A configuration with one chain that has only wallets.
fn with_chain(id: u64, rpc: &str) -> String {
    let chain = format!(
        "[[chains]]\nid = {id}\nname = \"Local\"\nrpc = [\"{rpc}\"]\nfinality = 16\nmax_head_age = 0\nmulticall = \
         \"none\""
    );
    format!("{}{chain}\nnative = {{ symbol = \"ETH\" }}\ntokens = []\nmarkets = []\n", sandbox_config(&plugins()))
}

#[test]
fn a_name_is_as_good_as_the_address_it_stands_for() {
    run(async {
        let mut world = World::start().await;
        let wild =
            people::stub(&mut world.chain, "WildcardStub", wallet("emil").abi_encode()).await.expect("a resolver");
        world.ens.register(&mut world.chain, "wild.eth", wild);
        world.chain.mine().await.expect("a wildcard is registered");
        let service = world.serve(world.chain.url(), "");
        let api = service.keyed();
        let (ada, emil) = (wallet("ada").to_checksum(None), wallet("emil").to_checksum(None));

        // Several spellings of a name, a name with symbols, and a name that only a parent's resolver (a wildcard)
        // answers.
        for (name, owner) in [("ada.eth", &ada), ("AdA.ETH", &ada), ("🅰️🅱.eth", &emil), ("x.y.wild.eth", &emil)]
        {
            let report = api.get(&format!("/api/v2/report/address/{name}")).await.ok();
            assert_eq!(report["address"], json!(owner), "{name}");
            let score = api.get(&format!("/api/v2/score/address/{name}")).await.ok();
            assert_eq!((&score["address"], &score["score"]), (&json!(owner), &report["score"]["value"]), "{name}");
        }
        // An unregistered name, a name without an address, and names that the wildcard does not answer.
        for name in ["nobody.eth", "zero.eth", "wild.eth", "x.wild.eth", "sub.ada.eth"] {
            let answer = api.get(&format!("/api/v2/report/address/{name}")).await.expect(404);
            assert_eq!(answer, json!({ "detail": NOT_FOUND }), "{name}");
        }
        // A Cyrillic letter, a hidden joiner, invalid labels; and an address with one letter in the wrong case.
        let wrong = ada.char_indices().rev().find(|(_, c)| c.is_ascii_alphabetic()).map(|(at, c)| {
            let other = if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
            format!("{}{other}{}", &ada[..at], &ada[at + 1..])
        });
        for bad in [
            "\u{430}da.eth",
            "a\u{200d}da.eth",
            "a..eth",
            "ab--c.eth",
            "eth",
            &wrong.expect("an address with a letter"),
        ] {
            for path in ["report", "score"] {
                let answer = api.get(&format!("/api/v2/{path}/address/{bad}")).await.expect(400);
                let said = answer["detail"].as_str().unwrap();
                assert!(said.starts_with("Invalid Ethereum address format"), "{bad}: {said}");
                assert_eq!(said.contains("checksum"), bad.starts_with("0x"), "{bad}: {said}");
            }
        }
        let list = format!("?address=ADA.eth,{emil},ada.eth,nobody.eth,\u{430}da.eth,{ada}");
        let aggregated = api.get(&format!("/api/v2/report/{list}")).await.ok();
        assert_eq!(aggregated["report"]["address"], json!([ada, emil]));
        let batch = api.get(&format!("/api/v2/score/batch{list}")).await.ok();
        assert_eq!((&batch["count"], &batch["scores"][0]["address"]), (&json!(2), &json!(ada)));
    });
}

#[test]
fn a_name_is_asked_for_once_and_a_silence_is_no_answer() {
    run(async {
        let world = World::start().await;
        let proxy = Proxy::start(world.chain.url()).await;
        let service = world.serve(&proxy.url, "");
        let api = service.keyed();
        let registry = json!(world.ens.registry.to_string().to_lowercase());
        let ada = keccak256(b"resolver(bytes32)")[..4].to_vec();
        let asked = |node: &str| -> usize {
            let data = format!("0x{}{}", hex::encode(&ada), hex::encode(ens::node(node)));
            let calls = proxy.take();
            calls
                .iter()
                .filter(|call| call.params[0]["to"] == registry && call.params[0]["data"] == json!(data))
                .count()
        };

        // Twenty concurrent requests, then one with another spelling; and an unregistered name.
        let path = |name: &str| format!("/api/v2/report/address/{name}");
        let first = join_all((0..20).map(|_| api.get("/api/v2/report/address/ada.eth"))).await;
        assert!(first.iter().all(|answer| answer.status == 200));
        assert_eq!(asked("ada.eth"), 1);
        api.get(&path("ADA.eth")).await.ok();
        assert_eq!(asked("ada.eth"), 0);
        for times in [1, 0] {
            api.get(&path("nobody.eth")).await.expect(404);
            assert_eq!(asked("nobody.eth"), times);
        }

        // The chain does not respond: cached names still resolve, and others are neither found nor absent and are
        // looked up again.
        proxy.rule(|_| Reply::Error { code: -32000, message: "down".into() });
        api.get(&path("ada.eth")).await.ok();
        let silent = api.get(&path("🅰🅱.eth")).await;
        assert_eq!(
            (&silent.expect(502)["code"], silent.headers.contains_key("retry-after")),
            (&json!("name_unreadable"), true)
        );
        let list = api.get("/api/v2/report/?address=ada.eth,🅰🅱.eth").await.ok();
        assert_eq!(
            list["report"]["address"],
            json!([wallet("ada").to_checksum(None)]),
            "the answer names whom it is of"
        );
        proxy.rule(|_| Reply::Pass);
        api.until(&path("🅰🅱.eth"), |answer| answer.status == 200).await;
    });
}

#[test]
fn the_head_is_asked_for_while_a_name_is_looked_up() {
    run(async {
        let world = World::start().await;
        let proxy = Proxy::start(world.chain.url()).await;
        let more = "cache_ms = 1\n[scoring]\ncache_ms = 1\nincomplete_cache_ms = 1\n";
        let service = world.serve(&proxy.url, more);
        let api = service.keyed();
        api.get(&format!("/api/v2/report/address/{}", wallet("ada"))).await.ok();
        // The last question of the look-up waits.
        let addr = format!("0x{}", hex::encode(&keccak256(b"addr(bytes32)")[..4]));
        proxy.rule(move |call| match call.params[0]["data"].as_str() {
            Some(data) if data.starts_with(&addr) => Reply::Hold,
            _ => Reply::Pass,
        });
        let is_head = |call: &Call| call.method == "eth_getBlockByNumber" && call.params[0] == "latest";
        let asks_again = async || {
            proxy.take();
            let started = Instant::now();
            let read = tokio::spawn({
                let api = service.keyed();
                async move { api.get("/api/v2/report/address/ada.eth").await }
            });
            proxy.held().await;
            until(async || proxy.take(), |calls| calls.iter().any(is_head)).await;
            proxy.release(1);
            let report = read.await.expect("an answer").ok();
            let ada = wallet("ada").to_checksum(None);
            assert_eq!((&report["address"], &report["cached"]), (&json!(ada), &json!(false)));
            let calls = proxy.take();
            assert!(
                calls.iter().any(|call| call.method == "eth_getTransactionCount"),
                "it reads the wallet: {calls:?}"
            );
            let again = calls.iter().any(is_head);
            assert!(!again || started.elapsed() >= GOOD_FOR, "the read does not ask for the head again: {calls:?}");
            again
        };
        // On a busy machine the head may be too old when the read begins: the name is then looked up once more.
        until(asks_again, |again| !again).await;
    });
}

#[test]
fn without_a_chain_of_names_that_is_said() {
    run(async {
        let chain = Small::start(31_337).await.expect("the chain starts");
        let service = Service::start(&with_chain(31_337, chain.url()));
        let answer = service.keyed().get("/api/v2/report/address/ada.eth").await.expect(502);
        assert_eq!(answer["code"], "names_not_configured");
        service.keyed().get(&format!("/api/v2/report/address/{}", wallet("ada"))).await.ok();
    });
}

#[test]
fn records_that_are_elsewhere_are_fetched_from_there_and_from_nowhere_inward() {
    run(async {
        let mut world = World::start().await;
        let owner = wallet("emil");
        let inward = Gateway::start(owner, String::new()).await;
        let gateway = Gateway::start(owner, format!("{}/stolen", inward.url)).await;
        let at = |path: &str| format!("{}{path}", gateway.url);
        let none = Address::ZERO;
        // For each name: its gateways, the sender that it declares, the number of its rounds, and the expected status.
        let cases = [
            ("get.eth", vec![at("/{sender}/{data}.json")], none, 1, 200),
            ("post.eth", vec![at("/post/{sender}")], none, 1, 200),
            ("second.eth", vec![at("/error/500"), at("/{data}")], none, 1, 200),
            ("four.eth", vec![at("/{data}")], none, 4, 200),
            ("five.eth", vec![at("/{data}")], none, 5, 404),
            ("foreign.eth", vec![at("/{data}")], wallet("ada"), 1, 404),
            ("no.eth", vec![at("/error/404/{data}"), at("/{data}")], none, 1, 404),
            ("broken.eth", vec![at("/error/500/{data}")], none, 1, 502),
            ("later.eth", vec![at("/error/429/{data}")], none, 1, 502),
            ("inward.eth", vec![at("/inward/{data}")], none, 1, 404),
            ("file.eth", vec!["file:///etc/passwd?{data}".to_owned()], none, 1, 404),
        ];
        for (name, urls, sender, rounds, _) in &cases {
            let resolver = people::offchain(&mut world.chain, urls, *sender, *rounds).await.expect("a resolver");
            world.ens.register(&mut world.chain, name, resolver);
            world.chain.mine().await.expect("a name is registered");
        }

        // By default no private address is contacted, not even for a connection.
        let service = world.serve(world.chain.url(), "");
        for (name, ..) in &cases {
            service.keyed().get(&format!("/api/v2/report/address/{name}")).await.expect(404);
        }
        assert_eq!((gateway.connections(), inward.connections()), (0, 0));

        // The operator allows the gateway. It redirects some requests to another port of the same host, which is not
        // contacted.
        let allowed = gateway.url.trim_start_matches("http://");
        let service =
            world.serve(world.chain.url(), &format!("[outbound]\nallow = [\"{allowed}\"]\ntimeout_ms = 20000\n"));
        for (name, _, _, rounds, status) in &cases {
            gateway.take();
            let answer = service.keyed().get(&format!("/api/v2/report/address/{name}")).await.expect(*status);
            let asked = gateway.take();
            match (*status, *name) {
                (200, "get.eth") => {
                    assert!(matches!(&asked[..], [(method, path,
                            _)] if method == "GET" && path.starts_with("/0x") && path.ends_with(".json")));
                    assert!(asked[0].1.contains("/0x3b3b57de"), "{asked:?}");
                }
                (200, "post.eth") => {
                    let body: serde_json::Value = serde_json::from_str(&asked[0].2).expect("JSON");
                    assert_eq!((asked.len(), &asked[0].0[..]), (1, "POST"));
                    assert!(asked[0].1.ends_with(body["sender"].as_str().expect("a sender")), "{asked:?}");
                }
                (200, "second.eth") => assert_eq!(asked.len(), 2),
                (200, _) => assert_eq!(asked.len() as u64, *rounds),
                (_, "foreign.eth" | "file.eth") => assert_eq!(asked, [], "{name}"),
                (_, "five.eth") => assert_eq!(asked.len(), 4),
                _ => assert_eq!(asked.len(), 1, "{name}"),
            }
            if *status == 200 {
                assert_eq!(answer["address"], json!(owner.to_checksum(None)), "{name}");
            }
        }
        assert_eq!(inward.connections(), 0);
    });
}
