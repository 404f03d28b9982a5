//! Morpho Blue with the real contract: the events of every wallet equal the receipts of all blocks, and its positions
//! and health factor what the package's own library says.

mod strangers;

use std::sync::Arc;

use alloy::primitives::{Address, B256, Bytes, U256};
use alloy::sol_types::SolEvent;
use assay_domain::{AssetClass, ChainSnapshot, Coverage, EventKind, Protocol, Snapshot};
use assay_tests::devnet::actors::address as wallet;
use assay_tests::devnet::receipts::LendingEvents;
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::lenders::morpho::{self, Blue, Coin, Market, Morpho};
use assay_tests::lenders::{Log, Small};
use assay_tests::proxy::{Call, Proxy, Reply};
use tokio::sync::OnceCell;

use super::super::lies::first_of;
use super::super::wallets::counted;
use super::super::{RUNTIME, Reader, one_log};
use super::{Done, pool, position, read_after};

const ETHER_USD: f64 = 2_000.0;
/// Wallets whose position is read and priced completely.
const NAMES: [&str; 10] = ["bank", "ada", "ben", "cleo", "dora", "finn", "gus", "hal", "ivy", "kay"];

struct World {
    chain: Small,
    morpho: Morpho,
    markets: Markets,
    /// Time and logs of every block, read from its receipts.
    blocks: Vec<(u64, Vec<Log>)>,
    setup: Setup,
}

struct Markets {
    /// Dollars against ether.
    dollars: Market,
    /// Ether against dollars.
    ether: Market,
    /// Dollars against a token without a price.
    odd: Market,
    /// A market whose contracts use up all gas.
    hostile: Market,
}

static WORLD: OnceCell<World> = OnceCell::const_new();

fn with(test: impl AsyncFnOnce(&World)) {
    RUNTIME.block_on(async { test(WORLD.get_or_init(async || World::start().await.unwrap()).await).await });
}

/// Calls in one market on a chain. Amounts are thousandths of a whole token.
struct On<'a>(&'a mut Small, &'a Morpho, &'a Market);

impl On<'_> {
    fn give(&mut self, to: &str, coin: Coin, amount: u64) -> U256 {
        let amount = coin.thousandths(amount);
        self.1.queue_tokens(self.0, wallet(to), coin, amount);
        amount
    }

    async fn supply(&mut self, from: &str, to: &str, amount: u64) -> Done {
        let (assets, params) = (self.give(from, self.2.loan, amount), self.2.params.clone());
        let call = Blue::supplyCall { params, assets, shares: U256::ZERO, onBehalf: wallet(to), data: Bytes::new() };
        self.1.call(self.0, wallet(from), &call).await
    }

    async fn withdraw(&mut self, from: &str, amount: u64) -> Done {
        let (assets, params) = (self.2.loan.thousandths(amount), self.2.params.clone());
        let (owner, receiver) = (wallet(from), wallet("somebody"));
        let call = Blue::withdrawCall { params, assets, shares: U256::ZERO, onBehalf: owner, receiver };
        self.1.call(self.0, wallet(from), &call).await
    }

    async fn secure(&mut self, from: &str, to: &str, amount: u64) -> Done {
        let (assets, params) = (self.give(from, self.2.collateral, amount), self.2.params.clone());
        let call = Blue::supplyCollateralCall { params, assets, onBehalf: wallet(to), data: Bytes::new() };
        self.1.call(self.0, wallet(from), &call).await
    }

    async fn release(&mut self, from: &str, amount: u64) -> Done {
        let (assets, params) = (self.2.collateral.thousandths(amount), self.2.params.clone());
        let (owner, receiver) = (wallet(from), wallet(from));
        let call = Blue::withdrawCollateralCall { params, assets, onBehalf: owner, receiver };
        self.1.call(self.0, wallet(from), &call).await
    }

    /// `by` borrows in the name of `of`, and gets it.
    async fn borrow(&mut self, by: &str, of: &str, amount: u64) -> Done {
        let (assets, params) = (self.2.loan.thousandths(amount), self.2.params.clone());
        let (owner, receiver) = (wallet(of), wallet(by));
        let call = Blue::borrowCall { params, assets, shares: U256::ZERO, onBehalf: owner, receiver };
        self.1.call(self.0, wallet(by), &call).await
    }

    async fn repay(&mut self, from: &str, of: &str, amount: u64) -> Done {
        let (assets, params) = (self.give(from, self.2.loan, amount), self.2.params.clone());
        let call = Blue::repayCall { params, assets, shares: U256::ZERO, onBehalf: wallet(of), data: Bytes::new() };
        self.1.call(self.0, wallet(from), &call).await
    }

    /// Repays every share of the debt.
    async fn repay_all(&mut self, from: &str) -> Done {
        self.give(from, self.2.loan, 1_000_000_000);
        let call = Blue::positionCall { id: self.2.id(), user: wallet(from) };
        let shares = U256::from(self.0.view(self.1.blue, &call, self.0.head).await?.borrowShares);
        let (params, owner) = (self.2.params.clone(), wallet(from));
        let call = Blue::repayCall { params, assets: U256::ZERO, shares, onBehalf: owner, data: Bytes::new() };
        self.1.call(self.0, wallet(from), &call).await
    }

    /// The collateral is worth `price`, and a liquidator takes this much of it.
    async fn liquidate(&mut self, borrower: &str, price: f64, amount: u64) -> Done {
        self.1.queue_price(self.0, self.2, price);
        self.give("liquidator", self.2.loan, 1_000_000_000);
        let (seized, params) = (self.2.collateral.thousandths(amount), self.2.params.clone());
        let borrower = wallet(borrower);
        let call = Blue::liquidateCall {
            params,
            borrower,
            seizedAssets: seized,
            repaidShares: U256::ZERO,
            data: Bytes::new(),
        };
        self.1.call(self.0, wallet("liquidator"), &call).await
    }
}

