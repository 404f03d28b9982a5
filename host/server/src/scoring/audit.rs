//! The audit log: every step of a model's way into office and out of it. A step is written before it is made and closed
//! after, both for good; a step that a crash left open is closed at the next start by looking at what came of it.

use crate::rollout::records::{self, AUDIT, AUDIT_END, AuditEnd, AuditRecord};
use assay_domain::ModelPin;
use std::collections::HashMap;

use chrono::Utc;
use uuid::Uuid;

use super::{Scoring, provenance::pin};
use assay_domain::{ModelKind, ModelRef};
use assay_registry::{Registry, Roles};
use assay_store::{Batch, Revision, Store, StoreError};

/// Who the log names for what the server does by itself.
pub(super) const ITSELF: &str = "assay";

pub(super) const DONE: &str = "done";
pub(super) const REFUSED: &str = "refused";
pub(super) const NOT_DONE: &str = "not_done";

/// What an operator says of a step.
#[derive(Debug, Clone, Default)]
pub struct Move {
    /// Name of the API key.
    pub by: String,
    pub why: Option<String>,
    /// The bounds of promotion are not to be looked at.
    pub force: bool,
}

/// A step with what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEntry {
    pub id: String,
    pub step: AuditRecord,
    /// `None` while it is being made.
    pub end: Option<AuditEnd>,
}

/// A step that was written down and is not closed.
pub(super) struct Open {
    pub id: String,
}

/// A new id, later in the order than all before it.
fn id() -> String {
    let mut random = Uuid::new_v4().simple().to_string();
    random.truncate(8);
    format!("{:016}-{random}", Utc::now().timestamp_micros())
}

pub(super) fn step(action: &str, kind: ModelKind, with: Move) -> AuditRecord {
    let Move { by, why, force } = with;
    AuditRecord {
        at: Utc::now(),
        by,
        action: action.to_owned(),
        kind,
        from: Vec::new(),
        to: Vec::new(),
        why,
        forced: force,
    }
}

fn end(outcome: &str, detail: Option<String>) -> AuditEnd {
    AuditEnd { at: Utc::now(), outcome: outcome.to_owned(), detail }
}

/// Writes down that `step` is about to be made.
pub(super) async fn begin(store: &Store, step: &AuditRecord) -> Result<Open, StoreError> {
    let id = id();
    store.compare_and_swap(&records::audit(&id), &Revision::ABSENT, step).await?;
    Ok(Open { id })
}

impl Open {
    /// Closes the step in `batch`, which is not written where somebody else has closed it.
    pub fn close(&self, batch: Batch, outcome: &str, detail: Option<String>) -> Result<Batch, StoreError> {
        let key = records::audit_end(&self.id);
        batch.if_unchanged(&key, Revision::ABSENT).put(&key, &end(outcome, detail))
    }
}

/// A step that is over already, whole, in `batch`.
pub(super) fn whole(
    batch: Batch,
    step: &AuditRecord,
    outcome: &str,
    detail: Option<String>,
) -> Result<Batch, StoreError> {
    let id = id();
    batch.put(&records::audit(&id), step)?.put(&records::audit_end(&id), &end(outcome, detail))
}

/// Closes what a crash left open. The role and the end of its step are written together, so an open step was not made,
/// unless the role says otherwise. A host that is just making one loses: its own end is refused, and its step with it.
pub(super) async fn complete(store: &Store, registry: &Registry, roles: &Roles) -> Result<(), StoreError> {
    for AuditEntry { id, step, end } in entries(store).await? {
        if end.is_some() {
            continue;
        }
        let outcome = if made(&step, registry, roles) { DONE } else { NOT_DONE };
        tracing::warn!(action = step.action, kind = %step.kind, by = step.by, outcome, "a step was interrupted by the end of the server");
        let detail =
            Some("the server ended during this step; its outcome was read from the roles at the next start".to_owned());
        store.commit(Open { id }.close(Batch::new(), outcome, detail)?).await?;
    }
    Ok(())
}

fn made(step: &AuditRecord, registry: &Registry, roles: &Roles) -> bool {
    let named = |pins: &[ModelPin]| pins.iter().map(|pin| pin.version.clone()).collect::<Vec<_>>();
    match step.action.as_str() {
        "promote" | "rollback" => {
            step.to.first().map(|pin| &pin.version) == roles.champion(step.kind) && step.from != step.to
        }
        "challenge" => named(&step.to) == roles.challengers(step.kind) && step.from != step.to,
        "remove" => step.from.iter().all(|pin| registry.version_of(step.kind, &pin.version).is_none()),
        _ => false,
    }
}

async fn entries(store: &Store) -> Result<Vec<AuditEntry>, StoreError> {
    // Ends second: a step that is closed in between is then seen closed, not open.
    let steps = store.list(&AUDIT).await?;
    let mut ends: HashMap<String, AuditEnd> = store.list(&AUDIT_END).await?.into_iter().collect();
    Ok(steps.into_iter().map(|(id, step)| AuditEntry { end: ends.remove(&id), id, step }).collect())
}

impl Scoring {
    /// A page of the log, latest first, of `limit` entries; and how many there are in all. Pages count from 1.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn audit(&self, page: u64, limit: u64) -> Result<(Vec<AuditEntry>, usize), StoreError> {
        let all = entries(&self.inner.store).await?;
        let total = all.len();
        let most = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let skipped = most(page.saturating_sub(1).saturating_mul(limit));
        Ok((all.into_iter().rev().skip(skipped).take(most(limit)).collect(), total))
    }
}

/// A model that was put on the shelf, in the log.
pub(super) fn staged(model: &ModelRef, by: Move) -> AuditRecord {
    AuditRecord { to: vec![pin(model)], ..step("stage", model.kind, by) }
}
