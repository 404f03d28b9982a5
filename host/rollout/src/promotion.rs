//! The review before a promotion: what the shadow measured of a version, compared with the configured bounds; and of a
//! credit model that would replace another, what is shown of its claims and which wallets it refuses.

use std::{collections::HashSet, sync::Arc};

use super::{
    Rollout,
    recent::Trial,
    shadow::{ShadowEvidence, ShadowPair},
};
use crate::config;
use assay_domain::ModelKind;
use assay_registry::{CreditModel, Model, ModelStatus, OfKind as _, RoleError};
use assay_store::StoreError;
use assay_tasks::blocking;

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
    pub fn bounds(&self, evidence: &ShadowEvidence) -> [Bound; 4] {
        let bound = |name, what, value, most| Bound { name, what, value, most };
        let ShadowEvidence { failures, psi, migration, latency_ratio, .. } = *evidence;
        // A few wallets differ by chance from any others.
        let psi = psi.filter(|_| self.applies(evidence));
        [
            bound("failures", "the share of failed calls", Some(failures), self.max_failures),
            bound("psi", "the PSI of its scores", psi, self.max_psi),
            bound("migration", "the share of wallets in another range", migration, self.max_migration),
            bound("latency_ratio", "its latency over the champion's", latency_ratio, self.max_latency_ratio),
        ]
    }

    /// The bounds that `evidence` exceeds, each in words.
    pub fn exceeded(&self, evidence: &ShadowEvidence) -> Vec<String> {
        let above = |Bound { what, value, most, .. }: Bound| {
            format!(
                "{what} is {:.3}, above the limit of {most} (of {} wallets in {} h)",
                value.unwrap_or_default(),
                evidence.wallets,
                self.window_hours()
            )
        };
        self.bounds(evidence).into_iter().filter(|bound| !bound.is_met()).map(above).collect()
    }

    /// Whether the shadow has seen enough wallets for the bounds to apply.
    pub fn applies(&self, evidence: &ShadowEvidence) -> bool {
        evidence.wallets >= self.min_scores.max(1)
    }
}

/// The evidence for and against the promotion of a version.
#[derive(Debug, Clone, PartialEq)]
pub struct Review {
    bounds: config::Promotion,
    evidence: Option<ShadowEvidence>,
    /// Why the version is out of service, if it is.
    out_of_service: Option<String>,
    /// The evidence about a credit model that would replace a champion; `None` for other kinds, and for a first
    /// champion.
    credit: Option<Credit>,
}

/// The evidence about a credit model that would replace another.
#[derive(Debug, Clone, PartialEq, Default)]
struct Credit {
    /// Wallets that this server has scored, as far as it kept them.
    scored: u64,
    /// Which of its claims are not shown to hold.
    doubts: Option<String>,
    /// Its answers about the wallets that were scored last, or why there are none.
    trial: Option<Result<Trial, String>>,
}

impl Review {
    pub(super) fn allows(&self) -> bool {
        self.against().is_empty()
    }

    /// The reasons against the promotion, in a sentence, with the number of wallets that the version would refuse,
    /// which is not a reason.
    pub(crate) fn objections(&self) -> String {
        let against = self.against().join("; ");
        self.refusals().map_or_else(|| against.clone(), |refusals| format!("{against} ({refusals})"))
    }

    /// The measured figures; `None` if there are none.
    pub(super) fn summary(&self) -> Option<String> {
        let measured = self.enough().map(|ShadowEvidence { calls, wallets, failures, psi, migration, latency_ratio }| {
            let figure =
                |value: &Option<f64>| value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.3}"));
            format!(
                "{calls} calls for {wallets} wallets in the shadow: failures {failures:.4}, PSI {}, in another range \
                 {}, latency ratio {}",
                figure(psi),
                figure(migration),
                figure(latency_ratio)
            )
        });
        let parts: Vec<_> = [measured, self.refusals()].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// How many of the last wallets it would refuse.
    fn refusals(&self) -> Option<String> {
        Some(match self.credit.as_ref()?.trial.as_ref()? {
            Ok(Trial { wallets, refused, failed }) => {
                let failed = if *failed > 0 { format!(", and fails for {failed}") } else { String::new() };
                format!("it refuses {refused} of the last {wallets} wallets with not_scored{failed}")
            }
            Err(why) => format!("it could not be tried on the last wallets: {why}"),
        })
    }

