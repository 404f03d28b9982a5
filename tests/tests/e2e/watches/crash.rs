//! A scripted crash: prices fall in steps, wallets are liquidated, blocks are reorganised, the endpoint stalls, lags
//! and hides a log, and the server is killed in between. What should have been said is computed from the contracts by
//! the market's own formula; nothing of the server's code takes part.
//!
//! `ASSAY_SOAK=1` raises the numbers to the promised ones (`make soak PART=watches`).

mod cost;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use alloy::{
    primitives::{Address, B256, U256, keccak256},
    sol_types::SolCall,
};
use assay_tests::{
    devnet::actors::{DEPLOYER, address as named},
    lenders::comet::Comet,
    proxy::{Proxy, Reply},
    receiver::{Consent, Delivery, Receiver},
    service::{Caller, Service},
    until::until,
};
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Market, delivery::allowing, run};

/// The bounds of every watch.
const BELOW: f64 = 1.3;
const CLEAR: f64 = 1.4;
/// The share of collateral that secures a debt, and the price of the debt in dollars.
const FACTOR: f64 = 0.85;
const BASE: f64 = 0.5;
/// A debt of one whole token.
const TOKEN: f64 = 1e6;
/// Wallets whose transactions fit into a block.
const A_BLOCK: usize = 1_000;
/// Watches that are created at the same time.
const TOGETHER: usize = 16;

fn is_soak() -> bool {
    std::env::var_os("ASSAY_SOAK").is_some_and(|on| on == "1")
}

/// A wallet, and what should have been said about it: the types of its events by measure.
struct Wallet {
    address: Address,
    /// In units of the base asset.
    debt: u64,
    fired: bool,
    liquidated: bool,
    said: BTreeMap<&'static str, Vec<&'static str>>,
}

/// A server in front of which the endpoint misbehaves, and the wallets.
struct Crash {
    market: Market,
    proxy: Proxy,
    /// Calls of the server so far.
    calls: Arc<AtomicUsize>,
    config: String,
    service: Option<Service>,
    wallets: Vec<Wallet>,
    price: f64,
    kills: usize,
    /// When each block was mined, by hash.
    mined: BTreeMap<String, Instant>,
}

impl Wallet {
    fn factor(&self, price: f64) -> Option<f64> {
        (!self.liquidated).then(|| price * FACTOR / (self.debt as f64 / TOKEN * BASE))
    }

    /// What a price says about the wallet; changes whether the bound is crossed.
    fn meet(&mut self, price: f64) -> Option<&'static str> {
        let factor = self.factor(price).unwrap_or(f64::INFINITY);
        assert!((factor - BELOW).abs() > 1e-6 && (factor - CLEAR).abs() > 1e-6, "{factor} is at a bound");
        let says = match self.fired {
            false if factor < BELOW => "watch.crossed",
            true if factor >= CLEAR => "watch.cleared",
            _ => return None,
        };
        self.fired = !self.fired;
        Some(says)
    }

    fn say(&mut self, measure: &'static str, kind: Option<&'static str>) {
        self.said.entry(measure).or_default().extend(kind);
    }
}

impl Crash {
    /// `count` wallets with health factors of 1.5 to 3, each with so many watches.
    async fn start(count: usize, each: usize, receiver: &Receiver) -> Self {
        let mut market = Market::start().await;
        let mut wallets = Vec::new();
        for at in 0..count {
            if at > 0 && at % A_BLOCK == 0 {
                market.chain.mine().await.expect("the wallets borrow");
            }
            let address = named(&format!("crash {at}"));
            let factor = 1.5 + 1.5 * at as f64 / count as f64;
            let debt = (2_000.0 * FACTOR / BASE / factor * TOKEN) as u64;
            let supply = Comet::supplyToCall {
                dst: address,
                asset: market.collateral,
                amount: U256::from(10).pow(U256::from(18)),
            };
            let borrow = Comet::withdrawToCall { to: address, asset: market.base, amount: U256::from(debt) };
            let _: Value = market.rpc("anvil_setBalance", json!([address, "0xde0b6b3a7640000"])).await;
            market.chain.queue(address, market.comet, &supply);
            market.chain.queue(address, market.comet, &borrow);
            wallets.push(Wallet { address, debt, fired: false, liquidated: false, said: BTreeMap::new() });
        }
        market.chain.mine().await.expect("the wallets borrow");
        let proxy = Proxy::start(market.chain.url()).await;
        let more = format!(
            "max = 10000\nmax_per_key = 10000\nbatch = 100\nstale_after_seconds = 86400\n{}\n[reading.rpc]\n\
             retries = 0\n",
            allowing(&[receiver])
        );
        // A test that asks about a thousand watches every few milliseconds is no caller that a rate is for.
        let config = market.config(&proxy.url, &more).replacen(
            "[[access.keys]]",
            "[access]\ndefault_rate = 0\n[[access.keys]]",
            1,
        );
        let service = Some(Service::start(&config));
        let calls = Arc::default();
        let mined = BTreeMap::new();
        let crash = Self { market, proxy, calls, config, service, wallets, price: 2_000.0, kills: 0, mined };
        crash.behave();
        let (api, url) = (crash.api(), &receiver.url);
        let created = crash.wallets.iter().cycle().take(count * each).map(|wallet| {
            let body = json!({
                "address": wallet.address, "every_s": 1, "url": url,
                "when": [
                    { "measure": "health_factor", "below": BELOW, "clear_above": CLEAR }, { "measure": "liquidation" },
                ],
            });
            let api = api.clone();
            async move { api.post("/api/v2/watches", &body).await.expect(201) }
        });
        stream::iter(created).buffer_unordered(TOGETHER).collect::<Vec<_>>().await;
        crash
    }

