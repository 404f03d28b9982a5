//! The cards of models in service, as answers use them.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use assay_domain::{
    Claim, Claimed, Digest, Factor, ModelInfo, ModelKind, ModelRef, ModelVersion, ReasonCodes, Reasons, Standing,
};
use assay_registry::Registry;
use assay_tasks::blocking;
use moka::future::Cache;

use super::{ModelInputs, claims, codes, doubts, inputs, path};
use crate::{Basis, Scored};

/// Models whose claims are kept.
const KEPT: u64 = 256;
/// How long a changed card may go unnoticed.
const MOMENT: Duration = Duration::from_secs(1);

/// A model's description of itself, and the card in its component.
pub type Described = (ModelInfo, Option<Arc<str>>);

/// What answers use of a card.
#[derive(Clone, Default)]
struct Kept {
    claims: Arc<[Claim]>,
    codes: Arc<ReasonCodes>,
    /// `None` if the model is not loaded.
    inputs: Option<Arc<ModelInputs>>,
}

/// The claims, reason codes and inputs of models in service, cached until their cards change.
pub struct Cards {
    shelf: PathBuf,
    kept: Cache<(Digest, Option<SystemTime>), Kept>,
    /// When a card was changed, for the moment: each score asks.
    changed: Cache<PathBuf, Option<SystemTime>>,
}

impl Cards {
    /// The claims of the model of `scored` for the wallet.
    pub async fn claimed(&self, registry: &Registry, scored: &Scored) -> Claimed {
        if matches!(scored.basis, Basis::Unknown) {
            return Claimed::Nothing;
        }
        let claims = self.claims(&scored.model, || described(registry, &scored.model)).await;
        match scored.basis {
            Basis::Wallet(standing) => assay_domain::claimed(&claims, &standing, scored.assessment.score.range()),
            _ if claims.is_empty() => Claimed::Nothing,
            _ => Claimed::Outside("No rate is claimed for a score with off-chain assets.".to_owned()),
        }
    }

    /// The reasons of `scored`; `None` if its model was not asked for words. A score with off-chain assets has those of
    /// the score from the chains alone, and a mock score has no base.
    pub async fn reasons(&self, registry: &Registry, scored: &Scored) -> Option<Reasons> {
        let standing = match &scored.basis {
            Basis::Wallet(standing) => Some(standing),
            Basis::Boosted | Basis::Unknown => None,
        };
        let factors = &scored.assessment.factors;
        let reasons = self.codes(registry, &scored.model).await.reasons(factors, standing)?;
        let clamp = reasons.clamp.filter(|_| !matches!(scored.basis, Basis::Unknown));
        Some(Reasons { clamp, ..reasons })
    }

    /// The reasons of a score with `factors` by `model`.
    pub async fn reasons_of(
        &self,
        registry: &Registry,
        model: &ModelRef,
        factors: &[Factor],
        standing: &Standing,
    ) -> Option<Reasons> {
        self.codes(registry, model).await.reasons(factors, Some(standing))
    }

    async fn codes(&self, registry: &Registry, model: &ModelRef) -> Arc<ReasonCodes> {
        self.kept(model, || described(registry, model)).await.codes
    }

    pub fn new(shelf: &Path) -> Self {
        let changed = Cache::builder().max_capacity(KEPT).time_to_live(MOMENT).build();
        Self { shelf: shelf.to_owned(), kept: Cache::new(KEPT), changed }
    }

    /// The claims of a loaded version that are not shown to hold, for the review of its promotion.
    pub async fn doubts(&self, registry: &Registry, kind: ModelKind, version: &ModelVersion) -> Option<String> {
        let model = registry.version_of(kind, version)?;
        let (shelf, digest, info) = (self.shelf.clone(), model.digest(), model.info().clone());
        let packed = model.notes().card.clone();
        let found = blocking(move || doubts(&shelf, &info, digest, packed.as_deref())).await;
        found.unwrap_or_else(|error| Some(error.to_string()))
    }

    /// The folder of models and their cards.
    pub fn shelf(&self) -> &Path {
        &self.shelf
    }

    /// The claims of `model`. A card that cannot be used claims nothing, and is logged. `info` is called only if the
    /// card was not read before.
    pub async fn claims(&self, model: &ModelRef, info: impl FnOnce() -> Option<Described>) -> Arc<[Claim]> {
        self.kept(model, info).await.claims
    }

    /// The inputs of a loaded model; `None` if it is not loaded.
    pub async fn inputs(&self, registry: &Registry, model: &ModelRef) -> Option<Arc<ModelInputs>> {
        self.kept(model, || described(registry, model)).await.inputs
    }

    async fn kept(&self, model: &ModelRef, info: impl FnOnce() -> Option<Described>) -> Kept {
        let file = path(&self.shelf, model.kind, &model.version);
        let look = {
            let file = file.clone();
            blocking(move || fs::metadata(file).and_then(|found| found.modified()).ok())
        };
        let changed = self.changed.get_with(file, look).await;
        let read = async {
            let (info, packed) = info()?;
            let (shelf, digest) = (self.shelf.clone(), model.digest);
            let read = move || {
                let packed = packed.as_deref();
                let inputs = inputs(&shelf, &info, digest, packed);
                let inputs = inputs.inspect_err(|error| tracing::warn!(%error, "the inputs are those that it reads"));
                let inputs = inputs.unwrap_or_else(|_| ModelInputs::read_by(&info));
                (claims(&shelf, &info, digest, packed), codes(&shelf, &info, digest, packed), inputs)
            };
            let (claims, codes, inputs) = blocking(read).await;
            let claims = claims.inspect_err(|error| tracing::warn!(%error, "no claim is served"));
            let codes = codes.inspect_err(|error| tracing::warn!(%error, "reasons have codes of their labels"));
            Some(Kept {
                claims: claims.map(Into::into).unwrap_or_default(),
                codes: codes.map(Arc::new).unwrap_or_default(),
                inputs: Some(Arc::new(inputs)),
            })
        };
        self.kept.optionally_get_with((model.digest, changed), read).await.unwrap_or_default()
    }
}

/// The description and the packed card of a loaded model.
fn described(registry: &Registry, model: &ModelRef) -> Option<Described> {
    let loaded = registry.version_of(model.kind, &model.version);
    let loaded = loaded.filter(|loaded| loaded.digest() == model.digest)?;
    Some((loaded.info().clone(), loaded.notes().card.clone()))
}
