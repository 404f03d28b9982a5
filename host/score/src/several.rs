//! Several subjects in one request: their addresses, each once, and their scores.

use std::{future::Future, sync::Arc};

use futures::{StreamExt, stream};

use super::{Ask, NotScored, Scoring, ScoringError};
use assay_domain::{Address, Coverage, Decile, Freshness, ModelRef, Score, Subject, Time, features::Features};
use assay_http::extract::InvalidItems;
use assay_registry::CreditModel;
use assay_rollout::Scored;

/// Names of one request that are resolved at the same time, so that a long list leaves room for other callers.
const NAMES: usize = 8;
/// Addresses of one request that are read together. They share requests, so that all of them cost about as much as a
/// few that are read alone.
pub(super) const TOGETHER: usize = 100;

/// One of several subjects, with its own answer.
#[derive(Debug)]
pub struct OfSubject {
    /// `None` for a name that does not resolve, or cannot be read now.
    pub address: Option<Address>,
    pub answer: Result<(Arc<Scored>, Arc<Features>), ScoringError>,
}

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
    pub skipped: LeftOut,
}

/// The scores of several addresses, in the order asked.
pub struct Scores {
    /// The model that answers about all of them together.
    pub model: CreditModel,
    pub found: Vec<Arc<Scored>>,
    pub skipped: LeftOut,
    /// If nothing was found, why: nothing is there, which was read.
    pub none: Option<ScoringError>,
}

impl Scores {
    /// The mean, rounded half up, on the scale of the model.
    ///
    /// # Errors
    /// Why there is no score.
    pub fn mean(self) -> Result<MeanScore, ScoringError> {
        let Self { model, found, skipped, none } = self;
        if let Some(why) = none {
            return Err(why);
        }
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
    /// [`ScoringError::ChainsDown`] or another failure to read if no subject has a score because of it, and the failure
    /// of the model for any of them.
    pub async fn scores(&self, subjects: Vec<Subject>, ask: &Ask<'_>) -> Result<Scores, ScoringError> {
        let together = self.answering(ask, None)?;
        // A promotion while names are resolved does not change the version.
        let shared = ask.one_version.then_some(&together);
        let score = |scoring: Self, address| async move {
            let own = shared.is_none().then(|| scoring.answering(ask, Some(address))).transpose()?;
            let Some(answering) = shared.or(own.as_ref()) else { return Err(ScoringError::NoneValid) };
            Ok(scoring.score_address(answering, address, ask).await?.0)
        };
        let Several { found, skipped, none } = self.each(subjects, score).await?;
        Ok(Scores { model: together.model, found, skipped, none })
    }

    /// Runs `work` for each subject's address. Returns the results in the same order, and the subjects without one.
    ///
    /// # Errors
    /// If no subject has a result and one could not be read, the last of these failures.
    pub async fn each<T, F>(
        &self,
        subjects: Vec<Subject>,
        work: impl Fn(Self, Address) -> F,
    ) -> Result<Several<T>, ScoringError>
    where
        F: Future<Output = Result<T, ScoringError>> + Send,
    {
        let (named, mut skipped) = self.addresses(subjects).await?;
        let together = if named.len() > 1 { self.together() } else { self.clone() };
        let (mut found, mut none) = (Vec::new(), ScoringError::NoneValid);
        let (items, addresses): (Vec<String>, Vec<Address>) = named.into_iter().unzip();
        let answers =
            stream::iter(addresses.into_iter().map(|address| work(together.clone(), address))).buffered(TOGETHER);
        let mut answers = stream::iter(items).zip(answers);
        while let Some((item, answer)) = answers.next().await {
            let skip = |why| skipped.add(item, why);
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
        let is_read =
            matches!(none, ScoringError::NoneValid | ScoringError::NotFound) || NotScored::of(&none).is_some();
        match found.is_empty() {
            true if is_read => Ok(Several { found, skipped, none: Some(none) }),
            true => Err(none),
            false => Ok(Several { found, skipped, none: None }),
        }
    }

    /// The score and the features of each of `subjects`, or why it has none, in their order. They are read together.
    pub async fn each_of(&self, subjects: Vec<Subject>, ask: &Ask<'_>) -> Vec<OfSubject> {
        let resolve = |subject: Subject| {
            let scoring = self.clone();
            async move { scoring.address(&subject).await }
        };
        let resolved: Vec<_> = stream::iter(subjects.into_iter().map(resolve)).buffered(NAMES).collect().await;
        let together = self.together();
        let answer = |resolved: Result<Address, ScoringError>| {
            let together = together.clone();
            async move {
                match resolved {
                    Err(error) => OfSubject { address: None, answer: Err(error) },
                    Ok(address) => {
                        OfSubject { address: Some(address), answer: together.of_address(address, ask).await }
                    }
                }
            }
        };
        stream::iter(resolved.into_iter().map(answer)).buffered(TOGETHER).collect().await
    }

    async fn of_address(&self, address: Address, ask: &Ask<'_>) -> Result<(Arc<Scored>, Arc<Features>), ScoringError> {
        let answering = self.answering(ask, Some(address))?;
        self.score_address(&answering, address, ask).await
    }

    /// This service for one batch of addresses.
    pub(super) fn together(&self) -> Self {
        Self { inner: self.inner.clone(), chains: self.chains.together() }
    }

    /// The subjects with their addresses, each address once. Names that do not resolve or cannot be read now are
    /// skipped. If no address is left and a name could not be read, that failure is the error.
    async fn addresses(&self, subjects: Vec<Subject>) -> Result<(Vec<(String, Address)>, LeftOut), ScoringError> {
        let resolve = |subject: Subject| {
            let scoring = self.clone();
            async move { (scoring.address(&subject).await, subject.to_string()) }
        };
        let resolved: Vec<_> = stream::iter(subjects.into_iter().map(resolve)).buffered(NAMES).collect().await;
        let (mut found, mut skipped, mut none) = (Vec::new(), LeftOut::default(), ScoringError::NoneValid);
        for (one, item) in resolved {
            match one {
                Ok(address) if found.iter().any(|(_, known)| *known == address) => {}
                Ok(address) => found.push((item, address)),
                Err(ScoringError::NotFound) => skipped.add(item, SkipReason::NotFound),
                Err(error) => {
                    skipped.add(item, SkipReason::Unread);
                    none = error;
                }
            }
        }
        if found.is_empty() && !matches!(none, ScoringError::NoneValid) { Err(none) } else { Ok((found, skipped)) }
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
#[derive(Debug)]
pub struct Several<T> {
    pub found: Vec<T>,
    pub skipped: LeftOut,
    /// If nothing was found, why: nothing is there, which was read.
    pub none: Option<ScoringError>,
}

/// The items of a list that were left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut {
    pub items: Vec<Skipped>,
    /// More of them, which are not named.
    pub unnamed: usize,
}

impl LeftOut {
    pub fn add(&mut self, item: String, why: SkipReason) {
        self.items.push(Skipped { item, why });
    }

    pub fn total(&self) -> usize {
        self.items.len() + self.unnamed
    }

    /// The same after the items that are neither an address nor a name.
    #[must_use]
    pub fn after(self, InvalidItems { named, total }: InvalidItems) -> Self {
        let unnamed = total.saturating_sub(named.len());
        let invalid = named.into_iter().map(|item| Skipped { item, why: SkipReason::Invalid });
        Self { items: invalid.chain(self.items).collect(), unnamed }
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