    fn enough(&self) -> Option<&ShadowEvidence> {
        self.evidence.as_ref().filter(|evidence| self.bounds.applies(evidence))
    }

    fn against(&self) -> Vec<String> {
        let mut against = Vec::new();
        against.extend(self.out_of_service.as_ref().map(|why| format!("it is out of service: {why}")));
        against.extend(self.credit.as_ref().and_then(|credit| credit.doubts.clone()));
        let bounds = &self.bounds;
        let Some(evidence) = self.enough() else {
            let seen = self.evidence.as_ref().map_or(0, |evidence| evidence.wallets);
            let (hours, needed) = (bounds.window_hours(), bounds.min_scores);
            let shadow = format!("the shadow has seen {seen} wallets of it in {hours} h, and needs {needed}");
            let scored = self.credit.as_ref().map_or(0, |credit| credit.scored);
            if scored >= needed.max(1) {
                against
                    .push(format!("this server has scored {scored} wallets, but {shadow}: make it a challenger first"));
            } else if bounds.require_shadow {
                against.push(shadow);
            }
            return against;
        };
        against.extend(bounds.exceeded(evidence));
        against
    }
}

impl Rollout {
    /// Reviews a version against the evidence, compared with the current champion. `doubts` says which of its claims
    /// are not shown to hold.
    pub(super) async fn review(
        &self,
        kind: ModelKind,
        model: &Arc<Model>,
        doubts: Option<String>,
    ) -> Result<Review, StoreError> {
        let out_of_service = match self.inner.registry.check_in_service(kind, model.version()) {
            Some(RoleError::OutOfService { why, .. }) => Some(why),
            _ => None,
        };
        let champion = self.inner.registry.champion_of(kind).ok().map(|champion| champion.digest());
        let evidence = self.evidence(model).await?;
        let replaces = kind == ModelKind::Credit && champion.is_some_and(|champion| champion != model.digest());
        let credit = if replaces { Some(self.credit(model, doubts).await?) } else { None };
        Ok(Review { bounds: self.inner.promotion.clone(), evidence, out_of_service, credit })
    }

    /// What the shadow measured of a version beside the current champion; `None` if nothing.
    pub(super) async fn evidence(&self, model: &Model) -> Result<Option<ShadowEvidence>, StoreError> {
        let kind = model.kind();
        let champion = self.inner.registry.champion_of(kind).ok().map(|champion| champion.digest());
        let pairs = self.shadow_pairs(kind, self.inner.promotion.window_hours()).await?;
        let pair = pairs.iter().find(|pair| {
            Some(pair.record.champion.digest) == champion && pair.record.challenger.digest == model.digest()
        });
        Ok(pair.map(ShadowPair::evidence))
    }

    async fn credit(&self, model: &Arc<Model>, doubts: Option<String>) -> Result<Credit, StoreError> {
        let (registry, recent) = (Arc::clone(&self.inner.registry), Arc::clone(&self.inner.recent));
        let trial =
            CreditModel::of(model).map(|model| async move { blocking(move || recent.try_on(&registry, &model)).await });
        let trial = match trial {
            Some(trial) => Some(trial.await).filter(|trial| !matches!(trial, Ok(Trial { wallets: 0, .. }))),
            None => None,
        };
        Ok(Credit { scored: self.scored_wallets().await?.max(self.inner.recent.count()), doubts, trial })
    }

