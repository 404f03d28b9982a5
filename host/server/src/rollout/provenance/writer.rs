//! The one task that writes records of served scores: all that wait in one commit.

use super::super::records::{self};
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::mpsc;

use super::Kept;
use crate::tasks::Spawner;
use assay_store::{Batch, Store, StoreError};

/// Most records in one commit.
const BATCH: usize = 256;

pub(super) struct Writer {
    /// Taken by the task when it starts.
    inbox: Mutex<Option<mpsc::Receiver<Kept>>>,
    life: Duration,
}

impl Writer {
    pub fn new(inbox: mpsc::Receiver<Kept>, life: Duration) -> Self {
        Self { inbox: Mutex::new(Some(inbox)), life }
    }

    pub fn start(&self, store: Store, tasks: &Spawner) {
        let Some(mut inbox) = self.inbox.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let (life, stopping) = (self.life, tasks.stopping());
        tasks.spawn("score-records", async move {
            let mut waiting = Vec::with_capacity(BATCH);
            loop {
                tokio::select! {
                    biased;
                    count = inbox.recv_many(&mut waiting, BATCH) => if count == 0 { return },
                    // Nothing more is taken; what waits is still written.
                    () = stopping.cancelled(), if !inbox.is_closed() => { inbox.close(); continue },
                }
                metrics::gauge!("assay_score_records_waiting").set((waiting.len() + inbox.len()) as f64);
                if let Err(error) = write(&store, &waiting, life).await {
                    metrics::counter!("assay_score_records_lost_total").increment(waiting.len() as u64);
                    tracing::error!(%error, scores = waiting.len(), "what served scores were made of could not be written down");
                }
                waiting.clear();
            }
        });
    }
}

async fn write(store: &Store, waiting: &[Kept], life: Duration) -> Result<(), StoreError> {
    let mut batch = Batch::new();
    for kept in waiting {
        batch = batch.put_expiring(&records::served(kept.id), &kept.record(), life)?;
    }
    store.commit(batch).await.map(drop)
}
