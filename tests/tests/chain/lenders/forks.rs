//! Forks by configuration: several deployments of one lender on a chain, each with its own address and name, and forks
//! of Compound v2 whose Comptroller has its own names. The contracts of Aave are the real ones; those of Compound are
//! variations of the stub.

use alloy::primitives::{Address, U256};
use alloy::sol;
use alloy::sol_types::SolEvent;
use assay_domain::Coverage;
use assay_tests::devnet::aave::Market as V3;
use assay_tests::devnet::actors::address as wallet;
use assay_tests::devnet::data_provider::DataProvider;
use assay_tests::devnet::receipts::LendingEvents;
use assay_tests::devnet::{actors, feed};
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::lenders::ctoken::{self, CEther, Compound, Comptroller};
use assay_tests::lenders::{Log, Small, aave_v2};

use super::super::RUNTIME;
use super::super::wallets::counted;
use super::aave_v2::{On as OnV2, USDC_PER_ETHER, liquidate};
use super::ctoken::{On as OnCompound, counted as counted_debts, live as live_in_compound};
use super::{Done, pool, position, reader};

sol! {
    interface Pool {
        event Supply(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount,
            uint16 indexed referral);
        event Withdraw(address indexed reserve, address indexed user, address indexed to, uint256 amount);
        event Borrow(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint8 mode,
            uint256 rate, uint16 indexed referral);
        event Repay(address indexed reserve, address indexed user, address indexed repayer, uint256 amount,
            bool useATokens);
        event LiquidationCall(address indexed collateralAsset, address indexed debtAsset, address indexed user,
            uint256 debtToCover, uint256 liquidated, address liquidator, bool receiveAToken);
        function supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode) external;
        function withdraw(address asset, uint256 amount, address to) external;
        function borrow(address asset, uint256 amount, uint256 mode, uint16 referralCode, address onBehalfOf) external;
        function repay(address asset, uint256 amount, uint256 mode, address onBehalfOf) external;
        function liquidationCall(address collateralAsset, address debtAsset, address user, uint256 debtToCover,
            bool receiveAToken) external;
    }
    interface Token {
        function mint(address account, uint256 value) external;
        function approve(address spender, uint256 amount) external;
    }
}

const ETHER_USD: f64 = 2_000.0;

/// Calls of one pool of Aave v3 on a chain.
pub(super) struct On<'a>(pub &'a mut Small, pub &'a V3);

impl On<'_> {
    pub(super) fn token(&self, symbol: &str) -> (Address, U256) {
        let token = self.1.token(symbol).unwrap();
        (token.address, U256::from(10).pow(U256::from(token.asset.decimals)))
    }

    pub(super) fn give(&mut self, to: &str, symbol: &str, amount: u64) -> (Address, U256) {
        let (asset, unit) = self.token(symbol);
        let value = U256::from(amount) * unit;
        self.0.queue(actors::address(actors::DEPLOYER), asset, &Token::mintCall { account: wallet(to), value });
        self.0.queue(wallet(to), asset, &Token::approveCall { spender: self.1.pool, amount: U256::MAX });
        (asset, value)
    }

    pub(super) async fn supply(&mut self, from: &str, symbol: &str, amount: u64) -> Done {
        let (asset, amount) = self.give(from, symbol, amount);
        let call = Pool::supplyCall { asset, amount, onBehalfOf: wallet(from), referralCode: 0 };
        self.0.call(wallet(from), self.1.pool, &call).await
    }

    pub(super) async fn withdraw(&mut self, from: &str, symbol: &str, amount: u64) -> Done {
        let (asset, unit) = self.token(symbol);
        let call = Pool::withdrawCall { asset, amount: U256::from(amount) * unit, to: wallet(from) };
        self.0.call(wallet(from), self.1.pool, &call).await
    }

    pub(super) async fn borrow(&mut self, from: &str, symbol: &str, amount: u64) -> Done {
        let ((asset, unit), mode) = (self.token(symbol), U256::from(2));
        let (amount, owner) = (U256::from(amount) * unit, wallet(from));
        let call = Pool::borrowCall { asset, amount, mode, referralCode: 0, onBehalfOf: owner };
        self.0.call(owner, self.1.pool, &call).await
    }

    async fn repay(&mut self, from: &str, of: &str, symbol: &str, amount: u64) -> Done {
        let (asset, amount) = self.give(from, symbol, amount);
        let call = Pool::repayCall { asset, amount, mode: U256::from(2), onBehalfOf: wallet(of) };
        self.0.call(wallet(from), self.1.pool, &call).await
    }

    /// Bitcoin loses half of its value for a block.
    async fn liquidate(&mut self, of: &str, amount: u64) -> Done {
        let (asset, amount) = self.give("liquidator", "USDC", amount);
        let (collateral, feed) = (self.token("WBTC").0, self.1.token("WBTC").unwrap().feed.unwrap());
        let price = |dollars| feed::Feed::setCall { answer: feed::answer(dollars), updatedAt: U256::ZERO };
        self.0.queue(actors::address(actors::DEPLOYER), feed, &price(20_000.0));
        let call = Pool::liquidationCallCall {
            collateralAsset: collateral,
            debtAsset: asset,
            user: wallet(of),
            debtToCover: amount,
            receiveAToken: false,
        };
        self.0.queue(wallet("liquidator"), self.1.pool, &call);
        self.0.queue(actors::address(actors::DEPLOYER), feed, &price(40_000.0));
        self.0.mine().await
    }
}

