//! What the card of a model states: that of the shelf or, without one, the card in the component.

use std::path::Path;

use assay_domain::{Claim, Digest, ModelInfo};

use super::{
    CardError,
    claims::{self, in_words},
    file::{card, path},
    inputs::{self, ModelInputs},
};

/// The claims of a model, by population and horizon: those of its card, otherwise that of its component.
///
/// # Errors
/// [`CardError`], also if a claim of the component is not in the card.
pub fn claims(shelf: &Path, info: &ModelInfo, digest: Digest, packed: Option<&str>) -> Result<Vec<Claim>, CardError> {
    let stated = match card(shelf, info, digest, packed)? {
        Some(card) => claims::checked(&card.claim, info).map_err(|reason| {
            let path = path(shelf, info.kind, &info.version);
            CardError::BadClaim { path, reason }
        })?,
        None => Vec::new(),
    };
    Ok(if stated.is_empty() { in_words(info) } else { stated })
}

/// The claims of a model that are not shown to hold, in a sentence; `None` if it claims nothing, or if every rate holds
/// on records that it was not measured on, by the rule of a backtest.
///
/// # Errors
/// As [`claims`].
pub fn doubts(
    shelf: &Path,
    info: &ModelInfo,
    digest: Digest,
    packed: Option<&str>,
) -> Result<Option<String>, CardError> {
    let claims = claims(shelf, info, digest, packed)?;
    let stated = card(shelf, info, digest, packed)?.map(|card| card.claim).unwrap_or_default();
    let found = claims::not_shown(&claims, &stated);
    let words = |found: Vec<_>| format!("its card does not show that its claims hold ({})", found.join("; "));
    Ok((!found.is_empty()).then(|| words(found)))
}

/// The inputs of a model.
///
/// # Errors
/// [`CardError`].
pub fn inputs(shelf: &Path, info: &ModelInfo, digest: Digest, packed: Option<&str>) -> Result<ModelInputs, CardError> {
    let stated = match card(shelf, info, digest, packed)? {
        Some(card) => inputs::checked(&card.input).map_err(|reason| {
            let path = path(shelf, info.kind, &info.version);
            CardError::BadInput { path, reason }
        })?,
        None => None,
    };
    Ok(stated.unwrap_or_else(|| ModelInputs::read_by(info)))
}
