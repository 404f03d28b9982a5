//! Compares every wallet of the devnet with the chain's receipts and the market's data provider.

use assay_domain::{Activity, Address, Coverage, PoolHistory, Snapshot, Time};
use assay_tests::devnet::data_provider::position;
use assay_tests::devnet::receipts::{LendingEvents, lending_events, sent};
use assay_tests::devnet::{Chain, Devnet, ETHEREUM, Wallet};

use super::{Reader, alone, chain, with};

fn unix(time: Option<Time>) -> Option<u64> {
    time.map(|time| u64::try_from(time.timestamp()).unwrap())
}

pub(super) fn counted(pool: &PoolHistory) -> LendingEvents {
    let counts = pool.counts;
    LendingEvents {
        supply: counts.supply.unwrap(),
        withdraw: counts.withdraw.unwrap(),
        borrow: counts.borrow.unwrap(),
        repay: counts.repay.unwrap(),
        liquidation: counts.liquidation.unwrap(),
        first: unix(pool.first_event_at),
        last: unix(pool.last_event_at),
        last_liquidation: unix(pool.last_liquidation_at),
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-4 * a.abs().max(b.abs())
}

pub(super) async fn same_activity(on: &Chain, wallet: Address, activity: &Activity, what: &str) {
    let sent = sent(on, wallet).await.unwrap();
    assert_eq!(activity.transactions, sent.transactions, "{what}");
    for (read, sent) in [(activity.first_transaction, sent.first), (activity.last_transaction, sent.last)] {
        assert_eq!(read.map(|s| (s.block, unix(Some(s.time)).unwrap())), sent.map(|s| (s.block, s.time)), "{what}");
    }
}

async fn compare(devnet: &Devnet, wallet: &Wallet, snapshot: &Snapshot) {
    assert_eq!(snapshot.coverage(), Coverage::Complete, "{}", wallet.name);
    for on in devnet.chains() {
        let what = format!("{} on {}", wallet.name, on.id);
        let read = chain(snapshot, on.id);
        assert_eq!(read.pools.len(), 1);
        assert_eq!(read.pools[0].synced_to_block, Some(on.head().await.unwrap().0), "{what}");
        assert_eq!(counted(&read.pools[0]), lending_events(on, wallet.address).await.unwrap(), "{what}");

        let held = position(on, wallet.address).await.unwrap();
        let told =
            read.positions.first().map(|p| (p.supplied_usd, p.borrowed_usd, p.supplied_assets)).unwrap_or_default();
        assert!(close(told.0, held.supplied_usd) && close(told.1, held.borrowed_usd), "{what}: {told:?} {held:?}");
        assert_eq!(told.2, held.supplied_assets, "{what}");

        same_activity(on, wallet.address, &read.activity, &what).await;
    }
}

#[test]
fn every_wallet_is_what_the_chains_say() {
    with(async |devnet| {
        let reader = Reader::of(devnet).started().await;
        for wallet in &devnet.wallets {
            compare(devnet, wallet, &*reader.read(wallet.address).await).await;
        }
        assert!(!reader.read(devnet.wallet("empty").address).await.has_activity());
        let status = reader.chains().status();
        assert!(status.iter().all(|chain| chain.head.is_some() && chain.error.is_none()), "{status:?}");
    });
}

#[test]
fn without_a_multicall_contract_calls_are_batched() {
    with(async |devnet| {
        let nowhere = Some(Address::repeat_byte(0x99));
        for multicall in [None, nowhere] {
            let reader = Reader::of(devnet)
                .with(|config| config.chains.iter_mut().for_each(|chain| chain.multicall = multicall));
            let reader = reader.started().await;
            for name in ["whale", "collector", "holder"] {
                let wallet = devnet.wallet(name);
                compare(devnet, wallet, &*reader.read(wallet.address).await).await;
            }
        }
    });
}

#[test]
fn holdings_have_the_prices_of_oracle_and_feed_and_none_where_there_is_none() {
    with(async |devnet| {
        let reader = Reader::of(devnet).started().await;
        let snapshot = reader.read(devnet.wallet("holder").address).await;
        let tokens = &chain(&snapshot, ETHEREUM).tokens;
        let price = |symbol: &str| tokens.iter().find(|token| token.symbol == symbol).unwrap().price_usd();
        assert_eq!(price("ETH"), Some(2_000.0));
        assert_eq!(price("USDC"), Some(1.0));
        assert!(price("WBTC").is_some() && price("LINK").is_some());
        let moon = tokens.iter().find(|token| token.symbol == "MOON").unwrap();
        assert_eq!((moon.price_usd(), moon.value_usd(), moon.balance_text().as_str()), (None, 0.0, "1000000"));
        assert!(tokens.iter().all(|token| !token.amount.is_zero()));
    });
}

#[test]
fn a_feed_that_has_stopped_gives_no_price() {
    alone(async |devnet| {
        let on = &devnet.ethereum;
        let here = on.snapshot().await.unwrap();
        let (_, now) = on.head().await.unwrap();
        let stale = assay_tests::devnet::feed::set(2_000.0, now - 30 * 3_600);
        let anybody = devnet.wallet("holder").address;
        on.send(anybody, on.market.native_feed, stale, Default::default()).await.unwrap();
        let snapshot = Reader::of(devnet).started().await.read(anybody).await;
        let native = chain(&snapshot, ETHEREUM).tokens.iter().find(|token| token.contract.is_none()).unwrap().clone();
        assert_eq!(native.price_usd(), None);
        assert!(!native.amount.is_zero());
        on.revert(here).await.unwrap();
    });
}
