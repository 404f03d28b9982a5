//! The checks of what a model claims of the future.

use super::{Checked, DESCRIPTION, NAME, check_text, nonsense, range};
use crate::abi::raw;
use assay_domain::{Claims, Rate};

/// The longest horizon: ten years.
const MOST_DAYS: u32 = 3_650;

pub(super) fn checked(raw: raw::Claims) -> Checked<Claims> {
    let raw::Claims { outcome, horizon_days, population, rates: given } = raw;
    check_text("claimed outcome", &outcome, NAME)?;
    check_text("claimed population", &population, DESCRIPTION)?;
    if !(1..=MOST_DAYS).contains(&horizon_days) {
        return nonsense(format!("a horizon of {horizon_days} days, which is not 1 to {MOST_DAYS}"));
    }
    let mut rates: Vec<Rate> = Vec::with_capacity(given.len().min(5));
    for raw::Rate { range: of, low, estimate, high } in given {
        let range = range(of);
        if rates.last().is_some_and(|last| last.range >= range) {
            return nonsense("claimed rates out of the order of the ranges, or two for one range".to_owned());
        }
        if !(0.0 <= low && low <= estimate && estimate <= high && high <= 1.0) {
            return nonsense(format!(
                "a claimed rate of {estimate} within {low} to {high}, which are no shares in order"
            ));
        }
        rates.push(Rate { range, low, estimate, high });
    }
    Ok(Claims { outcome, horizon_days, population, rates })
}
