//! Watches of wallets on a real chain whose prices a test moves: what is told, once and in order, over failures of
//! endpoints, receivers and the server itself.

mod attacks;
mod changes;
mod crash;
pub(crate) mod delivery;
mod evidence;
mod fleet;
mod owners;
mod portfolio;
mod receivers;
mod scripted;

use std::path::Path;

use alloy::primitives::{Address, U256};
use assay_tests::{
    devnet::actors::{DEPLOYER, address as wallet},
    hostile::Credit,
    lenders::{
        Small,
        comet::{self, Comet},
        config::{CHAIN, Setup, price_feed},
    },
    proxy::{Proxy, Reply},
    service::{Caller, KEY, Service, plugins, shelf_copy},
};
use serde_json::{Value, json};

use super::run;

/// A market whose base asset is worth half a dollar, and ada, who owes half of what her collateral is worth.
struct Market {
    chain: Small,
    comet: Address,
    base: Address,
    collateral: Address,
    native_feed: Address,
}

impl Market {
    async fn start() -> Self {
        let mut chain = Small::start(CHAIN).await.expect("the chain starts");
        let native_feed = price_feed(&mut chain, 2_000.0);
        let market =
            comet::deploy(&mut chain, &[(6, 0.5, [2_000.0, 30.0])]).await.expect("the market is deployed").remove(0);
        let collateral = market.collateral[0];
        let amount = |whole: u64, decimals: u32| U256::from(whole) * U256::from(10).pow(U256::from(decimals));
        let supply = Comet::supplyToCall { dst: wallet("ada"), asset: collateral, amount: amount(1, 18) };
        chain.call(wallet("ada"), market.comet, &supply).await.expect("collateral is supplied");
        let borrow = Comet::withdrawToCall { to: wallet("ada"), asset: market.base, amount: amount(2_000, 6) };
        chain.call(wallet("ada"), market.comet, &borrow).await.expect("base is borrowed");
        Self { chain, comet: market.comet, base: market.base, collateral, native_feed }
    }

    /// Sets the price of the collateral in a new block, whose number is returned.
    async fn price(&mut self, dollars: u64) -> u64 {
        let set = Comet::setPriceCall { feed: self.collateral, price: U256::from(dollars * 100_000_000) };
        self.chain.call(wallet(DEPLOYER), self.comet, &set).await.expect("the price is set");
        self.chain.head
    }

    fn market(&self) -> String {
        format!("{CHAIN}/lenderB_v3/{}", self.comet)
    }

    /// As [`config`](Self::config), with the models of `shelf`.
    fn config_on(&self, shelf: &Path, more: &str) -> String {
        self.config(self.chain.url(), more).replace(&format!("{:?}", plugins()), &format!("{shelf:?}"))
    }

    /// The configuration of a server that reads the chain at `rpc` and evaluates once a second, with `more` at its end.
    fn config(&self, rpc: &str, more: &str) -> String {
        let markets = vec![("lenderB_v3", "USD", self.comet)];
        let setup = Setup { native_feed: self.native_feed, markets, ..Setup::default() };
        let config = setup.toml(rpc, &plugins(), Path::new("{dir}/assay.redb"), KEY);
        format!("{config}[watches]\nmin_every_seconds = 1\n{more}")
    }
}

/// A watch of ada's health factor, which fires below 1.3.
async fn watch(api: &Caller, more: Value) -> Value {
    let mut body = json!({
        "address": wallet("ada"), "every_s": 1,
        "when": [{ "measure": "health_factor", "below": 1.3, "clear_above": 1.4 }],
    });
    body.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    api.post("/api/v2/watches", &body).await.expect(201)
}

fn path(watch: &Value) -> String {
    format!("/api/v2/watches/{}", watch["watch"]["id"].as_str().expect("an id"))
}

/// The events of a watch, once there are so many.
async fn told(api: &Caller, watch: &Value, count: usize) -> Vec<Value> {
    let path = format!("{}/events", path(watch));
    let answer = api.until(&path, |answer| answer.json()["events"].as_array().is_some_and(|all| all.len() >= count));
    answer.await.ok()["events"].as_array().expect("events").clone()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap_or_default()).collect()
}

/// Waits until the last value of the watch was read at a block from `block` on, and returns the watch.
async fn seen(api: &Caller, watch: &Value, is: impl Fn(&Value) -> bool) -> Value {
    api.until(&path(watch), |answer| is(&answer.json())).await.ok()
}

fn value(watch: &Value) -> f64 {
    watch["when"][0]["values"][0]["value"].as_f64().unwrap_or(f64::NAN)
}

