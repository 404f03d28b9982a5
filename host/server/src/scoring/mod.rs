//! From an address to an answer: a snapshot of the chains gives features, and the champion scores them.

mod appraisal;
mod compare;
mod error;
mod report;
mod score;
mod several;
mod source;
mod summary;

use std::sync::Arc;

use crate::{config, rollout::Rollout};
use assay_chain::{CLOCK_SUSPECTED, ChainOverview, Chains, NO_OLD_STATE};
use assay_domain::{Freshness, Lifetimes, Snapshot};
use assay_registry::Registry;

pub(crate) use appraisal::{Appraisal, AppraisalError, IDENTITY_SCHEME};
pub(crate) use compare::{Compared, Comparison, Gap, MOST_VERSIONS, NoAnswer};
pub(crate) use error::ScoringError;
pub(crate) use report::sum;
pub(crate) use report::{
    ChainReport, Contents, Details, HeldToken, IdentityReport, ProtocolTotal, Report, ReportedEvent, ReportedPool,
    ReportedPosition,
};
pub(crate) use score::Ask;
pub(crate) use several::{MeanScore, Scores, Several, SkipReason, Skipped};
pub(crate) use source::{Answer, Source, blocking};
pub(crate) use summary::{Aggregate, Summarized};

/// The scoring service. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Scoring {
    inner: Arc<ScoringState>,
    chains: Chains,
}

struct ScoringState {
    registry: Arc<Registry>,
    rollout: Rollout,
    scores: score::Cache,
    lifetimes: Lifetimes,
}

impl Scoring {
    pub(crate) fn new(registry: Arc<Registry>, chains: Chains, rollout: Rollout, settings: &config::Scoring) -> Self {
        let lifetimes = Lifetimes { complete: settings.cache_ttl, incomplete: settings.incomplete_cache_ttl };
        Self { inner: Arc::new(ScoringState { registry, rollout, scores: score::cache(settings), lifetimes }), chains }
    }

    /// What the endpoints of chains lack, in words that say what to do.
    pub(crate) fn chain_warnings(&self) -> Vec<String> {
        let clock = self
            .chains
            .is_clock_suspected()
            .then(|| format!("the newest blocks of chains differ alike: {CLOCK_SUSPECTED}"));
        let of_chains = self.chains.status().into_iter().flat_map(|status| {
            let no_old_state = (status.old_state == Some(false)).then(|| NO_OLD_STATE.to_owned());
            let chain = format!("chain {} {}", status.chain_id, status.chain_name);
            [status.doubt(), no_old_state].into_iter().flatten().map(move |what| format!("{chain}: {what}"))
        });
        clock.into_iter().chain(of_chains).collect()
    }

    /// What is known of each chain.
    pub(crate) fn chains(&self) -> Vec<ChainOverview> {
        self.chains.overview()
    }

    fn freshness(&self, snapshot: &Snapshot) -> Freshness {
        Freshness { read_at: snapshot.as_of, life: self.inner.lifetimes.of(snapshot.is_whole()) }
    }
}
