//! The active models at one moment. A request takes them once and uses them to its end, even if roles change.

use std::{collections::BTreeMap, sync::Arc};

use crate::{Chosen, Model, OfKind, ScoreError, split::ActiveSplit};
use assay_domain::{Address, ModelKind, ModelVersion, Time};

/// The active models by kind. Immutable: a change of roles publishes a new value.
#[derive(Debug, Default)]
pub struct ActiveModels {
    pub(crate) kinds: BTreeMap<ModelKind, KindModels>,
}

/// The models of one kind.
#[derive(Debug, Default)]
pub(crate) struct KindModels {
    pub champion: Option<Arc<Model>>,
    pub challengers: Vec<Arc<Model>>,
    /// Every loaded version, lowest first, including those out of service.
    pub loaded: Vec<Arc<Model>>,
    pub split: ActiveSplit,
}

impl ActiveModels {
    /// The champion of the kind `M`.
    ///
    /// # Errors
    /// [`ScoreError::NoChampion`].
    pub fn champion<M: OfKind>(&self) -> Result<M, ScoreError> {
        M::of(self.champion_of(M::KIND)?).ok_or(ScoreError::NoChampion(M::KIND))
    }

    /// The champion of `kind`, for callers that do not call it.
    ///
    /// # Errors
    /// [`ScoreError::NoChampion`].
    pub fn champion_of(&self, kind: ModelKind) -> Result<&Arc<Model>, ScoreError> {
        self.kinds.get(&kind).and_then(|models| models.champion.as_ref()).ok_or(ScoreError::NoChampion(kind))
    }

    /// The version of the kind `M` that is pinned for this key at `now`.
    ///
    /// # Errors
    /// [`ScoreError::Unavailable`].
    pub fn pinned<M: OfKind>(&self, key: &str, now: Time) -> Result<Option<M>, ScoreError> {
        let pinned = self.kinds.get(&M::KIND).and_then(|models| models.split.pinned(key, now)).transpose()?;
        Ok(pinned.and_then(M::of))
    }

    /// The version that answers about this wallet by its slot, or else the champion. `None` is a request about several
    /// wallets, which one version answers.
    ///
    /// # Errors
    /// [`ScoreError::NoChampion`], [`ScoreError::Unavailable`].
    pub fn by_share<M: OfKind>(&self, wallet: Option<Address>) -> Result<(M, Chosen), ScoreError> {
        let models = self.kinds.get(&M::KIND);
        let by_slot = wallet.zip(models).and_then(|(wallet, models)| models.split.of(wallet)).transpose()?;
        match by_slot.and_then(M::of) {
            Some(model) => Ok((model, Chosen::Split)),
            None => Ok((self.champion()?, Chosen::Champion)),
        }
    }

    /// Whether this key may choose a version of `kind` by a header.
    pub fn lets_choose(&self, kind: ModelKind, key: &str) -> bool {
        self.kinds.get(&kind).is_some_and(|models| models.split.lets_choose(key))
    }

    /// The models that score in the shadow.
    pub fn challengers<M: OfKind>(&self) -> Vec<M> {
        self.kinds.get(&M::KIND).map_or_else(Vec::new, |models| models.challengers.iter().filter_map(M::of).collect())
    }

    /// A loaded version, whatever its role.
    pub fn version(&self, kind: ModelKind, version: &ModelVersion) -> Option<&Arc<Model>> {
        self.loaded(kind).iter().find(|model| model.version() == version)
    }

    /// Every loaded version of `kind`, lowest first.
    pub fn loaded(&self, kind: ModelKind) -> &[Arc<Model>] {
        self.kinds.get(&kind).map_or(&[], |models| models.loaded.as_slice())
    }
}
