//! The task that writes the records of served scores: all waiting records in one commit.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::mpsc;

use super::Unwritten;
use crate::records;
use assay_store::{Batch, Store, StoreError};
use assay_tasks::Spawner;

/// Maximum number of records in one commit.
const BATCH: usize = 256;

pub(super) struct RecordWriter {
    /// Taken by the task when it starts.
    inbox: Mutex<Option<mpsc::Receiver<Unwritten>>>,
    lifetime: Duration,
}

impl RecordWriter {
    pub(super) fn new(inbox: mpsc::Receiver<Unwritten>, lifetime: Duration) -> Self {
        Self { inbox: Mutex::new(Some(inbox)), lifetime }
    }

    pub(super) fn lifetime(&self) -> Duration {
        self.lifetime
    }

    pub(super) fn start(&self, store: Store, tasks: &Spawner) {
        let Some(mut inbox) = self.inbox.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let (lifetime, stopping) = (self.lifetime, tasks.stopping());
        tasks.spawn("score-records", async move {
            let mut waiting = Vec::with_capacity(BATCH);
            loop {
                tokio::select! {
                    biased;
                    count = inbox.recv_many(&mut waiting, BATCH) => if count == 0 { return },
                    // The queue takes no more records; the waiting ones are still written.
                    () = stopping.cancelled(), if !inbox.is_closed() => { inbox.close(); continue },
                }
                metrics::gauge!("assay_score_records_waiting").set((waiting.len() + inbox.len()) as f64);
                if let Err(error) = write(&store, &waiting, lifetime).await {
                    metrics::counter!("assay_score_records_lost_total").increment(waiting.len() as u64);
                    tracing::error!(%error, scores = waiting.len(), "records of served scores could not be stored");
                }
                waiting.clear();
            }
        });
    }
}

pub(super) async fn write(store: &Store, waiting: &[Unwritten], lifetime: Duration) -> Result<(), StoreError> {
    let mut batch = Batch::new();
    for score in waiting {
        batch = batch.put_expiring(&records::served(score.id), &score.record(), lifetime)?;
    }
    store.commit(batch).await.map(drop)
}
