//! Contracts that anybody can deploy: what they say of themselves makes nobody richer, and makes no holding vanish.

use std::sync::atomic::{AtomicUsize, Ordering};

use alloy::primitives::U256;
use alloy::sol;
use alloy::sol_types::SolValue;
use assay::config::Config;
use assay_chain::config::Discovery;
use assay_domain::{Address, AssetClass, ChainSnapshot, Coverage, Part};
use assay_tests::devnet::Error;
use assay_tests::explorer::{Explorer, Flavour};
use assay_tests::lenders::aave_v2::{self, Pool, Reserve};
use assay_tests::lenders::config::CHAIN;
use assay_tests::proxy::{Call, Proxy, Reply};
use serde_json::{Value, json};

use super::super::{RUNTIME, chain};
use super::holdings::{DOLLAR, ETHER, OTHER, Scene, WALLET, factory, near, of};
use super::{Reader, with_explorer};

sol! {
    function add(address pool) external;
}

/// Where the tokens of a wallet are listed.
#[derive(Debug, Clone, Copy)]
enum Lists {
    Explorer,
    Logs,
}

const LISTS: [Lists; 2] = [Lists::Explorer, Lists::Logs];

/// What `reader` reads of `wallet` when its tokens are listed there.
async fn read(scene: &Scene, lists: Lists, reader: Reader, wallet: Address) -> ChainSnapshot {
    let reader = match lists {
        Lists::Explorer => {
            let explorer = Explorer::start(Flavour::Etherscan, CHAIN, scene.chain.rpc.clone()).await;
            let reader = with_explorer(reader, &explorer).started().await;
            return chain(&*reader.read(wallet).await, CHAIN).clone();
        }
        Lists::Logs => reader.with(by_logs),
    };
    chain(&*reader.started().await.read(wallet).await, CHAIN).clone()
}

fn by_logs(config: &mut Config) {
    config.reading.discovery = Discovery::Logs;
    config.scoring.cache_ttl = std::time::Duration::ZERO;
    config.scoring.incomplete_cache_ttl = std::time::Duration::ZERO;
}

impl Scene {
    fn claim(&mut self, name: &str, arguments: &[Address]) -> Address {
        let arguments: Vec<u8> = arguments.iter().flat_map(|argument| argument.abi_encode()).collect();
        self.chain.create([&self.claims[name][..], &arguments].concat(), name)
    }
}

#[test]
fn only_a_pool_that_a_configured_factory_names_is_worth_something() {
    RUNTIME.block_on(async {
        let mut scene = Scene::start().await.unwrap();
        let (configured, strange) = (factory(&mut scene), factory(&mut scene));
        let (list, own) = (scene.claim("PoolListStub", &[]), scene.coin("Own", "OWN", 18));
        scene.chain.mine().await.unwrap();
        let (ether, dollar) = (scene.ether, scene.dollar);
        let real = scene.pool(configured, (ether, dollar), (10 * ETHER, 20_000 * DOLLAR)).await.unwrap();
        let by_a_stranger = scene.pool(strange, (ether, dollar), (10 * ETHER, 20_000 * DOLLAR)).await.unwrap();
        let liars = [
            scene.claim("PoolStub", &[ether, own, configured]),
            scene.claim("PoolStub", &[ether, dollar, configured]),
            scene.claim("PoolStub", &[ether, own, list]),
            scene.claim("PoolStub", &[ether, own, strange]),
            scene.claim("PoolStub", &[ether, own, Address::ZERO]),
        ];
        let listed = scene.claim("PoolStub", &[ether, own, list]);
        scene.chain.mine().await.unwrap();
        scene.chain.call(OTHER, list, &addCall { pool: listed }).await.unwrap();
        let wallets = [1, 2, 3, 4, 5].map(Address::repeat_byte);
        for pool in liars.into_iter().chain([listed]) {
            scene.give(ether, pool, 10 * ETHER);
            wallets.into_iter().chain([WALLET]).for_each(|wallet| scene.give(pool, wallet, 0));
        }
        scene.chain.mine().await.unwrap();
        scene.setup.pair_factories = vec![configured, list];
        for lists in LISTS {
            for wallet in wallets {
                let read = read(&scene, lists, scene.reader(), wallet).await;
                assert_eq!(read.coverage, Coverage::Complete, "{lists:?}");
                for liar in liars {
                    let held = of(&read, liar).unwrap();
                    assert_eq!((held.price_usd(), held.value_usd(), held.class), (None, 0.0, AssetClass::Token));
                    assert_eq!((held.symbol.as_str(), held.balance_text()), ("UNI-V2", "1".into()));
                }
                assert_eq!(of(&read, listed).unwrap().value_usd(), 20_000.0);
                assert_eq!(read.tokens.iter().map(|held| held.value_usd()).sum::<f64>(), 20_000.0);
            }
            let read = read(&scene, lists, scene.reader(), WALLET).await;
            assert!(near(of(&read, real).unwrap().value_usd(), 40_000.0), "{lists:?}");
            assert_eq!(of(&read, by_a_stranger).unwrap().price_usd(), None, "{lists:?}");
        }
    });
}

