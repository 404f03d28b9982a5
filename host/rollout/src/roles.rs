//! Role changes by an operator. A change is stored before it is in force, so a restart answers with the same champion,
//! and every change is in the audit log.

use super::{
    Rollout,
    audit::{self, OpenStep, RoleMove},
    promotion::Review,
    recorded::{RecordedRoles, pins},
    records::AuditRecord,
};
use assay_domain::{ModelKind, ModelVersion};
use assay_registry::{KindRoles, RoleError};
use assay_store::{Batch, StoreError};

/// Why a role was not changed.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error(transparent)]
    Role(#[from] RoleError),
    #[error("the role could not be stored, so it was not changed: {0}")]
    Store(#[from] StoreError),
    #[error("another host changed a role or removed a version at the same time; read the roles and try again")]
    Contested,
    #[error(
        "the split has changed since it was read, so nothing was changed; read it again, and send its new `ETag` as \
         `If-Match`"
    )]
    SplitChanged,
    #[error("{0}")]
    Split(&'static str),
    #[error("the split was not changed: {}. Give `force` and a `why` to change it anyway", .0.join("; "))]
    SplitGuarded(Vec<String>),
    #[error(
        "{kind} {version} was not promoted: {}. Give `force` and a `why` to promote it anyway",
        .review.objections()
    )]
    Guarded { kind: ModelKind, version: ModelVersion, review: Box<Review> },
}

/// A role change that is decided and not yet stored.
pub(super) struct RoleChange<'a> {
    pub step: AuditRecord,
    pub roles: KindRoles,
    /// Versions that return to service if they were out of it, on every host.
    pub again: &'a [ModelVersion],
    pub cause: &'static str,
    /// For the audit log.
    pub detail: Option<String>,
}

impl Rollout {
    /// Makes a loaded version champion if the limits of promotion allow it. `doubts` says which of its claims are not
    /// shown to hold.
    ///
    /// # Errors
    /// [`MoveError`]; the roles are then unchanged.
    pub async fn set_champion(
        &self,
        kind: ModelKind,
        version: &ModelVersion,
        doubts: Option<String>,
        with: RoleMove,
    ) -> Result<(), MoveError> {
        let registry = &self.inner.registry;
        let mut recorded = self.inner.recorded.lock().await;
        let model = registry.loaded(kind, version)?;
        let forced = with.force;
        let step = AuditRecord {
            from: pins(registry, kind, registry.roles().champion(kind)),
            to: vec![model.reference().into()],
            ..audit::step("promote", kind, with)
        };
        let review = self.review(kind, &model, doubts).await?;
        if !forced && !review.allows() {
            let refused = audit::closed(Batch::new(), &step, audit::REFUSED, Some(review.objections()))?;
            self.inner.store.commit(refused).await?;
            return Err(MoveError::Guarded { kind, version: version.clone(), review: Box::new(review) });
        }
        let roles = registry.with_champion(kind, version)?;
        let again = std::slice::from_ref(version);
        let change = RoleChange { step, roles, again, cause: "operator", detail: review.summary() };
        self.change(change, &mut recorded).await
    }

    /// Makes the previous champion answer again.
    ///
    /// # Errors
    /// [`MoveError`]; the roles are then unchanged.
    pub async fn roll_back(&self, kind: ModelKind, with: RoleMove) -> Result<(), MoveError> {
        let registry = &self.inner.registry;
        let mut recorded = self.inner.recorded.lock().await;
        let roles = registry.with_previous(kind)?;
        let step = AuditRecord {
            from: pins(registry, kind, registry.roles().champion(kind)),
            to: pins(registry, kind, &roles.champion),
            ..audit::step("rollback", kind, with)
        };
        self.change(RoleChange { step, roles, again: &[], cause: "rollback", detail: None }, &mut recorded).await
    }

    /// Replaces the challengers of a kind by these loaded versions.
    ///
    /// # Errors
    /// [`MoveError`]; the roles are then unchanged.
    pub async fn set_challengers(
        &self,
        kind: ModelKind,
        versions: &[ModelVersion],
        with: RoleMove,
    ) -> Result<(), MoveError> {
        let registry = &self.inner.registry;
        let mut recorded = self.inner.recorded.lock().await;
        let roles = registry.with_challengers(kind, versions)?;
        let step = AuditRecord {
            from: pins(registry, kind, registry.roles().challengers(kind)),
            to: pins(registry, kind, versions),
            ..audit::step("challenge", kind, with)
        };
        self.change(RoleChange { step, roles, again: versions, cause: "operator", detail: None }, &mut recorded).await
    }

    /// Stores the step, then the roles together with the step's end, and puts the roles in force.
    pub(super) async fn change(&self, change: RoleChange<'_>, recorded: &mut RecordedRoles) -> Result<(), MoveError> {
        let open = audit::begin(&self.inner.store, &change.step).await?;
        let batch = open.close(Batch::new(), audit::DONE, change.detail.clone())?;
        if self.put_in_force(change, batch, recorded).await? { Ok(()) } else { self.contested(&open).await }
    }

    /// Stores the roles together with `batch`, and then puts them in force, which cannot fail. Returns false if another
    /// host has changed a role or removed a version; the stored roles are then in force.
    pub(super) async fn put_in_force(
        &self,
        change: RoleChange<'_>,
        batch: Batch,
        recorded: &mut RecordedRoles,
    ) -> Result<bool, StoreError> {
        let RoleChange { step, mut roles, again, cause, detail: _ } = change;
        let (kind, registry) = (step.kind, &self.inner.registry);
        roles.note_assigned(again, step.at);
        let batch = self.if_on_shelves(batch, kind, &recorded.roles.of(kind), &roles).await?;
        let mut all = recorded.roles.clone();
        all.set(kind, roles.clone());
        let (batch, after) = recorded.change(batch, registry, all)?;
        let is_stored = self.inner.store.commit(batch).await?;
        if is_stored {
            self.note(recorded, after);
            registry.assign(kind, roles, again, cause);
        } else {
            self.adopt(recorded).await?;
        }
        Ok(is_stored)
    }

    /// Closes a step before which another host took its own.
    pub(super) async fn contested(&self, open: &OpenStep) -> Result<(), MoveError> {
        let detail = Some("another host changed a role or removed a version".to_owned());
        self.inner.store.commit(open.close(Batch::new(), audit::NOT_DONE, detail)?).await?;
        Err(MoveError::Contested)
    }
}
