//! The checks of a model's claims about the future.

use super::{Checked, DESCRIPTION, NAME, check_text, nonsense, range};
use crate::call::abi::raw;
use assay_domain::{Claims, Rate};

pub(super) fn checked(raw: raw::Claims) -> Checked<Claims> {
    let raw::Claims { outcome, horizon_days, population, rates } = raw;
    check_text("claimed outcome", &outcome, NAME)?;
    check_text("claimed population", &population, DESCRIPTION)?;
    let rate = |raw::Rate { range: of, low, estimate, high }| Rate { range: range(of), low, estimate, high };
    let claims = Claims { outcome, horizon_days, population, rates: rates.into_iter().map(rate).collect() };
    match claims.check() {
        Ok(()) => Ok(claims),
        Err(why) => nonsense(why),
    }
}
