use proptest::prelude::*;

use super::{Change, ChangeError, MarketAmount, MarketName, PriceMove};
use crate::{
    AssetClass, Coverage, ExposureClass,
    features::{ChainFeatures, Dollars, Exposure, Features, Holding, MarketFeatures, PositionFeatures},
};

fn market(protocol: &str, supplied: f64, borrowed: f64) -> MarketFeatures {
    let debt = [(ExposureClass::Stablecoin, 0.75), (ExposureClass::Native, 0.25)];
    let debt = debt.map(|(class, share)| Exposure { class, usd: share * borrowed });
    MarketFeatures {
        chain_id: 1,
        protocol: protocol.into(),
        market: None,
        coverage: Coverage::Complete,
        feeds_score: true,
        supply: Some(1),
        withdraw: Some(0),
        borrow: Some(1),
        repay: Some(0),
        liquidation: Some(0),
        first_event: Some(10),
        last_event: Some(20),
        last_liquidation: None,
        supplied_usd: supplied,
        borrowed_usd: borrowed,
        events_coverage: Coverage::Complete,
        events: Vec::new(),
        dollars: Dollars::UNREAD,
        liquidation_days: Some(0),
        position: Some(PositionFeatures {
            coverage: Coverage::Complete,
            collateral: vec![Exposure { class: ExposureClass::Native, usd: supplied }],
            debt: if borrowed > 0.0 { debt.to_vec() } else { Vec::new() },
            liquidation_threshold: Some(0.8),
            health_factor: (borrowed > 0.0).then(|| supplied * 0.8 / borrowed),
            utilisation: Some(borrowed / supplied),
        }),
    }
}

/// A wallet with these markets, each with deposits and debt.
pub(in crate::features) fn wallet(markets: &[(&str, f64, f64)]) -> Features {
    let markets: Vec<_> =
        markets.iter().map(|(protocol, supplied, borrowed)| market(protocol, *supplied, *borrowed)).collect();
    let sum = |of: fn(&MarketFeatures) -> f64| markets.iter().map(of).sum::<f64>();
    let (supplied_usd, borrowed_usd) = (sum(|market| market.supplied_usd), sum(|market| market.borrowed_usd));
    let chain = ChainFeatures {
        chain_id: 1,
        coverage: Coverage::Complete,
        first_transaction: Some(1),
        last_transaction: Some(2),
        transactions: 9,
        transfers: None,
        counterparties: None,
        active_days: None,
        active_hours: None,
        median_gap: None,
        assets_usd: 5_000.0,
        supplied_usd,
        borrowed_usd,
    };
    let holding = |class, usd| Holding { class, usd, assets: 1 };
    let holdings = vec![holding(AssetClass::Native, 5_000.0), holding(AssetClass::Collateral, supplied_usd)];
    Features { as_of: 1_000, chains: vec![chain], markets, holdings, identity: Vec::new() }
}

fn of(market: &str, usd: f64) -> MarketAmount {
    MarketAmount { market: market.parse().unwrap(), usd }
}

fn position(features: &Features, at: usize) -> &PositionFeatures {
    features.markets[at].position.as_ref().unwrap()
}

#[test]
fn a_repayment_lowers_the_debt_of_one_market_and_what_follows_from_it() {
    let before = wallet(&[("lenderA_v3", 10_000.0, 4_000.0), ("lenderB_v3", 1_000.0, 500.0)]);
    let after = before.changed(&Change::Repay(of("1/lenderA_v3", 1_000.0))).unwrap();
    let one = position(&after, 0);
    assert_eq!((after.markets[0].borrowed_usd, after.chains[0].borrowed_usd), (3_000.0, 3_500.0));
    assert_eq!(one.debt.iter().map(|debt| debt.usd).collect::<Vec<_>>(), [2_250.0, 750.0]);
    assert_eq!((one.health_factor.unwrap() * 1e9).round(), (8_000.0_f64 / 3_000.0 * 1e9).round());
    assert_eq!(one.utilisation, Some(0.3));
    // Everything else is as it was.
    let mut rest = after.clone();
    (rest.markets[0], rest.chains[0].borrowed_usd) = (before.markets[0].clone(), 4_500.0);
    assert_eq!(rest, before);
    assert_eq!((&after.markets[0].repay, &after.markets[0].events), (&Some(0), &Vec::new()), "no event is added");
}