    fn api(&self) -> Caller {
        self.service.as_ref().expect("a server").keyed()
    }

    /// The endpoint answers as its node does.
    fn behave(&self) {
        self.replace(|_| Reply::Pass);
    }

    fn replace(&self, rule: impl Fn(&str) -> Reply + Send + 'static) {
        let calls = self.calls.clone();
        self.proxy.rule(move |call| {
            calls.fetch_add(1, SeqCst);
            rule(&call.method)
        });
        // Hours of calls with their parameters are gigabytes.
        self.proxy.take();
    }

    /// The times from the block of an event to its arrival, shortest first.
    fn delays<'a>(&self, arrived: impl IntoIterator<Item = &'a Delivery>) -> Vec<Duration> {
        let delay = |delivery: &Delivery| {
            let hash = delivery.body["data"]["after"]["blocks"][0]["hash"].as_str()?;
            Some(delivery.arrived.saturating_duration_since(*self.mined.get(hash)?))
        };
        let mut delays: Vec<Duration> = arrived.into_iter().filter_map(delay).collect();
        delays.sort();
        delays
    }

    /// Waits until the server has made so many calls more.
    async fn asked(&self, more: usize) {
        let goal = self.calls.load(SeqCst) + more;
        until(async || self.calls.load(SeqCst), |calls| *calls >= goal).await;
    }

    /// SIGKILL, wherever the server is after so many calls, and a new process on its store.
    async fn kill(&mut self, after: usize) {
        self.asked(after).await;
        let folder: TempDir = self.service.take().expect("a server").kill();
        self.service = Some(Service::start_in(folder, &self.config, &[]));
        self.kills += 1;
    }

    async fn mine(&mut self, blocks: u64) {
        for _ in 0..blocks {
            let _: Value = self.market.rpc("anvil_mine", json!(["0x1", "0xc"])).await;
            let block: Value = self.market.rpc("eth_getBlockByNumber", json!(["latest", false])).await;
            self.mined.insert(block["hash"].as_str().expect("a hash").to_owned(), Instant::now());
        }
    }

    async fn send(&mut self, call: impl SolCall) {
        let from = named(DEPLOYER);
        let _: Value = self.market.rpc("anvil_impersonateAccount", json!([from])).await;
        let data = format!("0x{}", alloy::hex::encode(call.abi_encode()));
        let to = self.market.comet;
        let transaction = json!({ "from": from, "to": to, "data": data, "gas": "0x1e8480", "gasPrice": "0x0" });
        let _: B256 = self.market.rpc("eth_sendTransaction", json!([transaction])).await;
    }

    /// The price in the next block.
    async fn set(&mut self, price: f64) {
        let price = U256::from((price * 1e8).round() as u64);
        self.send(Comet::setPriceCall { feed: self.market.collateral, price }).await;
    }

    /// Waits until the last values of every watch are those of the contracts.
    async fn seen(&self) {
        let expected: BTreeMap<String, (Option<f64>, u64)> = self
            .wallets
            .iter()
            .map(|wallet| {
                let key = wallet.address.to_string();
                (key, (wallet.factor(self.price), u64::from(wallet.liquidated)))
            })
            .collect();
        let api = self.api();
        let is = |watch: &Value| {
            let value = |at: usize| &watch["when"][at]["values"][0]["value"];
            let (factor, liquidations) = expected[watch["subject"].as_str().unwrap_or_default()];
            let near = match (value(0).as_f64(), factor) {
                (Some(seen), Some(factor)) => (seen / factor - 1.0).abs() < 1e-6,
                (seen, factor) => seen.is_none() && factor.is_none() && value(0).is_null(),
            };
            let is_evaluated = watch["when"][0]["values"].as_array().is_some_and(|all| all.len() == 1);
            is_evaluated && near && value(1).as_f64() == Some(liquidations as f64)
        };
        // Those of the first page with any: a thousand watches are not listed every few milliseconds.
        let behind = async || {
            for page in 1.. {
                let answer = api.get(&format!("/api/v2/watches?limit=100&page={page}")).await.ok();
                let watches = answer["watches"].as_array().expect("a list");
                let behind: Vec<Value> = watches.iter().filter(|watch| !is(watch)).cloned().collect();
                if !behind.is_empty() || watches.len() < 100 {
                    return behind;
                }
            }
            Vec::new()
        };
        until(behind, |behind| behind.is_empty()).await;
    }

    /// A price that stays.
    async fn hold(&mut self, price: f64, kill: Option<usize>) {
        self.price = price;
        for wallet in &mut self.wallets {
            let says = wallet.meet(price);
            wallet.say("health_factor", says);
        }
        self.set(price).await;
        self.mine(1).await;
        if let Some(after) = kill {
            self.kill(after).await;
        }
        self.seen().await;
    }

    /// A price that a reorganisation of `depth` blocks removes after it was seen.
    async fn remove(&mut self, price: f64, depth: u64, kill: Option<usize>) {
        let before = self.price;
        let snapshot: Value = self.market.rpc("evm_snapshot", json!([])).await;
        let was: Vec<bool> = self.wallets.iter().map(|wallet| wallet.fired).collect();
        self.hold(price, None).await;
        self.mine(depth - 1).await;
        let _: Value = self.market.rpc("evm_revert", json!([snapshot])).await;
        for (wallet, was) in self.wallets.iter_mut().zip(was) {
            if wallet.fired != was {
                wallet.fired = was;
                wallet.say("health_factor", Some("watch.retracted"));
            }
        }
        self.price = before;
        self.mine(depth + 1).await;
        if let Some(after) = kill {
            self.kill(after).await;
        }
        self.seen().await;
    }

    /// Liquidates every other wallet that may be, while the endpoint hides the logs of it.
    async fn liquidate(&mut self) {
        let absorbed = keccak256("AbsorbDebt(address,address,uint256,uint256)").to_string();
        self.proxy.forget(move |log| log["topics"][0] == absorbed.as_str());
        let price = self.price;
        let below = |wallet: &Wallet| wallet.factor(price).is_some_and(|factor| factor < 1.0);
        let fallen: Vec<usize> = (0..self.wallets.len()).filter(|at| below(&self.wallets[*at])).step_by(2).collect();
        for at in &fallen {
            self.send(Comet::absorbCall { account: self.wallets[*at].address }).await;
        }
        self.mine(1).await;
        for at in fallen {
            let wallet = &mut self.wallets[at];
            wallet.liquidated = true;
            let says = wallet.meet(price);
            wallet.say("health_factor", says);
            wallet.say("liquidation", Some("watch.liquidated"));
        }
        self.asked(20).await;
        self.proxy.forget(|_| false);
        self.seen().await;
    }

    /// A price that nobody could read, because the endpoint fails until it is gone.
    async fn miss(&mut self, price: f64) {
        self.replace(|_| Reply::Status(503, None));
        self.set(price).await;
        self.mine(1).await;
        self.asked(5).await;
        self.set(self.price).await;
        self.mine(1).await;
        self.behave();
        self.seen().await;
    }

    /// The endpoint holds a request for as long as the price is another one.
    async fn stall(&mut self, price: f64) {
        let before = self.calls.load(SeqCst);
        self.replace(|_| Reply::Hold);
        self.proxy.held().await;
        self.set(price).await;
        self.mine(1).await;
        self.set(self.price).await;
        self.mine(1).await;
        self.behave();
        self.proxy.release(self.calls.load(SeqCst) - before);
        self.seen().await;
    }

    /// The endpoint does not show the newest blocks for a while.
    async fn lag(&mut self, price: f64) {
        let head: Value = self.market.rpc("eth_getBlockByNumber", json!(["latest", false])).await;
        let calls = self.calls.clone();
        self.proxy.rule(move |call| {
            calls.fetch_add(1, SeqCst);
            let is_head = call.method == "eth_getBlockByNumber" && call.params[0] == "latest";
            if is_head { Reply::Result(head.clone()) } else { Reply::Pass }
        });
        self.set(price).await;
        self.mine(2).await;
        self.asked(10).await;
        self.behave();
        self.price = price;
        for wallet in &mut self.wallets {
            let says = wallet.meet(price);
            wallet.say("health_factor", says);
        }
        self.seen().await;
    }

    /// The whole crash once, with `kills` somewhere in it.
    async fn round(&mut self, kills: [Option<usize>; 4]) {
        let [first, second, third, fourth] = kills;
        self.hold(1_701.0, first).await;
        self.remove(1_203.0, 1, None).await;
        self.hold(1_405.0, second).await;
        self.miss(907.0).await;
        self.remove(1_001.0, 3, third).await;
        self.stall(805.0).await;
        self.lag(1_903.0).await;
        self.remove(2_507.0, 2, None).await;
        self.hold(811.0, None).await;
        self.liquidate().await;
        self.hold(2_503.0, fourth).await;
    }
}

