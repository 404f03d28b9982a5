//! The books of the shadow: one page per hour, written to the store every few seconds as this host's part of that hour.

use super::super::records::{self, PairRecord, ShadowRecord};
use assay_domain::ModelPin;
use std::{collections::BTreeMap, time::Duration};

use chrono::Utc;
use uuid::Uuid;

use super::Shadow;
use crate::{rollout::Rollout, tasks::Spawner};
use assay_domain::Digest;
use assay_store::{Batch, Store, StoreError};

/// How often a page that has changed is written: what a crash may lose.
const FLUSH: Duration = Duration::from_secs(5);
/// Pages that wait for a store that cannot be written; older ones are given up.
const PAGES: usize = 48;
const HOUR: i64 = 3_600;

type Page = BTreeMap<(Digest, Digest), PairRecord>;

/// Pages by hour since the epoch, and those that are not in the store as they stand.
pub(super) struct Books {
    pages: BTreeMap<i64, Page>,
    changed: bool,
    /// Names this process's parts of the hours: another one, also after a restart, adds its own.
    host: String,
}

pub(super) fn hour() -> i64 {
    Utc::now().timestamp().div_euclid(HOUR)
}

impl Books {
    pub fn new() -> Self {
        Self { pages: BTreeMap::new(), changed: false, host: Uuid::new_v4().simple().to_string() }
    }

    /// The record of two models in this hour, which is about to change.
    pub fn pair(&mut self, champion: &ModelPin, challenger: &ModelPin) -> &mut PairRecord {
        self.changed = true;
        let page = self.pages.entry(hour()).or_default();
        let new = || PairRecord::new(champion.clone(), challenger.clone());
        page.entry((champion.digest, challenger.digest)).or_insert_with(new)
    }
}

impl Shadow {
    /// Writes what has changed.
    pub async fn flush(&self, store: &Store, life: Duration) -> Result<(), StoreError> {
        let (pages, host, now) = {
            let mut books = self.books();
            for passed in self.gate.take().into_values() {
                books.pair(&passed.champion, &passed.challenger).counts.add(&passed.counts);
            }
            if !std::mem::take(&mut books.changed) {
                return Ok(());
            }
            (books.pages.clone(), books.host.clone(), hour())
        };
        let write = async {
            let mut batch = Batch::new();
            for (hour, page) in &pages {
                let record = ShadowRecord { pairs: page.values().cloned().collect() };
                batch = batch.put_expiring(&records::shadow(*hour, &host), &record, life)?;
            }
            store.commit(batch).await
        };
        let written = write.await;
        let mut books = self.books();
        match written {
            // A past hour that is written is done with.
            Ok(_) => books.pages.retain(|page, _| *page >= now),
            Err(_) => books.changed = true,
        }
        while books.pages.len() > PAGES {
            books.pages.pop_first();
        }
        written.map(drop)
    }
}

impl Rollout {
    /// Writes down what the shadow sees, until told to stop, and then once more.
    pub fn keep_shadow(&self, tasks: &Spawner) {
        let (rollout, stopping) = (self.clone(), tasks.stopping());
        tasks.spawn("shadow", async move {
            loop {
                let ending = tokio::select! {
                    () = tokio::time::sleep(FLUSH) => false,
                    () = stopping.cancelled() => true,
                };
                if let Err(error) = rollout.flush_shadow().await {
                    tracing::error!(%error, "what the shadow saw is not written down");
                }
                if ending {
                    return;
                }
            }
        });
    }

    pub(super) async fn flush_shadow(&self) -> Result<(), StoreError> {
        self.inner.shadow.flush(&self.inner.store, self.inner.shadow_life).await
    }
}
