//! Where the answers of production paths come from, chosen once at the start: the chains or the sandbox generator.

use std::{collections::HashSet, sync::Arc};

use alloy::primitives::keccak256;

use super::{
    Aggregate, Ask, ChainReport, IdentityReport, MeanScore, Report, Sandbox, Scenarios, Scoring, ScoringError, Several,
    Summarized, scenario::Condition,
};
use crate::rollout::Scored;
use assay_domain::{Address, ChainId, Subject, UnreadByChain};
use assay_registry::MockReport;

/// One source of answers. Cheap to clone.
#[derive(Clone)]
pub enum Source {
    Chains(Scoring),
    Sandbox(Scoring, Scenarios),
}

/// A report, or the part of it on one chain, from either source.
#[derive(Debug, Clone)]
pub enum Reported<R> {
    Read(R),
    Mock { address: Address, report: Box<MockReport>, unread: Option<UnreadByChain> },
}

impl Source {
    pub fn is_sandbox(&self) -> bool {
        matches!(self, Self::Sandbox(..))
    }

    /// # Errors
    /// As [`Scoring::score`].
    pub async fn score(&self, subject: &Subject, ask: &Ask<'_>) -> Result<Arc<Scored>, ScoringError> {
        match self {
            Self::Chains(scoring) => scoring.score(subject, ask).await,
            Self::Sandbox(scoring, scenarios) => {
                let (sandbox, address, condition) = scored_by(ask.by, scoring, scenarios, subject).await?;
                sandbox.scored((address, condition), None, ask.factors).map(Arc::new)
            }
        }
    }

    /// # Errors
    /// As [`Scoring::boosted`].
    pub async fn boosted(
        &self,
        subject: &Subject,
        total_asset_usd: f64,
        ask: &Ask<'_>,
    ) -> Result<Arc<Scored>, ScoringError> {
        match self {
            Self::Chains(scoring) => scoring.boosted(subject, total_asset_usd, ask).await,
            Self::Sandbox(scoring, scenarios) => {
                let (sandbox, address, condition) = scored_by(ask.by, scoring, scenarios, subject).await?;
                sandbox.scored((address, condition), Some(total_asset_usd), ask.factors).map(Arc::new)
            }
        }
    }

    /// # Errors
    /// As [`Scoring::scores`].
    pub async fn scores(&self, subjects: Vec<Subject>, ask: &Ask<'_>) -> Result<Several<Arc<Scored>>, ScoringError> {
        match self {
            Self::Chains(scoring) => scoring.scores(subjects, ask).await,
            Self::Sandbox(scoring, _) => {
                let (sandbox, addresses, factors) = (scoring.sandbox(), addresses(&subjects), ask.factors);
                let score = move || {
                    let Several { found, skipped } = sandbox.conditions(addresses)?;
                    let scored = found.into_iter().map(|one| sandbox.scored(one, None, factors).map(Arc::new));
                    Ok(Several { found: scored.collect::<Result<_, ScoringError>>()?, skipped })
                };
                blocking(score).await
            }
        }
    }

    /// # Errors
    /// As [`Scoring::mean`].
    pub async fn mean(&self, subjects: Vec<Subject>, ask: &Ask<'_>) -> Result<MeanScore, ScoringError> {
        match self {
            Self::Chains(scoring) => scoring.mean(subjects, ask).await,
            Self::Sandbox(scoring, _) => {
                let (sandbox, addresses) = (scoring.sandbox(), addresses(&subjects));
                blocking(move || sandbox.mean_scored(sandbox.conditions(addresses)?)).await
            }
        }
    }

    /// # Errors
    /// As [`Scoring::report`].
    pub async fn report(&self, subject: &Subject, by: &str) -> Result<Reported<Report>, ScoringError> {
        match self {
            Self::Chains(scoring) => scoring.report(subject, by).await.map(Reported::Read),
            Self::Sandbox(scoring, scenarios) => {
                let (sandbox, address, condition) = scored_by(by, scoring, scenarios, subject).await?;
                mock_report(&sandbox, address, condition)
            }
        }
    }

    /// The report of one chain; the mock report is of all chains.
    ///
    /// # Errors
    /// As [`Scoring::chain_report`].
    pub async fn chain_report(&self, subject: &Subject, chain: ChainId) -> Result<Reported<ChainReport>, ScoringError> {
        match self {
            Self::Chains(scoring) => scoring.chain_report(subject, chain).await.map(Reported::Read),
            Self::Sandbox(scoring, _) => {
                let (sandbox, address, condition) = entered(scoring, subject).await?;
                condition.require(chain)?;
                let mut report = mock_report(&sandbox, address, condition)?;
                if let Reported::Mock { unread: Some(unread), .. } = &mut report {
                    unread.retain(|(id, _)| *id == chain);
                }
                Ok(report)
            }
        }
    }

