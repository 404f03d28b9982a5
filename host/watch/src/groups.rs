//! Groups: watches of many wallets with the same bounds, pace, receiver and end. Those are stored once, in the group,
//! so a change of the group is one write.

use std::collections::HashMap;

use futures::{StreamExt as _, stream};
use uuid::Uuid;

use crate::{
    records::{self, MEMBERS, NO_LIMIT, OWN_GROUPS, RequestRecord, Role, WatchRecord, requested},
    watches::{NewWatch, Watch, WatchError, Watches},
};
use assay_store::{Batch, Revision, StoreError};

/// Watches of a group that are removed at the same time.
const TOGETHER: usize = 16;

/// A wallet to add to a group.
#[derive(Debug, Clone)]
pub(crate) struct NewMember {
    /// An address with its checksum, or a normalised name.
    pub subject: String,
    pub label: Option<String>,
}

/// A wallet that is in a group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub watch: Uuid,
    pub has_ended: bool,
}

impl Watches {
    /// The group of `owner` with this id.
    ///
    /// # Errors
    /// [`WatchError::UnknownGroup`] if it has none.
    pub(crate) async fn group(&self, owner: &str, id: Uuid) -> Result<Watch, WatchError> {
        let found = self.find(owner, id).await.map_err(|error| match error {
            WatchError::Unknown => WatchError::UnknownGroup,
            error => error,
        })?;
        Some(found).filter(|found| found.record.is_group()).ok_or(WatchError::UnknownGroup)
    }

    /// The groups of `owner`, oldest first.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn groups(&self, owner: &str) -> Result<Vec<Watch>, StoreError> {
        let ids = self.0.ids(&OWN_GROUPS, &records::own_prefix(owner)).await?;
        self.0.load(&ids).await
    }

    /// One page of the watches of `group`, and the number of all.
    ///
    /// # Errors
    /// [`WatchError::UnknownGroup`] if `owner` has no such group.
    pub(crate) async fn list_of_group(
        &self,
        owner: &str,
        group: Uuid,
        skip: usize,
        limit: usize,
    ) -> Result<(Vec<Watch>, usize), WatchError> {
        let group = self.group(owner, group).await?.record.id;
        let ids = self.0.ids(&MEMBERS, &records::members_prefix(group)).await?;
        let (total, shown) = (ids.len(), ids.into_iter().skip(skip).take(limit).collect::<Vec<_>>());
        Ok((self.0.load(&shown).await?, total))
    }

    /// Number of the watches of `group`.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn member_count(&self, group: Uuid) -> Result<u64, StoreError> {
        Ok(self.0.store.get(&records::member_count(group)).await?.unwrap_or_default())
    }

    /// The watches of `group` on these wallets.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn enlisted(
        &self,
        group: Uuid,
        subjects: impl Iterator<Item = &str>,
    ) -> Result<HashMap<String, Member>, StoreError> {
        let subjects: Vec<&str> = subjects.collect();
        let keys: Vec<_> = subjects.iter().map(|subject| records::member(group, subject)).collect();
        let found = self.0.store.get_many(&keys).await?;
        let known = subjects.into_iter().zip(found);
        let known: Vec<(&str, Uuid)> = known.filter_map(|(subject, id)| Some((subject, id?))).collect();
        let keys: Vec<_> = known.iter().map(|(_, id)| records::state(*id)).collect();
        let states = self.0.store.get_many(&keys).await?;
        let known = known.into_iter().zip(states).map(|((subject, watch), state)| {
            let has_ended = state.is_some_and(|state| state.ended_at.is_some());
            (subject.to_owned(), Member { watch, has_ended })
        });
        Ok(known.collect())
    }

    /// Adds wallets that are not in `group`, all or none, and returns their watches.
    ///
    /// # Errors
    /// [`WatchError`].
    pub(crate) async fn enlist(&self, group: &Watch, new: &[NewMember]) -> Result<Vec<Uuid>, WatchError> {
        let (record, owner) = (&group.record, group.record.owner.as_str());
        let (count, max, most) = (new.len() as u64, self.settings().max, self.settings().max_per_key);
        if group.state.ended_at.is_some() {
            return Err(WatchError::Ended);
        }
        let mut batch = group
            .unless_changed(Batch::new())?
            .take(&records::count(), count, max)
            .take(&records::own_count(owner), count, most)
            .take(&records::member_count(record.id), count, NO_LIMIT);
        let mut ids = Vec::with_capacity(new.len());
        for member in new {
            let watch = member_of(record, member).record()?;
            let key = records::member(record.id, &watch.subject);
            batch = batch
                .if_unchanged(&key, Revision::ABSENT)
                .put(&key, &watch.id)?
                .put(&records::watch(watch.id), &watch)?
                .put(&records::own(&watch), &watch.id)?;
            ids.push(watch.id);
        }
        if self.0.store.commit(requested(batch, record.id, &RequestRecord::Changed)?).await? {
            self.0.requested.notify_one();
            return Ok(ids);
        }
        let own = self.0.store.get(&records::own_count(owner)).await?.unwrap_or_default();
        let all = self.0.store.get(&records::count()).await?.unwrap_or_default();
        Err(match () {
            () if own.saturating_add(count) > most => WatchError::KeyFull(most),
            () if all.saturating_add(count) > max => WatchError::ServerFull(max),
            // The group has changed, or the same wallets were added at the same time.
            () => WatchError::Contended,
        })
    }

    /// Removes a group with its watches. If it is interrupted, some watches are left, and the group.
    ///
    /// # Errors
    /// [`WatchError`].
    pub(crate) async fn remove_group(&self, owner: &str, id: Uuid) -> Result<(), WatchError> {
        self.group(owner, id).await?;
        let members = self.0.ids(&MEMBERS, &records::members_prefix(id)).await?;
        let removals = stream::iter(members).map(|member| self.remove(owner, member)).buffer_unordered(TOGETHER);
        let removed: Vec<Result<(), WatchError>> = removals.collect().await;
        for removal in removed {
            match removal {
                Ok(()) | Err(WatchError::Unknown) => {}
                Err(error) => return Err(error),
            }
        }
        self.remove(owner, id).await
    }
}

/// A watch of `group`. It has what the group says; its own fields of these are never read.
fn member_of(group: &WatchRecord, NewMember { subject, label }: &NewMember) -> NewWatch {
    NewWatch {
        owner: group.owner.clone(),
        by: group.by.clone(),
        subject: subject.clone(),
        triggers: Vec::new(),
        every: group.every,
        fires_at_once: false,
        statement: false,
        url: None,
        until: group.until,
        role: Role::Member(group.id),
        label: label.clone(),
    }
}
