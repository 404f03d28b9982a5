//! Admission to the catalogue: a model that passed every check, under a version that no other bytes have.

use std::sync::{Arc, Weak};

use super::{
    catalogue::{Catalogue, FileKey, Rejected, ShelfEntry},
    shared::ShelfShared,
};
use crate::{
    LoadError, Model,
    call::{model::Supervisor, price},
    examine::{self, Examined},
};
use assay_domain::{Digest, ModelRef};

impl ShelfShared {
    /// Admits a model to the catalogue: a new one, or one that is loaded with the same bytes.
    pub(crate) fn admit(&self, bytes: &[u8]) -> Result<Admitted, Box<Rejected>> {
        let digest = examine::digest(bytes);
        match self.loaded(&digest) {
            Some(reference) => Ok(Admitted::Known(reference)),
            None => self.accept(digest, self.examine(bytes, &digest)),
        }
    }

    /// The loaded model with these bytes.
    pub(crate) fn loaded(&self, digest: &Digest) -> Option<ModelRef> {
        let catalogue = self.catalogue();
        let entry = catalogue.models.values().find(|entry| entry.model.digest() == *digest);
        entry.map(|entry| entry.model.reference().clone())
    }

    /// Admits the model found by examining a file.
    pub(crate) fn accept(&self, digest: Digest, found: Result<Examined, LoadError>) -> Result<Admitted, Box<Rejected>> {
        let rejected = |info, error| Err(Box::new(Rejected { digest: Some(digest), info, error }));
        if let Some(reference) = self.loaded(&digest) {
            return Ok(Admitted::Known(reference));
        }
        let Examined { model, problems, info, .. } = match found {
            Ok(found) => found,
            Err(error) => return rejected(None, error),
        };
        let model = match (problems.into_iter().next(), model) {
            (None, Some(model)) => model,
            (Some(problem), _) => return rejected(info, problem),
            (None, None) => return rejected(info, LoadError::Invalid("nothing in it can be started".to_owned())),
        };
        let key = (model.kind(), model.version().clone());
        let taken = self.catalogue().taken(&key, digest);
        if let Some(error) = taken {
            return rejected(info, error);
        }
        let supervisor: Weak<dyn Supervisor> = self.this.clone();
        // Not set before: this is a new model.
        let _ = model.supervisor.set(supervisor);
        Ok(Admitted::New(model))
    }
}

pub(crate) enum Admitted {
    New(Arc<Model>),
    Known(ModelRef),
}

impl Admitted {
    pub(crate) fn reference(&self) -> &ModelRef {
        match self {
            Self::New(model) => model.reference(),
            Self::Known(reference) => reference,
        }
    }
}

/// Adds the admitted model.
pub(crate) fn enter(catalogue: &mut Catalogue, admitted: Admitted) -> FileKey {
    let key = (admitted.reference().kind, admitted.reference().version.clone());
    if let Admitted::New(model) = admitted {
        let class = model.class();
        tracing::info!(kind = %key.0, version = %key.1, digest = %model.digest(), %class, "model loaded");
        price::publish(&model, true);
        catalogue.models.insert(key.clone(), ShelfEntry { model, out_of_service: None, orphaned: None });
    }
    key
}