async fn live(chain: &mut Small, morpho: &Morpho, markets: &Markets) -> Done {
    let Markets { dollars, ether, odd, hostile } = markets;
    let owner = wallet(assay_tests::devnet::actors::DEPLOYER);
    let (params, fee) = (dollars.params.clone(), U256::from(10).pow(U256::from(17)));
    morpho.call(chain, owner, &Blue::setFeeRecipientCall { recipient: wallet("treasury") }).await?;
    morpho.call(chain, owner, &Blue::setFeeCall { params, fee }).await?;
    On(chain, morpho, dollars).supply("bank", "bank", 50_000_000).await?;
    On(chain, morpho, ether).supply("bank", "bank", 10_000).await?;
    // In two markets, with a repayment by another.
    let mut on = On(chain, morpho, dollars);
    on.secure("ada", "ada", 10_000).await?;
    on.borrow("ada", "ada", 9_000_000).await?;
    on.repay("ada", "ada", 2_000_000).await?;
    on.supply("ben", "ben", 4_000_000).await?;
    on.repay("ben", "ada", 1_000_000).await?;
    on.release("ada", 1_000).await?;
    on.withdraw("ben", 1_500_000).await?;
    let mut on = On(chain, morpho, ether);
    on.secure("ada", "ada", 5_000_000).await?;
    on.borrow("ada", "ada", 1_000).await?;
    on.release("ada", 1_000_000).await?;
    // Liquidated in part, and with a debt that the collateral does not cover.
    let mut on = On(chain, morpho, dollars);
    on.secure("cleo", "cleo", 2_000).await?;
    on.borrow("cleo", "cleo", 3_000_000).await?;
    on.secure("dora", "dora", 1_000).await?;
    on.borrow("dora", "dora", 1_600_000).await?;
    on.liquidate("cleo", 1_700.0, 500).await?;
    on.liquidate("dora", 1_000.0, 1_000).await?;
    morpho.queue_price(on.0, dollars, ETHER_USD);
    // In the name of a wallet that allows it, to another receiver.
    let allow = Blue::setAuthorizationCall { authorized: wallet("manager"), isAuthorized: true };
    morpho.call(on.0, wallet("gus"), &allow).await?;
    on.secure("manager", "gus", 3_000).await?;
    on.borrow("manager", "gus", 2_000_000).await?;
    // A wallet that closes its whole position.
    on.secure("hal", "hal", 4_000).await?;
    on.borrow("hal", "hal", 100_000).await?;
    on.repay_all("hal").await?;
    on.release("hal", 4_000).await?;
    on.supply("kay", "kay", 50_000).await?;
    // Others supply what has no price, in a market of contracts that use up all gas.
    On(chain, morpho, hostile).secure("somebody", "ivy", 1_000).await?;
    On(chain, morpho, odd).secure("somebody", "emil", 7_000).await?;
    On(chain, morpho, dollars).supply("emil", "emil", 60_000).await?;
    let mut on = On(chain, morpho, odd);
    on.supply("bank", "bank", 1_000_000).await?;
    on.secure("frida", "frida", 9_000).await?;
    on.borrow("frida", "frida", 10_000).await?;
    // All blocks above are settled.
    for _ in 0..40 {
        chain.mine().await?;
    }
    Ok(())
}

