//! What answers about wallets: the chains, or the generator of a sandbox. Chosen once, when the server is assembled.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};

use super::{Aggregate, Ask, ChainReport, IdentityReport, Report, Scores, Scoring, ScoringError, Summarized};
use crate::rollout::Scored;
use assay_domain::{ChainId, Subject};

/// An answer about wallets.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, ScoringError>>;

/// The answers of the production paths.
pub trait Source: Send + Sync {
    /// The score of `subject`; with `off_chain_usd`, the score with these off-chain assets added.
    fn score<'a>(&'a self, subject: &'a Subject, off_chain_usd: Option<f64>, ask: Ask<'a>) -> Answer<'a, Arc<Scored>>;

    /// The scores of `subjects`, each address once, in the order given.
    fn scores<'a>(&'a self, subjects: Vec<Subject>, ask: Ask<'a>) -> Answer<'a, Scores>;

    fn report<'a>(&'a self, subject: &'a Subject, by: &'a str) -> Answer<'a, Report>;

    fn chain_report<'a>(&'a self, subject: &'a Subject, chain: ChainId) -> Answer<'a, ChainReport>;

    fn summary<'a>(&'a self, subject: &'a Subject) -> Answer<'a, Summarized>;

    /// The summary of one chain.
    fn chain_summary<'a>(&'a self, subject: &'a Subject, chain: ChainId) -> Answer<'a, Summarized>;

    fn aggregate<'a>(&'a self, subjects: Vec<Subject>) -> Answer<'a, Aggregate>;

    fn identity<'a>(&'a self, subject: &'a Subject) -> Answer<'a, IdentityReport>;

    /// As [`Source::summary`], from figures that are read now.
    fn current_summary<'a>(&'a self, subject: &'a Subject) -> Answer<'a, Summarized> {
        self.summary(subject)
    }

    /// A summary whose dollars of assets are the value of what `subject` holds.
    fn holdings<'a>(&'a self, subject: &'a Subject) -> Answer<'a, Summarized> {
        self.summary(subject)
    }
}

impl Source for Scoring {
    fn score<'a>(&'a self, subject: &'a Subject, off_chain_usd: Option<f64>, ask: Ask<'a>) -> Answer<'a, Arc<Scored>> {
        async move {
            match off_chain_usd {
                None => Scoring::score(self, subject, &ask).await,
                Some(usd) => self.boosted(subject, usd, &ask).await,
            }
        }
        .boxed()
    }

    fn scores<'a>(&'a self, subjects: Vec<Subject>, ask: Ask<'a>) -> Answer<'a, Scores> {
        async move { Scoring::scores(self, subjects, &ask).await }.boxed()
    }

    fn report<'a>(&'a self, subject: &'a Subject, by: &'a str) -> Answer<'a, Report> {
        Scoring::report(self, subject, by).boxed()
    }

    fn chain_report<'a>(&'a self, subject: &'a Subject, chain: ChainId) -> Answer<'a, ChainReport> {
        Scoring::chain_report(self, subject, chain).boxed()
    }

    fn summary<'a>(&'a self, subject: &'a Subject) -> Answer<'a, Summarized> {
        Scoring::summary(self, subject).boxed()
    }

    fn chain_summary<'a>(&'a self, subject: &'a Subject, chain: ChainId) -> Answer<'a, Summarized> {
        Scoring::chain_summary(self, subject, chain).boxed()
    }

    fn aggregate<'a>(&'a self, subjects: Vec<Subject>) -> Answer<'a, Aggregate> {
        Scoring::aggregate(self, subjects).boxed()
    }

    fn identity<'a>(&'a self, subject: &'a Subject) -> Answer<'a, IdentityReport> {
        Scoring::identity(self, subject).boxed()
    }

    fn current_summary<'a>(&'a self, subject: &'a Subject) -> Answer<'a, Summarized> {
        Scoring::current_summary(self, subject).boxed()
    }
}

/// Makes many model calls, or reads files, on a thread for blocking work, so that other requests do not wait. A panic
/// goes on in the caller.
pub async fn blocking<T: Send + 'static>(calls: impl FnOnce() -> T + Send + 'static) -> T {
    let request = tracing::Span::current();
    tokio::task::spawn_blocking(move || request.in_scope(calls))
        .await
        .unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}
