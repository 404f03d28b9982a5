//! The sources of prices, and the answers without a price: real calls of stub aggregators on a real node, and a mock of
//! the external APIs.

use std::time::Duration;

use alloy::primitives::{Bytes, U256};
use assay::config::Config;
use assay_domain::Secret;
use assay_domain::{Address, ChainSnapshot, Coverage, PriceSource};
use assay_tests::devnet::{Devnet, feed};
use assay_tests::price_api::{PriceApi, Reply, Said};
use assay_tests::until::until;
use futures::future::join_all;
use serde_json::{Value, json};

use super::{Reader, alone};

/// Stub that answers every call with 1000 tokens: an ERC-20 that every account holds.
const HELD: &str = "0x683635c9adc5dea000005f5260205ff3";
const HOUR: u64 = 3_600;

/// Addresses for these tests only.
fn at(number: u64) -> Address {
    Address::left_padding_from(&(0xfeed_0000_0000 + number).to_be_bytes())
}

/// The stub aggregator of the devnet, with its own answer (in units of 10^-8 dollars) and age.
async fn aggregator(devnet: &Devnet, address: Address, answer: i64, age: u64) {
    let creation = feed::creation_code();
    let (_, now) = devnet.ethereum.head().await.unwrap();
    set_code(devnet, address, &format!("0x{}", &creation.to_string()[2 + 18..])).await;
    let word = |number: U256| format!("{number:#066x}");
    let answer = U256::from_be_bytes(alloy::primitives::I256::try_from(answer).unwrap().to_be_bytes::<32>());
    for (slot, value) in [(0, answer), (1, U256::from(now - age))] {
        let params = json!([address, word(U256::from(slot)), word(value)]);
        let _: Value = devnet.ethereum.rpc.request("anvil_setStorageAt", params).await.unwrap();
    }
}

async fn set_code(devnet: &Devnet, address: Address, code: &str) {
    let _: Value =
        devnet.ethereum.rpc.request("anvil_setCode", json!([address, code.parse::<Bytes>().unwrap()])).await.unwrap();
}

/// A wallet with one ether and 1000 of a token that has its own feed. The wrapped ether is that of the market.
struct Held {
    wallet: Address,
    token: Address,
    feed: Address,
    native_feed: Address,
    wrapped: Address,
}

impl Held {
    async fn new(devnet: &Devnet, number: u64) -> Self {
        let number = number * 16;
        let wrapped = devnet.ethereum.market.token("WETH").unwrap().address;
        let held = Self {
            wallet: at(number),
            token: at(number + 1),
            feed: at(number + 2),
            native_feed: at(number + 3),
            wrapped,
        };
        let one = U256::from(10).pow(U256::from(18));
        let _: Value = devnet.ethereum.rpc.request("anvil_setBalance", json!([held.wallet, one])).await.unwrap();
        set_code(devnet, held.token, HELD).await;
        aggregator(devnet, held.feed, 300_000_000, 60).await;
        aggregator(devnet, held.native_feed, 250_000_000_000, 60).await;
        held
    }

    /// Chain 1 with the native currency and the token, and no market.
    fn configure(&self, config: &mut Config) {
        let chain = &mut config.chains[0];
        chain.native.feed = Some(self.native_feed);
        chain.native.heartbeat = Duration::from_secs(HOUR);
        chain.native.wrapped = Some(self.wrapped);
        chain.tokens.truncate(1);
        let token = &mut chain.tokens[0];
        (token.address, token.symbol, token.decimals) = (self.token, "TEST".into(), 18);
        (token.feed, token.heartbeat) = (Some(self.feed), Duration::from_secs(HOUR));
        chain.markets.clear();
        config.scoring.cache_ttl = Duration::ZERO;
        config.scoring.incomplete_cache_ttl = Duration::ZERO;
    }

    fn reader(&self, devnet: &Devnet, api: Option<&str>) -> Reader {
        let api = api.map(Secret::new);
        Reader::of(devnet).ethereum().with(|config| {
            self.configure(config);
            config.prices.api = api;
        })
    }

    /// Prices of the native currency and the token, the sum in dollars, and the coverage.
    async fn told(&self, reader: &Reader) -> (Option<f64>, Option<f64>, f64, Coverage) {
        self.of(&reader.read(self.wallet).await.chains[0])
    }

    /// Who says what the token is worth.
    async fn source(&self, reader: &Reader) -> Option<PriceSource> {
        let chain = reader.read(self.wallet).await.chains[0].clone();
        chain.tokens.iter().find(|held| held.contract == Some(self.token)).unwrap().price.map(|price| price.source)
    }

