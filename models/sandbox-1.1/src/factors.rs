//! The factors of 1.0, with the value of the whole portfolio.

use crate::{drawn_factors, report::portfolio, types::Factor};

pub fn factors(address: &[u8]) -> Vec<Factor> {
    let held: f64 = portfolio(address).iter().map(|chain| chain.total_asset_usd).sum();
    let mut factors = drawn_factors::factors(address);
    for factor in factors.iter_mut().filter(|factor| factor.label == "Asset Holdings") {
        factor.description = format!("You hold {} dollars; keeping more in this wallet would help.", held as u64);
    }
    factors
}
