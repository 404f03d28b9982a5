//! The review before a promotion: what the shadow measured of a version, compared with the configured bounds.

use super::{Rollout, shadow::Evidence};
use crate::config;
use assay_domain::ModelKind;
use assay_registry::{Model, RoleError};
use assay_store::StoreError;

/// A measured figure with the most that a promotion allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// As its key in `[promotion]`, without `max_`.
    pub name: &'static str,
    /// In words, for an objection.
    what: &'static str,
    /// `None` if it is unknown; then it prevents nothing.
    pub value: Option<f64>,
    pub most: f64,
}

impl Bound {
    pub fn is_met(&self) -> bool {
        self.value.is_none_or(|value| value <= self.most)
    }
}

impl config::Promotion {
    /// The figures of `evidence` that have a bound.
    pub fn bounds(&self, evidence: &Evidence) -> [Bound; 4] {
        let bound = |name, what, value, most| Bound { name, what, value, most };
        let Evidence { failures, psi, migration, latency_ratio, .. } = *evidence;
        [
            bound("failures", "the share of failed calls", Some(failures), self.max_failures),
            bound("psi", "the PSI of its scores", psi, self.max_psi),
            bound("migration", "the share of subjects in another range", migration, self.max_migration),
            bound("latency_ratio", "its latency over the champion's", latency_ratio, self.max_latency_ratio),
        ]
    }

    /// Whether the shadow has seen enough for the bounds to apply.
    pub fn applies(&self, evidence: &Evidence) -> bool {
        evidence.calls >= self.min_scores.max(1)
    }
}

/// What supports and what prevents the promotion of a version.
#[derive(Debug, Clone, PartialEq)]
pub struct Review {
    bounds: config::Promotion,
    evidence: Option<Evidence>,
    /// Why the version is out of service, if it is.
    out_of_service: Option<String>,
}

impl Review {
    pub(super) fn allows(&self) -> bool {
        self.against().is_empty()
    }

    /// What prevents the promotion, in a sentence.
    pub(crate) fn objections(&self) -> String {
        self.against().join(", ")
    }

    /// The measured figures; `None` if the shadow saw too few calls.
    pub(super) fn summary(&self) -> Option<String> {
        let Evidence { calls, failures, psi, migration, latency_ratio } = self.enough()?;
        let figure = |value: &Option<f64>| value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.3}"));
        Some(format!(
            "{calls} calls in the shadow: failures {failures:.4}, PSI {}, in another range {}, latency ratio {}",
            figure(psi),
            figure(migration),
            figure(latency_ratio)
        ))
    }

    fn enough(&self) -> Option<&Evidence> {
        self.evidence.as_ref().filter(|evidence| self.bounds.applies(evidence))
    }

    fn against(&self) -> Vec<String> {
        let mut against = Vec::new();
        against.extend(self.out_of_service.as_ref().map(|why| format!("it is out of service: {why}")));
        let bounds = &self.bounds;
        let Some(evidence) = self.enough() else {
            if bounds.require_shadow {
                let seen = self.evidence.as_ref().map_or(0, |evidence| evidence.calls);
                against.push(format!(
                    "the shadow has seen {seen} calls of it in {} h, and needs {}",
                    bounds.window_hours(),
                    bounds.min_scores
                ));
            }
            return against;
        };
        for Bound { what, value, most, .. } in bounds.bounds(evidence).into_iter().filter(|bound| !bound.is_met()) {
            against.push(format!(
                "{what} is {:.3} and may be {most} (of {} calls in {} h)",
                value.unwrap_or_default(),
                evidence.calls,
                bounds.window_hours()
            ));
        }
        against
    }
}

impl Rollout {
    /// Reviews a version against the evidence beside the current champion.
    pub(super) async fn review(&self, kind: ModelKind, model: &Model) -> Result<Review, StoreError> {
        let out_of_service = match self.inner.registry.check_in_service(kind, model.version()) {
            Some(RoleError::OutOfService { why, .. }) => Some(why),
            _ => None,
        };
        let champion = self.inner.registry.champion_of(kind).ok().map(|champion| champion.digest());
        let pairs = self.shadow_pairs(kind, self.inner.promotion.window_hours()).await?;
        let pair = pairs.iter().find(|pair| {
            Some(pair.record.champion.digest) == champion && pair.record.challenger.digest == model.digest()
        });
        let evidence = pair.map(|pair| pair.evidence());
        Ok(Review { bounds: self.inner.promotion.clone(), evidence, out_of_service })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds() -> config::Promotion {
        config::Promotion {
            window: std::time::Duration::from_secs(24 * 3_600),
            min_scores: 100,
            max_psi: 0.25,
            max_migration: 0.4,
            max_failures: 0.0,
            max_latency_ratio: 3.0,
            require_shadow: false,
        }
    }

    fn review(bounds: config::Promotion, evidence: Option<Evidence>, out_of_service: Option<String>) -> Review {
        Review { bounds, evidence, out_of_service }
    }

    fn evidence() -> Evidence {
        Evidence { calls: 100, failures: 0.0, psi: Some(0.1), migration: Some(0.2), latency_ratio: Some(1.0) }
    }

    #[test]
    fn every_bound_is_checked_and_named() {
        let objections = |evidence: Evidence| review(bounds(), Some(evidence), None).objections();
        assert_eq!(objections(evidence()), "");
        for (evidence, says) in [
            (Evidence { failures: 0.01, ..evidence() }, "failed calls is 0.010 and may be 0"),
            (Evidence { psi: Some(0.26), ..evidence() }, "PSI of its scores is 0.260 and may be 0.25"),
            (Evidence { migration: Some(0.5), ..evidence() }, "another range is 0.500 and may be 0.4"),
            (Evidence { latency_ratio: Some(9.0), ..evidence() }, "latency over the champion's is 9.000 and may be 3"),
        ] {
            assert!(objections(evidence.clone()).contains(says), "{evidence:?}: {}", objections(evidence.clone()));
        }
    }

    #[test]
    fn too_few_calls_prevent_a_promotion_only_where_the_shadow_is_required() {
        let little = Some(Evidence { calls: 99, failures: 1.0, ..evidence() });
        assert!(review(bounds(), little.clone(), None).allows());
        let strict = config::Promotion { require_shadow: true, ..bounds() };
        assert!(review(strict.clone(), little, None).objections().contains("has seen 99 calls"));
        assert!(!review(strict, None, None).allows());
        assert!(!review(bounds(), None, Some("it trapped".to_owned())).allows());
    }
}
