//! The contract of the API to the letter: rules that no other file tests.

use std::collections::BTreeSet;

use alloy::primitives::Address;
use assay_tests::{
    devnet::{Rpc, actors::address as wallet},
    node::Anvil,
    proxy::{Proxy, Reply},
    redis::{self, Redis},
    service::{Caller, Service, counting_together, plugins, sandbox_config},
    until::until,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{released_on_devnet, run};

const ONE: &str = "0x0000000000000000000000000000000000000001";
const FOUR: &str = "0x0000000000000000000000000000000000000004";

/// A chain with one wallet that has sent a transaction.
struct World {
    chain: Anvil,
    rpc: Rpc,
    wallet: Address,
}

impl World {
    async fn start() -> Self {
        let chain = Anvil::start(1, 1_700_000_000).expect("the chain starts");
        let rpc = Rpc::new(chain.url()).expect("a client");
        let world = Self { chain, rpc, wallet: wallet("ada") };
        world.send().await;
        world
    }

    async fn send(&self) {
        let _: Value = self.rpc.request("anvil_setBalance", json!([self.wallet, "0xde0b6b3a7640000"])).await.unwrap();
        let transaction = json!([{ "from": self.wallet, "to": wallet("emil"), "value": "0x1", "gasPrice": "0x0" }]);
        let _: Value = self.rpc.request("eth_sendTransaction", transaction).await.unwrap();
        let _: Value = self.rpc.request("anvil_mine", json!(["0x1"])).await.unwrap();
    }

    /// A server with this chain at `rpc`, these markets, and `more`.
    fn serve(&self, rpc: &str, markets: &str, more: &str) -> Service {
        let chain = format!(
            "[[chains]]\nid = 1\nname = \"Local\"\nrpc = [\"{rpc}\"]\nfinality = 1\nmax_head_age = 0\nmulticall = \
             \"none\"\n\
             native = {{ symbol = \"ETH\" }}\ntokens = []\nmarkets = [{markets}]\n"
        );
        Service::start(&format!("{}{more}{chain}[reading.rpc]\nretries = 0\n", sandbox_config(&plugins())))
    }
}

#[test]
fn an_enhanced_report_reads_the_chains_when_it_is_asked_for() {
    run(async {
        let world = World::start().await;
        let service = world.serve(world.chain.url(), "", "");
        let (api, path) = (service.keyed(), format!("/api/v2/report/address/{}", world.wallet));
        let sent = |report: &Value| report["report"]["summary"]["count_transactions"].clone();
        let body = json!({ "name": "My bank", "count_transactions": 10 });
        assert_eq!(api.get(&path).await.ok()["activity"]["total_transactions"], 1);
        world.send().await;
        assert_eq!(api.get(&path).await.ok()["activity"]["total_transactions"], 1, "a report may be five minutes old");
        assert_eq!(sent(&api.post(&path, &body).await.ok()), 12);
        world.send().await;
        assert_eq!(sent(&api.post(&path, &body).await.ok()), 13);
    });
}

#[test]
fn an_enhanced_score_has_its_own_time_and_at_most_its_share() {
    run(async {
        let service = released_on_devnet().await;
        let api = service.keyed();
        let path = format!("/api/v2/score/address/{}", wallet("borrower"));
        let plain = api.get(&path).await.ok();
        let time = |score: &Value| score["timestamp"].as_str().unwrap().to_owned();
        // Times are written to the second.
        tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
        let enhanced = api.post(&path, &json!({ "total_asset_usd": 50_000 })).await.ok();
        assert!(time(&enhanced) > time(&plain), "{} and {}", time(&enhanced), time(&plain));
        let [score, base] = [&enhanced, &plain].map(|body| body["score"].as_u64().unwrap());
        assert_eq!(score, base + 15 * (1000 - base) / 100);
    });
}

#[tokio::test]
async fn a_sandbox_server_boosts_by_the_rule_of_the_path() {
    let service = Service::start_in(tempfile::tempdir().unwrap(), &sandbox_config(&plugins()), &["--sandbox"]);
    let api = service.keyed();
    let full = json!({ "total_asset_usd": 100_000 });
    let score = |body: Value| body["score"].as_u64().unwrap();
    for last in 1..=20 {
        let path = format!("score/address/0x{last:040x}");
        let base = score(api.get(&format!("/api/v2/{path}")).await.ok());
        let production = score(api.post(&format!("/api/v2/{path}"), &full).await.ok());
        assert_eq!(production, base + 15 * (1000 - base) / 100, "{path}");
        let mock = score(api.post(&format!("/api/v2/sandbox/{path}"), &full).await.ok());
        assert_eq!(mock, base + (1000 - base).div_ceil(2), "{path}");
    }
}

#[tokio::test]
async fn a_mock_report_says_what_production_would() {
    let service = Service::sandbox(&plugins());
    let api = service.keyed();
    let cents = |value: &Value| (value.as_f64().unwrap() * 100.0).round() as i64;
    let mut names = BTreeSet::new();
    for last in 1..=60 {
        let path = format!("/api/v2/sandbox/report/address/0x{last:040x}");
        let report = api.get(&path).await.ok();
        let list = |pointer: &str| report.pointer(pointer).unwrap().as_array().unwrap().clone();
        let held: i64 = list("/assets/tokens").iter().map(|token| cents(&token["value_usd"])).sum();
        let supplied = cents(&report["defi"]["total_supplied"]);
        assert_eq!(cents(&report["assets"]["total_value_usd"]), held + supplied, "{path}");
        let total = api.get(&format!("{path}/total/usd")).await.ok();
        assert_eq!(cents(&total["total_asset_usd"]), held + supplied, "{path}");
        let pools = list("/credit_events/pools");
        for pool in &pools {
            let text = |field: &str| pool[field].as_str().map(str::to_owned);
            names.insert((text("protocol").unwrap(), pool["chain_id"] == 1, text("market")));
        }
        let read: BTreeSet<_> = pools.iter().map(|pool| pool["protocol"].clone().to_string()).collect();
        let not_covered: BTreeSet<_> = list("/credit_events/not_covered").iter().map(Value::to_string).collect();
        for protocol in ["lenderA_v2", "lenderA_v3", "lenderB_v2", "lenderB_v3"].map(|name| json!(name).to_string()) {
            assert_ne!(read.contains(&protocol), not_covered.contains(&protocol), "{path}: {protocol}");
        }
    }
    let named =
        |protocol: &str, first: bool, market: Option<&str>| (protocol.to_owned(), first, market.map(str::to_owned));
    let expected = [
        named("lenderA_v3", false, None),
        named("lenderA_v3", true, Some("Core")),
        named("lenderB_v3", false, Some("USDC")),
        named("lenderB_v3", true, Some("USDC")),
    ];
    assert_eq!(names, expected.into());
}

#[tokio::test]
async fn lists_count_distinct_valid_addresses() {
    let service = Service::sandbox(&plugins());
    let api = service.keyed();
    let list = |items: Vec<String>| format!("/api/v2/sandbox/score/batch/?address={}", items.join(","));
    let number = |n: u32| format!("0x{n:040x}");
    let twice = api.get(&list(vec![ONE.into(), FOUR.into(), ONE.into()])).await.ok();
    assert_eq!(twice["count"], 2);
    let mean = api.get(&format!("/api/v2/sandbox/score/?address={ONE},{ONE},{FOUR}")).await.ok();
    assert_eq!(mean["address"], json!([ONE, FOUR]));
    let hundred: Vec<_> = (1..=100).map(number).collect();
    let noisy = hundred.iter().flat_map(|one| [one.clone(), "nonsense".into(), one.clone()]).collect();
    assert_eq!(api.get(&list(noisy)).await.ok()["count"], 100);
    let error = api.get(&list((1..=101).map(number).collect())).await.expect(400);
    assert_eq!(error["error"], "Too many addresses: at most 100 in one request");
    for path in ["sandbox/score/", "sandbox/score/batch/", "report/", "score/", "score/batch/"] {
        let invalid = vec!["nonsense"; 200].join(",");
        let error = api.get(&format!("/api/v2/{path}?address={invalid}")).await.expect(400);
        assert_eq!(error, json!({ "error": "No valid addresses provided", "status_code": 400 }), "{path}");
    }
}

#[tokio::test]
async fn pages_tags_and_agents_have_the_form_of_the_contract() {
    let service = Service::start(&format!("sandbox = true\n{}", sandbox_config(&plugins())));
    let api = service.keyed();
    let largest = 9_007_199_254_740_991_u64;
    assert_eq!(api.get(&format!("/api/v2/agents?page={largest}")).await.ok()["page"], largest);
    for page in ["9007199254740992", "18446744073709551616"] {
        let refused = api.get(&format!("/api/v2/agents?page={page}")).await.expect(422);
        assert_eq!(
            (&refused["detail"][0]["type"], &refused["detail"][0]["loc"]),
            (&json!("less_than_equal"), &json!(["query", "page"]))
        );
    }
    let none = api.post("/api/v2/agents/1/reputation", &json!({ "address": ONE, "tags": [] })).await.expect(422);
    assert_eq!(none["detail"][0]["loc"], json!(["body", "tags"]));
    for agent in api.get("/api/v2/agents?limit=100").await.ok()["agents"].as_array().unwrap() {
        let metadata = &agent["metadata"];
        let texts = ["name", "description", "image"].map(|field| metadata[field].is_string());
        assert!(metadata.is_null() || texts == [true; 3], "{agent}");
    }
}

#[test]
fn a_name_that_cannot_be_read_leaves_the_others_their_answer() {
    run(async {
        let world = World::start().await;
        let proxy = Proxy::start(world.chain.url()).await;
        // The chain answers, but for the registry of names.
        let registry = "0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e";
        proxy.rule(move |call| {
            let asks = call.method == "eth_call" && call.params.to_string().to_lowercase().contains(registry);
            if asks { Reply::Error { code: -32000, message: "down".into() } } else { Reply::Pass }
        });
        let service = world.serve(&proxy.url, "", "");
        let api = service.keyed();
        assert_eq!(api.get("/api/v2/score/address/ada.eth").await.expect(502)["code"], "name_unreadable");
        for path in ["score/batch/", "score/", "report/"] {
            let list = format!("/api/v2/{path}?address=ada.eth,{}", world.wallet);
            let body = api.get(&list).await.ok().to_string();
            assert!(body.contains(&world.wallet.to_checksum(None)), "{path}: {body}");
            let alone = api.get(&format!("/api/v2/{path}?address=ada.eth")).await.expect(502);
            assert_eq!(alone["code"], "name_unreadable", "{path}");
        }
    });
}

#[test]
fn tokens_have_their_names() {
    run(async {
        let service = released_on_devnet().await;
        let report = service.keyed().get(&format!("/api/v2/report/address/{}", wallet("whale"))).await.ok();
        let tokens = report["assets"]["tokens"].as_array().unwrap();
        let name = |symbol: &str| tokens.iter().find(|token| token["symbol"] == symbol).map(|token| &token["name"]);
        assert_eq!(name("ETH"), Some(&json!("Ether")), "{tokens:?}");
        assert!(tokens.iter().all(|token| token["name"] != token["symbol"]), "{tokens:?}");
    });
}

#[test]
fn a_market_that_is_not_there_is_not_complete() {
    run(async {
        let world = World::start().await;
        for protocol in ["lenderA_v2", "lenderA_v3", "lenderB_v2", "lenderB_v3"] {
            for from_block in [0, 99_999_999] {
                let market = format!(
                    "{{ protocol = \"{protocol}\", address = \"0x00000000000000000000000000000000000000aa\", \
                     from_block = {from_block} }}"
                );
                let service = world.serve(world.chain.url(), &market, "");
                let report = service.keyed().get(&format!("/api/v2/report/address/{}", world.wallet)).await.ok();
                let events = &report["credit_events"];
                assert_ne!(events["coverage"], "complete", "{protocol} from {from_block}: {events}");
                assert_ne!(events["pools"][0]["coverage"], "complete", "{protocol} from {from_block}: {events}");
                let score = service.keyed().get(&format!("/api/v2/score/address/{}", world.wallet)).await.ok();
                assert_eq!(score["provisional"], true, "{protocol} from {from_block}");
                let log = service.logged("0x00000000000000000000000000000000000000").await;
                assert!(log.to_lowercase().contains("0x00000000000000000000000000000000000000aa"), "{log}");
            }
        }
    });
}

#[test]
fn a_market_whose_first_block_is_not_reached_is_not_complete() {
    run(async {
        let config = super::configured(&plugins(), "").await;
        let from = config.lines().find(|line| line.starts_with("from_block = ")).expect("a market");
        let service = Service::start(&config.replacen(from, "from_block = 99999999", 1));
        let report = service.keyed().get(&format!("/api/v2/report/address/{}", wallet("borrower"))).await.ok();
        let events = &report["credit_events"];
        assert_eq!((&events["coverage"], &events["pools"][0]["coverage"]), (&json!("partial"), &json!("partial")));
        assert!(events["remarks"].to_string().contains("has not reached from_block"), "{events}");
        service.logged("has not reached from_block").await;
    });
}

#[test]
fn an_index_of_agents_whose_first_block_is_not_reached_is_not_built() {
    run(async {
        let world = World::start().await;
        let registries = "[agents]\nchain = 1\nidentity_registry = \"0x00000000000000000000000000000000000000aa\"\n\
                          reputation_registry = \"0x00000000000000000000000000000000000000ab\"\nfrom_block = \
                          99999999\n";
        let service = world.serve(world.chain.url(), "", registries);
        let search = async || service.keyed().get("/api/v2/agents/search?q=a").await;
        let now = async || (search().await.status, service.log());
        until(now, |(status, log)| *status == 200 || log.contains("has not reached agents.from_block")).await;
        assert_eq!(search().await.expect(503)["code"], "index_not_built");
    });
}

/// Units that the key has used.
async fn used(api: &Caller) -> u64 {
    api.get("/api/v2/usage").await.ok()["used"].as_u64().unwrap()
}

#[test]
fn a_caller_that_hangs_up_pays_for_the_reading_it_started() {
    run(async {
        let world = World::start().await;
        let proxy = Proxy::start(world.chain.url()).await;
        let key = "[[access.keys]]\nname = \"metered\"\nkey = \"assay_hangs_up\"\nscopes = [\"read\"]\nunits = 3\n";
        let service = world.serve(&proxy.url, "", key);
        let api = service.with_key("assay_hangs_up");
        let one_read = wallet("nobody");
        // The reading of this wallet alone is held: each of its questions, for an answer does not need the earliest
        // one.
        let of_wallet = format!("{one_read:?}").to_lowercase().trim_start_matches("0x").to_owned();
        proxy.rule(move |call| match call.params.to_string().to_lowercase().contains(&of_wallet) {
            true => Reply::Hold,
            false => Reply::Pass,
        });
        let asking = tokio::spawn({
            let api = api.clone();
            async move { api.get(&format!("/api/v2/score/address/{one_read}")).await }
        });
        proxy.held().await;
        asking.abort();
        assert!(asking.await.unwrap_err().is_cancelled());
        // The server notices the end of the connection a moment later; a refund would come then.
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        assert_eq!(used(&api).await, 1);
    });
}

#[tokio::test]
async fn used_up_units_name_no_time_to_try_again() {
    let key = "[[access.keys]]\nname = \"poor\"\nkey = \"assay_poor_0001\"\nscopes = [\"read\"]\nunits = 0\n";
    let service = Service::start(&format!("{}{key}", sandbox_config(&plugins())));
    let refused = service.with_key("assay_poor_0001").get(&format!("/api/v2/score/address/{ONE}")).await;
    assert_eq!(refused.expect(429)["code"], "units_used_up");
    assert!(!refused.headers.contains_key("retry-after"), "{:?}", refused.headers);
    assert!(refused.headers.contains_key("ratelimit"));
}

#[tokio::test]
async fn guessed_keys_are_looked_up_within_the_rate_of_their_address() {
    let store = Redis::start(&redis::DURABLE);
    let config = counting_together(&sandbox_config(&plugins()).replace("address_rate = 0", "address_rate = 3"));
    let service = Service::start(&redis::on(&config, &store.url(), "assay:"));
    // Keeps every command.
    for setting in ["slowlog-log-slower-than 0", "slowlog-max-len 100000"] {
        let (name, value) = setting.split_once(' ').expect("two words");
        redis::ask(store.port, &["CONFIG", "SET", name, value]);
    }
    let guesses: Vec<String> = (0..40).map(|guess| format!("assay_guess_{guess}")).collect();
    let (caller, mut refused, started) = (service.keyed(), 0, std::time::Instant::now());
    for guess in &guesses {
        let guessing = caller.clone().with_key(Some(guess));
        refused += usize::from(guessing.get("/api/v2/usage").await.status == 429);
    }
    // One comes back every 20 seconds.
    let back = usize::try_from(started.elapsed().as_secs() / 20).unwrap();
    let commands = redis::ask(store.port, &["SLOWLOG", "GET", "-1"]);
    let is_looked_up = |guess: &&String| commands.contains(&hex::encode(Sha256::digest(guess.as_bytes())));
    let looked_up = guesses.iter().filter(is_looked_up).count();
    assert_eq!(refused + looked_up, guesses.len());
    assert!((3..=3 + back).contains(&looked_up), "{looked_up}");
}

#[test]
fn a_live_check_tries_the_ipfs_node() {
    run(async {
        let config = super::configured(&plugins(), "[ipfs]\napi = \"http://127.0.0.1:9\"\n").await;
        let (code, out, err) = super::check_config::check(&config);
        assert_eq!(code, Some(1), "{out}\n{err}");
        assert!(err.contains("the IPFS node cannot be reached; correct ipfs.api"), "{err}");
    });
}
