//! The audit log: every change of a model's role and place on the shelf. A step is recorded before it is taken and
//! closed after it. A step that a crash left open is closed at the next start, by the roles as they are then.

use std::collections::HashMap;

use chrono::Utc;
use uuid::Uuid;

use super::{
    Rollout,
    records::{self, AUDIT, AUDIT_END, AuditEnd, AuditRecord},
};
use assay_domain::{ModelKind, ModelPin};
use assay_registry::{Registry, Roles};
use assay_store::{Batch, Revision, Store, StoreError};

/// The log's name for the server, for the steps that it takes by itself.
pub(super) const SERVER: &str = "assay";

pub(super) const DONE: &str = "done";
pub(super) const REFUSED: &str = "refused";
pub(super) const NOT_DONE: &str = "not_done";

/// Who asks for a step, and why.
#[derive(Debug, Clone, Default)]
pub struct RoleMove {
    /// Name of the API key.
    pub by: String,
    pub why: Option<String>,
    /// Promote without regard to the bounds of promotion.
    pub force: bool,
}

/// A step and its outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEntry {
    pub id: String,
    pub step: AuditRecord,
    /// `None` while the step is open.
    pub end: Option<AuditEnd>,
}

/// A recorded step that is not closed.
pub(super) struct OpenStep {
    id: String,
}

/// A new id. Ids sort by time.
fn id() -> String {
    let mut random = Uuid::new_v4().simple().to_string();
    random.truncate(8);
    format!("{:016}-{random}", Utc::now().timestamp_micros())
}

pub(super) fn step(action: &str, kind: ModelKind, with: RoleMove) -> AuditRecord {
    let RoleMove { by, why, force } = with;
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

/// Records that `step` is about to be taken.
pub(super) async fn begin(store: &Store, step: &AuditRecord) -> Result<OpenStep, StoreError> {
    let id = id();
    store.compare_and_swap(&records::audit(&id), &Revision::ABSENT, step).await?;
    Ok(OpenStep { id })
}

impl OpenStep {
    /// Closes the step in `batch`. The batch is refused where the step is closed already.
    pub(super) fn close(&self, batch: Batch, outcome: &str, detail: Option<String>) -> Result<Batch, StoreError> {
        let key = records::audit_end(&self.id);
        batch.if_unchanged(&key, Revision::ABSENT).put(&key, &end(outcome, detail))
    }

    /// Closes a step that was taken before `batch` is stored. The batch is not refused: if a starting host has closed
    /// the step meanwhile, this outcome replaces its guess.
    pub(super) fn settle(&self, batch: Batch, outcome: &str, detail: Option<String>) -> Result<Batch, StoreError> {
        batch.put(&records::audit_end(&self.id), &end(outcome, detail))
    }
}

/// Adds to `batch` a step together with its end.
pub(super) fn closed(
    batch: Batch,
    step: &AuditRecord,
    outcome: &str,
    detail: Option<String>,
) -> Result<Batch, StoreError> {
    let id = id();
    batch.put(&records::audit(&id), step)?.put(&records::audit_end(&id), &end(outcome, detail))
}

/// Closes the steps that a crash left open. Roles are stored together with the end of their step, so an open step was
/// not taken unless the roles say otherwise. If another host is taking the step at this moment, its own end is refused,
/// and its roles with it; the end of a removal replaces this one.
pub(super) async fn complete(store: &Store, registry: &Registry, roles: &Roles) -> Result<(), StoreError> {
    for AuditEntry { id, step, end } in entries(store).await? {
        if end.is_some() {
            continue;
        }
        let outcome = if taken(&step, registry, roles) { DONE } else { NOT_DONE };
        let AuditRecord { action, kind, by, .. } = &step;
        tracing::warn!(action, %kind, by, outcome, "a step was interrupted by the end of the server");
        let detail =
            Some("the server ended during this step; its outcome was read from the roles at the next start".to_owned());
        store.commit(OpenStep { id }.close(Batch::new(), outcome, detail)?).await?;
    }
    Ok(())
}

fn taken(step: &AuditRecord, registry: &Registry, roles: &Roles) -> bool {
    let versions = |pins: &[ModelPin]| pins.iter().map(|pin| pin.version.clone()).collect::<Vec<_>>();
    match step.action.as_str() {
        "promote" | "rollback" => {
            step.to.first().map(|pin| &pin.version) == roles.champion(step.kind) && step.from != step.to
        }
        "challenge" => versions(&step.to) == roles.challengers(step.kind) && step.from != step.to,
        "remove" => step.from.iter().all(|pin| registry.version_of(step.kind, &pin.version).is_none()),
        _ => false,
    }
}

async fn entries(store: &Store) -> Result<Vec<AuditEntry>, StoreError> {
    // Ends are read after steps: a step that is closed between the two reads is then shown as closed.
    let steps = store.list(&AUDIT).await?;
    let mut ends: HashMap<String, AuditEnd> = store.list(&AUDIT_END).await?.into_iter().collect();
    Ok(steps.into_iter().map(|(id, step)| AuditEntry { end: ends.remove(&id), id, step }).collect())
}

impl Rollout {
    /// A page of at most `limit` entries, latest first, and the number of all entries. Pages count from 1.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::ComponentRecord;
    use assay_domain::Digest;
    use assay_registry::Settings;
    use assay_store::config::Store as StoreConfig;

    #[tokio::test]
    async fn a_removal_is_recorded_also_if_a_starting_host_has_closed_its_step() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::embedded(folder.path().join("assay.redb"))).await.unwrap();
        let other = Registry::open(Settings { watch: false, ..Settings::new(folder.path().join("shelf")) }).unwrap();
        let (kind, pin) = (ModelKind::Credit, ModelPin { version: "1.0".parse().unwrap(), digest: Digest([1; 32]) });
        let step = AuditRecord { from: vec![pin.clone()], ..step("remove", kind, RoleMove::default()) };
        let open = begin(&store, &step).await.unwrap();
        complete(&store, &other, &Roles::default()).await.unwrap();
        assert!(entries(&store).await.unwrap()[0].end.as_ref().is_some_and(|end| end.detail.is_some()));

        let (key, gone) = (records::component(kind, &pin.version), ComponentRecord { kind, pin, gone: true });
        let batch = open.settle(Batch::new().put(&key, &gone).unwrap(), DONE, None).unwrap();
        assert!(store.commit(batch).await.unwrap());
        assert_eq!(store.get(&key).await.unwrap(), Some(gone));
        let found = entries(&store).await.unwrap();
        let end = found[0].end.as_ref().unwrap();
        assert_eq!((found.len(), end.outcome.as_str(), &end.detail), (1, DONE, &None));
    }
}