impl Market {
    async fn rpc<T: serde::de::DeserializeOwned + Send + 'static>(&self, method: &'static str, params: Value) -> T {
        self.chain.rpc.request(method, params).await.expect("the node answers")
    }
}

/// All entries of a paged list.
async fn every(api: &Caller, path: &str, name: &str) -> Vec<Value> {
    let (mut all, mut page) = (Vec::new(), 1);
    loop {
        let answer = api.get(&format!("{path}&page={page}")).await.ok();
        let entries = answer[name].as_array().expect("a list").clone();
        let is_last = entries.len() < 100;
        all.extend(entries);
        page += 1;
        if is_last {
            return all;
        }
    }
}

fn percentile(delays: &[Duration], percent: usize) -> Duration {
    delays[(delays.len() - 1) * percent / 100]
}

#[test]
fn a_crash_is_told_as_the_contracts_had_it() {
    run(async {
        let (count, rounds) = if is_soak() { (200, 10) } else { (12, 1) };
        let receiver = Receiver::start(Consent::Allows).await;
        let mut crash = Crash::start(count, 1, &receiver).await;
        crash.seen().await;
        for round in 0..rounds {
            // Each round kills in other places.
            let kill = |at: usize| Some(1 + (7 * round + 5 * at) % 23);
            let last = if is_soak() { kill(4) } else { None };
            crash.round([kill(1), kill(2), kill(3), last]).await;
        }
        let api = crash.api();
        let (mut missed, mut wrong, mut ids) = (0, 0, BTreeMap::new());
        for watch in every(&api, "/api/v2/watches?limit=100", "watches").await {
            let subject = watch["subject"].as_str().expect("an address");
            let wallet = crash.wallets.iter().find(|wallet| wallet.address.to_string() == subject).expect("a wallet");
            let path = format!("/api/v2/watches/{}/events", watch["id"].as_str().expect("an id"));
            let events = api.get(&path).await.ok()["events"].as_array().expect("events").clone();
            let mut said = BTreeMap::<String, Vec<String>>::new();
            for event in &events {
                let (measure, kind) = (&event["data"]["measure"], &event["type"]);
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                said.entry(text(measure)).or_default().push(text(kind));
                ids.insert(text(&event["data"]["id"]), event.clone());
            }
            for measure in ["health_factor", "liquidation"] {
                let expected = wallet.said.get(measure).cloned().unwrap_or_default();
                let found = said.remove(measure).unwrap_or_default();
                if found != expected {
                    println!("{subject} {measure}: expected {expected:?}, found {found:?}");
                    missed += expected.len().saturating_sub(found.len());
                    wrong += found.len().saturating_sub(expected.len()).max(usize::from(found.len() == expected.len()));
                }
            }
            wrong += said.values().map(Vec::len).sum::<usize>();
        }
        let arrived = until(
            async || receiver.events(),
            |events| events.iter().map(|event| &event.id).collect::<BTreeSet<_>>().len() >= ids.len(),
        );
        let arrived = arrived.await;
        let mut first = BTreeMap::new();
        let mut doubled = 0;
        for delivery in &arrived {
            let known = first.entry(delivery.id.clone()).or_insert(delivery);
            // The same id is the same event, over retries and crashes.
            doubled += usize::from(known.body["data"]["seq"] != delivery.body["data"]["seq"]);
            assert!(ids.contains_key(&delivery.id), "{} was never stored", delivery.id);
        }
        let delays = crash.delays(first.values().copied());
        let expected: usize = crash.wallets.iter().flat_map(|wallet| wallet.said.values()).map(Vec::len).sum();
        println!(
            "{count} wallets, {} kills, {expected} events expected: {missed} missed, {wrong} false, {doubled} doubled \
             ids; {} deliveries of {} events; block to delivery p50 {:?}, p99 {:?}",
            crash.kills,
            arrived.len(),
            first.len(),
            percentile(&delays, 50),
            percentile(&delays, 99),
        );
        assert_eq!((missed, wrong, doubled, first.len()), (0, 0, 0, expected));
    });
}