    fn of(&self, chain: &ChainSnapshot) -> (Option<f64>, Option<f64>, f64, Coverage) {
        let price = |contract| chain.tokens.iter().find(|held| held.contract == contract).unwrap().price_usd();
        (price(None), price(Some(self.token)), chain.tokens.iter().map(|held| held.value_usd()).sum(), chain.coverage)
    }
}

use Coverage::{Complete, Partial};

#[test]
fn a_stale_or_impossible_feed_gives_way_to_the_api() {
    alone(async |devnet| {
        let held = Held::new(devnet, 1).await;
        let api = PriceApi::start().await;
        api.says(held.token, 4.0);
        api.says(held.wrapped, 2_600.0);
        let told = async || held.told(&held.reader(devnet, Some(&api.url)).started().await).await;
        assert_eq!(told().await, (Some(2_500.0), Some(3.0), 5_500.0, Complete));
        assert_eq!(api.take(), [], "the chain knew everything");
        let source = async || held.source(&held.reader(devnet, Some(&api.url)).started().await).await;
        assert_eq!(source().await, Some(PriceSource::Feed));

        // Its heartbeat plus a fifth is 4,320 s.
        aggregator(devnet, held.feed, 300_000_000, 4_300).await;
        assert_eq!(told().await.1, Some(3.0));
        for (answer, age) in [(300_000_000, 4_400), (0, 60), (-5, 60)] {
            aggregator(devnet, held.feed, answer, age).await;
            assert_eq!(told().await, (Some(2_500.0), Some(4.0), 6_500.0, Complete), "{answer} of {age} s ago");
            assert_eq!(source().await, Some(PriceSource::Api));
        }
        aggregator(devnet, held.native_feed, 250_000_000_000, 2 * HOUR).await;
        api.take();
        assert_eq!(told().await, (Some(2_600.0), Some(4.0), 6_600.0, Complete));
        let [asked] = api.take().try_into().unwrap();
        let mut coins = [held.token, held.wrapped].map(|token| format!("ethereum:{token:#x}"));
        coins.sort();
        let mut said = asked.coins.clone();
        said.sort();
        assert_eq!(said, coins);
    });
}

#[test]
fn a_sequencer_that_is_not_up_takes_the_chains_own_prices_away() {
    alone(async |devnet| {
        let held = Held::new(devnet, 2).await;
        let uptime = at(0x1000);
        let api = PriceApi::start().await;
        api.says(held.token, 4.0);
        api.says(held.wrapped, 2_600.0);
        let reader =
            |url: Option<&str>| held.reader(devnet, url).with(|config| config.chains[0].sequencer = Some(uptime));
        for (answer, since) in [(1, 10 * HOUR), (0, HOUR / 2), (7, 10 * HOUR)] {
            aggregator(devnet, uptime, answer, since).await;
            let told = held.told(&reader(Some(&api.url)).started().await).await;
            assert_eq!(told, (Some(2_600.0), Some(4.0), 6_600.0, Complete), "{answer} since {since} s");
            assert_eq!(
                held.told(&reader(None).started().await).await,
                (None, None, 0.0, Partial),
                "{answer} since {since} s"
            );
        }
        aggregator(devnet, uptime, 0, 2 * HOUR).await;
        assert_eq!(
            held.told(&reader(Some(&api.url)).started().await).await,
            (Some(2_500.0), Some(3.0), 5_500.0, Complete)
        );
        // There is no code at that address.
        set_code(devnet, uptime, "0x").await;
        assert_eq!(held.told(&reader(None).started().await).await.3, Partial);
    });
}

#[test]
fn a_position_valued_by_oracles_behind_a_sequencer_that_is_down_is_partial() {
    alone(async |devnet| {
        let uptime = at(0x2000);
        aggregator(devnet, uptime, 1, HOUR).await;
        let reader =
            Reader::of(devnet).ethereum().with(|config| config.chains[0].sequencer = Some(uptime)).started().await;
        let chain = reader.read(devnet.wallet("borrower").address).await.chains[0].clone();
        assert!(!chain.positions.is_empty());
        assert_eq!(chain.coverage, Partial);
    });
}