impl World {
    async fn start() -> Result<Self, assay_tests::devnet::Error> {
        let mut chain = Small::start(CHAIN).await?;
        let (native_feed, dollar) = (price_feed(&mut chain, ETHER_USD), price_feed(&mut chain, 1.0));
        let morpho = morpho::deploy(&mut chain, ETHER_USD).await?;
        let (usdc, weth, odd) = (morpho.usdc, morpho.weth, morpho.odd);
        let markets = Markets {
            dollars: morpho.market(&mut chain, (usdc, weth), ETHER_USD, 860).await?,
            ether: morpho.market(&mut chain, (weth, usdc), 1.0 / ETHER_USD, 900).await?,
            odd: morpho.market(&mut chain, (usdc, odd), 5.0, 770).await?,
            hostile: morpho.hostile(&mut chain, weth).await?,
        };
        live(&mut chain, &morpho, &markets).await?;
        let setup = Setup {
            native_feed,
            wrapped: Some(weth.token),
            tokens: vec![(usdc.token, 6, dollar)],
            markets: vec![("morpho_blue", "All", morpho.blue)],
            ..Setup::default()
        };
        let mut blocks = Vec::new();
        for number in 0..=chain.head {
            blocks.push(chain.block(number).await?);
        }
        Ok(Self { chain, morpho, markets, blocks, setup })
    }

    fn reader(&self) -> Reader {
        let stablecoin = |config: &mut assay::config::Config| config.chains[0].tokens[0].class = AssetClass::Stablecoin;
        super::reader(&self.setup, &self.chain).with(stablecoin)
    }

    fn markets(&self) -> [&Market; 4] {
        let Markets { dollars, ether, odd, hostile } = &self.markets;
        [dollars, ether, odd, hostile]
    }

    /// Compares what was read with the state after block `block`.
    async fn compare(&self, name: &str, read: &ChainSnapshot, block: u64) -> LendingEvents {
        let lived = self.morpho.lived(&self.blocks[..=block as usize], wallet(name));
        let told = pool(read, self.morpho.blue);
        assert_eq!(counted(told), lived, "{name}");
        let (mut supplied, mut borrowed, mut health) = (0.0, 0.0, None::<f64>);
        for market in self.markets() {
            if self.created(market) > block {
                continue;
            }
            let held = self.morpho.held(&self.chain, market, wallet(name), block).await.unwrap();
            supplied += held.dollars.0;
            borrowed += held.dollars.1;
            health = [health, held.health].into_iter().flatten().reduce(f64::min);
        }
        let position = position(read, self.morpho.blue).map(|p| (p.supplied_usd, p.borrowed_usd)).unwrap_or_default();
        let close = |one: f64, other: f64| (one - other).abs() <= 1e-12 * one.abs().max(other.abs());
        assert!(
            close(position.0, supplied) && close(position.1, borrowed),
            "{name}: {position:?} {supplied} {borrowed}"
        );
        assert_eq!(told.position.as_ref().unwrap().health_factor, health, "{name}");
        lived
    }

