//! Where every served score came from: its id, and what it was made of, kept for a configured time.
//!
//! A record is queued before the score is answered and written right after; a score whose record found no room in the
//! queue has no id, and is counted. Of a process that is killed the records of the last moment may be missing.

mod id;
mod replay;
mod writer;

use crate::rollout::records::{self, BoostRecord, FactorRecord, ServedRecord};
use assay_domain::ModelPin;
use std::sync::Arc;

use tokio::sync::mpsc;
use uuid::Uuid;

pub use id::ScoreId;
pub use replay::{ReplayError, Replayed, replay, served};

use super::{Scored, Scoring};
use crate::{config, tasks::Spawner};
use assay_domain::{Factor, ModelRef, features::Features};
use assay_store::{Revision, Store, StoreError};
use id::Secret;
use writer::Writer;

/// Most records that wait to be written: a second's worth of a very busy host.
const QUEUE: usize = 4_096;

/// What was given to the models besides an address.
pub(super) struct Inputs {
    pub features: Arc<Features>,
    pub boost: Option<(ModelRef, f64)>,
    pub asked_by: String,
}

/// A score on its way into the store.
pub(super) struct Kept {
    id: Uuid,
    scored: Arc<Scored>,
    inputs: Inputs,
}

pub(super) struct Provenance {
    /// `None` where nothing is to be kept.
    queue: Option<mpsc::Sender<Kept>>,
    writer: Writer,
    secret: Secret,
    store: Store,
}

/// Room for one record, and the id it will have.
pub(super) struct Slot<'a> {
    pub id: Uuid,
    permit: mpsc::Permit<'a, Kept>,
}

impl Slot<'_> {
    pub fn fill(self, scored: &Arc<Scored>, inputs: Inputs) {
        self.permit.send(Kept { id: self.id, scored: Arc::clone(scored), inputs });
    }
}

impl Provenance {
    pub async fn open(store: &Store, settings: &config::Scoring) -> Result<Self, StoreError> {
        let life = settings.provenance_ttl;
        let (queue, inbox) = mpsc::channel(QUEUE);
        let secret = secret(store).await?;
        Ok(Self {
            queue: (!life.is_zero()).then_some(queue),
            writer: Writer::new(inbox, life),
            secret,
            store: store.clone(),
        })
    }

    /// Room for a record; `None` where none is kept, and, counted, where the store is behind.
    pub fn slot(&self) -> Option<Slot<'_>> {
        let permit = self.queue.as_ref()?.try_reserve().inspect_err(|_| {
            metrics::counter!("assay_score_records_dropped_total").increment(1);
        });
        Some(Slot { id: Uuid::new_v4(), permit: permit.ok()? })
    }

    pub fn write(&self, tasks: &Spawner) {
        self.writer.start(self.store.clone(), tasks);
    }
}

impl Scoring {
    /// The id under which `owner` can ask where this score came from; `None` where that was not kept.
    pub fn score_id(&self, scored: &Scored, owner: &str) -> Option<ScoreId> {
        Some(self.inner.provenance.secret.bind(scored.record?, owner))
    }

    /// What the score of this id was made of, for the `owner` it was given to; `None` for anybody else.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn provenance(&self, id: &ScoreId, owner: &str) -> Result<Option<ServedRecord>, StoreError> {
        let bound = self.inner.provenance.secret.bind(id.record(), owner);
        if bound == *id { self.inner.provenance.store.get(&records::served(id.record())).await } else { Ok(None) }
    }

    /// The same for an auditor, whoever it was given to.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn audited(&self, id: &ScoreId) -> Result<Option<ServedRecord>, StoreError> {
        self.inner.provenance.store.get(&records::served(id.record())).await
    }

    /// Writes down what served scores were made of, until told to stop.
    pub fn keep_scores(&self, tasks: &Spawner) {
        self.inner.provenance.write(tasks);
    }
}

/// The secret of this store, made the first time. Of several hosts that start at once one makes it.
async fn secret(store: &Store) -> Result<Secret, StoreError> {
    let key = records::score_secret();
    loop {
        let found = store.read(&key).await?;
        if let Some(secret) = found.value.as_deref().and_then(Secret::parse) {
            return Ok(secret);
        }
        let unusable = |reason: String| StoreError::Unstorable { key: "score-secret".to_owned(), reason };
        let drawn = Secret::draw().map_err(unusable)?;
        let expected = if found.value.is_some() { found.revision } else { Revision::ABSENT };
        store.compare_and_swap(&key, &expected, &drawn.text()).await?;
    }
}

pub(super) fn pin(model: &ModelRef) -> ModelPin {
    ModelPin { version: model.version.clone(), digest: model.digest }
}

impl Kept {
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
            model: pin(&scored.model),
            features: Features::clone(features),
            boost: boost.as_ref().map(|(model, usd)| BoostRecord { model: pin(model), total_asset_usd: *usd }),
            score: assessment.score,
            decile: assessment.decile.get(),
            factors: assessment.factors.iter().map(factor).collect(),
        }
    }
}

fn factor(factor: &Factor) -> FactorRecord {
    let Factor { label, rating, description, points, possible } = factor;
    let (label, description) = (label.clone(), description.clone());
    FactorRecord { label, rating: rating.as_str().to_owned(), description, points: *points, possible: *possible }
}
