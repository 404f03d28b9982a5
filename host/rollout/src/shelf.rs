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
        // The log names the signer of the bytes.
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
        let (store, registry) = (&self.inner.store, &self.inner.registry);
        // No role changes while a version is removed.
        let mut recorded = self.inner.recorded.lock().await;
        // Another host may have given it a role.
        self.adopt(&mut recorded).await?;
        let loaded = registry.loaded(kind, version)?;
        let model = loaded.reference();
        let step = AuditRecord { from: vec![model.into()], ..audit::step("remove", kind, with) };
        if let Err(error) = registry.may_remove(kind, version) {
            store.commit(audit::closed(Batch::new(), &step, audit::REFUSED, Some(error.to_string()))?).await?;
            return Err(error.into());
        }
        let open = audit::begin(store, &step).await?;
        let bytes = self.shared_bytes(model).await?;
        let gone = recorded.if_unchanged(self.take_off_shelves(Batch::new(), model)?, kind);
        if !store.commit(gone).await? {
            self.adopt(&mut recorded).await?;
            return self.contested(&open).await;
        }
        let removed = registry.remove(kind, version).await;
        let (batch, outcome, detail) = match &removed {
            Ok(()) => (Batch::new(), audit::DONE, None),
            Err(error) => {
                (self.put_back(Batch::new(), model, bytes.as_ref())?, audit::REFUSED, Some(error.to_string()))
            }
        };
        store.commit(open.settle(batch, outcome, detail)?).await?;
        Ok(removed?)
    }
}
