//! Takes models that fail repeatedly out of service ("benched" in answers), and restores the previous champion if the
//! champion fails. Failures in a row are counted in `call::model`; the limit is `Limits::failures`.

use super::shared::ShelfShared;
use crate::{LoadError, ScoreError, call::model::Supervisor};
use assay_domain::{ModelRef, ModelVersion};

/// A stable code and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    pub code: &'static str,
    pub message: String,
}

impl From<&LoadError> for Reason {
    fn from(error: &LoadError) -> Self {
        Self { code: error.code(), message: error.to_string() }
    }
}

/// A model that went out of service.
#[derive(Debug, Clone)]
pub struct OutOfService {
    pub model: ModelRef,
    pub reason: Reason,
    /// The new champion, if this model was the champion.
    pub successor: Option<ModelVersion>,
}

impl Supervisor for ShelfShared {
    fn failing(&self, model: &ModelRef, error: &ScoreError) {
        let mut catalogue = self.catalogue();
        let (kind, version, code) = (model.kind, &model.version, error.code());
        let message =
            format!("it failed {} times in a row, the last time because {error}", self.settings.limits.failures);
        let reason = Reason { code, message };
        let event = |successor| OutOfService { model: model.clone(), reason: reason.clone(), successor };
        let event = if catalogue.champion(kind).is_some_and(|entry| entry.model.reference() == model) {
            let Some(successor) = catalogue.replace_champion(kind, version, reason.clone()) else {
                // A champion that fails for some subjects is better than none.
                tracing::error!(%kind, %version, code, "champion keeps failing, and no other version is loaded");
                return;
            };
            tracing::error!(%kind, %version, %successor, code, "champion taken out of service");
            event(Some(successor))
        } else {
            // Since this call began, another call may have done the same, or other bytes may have this version.
            let entry = catalogue.models.get_mut(&(kind, version.clone()));
            let current = entry.filter(|entry| entry.out_of_service.is_none() && entry.model.reference() == model);
            let Some(entry) = current else { return };
            entry.out_of_service = Some(reason.clone());
            tracing::error!(%kind, %version, code, "a model that is not champion taken out of service");
            event(None)
        };
        // The receiver is gone only if the registry is.
        let _ = self.out_of_service.send(event);
        self.publish(&mut catalogue, "failures");
    }
}
