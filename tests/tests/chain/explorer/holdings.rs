//! Holdings that are not configured: tokens, pool shares and non-fungible tokens, on a separate chain.

use std::collections::BTreeMap;

use alloy::primitives::{Bytes, U256};
use alloy::sol;
use alloy::sol_types::SolValue;
use assay_domain::{Address, AssetClass, ChainSnapshot, Coverage, TokenBalance};
use assay_tests::devnet::{Error, actors};
use assay_tests::explorer::{Explorer, Flavour};
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::lenders::{Small, stubs};
use serde_json::Value;

use super::super::{RUNTIME, chain, with};
use super::{Reader, of_chain, reader, with_explorer};

sol! {
    function mint(address to, uint256 amount) external;
    function transfer(address to, uint256 amount) external returns (bool);
    function createPair(address tokenA, address tokenB) external returns (address pair);
    function getPair(address tokenA, address tokenB) external view returns (address pair);
    function token0() external view returns (address token);
    function getReserves() external view returns (uint112 reserve0, uint112 reserve1, uint32 time);
    function totalSupply() external view returns (uint256 supply);
    function balanceOf(address owner) external view returns (uint256 balance);
    function swap(uint256 out0, uint256 out1, address to, bytes data) external;
    function transferFrom(address from, address to, uint256 id) external;
    interface Pool { function mint(address to) external returns (uint256 liquidity); }
    interface Things {
        function mint(address to, uint256[] ids, uint256[] amounts) external;
        function safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes data) external;
    }
}

pub(super) const ETHER: u128 = 1_000_000_000_000_000_000;
pub(super) const DOLLAR: u128 = 1_000_000;
pub(super) const WALLET: Address = Address::repeat_byte(0xa1);
pub(super) const OTHER: Address = Address::repeat_byte(0xa2);

/// A chain with two priced tokens: ether at 2,000 dollars, and a dollar token.
pub(super) struct Scene {
    pub(super) chain: Small,
    code: BTreeMap<String, Bytes>,
    pub(super) claims: BTreeMap<String, Bytes>,
    pub(super) setup: Setup,
    pub(super) ether: Address,
    pub(super) dollar: Address,
}

impl Scene {
    pub(super) async fn start() -> Result<Self, Error> {
        let (mut chain, code) = (Small::start(CHAIN).await?, stubs("Tokens.sol").await?);
        let claims = stubs("Claims.sol").await?;
        let (native_feed, one) = (price_feed(&mut chain, 2_000.0), price_feed(&mut chain, 1.0));
        let (ether, dollar) = (Address::ZERO, Address::ZERO);
        let mut scene = Self { chain, code, claims, setup: Setup::default(), ether, dollar };
        (scene.ether, scene.dollar) = (scene.coin("Ether", "WETH", 18), scene.coin("Dollar", "USDC", 6));
        scene.setup = Setup {
            native_feed,
            wrapped: Some(scene.ether),
            tokens: vec![(scene.ether, 18, native_feed), (scene.dollar, 6, one)],
            markets: Vec::new(),
            ..Setup::default()
        };
        scene.chain.mine().await?;
        Ok(scene)
    }

    pub(super) fn coin(&mut self, name: &str, symbol: &str, decimals: u8) -> Address {
        let arguments = (name, symbol, U256::from(decimals)).abi_encode_params();
        self.chain.create([&self.code["Coin"][..], &arguments].concat(), name)
    }

    pub(super) fn stub(&mut self, name: &str) -> Address {
        self.chain.create(self.code[name].clone(), name)
    }

    pub(super) fn give(&mut self, token: Address, to: Address, amount: u128) {
        self.chain.queue(actors::address(actors::DEPLOYER), token, &mintCall { to, amount: U256::from(amount) });
    }

    /// A pool with these reserves. The wallet gets all shares except those that are locked forever.
    pub(super) async fn pool(
        &mut self,
        factory: Address,
        (a, b): (Address, Address),
        reserves: (u128, u128),
    ) -> Result<Address, Error> {
        let anybody = actors::address(actors::DEPLOYER);
        self.chain.call(anybody, factory, &createPairCall { tokenA: a, tokenB: b }).await?;
        let pair = self.chain.view(factory, &getPairCall { tokenA: a, tokenB: b }, self.chain.head).await?;
        self.give(a, pair, reserves.0);
        self.give(b, pair, reserves.1);
        self.chain.queue(anybody, pair, &Pool::mintCall { to: WALLET });
        self.chain.mine().await?;
        Ok(pair)
    }

    /// The value of the wallet's share of a pool of ether and dollars, by the pool's own arithmetic.
    async fn share(&self, pair: Address) -> Result<f64, Error> {
        let at = self.chain.head;
        let reserves = self.chain.view(pair, &getReservesCall {}, at).await?;
        let (r0, r1) = (reserves.reserve0.to::<u128>() as f64, reserves.reserve1.to::<u128>() as f64);
        let first = self.chain.view(pair, &token0Call {}, at).await? == self.ether;
        let (ether, dollar) = if first { (r0, r1) } else { (r1, r0) };
        let supply = self.chain.view(pair, &totalSupplyCall {}, at).await?.to::<u128>() as f64;
        let held = self.chain.view(pair, &balanceOfCall { owner: WALLET }, at).await?.to::<u128>() as f64;
        Ok((ether / ETHER as f64 * 2_000.0 + dollar / DOLLAR as f64) * held / supply)
    }

