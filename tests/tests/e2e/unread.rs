//! What was not read shows in every answer, and never passes for none.

use alloy::{hex, sol, sol_types::SolCall};
use assay_tests::{
    devnet::{Chain, ETHEREUM, actors},
    proxy::{Call, Proxy, Reply},
    reputation::{World, subject},
    service::{Caller, KEY, Service, plugins},
};
use serde_json::{Value, json};

use super::{NOWHERE, configured, devnet, reputation::ended, run};

sol! {
    function getUserReserveData(address asset, address user) external;
}

const NOBODY: &str = "0x00000000000000000000000000000000000beef0";

/// A chain without markets whose endpoint refuses connections.
pub(super) fn gone() -> String {
    optimism(NOWHERE)
}

/// A chain without markets.
fn optimism(rpc: &str) -> String {
    format!(
        "[[chains]]\nid = 10\nname = \"Optimism\"\nrpc = [\"{rpc}\"]\nfinality = 16\nmarkets = []\ntokens = \
         []\n\
         native = {{ symbol = \"ETH\" }}\n[reading.rpc]\nretries = 0\n"
    )
}

/// The sentences in `unread` that a score depends on.
fn missing(report: &Value) -> Vec<String> {
    let all = report["unread"].as_array().expect("a list").iter();
    let all = all.map(|sentence| sentence.as_str().expect("a sentence").to_owned());
    all.filter(|sentence| !sentence.contains("no source lists them") && !sentence.contains("attestations of")).collect()
}

/// The market has no function for the balances of a wallet, also where a multicall asks.
fn without_balances(call: &Call) -> Reply {
    let selector = hex::encode(getUserReserveDataCall::SELECTOR);
    let params = call.params.to_string();
    match call.method == "eth_call" && params.contains(&selector) {
        true => Reply::Instead(params.replace(&selector, "00000000").parse().expect("JSON")),
        false => Reply::Pass,
    }
}

async fn score(api: &Caller, address: impl std::fmt::Display) -> Value {
    api.get(&format!("/api/v2/score/address/{address}")).await.ok()
}

#[test]
fn a_chain_without_markets_that_is_down_makes_the_score_provisional() {
    run(async {
        let service = super::on_devnet(&plugins(), &gone()).await;
        let (api, whale) = (service.keyed(), devnet().await.wallet("whale").address);
        let score = score(&api, whale).await;
        assert_eq!((&score["credit_events_coverage"], &score["provisional"]), (&json!("partial"), &json!(true)));
        let said = vec!["everything on chain 10: no endpoint answers; try again later".to_owned()];
        let report = api.get(&format!("/api/v2/report/address/{whale}")).await.ok();
        assert_eq!((missing(&report), &report["credit_events"]["coverage"]), (said.clone(), &json!("complete")));
        for path in ["total/usd", "total/usd/aggregate"] {
            let total = api.get(&format!("/api/v2/report/address/{whale}/{path}")).await.ok();
            assert_eq!(missing(&total), said, "{path}");
        }
        let summed = api.get(&format!("/api/v2/report/?address={whale}")).await.ok();
        assert_eq!(missing(&summed["report"]), [format!("{whale}: {}", said[0])]);
        assert_eq!(summed["report"]["summary"]["credit_events_coverage"], "partial");
        let one = api.get(&format!("/api/v2/report/address/{whale}/chain/1")).await.ok();
        assert_eq!(missing(&one), Vec::<String>::new(), "chain 1 was read");
        let unknown = api.get(&format!("/api/v2/score/address/{NOBODY}")).await.expect(502);
        let words = "Chain 10 could not be read, and the others show no activity; try again later";
        assert_eq!(unknown, json!({ "detail": words }));
    });
}

#[test]
fn a_chain_that_could_not_be_read_says_why() {
    run(async {
        let whale = devnet().await.wallet("whale").address;
        let asks_head = |call: &Call| call.method == "eth_getBlockByNumber";
        for (reply, why) in [
            (
                Reply::Status(401, None),
                "the last endpoint asked denies access; correct its URL or credential in chains.rpc",
            ),
            (Reply::Status(429, None), "the last endpoint asked limits the rate of requests; try again later"),
            (Reply::Result(json!(7)), "the answer of the last endpoint asked cannot be read; try again later"),
            (Reply::Pass, "the last endpoint asked serves another chain; correct chains.rpc"),
        ] {
            let proxy = Proxy::start(devnet().await.ethereum.url()).await;
            let passes = matches!(reply, Reply::Pass);
            proxy.rule(move |call| match call.method.as_str() {
                "eth_chainId" if !passes => Reply::Result(json!("0xa")),
                _ if asks_head(call) => reply.clone(),
                _ => Reply::Pass,
            });
            let service = super::on_devnet(&plugins(), &optimism(&proxy.url)).await;
            let report = service.keyed().get(&format!("/api/v2/report/address/{whale}")).await.ok();
            assert_eq!(missing(&report), [format!("everything on chain 10: {why}")]);
        }
    });
}

