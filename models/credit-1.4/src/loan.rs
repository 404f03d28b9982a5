//! One loan: what is owed, how near it is to a liquidation, and what its deposits could spare.

use crate::{
    table::{MATCHED, MOST_LOAD, PLAIN_THRESHOLD, SPARE_HEALTH, UNREAD_LOAD, UNREAD_THRESHOLD},
    types::{Exposure, ExposureClass, Position},
};

/// A debt and the deposits that secure it: of a market, of a lender whose markets secure each other, or the rest of a
/// chain.
#[derive(Debug, Clone, Copy, Default)]
pub struct Loan {
    pub owed: f64,
    /// Debt over what it may reach before a liquidation, at most [`MOST_LOAD`].
    pub load: f64,
    /// Deposits in dollars that could be withdrawn with a health factor of [`SPARE_HEALTH`] left.
    pub spare: f64,
}

impl Loan {
    /// A loan whose market states its health factor.
    pub fn stated(owed: f64, supplied: f64, health_factor: f64, position: &Position) -> Self {
        let distance = matched(health_factor, position);
        Self { owed, load: of(distance), spare: spare(supplied, of(health_factor)) }
    }

    /// A loan without a stated health factor: debt over deposits at the usual threshold.
    pub fn plain(owed: f64, supplied: f64) -> Self {
        let load = of(supplied * PLAIN_THRESHOLD / owed);
        Self { owed, load, spare: spare(supplied, load) }
    }

    /// A debt whose health factor was not read: never better than at the border of `low`. The threshold counts as the
    /// lowest in use, and a health factor that still stands in a failed part counts if it is nearer.
    pub fn unread(owed: f64, supplied: f64, health_factor: Option<f64>) -> Self {
        let by_deposits = supplied * UNREAD_THRESHOLD / owed;
        let load = of(health_factor.map_or(by_deposits, |factor| factor.min(by_deposits)));
        Self { owed, load: load.max(UNREAD_LOAD), spare: 0.0 }
    }
}

/// The load at a health factor. One that is not a number comes from 0 / 0, so nothing is owed.
fn of(health_factor: f64) -> f64 {
    match () {
        () if health_factor.is_nan() => 0.0,
        () if health_factor <= 1.0 / MOST_LOAD => MOST_LOAD,
        () => 1.0 / health_factor,
    }
}

fn spare(supplied: f64, load: f64) -> f64 {
    supplied * (1.0 - SPARE_HEALTH * load).max(0.0)
}

/// The health factor after debt and deposits of one class have been netted in part: against a deposit of its own class,
/// a debt comes to a liquidation only if the two prices part. Such a class is stablecoin, native or bitcoin. A position
/// below 1 stays as it is.
fn matched(health_factor: f64, position: &Position) -> f64 {
    let (deposits, debts) = (shares(&position.collateral), shares(&position.debt));
    let both = deposits.iter().zip(debts).map(|(deposit, debt)| (deposit * health_factor).min(debt)).sum::<f64>();
    let netted = MATCHED * both.min(1.0);
    if health_factor > 1.0 { (health_factor - netted) / (1.0 - netted) } else { health_factor }
}

/// The shares of stablecoin, native and bitcoin.
fn shares(exposures: &[Exposure]) -> [f64; 3] {
    let of = |class| exposures.iter().filter(|one| one.class == class).map(|one| money(one.usd)).sum::<f64>();
    let classes = [ExposureClass::Stablecoin, ExposureClass::Native, ExposureClass::Bitcoin].map(of);
    let all = classes.iter().sum::<f64>() + of(ExposureClass::Other);
    classes.map(|usd| if all > 0.0 { usd / all } else { 0.0 })
}

/// A negative, infinite or NaN amount counts as 0. Capped to an amount at which a cent is still exact.
pub fn money(usd: f64) -> f64 {
    if usd.is_finite() && usd > 0.0 { usd.min(1e12) } else { 0.0 }
}