    /// Wallets of which a score by a loaded credit model is kept.
    async fn scored_wallets(&self) -> Result<u64, StoreError> {
        let listed = self.inner.registry.list();
        let is_credit = |status: &&ModelStatus| status.info.as_ref().is_some_and(|info| info.kind == ModelKind::Credit);
        let models: Vec<_> = listed.iter().filter(is_credit).filter_map(|status| status.digest).collect();
        let observed = self.observed(&models).await?;
        let wallets: HashSet<_> = observed.values().flat_map(|of| &of.scores).map(|found| found.address).collect();
        Ok(wallets.len() as u64)
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

    fn review(bounds: config::Promotion, evidence: Option<ShadowEvidence>, out_of_service: Option<String>) -> Review {
        Review { bounds, evidence, out_of_service, credit: None }
    }

    fn evidence() -> ShadowEvidence {
        ShadowEvidence {
            calls: 150,
            wallets: 100,
            failures: 0.0,
            psi: Some(0.1),
            migration: Some(0.2),
            latency_ratio: Some(1.0),
        }
    }

    #[test]
    fn every_bound_is_checked_and_named() {
        let objections = |evidence: ShadowEvidence| review(bounds(), Some(evidence), None).objections();
        assert_eq!(objections(evidence()), "");
        for (evidence, says) in [
            (ShadowEvidence { failures: 0.01, ..evidence() }, "failed calls is 0.010, above the limit of 0"),
            (ShadowEvidence { psi: Some(0.26), ..evidence() }, "PSI of its scores is 0.260, above the limit of 0.25"),
            (ShadowEvidence { migration: Some(0.5), ..evidence() }, "another range is 0.500, above the limit of 0.4"),
            (
                ShadowEvidence { latency_ratio: Some(9.0), ..evidence() },
                "latency over the champion's is 9.000, above the limit of 3",
            ),
        ] {
            assert!(objections(evidence.clone()).contains(says), "{evidence:?}: {}", objections(evidence.clone()));
        }
    }

    #[test]
    fn too_few_wallets_prevent_a_promotion_if_the_shadow_is_required() {
        // Calls do not count.
        let little = Some(ShadowEvidence { calls: 1_000, wallets: 99, failures: 1.0, ..evidence() });
        assert!(review(bounds(), little.clone(), None).allows());
        let strict = config::Promotion { require_shadow: true, ..bounds() };
        assert!(review(strict.clone(), little, None).objections().contains("has seen 99 wallets"));
        assert!(!review(strict, None, None).allows());
        assert!(!review(bounds(), None, Some("it trapped".to_owned())).allows());
    }

    #[test]
    fn the_psi_of_a_few_wallets_is_no_judgement() {
        let psi = |wallets| bounds().bounds(&ShadowEvidence { wallets, psi: Some(6.78), ..evidence() })[1];
        assert_eq!((psi(9).value, psi(9).is_met()), (None, true));
        assert_eq!((psi(100).value, psi(100).is_met()), (Some(6.78), false));
    }

    #[test]
    fn a_credit_model_that_replaces_another_needs_the_shadow_and_shown_claims() {
        let of = |scored, seen: Option<u64>, doubts: Option<&str>, trial| {
            let evidence = seen.map(|wallets| ShadowEvidence { wallets, ..evidence() });
            let credit = Credit { scored, doubts: doubts.map(str::to_owned), trial };
            Review { credit: Some(credit), ..review(bounds(), evidence, None) }
        };
        // The server is new, so the shadow has no evidence.
        assert!(of(99, None, None, None).allows());
        for seen in [None, Some(99)] {
            let objections = of(100, seen, None, None).objections();
            let seen = seen.unwrap_or(0);
            let says =
                format!("has scored 100 wallets, but the shadow has seen {seen} wallets of it in 24 h, and needs 100");
            assert!(objections.contains(&says), "{objections}");
        }
        assert!(of(100, Some(100), None, None).allows());
        assert!(of(0, None, Some("its card shows nothing"), None).objections().contains("its card shows nothing"));
        let trial = Trial { wallets: 50, refused: 7, failed: 1 };
        let says = "it refuses 7 of the last 50 wallets with not_scored, and fails for 1";
        assert!(of(0, None, None, Some(Ok(trial))).allows(), "refusals prevent nothing");
        assert_eq!(of(0, None, None, Some(Ok(trial))).summary().as_deref(), Some(says));
        assert!(of(100, None, None, Some(Ok(trial))).objections().ends_with(&format!("({says})")));
    }
}
