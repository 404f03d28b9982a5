//! The model, run again on the features of the evidence.

use assay_domain::{Digest, FactorRecord};
use assay_registry::{CreditModel, Limits, OfKind as _, standalone};
use assay_statement::{Evidence, Statement};
use sha2::{Digest as _, Sha256};

/// The largest component, in bytes.
pub(super) fn largest() -> u64 {
    limits().largest_file() as u64
}

fn limits() -> Limits {
    Limits { instances: 1, large_lanes: 1, ..Limits::default() }
}

/// Whether the component in `bytes` gives the score, the decile and the factors of `evidence`, in words.
pub(super) fn rerun(bytes: &[u8], statement: &Statement, evidence: &Evidence) -> Result<String, String> {
    let digest = Digest(Sha256::digest(bytes).into());
    let content = &statement.content;
    if digest != content.model {
        return Err(format!("the component has the SHA-256 {digest}, and the statement names {}", content.model));
    }
    let model = standalone(bytes, &limits()).map_err(|error| format!("the component does not load: {error}"))?;
    let credit = CreditModel::of(&model).ok_or("the component is not a credit model")?;
    if credit.reference().version != content.version {
        let says = &credit.reference().version;
        return Err(format!("the component says it is version {says}, and the statement names {}", content.version));
    }
    let failed = |error| format!("the model fails: {error}");
    let mut assessment = credit.score(&evidence.features).map_err(failed)?;
    if evidence.factors.iter().any(|factor| factor.description.is_some()) {
        assessment = credit.explain(&evidence.features, &assessment).map_err(failed)?;
    }
    let (score, decile) = (assessment.score.get(), assessment.decile.get());
    if (score, decile) != (content.score.get(), content.decile.get()) {
        return Err(format!(
            "the model gives a score of {score} and a decile of {decile}, and the statement says {} and {}",
            content.score.get(),
            content.decile.get()
        ));
    }
    let factors: Vec<FactorRecord> = assessment.factors.iter().map(Into::into).collect();
    if factors != evidence.factors {
        return Err("the model gives other factors than the evidence".to_owned());
    }
    Ok(format!("credit {} gives {score}, decile {decile} and {} factors again", content.version, factors.len()))
}