#[test]
fn a_crash_is_told_once_with_both_blocks_and_clears_above_the_second_bound() {
    run(async {
        let mut market = Market::start().await;
        let service = Service::start(&market.config(market.chain.url(), ""));
        let api = service.keyed();
        let watch = watch(&api, json!({})).await;
        let first = seen(&api, &watch, |watch| value(watch) > 1.4).await;
        let start = value(&first);
        assert_eq!(first["when"][0]["values"][0]["market"], market.market());
        // The factor falls with the price: to below the bound, and further.
        let crash = market.price((2_000.0 * 1.2 / start) as u64).await;
        let events = told(&api, &watch, 1).await;
        market.price((2_000.0 * 1.1 / start) as u64).await;
        seen(&api, &watch, |watch| value(watch) < 1.15).await;
        // Between the two bounds it neither clears nor fires again.
        market.price((2_000.0 * 1.35 / start) as u64).await;
        seen(&api, &watch, |watch| value(watch) > 1.3).await;
        let clear = market.price(2_000).await;
        let all = told(&api, &watch, 2).await;
        assert_eq!(kinds(&all), ["watch.crossed", "watch.cleared"]);
        assert_eq!(all[0], events[0], "an event does not change");
        let data = &all[0]["data"];
        assert_eq!((&data["measure"], &data["side"]), (&json!("health_factor"), &json!("below")));
        assert_eq!((&data["market"], &data["bound"]), (&json!(market.market()), &json!(1.3)));
        let (before, after) = (&data["before"]["value"], &data["after"]["value"]);
        assert!(before.as_f64() > Some(1.4) && after.as_f64() < Some(1.3), "{before} {after}");
        assert_eq!(data["after"]["blocks"][0]["number"], crash);
        assert_eq!(all[1]["data"]["after"]["blocks"][0]["number"], clear);
        assert_eq!((&all[0]["data"]["seq"], &all[1]["data"]["seq"]), (&json!(1), &json!(2)));
    });
}

#[test]
fn a_watch_far_from_its_bound_waits_and_one_near_it_does_not() {
    run(async {
        let market = Market::start().await;
        // A health factor of 1.7: 26 minutes from 1.3 at one percent a minute.
        let more = "allowed_move_percent = 1.0\nslowest_seconds = 3600\n";
        let service = Service::start(&market.config(market.chain.url(), more));
        let api = service.keyed();
        let wait = async |more: Value| {
            let watch = watch(&api, more).await;
            let seen = seen(&api, &watch, |watch| watch["evaluated_at"].is_string()).await;
            let at = |field: &str| chrono::DateTime::parse_from_rfc3339(seen[field].as_str().expect("a time"));
            (at("next_check_at").expect("a time") - at("evaluated_at").expect("a time")).num_seconds()
        };
        let far = wait(json!({})).await;
        assert!((1_400..=1_700).contains(&far), "{far}");
        let near = json!([{ "measure": "health_factor", "below": 1.6999 }, { "measure": "debt_usd", "above": 5_000 }]);
        let scored = json!([{ "measure": "health_factor", "below": 1.3 }, { "measure": "score", "below": 400 }]);
        for when in [near, scored] {
            let wait = wait(json!({ "when": when })).await;
            assert!(wait <= 60, "{wait}: {when}");
        }
    });
}

#[test]
fn a_wallet_that_cannot_be_read_is_stale_and_no_crossing() {
    run(async {
        let mut market = Market::start().await;
        let proxy = Proxy::start(market.chain.url()).await;
        let config = market.config(&proxy.url, "stale_after_seconds = 2\n[reading.rpc]\nretries = 0\n");
        let service = Service::start(&config);
        let api = service.keyed();
        let watch = watch(&api, json!({})).await;
        let start = value(&seen(&api, &watch, |watch| value(watch) > 1.4).await);
        proxy.rule(|_| Reply::Error { code: -32_000, message: "down for maintenance".into() });
        market.price((2_000.0 / start) as u64).await;
        let events = told(&api, &watch, 1).await;
        assert_eq!(kinds(&events), ["watch.stale"]);
        assert!(events[0]["data"]["unread"][0].is_string(), "{events:?}");
        let stale = api.get(&path(&watch)).await.ok();
        assert_eq!((value(&stale), &stale["when"][0]["stale"]), (start, &json!(true)), "the last value stands");
        proxy.rule(|_| Reply::Pass);
        let events = told(&api, &watch, 3).await;
        assert_eq!(kinds(&events), ["watch.stale", "watch.crossed", "watch.current"]);
    });
}

