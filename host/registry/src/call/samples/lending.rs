//! The subjects that only `wit/v2` can distinguish: events, dollars, positions, and an unknown lender.

use super::{NOW, YEAR, extreme, typical};
use assay_domain::{
    Coverage, EventKind, ExposureClass,
    features::{Dollars, Exposure, Features, LendingEvent, MOST_EVENTS, MarketFeatures, PositionFeatures},
};

const DAY: u64 = 86_400;

/// An ordinary wallet whose positions and events were read.
pub(crate) fn detailed() -> Features {
    let mut features = typical();
    for market in &mut features.markets {
        let position = position(market.supplied_usd, market.borrowed_usd);
        *market = MarketFeatures { position: Some(position), ..with_events(market.clone()) };
    }
    features
}

/// The same wallet at a lender that is on no list.
pub(super) fn unheard_of() -> Features {
    let mut features = detailed();
    for market in &mut features.markets {
        (market.protocol, market.market, market.feeds_score) = ("aNewLender_v9".to_owned(), None, true);
    }
    features
}

/// A wallet whose events were read and whose positions could not be read.
pub(super) fn unread_positions() -> Features {
    let mut features = detailed();
    for market in &mut features.markets {
        market.position = Some(PositionFeatures {
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

/// `many` in every time and `usd` in every figure, with the maximum number of events per market.
pub(super) fn largest(many: u64, some: u32, usd: f64) -> Features {
    let mut features = extreme(many, some, usd);
    let all = Some(usd);
    let event = |n: usize| LendingEvent {
        time: many,
        kind: EventKind::ALL.get(n % 5).copied().unwrap_or(EventKind::Repay),
        usd: all,
        class: ExposureClass::ALL.get(n % 5).copied(),
    };
    let exposures = || ExposureClass::ALL.map(|class| Exposure { class, usd }).to_vec();
    for market in features.markets.iter_mut().take(16) {
        market.events_coverage = Coverage::Complete;
        market.events = (0..MOST_EVENTS).map(event).collect();
        market.dollars = Dollars { supply: all, withdraw: all, borrow: all, repay: all, liquidation: all };
        market.liquidation_days = Some(some);
        market.position = Some(PositionFeatures {
            coverage: Coverage::Partial,
            collateral: exposures(),
            debt: exposures(),
            liquidation_threshold: Some(if usd > 0.0 { 1.0 } else { 0.0 }),
            health_factor: all,
            utilisation: all,
        });
    }
    features
}

fn with_events(market: MarketFeatures) -> MarketFeatures {
    let event = |days: u64, kind, usd, class| LendingEvent { time: NOW - days * DAY, kind, usd, class: Some(class) };
    let liquidated = market.last_liquidation.map(|time| LendingEvent {
        time,
        kind: EventKind::Liquidation,
        usd: Some(400.0),
        class: Some(ExposureClass::Stablecoin),
    });
    let mut events = vec![
        event(9, EventKind::Repay, Some(250.0), ExposureClass::Stablecoin),
        event(40, EventKind::Borrow, Some(600.0), ExposureClass::Stablecoin),
        event(41, EventKind::Supply, None, ExposureClass::Native),
    ];
    events.extend(liquidated);
    MarketFeatures {
        events_coverage: Coverage::Complete,
        events,
        dollars: Dollars { borrow: Some(2_400.0), repay: Some(1_800.0), ..Dollars::default() },
        liquidation_days: Some(u32::from(liquidated.is_some())),
        last_liquidation: market.last_liquidation.map(|_| NOW - YEAR),
        ..market
    }
}

fn position(supplied: f64, borrowed: f64) -> PositionFeatures {
    let threshold = 0.8;
    PositionFeatures {
        coverage: Coverage::Complete,
        collateral: vec![Exposure { class: ExposureClass::Native, usd: supplied }],
        debt: vec![Exposure { class: ExposureClass::Stablecoin, usd: borrowed }],
        liquidation_threshold: Some(threshold),
        health_factor: Some(supplied * threshold / borrowed),
        utilisation: Some(borrowed / supplied),
    }
}
