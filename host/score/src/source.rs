//! The source of scores: the chains, or the generator of a sandbox. Chosen once, when the server starts.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};

use super::{Ask, Baseline, NotScored, OfSubject, Scores, Scoring, ScoringError};
use assay_domain::{Address, ModelVersion, Subject};
use assay_rollout::Scored;

/// An answer about wallets.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, ScoringError>>;

/// A made-up past of a wallet.
#[derive(Debug)]
pub struct MockPast {
    pub address: Address,
    /// Of the model on whose scale the scores are.
    pub version: ModelVersion,
    /// One for each moment.
    pub points: Vec<MockPoint>,
}

#[derive(Debug)]
pub enum MockPoint {
    /// It is being read.
    Pending,
    Inactive,
    /// The model refuses the wallet.
    NotScored(NotScored),
    /// With the lowest health factor.
    Scored(Arc<Scored>, Option<f64>),
}

/// The scores of the production paths.
pub trait ScoreSource: Send + Sync {
    /// The score of `subject`; with `off_chain_usd`, the score with these off-chain assets added.
    fn score<'a>(&'a self, subject: &'a Subject, off_chain_usd: Option<f64>, ask: Ask<'a>) -> Answer<'a, Arc<Scored>>;

    /// The score of `subject` with its features, to be changed.
    fn baseline<'a>(&'a self, subject: &'a Subject, ask: Ask<'a>) -> Answer<'a, Baseline>;

    /// The scores of `subjects`, each address once, in the order given.
    fn scores<'a>(&'a self, subjects: Vec<Subject>, ask: Ask<'a>) -> Answer<'a, Scores>;

    /// The score and the features of each of `subjects`, or why it has none, in their order.
    fn each<'a>(&'a self, subjects: Vec<Subject>, ask: Ask<'a>) -> BoxFuture<'a, Vec<OfSubject>>;

    /// The mock scores of `subject` at `moments`; `None` if they are read on chains.
    fn mock_past<'a>(&'a self, _: &'a Subject, _: &'a [u64], _: Ask<'a>) -> Option<Answer<'a, MockPast>> {
        None
    }

    /// The scoring of what is read on chains.
    ///
    /// # Errors
    /// [`ScoringError::Sandbox`] for a source that reads none; `lack` says what it therefore does not do.
    fn of_chains(&self, lack: &'static str) -> Result<&Scoring, ScoringError>;
}

impl ScoreSource for Scoring {
    fn score<'a>(&'a self, subject: &'a Subject, off_chain_usd: Option<f64>, ask: Ask<'a>) -> Answer<'a, Arc<Scored>> {
        async move {
            match off_chain_usd {
                None => Scoring::score(self, subject, &ask).await,
                Some(usd) => self.boosted(subject, usd, &ask).await,
            }
        }
        .boxed()
    }

    fn baseline<'a>(&'a self, subject: &'a Subject, ask: Ask<'a>) -> Answer<'a, Baseline> {
        async move { Scoring::baseline(self, subject, &ask).await }.boxed()
    }

    fn scores<'a>(&'a self, subjects: Vec<Subject>, ask: Ask<'a>) -> Answer<'a, Scores> {
        async move { Scoring::scores(self, subjects, &ask).await }.boxed()
    }

    fn each<'a>(&'a self, subjects: Vec<Subject>, ask: Ask<'a>) -> BoxFuture<'a, Vec<OfSubject>> {
        async move { self.each_of(subjects, &ask).await }.boxed()
    }

    fn of_chains(&self, _: &'static str) -> Result<&Scoring, ScoringError> {
        Ok(self)
    }
}
