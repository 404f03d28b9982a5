//! The facts of the devnet that other tests build on.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use alloy::primitives::{Address, U256};
use alloy::sol;
use assay_devnet::devnet::data_provider::{Position, position};
use assay_devnet::devnet::receipts::{LendingEvents, lending_events, sent};
use assay_devnet::devnet::{BASE, Chain, Devnet, ETHEREUM, feed::Feed};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

/// The tests share one devnet and so one runtime: connections belong to the runtime that made them.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
static DEVNET: OnceCell<Devnet> = OnceCell::const_new();

const DAY: u64 = 86_400;

fn with<T>(test: impl AsyncFnOnce(&Devnet) -> T) -> T {
    RUNTIME.block_on(async { test(DEVNET.get_or_init(started).await).await })
}

async fn started() -> Devnet {
    let begun = Instant::now();
    let devnet = Devnet::start(|_| {}).await.unwrap();
    println!("the devnet started in {:.1} s", begun.elapsed().as_secs_f64());
    devnet
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

async fn events(chain: &Chain, devnet: &Devnet, wallet: &str) -> LendingEvents {
    lending_events(chain, devnet.wallet(wallet).address).await.unwrap()
}

async fn held(chain: &Chain, devnet: &Devnet, wallet: &str) -> Position {
    position(chain, devnet.wallet(wallet).address).await.unwrap()
}

sol! {
    interface Erc20 {
        function balanceOf(address owner) external view returns (uint256);
    }
    interface Multicall {
        function getChainId() external view returns (uint256);
    }
}

#[test]
fn both_chains_are_what_they_say_and_look_back_four_years() {
    with(async |devnet| {
        for (chain, id) in devnet.chains().into_iter().zip([ETHEREUM, BASE]) {
            assert_eq!(chain.rpc.request::<U256>("eth_chainId", json!([])).await.unwrap(), U256::from(id));
            assert_eq!(
                chain.rpc.call(chain.market.multicall, Multicall::getChainIdCall {}).await.unwrap(),
                U256::from(id)
            );
            let (_, time) = chain.head().await.unwrap();
            assert!(time.abs_diff(now()) < 600, "the newest block of chain {id} is from {time}");
            let genesis: serde_json::Value =
                chain.rpc.request("eth_getBlockByNumber", json!(["0x0", false])).await.unwrap();
            let born = genesis["timestamp"].as_str().and_then(|hex| u64::from_str_radix(&hex[2..], 16).ok()).unwrap();
            assert!(now() - born > 4 * 365 * DAY);
        }
    });
}

#[test]
fn every_wallet_has_its_own_name_address_and_line() {
    with(async |devnet| {
        assert!(devnet.wallets.len() >= 24);
        let mut addresses: Vec<_> = devnet.wallets.iter().map(|wallet| wallet.address).collect();
        addresses.sort_unstable();
        addresses.dedup();
        assert_eq!(addresses.len(), devnet.wallets.len());
        assert!(
            devnet.wallets.iter().all(|wallet| !wallet.description.is_empty() && !wallet.description.contains('\n'))
        );
        assert!(devnet.wallets.iter().all(|wallet| wallet.signer().address() == wallet.address));
    });
}

#[test]
fn the_lives_leave_the_events_they_tell_of() {
    with(async |devnet| {
        let on = async |chain: u64, wallet| {
            let found = events(devnet.chain(chain).unwrap(), devnet, wallet).await;
            [found.supply, found.withdraw, found.borrow, found.repay, found.liquidation]
        };
        assert_eq!(on(ETHEREUM, "saver").await, [8, 1, 0, 0, 0]);
        assert_eq!(on(ETHEREUM, "borrower").await, [1, 0, 13, 26, 0]);
        assert_eq!(on(ETHEREUM, "whale").await, [2, 0, 2, 2, 0]);
        assert_eq!(on(BASE, "whale").await, [1, 0, 0, 0, 0]);
        assert_eq!(on(ETHEREUM, "busy").await, [751, 750, 750, 750, 0]);
        assert_eq!(on(BASE, "bot").await, [100, 100, 0, 0, 0]);
        assert_eq!(on(ETHEREUM, "atoken-repayer").await, [1, 0, 1, 2, 0]);
        assert_eq!(on(ETHEREUM, "leaver").await, [1, 1, 1, 1, 0]);
        assert_eq!(on(ETHEREUM, "sponsor").await, [1, 0, 0, 0, 0]);
        assert_eq!(on(ETHEREUM, "beneficiary").await, [2, 0, 0, 0, 0]);
        assert_eq!(on(ETHEREUM, "delegator").await, [1, 0, 1, 1, 0]);
        assert_eq!(on(ETHEREUM, "delegate").await, [0; 5]);
        assert_eq!(on(ETHEREUM, "helped").await, [1, 0, 1, 1, 0]);
        assert_eq!(on(ETHEREUM, "helper").await, [0; 5]);
        assert_eq!(on(ETHEREUM, "liquidated-serially").await[4], 4);
        assert_eq!(on(ETHEREUM, "liquidated-long-ago").await[4], 1);
        assert_eq!(on(ETHEREUM, "liquidated-recently").await[4], 1);
        assert_eq!(on(BASE, "liquidated-on-base").await[4], 1);
        assert_eq!(on(ETHEREUM, "liquidated-on-base").await, [0; 5]);
        for lender_free in ["holder", "receiver", "spender", "empty"] {
            assert_eq!(on(ETHEREUM, lender_free).await, [0; 5], "{lender_free}");
            assert_eq!(on(BASE, lender_free).await, [0; 5], "{lender_free}");
        }
        for (wallet, chain, other) in [("mainnet-only", ETHEREUM, BASE), ("base-only", BASE, ETHEREUM)] {
            assert_eq!(on(chain, wallet).await, [2, 0, 2, 2, 0]);
            assert_eq!(on(other, wallet).await, [0; 5]);
        }
        assert!(
            on(ETHEREUM, "both-chains").await.iter().sum::<u64>() > 0
                && on(BASE, "both-chains").await.iter().sum::<u64>() > 0
        );
    });
}

#[test]
fn the_twins_differ_by_one_liquidation_and_nothing_else() {
    with(async |devnet| {
        let chain = &devnet.ethereum;
        let (one, twin) = (events(chain, devnet, "liquidated").await, events(chain, devnet, "liquidated-twin").await);
        assert_eq!((one.liquidation, twin.liquidation), (1, 0));
        assert_eq!(LendingEvents { liquidation: 0, last_liquidation: None, ..one }, twin);

        let (a, b) = (devnet.wallet("liquidated").address, devnet.wallet("liquidated-twin").address);
        assert_eq!(sent(chain, a).await.unwrap(), sent(chain, b).await.unwrap());
        let native =
            async |owner: Address| chain.rpc.request::<U256>("eth_getBalance", json!([owner, "latest"])).await.unwrap();
        assert_eq!(native(a).await, native(b).await);
        for token in &chain.market.tokens {
            let balance = async |owner| chain.rpc.call(token.address, Erc20::balanceOfCall { owner }).await.unwrap();
            assert_eq!(balance(a).await, balance(b).await, "{}", token.asset.symbol);
        }
        let (has, twin_has) = (held(chain, devnet, "liquidated").await, held(chain, devnet, "liquidated-twin").await);
        assert!(has.supplied_usd > 0.0 && has.borrowed_usd > 0.0);
        // Interest is rounded to the smallest unit of a token.
        assert!(
            (has.supplied_usd - twin_has.supplied_usd).abs() < 1e-3
                && (has.borrowed_usd - twin_has.borrowed_usd).abs() < 1e-3
        );
    });
}

#[test]
fn positions_are_the_ones_of_the_lives() {
    with(async |devnet| {
        let chain = &devnet.ethereum;
        assert_eq!(held(chain, devnet, "empty").await, Position::default());
        assert_eq!(held(chain, devnet, "leaver").await, Position::default());
        let debtor = held(chain, devnet, "long-debtor").await;
        assert!((20_000.0..20_100.0).contains(&debtor.supplied_usd), "{debtor:?}");
        assert!((6_000.0..6_200.0).contains(&debtor.borrowed_usd), "{debtor:?}");
        let delegate = held(chain, devnet, "delegate").await;
        assert_eq!(delegate, Position::default());
        assert!((6_000.0..6_200.0).contains(&held(chain, devnet, "delegator").await.borrowed_usd));
        assert_eq!(held(chain, devnet, "collector").await.supplied_assets, 4);
    });
}

#[test]
fn the_ages_are_years_and_the_nodes_remember_old_nonces() {
    with(async |devnet| {
        let chain = &devnet.ethereum;
        let dormant = devnet.wallet("dormant").address;
        let activity = sent(chain, dormant).await.unwrap();
        let (first, last) = (activity.first.unwrap(), activity.last.unwrap());
        assert!(now() - first.time > 4 * 365 * DAY && now() - last.time > 3 * 365 * DAY);
        let nonce = async |block: u64| {
            chain.rpc.request::<U256>("eth_getTransactionCount", json!([dormant, format!("{block:#x}")])).await.unwrap()
        };
        assert_eq!(nonce(first.block - 1).await, U256::ZERO);
        assert!(nonce(first.block).await > U256::ZERO);
        assert_eq!(nonce(last.block).await, U256::from(activity.transactions));
        let newcomer = sent(chain, devnet.wallet("newcomer").address).await.unwrap();
        assert!(now() - newcomer.first.unwrap().time < 7 * DAY);
        for silent in ["empty", "receiver", "beneficiary"] {
            assert_eq!(sent(chain, devnet.wallet(silent).address).await.unwrap().transactions, 0, "{silent}");
        }
    });
}

#[test]
fn the_feed_answers_as_chainlink_does() {
    with(async |devnet| {
        let round = devnet.base.rpc.call(devnet.base.market.native_feed, Feed::latestRoundDataCall {}).await.unwrap();
        assert_eq!(round.answer.as_i64(), 2_000 * 100_000_000);
        assert!(round.updatedAt.to::<u64>().abs_diff(now()) < 600);
        assert_eq!(devnet.base.rpc.call(devnet.base.market.native_feed, Feed::decimalsCall {}).await.unwrap(), 8);
    });
}

#[tokio::test]
async fn a_test_may_change_its_own_devnet_and_dropping_it_ends_it() {
    let devnet = Devnet::start(|_| {}).await.unwrap();
    let chain = &devnet.ethereum;
    let before = held(chain, &devnet, "long-debtor").await;
    let counted = events(chain, &devnet, "borrower").await;

    let here = chain.snapshot().await.unwrap();
    // Before any transaction: the node mines each by itself, and may add an empty block after it.
    let (head, time) = chain.head().await.unwrap();
    chain.pass(DAY).await.unwrap();
    assert!(chain.head().await.unwrap().1 >= time + DAY);
    chain.mine(5).await.unwrap();
    assert_eq!(chain.head().await.unwrap().0, head + 6);
    chain.set_price("WETH", 1_000.0).await.unwrap();
    let crashed = held(chain, &devnet, "long-debtor").await;
    assert!((crashed.supplied_usd / before.supplied_usd - 0.5).abs() < 1e-3);
    let borrower = devnet.wallet("borrower").address;
    chain.send(borrower, devnet.wallet("receiver").address, Vec::new(), U256::from(1)).await.unwrap();
    assert_eq!(events(chain, &devnet, "borrower").await, counted);
    chain.revert(here).await.unwrap();
    assert_eq!(events(chain, &devnet, "borrower").await, counted);
    let after = held(chain, &devnet, "long-debtor").await;
    assert!((after.supplied_usd / before.supplied_usd - 1.0).abs() < 1e-6);

    devnet.base.stop();
    assert!(devnet.base.head().await.is_err());
    assert!(chain.head().await.is_ok());
    let rpc = chain.rpc.clone();
    drop(devnet);
    assert!(rpc.request::<U256>("eth_chainId", json!([])).await.is_err());
}