/// A wallet with a supply, and with debts at both rates.
async fn lend(scene: &mut Scene, market: &aave_v2::Market) -> Result<(), Error> {
    let units = |amount: u64, reserve: Reserve| U256::from(amount) * U256::from(10).pow(U256::from(reserve.decimals));
    for (wallet, reserve, amount) in [(OTHER, market.usdc, 100_000), (WALLET, market.weth, 20)] {
        let (asset, amount) = (reserve.asset, units(amount, reserve));
        market.queue_tokens(&mut scene.chain, wallet, reserve, amount);
        let call = Pool::depositCall { asset, amount, onBehalfOf: wallet, referralCode: 0 };
        scene.chain.call(wallet, market.pool, &call).await?;
    }
    for mode in [1, 2] {
        let call = Pool::borrowCall {
            asset: market.usdc.asset,
            amount: units(1_000, market.usdc),
            interestRateMode: U256::from(mode),
            referralCode: 0,
            onBehalfOf: WALLET,
        };
        scene.chain.call(WALLET, market.pool, &call).await?;
    }
    Ok(())
}

#[test]
fn only_the_tokens_of_a_market_are_the_position_in_it() {
    RUNTIME.block_on(async {
        let mut scene = Scene::start().await.unwrap();
        let market = aave_v2::deploy(&mut scene.chain, 2_500).await.unwrap();
        lend(&mut scene, &market).await.unwrap();
        let wrapped = scene.claim("WrappedStub", &[market.pool, market.usdc.asset]);
        let lying = scene.claim("WrappedStub", &[market.pool, Address::repeat_byte(9)]);
        scene.chain.mine().await.unwrap();
        scene.give(wrapped, WALLET, 50_000 * DOLLAR);
        scene.give(lying, WALLET, 7 * DOLLAR);
        scene.chain.mine().await.unwrap();
        // The market's oracle quotes in its wrapped ether.
        scene.setup.wrapped = Some(market.weth.asset);
        scene.setup.markets = vec![("lenderA_v2", "Main", market.pool)];
        for lists in LISTS {
            let read = read(&scene, lists, scene.reader(), WALLET).await;
            assert_eq!(read.positions.len(), 1, "{lists:?}");
            let listed = |token| of(&read, token).map(|held| held.balance_text());
            assert_eq!((listed(wrapped), listed(lying)), (Some("50000".into()), Some("7".into())), "{lists:?}");
            // The aToken and both debt tokens are the position; the borrowed dollars are a token.
            let mut found: Vec<_> = read.tokens.iter().filter_map(|held| held.contract).collect();
            let mut expected = vec![wrapped, lying, market.usdc.asset];
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{lists:?}");
        }

        // The market does not say which tokens are its own: what names it may be the position, and counts nowhere.
        market.queue_no_data_provider(&mut scene.chain);
        scene.chain.mine().await.unwrap();
        for lists in LISTS {
            let read = read(&scene, lists, scene.reader(), WALLET).await;
            let found: Vec<_> = read.tokens.iter().filter_map(|held| held.contract).collect();
            assert_eq!((found, read.coverage), (vec![market.usdc.asset], Coverage::Partial), "{lists:?}");
            assert!(read.unread.iter().any(|unread| unread.part == Part::ListedTokens), "{:?}", read.unread);
        }
    });
}

