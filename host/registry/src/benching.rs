//! Models that keep failing: taken out of service, and the one before put back where it was a champion.

use crate::{Reason, ScoreError, model::Supervisor, registry::Shared};
use assay_domain::{ModelRef, ModelVersion};

/// A model that was taken out of service.
#[derive(Debug, Clone)]
pub struct Benching {
    pub model: ModelRef,
    pub reason: Reason,
    /// Who answers instead, where it was champion.
    pub successor: Option<ModelVersion>,
}

impl Shared {
    fn tell(&self, benching: Benching) {
        // Nobody listens only once the registry is gone.
        let _ = self.benchings.send(benching);
    }
}

impl Supervisor for Shared {
    fn failing(&self, model: &ModelRef, error: &ScoreError) {
        let mut book = self.book();
        let key = (model.kind, model.version.clone());
        let message =
            format!("it failed {} times in a row, the last time because {error}", self.settings.limits.failures);
        let reason = Reason { code: error.code(), message };
        let benching = |successor| Benching { model: model.clone(), reason: reason.clone(), successor };
        let in_office = book.champion(model.kind).is_some_and(|entry| entry.model.reference() == model);
        if !in_office {
            // Another call may have benched it, or its version be other bytes by now, since this call began.
            let entry =
                book.models.get_mut(&key).filter(|entry| entry.benched.is_none() && entry.model.reference() == model);
            let Some(entry) = entry else { return };
            entry.benched = Some(reason.clone());
            tracing::error!(kind = %key.0, version = %key.1, code = error.code(), "a model that is not champion taken out of service");
            self.tell(benching(None));
            self.publish(&mut book, "failures");
            return;
        }
        match book.bench(key.0, &key.1, reason.clone()) {
            Some(successor) => {
                tracing::error!(kind = %key.0, version = %key.1, %successor, code = error.code(), "champion taken out of service");
                self.tell(benching(Some(successor)));
                self.publish(&mut book, "failures");
            }
            // A model that fails for some subjects still serves the others better than none does.
            None => {
                tracing::error!(kind = %key.0, version = %key.1, code = error.code(), "champion keeps failing, and no other version is loaded");
            }
        }
    }
}
