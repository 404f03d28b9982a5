//! From an address to a score: a snapshot of the chains gives features, and the champion scores them.
//!
//! | module | owns |
//! |---|---|
//! | [`reading`] | wallets read on the configured chains, now and in the past |
//! | [`history`] | scores at moments in the past |
//! | [`attestation`] | signed statements of scores |
//! | `routes`, [`bodies`] | `/api/v2/score` and the comparison of models, with their bodies |
//!
//! The crate itself has [`Scoring`], which uses all of them, and [`ScoreSource`], behind which a sandbox can take its
//! place.

#![cfg_attr(not(test), warn(unreachable_pub))]

mod appraisal;
pub mod attestation;
mod background;
mod baseline;
pub mod bodies;
mod compare;
pub mod config;
mod error;
pub mod history;
pub mod reading;
pub mod responses;
mod routes;
mod score;
mod several;
mod source;

use std::sync::Arc;

use assay_chain::{CLOCK_SUSPECTED, ChainOverview, Chains, NO_OLD_STATE};
use assay_domain::{Freshness, Lifetimes, Snapshot};
use assay_registry::Registry;
use assay_rollout::{Rollout, config::Scoring as Settings};

pub use appraisal::{Appraisal, AppraisalError, IDENTITY_SCHEME};
pub use assay_chain::LiquidationLog;
pub use background::{Canonical, WantedSnapshot};
pub use baseline::{Baseline, WhatIfError};
pub use compare::{Compared, Comparison, Gap, MOST_VERSIONS, NoAnswer};
pub use error::{NotScored, ScoringError};
pub use routes::{NoModelChoice, OffChain, ScoreRoutes, assets, identified, operations, reasoned, routes};
pub use score::{Answering, Ask};
pub use several::{LeftOut, MeanScore, OfSubject, Scores, Several, SkipReason, Skipped};
pub use source::{Answer, MockPast, MockPoint, ScoreSource};

/// The scoring service. Cheap to clone.
#[derive(Clone)]
pub struct Scoring {
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
    pub fn new(registry: Arc<Registry>, chains: Chains, rollout: Rollout, settings: &Settings) -> Self {
        let lifetimes = Lifetimes { complete: settings.cache_ttl, incomplete: settings.incomplete_cache_ttl };
        Self { inner: Arc::new(ScoringState { registry, rollout, scores: score::cache(settings), lifetimes }), chains }
    }

    /// Capabilities that the endpoints of chains lack, each with a remedy.
    pub fn chain_warnings(&self) -> Vec<String> {
        let clock = self
            .chains
            .is_clock_suspected()
            .then(|| format!("the newest blocks of chains differ alike: {CLOCK_SUSPECTED}"));
        let of_chains = self.chains.overview().into_iter().flat_map(|overview| {
            let (silent, status) = (overview.silent(), overview.status);
            let no_old_state = (status.old_state == Some(false)).then(|| NO_OLD_STATE.to_owned());
            let chain = format!("chain {} {}", status.chain_id, status.chain_name);
            [silent, status.doubt(), no_old_state].into_iter().flatten().map(move |what| format!("{chain}: {what}"))
        });
        clock.into_iter().chain(of_chains).collect()
    }

    /// The state of each chain.
    pub fn chains(&self) -> Vec<ChainOverview> {
        self.chains.overview()
    }

    /// # Errors
    /// [`ScoringError::NoChain`] on a server without chains.
    pub fn require_chains(&self) -> Result<(), ScoringError> {
        if self.chains.is_empty() { Err(ScoringError::NoChain) } else { Ok(()) }
    }

    /// When `snapshot` was read, and how long it may be cached.
    pub fn freshness(&self, snapshot: &Snapshot) -> Freshness {
        Freshness { read_at: snapshot.as_of, life: self.inner.lifetimes.of(snapshot.is_whole()) }
    }
}
