//! Compound v2, as a stub: the figures of every wallet equal the receipts of all blocks, and its transactions are found
//! without reading those of other wallets.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use alloy::primitives::{Address, U256};
use alloy::sol_types::SolCall;
use assay::config::Config;
use assay_domain::{ChainSnapshot, Coverage, PoolHistory, Snapshot};
use assay_tests::devnet::actors::address as wallet;
use assay_tests::devnet::receipts::LendingEvents;
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::lenders::ctoken::{self, Bundle, CErc20, CEther, CToken, Compound, Comptroller, Market, Token};
use assay_tests::lenders::{Log, Small};
use assay_tests::proxy::{Call, Proxy, Reply};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::super::{Reader, one_log};
use super::{Done, once, pool, position};

const ETHER_USD: f64 = 2_000.0;
const RECEIPT: &str = "eth_getTransactionReceipt";

pub(super) struct World {
    pub chain: Small,
    pub compound: Compound,
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
pub(super) struct On<'a>(pub &'a mut Small, pub Market);

impl On<'_> {
    fn give(&mut self, to: Address, amount: U256) {
        self.0.queue(wallet("anybody"), self.1.underlying, &Token::giveCall { to, amount });
    }

    async fn mint(&mut self, from: &str, amount: u64) -> Done {
        let amount = units(amount, &self.1);
        self.give(wallet(from), amount);
        self.0.call(wallet(from), self.1.ctoken, &CErc20::mintCall { amount }).await
    }

    pub(super) async fn borrow(&mut self, from: &str, amount: u64) -> Done {
        let amount = units(amount, &self.1);
        self.0.call(wallet(from), self.1.ctoken, &CToken::borrowCall { amount }).await
    }

    async fn repay(&mut self, from: &str, of: &str, amount: U256) -> Done {
        self.give(wallet(from), units(10_000, &self.1));
        if from == of {
            return self.0.call(wallet(from), self.1.ctoken, &CErc20::repayBorrowCall { amount }).await;
        }
        self.0.call(wallet(from), self.1.ctoken, &CErc20::repayBorrowBehalfCall { borrower: wallet(of), amount }).await
    }

    async fn redeem(&mut self, from: &str, tokens: u64) -> Done {
        self.0.call(wallet(from), self.1.ctoken, &CToken::redeemCall { tokens: U256::from(tokens) }).await
    }

    async fn liquidate(&mut self, from: &str, of: &str, amount: U256, collateral: Address) -> Done {
        self.give(wallet(from), amount);
        let call = CErc20::liquidateBorrowCall { borrower: wallet(of), amount, collateral };
        self.0.call(wallet(from), self.1.ctoken, &call).await
    }

    /// Interest: debt grows to this many thousandths of what was borrowed.
    async fn accrue(&mut self, thousandths: u64) -> Done {
        let index = U256::from(thousandths) * U256::from(1_000_000_000_000_000_u64);
        let call = CToken::accrueCall { rate: U256::from(200_000_000_000_u64) * U256::from(thousandths), index };
        self.0.call(wallet("anybody"), self.1.ctoken, &call).await
    }

    pub(super) async fn pay<C: SolCall>(&mut self, from: &str, call: C, ether: u64) -> Done {
        let value = units(ether, &self.1);
        self.0.queue_paid(wallet(from), self.1.ctoken, &call, value).await?;
        self.0.mine().await
    }
}

/// One transaction: a repayment and two liquidations of the same amount by the same contract, and a repayment of
/// another amount.
async fn liquidate_in_a_bundle(chain: &mut Small, compound: &Compound, of: &str) -> Done {
    let (market, borrower) = (compound.dai, wallet(of));
    let mut on = On(chain, market);
    on.give(compound.bundle, units(100, &market));
    let repay = |amount| CErc20::repayBorrowBehalfCall { borrower, amount }.abi_encode();
    let amount = U256::from(1_000);
    let liquidate = CErc20::liquidateBorrowCall { borrower, amount, collateral: compound.usdc.ctoken }.abi_encode();
    let calls = [repay(amount), liquidate.clone(), repay(U256::from(999)), liquidate].map(Into::into).to_vec();
    let targets = vec![market.ctoken; calls.len()];
    chain.call(wallet("anybody"), compound.bundle, &Bundle::runCall { targets, calls }).await
}

