//! Summaries: sums over an address, chain by chain, and over several addresses.

use std::collections::BTreeSet;

use super::{Reports, report::distinct};
use assay_chain::Read;
use assay_domain::{Address, ChainId, ChainSummary, Coverage, Freshness, Subject, Summary, Time, UnreadByChain};
use assay_score::{LeftOut, ScoringError, Several};

/// The sums of one address.
#[derive(Debug, Clone)]
pub struct Summarized {
    pub address: Address,
    pub fresh: Freshness,
    /// By ascending id.
    pub chains: Vec<ChainSummary>,
    /// The distinct attestations of the owner's identity.
    pub identity: BTreeSet<String>,
    /// The unread parts, by chain; `None` in the sandbox.
    pub unread: Option<UnreadByChain>,
}

/// The sums of several addresses.
#[derive(Debug, Clone)]
pub struct Aggregate {
    /// The addresses that were read.
    pub addresses: Vec<Address>,
    /// When the oldest snapshot was read.
    pub read_at: Time,
    /// The freshness that ends first.
    pub fresh: Freshness,
    pub summary: Summary,
    /// The attestations of all addresses, each once.
    pub identity: BTreeSet<String>,
    /// The unread parts of each address, by chain; `None` in the sandbox.
    pub unread: Option<Vec<(Address, UnreadByChain)>>,
    pub skipped: LeftOut,
}

impl Summarized {
    /// The sum over all chains.
    pub fn whole(&self) -> Summary {
        self.chains.iter().map(|chain| chain.summary).sum()
    }

    /// The chains that could be read.
    pub fn read(&self) -> impl Iterator<Item = &ChainSummary> {
        self.chains.iter().filter(|chain| chain.coverage > Coverage::Pending)
    }

    /// The sums of one chain.
    ///
    /// # Errors
    /// [`ScoringError::ChainDown`] if it could not be read, [`ScoringError::NotYetRead`] if it is being read.
    pub fn only(mut self, chain: ChainId) -> Result<Self, ScoringError> {
        self.chains.retain(|part| part.chain_id == chain);
        self.unread.iter_mut().for_each(|unread| unread.retain(|(id, _)| *id == chain));
        match self.chains.first().map(|part| part.coverage) {
            None | Some(Coverage::Failed) => Err(ScoringError::ChainDown(chain)),
            Some(Coverage::Pending) => Err(ScoringError::NotYetRead),
            Some(Coverage::Partial | Coverage::Complete) => Ok(self),
        }
    }
}

impl Aggregate {
    /// # Errors
    /// Why there is no address.
    pub fn of(Several { found: all, skipped, none }: Several<Summarized>) -> Result<Self, ScoringError> {
        let (read_at, fresh) = (all.iter().map(|one| one.fresh.read_at).min(), all.iter().map(|one| one.fresh));
        let Some((read_at, fresh)) = read_at.zip(Freshness::soonest(fresh)) else {
            return Err(none.unwrap_or(ScoringError::NoneValid));
        };
        Ok(Self {
            addresses: all.iter().map(|one| one.address).collect(),
            read_at,
            fresh,
            summary: all.iter().map(Summarized::whole).sum(),
            identity: all.iter().flat_map(|one| one.identity.iter().cloned()).collect(),
            unread: all.iter().map(|one| Some((one.address, one.unread.clone()?))).collect(),
            skipped,
        })
    }
}

impl Reports {
    /// The sums of `subject`; zeros for an address without activity.
    ///
    /// # Errors
    /// As [`Reports::report`], and [`ScoringError::NotYetRead`] if no chain was read in time.
    pub async fn summary(&self, subject: &Subject) -> Result<Summarized, ScoringError> {
        self.summary_of(self.scoring.address(subject).await?).await
    }

    /// As [`Reports::summary`], from figures that are read now.
    ///
    /// # Errors
    /// As [`Reports::summary`].
    pub async fn current_summary(&self, subject: &Subject) -> Result<Summarized, ScoringError> {
        self.summarized(self.scoring.read_now(self.scoring.address(subject).await?).await?)
    }

    /// The sums of `subject` only on `chain`.
    ///
    /// # Errors
    /// As [`Reports::chain_report`].
    pub async fn chain_summary(&self, subject: &Subject, chain: ChainId) -> Result<Summarized, ScoringError> {
        self.summary(subject).await?.only(chain)
    }

    /// The sums of the `subjects` that could be read.
    ///
    /// # Errors
    /// [`ScoringError::NoneValid`] if no name resolves, [`ScoringError::ChainsDown`] if no subject could be read.
    pub async fn aggregate(&self, subjects: Vec<Subject>) -> Result<Aggregate, ScoringError> {
        let summary = |scoring, address| async move { Self { scoring }.summary_of(address).await };
        Aggregate::of(self.scoring.each(subjects, summary).await?)
    }

    async fn summary_of(&self, address: Address) -> Result<Summarized, ScoringError> {
        self.summarized(self.scoring.read_exactly(address).await?)
    }

    fn summarized(&self, Read { snapshot, .. }: Read) -> Result<Summarized, ScoringError> {
        if snapshot.chains.iter().all(|chain| chain.coverage <= Coverage::Pending) {
            return Err(ScoringError::NotYetRead);
        }
        Ok(Summarized {
            address: snapshot.address,
            fresh: self.scoring.freshness(&snapshot),
            chains: snapshot.chains.iter().map(ChainSummary::from).collect(),
            identity: distinct(&snapshot),
            unread: Some(snapshot.unread().collect()),
        })
    }
}