#[test]
fn a_mirror_of_the_native_currency_is_no_second_balance() {
    RUNTIME.block_on(async {
        let mut scene = Scene::start().await.unwrap();
        let mirror = scene.claim("MirrorStub", &[]);
        scene.chain.mine().await.unwrap();
        scene.give(mirror, WALLET, 5 * ETHER);
        let rpc = &scene.chain.rpc;
        let _: Value = rpc.request("anvil_setBalance", json!([WALLET, U256::from(5 * ETHER)])).await.unwrap();
        scene.chain.mine().await.unwrap();
        let feed = scene.setup.native_feed;
        let mirrored = |reader: Reader| reader.with(|config| config.chains[0].native.mirrors = vec![mirror]);
        for configured in [vec![], vec![(mirror, 18, feed)]] {
            scene.setup.tokens = configured;
            for lists in LISTS {
                let read = read(&scene, lists, mirrored(scene.reader()), WALLET).await;
                let total: f64 = read.tokens.iter().map(|held| held.value_usd()).sum();
                assert_eq!((read.tokens.len(), total), (1, 10_000.0), "{lists:?}: {:?}", read.tokens);
                assert_eq!(read.coverage, Coverage::Complete, "{lists:?}");
            }
            let bare = mirrored(scene.reader()).started().await;
            assert_eq!(chain(&*bare.read(WALLET).await, CHAIN).tokens.len(), 1);
        }
    });
}

/// Selector of `decimals()`.
const DECIMALS: &str = "0x313ce567";

/// A node that answers nothing for the decimals of `coin`, and runs no code of a request: calls are made one by one.
fn without_decimals(call: &Call, coin: Address, seen: impl Fn()) -> Reply {
    let asked = call.params[0].to_string();
    if call.method == "eth_call" && call.params[0]["to"].is_null() {
        return Reply::Error { code: -32000, message: "contract creation is not supported".into() };
    }
    if asked.contains(&format!("{coin:#x}")) && asked.contains(DECIMALS) {
        seen();
        return Reply::Result(json!("0x"));
    }
    Reply::Pass
}

#[test]
fn a_token_that_could_not_be_read_once_is_asked_again() {
    RUNTIME.block_on(async {
        let mut scene = Scene::start().await.unwrap();
        let coin = scene.coin("Coin", "COIN", 18);
        scene.chain.mine().await.unwrap();
        scene.give(coin, WALLET, 5 * ETHER);
        scene.chain.mine().await.unwrap();
        let proxy = Proxy::start(scene.chain.url()).await;
        // The node lacks the contract, as one that is behind does.
        proxy.rule(move |call| without_decimals(call, coin, || {}));
        let mut reader = scene.reader().through(&[&proxy]).with(by_logs).started().await;
        let balance =
            async |reader: &Reader| of(chain(&*reader.read(WALLET).await, CHAIN), coin).unwrap().balance_text();
        assert_eq!(balance(&reader).await, "5000000000000000000", "without decimals");
        proxy.rule(|_| Reply::Pass);
        reader.restart().await;
        assert_eq!(balance(&reader).await, "5");
        // Now it is known, and not asked again.
        proxy.take();
        assert_eq!(balance(&reader).await, "5");
        let asked = proxy.take().iter().filter(|call| call.params.to_string().contains(&DECIMALS[2..])).count();
        assert_eq!(asked, 0);
    });
}

#[test]
fn a_contract_that_answers_nothing_is_asked_three_times() {
    RUNTIME.block_on(async {
        let mut scene = Scene::start().await.unwrap();
        let coin = scene.coin("Coin", "COIN", 18);
        scene.chain.mine().await.unwrap();
        scene.give(coin, WALLET, 5 * ETHER);
        scene.chain.mine().await.unwrap();
        let proxy = Proxy::start(scene.chain.url()).await;
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        proxy.rule(move |call| without_decimals(call, coin, || _ = ASKED.fetch_add(1, Ordering::Relaxed)));
        let reader = scene.reader().through(&[&proxy]).with(by_logs).started().await;
        for _ in 0..6 {
            let read = reader.read(WALLET).await;
            assert_eq!(of(chain(&read, CHAIN), coin).unwrap().balance_text(), "5000000000000000000");
        }
        assert_eq!(ASKED.load(Ordering::Relaxed), 3);
    });
}
