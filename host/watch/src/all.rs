//! The watches and groups of all keys, as an admin lists and removes them.

use uuid::Uuid;

use crate::{
    records::{WATCHES, WatchRecord},
    watches::{PAGE, Watch, WatchError, Watches},
};
use assay_store::StoreError;

impl Watches {
    /// One page of the watches and groups of all keys, or of the key named `by`, oldest first, with their total number.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn all(
        &self,
        by: Option<&str>,
        skip: usize,
        limit: usize,
    ) -> Result<(Vec<Watch>, usize), StoreError> {
        let (mut found, mut after, mut is_last) = (Vec::new(), None::<String>, false);
        while !is_last {
            let page = self.0.store.page(&WATCHES, after.as_deref(), PAGE).await?;
            let records = page.records.into_iter().map(|(_, record)| record);
            let named = records.filter(|record| by.is_none_or(|by| record.by == by));
            found.extend(named.map(|record| (record.created_at, record.id)));
            after = page.next;
            is_last = after.is_none();
        }
        found.sort();
        let shown: Vec<Uuid> = found.iter().skip(skip).take(limit).map(|(_, id)| *id).collect();
        Ok((self.0.load(&shown).await?, found.len()))
    }

    /// Removes a watch of any key, or a group with its watches, and returns it.
    ///
    /// # Errors
    /// [`WatchError`].
    pub(crate) async fn remove_any(&self, id: Uuid) -> Result<WatchRecord, WatchError> {
        let found = self.0.load(&[id]).await?.pop().ok_or(WatchError::Unknown)?.record;
        match found.is_group() {
            true => self.remove_group(&found.owner, id).await?,
            false => self.remove(&found.owner, id).await?,
        }
        Ok(found)
    }
}
