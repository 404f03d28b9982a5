//! The paths of a search: changes by a whole amount, from the smallest to the largest.

use crate::{
    Coverage, ExposureClass,
    features::{Change, Features, MOST_DAYS, MarketAmount, MarketFeatures, MarketName, PriceMove, Priced},
};

/// Most markets of one search: those nearest to a liquidation.
const MOST_MARKETS: usize = 8;
/// A deposit of more than this many times the deposits and the debt of a market is not tried.
const MOST_TIMES: f64 = 100.0;
/// Dollars beyond which nothing is searched.
const MOST_DOLLARS: f64 = 1e12;
/// A fall is at most 99 %, in tenths of a percent.
const MOST_FALL: u64 = 990;
/// Points at which a path is scored before it is bisected.
const POINTS: u64 = 8;

/// Changes of one kind, by amount.
pub(super) struct Path {
    /// The largest amount.
    pub most: u64,
    /// The amounts that are scored first, ascending; the last is `most`.
    pub grid: Vec<u64>,
    pub change: Box<dyn Fn(u64) -> Change>,
}

/// Repayments in whole dollars, for each market with a debt; the last one repays all of it.
pub(super) fn repayments(features: &Features) -> Vec<Path> {
    let path = |(name, market): (MarketName, &MarketFeatures)| {
        let owes = market.borrowed_usd;
        let most = owes.ceil() as u64;
        let change =
            move |dollars: u64| Change::Repay(MarketAmount { market: name.clone(), usd: (dollars as f64).min(owes) });
        Path { most, grid: even(most), change: Box::new(change) }
    };
    indebted(features).into_iter().map(path).collect()
}

/// Deposits in whole dollars, for each market with a debt and collateral.
pub(super) fn deposits(features: &Features) -> Vec<Path> {
    let secures = |market: &MarketFeatures| match &market.position {
        Some(position) => position.coverage != Coverage::Failed && position.collateral.iter().any(|one| one.usd > 0.0),
        None => market.supplied_usd > 0.0,
    };
    let path = |(name, market): (MarketName, &MarketFeatures)| {
        let most = (MOST_TIMES * market.supplied_usd.max(market.borrowed_usd)).min(MOST_DOLLARS).ceil() as u64;
        let change = move |dollars: u64| Change::Deposit(MarketAmount { market: name.clone(), usd: dollars as f64 });
        Path { most, grid: quarters(most), change: Box::new(change) }
    };
    indebted(features).into_iter().filter(|(_, market)| secures(market)).map(path).collect()
}

/// Days of waiting.
pub(super) fn waits() -> Path {
    Path { most: MOST_DAYS, grid: vec![7, 30, 90, 180, 365, 730, 1_825, MOST_DAYS], change: Box::new(Change::Days) }
}

/// Falls of the price of each class of collateral that can fall against the dollar, in tenths of a percent.
pub(super) fn falls(features: &Features) -> Vec<Path> {
    let exposures = || features.markets.iter().filter_map(|market| market.position.as_ref());
    let secured = |class| {
        let of = exposures().flat_map(|position| &position.collateral).filter(|one| one.class == class);
        of.map(|one| one.usd).sum::<f64>()
    };
    let classes = ExposureClass::ALL.into_iter().filter(|class| *class != ExposureClass::Stablecoin);
    let mut classes: Vec<_> = classes.map(|class| (class, secured(class))).filter(|(_, usd)| *usd > 0.0).collect();
    classes.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let path = |(asset, _)| {
        let change = move |tenths: u64| {
            Change::Price(PriceMove { asset: Priced::Class(asset), percent: -(tenths as f64) / 10.0 })
        };
        Path { most: MOST_FALL, grid: even(MOST_FALL), change: Box::new(change) }
    };
    classes.into_iter().map(path).collect()
}

/// The scored markets with a debt and a name of their own, the nearest to a liquidation first.
fn indebted(features: &Features) -> Vec<(MarketName, &MarketFeatures)> {
    let owes = |market: &&MarketFeatures| market.borrowed_usd > 0.0 && market.borrowed_usd <= MOST_DOLLARS;
    let named = features.markets.iter().map(|market| (market.name(), market));
    let is_unique = |name: &MarketName| features.markets.iter().filter(|market| market.name() == *name).count() == 1;
    let mut found: Vec<_> =
        named.filter(|(name, market)| market.feeds_score && owes(market) && is_unique(name)).collect();
    let health = |market: &MarketFeatures| market.position.as_ref().and_then(|position| position.health_factor);
    let near = |market: &MarketFeatures| health(market).unwrap_or(f64::INFINITY);
    found.sort_by(|(_, one), (_, other)| {
        near(one).total_cmp(&near(other)).then(other.borrowed_usd.total_cmp(&one.borrowed_usd))
    });
    found.truncate(MOST_MARKETS);
    found
}

/// Points at equal distances.
fn even(most: u64) -> Vec<u64> {
    points((1..=POINTS).map(|part| (u128::from(most) * u128::from(part) / u128::from(POINTS)) as u64))
}

/// Points that are each four times the one before.
fn quarters(most: u64) -> Vec<u64> {
    points((0..POINTS as u32).rev().map(|power| most / 4_u64.pow(power)))
}

fn points(amounts: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut points: Vec<_> = amounts.filter(|amount| *amount > 0).collect();
    points.dedup();
    points
}
