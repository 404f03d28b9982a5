//! Several subjects in one request: their addresses, each once, and their scores.

use std::{future::Future, sync::Arc};

use futures::{StreamExt, stream};

use super::{Ask, NotScored, Scoring, ScoringError};
use assay_domain::{Address, Coverage, Decile, Freshness, ModelRef, Score, Subject, Time};
use assay_registry::CreditModel;
use assay_rollout::Scored;

/// Names of one request that are resolved at the same time, so that a long list leaves room for other callers.
const NAMES: usize = 8;
/// Addresses of one request that are read together. They share requests, so that all of them cost about as much as a
/// few that are read alone.
pub(super) const TOGETHER: usize = 100;

/// One score for several addresses.
#[derive(Debug, Clone)]
pub struct MeanScore {
    /// The addresses with a score.
    pub addresses: Vec<Address>,
    pub score: Score,
    pub decile: Decile,
    pub model: ModelRef,
    /// When the oldest of the scores was calculated.
    pub at: Time,
    /// The least complete coverage of any score.
    pub coverage: Coverage,
    pub fresh: Freshness,
    /// The scores behind the mean.
    pub scores: Vec<Arc<Scored>>,
    pub skipped: Vec<Skipped>,
}

/// The scores of several addresses by one model, in the order asked.
#[derive(Clone)]
pub struct Scores {
    pub model: CreditModel,
    pub found: Vec<Arc<Scored>>,
    pub skipped: Vec<Skipped>,
}

impl Scores {
    /// The mean, rounded half up, on the scale of the model.
    ///
    /// # Errors
    /// [`ScoringError::NoneValid`] for no scores.
    pub fn mean(self) -> Result<MeanScore, ScoringError> {
        let Self { model, found, skipped } = self;
        let scores: Vec<Score> = found.iter().map(|scored| scored.assessment.score).collect();
        let score = Score::mean(&scores).ok_or(ScoringError::NoneValid)?;
        let fresh = Freshness::soonest(found.iter().map(|scored| scored.fresh)).ok_or(ScoringError::NoneValid)?;
        Ok(MeanScore {
            addresses: found.iter().map(|scored| scored.address).collect(),
            score,
            decile: model.decile(score),
            model: model.reference().clone(),
            at: found.iter().map(|scored| scored.at).min().unwrap_or(fresh.read_at),
            coverage: Coverage::least(found.iter().map(|scored| scored.coverage)),
            fresh,
            scores: found,
            skipped,
        })
    }
}

impl Scoring {
    /// The scores of `subjects`, each address once, in the order given. Subjects without a score are left out.
    ///
    /// # Errors
    /// [`ScoringError::NoneValid`] if no name resolves, [`ScoringError::NotFound`] or [`ScoringError::ChainsDown`]
    /// if no subject has a score, and the failure of the model for any of them.
    pub async fn scores(&self, subjects: Vec<Subject>, ask: &Ask<'_>) -> Result<Scores, ScoringError> {
        let model = self.credit(ask)?;
        let score = |scoring: Self, address| {
            let model = model.clone();
            async move { Ok(scoring.score_address(&model, address, ask).await?.0) }
        };
        let Several { found, skipped } = self.each(subjects, score).await?;
        Ok(Scores { model, found, skipped })
    }

    /// Runs `work` for each subject's address. Returns the results in the same order, and the subjects without one; if
    /// no subject has a result, returns the last error.
    pub async fn each<T, F>(
        &self,
        subjects: Vec<Subject>,
        work: impl Fn(Self, Address) -> F,
    ) -> Result<Several<T>, ScoringError>
    where
        F: Future<Output = Result<T, ScoringError>> + Send,
    {
        let Several { found: named, mut skipped } = self.addresses(subjects).await?;
        let together = if named.len() > 1 { self.together() } else { self.clone() };
        let (mut found, mut none) = (Vec::new(), ScoringError::NoneValid);
        let (items, addresses): (Vec<String>, Vec<Address>) = named.into_iter().unzip();
        let answers =
            stream::iter(addresses.into_iter().map(|address| work(together.clone(), address))).buffered(TOGETHER);
        let mut answers = stream::iter(items).zip(answers);
        while let Some((item, answer)) = answers.next().await {
            let skip = |why| skipped.push(Skipped { item, why });
            match answer {
                Ok(answer) => found.push(answer),
                Err(ScoringError::NotFound) => {
                    skip(SkipReason::NotFound);
                    // Another address may look unknown because a chain is down, so that error wins.
                    if matches!(none, ScoringError::NoneValid) {
                        none = ScoringError::NotFound;
                    }
                }
                Err(error) if NotScored::of(&error).is_some() => {
                    skip(SkipReason::NotScored);
                    if matches!(none, ScoringError::NoneValid | ScoringError::NotFound) {
                        none = error;
                    }
                }
                Err(error @ (ScoringError::ChainsDown | ScoringError::ChainsMissing(_) | ScoringError::NotYetRead)) => {
                    skip(SkipReason::Unread);
                    none = error;
                }
                Err(error) => return Err(error),
            }
        }
        if found.is_empty() { Err(none) } else { Ok(Several { found, skipped }) }
    }

    /// This service for one batch of addresses.
    pub(super) fn together(&self) -> Self {
        Self { inner: self.inner.clone(), chains: self.chains.together() }
    }

    /// The subjects with their addresses, each address once. Names that do not resolve or cannot be read now are
    /// skipped. If no address is left and a name could not be read, that failure is the error.
    async fn addresses(&self, subjects: Vec<Subject>) -> Result<Several<(String, Address)>, ScoringError> {
        let resolve = |subject: Subject| {
            let scoring = self.clone();
            async move { (scoring.address(&subject).await, subject.to_string()) }
        };
        let resolved: Vec<_> = stream::iter(subjects.into_iter().map(resolve)).buffered(NAMES).collect().await;
        let (mut found, mut skipped, mut none) = (Vec::new(), Vec::new(), ScoringError::NoneValid);
        for (one, item) in resolved {
            match one {
                Ok(address) if found.iter().any(|(_, known)| *known == address) => {}
                Ok(address) => found.push((item, address)),
                Err(ScoringError::NotFound) => skipped.push(Skipped { item, why: SkipReason::NotFound }),
                Err(error) => {
                    skipped.push(Skipped { item, why: SkipReason::Unread });
                    none = error;
                }
            }
        }
        if found.is_empty() { Err(none) } else { Ok(Several { found, skipped }) }
    }
}

/// An item of a list of subjects that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The item as the caller sent it.
    pub item: String,
    pub why: SkipReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// It is neither an address nor a name.
    Invalid,
    /// The address has no activity on any chain, or the name does not resolve.
    NotFound,
    /// The model refuses the address, which has activity.
    NotScored,
    /// It could not be read now.
    Unread,
}

/// The answers for the items of a list, in their order.
#[derive(Debug, Clone)]
pub struct Several<T> {
    pub found: Vec<T>,
    pub skipped: Vec<Skipped>,
}

impl Skipped {
    /// Items that are neither an address nor a name.
    pub fn invalid(items: Vec<String>) -> impl Iterator<Item = Self> {
        items.into_iter().map(|item| Self { item, why: SkipReason::Invalid })
    }
}

impl SkipReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::NotFound => "not_found",
            Self::NotScored => NotScored::CODE,
            Self::Unread => "unread",
        }
    }
}
