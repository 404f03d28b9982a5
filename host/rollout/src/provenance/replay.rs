//! Computes a served score again, from its record and the same model bytes.

use std::fmt;

use crate::records::ServedRecord;
use assay_domain::{Assessment, Decile, Digest, Factor, FactorRecord, Range, Words};
use assay_registry::{BoostModel, CreditModel, ScoreError};

/// A served score, computed again.
#[derive(Debug, Clone)]
pub struct Replayed {
    pub assessment: Assessment,
    /// How the new answer differs from the served one; empty if both are the same.
    pub differences: Vec<String>,
}

/// Why a score cannot be computed again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    #[error("the score needs the component with digest {needed}, but {given} was given")]
    OtherBytes { needed: Digest, given: Digest },
    #[error("the score needs the boost component with digest {0}, but none was given")]
    NoBoost(Digest),
    #[error("the model fails now: {0}")]
    Model(#[from] ScoreError),
    #[error("the record is not one of a score: {0}")]
    Record(String),
}

/// Computes the score of `record` again by the models that made it.
///
/// # Errors
/// [`ReplayError`]. An answer that differs is not an error.
pub fn replay(
    record: &ServedRecord,
    credit: &CreditModel,
    boost: Option<&BoostModel>,
) -> Result<Replayed, ReplayError> {
    same(record.model.digest, credit.digest())?;
    let served = served(record)?;
    let mut assessment = credit.score(&record.features)?;
    // If no words were served, none are compared.
    if served.is_explained() {
        assessment = credit.explain(&record.features, &assessment)?;
    }
    if let Some(boosted) = &record.boost {
        let model = boost.ok_or(ReplayError::NoBoost(boosted.model.digest))?;
        same(boosted.model.digest, model.digest())?;
        assessment.score = model.boost(assessment.score, boosted.total_asset_usd)?;
        assessment.decile = credit.decile(assessment.score);
    }
    Ok(Replayed { differences: differences(&served, &assessment), assessment })
}

fn same(needed: Digest, given: Digest) -> Result<(), ReplayError> {
    if needed == given { Ok(()) } else { Err(ReplayError::OtherBytes { needed, given }) }
}

/// The assessment as it was served.
///
/// # Errors
/// [`ReplayError::Record`] if the record is not a valid assessment.
pub fn served(record: &ServedRecord) -> Result<Assessment, ReplayError> {
    let decile =
        Decile::new(record.decile).ok_or_else(|| ReplayError::Record(format!("a decile of {}", record.decile)))?;
    let factors = record.factors.iter().map(factor).collect::<Result<_, _>>()?;
    Ok(Assessment { score: record.score, decile, factors })
}

fn factor(record: &FactorRecord) -> Result<Factor, ReplayError> {
    let FactorRecord { label, rating, description, points, possible } = record.clone();
    let words = match (rating, description, possible) {
        (None, None, None) => None,
        (Some(rating), Some(description), Some(possible)) => {
            let known: Result<Range, ()> = rating.parse();
            let rating = known.map_err(|()| ReplayError::Record(format!("a rating of {rating:?}")))?;
            Some(Words { rating, description, possible })
        }
        _ => return Err(ReplayError::Record(format!("a part of the words of {label:?}"))),
    };
    Ok(Factor { label, points, words })
}

fn differences(then: &Assessment, now: &Assessment) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: String, then: &dyn fmt::Debug, now: &dyn fmt::Debug| {
        let (then, now) = (format!("{then:?}"), format!("{now:?}"));
        if then != now {
            found.push(format!("{what} was {then} and is {now}"));
        }
    };
    compare("score".into(), &then.score.get(), &now.score.get());
    compare("decile".into(), &then.decile.get(), &now.decile.get());
    compare("number of factors".into(), &then.factors.len(), &now.factors.len());
    for (then, now) in then.factors.iter().zip(&now.factors) {
        let of = |part: &str| format!("{part} of {:?}", then.label);
        compare(of("label"), &then.label, &now.label);
        compare(of("points"), &then.points, &now.points);
        if let (Some(then), Some(now)) = (&then.words, &now.words) {
            compare(of("rating"), &then.rating.as_str(), &now.rating.as_str());
            compare(of("description"), &then.description, &now.description);
            compare(of("possible points"), &then.possible, &now.possible);
        }
    }
    found
}
