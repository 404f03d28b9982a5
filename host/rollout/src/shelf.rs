//! Components that an operator puts on the shelf or takes off it, in a fleet on every host.

use super::{
    Rollout,
    audit::{self, RoleMove},
    fleet::StageError,
    records::AuditRecord,
    roles::MoveError,
};
use assay_domain::{ModelKind, ModelRef, ModelVersion};
use assay_store::Batch;

impl Rollout {
    /// Puts a component on the shelf, in a fleet on that of every host.
    ///
    /// # Errors
    /// [`StageError`]: what is wrong with it. A component whose log entry cannot be written stays on the shelf.
    pub async fn stage(&self, bytes: Vec<u8>, with: RoleMove) -> Result<ModelRef, StageError> {
        let signer = assay_registry::signer(&bytes);
        let model = self.put_on_shelves(bytes).await?;
        // The log names who vouches for the bytes.
        let with = RoleMove { why: with.why.or_else(|| signer.map(|key| format!("signed by {key}"))), ..with };
        let step = AuditRecord { to: vec![(&model).into()], ..audit::step("stage", model.kind, with) };
        let logged = async { self.inner.store.commit(audit::closed(Batch::new(), &step, audit::DONE, None)?).await };
        if let Err(error) = logged.await {
            let ModelRef { kind, version, .. } = &model;
            tracing::error!(%error, %kind, %version, "a model is on the shelf without an entry in the audit log");
        }
        Ok(model)
    }

    /// Takes a version off the shelf.
    ///
    /// # Errors
    /// [`MoveError`]; it is then still there.
    pub async fn remove(&self, kind: ModelKind, version: &ModelVersion, with: RoleMove) -> Result<(), MoveError> {
        let registry = &self.inner.registry;
        // No role changes while a version is removed.
        let _recorded = self.inner.recorded.lock().await;
        let model = registry.loaded(kind, version)?;
        let step = AuditRecord { from: vec![model.reference().into()], ..audit::step("remove", kind, with) };
        let store = &self.inner.store;
        let open = audit::begin(store, &step).await?;
        let removed = registry.remove(kind, version).await;
        let (batch, outcome, detail) = match &removed {
            Ok(()) => (self.take_off_shelves(Batch::new(), model.reference())?, audit::DONE, None),
            Err(error) => (Batch::new(), audit::REFUSED, Some(error.to_string())),
        };
        store.commit(open.settle(batch, outcome, detail)?).await?;
        Ok(removed?)
    }
}