    /// # Errors
    /// As [`Scoring::summary`].
    pub async fn summary(&self, subject: &Subject) -> Result<Summarized, ScoringError> {
        match self {
            Self::Chains(scoring) => scoring.summary(subject).await,
            Self::Sandbox(scoring, _) => {
                let (sandbox, address, condition) = entered(scoring, subject).await?;
                sandbox.summary(address, condition)
            }
        }
    }

    /// # Errors
    /// As [`Scoring::current_summary`].
    pub async fn current_summary(&self, subject: &Subject) -> Result<Summarized, ScoringError> {
        match self {
            Self::Chains(scoring) => scoring.current_summary(subject).await,
            Self::Sandbox(scoring, _) => {
                let (sandbox, address, condition) = entered(scoring, subject).await?;
                sandbox.summary(address, condition)
            }
        }
    }

    /// # Errors
    /// As [`Scoring::chain_summary`].
    pub async fn chain_summary(&self, subject: &Subject, chain: ChainId) -> Result<Summarized, ScoringError> {
        match self {
            Self::Chains(scoring) => scoring.chain_summary(subject, chain).await,
            Self::Sandbox(scoring, _) => {
                let (sandbox, address, condition) = entered(scoring, subject).await?;
                sandbox.chain_summary(address, condition, chain)
            }
        }
    }

    /// The value of what `subject` holds. A generator states it apart from its report.
    ///
    /// # Errors
    /// As [`Scoring::summary`].
    pub async fn holdings(&self, subject: &Subject) -> Result<Summarized, ScoringError> {
        match self {
            Self::Chains(scoring) => scoring.summary(subject).await,
            Self::Sandbox(scoring, _) => {
                let (sandbox, address, condition) = entered(scoring, subject).await?;
                sandbox.holdings(address, condition)
            }
        }
    }

    /// # Errors
    /// As [`Scoring::aggregate`].
    pub async fn aggregate(&self, subjects: Vec<Subject>) -> Result<Aggregate, ScoringError> {
        match self {
            Self::Chains(scoring) => scoring.aggregate(subjects).await,
            Self::Sandbox(scoring, _) => {
                let (sandbox, addresses) = (scoring.sandbox(), addresses(&subjects));
                blocking(move || sandbox.aggregate(sandbox.conditions(addresses)?)).await
            }
        }
    }

    /// # Errors
    /// As [`Scoring::identity`].
    pub async fn identity(&self, subject: &Subject) -> Result<IdentityReport, ScoringError> {
        match self {
            Self::Chains(scoring) => scoring.identity(subject).await,
            Self::Sandbox(scoring, _) => Ok(IdentityReport::none(entered(scoring, subject).await?.1)),
        }
    }
}

/// As [`entered`], for a score or report, which complete a first reading after some requests by `by`.
async fn scored_by(
    by: &str,
    scoring: &Scoring,
    scenarios: &Scenarios,
    subject: &Subject,
) -> Result<(Sandbox, Address, Condition), ScoringError> {
    let (sandbox, address) = (scoring.sandbox(), address(subject));
    let condition = scenarios.enter(sandbox.condition(address)?, by, address).await;
    Ok((sandbox, address, condition))
}

/// The generator, and the address of a subject with its condition, after the wait of a slow answer.
async fn entered(scoring: &Scoring, subject: &Subject) -> Result<(Sandbox, Address, Condition), ScoringError> {
    let (sandbox, address) = (scoring.sandbox(), address(subject));
    let condition = sandbox.condition(address)?.passed().await;
    Ok((sandbox, address, condition))
}

fn mock_report<R>(sandbox: &Sandbox, address: Address, condition: Condition) -> Result<Reported<R>, ScoringError> {
    let mut report = Box::new(sandbox.report(address)?);
    let unread = (!condition.is_plain()).then(|| condition.report(&mut report, chrono::Utc::now()));
    Ok(Reported::Mock { address, report, unread })
}

/// The address of a subject in the sandbox. Names are not resolved there: a name has the same made-up address each
/// time.
fn address(subject: &Subject) -> Address {
    match subject {
        Subject::Address(address) => *address,
        Subject::Name(name) => Address::from_word(keccak256(name.as_str())),
    }
}

/// The subjects with their addresses in the sandbox, each address once.
fn addresses(subjects: &[Subject]) -> Vec<(String, Address)> {
    let mut seen = HashSet::new();
    let named = subjects.iter().map(|subject| (subject.to_string(), address(subject)));
    named.filter(|(_, address)| seen.insert(*address)).collect()
}

/// Makes many model calls, or reads files, on a thread for blocking work, so that other requests do not wait. A panic
/// goes on in the caller.
pub async fn blocking<T: Send + 'static>(calls: impl FnOnce() -> T + Send + 'static) -> T {
    let request = tracing::Span::current();
    tokio::task::spawn_blocking(move || request.in_scope(calls))
        .await
        .unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}
