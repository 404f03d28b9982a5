//! The model, run again on the features of the evidence.

use std::path::Path;

use assay_domain::{CodeSource, Digest, FactorRecord, Reason, Reasons, Standing};
use assay_registry::{CreditModel, Limits, OfKind as _, standalone};
use assay_rollout::cards;
use assay_statement::{Evidence, Statement};
use sha2::{Digest as _, Sha256};

/// The largest component, in bytes.
pub(super) fn largest() -> u64 {
    limits().largest_file() as u64
}

fn limits() -> Limits {
    Limits { instances: 1, large_lanes: 1, ..Limits::default() }
}

/// Whether the component in `bytes` gives the score, the decile, the factors and the reasons of `evidence`, in words.
/// The codes of the reasons are those of the card in the component, or in `cards` of its folder.
pub(super) fn rerun(bytes: &[u8], folder: &Path, statement: &Statement, evidence: &Evidence) -> Result<String, String> {
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
    let says = format!("credit {} gives {score}, decile {decile} and {} factors", content.version, factors.len());
    let Some(stated) = evidence.reasons() else { return Ok(format!("{says} again")) };
    let explained = credit.explain(&evidence.features, &assessment).map_err(failed)?;
    let codes = cards::codes(folder, credit.info(), credit.digest(), credit.notes().card.as_deref());
    let codes = codes.map_err(|error| error.to_string())?;
    let found = codes.reasons(&explained.factors, Some(&Standing::of(&evidence.features)));
    let found = found.ok_or("the model gives no words for its factors")?;
    let is_bare = codes.codes().is_empty() && stated.codes == CodeSource::Card;
    let agrees = if is_bare { numbers(&found) == numbers(&stated) } else { found == stated };
    match (agrees, is_bare) {
        (false, _) => Err("the model gives other reasons than the evidence".to_owned()),
        (true, false) => Ok(format!("{says} again, and the same {} reasons", stated.list.len())),
        (true, true) => Ok(format!(
            "{says} again, and {} reasons with the same points; their codes and words are of a card that is not in \
             cards/ beside the component",
            stated.list.len()
        )),
    }
}

/// The reasons without what only a card says.
fn numbers(reasons: &Reasons) -> Vec<(u32, &str, u32, u32)> {
    fn of(one: &Reason) -> (u32, &str, u32, u32) {
        (one.rank, &one.factor, one.points_lost, one.points_possible)
    }
    reasons.list.iter().map(of).collect()
}
