//! Compares several versions on one subject: their answers to the same features, and the differences to the first.

use std::{sync::Arc, time::Duration};

use super::{Scoring, ScoringError};
use assay_domain::{
    Address, Assessment, Coverage, ModelRef, ModelVersion, Range, Snapshot, Standing, Subject, Time,
    features::{Features, features},
};
use assay_registry::{CreditModel, Registry, RoleError, ScoreError};

/// Maximum number of versions in one comparison.
pub const MOST_VERSIONS: usize = 8;

/// The answers of several versions to one snapshot.
#[derive(Debug, Clone)]
pub struct Comparison {
    pub address: Address,
    /// When the read behind all answers ended.
    pub as_of: Time,
    pub coverage: Coverage,
    /// Of the wallet, by the same features.
    pub standing: Standing,
    /// In the requested order.
    pub versions: Vec<Compared>,
}

/// The answer of one version.
#[derive(Debug, Clone)]
pub struct Compared {
    pub version: ModelVersion,
    /// `None` for a version that is not loaded.
    pub model: Option<ModelRef>,
    pub answer: Result<Assessment, NoAnswer>,
    /// Time from the call to the checked answer, as for a served answer.
    pub took: Option<Duration>,
    /// Fuel (about one per instruction) and peak memory in bytes, the same on every machine. `None` if they could
    /// not be measured.
    pub cost: Option<(u64, usize)>,
    /// Difference to the first version; `None` for the first one, and if either failed.
    pub gap: Option<Gap>,
}

/// Why a version has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    #[error(transparent)]
    Role(#[from] RoleError),
    #[error(transparent)]
    Model(#[from] ScoreError),
}

impl NoAnswer {
    /// A stable code.
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
    /// From and to, if they differ.
    pub range: Option<(Range, Range)>,
    /// Differences of points by label, over the factors of both; a missing factor counts as 0 points.
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
    /// The versions that are compared by default: the champion and its challengers.
    ///
    /// # Errors
    /// [`ScoringError::Model`] without a champion.
    pub fn default_versions(&self) -> Result<Vec<ModelVersion>, ScoringError> {
        let active = self.inner.registry.active();
        let champion: CreditModel = active.champion()?;
        let all = std::iter::once(champion).chain(active.challengers());
        Ok(all.map(|model| model.version().clone()).take(MOST_VERSIONS).collect())
    }

    /// The answers of `versions` about `subject`, all from one snapshot. A version without an answer does not affect
    /// the others.
    ///
    /// # Errors
    /// As [`Scoring::score`], except for failures of one version; [`ScoringError::Version`] if none is loaded.
    pub async fn compare(&self, subject: &Subject, versions: Vec<ModelVersion>) -> Result<Comparison, ScoringError> {
        let registry = Arc::clone(&self.inner.registry);
        let found: Vec<_> = versions.into_iter().map(|version| (registry.in_service(&version), version)).collect();
        let none_loaded = found.iter().all(|(model, _)| matches!(model, Err(RoleError::Unknown { .. })));
        if let Some((Err(unknown), _)) = found.first().filter(|_| none_loaded) {
            return Err(unknown.clone().into());
        }
        let snapshot = self.active(self.address(subject).await?).await?;
        let Snapshot { address, as_of, .. } = *snapshot;
        let coverage = snapshot.score_coverage();
        // The first measurement compiles a version, which takes as long as loading it.
        let work = tokio::task::spawn_blocking(move || {
            let features = features(&snapshot);
            let answers = found.into_iter().map(|(model, version)| one_answer(&registry, model, version, &features));
            (answers.collect::<Vec<_>>(), Standing::of(&features))
        });
        let (mut versions, standing) = work.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        let first = versions.first().and_then(|first| first.answer.as_ref().ok()).cloned();
        for compared in versions.iter_mut().skip(1) {
            compared.gap =
                first.as_ref().zip(compared.answer.as_ref().ok()).map(|(first, answer)| Gap::between(first, answer));
        }
        Ok(Comparison { address, as_of, coverage, standing, versions })
    }
}

/// The answer of one version, and its cost.
fn one_answer(
    registry: &Registry,
    model: Result<CreditModel, RoleError>,
    version: ModelVersion,
    features: &Features,
) -> Compared {
    let model = match model {
        Ok(model) => model,
        Err(error) => {
            return Compared { version, model: None, answer: Err(error.into()), took: None, cost: None, gap: None };
        }
    };
    let (answer, spent) = model.score_with_cost(features);
    // A comparison shows the factors. The cost is that of a score, which is served without words too.
    let answer = answer.and_then(|scored| model.explain(features, &scored));
    let copy = registry
        .shadow_copy(&model)
        .inspect_err(|why| tracing::warn!(%version, why, "no fuel can be counted for this version"));
    // A second call on the shadow engine measures fuel and memory; the first one has the speed of a served answer.
    let counted = copy
        .ok()
        .map(|copy| copy.score_uncounted(features))
        .filter(|(answer, _)| !matches!(answer, Err(ScoreError::Busy { .. })));
    Compared {
        version,
        model: Some(model.reference().clone()),
        answer: answer.map_err(NoAnswer::from),
        took: Some(spent.took),
        cost: counted.map(|(_, spent)| (spent.fuel, spent.memory)),
        gap: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::{Decile, Factor, Score};

    fn assessment(score: u32, decile: u8, factors: &[(&str, i32)]) -> Assessment {
        let factor =
            |(label, points): &(&str, i32)| Factor { label: (*label).to_owned(), points: *points, words: None };
        let (score, decile) = (Score::new(score).unwrap(), Decile::new(decile).unwrap());
        Assessment { score, decile, factors: factors.iter().map(factor).collect() }
    }

    #[test]
    fn a_missing_factor_counts_as_0_points() {
        let gap = Gap::between(
            &assessment(700, 5, &[("Age", 30), ("Gone", 10)]),
            &assessment(760, 7, &[("New", -5), ("Age", 40)]),
        );
        assert_eq!((gap.score, gap.decile, gap.range), (60, 2, Some((Range::Fair, Range::Good))));
        assert_eq!(gap.factors, [("Age".to_owned(), 10), ("Gone".to_owned(), -10), ("New".to_owned(), -5)]);
        assert_eq!(Gap::between(&assessment(700, 5, &[]), &assessment(700, 5, &[])).range, None);
    }
}