/// The events of `wallet` in `pool`.
fn lived(blocks: &[(u64, Vec<Log>)], pool: Address, wallet: Address) -> LendingEvents {
    let mut lived = LendingEvents::default();
    for (time, log) in blocks.iter().flat_map(|(time, logs)| logs.iter().map(move |log| (*time, log))) {
        let (Some(topic0), true) = (log.topics.first(), log.address == pool) else { continue };
        let named = |at: usize| log.topics.get(at) == Some(&wallet.into_word());
        let count = match *topic0 {
            Pool::Supply::SIGNATURE_HASH if named(2) => &mut lived.supply,
            Pool::Withdraw::SIGNATURE_HASH if named(2) => &mut lived.withdraw,
            Pool::Borrow::SIGNATURE_HASH if named(2) => &mut lived.borrow,
            Pool::Repay::SIGNATURE_HASH if named(2) => &mut lived.repay,
            Pool::LiquidationCall::SIGNATURE_HASH if named(3) => {
                lived.last_liquidation = Some(time);
                &mut lived.liquidation
            }
            _ => continue,
        };
        *count += 1;
        lived.first.get_or_insert(time);
        lived.last = Some(time);
    }
    lived
}

/// Dollars that `user` supplies and owes in a pool, by its data provider.
async fn held(chain: &Small, market: &V3, user: Address) -> (f64, f64) {
    let (mut supplied, mut borrowed) = (0.0, 0.0);
    for token in market.tokens.iter().filter(|token| token.asset.reserve) {
        let call = DataProvider::getUserReserveDataCall { asset: token.address, user };
        let held = chain.view(market.data_provider, &call, chain.head).await.unwrap();
        let dollars = |amount: U256| f64::from(amount) / 10_f64.powi(token.asset.decimals.into()) * token.asset.dollars;
        supplied += dollars(held.aTokenBalance);
        borrowed += dollars(held.stableDebt + held.variableDebt);
    }
    (supplied, borrowed)
}

async fn live(chain: &mut Small, one: &V3, other: &V3) -> Done {
    for market in [one, other] {
        On(chain, market).supply("bank", "USDC", 500_000).await?;
    }
    let mut on = On(chain, one);
    on.supply("ada", "WBTC", 2).await?;
    on.borrow("ada", "USDC", 30_000).await?;
    on.repay("ada", "ada", "USDC", 5_000).await?;
    on.repay("ben", "ada", "USDC", 1_000).await?;
    on.withdraw("bank", "USDC", 7).await?;
    let mut on = On(chain, other);
    on.supply("ada", "WBTC", 1).await?;
    on.borrow("ada", "USDC", 20_000).await?;
    on.supply("cleo", "WBTC", 1).await?;
    on.borrow("cleo", "USDC", 25_000).await?;
    on.liquidate("cleo", 8_000).await?;
    for _ in 0..20 {
        chain.mine().await?;
    }
    Ok(())
}

