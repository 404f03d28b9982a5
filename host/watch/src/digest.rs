//! Digests: what became of the watches of a group, once a day.

use chrono::Utc;

use crate::{
    evaluate::{Evaluated, guarded},
    event::Told,
    portfolio::Portfolio,
    told::DigestEvent,
    watches::{Watch, WatchesInner},
};
use assay_domain::Time;
use assay_store::{Batch, Lease, StoreError};

impl WatchesInner {
    /// Stores the digest of `group` that is due now.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn digest(&self, lease: &Lease, group: &Watch, now: Time) -> Result<Evaluated, StoreError> {
        self.store_digest(guarded(group, lease)?, group, now, Some(now)).await
    }

    /// Commits `batch` with a digest that its owner has asked for. The next one is due as before.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn digest_on_request(&self, batch: Batch, group: &Watch) -> Result<Evaluated, StoreError> {
        self.store_digest(batch, group, Utc::now(), group.state.evaluated_at).await
    }

    async fn store_digest(
        &self,
        batch: Batch,
        group: &Watch,
        now: Time,
        evaluated_at: Option<Time>,
    ) -> Result<Evaluated, StoreError> {
        let mut state = group.state.clone();
        state.next = state.next.max(1);
        let members = self.members(group.record.id).await?;
        let told = Told { watch: &group.record, address: None, now };
        let data = DigestEvent { source: told.source(state.next), summary: Portfolio::of(&members).into() };
        let event = told.event(state.next, "digest", data);
        state.next += 1;
        state.evaluated_at = evaluated_at;
        self.store_evaluated(batch, group.record.id, state, vec![event], Vec::new()).await
    }
}
