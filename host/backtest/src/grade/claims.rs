//! What a model claims, population by population, beside what was observed.

use serde::Serialize;

use super::{
    ScoredRows, StatedClaims,
    bands::{Band, ranges},
};
use crate::graded::GradedRow;
use assay_domain::{Claim, ClaimVerdict, Condition, Population, Score, stats::Interval};

/// One claim on the records of its population.
#[derive(Debug, Clone, Serialize)]
pub struct ClaimResult {
    pub outcome: String,
    pub horizon_days: u32,
    pub population: String,
    /// Whether a rule says which records belong to the population. Without one all records are taken.
    pub by_rule: bool,
    /// Why the claim is not compared.
    pub not_compared: Option<String>,
    /// Records of the population that meet the condition.
    pub count: u64,
    /// Records of the population of which it is not known whether they meet the condition: a price of ether is
    /// missing. They are left out.
    pub undecided: u64,
    /// The ranges for which a rate is claimed.
    pub ranges: Vec<ClaimedRange>,
}

/// One range: what was observed, and what is claimed.
#[derive(Debug, Clone, Serialize)]
pub struct ClaimedRange {
    #[serde(flatten)]
    pub band: Band,
    pub claimed: Interval,
    pub estimate: f64,
    /// Not shown with fewer than 50 records.
    pub verdict: ClaimVerdict,
}

/// Why a claim is not compared whose condition is stated only in words.
const WORDS: &str = "no rule decides which records meet the condition of the claim, which is only in words";
/// Why a claim that depends on ether is not compared without prices.
const NO_PRICES: &str = "the condition of the claim needs the daily prices of ether: name them with --ether";
/// Why none of the records is compared.
const UNDECIDED: &str =
    "--ether lacks prices of the days after the records, so no record is known to meet the condition";

/// Every claim of a model. The stated horizon is that of the outcomes of the file.
pub(crate) fn claimed(scored: &ScoredRows<'_>, claims: &[Claim], stated: StatedClaims<'_>) -> Vec<ClaimResult> {
    claims.iter().map(|claim| compared(scored, claim, stated)).collect()
}

fn compared(
    scored: &ScoredRows<'_>,
    claim: &Claim,
    StatedClaims { horizon, ether, .. }: StatedClaims<'_>,
) -> ClaimResult {
    let Claim { population, condition, claims } = claim;
    let by_rule = *population != Population::Words;
    let belongs = |row: &&GradedRow| !by_rule || population.contains(&row.standing);
    let mut rows: Vec<&GradedRow> = scored.rows.iter().copied().filter(belongs).collect();
    let of_population = rows.len();
    let mut undecided = 0;
    if let Some(condition) = condition {
        rows.retain(|row| {
            let is_met = condition.is_met(ether, row.as_of, claims.horizon_days);
            undecided += u64::from(is_met.is_none());
            is_met == Some(true)
        });
    }
    let own = ScoredRows::of(rows, scored.index);
    let count = own.rows.len() as u64;
    let not_compared = match horizon {
        None => Some("the file states no horizon: name it with --horizon".to_owned()),
        Some(days) if days != claims.horizon_days => Some(format!("the outcomes of the file are of {days} days")),
        Some(_) if of_population == 0 => Some("no record of the file is of this population".to_owned()),
        Some(_) if matches!(condition, Some(Condition::Words(_))) => Some(WORDS.to_owned()),
        Some(_) if undecided > 0 && ether.is_empty() => Some(NO_PRICES.to_owned()),
        Some(_) if undecided > 0 && count == 0 => Some(UNDECIDED.to_owned()),
        Some(_) if count == 0 => Some("no record of the file meets the condition".to_owned()),
        Some(_) => None,
    };
    let bands = if not_compared.is_none() { ranges(&own, &own.once()) } else { Vec::new() };
    let range = |(band, (from, _)): (Band, (u32, &str))| {
        let rate = claim.rate(Score::new(from)?.range())?;
        let observed = band.rate.zip(band.interval).filter(|_| band.enough);
        let verdict = observed.map_or(ClaimVerdict::NotShown, |(share, interval)| rate.verdict(share, interval));
        let claimed = Interval { low: rate.low, high: rate.high };
        Some(ClaimedRange { band, claimed, estimate: rate.estimate, verdict })
    };
    ClaimResult {
        outcome: claims.outcome.clone(),
        horizon_days: claims.horizon_days,
        population: claim.holds_for(),
        by_rule,
        not_compared,
        count,
        undecided,
        ranges: bands.into_iter().zip(crate::words::RANGES).filter_map(range).collect(),
    }
}

/// What the claims of a model came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClaimsResult {
    /// Every range with 50 records holds.
    Yes,
    /// These ranges fail, or no claim is of the time of the file.
    No(String),
    /// Nothing fails, but the records cannot show that these ranges hold, or none is of a population.
    Unknown(String),
}

/// `None` for a model that claims nothing.
pub(crate) fn kept(claims: &[ClaimResult]) -> Option<ClaimsResult> {
    let first = claims.first()?;
    let compared: Vec<_> = claims.iter().filter(|claim| claim.not_compared.is_none()).collect();
    if compared.is_empty() {
        let reasons = || claims.iter().filter_map(|claim| claim.not_compared.as_deref());
        if let Some(why) = reasons().find(|why| [WORDS, NO_PRICES, UNDECIDED].contains(why)) {
            return Some(ClaimsResult::Unknown(why.to_owned()));
        }
        // Records of a population that is claimed, with another horizon.
        let other = claims.iter().find(|claim| claim.count > 0).and_then(|claim| claim.not_compared.clone());
        return Some(match other {
            Some(why) => ClaimsResult::No(format!("no claim can be compared: {why}")),
            None => ClaimsResult::Unknown(first.not_compared.clone().unwrap_or_default()),
        });
    }
    let words = |range: &ClaimedRange| {
        let observed = range.band.rate.unwrap_or_default() * 100.0;
        format!("{} claims {:.1} % and had {observed:.1} %", range.band.range, range.estimate * 100.0)
    };
    let enough = || compared.iter().flat_map(|claim| &claim.ranges).filter(|range| range.band.enough);
    let of = |verdict| enough().filter(move |range| range.verdict == verdict);
    let failed: Vec<_> = of(ClaimVerdict::Fails).map(words).collect();
    let not_shown: Vec<_> = of(ClaimVerdict::NotShown).map(|range| range.band.range).collect();
    Some(if !failed.is_empty() {
        ClaimsResult::No(failed.join(", "))
    } else if !not_shown.is_empty() {
        ClaimsResult::Unknown(format!("too wide an interval in {}", not_shown.join(", ")))
    } else if enough().next().is_none() {
        ClaimsResult::Unknown("no range with a claim has 50 records".to_owned())
    } else {
        ClaimsResult::Yes
    })
}
