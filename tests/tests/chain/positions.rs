//! Positions in detail and single events: every wallet's features equal what the pool says of its account.

use alloy::primitives::U256;
use alloy::sol;
use assay_domain::features::{Exposure, MarketFeatures, PositionFeatures, features};
use assay_domain::{Coverage, EventKind, ExposureClass};
use assay_tests::devnet::data_provider::position as held;
use assay_tests::devnet::receipts::lending_events;
use assay_tests::devnet::{Chain, Wallet};

use super::{Reader, with};

sol! {
    function getUserAccountData(address user) external view returns (
        uint256 collateral, uint256 debt, uint256 available, uint256 threshold, uint256 ltv, uint256 healthFactor);
}

/// Whether both numbers agree within the digits that both have.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1e-2)
}

fn sum(of: &[Exposure]) -> f64 {
    of.iter().map(|exposure| exposure.usd).sum()
}

async fn same_position(on: &Chain, wallet: &Wallet, read: &MarketFeatures) {
    let what = format!("{} on {}", wallet.name, on.id);
    let account = on.rpc.call(on.market.pool, getUserAccountDataCall { user: wallet.address }).await.unwrap();
    let PositionFeatures { coverage, collateral, debt, liquidation_threshold, health_factor, utilisation } =
        read.position.clone().unwrap();
    assert_eq!(coverage, Coverage::Complete, "{what}");
    let own = (account.healthFactor != U256::MAX).then(|| f64::from(account.healthFactor) / 1e18);
    assert_eq!(health_factor, own, "{what}");
    let threshold = f64::from(account.threshold) / 1e4;
    assert_eq!(liquidation_threshold, (threshold > 0.0).then_some(threshold), "{what}");
    // The lists are by class, and the pool returns their sums.
    assert!(close(sum(&collateral), f64::from(account.collateral) / 1e8), "{what}: {collateral:?}");
    assert!(close(sum(&debt), f64::from(account.debt) / 1e8), "{what}: {debt:?}");
    if let Some(factor) = health_factor {
        assert!((sum(&collateral) * threshold / sum(&debt) / factor - 1.0).abs() < 1e-3, "{what}");
    }
    let held = held(on, wallet.address).await.unwrap();
    let share = (held.supplied_usd > 0.0).then(|| held.borrowed_usd / held.supplied_usd);
    assert_eq!(utilisation.is_some(), share.is_some(), "{what}");
    assert!(close(utilisation.unwrap_or_default(), share.unwrap_or_default()), "{what}: {utilisation:?} {share:?}");
}

async fn same_events(on: &Chain, wallet: &Wallet, read: &MarketFeatures) {
    let what = format!("{} on {}", wallet.name, on.id);
    let logged = lending_events(on, wallet.address).await.unwrap();
    assert_eq!(read.events_coverage, Coverage::Complete, "{what}");
    assert_eq!(read.events.len() as u64, logged.total().min(200), "{what}");
    assert!(read.events.is_sorted_by(|newer, older| newer.time >= older.time), "{what}");
    assert_eq!(read.events.first().map(|event| event.time), logged.last, "{what}");
    let counts = [logged.supply, logged.withdraw, logged.borrow, logged.repay, logged.liquidation];
    for (kind, count) in EventKind::ALL.into_iter().zip(counts) {
        let listed: Vec<_> = read.events.iter().filter(|event| event.kind == kind).collect();
        let dollars = read.dollars.of(kind);
        if logged.total() <= 200 {
            assert_eq!(listed.len() as u64, count, "{what}: {kind:?}");
            let sum = listed.iter().try_fold(0.0, |sum, event| Some(sum + event.usd?));
            assert!(dollars.is_some() == sum.is_some(), "{what}: {kind:?} {dollars:?} {sum:?}");
            assert!(close(dollars.unwrap_or_default(), sum.unwrap_or_default()), "{what}: {kind:?}");
        }
        let stable = |class| class == Some(ExposureClass::Stablecoin);
        assert!(listed.iter().all(|event| event.usd.is_none() || stable(event.class)), "{what}: {listed:?}");
    }
    let days = read.liquidation_days.unwrap();
    assert!(u64::from(days) <= logged.liquidation && (days > 0) == (logged.liquidation > 0), "{what}: {days}");
}

#[test]
fn every_position_and_event_is_what_the_pool_says() {
    with(async |devnet| {
        let mut reader = Reader::of(devnet).started().await;
        let (mut owing, mut dollars, mut before) = (0, 0, Vec::new());
        for wallet in &devnet.wallets {
            let read = features(&*reader.read(wallet.address).await);
            for (on, market) in devnet.chains().into_iter().zip(&read.markets) {
                same_position(on, wallet, market).await;
                same_events(on, wallet, market).await;
                owing += u32::from(market.position.as_ref().is_some_and(|position| position.health_factor.is_some()));
                dollars += market.events.iter().filter(|event| event.usd.is_some_and(|usd| usd > 0.0)).count();
            }
            before.push((wallet, read.markets));
        }
        assert!(owing > 5 && dollars > 20, "{owing} wallets owe, and {dollars} events have dollars");
        // Settled events are stored, and the rest is read again.
        reader.restart().await;
        for (wallet, before) in before {
            assert_eq!(features(&*reader.read(wallet.address).await).markets, before, "{}", wallet.name);
        }
    });
}