#[test]
fn a_whole_repayment_leaves_a_position_without_debt() {
    // Sums of such numbers are not exact.
    let before = wallet(&[("lenderA_v3", 10_000.1, 1_234.567_8)]);
    let after = before.changed(&Change::Repay(of("1/lenderA_v3", 1_234.567_8))).unwrap();
    let PositionFeatures { debt, health_factor, utilisation, .. } = position(&after, 0);
    assert_eq!((debt.len(), *health_factor, *utilisation), (0, None, Some(0.0)));
    assert_eq!((after.markets[0].borrowed_usd, after.chains[0].borrowed_usd), (0.0, 0.0));
}

#[test]
fn waiting_moves_the_moment_and_nothing_else() {
    let before = wallet(&[("lenderA_v3", 10_000.0, 4_000.0)]);
    let after = before.changed(&Change::Days(30)).unwrap();
    assert_eq!(after, Features { as_of: 1_000 + 30 * 86_400, ..before });
}

#[test]
fn a_price_moves_collateral_and_debt_of_its_class() {
    let before = wallet(&[("lenderA_v3", 10_000.0, 4_000.0)]);
    let fall = |class: ExposureClass, percent| {
        before.changed(&Change::Price(PriceMove { asset: class.into(), percent })).unwrap()
    };
    let after = fall(ExposureClass::Native, -50.0);
    let one = position(&after, 0);
    assert_eq!((after.markets[0].supplied_usd, after.markets[0].borrowed_usd), (5_000.0, 3_500.0));
    assert_eq!((one.health_factor.unwrap() * 1e9).round(), (5_000.0_f64 * 0.8 / 3_500.0 * 1e9).round());
    assert_eq!((one.utilisation, after.holdings[1].usd), (Some(0.7), 5_000.0));
    assert_eq!(after.holdings[0], before.holdings[0], "what is held outside lending keeps its value");
    assert_eq!(fall(ExposureClass::Bitcoin, -50.0), before);
}

#[test]
fn a_first_debt_has_the_health_factor_of_the_collateral() {
    let before = wallet(&[("lenderA_v3", 10_000.0, 0.0)]);
    let after = before.changed(&Change::Borrow(of("1/lenderA_v3", 4_000.0))).unwrap();
    let one = position(&after, 0);
    assert_eq!((one.health_factor, one.utilisation), (Some(2.0), Some(0.4)));
    assert_eq!(one.debt, [Exposure { class: ExposureClass::Stablecoin, usd: 4_000.0 }]);
}

#[test]
fn a_part_that_was_not_read_stays_unread() {
    let mut before = wallet(&[("lenderA_v3", 10_000.0, 4_000.0)]);
    before.markets[0].position = Some(PositionFeatures::UNREAD);
    for change in [
        Change::Repay(of("1/lenderA_v3", 4_000.0)),
        Change::Borrow(of("1/lenderA_v3", 1.0)),
        Change::Deposit(of("1/lenderA_v3", 1.0)),
        Change::Price(PriceMove { asset: ExposureClass::Native.into(), percent: -10.0 }),
    ] {
        assert_eq!(position(&before.changed(&change).unwrap(), 0), &PositionFeatures::UNREAD, "{change:?}");
    }
}

#[test]
fn a_change_that_does_not_apply_says_what_would() {
    let twice = wallet(&[("lenderA_v3", 10_000.0, 4_000.0), ("lenderA_v3", 10_000.0, 4_000.0)]);
    let one = wallet(&[("lenderA_v3", 10_000.0, 4_000.0)]);
    let price = |percent| Change::Price(PriceMove { asset: ExposureClass::Native.into(), percent });
    for (change, says) in [
        (Change::Repay(of("1/lenderA_v3", 4_000.1)), "owes 4000; give at most that"),
        (Change::Withdraw(of("1/lenderA_v3", 10_001.0)), "has 10000; give at most that"),
        (Change::Repay(of("1/lenderA_v2", 1.0)), "no market 1/lenderA_v2; it has 1/lenderA_v3"),
        (Change::Deposit(of("1/lenderA_v3", 0.0)), "an amount of 0 dollars"),
        (Change::Borrow(of("1/lenderA_v3", f64::NAN)), "an amount of NaN dollars"),
        (price(-100.0), "more than -100"),
        (price(f64::INFINITY), "more than -100"),
        (Change::Days(0), "give 1 to 3650"),
        (Change::Days(u64::MAX), "give 1 to 3650"),
    ] {
        let said = one.changed(&change).unwrap_err().to_string();
        assert!(said.contains(says), "{change:?}: {said}");
    }
    let several = twice.changed(&Change::Repay(of("1/lenderA_v3", 1.0))).unwrap_err();
    assert!(matches!(several, ChangeError::Several(_)), "{several}");
    let mut bare = one;
    bare.markets[0].position.as_mut().unwrap().collateral.clear();
    let unknown = bare.changed(&Change::Deposit(of("1/lenderA_v3", 1.0))).unwrap_err();
    assert!(matches!(unknown, ChangeError::NoCollateral(_)), "{unknown}");
}