/// Two pools of the version of Aave v3 that Spark forked, with other names.
#[test]
fn each_fork_of_aave_v3_is_what_its_receipts_and_its_data_provider_say() {
    RUNTIME.block_on(async {
        let mut chain = Small::start(CHAIN).await.unwrap();
        let one = chain.aave_v3_market().await.unwrap();
        chain.mine().await.unwrap();
        let other = chain.aave_v3_market().await.unwrap();
        chain.mine().await.unwrap();
        let native_feed = one.native_feed;
        live(&mut chain, &one, &other).await.unwrap();
        let markets = vec![("lenderA_v3", "SparkLend", one.pool), ("lenderA_v3", "Another fork", other.pool)];
        let setup = Setup { native_feed, markets, ..Setup::default() };
        let (blocks, mut liquidations) = (chain.blocks().await.unwrap(), 0);
        let reading = reader(&setup, &chain).started().await;
        for name in ["bank", "ada", "ben", "cleo", "liquidator"] {
            let snapshot = reading.read(wallet(name)).await;
            let read = &snapshot.chains[0];
            for market in [&one, &other] {
                let (told, lived) = (pool(read, market.pool), lived(&blocks, market.pool, wallet(name)));
                assert_eq!((told.coverage, counted(told)), (Coverage::Complete, lived), "{name}: {:?}", told.remark);
                let (supplied, borrowed) = held(&chain, market, wallet(name)).await;
                let position =
                    position(read, market.pool).map(|p| (p.supplied_usd, p.borrowed_usd)).unwrap_or_default();
                let close = |one: f64, other: f64| (one - other).abs() <= 1e-4 * one.abs().max(other.abs());
                assert!(close(position.0, supplied) && close(position.1, borrowed), "{name}: {position:?}");
                liquidations += lived.liquidation;
            }
        }
        assert_eq!(liquidations, 1);
        super::super::index::agrees(&setup, &chain, &["bank", "ada", "ben", "cleo"].map(wallet)).await;
    });
}

#[test]
fn each_fork_of_aave_v2_is_what_its_receipts_say() {
    RUNTIME.block_on(async {
        let mut chain = Small::start(CHAIN).await.unwrap();
        let native_feed = price_feed(&mut chain, 2_500.0);
        let one = aave_v2::deploy(&mut chain, USDC_PER_ETHER).await.unwrap();
        let other = aave_v2::deploy(&mut chain, USDC_PER_ETHER).await.unwrap();
        for market in [&one, &other] {
            let mut on = OnV2(&mut chain, market);
            on.deposit("bank", "bank", market.weth, 1_000).await.unwrap();
            on.deposit("ben", "ben", market.usdc, 4_000).await.unwrap();
            on.borrow("ben", market.weth, 1, 2).await.unwrap();
        }
        liquidate(&mut OnV2(&mut chain, &other), "ben").await.unwrap();
        OnV2(&mut chain, &one).withdraw("bank", one.weth, 3).await.unwrap();
        let markets = vec![("lenderA_v2", "Main", one.pool), ("lenderA_v2", "A fork", other.pool)];
        // Each pool counts in its own wrapped ether.
        let tokens = vec![(other.weth.asset, 18, native_feed)];
        let setup = Setup { native_feed, wrapped: Some(one.weth.asset), tokens, markets, ..Setup::default() };
        let reading = reader(&setup, &chain).started().await;
        for name in ["bank", "ben", "liquidator"] {
            let snapshot = reading.read(wallet(name)).await;
            for market in [&one, &other] {
                let told = pool(&snapshot.chains[0], market.pool);
                let lived = market.lived(&chain, wallet(name)).await.unwrap();
                assert_eq!((told.coverage, counted(told)), (Coverage::Complete, lived), "{name}: {:?}", told.remark);
            }
        }
        let snapshot = reading.read(wallet("ben")).await;
        let liquidations = [&one, &other].map(|market| pool(&snapshot.chains[0], market.pool).counts.liquidation);
        assert_eq!(liquidations, [Some(0), Some(1)]);
    });
}

