//! From an address to an answer: what the chains say, through features, into the champion.

mod appraisal;
mod ask;
mod boost;
mod compare;
mod error;
mod identity;
mod report;
mod sandbox;
mod score;
mod several;
mod source;
mod summary;

use std::{sync::Arc, time::Duration};

use crate::{config, rollout::Rollout};
use assay_chain::Chains;
use assay_domain::{Freshness, Snapshot};
use assay_registry::Registry;

pub use appraisal::{Appraisal, AppraisalError, IDENTITY_SCHEME};
pub use ask::Ask;
pub use compare::{Compared, Comparison, Gap, MOST_VERSIONS, Why};
pub use error::ScoringError;
pub use identity::IdentityReport;
pub use report::{ChainReport, Report};
pub use sandbox::{Sandbox, SandboxScore};
pub use several::MeanScore;
pub use source::{Reported, Source, blocking};
pub use summary::{Aggregate, Summarized};

/// The scoring service. Cheap to clone.
#[derive(Clone)]
pub struct Scoring {
    inner: Arc<Inner>,
}

struct Inner {
    registry: Arc<Registry>,
    chains: Chains,
    rollout: Rollout,
    scores: score::Cache,
    lives: Lives,
}

/// How long a reading stands.
#[derive(Clone, Copy)]
struct Lives {
    complete: Duration,
    incomplete: Duration,
}

impl Scoring {
    pub fn new(registry: Arc<Registry>, chains: Chains, rollout: Rollout, settings: &config::Scoring) -> Self {
        let lives = Lives { complete: settings.cache_ttl, incomplete: settings.incomplete_cache_ttl };
        Self { inner: Arc::new(Inner { registry, chains, rollout, scores: score::cache(settings), lives }) }
    }

    /// Mock answers from the sandbox champion.
    pub fn sandbox(&self) -> Sandbox {
        Sandbox::new(self.inner.registry.active())
    }

    fn freshness(&self, snapshot: &Snapshot) -> Freshness {
        let Lives { complete, incomplete } = self.inner.lives;
        let life = if snapshot.is_whole() { complete } else { incomplete };
        Freshness { read_at: snapshot.as_of, life }
    }
}