#[test]
fn a_change_is_read_from_json() {
    let read = |text: &str| serde_json::from_str::<Change>(text);
    let market = MarketName { chain_id: 1, protocol: "lenderB_v3".into(), market: Some("USDC".into()) };
    assert_eq!(
        read(r#"{"repay":{"market":"1/lenderB_v3/USDC","usd":12.5}}"#).unwrap(),
        Change::Repay(MarketAmount { market, usd: 12.5 })
    );
    assert_eq!(read(r#"{"days":3}"#).unwrap(), Change::Days(3));
    let price = Change::Price(PriceMove { asset: ExposureClass::Native.into(), percent: -30.0 });
    assert_eq!(read(r#"{"price":{"asset":"native","percent":-30}}"#).unwrap(), price);
    for wrong in [
        r#"{"repay":{"market":"lenderA_v3","usd":1}}"#,
        r#"{"repay":{"market":"1/","usd":1}}"#,
        r#"{"repay":{"market":"1/lenderA_v3","usd":1,"asset":"USDC"}}"#,
        r#"{"wait":3}"#,
        r#"{"days":3,"repay":{"market":"1/lenderA_v3","usd":1}}"#,
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

proptest! {
    #[test]
    fn a_step_and_its_opposite_leave_the_wallet(supplied in 1.0..1e9, share in 0.01..0.99, part in 0.01..1.0) {
        let before = wallet(&[("lenderA_v3", supplied, supplied * share), ("lenderB_v3", 77.7, 3.3)]);
        let owes = before.markets[0].borrowed_usd;
        let part_of_deposits = of("1/lenderA_v3", supplied * part);
        for [there, back] in [
            [Change::Borrow(of("1/lenderA_v3", owes * part)), Change::Repay(of("1/lenderA_v3", owes * part))],
            [Change::Deposit(part_of_deposits.clone()), Change::Withdraw(part_of_deposits)],
        ] {
            let after = before.after(&[there, back]).unwrap();
            let figures = |features: &Features| -> Vec<f64> {
                let chains = features.chains.iter().flat_map(|chain| [chain.supplied_usd, chain.borrowed_usd]);
                let markets = features.markets.iter().flat_map(|market| market.figures().collect::<Vec<_>>());
                chains.chain(markets).chain(features.holdings.iter().map(|holding| holding.usd)).collect()
            };
            for (is, was) in figures(&after).into_iter().zip(figures(&before)) {
                prop_assert!((is - was).abs() <= 1e-9 * was.abs(), "{} is {}", was, is);
            }
        }
    }

    #[test]
    fn the_health_factor_stays_collateral_times_threshold_over_debt(
        supplied in 10.0..1e9, share in 0.01..0.99, part in 0.01..0.99, percent in -99.0..500.0,
    ) {
        let before = wallet(&[("lenderA_v3", supplied, supplied * share)]);
        let amount = of("1/lenderA_v3", supplied * share * part);
        for change in [
            Change::Repay(amount.clone()),
            Change::Borrow(amount.clone()),
            Change::Deposit(amount.clone()),
            Change::Withdraw(amount),
            Change::Price(PriceMove { asset: ExposureClass::Native.into(), percent }),
        ] {
            let after = before.changed(&change).unwrap();
            let (market, one) = (&after.markets[0], position(&after, 0));
            let sum = |of: &[Exposure]| of.iter().map(|exposure| exposure.usd).sum::<f64>();
            let (secured, owed) = (sum(&one.collateral), sum(&one.debt));
            let near = |is: f64, should: f64| (is - should).abs() <= 1e-9 * should.abs();
            prop_assert!(near(one.health_factor.unwrap(), secured * 0.8 / owed), "{:?}", change);
            prop_assert!(near(market.supplied_usd, secured) && near(market.borrowed_usd, owed), "{:?}", change);
            prop_assert!(near(one.utilisation.unwrap(), market.borrowed_usd / market.supplied_usd), "{:?}", change);
            prop_assert!(near(after.chains[0].borrowed_usd, owed) && near(after.chains[0].supplied_usd, secured));
        }
    }
}