/// The wallets of the stub of Compound v2 in a fork, and jon, who has an index before he borrows.
async fn compound_fork(controller: &str, names: [&'static str; 3]) -> (Small, Compound, Setup) {
    let mut chain = Small::start(CHAIN).await.unwrap();
    let native_feed = price_feed(&mut chain, ETHER_USD);
    let compound = ctoken::deploy_fork(&mut chain, ETHER_USD, controller, names).await.unwrap();
    live_in_compound(&mut chain, &compound).await.unwrap();
    let (ether, jon) = (compound.ether, wallet("jon"));
    let claim = Comptroller::claimCompCall { holder: jon, market: ether.ctoken };
    chain.call(jon, compound.comptroller, &claim).await.unwrap();
    OnCompound(&mut chain, ether).borrow("jon", 5).await.unwrap();
    let repay = CEther::repayBorrowBehalfCall { borrower: jon };
    OnCompound(&mut chain, ether).pay("ben", repay, 2).await.unwrap();
    for _ in 0..20 {
        chain.mine().await.unwrap();
    }
    let markets = names.into_iter().zip(compound.markets());
    let markets = markets.map(|(name, market)| ("lenderB_v2", name, market.ctoken)).collect();
    (chain, compound, Setup { native_feed, markets, ..Setup::default() })
}

/// Asserts that each complete history is what the receipts say, and that one costs at most so many `queries` after the
/// index. Returns the wallets with other histories and their markets.
async fn incomplete(controller: &str, names: [&'static str; 3], queries: usize) -> Vec<(&'static str, &'static str)> {
    let (chain, compound, setup) = compound_fork(controller, names).await;
    let (reading, blocks) = (reader(&setup, &chain).started().await, chain.blocks().await.unwrap());
    let (mut incomplete, mut complete) = (Vec::new(), LendingEvents::default());
    for name in ["ada", "ben", "cleo", "dora", "finn", "gus", "jon"] {
        let snapshot = reading.read(wallet(name)).await;
        for (market, symbol) in compound.markets().into_iter().zip(names) {
            let told = pool(&snapshot.chains[0], market.ctoken);
            if told.coverage != Coverage::Complete {
                incomplete.push((name, symbol));
                continue;
            }
            let lived = market.lived(&blocks, wallet(name));
            assert_eq!(counted_debts(told), lived, "{name} {symbol}");
            let (_, borrowed) = market.held(&chain, wallet(name)).await.unwrap();
            let position = position(&snapshot.chains[0], market.ctoken).map(|p| p.borrowed_usd).unwrap_or_default();
            assert!((position - borrowed).abs() < 1e-6, "{name} {symbol}: {position} {borrowed}");
            complete.repay += lived.repay;
            complete.liquidation += lived.liquidation;
        }
    }
    assert!(complete.repay > 0 && complete.liquidation > 0);
    let wallets = ["ada", "ben", "cleo", "dora", "finn", "gus", "jon"].map(wallet);
    super::super::index::agrees_within(queries, &setup, &chain, &wallets).await;
    incomplete
}

#[test]
fn benqi_is_read_but_for_first_debts_in_its_native_currency() {
    RUNTIME.block_on(async {
        // The third topic names its borrowers.
        let incomplete = incomplete("BenqiStub", ["qiUSDC", "qiDAI", "qiAVAX"], 3).await;
        assert_eq!(incomplete, [("ada", "qiAVAX"), ("cleo", "qiAVAX")]);
    });
}

#[test]
fn moonwell_is_read_by_its_distributor() {
    RUNTIME.block_on(async {
        // No market of it is that of a native currency; cETH stands for one.
        assert_eq!(incomplete("MoonwellStub", ["mUSDC", "mDAI", "cETH"], 2).await, []);
    });
}
