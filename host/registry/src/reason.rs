//! Why a model is out of service or did not load.

use crate::LoadError;
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
    /// The new champion, where this model was the champion.
    pub successor: Option<ModelVersion>,
}