    pub(super) fn reader(&self) -> Reader {
        let configured = Reader::configured(|store| {
            self.setup.toml(self.chain.url(), std::path::Path::new("plugins"), store, "a-key-for-tests")
        });
        // The chain has a known id, but not the markets of the real chain.
        configured.with(|config| {
            if self.setup.markets.is_empty() {
                config.chains[0].markets.clear();
            }
        })
    }

    async fn read(&self, flavour: Flavour) -> ChainSnapshot {
        let explorer = Explorer::start(flavour, CHAIN, self.chain.rpc.clone()).await;
        let reader = with_explorer(self.reader(), &explorer).started().await;
        chain(&*reader.read(WALLET).await, CHAIN).clone()
    }
}

pub(super) fn factory(scene: &mut Scene) -> Address {
    let file = assay_tests::node::packages().unwrap().join("@uniswap/v2-core/build/UniswapV2Factory.json");
    let artifact: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let code = hex::decode(artifact["bytecode"].as_str().unwrap().trim_start_matches("0x")).unwrap();
    scene.chain.create([code, Address::ZERO.abi_encode()].concat(), "Uniswap's factory")
}

pub(super) fn of(read: &ChainSnapshot, token: Address) -> Option<&TokenBalance> {
    read.tokens.iter().find(|held| held.contract == Some(token))
}

pub(super) fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-4 * b
}

#[test]
fn what_was_moved_is_found_and_what_has_no_price_is_worth_nothing() {
    RUNTIME.block_on(async {
        let mut scene = Scene::start().await.unwrap();
        let imitation = scene.coin("USD Coin", "USDC", 6);
        let hostile = scene.coin("Visit\u{202e} https://x.example\n to claim", "\u{200b}US\u{200b}DT", 0);
        let gone = scene.coin("Gone", "GONE", 18);
        let (old, mute, bomb) = (scene.stub("OldCoinStub"), scene.stub("MuteStub"), scene.stub("BombStub"));
        scene.chain.mine().await.unwrap();
        for token in [bomb, imitation, hostile, gone, old, mute] {
            scene.give(token, WALLET, 5 * ETHER);
        }
        let dollar = scene.dollar;
        scene.give(dollar, WALLET, 250 * DOLLAR);
        scene.chain.mine().await.unwrap();
        scene.chain.call(WALLET, gone, &transferCall { to: OTHER, amount: U256::from(5 * ETHER) }).await.unwrap();
        for flavour in [Flavour::Etherscan, Flavour::Blockscout] {
            let read = scene.read(flavour).await;
            assert_eq!(read.coverage, Coverage::Complete);
            assert_eq!((read.activity.transfers, read.activity.transactions), (Some(8), 1));
            assert_eq!(of(&read, dollar).unwrap().value_usd(), 250.0);
            let shown =
                |token| of(&read, token).map(|held| (held.symbol.as_str(), held.name.as_str(), held.balance_text()));
            assert_eq!(shown(imitation), Some(("USDC", "USD Coin", "5000000000000".into())));
            assert_eq!(
                shown(hostile),
                Some(("USDT", "Visit https://x.example to claim", "5000000000000000000".into()))
            );
            assert_eq!(shown(old), Some(("OLD", "Old Coin", "5".into())));
            let address = mute.to_string();
            let short = format!("{}…{}", &address[..6], &address[38..]);
            assert_eq!(shown(mute), Some((short.as_str(), short.as_str(), "5000000000000000000".into())));
            assert_eq!((shown(gone), shown(bomb)), (None, None));
            for unpriced in [imitation, hostile, old, mute] {
                let held = of(&read, unpriced).unwrap();
                assert_eq!((held.price_usd(), held.value_usd(), held.class), (None, 0.0, AssetClass::Token));
            }
        }
    });
}