    /// The first block in which a market is.
    fn created(&self, market: &Market) -> u64 {
        let named = |logs: &[Log]| logs.iter().any(|log| log.topics.get(1) == Some(&market.id()));
        self.blocks.iter().position(|(_, logs)| named(logs)).unwrap() as u64
    }
}

fn told(lived: &LendingEvents) -> [u64; 5] {
    [lived.supply, lived.withdraw, lived.borrow, lived.repay, lived.liquidation]
}

#[test]
fn every_wallet_is_what_receipts_and_the_library_say() {
    with(async |world| {
        let reader = world.reader().started().await;
        let mut all = Vec::new();
        for name in NAMES {
            let snapshot = reader.read(wallet(name)).await;
            assert_eq!(snapshot.coverage(), Coverage::Complete, "{name}: {:?}", snapshot.chains[0].unread);
            let read = &snapshot.chains[0];
            let told = pool(read, world.morpho.blue);
            assert_eq!((told.protocol, told.feeds_score), (Protocol::MorphoBlue, false));
            all.push((name, self::told(&world.compare(name, read, world.chain.head).await)));
        }
        let expected = [
            ("bank", [3, 0, 0, 0, 0]),
            ("ada", [2, 2, 2, 2, 0]),
            ("ben", [1, 1, 0, 0, 0]),
            ("cleo", [1, 0, 1, 0, 1]),
            ("dora", [1, 0, 1, 0, 1]),
            ("finn", [0, 0, 0, 0, 0]),
            ("gus", [1, 0, 1, 0, 0]),
            ("hal", [1, 1, 1, 1, 0]),
            ("ivy", [1, 0, 0, 0, 0]),
            ("kay", [1, 0, 0, 0, 0]),
        ];
        assert_eq!(all, expected);
        // What the collateral did not cover is gone, and so is the position.
        let dora = world.morpho.held(&world.chain, &world.markets.dollars, wallet("dora"), world.chain.head);
        assert_eq!(dora.await.unwrap().borrowed, U256::ZERO);
    });
}

#[test]
fn events_have_dollars_where_the_feed_knows_the_token() {
    with(async |world| {
        let snapshot = world.reader().started().await.read(wallet("ada")).await;
        let events = &pool(&snapshot.chains[0], world.morpho.blue).events;
        let of = |kind| -> Vec<_> {
            let of_kind = events.events.iter().rev().filter(|event| event.kind == kind);
            of_kind.map(|event| event.usd).collect()
        };
        assert_eq!(of(EventKind::Supply), [None, Some(5_000.0)], "ether does not follow the dollar");
        assert_eq!(of(EventKind::Borrow), [Some(9_000.0), None]);
        assert_eq!(of(EventKind::Repay), [Some(2_000.0), Some(1_000.0)]);
        assert_eq!(events.dollars.repay, Some(3_000.0));
        let snapshot = world.reader().started().await.read(wallet("cleo")).await;
        let usd = pool(&snapshot.chains[0], world.morpho.blue).events.dollars.liquidation.unwrap();
        // Half an ether at 1,700, less the bonus of the liquidator.
        assert!((800.0..830.0).contains(&usd), "{usd}");
    });
}

#[test]
fn a_token_without_a_price_is_in_no_sum_and_a_debt_against_it_is_unread() {
    with(async |world| {
        let reader = world.reader().started().await;
        let snapshot = reader.read(wallet("emil")).await;
        let read = &snapshot.chains[0];
        assert_eq!(read.coverage, Coverage::Complete, "anybody can supply such a token for a wallet");
        world.compare("emil", read, world.chain.head).await;
        let remark = pool(read, world.morpho.blue).remark.clone().unwrap();
        assert!(remark.contains(&format!("{}", world.morpho.odd.token)), "{remark}");
        let snapshot = reader.read(wallet("frida")).await;
        let read = &snapshot.chains[0];
        let pool = pool(read, world.morpho.blue);
        assert_eq!((read.coverage, pool.coverage), (Coverage::Partial, Coverage::Partial));
        assert!(position(read, world.morpho.blue).is_none());
        assert_eq!(counted(pool), world.morpho.lived(&world.blocks, wallet("frida")));
    });
}

