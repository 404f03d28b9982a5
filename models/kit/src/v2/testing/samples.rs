//! The wallets on which the host tries a model of `wit/v2` before it is published: those of v1, whose positions and events
//! were not read, and others with them.

use super::super::{
    Coverage, Dollars, EventKind, Exposure, ExposureClass, Features, LendingEvent, MarketFeatures, Position,
};
use crate::testing;

const DAY: u64 = 86_400;

/// A wallet and its name in a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub name: String,
    pub features: Features,
    /// False where a model may say that there is nothing to judge.
    pub must_answer: bool,
}

/// Every wallet.
pub fn samples() -> Vec<Sample> {
    let sample = |name: &str, must_answer, features| Sample { name: name.to_owned(), features, must_answer };
    let of_v1 = testing::samples().into_iter().map(|testing::Sample { name, features, must_answer }| Sample {
        name,
        features: features.into(),
        must_answer,
    });
    of_v1
        .chain([
            sample("a wallet with positions and events", true, detailed()),
            sample("a lender that nobody knows", true, unheard_of()),
            sample("a wallet whose positions could not be read", true, unread_positions()),
            sample("the largest numbers in positions and events", true, largest(u64::MAX, u32::MAX, 1e18)),
            sample("zeros in positions and events", false, largest(0, 0, 0.0)),
        ])
        .collect()
}

/// An ordinary wallet, whose positions and events were not read.
pub fn ordinary() -> Features {
    testing::ordinary().into()
}

/// An ordinary wallet with positions and events.
pub fn detailed() -> Features {
    let mut features = ordinary();
    let now = features.as_of;
    for market in &mut features.markets {
        let event =
            |days: u64, kind, usd, class| LendingEvent { time: now - days * DAY, kind, usd, class: Some(class) };
        let liquidated = market.last_liquidation.map(|time| LendingEvent {
            time,
            kind: EventKind::Liquidation,
            usd: Some(400.0),
            class: Some(ExposureClass::Stablecoin),
        });
        market.events_coverage = Coverage::Complete;
        market.events = vec![
            event(9, EventKind::Repay, Some(250.0), ExposureClass::Stablecoin),
            event(40, EventKind::Borrow, Some(600.0), ExposureClass::Stablecoin),
            event(41, EventKind::Supply, None, ExposureClass::Native),
        ];
        market.events.extend(liquidated);
        market.dollars = Dollars { borrow: Some(2_400.0), repay: Some(1_800.0), ..Dollars::default() };
        market.liquidation_days = Some(u32::from(liquidated.is_some()));
        market.position = Some(position(market.supplied_usd, market.borrowed_usd));
    }
    features
}

fn unheard_of() -> Features {
    let renamed = |market: MarketFeatures| MarketFeatures {
        protocol: "aNewLender_v9".to_owned(),
        market: None,
        feeds_score: true,
        ..market
    };
    let features = detailed();
    Features { markets: features.markets.into_iter().map(renamed).collect(), ..features }
}

fn unread_positions() -> Features {
    let mut features = detailed();
    for market in &mut features.markets {
        market.position = Some(Position {
            coverage: Coverage::Failed,
            collateral: Vec::new(),
            debt: Vec::new(),
            liquidation_threshold: None,
            health_factor: None,
            utilisation: None,
        });
    }
    features
}

/// `many` in every time and `usd` in every figure, with as many events as a market may have.
fn largest(many: u64, some: u32, usd: f64) -> Features {
    const KINDS: [EventKind; 5] =
        [EventKind::Supply, EventKind::Withdraw, EventKind::Borrow, EventKind::Repay, EventKind::Liquidation];
    const CLASSES: [ExposureClass; 4] =
        [ExposureClass::Stablecoin, ExposureClass::Native, ExposureClass::Bitcoin, ExposureClass::Other];
    let all = Some(usd);
    let named = if many == 0 { "zeros everywhere" } else { "the largest numbers" };
    let found = testing::samples().into_iter().find(|sample| sample.name == named);
    let mut features: Features = found.map(|sample| sample.features).unwrap_or_default().into();
    let kinds = KINDS.into_iter().cycle().zip(CLASSES.map(Some).into_iter().chain([None]).cycle());
    let events: Vec<_> =
        kinds.take(200).map(|(kind, class)| LendingEvent { time: many, kind, usd: all, class }).collect();
    for market in features.markets.iter_mut().take(16) {
        market.events_coverage = Coverage::Complete;
        market.events.clone_from(&events);
        market.dollars = Dollars { supply: all, withdraw: all, borrow: all, repay: all, liquidation: all };
        market.liquidation_days = Some(some);
        market.position = Some(Position {
            coverage: Coverage::Partial,
            collateral: CLASSES.map(|class| Exposure { class, usd }).to_vec(),
            debt: CLASSES.map(|class| Exposure { class, usd }).to_vec(),
            liquidation_threshold: Some(if usd > 0.0 { 1.0 } else { 0.0 }),
            health_factor: all,
            utilisation: all,
        });
    }
    features
}

fn position(supplied: f64, borrowed: f64) -> Position {
    Position {
        coverage: Coverage::Complete,
        collateral: vec![Exposure { class: ExposureClass::Native, usd: supplied }],
        debt: vec![Exposure { class: ExposureClass::Stablecoin, usd: borrowed }],
        liquidation_threshold: Some(0.8),
        health_factor: Some(supplied * 0.8 / borrowed),
        utilisation: Some(borrowed / supplied),
    }
}
