//! The task that writes the records of served scores: all waiting records in one commit.

use std::{sync::Arc, time::Duration};

use tokio::sync::{Mutex, mpsc};

use super::Unwritten;
use crate::records;
use assay_store::{Batch, Store, StoreError};
use assay_tasks::Spawner;

/// Maximum number of records in one commit.
const BATCH: usize = 256;

pub(super) struct RecordWriter {
    /// Locked by the task while it runs.
    records: Arc<Mutex<QueuedRecords>>,
    lifetime: Duration,
}

struct QueuedRecords {
    inbox: mpsc::Receiver<Unwritten>,
    /// The records of the next commit.
    waiting: Vec<Unwritten>,
}

impl RecordWriter {
    pub(super) fn new(inbox: mpsc::Receiver<Unwritten>, lifetime: Duration) -> Self {
        let records = QueuedRecords { inbox, waiting: Vec::with_capacity(BATCH) };
        Self { records: Arc::new(Mutex::new(records)), lifetime }
    }

    pub(super) fn lifetime(&self) -> Duration {
        self.lifetime
    }

    pub(super) fn start(&self, store: Store, tasks: &Spawner) {
        let lifetime = self.lifetime;
        tasks.keep("score-records", (self.records.clone(), store), move |(records, store), stopping| async move {
            let mut records = records.lock().await;
            let QueuedRecords { inbox, waiting } = &mut *records;
            if !waiting.is_empty() {
                // The run that was to write them panicked, perhaps because of one of them.
                metrics::counter!("assay_score_records_lost_total").increment(waiting.len() as u64);
                waiting.clear();
            }
            loop {
                tokio::select! {
                    biased;
                    count = inbox.recv_many(waiting, BATCH) => if count == 0 { return },
                    // The queue takes no more records; the waiting ones are still written.
                    () = stopping.cancelled(), if !inbox.is_closed() => { inbox.close(); continue },
                }
                metrics::gauge!("assay_score_records_waiting").set((waiting.len() + inbox.len()) as f64);
                if let Err(error) = write(&store, waiting, lifetime).await {
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
