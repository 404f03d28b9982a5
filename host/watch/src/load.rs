//! Reads watches from the store, each with the settings of its group.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
    sync::Arc,
};

use uuid::Uuid;

use crate::{
    evaluate::guarded,
    records::{self, MEMBERS, WatchRecord},
    watches::{Watch, WatchesInner},
};
use assay_store::{Family, Lease, StoreError};

/// Entries of a list that are read at once.
const PAGE: NonZeroUsize = NonZeroUsize::new(1_000).expect("is not zero");
/// Watches that are read at once.
const AT_ONCE: usize = 500;
/// Attempts of a write that another one contradicts.
const TRIES: usize = 8;

impl WatchesInner {
    /// The watches in `family` whose keys begin with `prefix`, in the order of the keys.
    pub(crate) async fn ids(&self, family: &Family<Uuid>, prefix: &str) -> Result<Vec<Uuid>, StoreError> {
        let (mut ids, mut after) = (Vec::new(), Some(prefix.to_owned()));
        while let Some(from) = after {
            let page = self.store.page(family, Some(&from), PAGE).await?;
            ids.extend(page.records.into_iter().take_while(|(key, _)| key.starts_with(prefix)).map(|(_, id)| id));
            after = page.next.filter(|next| next.starts_with(prefix));
        }
        Ok(ids)
    }

    /// The watches of `group`.
    pub(crate) async fn members(&self, group: Uuid) -> Result<Vec<Watch>, StoreError> {
        let ids = self.ids(&MEMBERS, &records::members_prefix(group)).await?;
        self.load(&ids).await
    }

    /// The watches with these ids that exist, in this order.
    pub(crate) async fn load(&self, ids: &[Uuid]) -> Result<Vec<Watch>, StoreError> {
        let (mut found, mut groups) = (Vec::with_capacity(ids.len()), BTreeMap::new());
        for ids in ids.chunks(AT_ONCE) {
            found.extend(self.load_chunk(ids, &mut groups).await?);
        }
        Ok(found)
    }

    /// `groups` are those that were read before.
    async fn load_chunk(
        &self,
        ids: &[Uuid],
        groups: &mut BTreeMap<Uuid, Arc<WatchRecord>>,
    ) -> Result<Vec<Watch>, StoreError> {
        let store = &self.store;
        let watches = store.get_many(&ids.iter().copied().map(records::watch).collect::<Vec<_>>()).await?;
        let states = store.get_many(&ids.iter().copied().map(records::state).collect::<Vec<_>>()).await?;
        let deliveries = store.get_many(&ids.iter().copied().map(records::delivery).collect::<Vec<_>>()).await?;
        let new: BTreeSet<Uuid> = watches.iter().flatten().filter_map(WatchRecord::group).collect();
        let new: Vec<_> = new.into_iter().filter(|group| !groups.contains_key(group)).map(records::watch).collect();
        let read = store.get_many(&new).await?;
        groups.extend(read.into_iter().flatten().map(|group| (group.id, Arc::new(group))));
        let all = watches.into_iter().zip(states).zip(deliveries);
        let whole = all.filter_map(|((record, state), delivery)| {
            let record = record?;
            let group = match record.group() {
                Some(group) => Some(groups.get(&group)?.clone()),
                None => None,
            };
            let (state, delivery) = (state.unwrap_or_default(), delivery.unwrap_or_default());
            Some(Watch { state, delivery, ..Watch::new(record, group) })
        });
        Ok(whole.collect())
    }

    /// The same for the host that evaluates and delivers: each delivery begins anew if the group of its watch has
    /// another receiver, or was resumed.
    pub(crate) async fn load_to_lead(&self, lease: &Lease, ids: &[Uuid]) -> Result<Vec<Watch>, StoreError> {
        let mut found = self.load(ids).await?;
        for watch in found.iter_mut().filter(|watch| watch.record.course != watch.delivery.course) {
            self.follow_course(lease, watch).await?;
        }
        Ok(found)
    }

    async fn follow_course(&self, lease: &Lease, watch: &mut Watch) -> Result<(), StoreError> {
        let (id, key) = (watch.record.id, records::delivery(watch.record.id));
        for _ in 0..TRIES {
            let known = self.store.read(&key).await?;
            let mut delivery = known.value.unwrap_or_default();
            if delivery.course != watch.record.course {
                // A new receiver must agree.
                delivery.confirmed &= delivery.course.receivers == watch.record.course.receivers;
                if delivery.course.beginnings != watch.record.course.beginnings {
                    delivery.begin(watch.state.next);
                }
                delivery.resume();
                delivery.course = watch.record.course;
                let batch = guarded(watch, lease)?.if_unchanged(&key, known.revision).put(&key, &delivery)?;
                if !self.store.commit(batch).await? {
                    match self.load(&[id]).await?.pop() {
                        Some(present) => *watch = present,
                        // Removed, which a request tells.
                        None => return Ok(()),
                    }
                    continue;
                }
            }
            watch.delivery = delivery;
            return Ok(());
        }
        // Delivery resumes when the watch is changed, or when another host takes over.
        Ok(())
    }
}
