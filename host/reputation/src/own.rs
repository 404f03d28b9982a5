//! The submissions of one API key, the newest first, and a search in them.

use std::{num::NonZeroUsize, ops::Range};

use super::{
    Reputation,
    records::{self, OWN_SUBMISSIONS, OwnRecord, SubmissionRecord},
};
use assay_access::records::Payer;
use assay_store::{Batch, Key, StoreError};

/// Entries that are read at once.
const PAGE: NonZeroUsize = NonZeroUsize::new(1_000).expect("is not zero");

/// The requested submissions.
#[derive(Debug, Clone)]
pub struct OwnQuery<'a> {
    /// The identity of the key that paid.
    pub owner: &'a str,
    /// Part of an id or of an address, an agent, or a status; all submissions if empty.
    pub text: &'a str,
    /// Counted from 1.
    pub page: u64,
    pub limit: u64,
}

/// One page of submissions, and the number of all that match.
#[derive(Debug, Clone)]
pub struct OwnPage {
    pub records: Vec<SubmissionRecord>,
    pub total: usize,
}

impl OwnQuery<'_> {
    /// The places of the matches on this page.
    fn shown(&self) -> Range<usize> {
        let most = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let first = most(self.page.saturating_sub(1).saturating_mul(self.limit));
        first..first.saturating_add(most(self.limit))
    }
}

impl OwnRecord {
    pub(super) fn of(record: &SubmissionRecord) -> Self {
        Self { id: record.id, agent_id: record.agent_id, address: record.address, stage: record.stage }
    }

    /// Where the entry of `record` is listed; `None` if no key paid.
    pub(super) fn key(record: &SubmissionRecord) -> Option<Key<Self>> {
        let Payer::Key { meter, .. } = &record.payer else { return None };
        Some(records::own_submission(meter, record.created_at, record.id))
    }

    /// `text` is in lower case.
    fn matches(&self, text: &str) -> bool {
        text.is_empty()
            || self.stage.as_str() == text
            || self.agent_id.to_string() == text
            || self.id.to_string().contains(text)
            || format!("{:#x}", self.address).contains(text)
    }
}

impl Reputation {
    /// Adds to `batch` the entry of `record` among the submissions of its key, with its present stage.
    ///
    /// # Errors
    /// As [`Batch::put`].
    pub(super) fn listed(&self, batch: Batch, record: &SubmissionRecord) -> Result<Batch, StoreError> {
        match (OwnRecord::key(record), self.inner.settings.lifetime) {
            (None, _) => Ok(batch),
            (Some(key), None) => batch.put(&key, &OwnRecord::of(record)),
            (Some(key), Some(lifetime)) => batch.put_expiring(&key, &OwnRecord::of(record), lifetime),
        }
    }

    /// The submissions of one key.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn own(&self, query: &OwnQuery<'_>) -> Result<OwnPage, StoreError> {
        let (store, text) = (&self.inner.store, query.text.to_lowercase());
        let shown = query.shown();
        let prefix = records::own_prefix(query.owner);
        let (mut total, mut keys, mut after) = (0, Vec::new(), Some(prefix.clone()));
        while let Some(from) = after {
            let page = store.page(&OWN_SUBMISSIONS, Some(&from), PAGE).await?;
            let own = page.records.into_iter().take_while(|(key, _)| key.starts_with(&prefix));
            for (_, entry) in own.filter(|(_, entry)| entry.matches(&text)) {
                if shown.contains(&total) {
                    keys.push(records::submission(entry.id));
                }
                total += 1;
            }
            after = page.next.filter(|next| next.starts_with(&prefix));
        }
        Ok(OwnPage { records: store.get_many(&keys).await?.into_iter().flatten().collect(), total })
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::{records::Stage, sample};

    #[test]
    fn a_search_finds_by_id_address_agent_and_status() {
        let record = SubmissionRecord { stage: Stage::Failed, ..sample::pending() };
        let entry = OwnRecord::of(&record);
        let (id, address) = (record.id.to_string(), format!("{:#x}", record.address));
        for text in ["", "failed", &id, &id[4..12], &address, &address[2..10], &record.agent_id.to_string()] {
            assert!(entry.matches(text), "{text}");
        }
        for text in ["fail", "confirmed", "zz", &format!("{}0", record.agent_id)] {
            assert!(!entry.matches(text), "{text}");
        }
    }

    #[test]
    fn the_newest_is_listed_first_and_keys_do_not_mix() {
        let at = |seconds| records::own_submission("a", sample::after(seconds), Uuid::nil());
        let text = |key: &Key<OwnRecord>| format!("{key:?}");
        assert!(text(&at(10)) < text(&at(0)));
        assert_ne!(records::own_prefix("a"), records::own_prefix("a/"));
        assert_eq!(records::own_prefix("a").len(), records::own_prefix("a longer name").len());
    }
}
