//! What a model says of the future, which is measured afterwards.

use crate::{
    FileFault,
    declaration::{ClaimsSection, DeclarationFile, RateEntry},
    texts::{LABEL, long},
};

/// The most days of a horizon, and the most characters of a population.
const HORIZON: u32 = 3650;
const POPULATION: usize = 500;
/// The words of the ranges, the lowest first.
const RANGES: [&str; 5] = ["low", "fair", "good", "very good", "excellent"];

/// The numbers of the claims as the format has them: none if the model claims nothing.
///
/// # Errors
/// The first part of the claims that no host accepts.
pub(crate) fn numbers(file: &DeclarationFile) -> Result<Vec<f64>, FileFault> {
    let Some(claims) = &file.declared.claims else { return Ok(Vec::new()) };
    let ClaimsSection { outcome, horizon_days, population, rates } = claims;
    long(file, outcome, LABEL)?;
    long(file, population, POPULATION)?;
    let days = *horizon_days.get_ref();
    if !(1..=HORIZON).contains(&days) {
        return Err(file.fault(horizon_days, format!("a horizon has 1 to {HORIZON} days")));
    }
    let (mut numbers, mut last) = (vec![f64::from(days)], None);
    for rate in rates {
        let range = range(file, rate)?;
        if last >= Some(range) {
            return Err(file.fault(&rate.range, "the rates go from the lowest range to the highest, each at most once"));
        }
        let RateEntry { low, estimate, high, .. } = rate;
        if !(0.0 <= *low && low <= estimate && estimate <= high && *high <= 1.0) {
            return Err(file.fault(&rate.range, "a rate is a share: 0 <= low <= estimate <= high <= 1"));
        }
        numbers.extend([range as f64, *low, *estimate, *high]);
        last = Some(range);
    }
    Ok(numbers)
}

/// The place of a range.
fn range(file: &DeclarationFile, rate: &RateEntry) -> Result<usize, FileFault> {
    let name = rate.range.get_ref();
    let place = RANGES.iter().position(|range| range == name);
    place.ok_or_else(|| file.fault(&rate.range, format!("there is no range {name:?}: there are {}", RANGES.join(", "))))
}