#[test]
fn shares_that_no_log_shows_lower_the_coverage() {
    with(async |world| {
        // Fees are paid in shares, and no log names their owner.
        let reader = world.reader().started().await;
        let snapshot = reader.read(wallet("treasury")).await;
        assert_eq!(pool(&snapshot.chains[0], world.morpho.blue).coverage, Coverage::Partial);
        for (name, kind, named) in [
            ("ada", Blue::SupplyCollateral::SIGNATURE_HASH, 3),
            ("ada", Blue::WithdrawCollateral::SIGNATURE_HASH, 2),
            ("ada", Blue::Borrow::SIGNATURE_HASH, 2),
            ("ada", Blue::Repay::SIGNATURE_HASH, 3),
            ("ben", Blue::Supply::SIGNATURE_HASH, 3),
            ("ben", Blue::Withdraw::SIGNATURE_HASH, 2),
            ("cleo", Blue::Liquidate::SIGNATURE_HASH, 3),
            ("dora", Blue::Liquidate::SIGNATURE_HASH, 3),
            ("hal", Blue::Repay::SIGNATURE_HASH, 3),
        ] {
            let proxy = Proxy::start(world.chain.url()).await;
            proxy.forget(first_of(kind, named, wallet(name)));
            let read = world.reader().through(&[&proxy]).started().await.read(wallet(name)).await;
            let told = pool(&read.chains[0], world.morpho.blue);
            assert_eq!(told.coverage, Coverage::Partial, "{name} {kind}");
            assert!(told.remark.as_ref().unwrap().contains("do not explain the position"), "{name} {kind}");
        }
    });
}

#[test]
fn a_log_that_is_left_out_makes_no_history_wrong_and_complete() {
    with(async |world| {
        // The last four have only one log in a market.
        let names = ["ada", "ben", "cleo", "dora", "finn", "gus", "hal", "bank", "ivy", "kay", "emil"];
        let wallets = names.map(|name| (name, wallet(name))).to_vec();
        let (reader, chain) = (|| world.reader(), &world.chain);
        let world = one_log::World { reader: &reader, url: chain.url(), rpc: &chain.rpc, chain: CHAIN, wallets };
        one_log::none_is_wrong("Morpho Blue", world).await;
    });
}

#[test]
fn the_only_log_of_a_market_is_asked_of_another_endpoint() {
    with(async |world| {
        for (name, kind) in [
            ("kay", Blue::Supply::SIGNATURE_HASH),
            ("emil", Blue::Supply::SIGNATURE_HASH),
            ("emil", Blue::SupplyCollateral::SIGNATURE_HASH),
        ] {
            let (lying, honest) = (Proxy::start(world.chain.url()).await, Proxy::start(world.chain.url()).await);
            lying.forget(first_of(kind, 3, wallet(name)));
            let read = world.reader().through(&[&lying, &honest]).started().await.read(wallet(name)).await;
            assert_eq!(pool(&read.chains[0], world.morpho.blue).coverage, Coverage::Complete, "{name}");
            world.compare(name, &read.chains[0], world.chain.head).await;
        }
    });
}

/// Of each of these logs, no other names the wallet in the same market.
const ONLY_LOGS: [(&str, B256); 4] = [
    ("kay", Blue::Supply::SIGNATURE_HASH),
    ("ivy", Blue::SupplyCollateral::SIGNATURE_HASH),
    ("emil", Blue::Supply::SIGNATURE_HASH),
    ("emil", Blue::SupplyCollateral::SIGNATURE_HASH),
];

#[test]
fn the_only_log_of_a_market_is_missed_by_the_shares_in_all_markets() {
    with(async |world| {
        for (name, kind) in ONLY_LOGS {
            let proxy = Proxy::start(world.chain.url()).await;
            proxy.forget(first_of(kind, 3, wallet(name)));
            let reader = world.reader().through(&[&proxy]).started().await;
            for time in 0..2 {
                let read = reader.read(wallet(name)).await;
                let told = pool(&read.chains[0], world.morpho.blue);
                assert_eq!(told.coverage, Coverage::Partial, "{name}, read {time}");
                assert!(told.remark.as_ref().unwrap().contains("do not explain the position"), "{name}");
            }
        }
    });
}