/// Ada makes every kind of event, ben lends, others repay cleo's debt, dora is liquidated. Emil has a debt from before
/// the first event of the Comptroller, and hal had one. Finn has no events, and gus only transfers tokens.
pub(super) async fn live(chain: &mut Small, compound: &Compound) -> Done {
    let (usdc, dai, ether) = (compound.usdc, compound.dai, compound.ether);
    On(chain, ether).pay("ben", CEther::mintCall {}, 500).await?;
    On(chain, usdc).mint("dora", 900).await?;
    On(chain, dai).borrow("dora", 70).await?;
    On(chain, dai).liquidate("ben", "dora", U256::from(5_000), usdc.ctoken).await?;
    On(chain, usdc).mint("emil", 1_000).await?;
    On(chain, ether).borrow("emil", 3).await?;
    On(chain, ether).borrow("hal", 4).await?;
    chain.call(wallet("anybody"), compound.comptroller, &Comptroller::distributeCall {}).await?;

    On(chain, usdc).mint("ada", 5_000).await?;
    On(chain, dai).borrow("ada", 100).await?;
    On(chain, dai).borrow("ada", 20).await?;
    On(chain, ether).borrow("ada", 2).await?;
    On(chain, dai).accrue(1_100).await?;
    On(chain, dai).repay("ada", "ada", units(30, &dai)).await?;
    On(chain, ether).pay("ada", CEther::repayBorrowCall {}, 1).await?;
    On(chain, usdc).redeem("ada", 1_000).await?;
    On(chain, usdc).borrow("ada", 40).await?;

    On(chain, ether).pay("cleo", CEther::mintCall {}, 7).await?;
    On(chain, usdc).borrow("cleo", 60).await?;
    On(chain, ether).borrow("cleo", 1).await?;
    On(chain, usdc).repay("ben", "cleo", units(10, &usdc)).await?;
    On(chain, ether).pay("ben", CEther::repayBorrowBehalfCall { borrower: wallet("cleo") }, 1).await?;
    On(chain, usdc).repay("cleo", "cleo", U256::MAX).await?;

    On(chain, dai).borrow("dora", 50).await?;
    liquidate_in_a_bundle(chain, compound, "dora").await?;
    chain
        .call(wallet("dora"), usdc.ctoken, &CToken::transferCall { to: wallet("ben"), tokens: U256::from(77) })
        .await?;

    On(chain, ether).pay("hal", CEther::repayBorrowCall {}, 4).await?;
    // Another account claims rewards for ida, who has no position.
    for market in compound.markets() {
        let call = Comptroller::claimCompCall { holder: wallet("ida"), market: market.ctoken };
        chain.call(wallet("anybody"), compound.comptroller, &call).await?;
    }

    let mut on = On(chain, usdc);
    on.give(wallet("gus"), units(1_000, &usdc));
    for to in ["ada", "ben", "cleo", "dora", "emil"] {
        chain
            .call(wallet("gus"), usdc.underlying, &Token::transferCall { to: wallet(to), amount: U256::from(5) })
            .await?;
    }
    chain
        .call(wallet("ben"), usdc.underlying, &Token::transferCall { to: wallet("gus"), amount: U256::from(1) })
        .await?;
    // All blocks above are settled.
    for _ in 0..40 {
        chain.mine().await?;
    }
    Ok(())
}

impl World {
    async fn start() -> Result<Self, assay_tests::devnet::Error> {
        let mut chain = Small::start(CHAIN).await?;
        let native_feed = price_feed(&mut chain, ETHER_USD);
        let compound = ctoken::deploy(&mut chain, ETHER_USD).await?;
        live(&mut chain, &compound).await?;
        let names = ["cUSDC", "cDAI", "cETH"];
        let markets = names
            .into_iter()
            .zip(compound.markets())
            .map(|(name, market)| ("lenderB_v2", name, market.ctoken))
            .collect();
        let setup = Setup { native_feed, markets, ..Setup::default() };
        let blocks = chain.blocks().await?;
        Ok(Self { chain, compound, blocks, setup })
    }

    pub(super) fn reader(&self) -> Reader {
        super::reader(&self.setup, &self.chain)
    }

