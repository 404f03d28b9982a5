//! The lending markets of the features, in the types of `wit/v2`.

use super::{coverage, wit};
use crate::call::abi::lower::lowered_market;
use assay_domain::{
    EventKind, ExposureClass,
    features::{Dollars, Exposure, LendingEvent, MarketFeatures},
};

/// The lists of one market, from which its record borrows.
struct MarketLists {
    events: Vec<wit::LendingEvent>,
    collateral: Vec<wit::Exposure>,
    debt: Vec<wit::Exposure>,
}

/// Calls `run` with the markets.
pub(super) fn with_markets<T>(markets: &[MarketFeatures], run: impl FnOnce(&[wit::MarketFeatures<'_>]) -> T) -> T {
    let lists: Vec<MarketLists> = markets.iter().map(lists).collect();
    run(&markets.iter().zip(&lists).map(|(m, lists)| market(m, lists)).collect::<Vec<_>>())
}

fn lists(m: &MarketFeatures) -> MarketLists {
    let exposures = |of: &[Exposure]| of.iter().map(exposure).collect();
    let (collateral, debt) =
        m.position.as_ref().map(|p| (exposures(&p.collateral), exposures(&p.debt))).unwrap_or_default();
    MarketLists { events: m.events.iter().map(event).collect(), collateral, debt }
}

fn market<'a>(m: &'a MarketFeatures, lists: &'a MarketLists) -> wit::MarketFeatures<'a> {
    lowered_market!(
        wit,
        m,
        events_coverage: coverage(m.events_coverage),
        events: &lists.events,
        dollars: dollars(&m.dollars),
        liquidation_days: m.liquidation_days,
        position: m.position.as_ref().map(|p| wit::Position {
            coverage: coverage(p.coverage),
            collateral: &lists.collateral,
            debt: &lists.debt,
            liquidation_threshold: p.liquidation_threshold,
            health_factor: p.health_factor,
            utilisation: p.utilisation,
        }),
    )
}

fn dollars(d: &Dollars) -> wit::Dollars {
    let Dollars { supply, withdraw, borrow, repay, liquidation } = *d;
    wit::Dollars { supply, withdraw, borrow, repay, liquidation }
}

fn event(e: &LendingEvent) -> wit::LendingEvent {
    let kind = match e.kind {
        EventKind::Supply => wit::EventKind::Supply,
        EventKind::Withdraw => wit::EventKind::Withdraw,
        EventKind::Borrow => wit::EventKind::Borrow,
        EventKind::Repay => wit::EventKind::Repay,
        EventKind::Liquidation => wit::EventKind::Liquidation,
    };
    wit::LendingEvent { time: e.time, kind, usd: e.usd, class: e.class.map(class) }
}

fn exposure(e: &Exposure) -> wit::Exposure {
    wit::Exposure { class: class(e.class), usd: e.usd }
}

fn class(class: ExposureClass) -> wit::ExposureClass {
    match class {
        ExposureClass::Stablecoin => wit::ExposureClass::Stablecoin,
        ExposureClass::Native => wit::ExposureClass::Native,
        ExposureClass::Bitcoin => wit::ExposureClass::Bitcoin,
        ExposureClass::Other => wit::ExposureClass::Other,
    }
}
