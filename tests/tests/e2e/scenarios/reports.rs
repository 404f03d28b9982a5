//! Scores and reports, side by side with a real server under the real condition.

use std::path::Path;

use alloy::primitives::{Address, U256};
use assay_tests::{
    devnet::actors,
    lenders::{
        Small,
        comet::{self, Comet},
        config::{CHAIN, Setup, price_feed},
    },
    proxy::{Call, Proxy, Reply},
    service::{Answer, Caller, KEY, Service, plugins},
};
use serde_json::{Value, json};

use super::{listed, pools, report, sandbox, score, without_figures};
use crate::{configured, devnet, limits::in_flight, run, unread::gone};

const SLOW: &str = "assay_two_a_minute";
/// The requests that the real server answers at the same time.
const ROOM: usize = 3;

/// A chain that does not answer: its report, and the sentence in the report of all chains.
async fn without_chain(api: &Caller, address: &str, chain: u64) -> String {
    let answer = api.get(&format!("/api/v2/report/address/{address}/chain/{chain}")).await;
    let said = sentence(&report(api, address).await, "everything");
    let text = format!("{} {:?} {} {said}", answer.status, answer.headers.get("retry-after"), answer.text);
    without_figures(&text)
}

/// The sentence of `unread` that begins so.
fn sentence(report: &Value, with: &str) -> String {
    let said = report["unread"].as_array().expect("a list").iter().filter_map(Value::as_str);
    let mut found = said.filter(|said| said.starts_with(with));
    let sentence = found.next().unwrap_or_else(|| panic!("nothing begins with {with}: {}", report["unread"]));
    assert_eq!(found.next(), None);
    sentence.to_owned()
}

/// The node of a chain fails for the logs of `market`.
fn without_logs(market: Address) -> impl FnMut(&Call) -> Reply + Send {
    move |call| match call.method == "eth_getLogs" && call.params.to_string().contains(&format!("{market:?}")) {
        true => Reply::Status(503, None),
        false => Reply::Pass,
    }
}

/// The pool that failed with the sentence about it, and what the score says of it.
async fn without_pool(api: &Caller, address: &str) -> String {
    let report = report(api, address).await;
    let failed: Vec<&Value> = pools(&report).iter().filter(|pool| pool["coverage"] == "failed").collect();
    let score = score(api, address).await.ok();
    let said = sentence(&report, "lending history in");
    assert_eq!(failed.len(), 1, "{report}");
    let said = format!("{} {said} {} {}", failed[0], score["credit_events_coverage"], score["provisional"]);
    without_figures(&said) + &report["credit_events"]["coverage"].to_string()
}

/// A refusal with the headers that say when to come back.
fn told(answer: &Answer) -> (u16, String, Vec<Option<String>>) {
    let header = |name: &str| Some(answer.headers.get(name)?.to_str().expect("text").to_owned());
    let headers = vec![header("ratelimit-policy"), header("retry-after").filter(|_| answer.status == 503)];
    (answer.status.as_u16(), without_figures(&answer.text), headers)
}

/// The answer beyond the room of a server whose node holds every call.
async fn beyond_room(service: &Service, proxy: &Proxy) -> Answer {
    proxy.rule(|_| Reply::Hold);
    let held = (0..ROOM).map(|n| {
        let (api, address) = (service.keyed(), Address::repeat_byte(0xa0 + n as u8));
        tokio::spawn(async move { score(&api, &address.to_string()).await })
    });
    let held: Vec<_> = held.collect();
    in_flight(service, "/api/v2/score/address/{address}", ROOM as u64).await;
    let refused = score(&service.keyed(), &Address::repeat_byte(0xaa).to_string()).await;
    proxy.rule(|_| Reply::Status(500, None));
    proxy.release(10_000);
    for held in held {
        held.await.expect("an answer");
    }
    refused
}