    async fn compare(&self, name: &str, read: &ChainSnapshot) -> LendingEvents {
        let mut total = LendingEvents::default();
        for market in self.compound.markets() {
            let lived = market.lived(&self.blocks, wallet(name));
            assert_eq!(counted(pool(read, market.ctoken)), lived, "{name}");
            let held = market.held(&self.chain, wallet(name)).await.unwrap();
            let told = position(read, market.ctoken).map(|p| (p.supplied_usd, p.borrowed_usd)).unwrap_or_default();
            assert!((told.0 - held.0).abs() < 1e-6 && (told.1 - held.1).abs() < 1e-6, "{name}: {told:?} {held:?}");
            total.borrow += lived.borrow;
            total.repay += lived.repay;
            total.liquidation += lived.liquidation;
        }
        total
    }
}

/// The counts of the host. Supplies and withdrawals are not collected, which differs from zero.
pub(super) fn counted(pool: &PoolHistory) -> LendingEvents {
    let counts = pool.counts;
    assert_eq!((counts.supply, counts.withdraw), (None, None));
    let unix = |time: Option<assay_domain::Time>| time.map(|time| u64::try_from(time.timestamp()).unwrap());
    LendingEvents {
        supply: 0,
        withdraw: 0,
        borrow: counts.borrow.unwrap(),
        repay: counts.repay.unwrap(),
        liquidation: counts.liquidation.unwrap(),
        first: unix(pool.first_event_at),
        last: unix(pool.last_event_at),
        last_liquidation: unix(pool.last_liquidation_at),
    }
}

fn uncached(config: &mut Config) {
    config.scoring.cache_ttl = Duration::ZERO;
    config.scoring.incomplete_cache_ttl = Duration::ZERO;
}

/// Log queries and receipts among `calls`, each receipt once.
fn costs(calls: &[Call]) -> (usize, usize) {
    let receipts: Vec<_> =
        calls.iter().filter(|call| call.method == RECEIPT).map(|call| call.params[0].to_string()).collect();
    assert_eq!(receipts.iter().collect::<BTreeSet<_>>().len(), receipts.len(), "a receipt was asked for twice");
    (calls.iter().filter_map(Call::span).count(), receipts.len())
}

#[test]
fn every_wallet_is_what_receipts_and_balances_say() {
    with(async |world| {
        let reader = world.reader().started().await;
        let mut told = Vec::new();
        for name in ["ada", "ben", "cleo", "dora", "finn", "gus"] {
            let snapshot = reader.read(wallet(name)).await;
            assert_eq!(snapshot.coverage(), Coverage::Complete, "{name}");
            let read = &snapshot.chains[0];
            assert!(read.pools.iter().all(|pool| !pool.feeds_score && pool.synced_to_block == Some(world.chain.head)));
            let total = world.compare(name, read).await;
            told.push((name, total.borrow, total.repay, total.liquidation));
        }
        // Dora's liquidations, one alone and two in a bundle, are not also counted as repayments; repayments for her
        // are.
        let expected = [
            ("ada", 4, 2, 0),
            ("ben", 0, 0, 0),
            ("cleo", 2, 3, 0),
            ("dora", 2, 2, 3),
            ("finn", 0, 0, 0),
            ("gus", 0, 0, 0),
        ];
        assert_eq!(told, expected);
    });
}

#[test]
fn a_debt_that_nothing_points_at_lowers_the_coverage_of_its_market() {
    with(async |world| {
        let snapshot = world.reader().started().await.read(wallet("emil")).await;
        let read = &snapshot.chains[0];
        let ether = pool(read, world.compound.ether.ctoken);
        assert_eq!((ether.coverage, ether.counts.borrow), (Coverage::Partial, Some(0)));
        assert_eq!(position(read, world.compound.ether.ctoken).unwrap().borrowed_usd, 3.0 * ETHER_USD);
        assert_eq!(pool(read, world.compound.usdc.ctoken).coverage, Coverage::Complete);
    });
}

#[test]
fn a_repayment_of_what_nothing_pointed_at_lowers_the_coverage_as_well() {
    with(async |world| {
        let snapshot = world.reader().started().await.read(wallet("hal")).await;
        let ether = pool(&snapshot.chains[0], world.compound.ether.ctoken);
        assert_eq!((ether.coverage, ether.counts.borrow, ether.counts.repay), (Coverage::Partial, Some(0), Some(1)));
        assert!(position(&snapshot.chains[0], world.compound.ether.ctoken).is_none());
    });
}

