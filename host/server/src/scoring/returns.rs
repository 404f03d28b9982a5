//! Role changes that nobody asked for: the first champion of a kind, and an automatic return. They are in force before
//! they can be written down, so they are written right after; a crash in between goes back to the champion that failed,
//! which fails again.

use crate::rollout::records::AuditRecord;
use std::time::Duration;

use super::{
    Scoring,
    audit::{self, Move},
    provenance::pin,
    roles::{Written, pins},
};
use crate::tasks::Spawner;
use assay_domain::ModelKind;
use assay_registry::{OutOfService, Roles};
use assay_store::{Batch, StoreError};

/// Wait after a change that could not be written down.
const AGAIN: Duration = Duration::from_secs(1);

impl Scoring {
    /// Writes down the role changes that nobody asked for: the first champion of a kind, and an automatic return; and
    /// every model that was taken out of service.
    pub fn keep_roles(&self, tasks: &Spawner) {
        let scoring = self.clone();
        let mut changes = self.inner.registry.watch_roles();
        let stopping = tasks.stopping();
        tasks.spawn("roles", async move {
            // Models out of service that are not in the log yet.
            let mut benched = Vec::new();
            loop {
                let mut written = scoring.inner.keeper.written.lock().await;
                let roles = changes.borrow_and_update().clone();
                benched.extend(scoring.inner.registry.out_of_service());
                let kept = scoring.keep(&roles, &benched, &mut written).await;
                drop(written);
                let error = match kept {
                    Ok(true) => {
                        benched.clear();
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
                tracing::error!(%error, "roles of models are not written down; a restart would go back to the earlier ones");
                tokio::select! {
                    () = tokio::time::sleep(AGAIN) => {}
                    () = stopping.cancelled() => return,
                }
            }
        });
    }

    /// `false` where another host has moved a role.
    async fn keep(&self, roles: &Roles, benched: &[OutOfService], written: &mut Written) -> Result<bool, StoreError> {
        let registry = &self.inner.registry;
        let by = || Move { by: audit::ITSELF.to_owned(), ..Move::default() };
        let (mut batch, after) = written.change(Batch::new(), registry, roles)?;
        for OutOfService { model, reason, successor } in benched {
            let step = AuditRecord {
                from: vec![pin(model)],
                to: pins(registry, model.kind, successor),
                why: Some(reason.message.clone()),
                ..audit::step("bench", model.kind, by())
            };
            batch = audit::whole(batch, &step, audit::DONE, Some(reason.code.to_owned()))?;
        }
        for kind in ModelKind::ALL {
            let returned = benched.iter().any(|event| event.model.kind == kind && event.successor.is_some());
            if roles.champion(kind) != written.roles.champion(kind) && !returned {
                let step = AuditRecord {
                    from: pins(registry, kind, written.roles.champion(kind)),
                    to: pins(registry, kind, roles.champion(kind)),
                    why: Some("this kind had no champion: its highest version was taken".to_owned()),
                    ..audit::step("appoint", kind, by())
                };
                batch = audit::whole(batch, &step, audit::DONE, None)?;
            }
        }
        let kept = self.inner.store.commit(batch).await?;
        if kept {
            *written = after;
        } else {
            self.adopt(written).await?;
        }
        Ok(kept)
    }
}
