//! Summaries: what the chains say of an address in sums, chain by chain, and of several addresses together.

use std::collections::BTreeSet;

use super::{Scoring, ScoringError, identity::distinct};
use assay_domain::{Address, ChainId, ChainSummary, Coverage, Freshness, Subject, Summary, Time};

/// An address in sums.
#[derive(Debug, Clone)]
pub struct Summarized {
    pub address: Address,
    pub fresh: Freshness,
    /// By ascending id.
    pub chains: Vec<ChainSummary>,
    /// Who attests the owner's identity.
    pub identity: BTreeSet<String>,
}

/// Several addresses in sums.
#[derive(Debug, Clone)]
pub struct Aggregate {
    /// Those that were read.
    pub addresses: Vec<Address>,
    /// When the oldest reading was made.
    pub read_at: Time,
    /// Of the reading that ends first.
    pub fresh: Freshness,
    pub summary: Summary,
    /// Merged, each once.
    pub identity: BTreeSet<String>,
}

impl Summarized {
    /// Over all chains.
    pub fn whole(&self) -> Summary {
        self.chains.iter().map(|chain| chain.summary).sum()
    }

    /// Those that could be read.
    pub fn read(&self) -> impl Iterator<Item = &ChainSummary> {
        self.chains.iter().filter(|chain| chain.coverage > Coverage::Pending)
    }

    /// On one chain alone.
    ///
    /// # Errors
    /// [`ScoringError::ChainDown`] where it could not be read, [`ScoringError::NotYetRead`] where it is being read.
    pub fn only(mut self, chain: ChainId) -> Result<Self, ScoringError> {
        self.chains.retain(|part| part.chain_id == chain);
        match self.chains.first().map(|part| part.coverage) {
            None | Some(Coverage::Failed) => Err(ScoringError::ChainDown(chain)),
            Some(Coverage::Pending) => Err(ScoringError::NotYetRead),
            Some(Coverage::Partial | Coverage::Complete) => Ok(self),
        }
    }
}

impl Aggregate {
    /// `None` of nobody.
    pub fn of(all: &[Summarized]) -> Option<Self> {
        Some(Self {
            addresses: all.iter().map(|one| one.address).collect(),
            read_at: all.iter().map(|one| one.fresh.read_at).min()?,
            fresh: Freshness::soonest(all.iter().map(|one| one.fresh))?,
            summary: all.iter().map(Summarized::whole).sum(),
            identity: all.iter().flat_map(|one| one.identity.iter().cloned()).collect(),
        })
    }
}

impl Scoring {
    /// `subject` in sums. An address that no chain knows has zeros.
    ///
    /// # Errors
    /// As [`Scoring::report`], and [`ScoringError::NotYetRead`] where no chain was read in time: sums of nothing are no
    /// sums.
    pub async fn summary(&self, subject: &Subject) -> Result<Summarized, ScoringError> {
        self.summary_of(self.address(subject).await?).await
    }

    /// `subject` on `chain` alone, in sums.
    ///
    /// # Errors
    /// As [`Scoring::chain_report`].
    pub async fn chain_summary(&self, subject: &Subject, chain: ChainId) -> Result<Summarized, ScoringError> {
        self.summary(subject).await?.only(chain)
    }

    /// Those of `subjects` that could be read, in sums.
    ///
    /// # Errors
    /// [`ScoringError::NoneValid`] where no name resolves, [`ScoringError::ChainsDown`] where nobody could be read.
    pub async fn aggregate(&self, subjects: Vec<Subject>) -> Result<Aggregate, ScoringError> {
        let all = self.each(subjects, |scoring, address| async move { scoring.summary_of(address).await }).await?;
        Aggregate::of(&all).ok_or(ScoringError::NoneValid)
    }

    async fn summary_of(&self, address: Address) -> Result<Summarized, ScoringError> {
        let snapshot = self.read(address).await?.snapshot;
        if snapshot.chains.iter().all(|chain| chain.coverage <= Coverage::Pending) {
            return Err(ScoringError::NotYetRead);
        }
        Ok(Summarized {
            address,
            fresh: self.freshness(&snapshot),
            chains: snapshot.chains.iter().map(ChainSummary::from).collect(),
            identity: distinct(&snapshot),
        })
    }
}
