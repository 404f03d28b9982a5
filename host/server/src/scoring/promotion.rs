//! Guarded promotion: what the shadow saw of a version, held against the configured bounds.

use super::{Scoring, roles::MoveError, shadow::Standing};
use crate::config;
use assay_domain::ModelKind;
use assay_registry::{Model, RoleError};

/// What the shadow saw of a version beside the champion.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Calls, failed ones included.
    pub calls: u64,
    /// Share of them that failed.
    pub failures: f64,
    /// `None` where nothing was scored by both.
    pub psi: Option<f64>,
    /// Share of subjects that come into another range.
    pub migration: Option<f64>,
    /// Median time of a call over the champion's.
    pub latency_ratio: Option<f64>,
}

/// What speaks for and against a promotion.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    bounds: config::Promotion,
    evidence: Option<Evidence>,
    /// Why the version is out of service, where it is.
    benched: Option<String>,
}

impl Figures {
    pub fn new(bounds: &config::Promotion, evidence: Option<Evidence>, benched: Option<String>) -> Self {
        Self { bounds: bounds.clone(), evidence, benched }
    }

    pub fn allow(&self) -> bool {
        self.against().is_empty()
    }

    /// What speaks against it, in a sentence.
    pub fn verdict(&self) -> String {
        self.against().join(", ")
    }

    /// The figures that were looked at; `None` where the shadow saw too little.
    pub fn said(&self) -> Option<String> {
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
        self.evidence.as_ref().filter(|evidence| evidence.calls >= self.bounds.min_scores.max(1))
    }

    fn against(&self) -> Vec<String> {
        let mut against = Vec::new();
        against.extend(self.benched.as_ref().map(|why| format!("it is out of service: {why}")));
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
        for (what, value, most) in [
            ("the share of failed calls", Some(evidence.failures), bounds.max_failures),
            ("the PSI of its scores", evidence.psi, bounds.max_psi),
            ("the share of subjects in another range", evidence.migration, bounds.max_migration),
            ("its latency over the champion's", evidence.latency_ratio, bounds.max_latency_ratio),
        ] {
            if let Some(value) = value.filter(|value| *value > most) {
                against.push(format!(
                    "{what} is {value:.3} and may be {most} (of {} calls in {} h)",
                    evidence.calls,
                    bounds.window_hours()
                ));
            }
        }
        against
    }
}

impl Scoring {
    pub(super) async fn guard(&self, kind: ModelKind, model: &Model) -> Result<Figures, MoveError> {
        let benched = match self.inner.registry.in_service(kind, model.version()) {
            Err(RoleError::Benched { why, .. }) => Some(why),
            _ => None,
        };
        let champion = self.inner.registry.champion(kind).ok();
        let standings = self.standings(kind, self.inner.promotion.window_hours()).await?;
        let mine = |standing: &&Standing| {
            let (champion, record) = (champion.as_ref().map(|champion| champion.digest()), &standing.record);
            (Some(record.champion.digest), record.challenger.digest) == (champion, model.digest())
        };
        Ok(Figures::new(&self.inner.promotion, standings.iter().find(mine).map(Standing::evidence), benched))
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

    fn evidence() -> Evidence {
        Evidence { calls: 100, failures: 0.0, psi: Some(0.1), migration: Some(0.2), latency_ratio: Some(1.0) }
    }

    #[test]
    fn every_bound_is_held_and_named() {
        let verdict = |evidence: Evidence| Figures::new(&bounds(), Some(evidence), None).verdict();
        assert_eq!(verdict(evidence()), "");
        for (evidence, says) in [
            (Evidence { failures: 0.01, ..evidence() }, "failed calls is 0.010 and may be 0"),
            (Evidence { psi: Some(0.26), ..evidence() }, "PSI of its scores is 0.260 and may be 0.25"),
            (Evidence { migration: Some(0.5), ..evidence() }, "another range is 0.500 and may be 0.4"),
            (Evidence { latency_ratio: Some(9.0), ..evidence() }, "latency over the champion's is 9.000 and may be 3"),
        ] {
            assert!(verdict(evidence.clone()).contains(says), "{evidence:?}: {}", verdict(evidence.clone()));
        }
    }

    #[test]
    fn little_is_no_reason_unless_it_has_to_be_enough() {
        let little = Some(Evidence { calls: 99, failures: 1.0, ..evidence() });
        assert!(Figures::new(&bounds(), little.clone(), None).allow());
        let strict = config::Promotion { require_shadow: true, ..bounds() };
        assert!(Figures::new(&strict, little, None).verdict().contains("has seen 99 calls"));
        assert!(!Figures::new(&strict, None, None).allow());
        assert!(!Figures::new(&bounds(), None, Some("it trapped".to_owned())).allow());
    }
}