#[test]
fn a_crossing_that_a_reorganisation_removes_is_retracted() {
    run(async {
        let mut market = Market::start().await;
        let service = Service::start(&market.config(market.chain.url(), ""));
        let api = service.keyed();
        let watch = watch(&api, json!({})).await;
        let start = value(&seen(&api, &watch, |watch| value(watch) > 1.4).await);
        let rpc = market.chain.rpc.clone();
        let before: Value = rpc.request("evm_snapshot", json!([])).await.expect("a snapshot");
        market.price((2_000.0 / start) as u64).await;
        let crossed = told(&api, &watch, 1).await;
        let _: Value = rpc.request("evm_revert", json!([before])).await.expect("the chain goes back");
        let _: Value = rpc.request("anvil_mine", json!(["0x2", "0x1"])).await.expect("other blocks");
        let events = told(&api, &watch, 2).await;
        assert_eq!(kinds(&events), ["watch.crossed", "watch.retracted"]);
        assert_eq!(events[1]["data"]["retracts"], crossed[0]["data"]["id"]);
        assert_eq!(value(&api.get(&path(&watch)).await.ok()), start);
    });
}

#[test]
fn a_score_below_a_bound_is_told_with_its_evidence() {
    run(async {
        let market = Market::start().await;
        let service = Service::start(&market.config(market.chain.url(), ""));
        let api = service.keyed();
        let when = json!([{ "measure": "score", "below": 1_000 }, { "measure": "coverage", "below": "partial" }]);
        let watch = watch(&api, json!({ "when": when, "fires_at_once": true })).await;
        let events = told(&api, &watch, 1).await;
        let data = &events[0]["data"];
        assert_eq!((&data["measure"], &data["before"]), (&json!("score"), &Value::Null));
        let evidence = api.get(data["evidence"].as_str().expect("evidence")).await.ok();
        assert_eq!(evidence["score"], data["after"]["value"], "{evidence}");
        let found = seen(&api, &watch, |watch| watch["when"][1]["values"][0]["value"] == "complete").await;
        assert_eq!(found["when"][0]["values"][0]["model_version"], data["model_version"]);
    });
}

#[test]
fn the_pin_of_a_key_answers_its_watches_and_a_change_of_version_is_no_crossing() {
    run(async {
        let (market, shelf) = (Market::start().await, shelf_copy());
        let desk = "[[access.keys]]\nname = \"desk\"\nkey = \"assay_watches_desk\"\nscopes = [\"read\"]\n";
        let service = Service::start(&market.config_on(shelf.path(), desk));
        let (api, desk) = (service.keyed(), service.with_key("assay_watches_desk"));
        for (version, score) in [("7.0", "(i32.const 301)"), ("8.0", "(i32.const 302)")] {
            api.post_bytes("/api/v2/admin/models", Credit::new(version).score(score).build()).await.expect(201);
        }
        // Every bound is crossed by another version, and none by a change of the wallet.
        let when = json!([{ "measure": "score", "below": 350 }, { "measure": "range" }]);
        let of_desk = watch(&desk, json!({ "when": when })).await;
        let of_other = watch(&api, json!({ "when": when })).await;
        for one in [(&desk, &of_desk), (&api, &of_other)] {
            seen(one.0, one.1, |watch| value(watch) > 350.0).await;
        }
        let split = "/api/v2/admin/models/credit/split";
        let pin = |version: &str| json!({ "key": "desk", "version": version, "until": "2100-01-01T00:00:00Z" });
        api.put(split, &json!({ "pins": [pin("7.0")] })).await.ok();
        let events = told(&desk, &of_desk, 2).await;
        assert_eq!(kinds(&events), ["watch.model_changed", "watch.model_changed"]);
        assert_eq!(
            (&events[0]["data"]["model_version"], &events[0]["data"]["after"]["value"]),
            (&json!("7.0"), &json!(301))
        );
        // The share of the wallet answers the other key, and the pin still the first one.
        let all = json!({ "pins": [pin("7.0")], "shares": [{ "version": "8.0", "percent": 100 }] });
        api.put(split, &all).await.ok();
        let events = told(&api, &of_other, 2).await;
        assert_eq!(kinds(&events), ["watch.model_changed", "watch.model_changed"]);
        assert_eq!(events[0]["data"]["after"]["value"], 302);
        api.put(split, &json!({})).await.ok();
        let events = told(&desk, &of_desk, 4).await;
        assert!(kinds(&events).iter().all(|kind| *kind == "watch.model_changed"), "{events:?}");
        assert_eq!(events[2]["data"]["model_version_before"], "7.0");
    });
}