#[test]
fn a_share_of_a_pool_is_worth_its_reserves_and_no_more_when_they_are_moved() {
    RUNTIME.block_on(async {
        let mut scene = Scene::start().await.unwrap();
        let (factory, own) = (factory(&mut scene), scene.coin("Own", "OWN", 18));
        scene.setup.pair_factories = vec![factory];
        scene.chain.mine().await.unwrap();
        let (ether, dollar) = (scene.ether, scene.dollar);
        let pair = scene.pool(factory, (ether, dollar), (10 * ETHER, 20_000 * DOLLAR)).await.unwrap();
        let half_priced = scene.pool(factory, (own, dollar), (ETHER, 500 * DOLLAR)).await.unwrap();
        let shares = scene.chain.view(pair, &balanceOfCall { owner: WALLET }, scene.chain.head).await.unwrap();
        scene.chain.call(WALLET, pair, &transferCall { to: OTHER, amount: shares / U256::from(3) }).await.unwrap();
        for flavour in [Flavour::Etherscan, Flavour::Blockscout] {
            let read = scene.read(flavour).await;
            assert_eq!(read.coverage, Coverage::Complete);
            let held = of(&read, pair).unwrap();
            let by_the_pool = scene.share(pair).await.unwrap();
            assert!(
                near(held.value_usd(), by_the_pool) && by_the_pool > 26_000.0,
                "{} for {by_the_pool}",
                held.value_usd()
            );
            assert_eq!((held.class, held.symbol.as_str()), (AssetClass::Liquidity, "UNI-V2"));
            // A token without a price counts as 0 dollars in a pool too.
            assert!(near(of(&read, half_priced).unwrap().value_usd(), 500.0));
        }

        // A trade lowers the price to a hundredth: 90 ether in, and the pool's payout for it.
        let balanced = scene.share(pair).await.unwrap();
        let input = 90.0 * 0.997;
        let output = (20_000.0 * DOLLAR as f64 * input / (10.0 + input)) as u128 - DOLLAR;
        scene.give(ether, pair, 90 * ETHER);
        let first = scene.chain.view(pair, &token0Call {}, scene.chain.head).await.unwrap() == ether;
        let (out0, out1) = if first { (0, output) } else { (output, 0) };
        let swap = swapCall { out0: U256::from(out0), out1: U256::from(out1), to: OTHER, data: Bytes::new() };
        scene.chain.call(OTHER, pair, &swap).await.unwrap();
        let pushed = scene.share(pair).await.unwrap();
        assert!(pushed > 4.0 * balanced, "{pushed} after {balanced}");
        let told = of(&scene.read(Flavour::Etherscan).await, pair).unwrap().value_usd();
        assert!((balanced..balanced * 1.02).contains(&told), "{told} for {balanced}");
    });
}

#[test]
fn non_fungible_tokens_are_those_that_are_still_there() {
    RUNTIME.block_on(async {
        let mut scene = Scene::start().await.unwrap();
        let (pictures, things) = (scene.stub("Pictures"), scene.stub("Things"));
        scene.chain.mine().await.unwrap();
        for id in [1, 2, 3] {
            scene.give(pictures, WALLET, id);
        }
        let numbers = |numbers: [u64; 3]| numbers.map(U256::from).to_vec();
        let mint = Things::mintCall { to: WALLET, ids: numbers([7, 8, 9]), amounts: numbers([5, 1, 1]) };
        scene.chain.call(WALLET, things, &mint).await.unwrap();
        scene
            .chain
            .call(WALLET, pictures, &transferFromCall { from: WALLET, to: OTHER, id: U256::from(2) })
            .await
            .unwrap();
        for id in [7, 8] {
            let (id, amount, data) = (U256::from(id), U256::from(1), Bytes::new());
            let away = Things::safeTransferFromCall { from: WALLET, to: OTHER, id, amount, data };
            scene.chain.call(WALLET, things, &away).await.unwrap();
        }
        for flavour in [Flavour::Etherscan, Flavour::Blockscout] {
            let read = scene.read(flavour).await;
            assert_eq!(read.coverage, Coverage::Complete);
            assert_eq!(read.activity.transfers, Some(9), "{flavour:?}");
            let address = things.to_string();
            let unnamed = format!("{}…{}", &address[..6], &address[38..]);
            let shown: Vec<_> =
                read.nfts.iter().map(|nft| (nft.name.clone(), nft.collection.clone(), nft.chain_id)).collect();
            let of = |collection: &str, id: u8| (format!("{collection} #{id}"), collection.to_owned(), CHAIN);
            assert_eq!(shown, [of("Pictures of Cats", 1), of("Pictures of Cats", 3), of(&unnamed, 7), of(&unnamed, 9)]);
            assert!(read.tokens.iter().all(|held| held.contract != Some(pictures)));
        }
    });
}

#[test]
fn tokens_that_stand_for_a_deposit_or_a_debt_are_not_counted_twice() {
    with(async |devnet| {
        let explorer = of_chain(Flavour::Etherscan, &devnet.ethereum).await;
        let bare = Reader::of(devnet).ethereum().started().await;
        let own = |config: &mut assay::config::Config| config.chains[0].tokens.clear();
        let (listed, unconfigured) =
            (reader(devnet, &explorer).started().await, reader(devnet, &explorer).with(own).started().await);
        for name in ["borrower", "saver", "collector", "busy"] {
            let wallet = devnet.wallet(name).address;
            let (expected, read) = (bare.read(wallet).await, listed.read(wallet).await);
            assert!(!expected.chains[0].positions.is_empty(), "{name}");
            assert_eq!(read.chains[0].tokens, expected.chains[0].tokens, "{name}");
            // The same balances, found without configuration, and no others.
            let amounts = |snapshot: &assay_domain::Snapshot| {
                let mut amounts: Vec<_> = snapshot.chains[0]
                    .tokens
                    .iter()
                    .map(|t| (t.contract, t.amount, t.decimals, t.symbol.clone()))
                    .collect();
                amounts.sort();
                amounts
            };
            assert_eq!(amounts(&*unconfigured.read(wallet).await), amounts(&expected), "{name}");
        }
    });
}