#[test]
fn a_position_that_cannot_be_read_is_no_position_of_zero() {
    run(async {
        let chain = &devnet().await.ethereum;
        let proxy = Proxy::start(chain.url()).await;
        let service = Service::start(&configured(&plugins(), "").await.replace(chain.url(), &proxy.url));
        let api = service.keyed();
        let (whale, unknown) = (actors::address("whale"), NOBODY);
        // The market's terms are known; then its balances no longer answer.
        assert_eq!(score(&api, actors::address("saver")).await["provisional"], false);
        proxy.rule(without_balances);
        let read = score(&api, whale).await;
        assert_eq!((&read["credit_events_coverage"], &read["provisional"]), (&json!("partial"), &json!(true)));
        let report = api.get(&format!("/api/v2/report/address/{whale}")).await.ok();
        let said = missing(&report);
        assert!(said.len() == 2 && said[0].starts_with("position in lenderA_v3"), "{said:?}");
        assert!(said[1].starts_with("lending history in lenderA_v3"), "{said:?}");
        let pools = report["credit_events"]["pools"].as_array().expect("pools");
        let coverage = |id: u64| pools.iter().find(|pool| pool["chain_id"] == id).map(|pool| &pool["coverage"]);
        assert_eq!(coverage(ETHEREUM), Some(&json!("partial")));
        // Somebody may have supplied for an unknown address.
        let read = score(&api, unknown).await;
        assert_eq!((&read["score"], &read["provisional"]), (&json!(300), &json!(true)));
    });
}

/// The head stays at the block that is so far behind the newest one.
async fn stuck(chain: &Chain, behind: u64) -> Proxy {
    let (proxy, block) = (Proxy::start(chain.url()).await, chain.head().await.unwrap().0 - behind);
    proxy.rule(move |call| match call.method == "eth_getBlockByNumber" && call.params[0] == "latest" {
        true => Reply::Instead(json!([format!("{block:#x}"), false])),
        false => Reply::Pass,
    });
    proxy
}

#[test]
fn a_chain_that_has_stopped_is_provisional_and_readiness_warns() {
    run(async {
        let chain = &devnet().await.ethereum;
        let proxy = stuck(chain, 50).await;
        let config = configured(&plugins(), "[scoring]\nincomplete_cache_ms = 1\n").await;
        let config = config.replace(chain.url(), &proxy.url).replace("max_head_age = 0", "max_head_age = 86_400");
        let service = Service::start(&config);
        let (api, wallet) = (service.keyed(), actors::address("borrower"));
        let read = score(&api, wallet).await;
        assert_eq!((&read["credit_events_coverage"], &read["provisional"]), (&json!("partial"), &json!(true)));
        let said = missing(&api.get(&format!("/api/v2/report/address/{wallet}")).await.ok());
        let old =
            |said: &String| said.starts_with("newest block on chain 1: ") && said.contains("days old by the clock");
        assert_eq!(said.iter().filter(|said| old(said)).count(), 1, "{said:?}");
        let ready = service.keyed().until("/readyz", |ready| ready.json()["warnings"].is_array()).await.json();
        let warning = ready["warnings"][0].as_str().expect("a warning");
        assert_eq!(ready["status"], "ready");
        assert!(warning.starts_with("chain 1 Ethereum: newest block") && warning.contains("days old"), "{warning}");
        let metrics = api.get("/metrics").await.text;
        let age = |chain: u64| {
            let name = format!("assay_chain_head_age_seconds{{chain=\"{chain}\"}} ");
            let found = metrics.lines().find_map(|line| line.strip_prefix(&name)?.parse::<f64>().ok());
            found.unwrap_or_else(|| panic!("no {name}"))
        };
        assert!(age(1) > 86_400.0 && age(8_453) < 86_400.0, "{} and {}", age(1), age(8_453));
        assert!(metrics.contains("assay_chain_head_max_age_seconds{chain=\"1\"} 86400"));

        proxy.rule(|_| Reply::Pass);
        let path = format!("/api/v2/score/address/{wallet}");
        let again = api.until(&path, |read| read.json()["provisional"] == false);
        assert_eq!(again.await.json()["credit_events_coverage"], "complete");
        assert_eq!(api.get("/readyz").await.ok()["warnings"], json!(null));
    });
}

#[test]
fn an_understated_score_never_goes_on_a_chain() {
    run(async {
        let world = World::start().await;
        let key = "[[access.keys]]\nname = \"one\"\nkey = \"assay_unread_key_0001\"\nscopes = [\"read\", \
                   \"submit\"]\nunits = 10\n";
        let config = world.config(world.chain.url(), "coverage_wait_ms = 200") + &gone() + key;
        let service = Service::start(&config);
        let api = service.with_key("assay_unread_key_0001");
        // The second submission shows that the units of the first returned.
        for _ in 0..2 {
            let body = json!({ "address": subject(1) });
            let accepted = api.post("/api/v2/reputation/1", &body).await.expect(202);
            let status = ended(&api, accepted["status_url"].as_str().expect("a path")).await;
            let error = status["error"].as_str().expect("a message");
            assert_eq!(status["status"], "failed");
            assert!(error.contains("everything on chain 10") && error.contains("units were given back"), "{error}");
        }
        assert!(world.held().await.is_empty());
    });
}

#[test]
fn an_address_without_activity_gets_no_feedback() {
    run(async {
        let world = World::start().await;
        let service = Service::start(&world.config(world.chain.url(), ""));
        let api = service.with_key(KEY);
        let accepted = api.post("/api/v2/reputation/1", &json!({ "address": NOBODY })).await.expect(202);
        let status = ended(&api, accepted["status_url"].as_str().expect("a path")).await;
        assert_eq!(status["status"], "failed");
        assert!(status["error"].as_str().is_some_and(|error| error.contains("no on-chain activity")), "{status}");
        assert!(world.held().await.is_empty());
    });
}
