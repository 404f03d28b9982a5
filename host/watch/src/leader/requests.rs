//! The requests of all hosts to the leader.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
};

use uuid::Uuid;

use super::{Entry, Leader};
use crate::{
    evaluate::Evaluated,
    records::{self, MEMBERS, REQUESTS, RequestRecord},
    watches::Watch,
};
use assay_store::{Batch, Key, StoreError};

/// Requests that are read at once, and removed in one write.
const AT_ONCE: NonZeroUsize = NonZeroUsize::new(500).expect("is not zero");

impl Leader {
    /// Takes the requests of all hosts.
    pub(super) async fn take_requests(&mut self) -> Result<(), StoreError> {
        let page = self.watches.0.store.page(&REQUESTS, None, AT_ONCE).await?;
        let named = page.records.into_iter().filter_map(|(key, request)| {
            let id = key.split('/').next()?.parse::<Uuid>().ok()?;
            Some((id, key, request))
        });
        let requests: Vec<_> = named.collect();
        if requests.is_empty() {
            return Ok(());
        }
        let ids: BTreeSet<Uuid> = requests.iter().map(|(id, ..)| *id).collect();
        self.reload(ids).await?;
        let evaluate = requests.iter().filter(|(.., request)| *request == RequestRecord::Evaluate);
        let mut evaluate: BTreeSet<Uuid> = evaluate.map(|(id, ..)| *id).collect();
        self.evaluate_now(&mut evaluate).await?;
        let mut taken = Batch::new().if_leased(&self.lease);
        for (id, key, request) in requests {
            match request {
                RequestRecord::Test if self.is_live(id) => self.test(id, &REQUESTS.key(&key)).await?,
                // Tried again in the next round.
                RequestRecord::Evaluate if evaluate.contains(&id) => {}
                RequestRecord::Changed | RequestRecord::Test | RequestRecord::Evaluate => {
                    taken = taken.remove(&REQUESTS.key(&key));
                }
            }
        }
        self.watches.0.store.commit(taken).await?;
        Ok(())
    }

    /// Whether the watch exists and has not ended.
    fn is_live(&self, id: Uuid) -> bool {
        self.entries.get(&id).is_some_and(|entry| entry.watch.state.ended_at.is_none())
    }

    async fn test(&mut self, id: Uuid, request: &Key<RequestRecord>) -> Result<(), StoreError> {
        let Some(entry) = self.entries.get(&id) else { return Ok(()) };
        let evaluated = self.watches.0.test_event(&self.lease, &entry.watch, request).await?;
        // A refused write is tried again in the next round.
        if matches!(evaluated, Evaluated::Changed) { Ok(()) } else { self.reload([id]).await }
    }

    /// Reads watches again, and groups with their watches.
    pub(super) async fn reload(&mut self, ids: impl IntoIterator<Item = Uuid>) -> Result<(), StoreError> {
        let inner = &self.watches.0;
        let mut ids: BTreeSet<Uuid> = ids.into_iter().collect();
        let asked: Vec<Uuid> = ids.iter().copied().collect();
        let mut loaded = inner.load_to_lead(&self.lease, &asked).await?;
        let mut members = Vec::new();
        for group in loaded.iter().filter(|watch| watch.record.is_group()) {
            members.extend(inner.ids(&MEMBERS, &records::members_prefix(group.record.id)).await?);
        }
        members.retain(|member| ids.insert(*member));
        loaded.extend(inner.load_to_lead(&self.lease, &members).await?);
        let mut loaded: BTreeMap<Uuid, Watch> = loaded.into_iter().map(|watch| (watch.record.id, watch)).collect();
        for id in ids {
            let epoch = self.entries.get(&id).map_or(0, |entry| entry.epoch + 1);
            match loaded.remove(&id) {
                Some(watch) => _ = self.entries.insert(id, Entry::new(watch, epoch)),
                None => _ = self.entries.remove(&id),
            }
        }
        Ok(())
    }
}
