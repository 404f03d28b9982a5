//! The newest scores of a model, computed again: the proof that its answers can be reproduced.

use std::{collections::VecDeque, num::NonZeroUsize};

use serde_json::json;
use uuid::Uuid;

use crate::{
    Rollout, provenance,
    records::{self, OBSERVED, ServedRecord},
};
use assay_domain::{Assessment, Digest, FactorRecord, ModelVersion};
use assay_registry::CreditModel;
use assay_store::StoreError;
use assay_tasks::blocking;

/// Scores that are computed again.
const SCORES: usize = 100;
/// Records that are read at a time.
const PAGE: NonZeroUsize = NonZeroUsize::new(16).unwrap();

impl Rollout {
    /// The newest scores of a credit model that have a record, each of another wallet, computed again on the engine of
    /// the shadow: a line of JSON for each. `Err` within says why there are none.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn replayed(
        &self,
        version: &ModelVersion,
        digest: Digest,
    ) -> Result<Result<Vec<u8>, String>, StoreError> {
        let model = self.registry().version::<CreditModel>(version).filter(|model| model.digest() == digest);
        let Some(model) = model else { return Ok(Err("only scores of a credit model are recorded".to_owned())) };
        let mut found = Vec::new();
        for id in self.newest_records(digest).await? {
            if let Some(record) = self.inner.store.get(&records::served(id)).await? {
                found.push((id, record));
            }
        }
        if found.is_empty() {
            let why = "no score of it has a record; records are kept for scoring.provenance_days";
            return Ok(Err(why.to_owned()));
        }
        let registry = std::sync::Arc::clone(&self.inner.registry);
        Ok(blocking(move || {
            let copy = registry.shadow_copy(&model)?;
            let lines = found.iter().map(|(id, record)| line(*id, record, &copy)).collect::<Result<Vec<_>, _>>()?;
            Ok(lines.concat().into_bytes())
        })
        .await)
    }

    /// The newest records of a model's scores, each of another wallet.
    async fn newest_records(&self, digest: Digest) -> Result<Vec<Uuid>, StoreError> {
        self.flush_observed().await?;
        let (mut newest, mut after) = (VecDeque::<(assay_domain::Address, Uuid)>::new(), None);
        loop {
            let page = self.inner.store.page(&OBSERVED, after.as_deref(), PAGE).await?;
            let scores = page.records.into_iter().flat_map(|(_, record)| record.scores);
            for score in scores.filter(|score| score.model.digest == digest) {
                let Some(record) = score.record else { continue };
                newest.retain(|(address, _)| *address != score.address);
                newest.push_back((score.address, record));
                if newest.len() > SCORES {
                    newest.pop_front();
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(newest.into_iter().map(|(_, record)| record).collect());
            }
        }
    }
}

/// One score, as it was served and as computed again.
fn line(id: Uuid, record: &ServedRecord, copy: &CreditModel) -> Result<String, String> {
    let text = |assessment: &Assessment| {
        let factors: Vec<_> = assessment.factors.iter().map(FactorRecord::from).collect();
        let answer = json!({ "score": assessment.score, "decile": assessment.decile.get(), "factors": factors });
        serde_json::to_string(&answer).map_err(|error| error.to_string())
    };
    let again = provenance::replay(record, copy, None).map_err(|error| format!("{id}: {error}"))?;
    let served = provenance::served(record).map_err(|error| format!("{id}: {error}"))?;
    let (served, now) = (text(&served)?, text(&again.assessment)?);
    let same = again.differences.is_empty() && served == now;
    let line = json!({
        "id": id, "same": same, "served": served, "now": now, "differences": again.differences, "record": record
    });
    Ok(format!("{line}\n"))
}