#[test]
fn a_history_without_any_log_does_not_pass_where_there_was_a_debt() {
    with(async |world| {
        let proxy = Proxy::start(world.chain.url()).await;
        let reader = world.reader().with(uncached).through(&[&proxy]).started().await;
        // A wallet with an index that other accounts created is looked up; other wallets without debt are not.
        for (name, places) in [("finn", 0), ("ida", 3)] {
            reader.read(wallet(name)).await;
            proxy.take();
            assert_eq!(reader.read(wallet(name)).await.coverage(), Coverage::Complete, "{name}");
            assert_eq!(proxy.take().iter().filter(|call| call.method == "eth_getStorageAt").count(), places, "{name}");
        }
        proxy.forget(|_| true);
        let reader = world.reader().through(&[&proxy]).started().await;
        let mut left = 0;
        for name in ["ada", "ben", "cleo", "dora", "emil", "hal", "finn", "ida"] {
            let read = reader.read(wallet(name)).await;
            for market in world.compound.markets() {
                let (lived, held) =
                    (market.lived(&world.blocks, wallet(name)), market.held(&world.chain, wallet(name)).await.unwrap());
                let pool = pool(&read.chains[0], market.ctoken);
                let expected = if lived.borrow > 0 { Coverage::Partial } else { Coverage::Complete };
                assert_eq!(
                    (pool.coverage, counted(pool)),
                    (expected, LendingEvents::default()),
                    "{name} {}",
                    market.ctoken
                );
                left += usize::from(lived.borrow > 0 && held.1 == 0.0);
            }
        }
        // Cleo in two markets, and hal in one.
        assert_eq!(left, 3);
    });
}

#[test]
fn only_transactions_that_concern_the_wallet_cost_a_receipt() {
    with(async |world| {
        let proxy = Proxy::start(world.chain.url()).await;
        let reader = world.reader().with(uncached).through(&[&proxy]).started().await;
        // Three queries: one for each of the two topics that may name the wallet, and one for transfers between it and
        // the markets. One receipt for every deposit, withdrawal, borrowing and repayment; none for token transfers
        // from or to other wallets.
        for (name, receipts) in [("ada", 8), ("cleo", 6), ("gus", 0), ("finn", 0)] {
            proxy.take();
            reader.read(wallet(name)).await;
            assert_eq!(costs(&proxy.take()), (3, receipts), "{name}");
        }
        // Settled blocks are not read again, and the next read needs one query less.
        let again = reader.read(wallet("ada")).await;
        assert_eq!(costs(&proxy.take()), (2, 0));
        world.compare("ada", &again.chains[0]).await;
    });
}

/// Reads ada while the node returns `lie` of the true receipt for the transaction of her last receipt.
async fn deceived(world: &World, lie: impl Fn(Value) -> Value) -> (Arc<Snapshot>, Reader, Proxy) {
    let proxy = Proxy::start(world.chain.url()).await;
    let reader = world.reader().with(uncached).through(&[&proxy]).started().await;
    reader.read(wallet("ada")).await;
    let asked: Vec<_> = proxy.take().into_iter().filter(|call| call.method == RECEIPT).collect();
    let victim = asked.last().unwrap().params[0].clone();
    let truth: Value = world.chain.rpc.request(RECEIPT, json!([victim])).await.unwrap();
    let lie = lie(truth);
    proxy.rule(move |call| {
        if call.method == RECEIPT && call.params[0] == victim { Reply::Result(lie.clone()) } else { Reply::Pass }
    });
    // A new store without progress.
    let reader = world.reader().with(uncached).through(&[&proxy]).started().await;
    (reader.read(wallet("ada")).await, reader, proxy)
}

