//! The change of a watch, or of a group with its watches.

use super::{WatchRoutes, holder::Holder, parameters};
use crate::{
    changes::{Priced, WatchChange},
    records,
    watches::{Watch, WatchError},
};
use assay_http::ApiError;

/// Attempts if what the price depends on changes at the same time.
const TRIES: usize = 4;

/// Changes `before` for the price of the terms that this adds, and returns it with its secret, if that is new.
pub(super) async fn make(
    state: &WatchRoutes,
    holder: &Holder,
    mut before: Watch,
    change: WatchChange,
) -> Result<(Watch, Option<String>), ApiError> {
    let (watches, id) = (&state.watches, before.record.id);
    if let Some(paid) = before.record.paid_until.filter(|paid| change.until.is_some_and(|until| until > *paid)) {
        return Err(WatchError::PaidUntil(paid).into());
    }
    for _ in 0..TRIES {
        let changed = match holder {
            Holder::Payer { owner } => watches.change((owner, id), &change, None).await,
            Holder::Key(caller) => {
                let (terms, priced) = further_terms(state, &before, &change).await?;
                let (watches, owner, change) = (watches.clone(), caller.owner().to_owned(), change.clone());
                let changing = async move { watches.change((&owner, id), &change, priced.as_ref()).await };
                parameters::paid(caller, terms, changing).await?
            }
        };
        if matches!(changed, Err(WatchError::Contended)) {
            before = watches.find(holder.owner(), id).await?;
            continue;
        }
        let changed = changed?;
        let secret = change.rotates_secret.then(|| changed.record.secret.expose().to_owned());
        return Ok((watches.begun(changed).await?, secret));
    }
    Err(WatchError::Contended.into())
}

/// The terms that `change` adds to a watch, or to all watches of a group, and what they were computed from, if it
/// changes the end.
async fn further_terms(
    state: &WatchRoutes,
    before: &Watch,
    change: &WatchChange,
) -> Result<(usize, Option<Priced>), ApiError> {
    let record = &before.record;
    let Some(until) = change.until else { return Ok((0, None)) };
    let further = |watch: &Watch| {
        let (begun, paid) = (watch.record.created_at, watch.record.bought());
        parameters::terms(until - begun).saturating_sub(parameters::terms(paid - begun))
    };
    // Read before the members: a later one changes it.
    let inner = &state.watches.0;
    let members = inner.store.read(&records::member_count(record.id)).await.map_err(ApiError::store)?.revision;
    let terms = match record.is_group() {
        _ if until <= record.until => 0,
        true => {
            let members = inner.members(record.id).await.map_err(ApiError::store)?;
            // One that has ended does not begin again.
            members.iter().filter(|member| member.state.ended_at.is_none()).map(further).sum()
        }
        false => further(before),
    };
    Ok((terms, Some(Priced { until: record.until, members })))
}
