//! Several versions on one subject: what each says of the very same features, and how they differ from the first.

use std::{sync::Arc, time::Duration};

use super::{Scoring, ScoringError};
use assay_domain::{
    Address, Assessment, Coverage, ModelRef, ModelVersion, Range, Snapshot, Subject, Time,
    features::{Features, features},
};
use assay_registry::{CreditModel, Registry, RoleError, ScoreError};

/// Most versions in one comparison.
pub const MOST_VERSIONS: usize = 8;

/// What several versions say of one snapshot.
#[derive(Debug, Clone)]
pub struct Comparison {
    pub address: Address,
    /// When the reading behind all of them ended.
    pub as_of: Time,
    pub coverage: Coverage,
    /// In the order asked for.
    pub versions: Vec<Compared>,
}

/// What one version says.
#[derive(Debug, Clone)]
pub struct Compared {
    pub version: ModelVersion,
    /// `None` of a version that is not loaded.
    pub model: Option<ModelRef>,
    pub said: Result<Assessment, Why>,
    /// From asking to a checked answer, as an answer is served.
    pub took: Option<Duration>,
    /// Instructions, roughly, and most memory in bytes: the same on every machine. `None` where they could not be
    /// counted.
    pub cost: Option<(u64, usize)>,
    /// To the first version; `None` of that itself, and where either failed.
    pub gap: Option<Gap>,
}

/// Why a version says nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    #[error(transparent)]
    Role(#[from] RoleError),
    #[error(transparent)]
    Model(#[from] ScoreError),
}

impl Why {
    /// Never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Role(error) => error.code(),
            Self::Model(error) => error.code(),
        }
    }
}

/// How one assessment differs from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    pub score: i32,
    pub decile: i32,
    /// From and to, where it is another one.
    pub range: Option<(Range, Range)>,
    /// Points by label, of every factor that either has; a factor that one has not is worth nothing there.
    pub factors: Vec<(String, i32)>,
}

impl Gap {
    fn between(first: &Assessment, other: &Assessment) -> Self {
        let whole = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
        let (from, to) = (first.score.range(), other.score.range());
        let points = |of: &Assessment, label: &str| {
            of.factors.iter().filter(|factor| factor.label == label).map(|factor| factor.points).sum::<i32>()
        };
        let mut labels: Vec<&str> = Vec::new();
        for factor in first.factors.iter().chain(&other.factors) {
            if !labels.contains(&factor.label.as_str()) {
                labels.push(&factor.label);
            }
        }
        Self {
            score: whole(other.score.get()) - whole(first.score.get()),
            decile: i32::from(other.decile.get()) - i32::from(first.decile.get()),
            range: (from != to).then_some((from, to)),
            factors: labels
                .into_iter()
                .map(|label| (label.to_owned(), points(other, label) - points(first, label)))
                .collect(),
        }
    }
}

impl Scoring {
    /// The versions that are compared where none is named: the champion and its challengers.
    ///
    /// # Errors
    /// [`ScoringError::Model`] without a champion.
    pub fn rivals(&self) -> Result<Vec<ModelVersion>, ScoringError> {
        let active = self.inner.registry.active();
        let champion: CreditModel = active.champion()?;
        let all = std::iter::once(champion).chain(active.challengers());
        Ok(all.map(|model| model.version().clone()).take(MOST_VERSIONS).collect())
    }

    /// What `versions` say of `subject`, all of one snapshot. A version that says nothing does not keep the others from
    /// it.
    ///
    /// # Errors
    /// As [`Scoring::score`], but for what is wrong with a version; [`ScoringError::Version`] where none of them is
    /// loaded.
    pub async fn compare(&self, subject: &Subject, versions: Vec<ModelVersion>) -> Result<Comparison, ScoringError> {
        let registry = Arc::clone(&self.inner.registry);
        let found: Vec<_> = versions.into_iter().map(|version| (registry.in_service(&version), version)).collect();
        let nobody = found.iter().all(|(model, _)| matches!(model, Err(RoleError::Unknown { .. })));
        if let Some((Err(unknown), _)) = found.first().filter(|_| nobody) {
            return Err(unknown.clone().into());
        }
        let snapshot = self.active(self.address(subject).await?).await?;
        let Snapshot { address, as_of, .. } = *snapshot;
        let coverage = snapshot.events_coverage();
        // Counting compiles a version the first time, which takes as long as loading it did.
        let work = tokio::task::spawn_blocking(move || {
            let features = features(&snapshot);
            found.into_iter().map(|(model, version)| one(&registry, model, version, &features)).collect::<Vec<_>>()
        });
        let mut versions = work.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        let first = versions.first().and_then(|first| first.said.as_ref().ok()).cloned();
        for compared in versions.iter_mut().skip(1) {
            compared.gap =
                first.as_ref().zip(compared.said.as_ref().ok()).map(|(first, said)| Gap::between(first, said));
        }
        Ok(Comparison { address, as_of, coverage, versions })
    }
}

fn one(
    registry: &Registry,
    model: Result<CreditModel, RoleError>,
    version: ModelVersion,
    features: &Features,
) -> Compared {
    let model = match model {
        Ok(model) => model,
        Err(error) => {
            return Compared { version, model: None, said: Err(error.into()), took: None, cost: None, gap: None };
        }
    };
    let (said, spent) = model.score_with_cost(features);
    let copy = registry
        .shadow_copy(&model)
        .inspect_err(|why| tracing::warn!(%version, why, "no fuel can be counted for this version"));
    // A second call on the shadow engine measures the fuel; only the first one is as fast as an answer.
    let counted = copy
        .ok()
        .map(|copy| copy.score_uncounted(features))
        .filter(|(said, _)| !matches!(said, Err(ScoreError::Busy { .. })));
    Compared {
        version,
        model: Some(model.reference().clone()),
        said: said.map_err(Why::from),
        took: Some(spent.took),
        cost: counted.map(|(_, spent)| (spent.fuel, spent.memory)),
        gap: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::{Decile, Factor, Score};

    fn said(score: u32, decile: u8, factors: &[(&str, i32)]) -> Assessment {
        let factor = |(label, points): &(&str, i32)| Factor {
            label: (*label).to_owned(),
            rating: Range::Good,
            description: String::new(),
            points: *points,
            possible: 100,
        };
        let (score, decile) = (Score::new(score).unwrap(), Decile::new(decile).unwrap());
        Assessment { score, decile, factors: factors.iter().map(factor).collect() }
    }

    #[test]
    fn a_factor_that_one_of_them_lacks_counts_as_nothing_there() {
        let gap = Gap::between(&said(700, 5, &[("Age", 30), ("Gone", 10)]), &said(760, 7, &[("New", -5), ("Age", 40)]));
        assert_eq!((gap.score, gap.decile, gap.range), (60, 2, Some((Range::Fair, Range::Good))));
        assert_eq!(gap.factors, [("Age".to_owned(), 10), ("Gone".to_owned(), -10), ("New".to_owned(), -5)]);
        assert_eq!(Gap::between(&said(700, 5, &[]), &said(700, 5, &[])).range, None);
    }
}