#[test]
fn what_has_no_price_counts_as_nothing_and_is_told() {
    alone(async |devnet| {
        let held = Held::new(devnet, 3).await;
        aggregator(devnet, held.feed, 0, 60).await;
        let told = held.told(&held.reader(devnet, None).started().await).await;
        assert_eq!(told, (Some(2_500.0), None, 2_500.0, Partial));
        // A token without any configured price source does not make the report partial. While an API fails, it does,
        // because the API may have a price.
        let unpriced = |config: &mut Config| config.chains[0].tokens[0].feed = None;
        let told = held.told(&held.reader(devnet, None).with(unpriced).started().await).await;
        assert_eq!(told, (Some(2_500.0), None, 2_500.0, Complete));
        let api = PriceApi::start().await;
        let told = held.told(&held.reader(devnet, Some(&api.url)).with(unpriced).started().await).await;
        assert_eq!(told, (Some(2_500.0), None, 2_500.0, Complete));
        api.rule(|_| Reply::Status(500, None));
        let told = held.told(&held.reader(devnet, Some(&api.url)).with(unpriced).started().await).await;
        assert_eq!(told, (Some(2_500.0), None, 2_500.0, Partial));
        // The wrapped currency has the price of the native one, and has no price when that one has none.
        let wrapping = |config: &mut Config| {
            config.chains[0].tokens[0].feed = None;
            config.chains[0].native.wrapped = Some(held.token);
        };
        let read = async || {
            let reader = held.reader(devnet, None).with(wrapping).started().await;
            let chain = reader.read(at(0x6000)).await.chains[0].clone();
            (chain.tokens.iter().map(|held| held.price_usd()).collect::<Vec<_>>(), chain.coverage)
        };
        assert_eq!(read().await, (vec![Some(2_500.0)], Complete));
        aggregator(devnet, held.native_feed, 0, 60).await;
        assert_eq!(read().await, (vec![None], Partial));
    });
}

#[test]
fn the_oracle_of_a_market_prices_what_has_no_feed_and_misses_what_it_lists() {
    alone(async |devnet| {
        let weth = devnet.ethereum.market.token("WETH").unwrap().address;
        let wallet = at(0x3000);
        let one = U256::from(10).pow(U256::from(18));
        let _: Value = devnet.ethereum.rpc.request("anvil_setBalance", json!([wallet, one])).await.unwrap();
        let no_feed =
            |config: &mut Config| (config.chains[0].native.feed, config.chains[0].native.wrapped) = (None, Some(weth));
        let read =
            async || Reader::of(devnet).ethereum().with(no_feed).started().await.read(wallet).await.chains[0].clone();
        let before = read().await;
        assert!(before.tokens[0].price_usd().is_some_and(|price| price > 0.0));
        assert_eq!(before.coverage, Complete);
        // The oracle's own source has no price for it.
        let id = devnet.ethereum.snapshot().await.unwrap();
        devnet.ethereum.set_price("WETH", 0.0).await.unwrap();
        let after = read().await;
        devnet.ethereum.revert(id).await.unwrap();
        assert_eq!((after.tokens[0].price_usd(), after.coverage), (None, Partial));
    });
}

#[test]
fn misbehaving_apis_price_nothing_and_keep_nobody_waiting() {
    alone(async |devnet| {
        let held = Held::new(devnet, 4).await;
        aggregator(devnet, held.feed, 0, 60).await;
        let api = PriceApi::start().await;
        let refused = |price: Value| Said { price, ..Said::from(1.0) };
        let replies = [
            ("429", Reply::Status(429, Some(30)), Said::from(4.0)),
            ("401", Reply::Status(401, None), Said::from(4.0)),
            ("stall", Reply::Stall, Said::from(4.0)),
            ("garbage", Reply::Body("<html>s3cret</html>".into()), Said::from(4.0)),
            ("oversized", Reply::Body(format!("{{\"coins\":{{\"x\":\"{}\"}}}}", "x".repeat(3 << 20))), Said::from(4.0)),
            ("no object", Reply::Body("[1]".into()), Said::from(4.0)),
            ("too great", Reply::Body("{\"coins\":{\"a\":1e999}}".into()), Said::from(4.0)),
            ("zero", Reply::Pass, refused(json!(0))),
            ("negative", Reply::Pass, refused(json!(-4.0))),
            ("text", Reply::Pass, refused(json!("NaN"))),
            ("null", Reply::Pass, refused(Value::Null)),
            ("huge", Reply::Pass, refused(json!(1e30))),
            ("old", Reply::Pass, Said { age: 2 * HOUR, ..Said::from(4.0) }),
            ("unsure", Reply::Pass, Said { confidence: 0.5, ..Said::from(4.0) }),
        ];
        for (what, reply, said) in replies {
            api.says(held.token, said);
            api.rule(move |_| reply.clone());
            let told = held.told(&held.reader(devnet, Some(&api.url)).started().await).await;
            assert_eq!(told, (Some(2_500.0), None, 2_500.0, Partial), "{what}");
            assert_eq!(api.take().len(), 1, "{what}");
        }
        api.rule(|_| Reply::Pass);
        api.says(held.token, Said { shouted: true, ..Said::from(4.0) });
        let told = held.told(&held.reader(devnet, Some(&api.url)).started().await).await;
        assert_eq!(told, (Some(2_500.0), Some(4.0), 6_500.0, Complete));
    });
}