#[test]
fn a_lost_chain_a_lost_pool_a_rate_and_an_overload_are_as_a_real_server_has_them() {
    run(async {
        let chain = &devnet().await.ethereum;
        let proxy = Proxy::start(chain.url()).await;
        let slow = format!("[[access.keys]]\nname = \"slow\"\nkey = \"{SLOW}\"\nscopes = [\"read\"]\nrate = 2\n");
        let more = format!("[http]\nmax_requests = {ROOM}\n{}{slow}", gone());
        let real = Service::start(&configured(&plugins(), &more).await.replace(chain.url(), &proxy.url));
        let mock = sandbox("");
        let (real_api, mock_api) = (real.keyed(), mock.keyed());
        let (at, _) = listed(&mock_api).await;
        let wallet = |name: &str| actors::address(name).to_string();

        let lost = without_chain(&real_api, &wallet("saver"), 10).await;
        assert_eq!(without_chain(&mock_api, &at["chain-unread"], 42_161).await, lost);

        proxy.rule(without_logs(chain.market.pool));
        let lost = without_pool(&real_api, &wallet("whale")).await;
        assert_eq!(without_pool(&mock_api, &at["failed-pool"]).await, lost);
        proxy.rule(|_| Reply::Pass);

        let slow = real.with_key(SLOW);
        let mut limited = score(&slow, &wallet("saver")).await;
        while limited.status != 429 {
            limited = score(&slow, &wallet("saver")).await;
        }
        assert_eq!(told(&score(&mock_api, &at["rate-limited"]).await), told(&limited));

        let refused = beyond_room(&real, &proxy).await;
        assert_eq!(refused.status, 503);
        assert_eq!(told(&score(&mock_api, &at["unavailable"]).await), told(&refused));
    });
}

/// A market in which `ada` was liquidated a day ago.
async fn liquidated_yesterday() -> (Small, Service) {
    let mut chain = Small::start(CHAIN).await.expect("the chain starts");
    let native_feed = price_feed(&mut chain, 2_000.0);
    let market =
        comet::deploy(&mut chain, &[(6, 0.5, [2_000.0, 30.0])]).await.expect("the market is deployed").remove(0);
    let ada = actors::address("ada");
    let amount = |whole: u64, decimals: u32| U256::from(whole) * U256::from(10).pow(U256::from(decimals));
    let supply = Comet::supplyToCall { dst: ada, asset: market.collateral[0], amount: amount(1, 18) };
    chain.call(ada, market.comet, &supply).await.expect("collateral is supplied");
    let borrow = Comet::withdrawToCall { to: ada, asset: market.base, amount: amount(300, 6) };
    chain.call(ada, market.comet, &borrow).await.expect("base is borrowed");
    chain.queue(actors::address("ben"), market.comet, &Comet::absorbCall { account: ada });
    chain.mine_before_now(86_400).await.expect("the position is absorbed");
    let setup = Setup { native_feed, markets: vec![("lenderB_v3", "USD", market.comet)], ..Setup::default() };
    let config = setup.toml(chain.url(), &plugins(), Path::new("{dir}/assay.redb"), KEY);
    (chain, Service::start(&config))
}

/// The pool with the newest event, whose time is a day ago, and what the report and the score say of all pools.
async fn newest_pool(api: &Caller, address: &str) -> String {
    let report = report(api, address).await;
    let newest = pools(&report).iter().max_by_key(|pool| pool["last_event_at"].as_str()).expect("a pool");
    let mut pool = newest.clone();
    let at = chrono::DateTime::parse_from_rfc3339(pool["last_event_at"].as_str().expect("a time")).expect("a time");
    assert_eq!((chrono::Utc::now() - at.to_utc()).num_hours(), 24, "{pool}");
    assert!(pool["counts"]["liquidation"].as_u64() > Some(0), "{pool}");
    // Which lender it is says nothing of the condition.
    for field in ["protocol", "market"] {
        pool[field] = Value::Null;
    }
    let score = score(api, address).await.ok();
    let said = json!([score["credit_events_coverage"], score["provisional"], report["credit_events"]["coverage"]]);
    format!("{} {said}", without_figures(&pool.to_string()))
}

#[test]
fn a_liquidation_of_yesterday_is_as_a_real_server_shows_it() {
    run(async {
        let (_chain, real) = liquidated_yesterday().await;
        let mock = sandbox("");
        let (at, _) = listed(&mock.keyed()).await;
        let shown = newest_pool(&real.keyed(), &actors::address("ada").to_string()).await;
        assert_eq!(newest_pool(&mock.keyed(), &at["liquidated-yesterday"]).await, shown);
    });
}
