//! Where every served score came from: its id, and the exact input and output of the models, stored for a configured
//! time.
//!
//! A record is queued before the score is answered and written right after. A score whose record finds no room in the
//! queue has no id, and is counted. When the process is killed, the records of the last moment may be lost.

mod id;
mod replay;
mod writer;

use std::{sync::Arc, time::Duration};

use chrono::Utc;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{
    Rollout, Scored,
    records::{self, BoostRecord, ServedRecord},
};
use crate::config;
use assay_domain::{FactorRecord, ModelRef, features::Features};
use assay_store::{Revision, Store, StoreError};
use assay_tasks::Spawner;
use id::IdKey;
use writer::RecordWriter;

pub use id::ScoreId;
pub use replay::{ReplayError, Replayed, replay, served};

/// Maximum number of records that wait to be written: about the scores of one second on a very busy host.
const QUEUE: usize = 4_096;

/// The input of the models.
pub struct Inputs {
    pub features: Arc<Features>,
    pub boost: Option<(ModelRef, f64)>,
    pub asked_by: String,
}

/// A score that waits to be stored.
pub(super) struct Unwritten {
    id: Uuid,
    scored: Arc<Scored>,
    inputs: Inputs,
}

pub(super) struct Provenance {
    /// `None` if provenance is switched off.
    queue: Option<mpsc::Sender<Unwritten>>,
    writer: RecordWriter,
    secret: IdKey,
    store: Store,
}

/// A place in the queue, and the id of the record that will take it.
pub struct RecordSlot<'a> {
    pub id: Uuid,
    permit: mpsc::Permit<'a, Unwritten>,
}

impl RecordSlot<'_> {
    pub fn fill(self, scored: &Arc<Scored>, inputs: Inputs) {
        self.permit.send(Unwritten { id: self.id, scored: Arc::clone(scored), inputs });
    }
}

impl Provenance {
    pub(super) async fn open(store: &Store, settings: &config::Scoring) -> Result<Self, StoreError> {
        let lifetime = settings.provenance_ttl;
        let (queue, inbox) = mpsc::channel(QUEUE);
        let secret = secret(store).await?;
        Ok(Self {
            queue: (!lifetime.is_zero()).then_some(queue),
            writer: RecordWriter::new(inbox, lifetime),
            secret,
            store: store.clone(),
        })
    }

    /// Reserves room for a record; `None` if provenance is switched off, and, counted, if the queue is full.
    pub(super) fn reserve(&self) -> Option<RecordSlot<'_>> {
        let permit = self.queue.as_ref()?.try_reserve().inspect_err(|_| {
            metrics::counter!("assay_score_records_dropped_total").increment(1);
        });
        Some(RecordSlot { id: Uuid::new_v4(), permit: permit.ok()? })
    }

    pub(super) fn write(&self, tasks: &Spawner) {
        self.writer.start(self.store.clone(), tasks);
    }
}

impl Rollout {
    /// Reserves room for the record of a score; `None` if provenance is switched off or the store is too slow.
    pub fn reserve_record(&self) -> Option<RecordSlot<'_>> {
        self.inner.provenance.reserve()
    }

    /// The id under which `owner` can request the provenance of this score; `None` if the score has no record.
    pub fn score_id(&self, scored: &Scored, owner: &str) -> Option<ScoreId> {
        Some(self.inner.provenance.secret.bind(scored.record?, owner))
    }

    /// Stores a record of `scored` for at least `lifetime`, unless it has one that lasts as long, and returns its id
    /// for `owner`. The record is in the store when this returns.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn keep(
        &self,
        scored: &Arc<Scored>,
        inputs: Inputs,
        owner: &str,
        lifetime: Duration,
    ) -> Result<ScoreId, StoreError> {
        let Provenance { writer, secret, store, .. } = &self.inner.provenance;
        let lasts = scored.at + writer.lifetime() >= Utc::now() + lifetime;
        if let Some(record) = scored.record.filter(|_| lasts)
            && store.get(&records::served_at_all(record)).await?.is_some()
        {
            return Ok(secret.bind(record, owner));
        }
        let unwritten = Unwritten { id: Uuid::new_v4(), scored: Arc::clone(scored), inputs };
        let id = secret.bind(unwritten.id, owner);
        writer::write(store, &[unwritten], lifetime.max(writer.lifetime())).await?;
        Ok(id)
    }

    /// The id of a stored record for `owner`.
    pub fn bound(&self, record: Uuid, owner: &str) -> ScoreId {
        self.inner.provenance.secret.bind(record, owner)
    }

    /// The record of the score, for the `owner` who received this id; `None` for any other.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn provenance(&self, id: &ScoreId, owner: &str) -> Result<Option<ServedRecord>, StoreError> {
        let bound = self.inner.provenance.secret.bind(id.record(), owner);
        if bound == *id { self.inner.provenance.store.get(&records::served(id.record())).await } else { Ok(None) }
    }

    /// The record of the score for an auditor, regardless of the owner.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn audited(&self, id: &ScoreId) -> Result<Option<ServedRecord>, StoreError> {
        self.inner.provenance.store.get(&records::served(id.record())).await
    }

    /// Stores the records of served scores until the server stops.
    pub(super) fn record_scores(&self, tasks: &Spawner) {
        self.inner.provenance.write(tasks);
    }
}

/// The secret of this store. The first host creates it; of several that start at once, one does.
async fn secret(store: &Store) -> Result<IdKey, StoreError> {
    let key = records::score_secret();
    loop {
        let found = store.read(&key).await?;
        if let Some(secret) = found.value.as_deref().and_then(IdKey::parse) {
            return Ok(secret);
        }
        let unusable = |reason: String| StoreError::Unstorable { key: "score-secret".to_owned(), reason };
        let random = IdKey::random().map_err(unusable)?;
        let expected = if found.value.is_some() { found.revision } else { Revision::ABSENT };
        store.compare_and_swap(&key, &expected, &random.text()).await?;
    }
}

impl Unwritten {
    fn record(&self) -> ServedRecord {
        let (scored, Inputs { features, boost, asked_by }) = (&*self.scored, &self.inputs);
        let assessment = &scored.assessment;
        ServedRecord {
            address: scored.address,
            asked_by: asked_by.clone(),
            at: scored.at,
            as_of: scored.fresh.read_at,
            coverage: scored.coverage,
            host: env!("CARGO_PKG_VERSION").to_owned(),
            model: (&scored.model).into(),
            chosen: Some(scored.chosen),
            features: Features::clone(features),
            boost: boost.as_ref().map(|(model, usd)| BoostRecord { model: model.into(), total_asset_usd: *usd }),
            score: assessment.score,
            decile: assessment.decile.get(),
            factors: assessment.factors.iter().map(FactorRecord::from).collect(),
            blocks: scored.origins.blocks.clone(),
            sources: scored.origins.sources.clone(),
        }
    }
}
