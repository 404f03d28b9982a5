//! The change of a watch, or of a group with its watches.

use super::{WatchRoutes, holder::Holder, parameters};
use crate::{
    changes::WatchChange,
    watches::{Watch, WatchError},
};
use assay_http::ApiError;

/// Changes `before` for the price of the terms that this adds, and returns it with its secret, if that is new.
pub(super) async fn make(
    state: &WatchRoutes,
    holder: &Holder,
    before: &Watch,
    change: WatchChange,
) -> Result<(Watch, Option<String>), ApiError> {
    let (watches, id, rotates) = (&state.watches, before.record.id, change.rotates_secret);
    if let Some(paid) = before.record.paid_until.filter(|paid| change.until.is_some_and(|until| until > *paid)) {
        return Err(WatchError::PaidUntil(paid).into());
    }
    let changed = match holder {
        Holder::Payer { owner } => watches.change(owner, id, change).await?,
        Holder::Key(caller) => {
            let terms = further_terms(state, before, &change).await?;
            parameters::paid(caller, terms, watches.change(caller.owner(), id, change)).await?
        }
    };
    watches.begun(id).await?;
    let secret = rotates.then(|| changed.record.secret.expose().to_owned());
    Ok((changed, secret))
}

/// The terms that `change` adds to a watch, or to all watches of a group.
async fn further_terms(state: &WatchRoutes, before: &Watch, change: &WatchChange) -> Result<usize, ApiError> {
    let Some(until) = change.until.filter(|until| *until > before.record.until) else { return Ok(0) };
    let further = |watch: &Watch| {
        let (begun, paid) = (watch.record.created_at, watch.record.until);
        parameters::terms(until - begun).saturating_sub(parameters::terms(paid - begun))
    };
    if !before.record.is_group() {
        return Ok(further(before));
    }
    let members = state.watches.0.members(before.record.id).await.map_err(ApiError::store)?;
    Ok(members.iter().map(further).sum())
}
