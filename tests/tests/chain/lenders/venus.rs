//! Venus, a fork of Compound v2 with its own names for rewards and its own native market: the figures of every wallet
//! equal the receipts of all blocks, and without the names no history is complete.

use alloy::primitives::{Address, U256, keccak256};
use alloy::sol_types::SolCall;
use assay::config::Config;
use assay_domain::{ChainSnapshot, Coverage};
use assay_lending::config::Dialect;
use assay_tests::devnet::actors::address as wallet;
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::lenders::ctoken::Market;
use assay_tests::lenders::{Log, Small};
use assay_tests::proxy::{Call, Proxy, Reply};
use assay_tests::venus::{self, Faucet, Oracle, Unitroller, VBnb, VToken, Venus};
use tokio::sync::OnceCell;

use super::super::{Reader, one_log};
use super::{Done, once, pool, position};

pub(super) struct World {
    pub chain: Small,
    pub venus: Venus,
    /// Time and logs of every block, read from its receipts.
    blocks: Vec<(u64, Vec<Log>)>,
    setup: Setup,
}

static WORLD: OnceCell<World> = OnceCell::const_new();

pub(super) fn with(test: impl AsyncFnOnce(&World)) {
    once(&WORLD, World::start, test);
}

fn units(amount: u64, market: &Market) -> U256 {
    U256::from(amount) * U256::from(10).pow(U256::from(market.decimals))
}

/// Calls of one market on a chain.
struct On<'a>(&'a mut Small, Market);

impl On<'_> {
    /// One call of the market by a wallet that has the tokens and allows the market to take them.
    async fn call<C: SolCall>(&mut self, from: &str, call: &C) -> Done {
        let (from, Market { ctoken, underlying, .. }) = (wallet(from), self.1);
        let amount = units(1_000_000, &self.1);
        self.0.queue(from, underlying, &Faucet::allocateToCall { owner: from, amount });
        self.0.queue(from, underlying, &Faucet::approveCall { spender: ctoken, amount: U256::MAX });
        self.0.call(from, ctoken, call).await
    }

    async fn pay<C: SolCall>(&mut self, from: &str, call: &C, amount: u64) -> Done {
        self.0.queue_paid(wallet(from), self.1.ctoken, call, units(amount, &self.1)).await?;
        self.0.mine().await
    }

    async fn borrow(&mut self, from: &str, amount: u64) -> Done {
        self.0.call(wallet(from), self.1.ctoken, &VToken::borrowCall { amount: units(amount, &self.1) }).await
    }
}

/// Ben lends. Ada makes every kind of event, with repayments by ben among them. Cleo borrows BNB alone and leaves. Dora
/// is liquidated for her BNB and for her DAI. Finn only supplies, and gus has nothing.
async fn live(chain: &mut Small, venus: &Venus) -> Done {
    let (usdc, dai, bnb) = (venus.usdc, venus.dai, venus.bnb);
    On(chain, bnb).pay("ben", &VBnb::mintCall {}, 50_000).await?;
    On(chain, dai).call("ben", &VToken::mintCall { amount: units(50_000, &dai) }).await?;
    for (name, amount) in [("ada", 5_000), ("cleo", 3_000), ("dora", 2_000), ("finn", 10)] {
        On(chain, usdc).call(name, &VToken::mintCall { amount: units(amount, &usdc) }).await?;
        let markets = vec![usdc.ctoken];
        chain.call(wallet(name), venus.comptroller, &Unitroller::enterMarketsCall { markets }).await?;
    }
    On(chain, dai).borrow("ada", 100).await?;
    On(chain, bnb).borrow("ada", 200).await?;
    On(chain, dai).call("ada", &VToken::repayBorrowCall { amount: units(30, &dai) }).await?;
    let (borrower, amount) = (wallet("ada"), units(20, &dai));
    On(chain, dai).call("ben", &VToken::repayBorrowBehalfCall { borrower, amount }).await?;
    On(chain, bnb).pay("ben", &VBnb::repayBorrowBehalfCall { borrower }, 50).await?;
    On(chain, bnb).pay("ada", &VBnb::repayBorrowCall {}, 10).await?;
    let tokens = U256::from(1_000_000);
    chain.call(wallet("ada"), usdc.ctoken, &VToken::redeemCall { tokens }).await?;

    On(chain, bnb).borrow("cleo", 300).await?;
    // The market of the native currency takes the whole debt for the greatest number, and gives nothing back.
    On(chain, bnb).pay("cleo", &VBnb::repayBorrowCall {}, 300).await?;

    On(chain, bnb).borrow("dora", 700).await?;
    On(chain, dai).borrow("dora", 800).await?;
    let price = |dollars: u64| U256::from(dollars) * U256::from(10).pow(U256::from(28));
    let fall = Oracle::setDirectPriceCall { asset: usdc.underlying, price: price(50) };
    chain.call(wallet("anybody"), venus.oracle, &fall).await?;
    let (borrower, collateral) = (wallet("dora"), usdc.ctoken);
    On(chain, bnb).pay("ben", &VBnb::liquidateBorrowCall { borrower, collateral }, 100).await?;
    let amount = units(200, &dai);
    On(chain, dai).call("ben", &VToken::liquidateBorrowCall { borrower, amount, collateral }).await?;
    let rise = Oracle::setDirectPriceCall { asset: usdc.underlying, price: price(100) };
    chain.call(wallet("anybody"), venus.oracle, &rise).await?;
    for _ in 0..40 {
        chain.mine().await?;
    }
    Ok(())
}