#[test]
fn a_receipt_that_lies_is_a_gap_and_never_a_number() {
    with(async |world| {
        let block: Value = world
            .chain
            .rpc
            .request("eth_getBlockByNumber", json!([format!("{:#x}", world.chain.head - 41), false]))
            .await
            .unwrap();
        let foreign: Value = world.chain.rpc.request(RECEIPT, json!([block["transactions"][0]])).await.unwrap();
        assert!(foreign["logs"].is_array());
        type Lie = Box<dyn Fn(Value) -> Value>;
        let with = |key: &'static str, value: Value| -> Lie {
            Box::new(move |mut receipt| {
                receipt[key] = value.clone();
                receipt
            })
        };
        let lies: [Lie; 5] = [
            Box::new(|_| Value::Null),
            Box::new(move |_| foreign.clone()),
            with("blockHash", block["hash"].clone()),
            with("blockNumber", block["number"].clone()),
            with("logs", json!([])),
        ];
        for (index, lie) in lies.into_iter().enumerate() {
            let (read, reader, proxy) = deceived(world, lie).await;
            assert!(read.events_coverage() < Coverage::Complete, "lie {index}");
            for pool in &read.chains[0].pools {
                assert_eq!(
                    (pool.coverage, pool.counts.borrow, pool.counts.repay),
                    (Coverage::Failed, None, None),
                    "lie {index}"
                );
            }
            proxy.rule(|_| Reply::Pass);
            let read = reader.read(wallet("ada")).await;
            assert_eq!(read.events_coverage(), Coverage::Complete, "lie {index}");
            world.compare("ada", &read.chains[0]).await;
        }
    });
}

#[test]
fn a_read_that_broke_off_at_a_receipt_goes_on_there() {
    with(async |world| {
        let proxy = Proxy::start(world.chain.url()).await;
        let one_by_one = |config: &mut Config| config.reading.log_concurrency = 1;
        let mut reader = world.reader().with(one_by_one).through(&[&proxy]).started().await;
        // The node answers queries of at most four blocks, and five receipts.
        let narrow = |call: &Call| match call.span() {
            Some((from, to)) if to - from >= 4 => {
                Some(Reply::Error { code: -32602, message: "range 1 exceeds limit of 4".into() })
            }
            _ => None,
        };
        let mut given = 0;
        proxy.rule(move |call| {
            let is_receipt = call.method == RECEIPT;
            given += usize::from(is_receipt);
            narrow(call).unwrap_or(if is_receipt && given > 5 { Reply::Result(Value::Null) } else { Reply::Pass })
        });
        let partial = reader.read(wallet("ada")).await;
        let pools = &partial.chains[0].pools;
        assert!(pools.iter().all(|pool| pool.coverage == Coverage::Partial), "{pools:?}");
        let through = pools[0].synced_to_block.unwrap();
        reader.restart().await;
        proxy.take();
        proxy.rule(move |call| narrow(call).unwrap_or(Reply::Pass));
        let read = reader.read(wallet("ada")).await;
        let calls = proxy.take();
        assert_eq!(read.events_coverage(), Coverage::Complete);
        world.compare("ada", &read.chains[0]).await;
        assert_eq!(calls.iter().filter_map(Call::span).map(|(from, _)| from).min(), Some(through + 1));
        // Of eight receipts, those of ranges before the gap are not requested again.
        assert!((3..8).contains(&costs(&calls).1), "{:?}", costs(&calls));
    });
}

#[test]
fn what_is_not_a_ctoken_is_failed_and_the_others_are_read() {
    with(async |world| {
        let nobody = Address::repeat_byte(0x77);
        let reader = world.reader().with(|config| config.chains[0].markets[2].address = nobody).started().await;
        let snapshot = reader.read(wallet("ada")).await;
        let read = &snapshot.chains[0];
        assert_eq!((pool(read, nobody).coverage, pool(read, nobody).counts.borrow), (Coverage::Failed, None));
        let dai = pool(read, world.compound.dai.ctoken);
        assert_eq!(dai.coverage, Coverage::Complete);
        assert_eq!(counted(dai), world.compound.dai.lived(&world.blocks, wallet("ada")));
    });
}

#[test]
fn the_index_says_what_the_node_says() {
    with(async |world| {
        let mut wallets = ["ada", "ben", "cleo", "dora", "emil", "finn", "gus", "hal", "anybody"].map(wallet).to_vec();
        wallets.extend(world.compound.markets().map(|market| market.ctoken));
        super::super::index::agrees(&world.setup, &world.chain, &wallets).await;
    });
}

#[test]
fn a_log_that_is_left_out_makes_no_history_wrong_and_complete() {
    with(async |world| {
        // Not dora, whose liquidations are of so little that interest explains them; Venus has one of the real size.
        let wallets = ["ada", "ben", "cleo", "gus"].map(|name| (name, wallet(name))).to_vec();
        let (reader, chain) = (|| world.reader(), &world.chain);
        let world = one_log::World { reader: &reader, url: chain.url(), rpc: &chain.rpc, chain: CHAIN, wallets };
        one_log::none_is_wrong("Compound v2", world).await;
    });
}
