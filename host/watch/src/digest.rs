//! Digests: what became of the watches of a group, once a day.

use chrono::Utc;

use crate::{
    evaluate::Evaluated,
    event::Told,
    portfolio::Portfolio,
    told::DigestEvent,
    watches::{Watch, WatchesInner},
};
use assay_domain::Time;
use assay_store::{Lease, StoreError};

impl WatchesInner {
    /// Stores the digest of `group` that is due now.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn digest(&self, lease: &Lease, group: &Watch, now: Time) -> Result<Evaluated, StoreError> {
        self.store_digest(lease, group, now, Some(now)).await
    }

    /// Stores a digest that its owner has asked for. The next one is due as before.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn digest_on_request(&self, lease: &Lease, group: &Watch) -> Result<Evaluated, StoreError> {
        self.store_digest(lease, group, Utc::now(), group.state.evaluated_at).await
    }

    async fn store_digest(
        &self,
        lease: &Lease,
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
        self.store_evaluated(lease, group, state, vec![event], Vec::new()).await
    }
}
