//! The source of reports: the chains, or the generator of a sandbox. Chosen once, when the server starts.

use futures::FutureExt;

use super::{Aggregate, ChainReport, IdentityReport, Report, Reports, Summarized};
use assay_domain::{ChainId, Subject};
use assay_score::Answer;

/// The reports of the production paths.
pub trait ReportSource: Send + Sync {
    fn report<'a>(&'a self, subject: &'a Subject, by: &'a str) -> Answer<'a, Report>;

    fn chain_report<'a>(&'a self, subject: &'a Subject, chain: ChainId) -> Answer<'a, ChainReport>;

    fn summary<'a>(&'a self, subject: &'a Subject) -> Answer<'a, Summarized>;

    /// The summary of one chain.
    fn chain_summary<'a>(&'a self, subject: &'a Subject, chain: ChainId) -> Answer<'a, Summarized>;

    fn aggregate<'a>(&'a self, subjects: Vec<Subject>) -> Answer<'a, Aggregate>;

    fn identity<'a>(&'a self, subject: &'a Subject) -> Answer<'a, IdentityReport>;

    /// As [`ReportSource::summary`], from figures that are read now.
    fn current_summary<'a>(&'a self, subject: &'a Subject) -> Answer<'a, Summarized> {
        self.summary(subject)
    }

    /// A summary whose dollars of assets are the value of what `subject` holds.
    fn holdings<'a>(&'a self, subject: &'a Subject) -> Answer<'a, Summarized> {
        self.summary(subject)
    }
}

impl ReportSource for Reports {
    fn report<'a>(&'a self, subject: &'a Subject, by: &'a str) -> Answer<'a, Report> {
        Reports::report(self, subject, by).boxed()
    }

    fn chain_report<'a>(&'a self, subject: &'a Subject, chain: ChainId) -> Answer<'a, ChainReport> {
        Reports::chain_report(self, subject, chain).boxed()
    }

    fn summary<'a>(&'a self, subject: &'a Subject) -> Answer<'a, Summarized> {
        Reports::summary(self, subject).boxed()
    }

    fn chain_summary<'a>(&'a self, subject: &'a Subject, chain: ChainId) -> Answer<'a, Summarized> {
        Reports::chain_summary(self, subject, chain).boxed()
    }

    fn aggregate<'a>(&'a self, subjects: Vec<Subject>) -> Answer<'a, Aggregate> {
        Reports::aggregate(self, subjects).boxed()
    }

    fn identity<'a>(&'a self, subject: &'a Subject) -> Answer<'a, IdentityReport> {
        Reports::identity(self, subject).boxed()
    }

    fn current_summary<'a>(&'a self, subject: &'a Subject) -> Answer<'a, Summarized> {
        Reports::current_summary(self, subject).boxed()
    }
}