#[test]
fn without_a_list_of_markets_one_endpoint_makes_no_history_complete() {
    with(async |world| {
        let node = Proxy::start(world.chain.url()).await;
        // One block a query: the list would take more than is asked for.
        node.rule(|call| match call.span() {
            Some((from, to)) if to > from => {
                Reply::Error { code: -32600, message: "query exceeds max block range 1".to_owned() }
            }
            _ => Reply::Pass,
        });
        assert!(world.chain.head > 64);
        let other = Proxy::start(world.chain.url()).await;
        for (proxies, coverage) in [(&[&node][..], Coverage::Partial), (&[&node, &other], Coverage::Complete)] {
            let reader = world.reader().through(proxies).started().await;
            for name in ["ada", "finn"] {
                let read = reader.read(wallet(name)).await;
                let told = pool(&read.chains[0], world.morpho.blue);
                assert_eq!(told.coverage, coverage, "{name}");
                let is_said = told.remark.as_ref().is_some_and(|remark| remark.contains("only one endpoint tells"));
                assert_eq!(is_said, coverage == Coverage::Partial, "{name}: {:?}", told.remark);
            }
        }
    });
}

#[test]
fn the_index_says_what_the_node_says() {
    with(async |world| {
        let names = [&NAMES[..], &["emil", "frida", "liquidator", "manager", "somebody"]].concat();
        let wallets: Vec<Address> = names.into_iter().map(wallet).collect();
        super::super::index::agrees(&world.setup, &world.chain, &wallets).await;
    });
}

/// Reads `names` as the chain was after block `block`.
async fn read_at(world: &World, block: u64, names: &[&str]) -> Vec<Arc<Snapshot>> {
    let wallets: Vec<Address> = names.iter().copied().map(wallet).collect();
    read_after(&world.reader(), (block, world.blocks[block as usize].0), &wallets).await
}

#[test]
fn a_past_block_is_read_as_it_was() {
    with(async |world| {
        let names = ["bank", "ada", "cleo", "dora", "hal"];
        let mut seen = LendingEvents::default();
        for block in [10, 17, 23, 26, 36] {
            for (name, snapshot) in names.iter().zip(read_at(world, block, &names).await) {
                let read = &snapshot.chains[0];
                assert_eq!(pool(read, world.morpho.blue).coverage, Coverage::Complete, "{name} at {block}");
                let lived = world.compare(name, read, block).await;
                seen.liquidation += lived.liquidation;
            }
        }
        assert!(seen.liquidation > 0);
    });
}

#[test]
fn it_counts_in_the_score_where_it_is_configured_to() {
    with(async |world| {
        let counts = |config: &mut assay::config::Config| config.chains[0].markets[0].feeds_score = Some(true);
        let snapshot = world.reader().with(counts).started().await.read(wallet("ada")).await;
        assert!(pool(&snapshot.chains[0], world.morpho.blue).feeds_score);
    });
}

#[test]
fn what_is_not_the_contract_has_no_complete_history() {
    with(async |world| {
        let nobody = Address::repeat_byte(0x77);
        let reader = world.reader().with(|config| config.chains[0].markets[0].address = nobody).started().await;
        let snapshot = reader.read(wallet("ada")).await;
        assert_eq!(pool(&snapshot.chains[0], nobody).coverage, Coverage::Partial);
    });
}

#[test]
fn a_wallet_costs_a_query_for_each_topic_and_its_markets_two_requests() {
    with(async |world| {
        let proxy = Proxy::start(world.chain.url()).await;
        let reader = world.reader().through(&[&proxy]).started().await;
        // The markets are listed once.
        reader.read(wallet("nobody")).await;
        for name in ["finn", "ada"] {
            proxy.take();
            reader.read(wallet(name)).await;
            assert_eq!(proxy.take().iter().filter_map(Call::span).count(), 2, "{name}");
        }
    });
}
