//! Who answers at one moment. A request takes a lineup once and keeps it to its end, whatever is swapped meanwhile.

use std::{collections::BTreeMap, sync::Arc};

use crate::{Model, ScoreError};
use assay_domain::{ModelKind, ModelVersion};

/// The models in force, by kind. Never changes: a swap publishes another one.
#[derive(Debug, Default)]
pub struct Lineup {
    pub(crate) kinds: BTreeMap<ModelKind, Seats>,
}

/// The models of one kind.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    pub champion: Option<Arc<Model>>,
    pub challengers: Vec<Arc<Model>>,
    /// Every loaded version, lowest first, those out of service included.
    pub loaded: Vec<Arc<Model>>,
}

impl Lineup {
    /// The model that answers for `kind`.
    ///
    /// # Errors
    /// [`ScoreError::NoChampion`] where none is in service.
    pub fn champion(&self, kind: ModelKind) -> Result<&Arc<Model>, ScoreError> {
        self.kinds.get(&kind).and_then(|seats| seats.champion.as_ref()).ok_or(ScoreError::NoChampion(kind))
    }

    /// The models that score in the shadow.
    pub fn challengers(&self, kind: ModelKind) -> &[Arc<Model>] {
        self.kinds.get(&kind).map_or(&[], |seats| seats.challengers.as_slice())
    }

    /// A loaded version, whatever its role.
    pub fn version(&self, kind: ModelKind, version: &ModelVersion) -> Option<&Arc<Model>> {
        self.loaded(kind).iter().find(|model| model.version() == version)
    }

    /// Every loaded version of `kind`, lowest first.
    pub fn loaded(&self, kind: ModelKind) -> &[Arc<Model>] {
        self.kinds.get(&kind).map_or(&[], |seats| seats.loaded.as_slice())
    }
}