#[test]
fn the_second_api_has_what_the_first_has_not() {
    alone(async |devnet| {
        let held = Held::new(devnet, 5).await;
        aggregator(devnet, held.feed, 0, 60).await;
        let (first, second) = (PriceApi::start().await, PriceApi::start().await);
        second.says(held.token, Said { shouted: true, ..Said::from(4.0) });
        let fallback = format!("{}?x_cg_demo_api_key=CG-s3cret", second.coingecko());
        let reader = || {
            held.reader(devnet, Some(&first.url)).with(|config| config.prices.fallback = Some(Secret::new(&fallback)))
        };
        assert_eq!(held.told(&reader().started().await).await, (Some(2_500.0), Some(4.0), 6_500.0, Complete));
        assert_eq!(first.take().len(), 1);
        let [asked] = second.take().try_into().unwrap();
        assert_eq!((asked.api, asked.coins), ("coingecko", vec![format!("ethereum:{:#x}", held.token)]));
        assert_eq!(asked.key.as_deref(), Some("x-cg-demo-api-key: CG-s3cret"));
        assert!(asked.query.contains("usd") && !asked.query.contains("s3cret"), "{}", asked.query);
        // An API that does not respond does not delay the other.
        first.rule(|_| Reply::Stall);
        assert_eq!(held.told(&reader().started().await).await, (Some(2_500.0), Some(4.0), 6_500.0, Complete));
    });
}

#[test]
fn a_token_that_lost_its_only_price_is_told() {
    alone(async |devnet| {
        let held = Held::new(devnet, 7).await;
        let api = PriceApi::start().await;
        api.says(held.token, 4.0);
        // Prices are cached for a second, the shortest lifetime.
        let reader = held.reader(devnet, Some(&api.url)).with(|config| {
            config.prices.refresh = Duration::ZERO;
            config.chains[0].tokens[0].feed = None;
        });
        let reader = reader.started().await;
        assert_eq!(held.told(&reader).await, (Some(2_500.0), Some(4.0), 6_500.0, Complete));
        api.says(held.token, Said { price: Value::Null, ..Said::from(4.0) });
        let lost = until(async || held.told(&reader).await, |told| told.1.is_none()).await;
        assert_eq!(lost, (Some(2_500.0), None, 2_500.0, Partial));
    });
}

#[test]
fn fifty_wallets_at_once_are_one_request_to_each_source() {
    alone(async |devnet| {
        let held = Held::new(devnet, 6).await;
        aggregator(devnet, held.feed, 0, 60).await;
        aggregator(devnet, held.native_feed, 0, 60).await;
        let (first, second) = (PriceApi::start().await, PriceApi::start().await);
        first.says(held.wrapped, 2_600.0);
        second.says(held.token, 4.0);
        let fallback = Secret::new(second.coingecko());
        let reader = held
            .reader(devnet, Some(&first.url))
            .with(|config| {
                (config.prices.fallback, config.prices.refresh) = (Some(fallback), Duration::from_secs(HOUR))
            })
            .started()
            .await;
        let wallets = (0..50).map(|number| at(0x5000 + number));
        let reads = join_all(wallets.map(|wallet| reader.read(wallet))).await;
        for read in &reads {
            let [token] = read.chains[0].tokens.as_slice() else { panic!("{:?}", read.chains) };
            assert_eq!((token.price_usd(), read.chains[0].coverage), (Some(4.0), Complete));
        }
        assert_eq!((first.take().len(), second.take().len()), (1, 1));
        // Within the life of a price no API is asked again, not even for a token that an API has no price for.
        assert_eq!(held.told(&reader).await, (Some(2_600.0), Some(4.0), 6_600.0, Complete));
        assert_eq!((first.take().len(), second.take().len()), (0, 0));
    });
}
