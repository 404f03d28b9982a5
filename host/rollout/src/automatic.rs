//! Role changes that the registry makes by itself: the first champion of a kind, and the replacement of a champion that
//! keeps failing. They are in force first and stored right after. After a crash in between, the failing champion
//! answers again, and fails again.

use std::{sync::Arc, time::Duration};

use tokio::sync::Mutex;

use super::{
    Rollout,
    audit::{self, RoleMove},
    recorded::{RecordedRoles, pins},
    records::AuditRecord,
};
use assay_domain::ModelKind;
use assay_registry::{OutOfService, Roles};
use assay_store::{Batch, StoreError};
use assay_tasks::Spawner;

/// Wait after a change that could not be stored.
const RETRY: Duration = Duration::from_secs(1);

impl Rollout {
    /// Stores automatic role changes, and logs every model that is taken out of service.
    pub(super) fn record_automatic_changes(&self, tasks: &Spawner) {
        // Models out of service that are not in the log yet. The registry reports each of them once.
        let out_of_service = Arc::new(Mutex::new(Vec::<OutOfService>::new()));
        let state = (self.clone(), self.inner.registry.watch_roles(), out_of_service);
        tasks.keep("roles", state, |(rollout, mut changes, out_of_service), stopping| async move {
            let mut out_of_service = out_of_service.lock().await;
            loop {
                let mut recorded = rollout.inner.recorded.lock().await;
                let roles = changes.borrow_and_update().clone();
                out_of_service.extend(rollout.inner.registry.out_of_service());
                let stored = rollout.record(roles, &out_of_service, &mut recorded).await;
                drop(recorded);
                let error = match stored {
                    Ok(true) => {
                        out_of_service.clear();
                        tokio::select! {
                            changed = changes.changed() => if changed.is_err() { return },
                            () = stopping.cancelled() => return,
                        }
                        continue;
                    }
                    // Another host was first; its roles are in force now.
                    Ok(false) => continue,
                    Err(error) => error,
                };
                tracing::error!(%error, "roles of models are not stored; a restart would go back to the earlier ones");
                tokio::select! {
                    () = tokio::time::sleep(RETRY) => {}
                    () = stopping.cancelled() => return,
                }
            }
        });
    }

    /// `false` if another host has changed a role.
    async fn record(
        &self,
        roles: Roles,
        out_of_service: &[OutOfService],
        recorded: &mut RecordedRoles,
    ) -> Result<bool, StoreError> {
        let batch = self.log_automatic_changes(&roles, out_of_service, &recorded.roles)?;
        let (batch, after) = recorded.change(batch, &self.inner.registry, roles)?;
        let stored = self.inner.store.commit(batch).await?;
        if stored {
            self.note(recorded, after);
        } else {
            self.adopt(recorded).await?;
        }
        Ok(stored)
    }

    /// The log entries of the changes from `before` to `roles`.
    fn log_automatic_changes(
        &self,
        roles: &Roles,
        out_of_service: &[OutOfService],
        before: &Roles,
    ) -> Result<Batch, StoreError> {
        let registry = &self.inner.registry;
        let by = || RoleMove { by: audit::SERVER.to_owned(), ..RoleMove::default() };
        let mut batch = Batch::new();
        for OutOfService { model, reason, successor } in out_of_service {
            let step = AuditRecord {
                from: vec![model.into()],
                to: pins(registry, model.kind, successor),
                why: Some(reason.message.clone()),
                ..audit::step("bench", model.kind, by())
            };
            batch = audit::closed(batch, &step, audit::DONE, Some(reason.code.to_owned()))?;
        }
        for kind in ModelKind::ALL {
            let replaced = out_of_service.iter().any(|event| event.model.kind == kind && event.successor.is_some());
            if roles.champion(kind) != before.champion(kind) && !replaced {
                let step = AuditRecord {
                    from: pins(registry, kind, before.champion(kind)),
                    to: pins(registry, kind, roles.champion(kind)),
                    why: Some(
                        "this kind had no champion: the first one of the configuration, or its highest version, was \
                         taken"
                            .to_owned(),
                    ),
                    ..audit::step("appoint", kind, by())
                };
                batch = audit::closed(batch, &step, audit::DONE, None)?;
            }
        }
        Ok(batch)
    }
}