impl World {
    async fn start() -> Result<Self, assay_tests::devnet::Error> {
        let mut chain = Small::start(CHAIN).await?;
        let native_feed = price_feed(&mut chain, 1.0);
        let venus = venus::deploy(&mut chain).await?;
        live(&mut chain, &venus).await?;
        let names = ["vUSDC", "vDAI", "vBNB"].into_iter().zip(venus.markets());
        let markets = names.map(|(name, market)| ("lenderB_v2", name, market.ctoken)).collect();
        let setup = Setup { native_feed, markets, ..Setup::default() };
        let blocks = chain.blocks().await?;
        Ok(Self { chain, venus, blocks, setup })
    }

    pub(super) fn reader(&self) -> Reader {
        super::reader(&self.setup, &self.chain)
    }

    /// Compares a wallet with the receipts and the balances; returns its borrowings, repayments and liquidations.
    async fn compare(&self, name: &str, read: &ChainSnapshot) -> (u64, u64, u64) {
        let mut total = (0, 0, 0);
        for market in self.venus.markets() {
            let lived = market.lived(&self.blocks, wallet(name));
            let pool = pool(read, market.ctoken);
            let unix = |time: Option<assay_domain::Time>| time.and_then(|time| u64::try_from(time.timestamp()).ok());
            let told = (pool.counts.borrow, pool.counts.repay, pool.counts.liquidation, unix(pool.last_liquidation_at));
            let events = (Some(lived.borrow), Some(lived.repay), Some(lived.liquidation), lived.last_liquidation);
            assert_eq!((pool.coverage, told), (Coverage::Complete, events), "{name}: {:?}", pool.remark);
            let held = market.held(&self.chain, wallet(name)).await.unwrap();
            let told = position(read, market.ctoken).map(|p| (p.supplied_usd, p.borrowed_usd)).unwrap_or_default();
            assert!((told.0 - held.0).abs() < 1e-6 && (told.1 - held.1).abs() < 1e-6, "{name}: {told:?} {held:?}");
            total = (total.0 + lived.borrow, total.1 + lived.repay, total.2 + lived.liquidation);
        }
        total
    }
}

#[test]
fn every_wallet_is_what_receipts_and_balances_say() {
    with(async |world| {
        for change in [(|_| {}) as fn(&mut Config), |config| {
            config.chains[0].markets.iter_mut().for_each(|market| market.dialect = Some(Dialect::Venus));
        }] {
            let reader = world.reader().with(change).started().await;
            let mut told = Vec::new();
            for name in ["ada", "ben", "cleo", "dora", "finn", "gus"] {
                let total = world.compare(name, &reader.read(wallet(name)).await.chains[0]).await;
                told.push((name, total));
            }
            let (none, dora) = ((0, 0, 0), (2, 0, 2));
            let expected =
                [("ada", (2, 4, 0)), ("ben", none), ("cleo", (1, 1, 0)), ("dora", dora), ("finn", none), ("gus", none)];
            assert_eq!(told, expected);
        }
    });
}

/// What a check of the configuration says of the markets.
async fn findings(reader: &Reader) -> Vec<String> {
    let config = &reader.config;
    let found = assay::verify::verify(&config.chains[0], config, None, |_| {}).await;
    found.iter().map(ToString::to_string).filter(|found| found.contains("lenderB_v2")).collect()
}

#[test]
fn without_known_names_no_history_is_complete_and_the_check_says_so() {
    with(async |world| {
        let proxy = Proxy::start(world.chain.url()).await;
        let selector = keccak256("venusBorrowerIndex(address,address)").to_string()[..10].to_owned();
        proxy.rule(move |call: &Call| {
            let asks = |key: &str| call.params[0][key].as_str().is_some_and(|data| data.starts_with(&selector));
            let foreign = call.method == "eth_call" && (asks("data") || asks("input"));
            if foreign { Reply::Error { code: 3, message: "execution reverted".into() } } else { Reply::Pass }
        });
        let reader = world.reader().with(|config| config.chains[0].multicall = None).through(&[&proxy]);
        let found = findings(&reader).await;
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().all(|found| found.contains("names rewards as no known fork")), "{found:?}");
        let reader = reader.started().await;
        for name in ["ada", "gus"] {
            let read = reader.read(wallet(name)).await;
            for pool in &read.chains[0].pools {
                let words = pool.remark.clone().unwrap_or_default();
                assert_eq!(pool.coverage, Coverage::Partial, "{name} {words}");
                assert!(words.contains("names rewards as no known fork does"), "{name} {words}");
            }
            assert_eq!(read.events_coverage(), Coverage::Partial);
        }
    });
}

#[test]
fn a_wrong_dialect_is_named() {
    with(async |world| {
        assert_eq!(findings(&world.reader()).await, Vec::<String>::new());
        let wrong = world.reader().with(|config| config.chains[0].markets[0].dialect = Some(Dialect::Compound));
        let found = findings(&wrong).await;
        assert!(found.len() == 1 && found[0].contains("answers like \"venus\"; correct or remove it"), "{found:?}");
    });
}

#[test]
fn the_index_says_what_the_node_says() {
    with(async |world| {
        let mut wallets: Vec<Address> = ["ada", "ben", "cleo", "dora", "finn", "gus"].map(wallet).to_vec();
        wallets.extend(world.venus.markets().map(|market| market.ctoken));
        super::super::index::agrees(&world.setup, &world.chain, &wallets).await;
    });
}

#[test]
fn a_log_that_is_left_out_makes_no_history_wrong_and_complete() {
    with(async |world| {
        let wallets = ["ada", "ben", "cleo", "dora", "finn"].map(|name| (name, wallet(name))).to_vec();
        let (reader, chain) = (|| world.reader(), &world.chain);
        let world = one_log::World { reader: &reader, url: chain.url(), rpc: &chain.rpc, chain: CHAIN, wallets };
        one_log::none_is_wrong("Venus", world).await;
    });
}
