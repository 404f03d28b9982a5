//! Signed statements of scores.

use alloy::{primitives::keccak256, signers::local::PrivateKeySigner};
use chrono::{SubsecRound as _, Utc};
use moka::future::Cache;
use serde::Serialize;
use std::{sync::Arc, time::Duration};
use uuid::Uuid;

use crate::config;
use assay_domain::{B256, Claimed, Secret, features::Features};
use assay_registry::Registry;
use assay_rollout::{Scored, cards::Cards};
use assay_statement::{
    ClaimedRate, Content, Domain, Evidence, EvidenceModel, Signed, Signers, Statement, Term, blocks_root,
    features_digest,
};

/// Signs statements with the key of `[attestation]`, or in a sandbox with a key that everyone knows.
pub struct Attestor {
    key: PrivateKeySigner,
    /// Whether its statements say that a sandbox made them up.
    sandbox: bool,
    domain: Domain,
    valid: Duration,
    signers: Signers,
    cards: Arc<Cards>,
    registry: Arc<Registry>,
    /// By the record of the score.
    recent: Cache<Uuid, Kept>,
}

/// A statement, and the record that has its evidence.
#[derive(Clone)]
pub struct Kept {
    pub record: Uuid,
    pub signed: Arc<Signed>,
}

/// How long a score has the same statement.
const RECENT: Duration = Duration::from_secs(60);
/// Statements that are remembered.
const MOST_RECENT: u64 = 10_000;

/// A statement with what it commits to.
#[derive(Debug, Clone, Serialize)]
pub struct Stated {
    pub statement: Signed,
    pub evidence: Evidence,
}

impl Attestor {
    /// `None` if the key is not a private key, which the check of the configuration reports.
    pub fn new(config: &config::Attestation, cards: Arc<Cards>, registry: Arc<Registry>) -> Option<Self> {
        let (key, domain) = (config.account()?, config.domain());
        let signers = Signers::new(&domain, config.signers());
        let recent = Cache::builder().max_capacity(MOST_RECENT).time_to_live(RECENT.min(config.valid / 10)).build();
        Some(Self { key, sandbox: false, domain, valid: config.valid, signers, cards, registry, recent })
    }

    /// Signs mock statements for the domain of `config`, never with its key. `None` is not expected: the key is a hash.
    pub fn mock(config: Option<&config::Attestation>, cards: Arc<Cards>, registry: Arc<Registry>) -> Option<Self> {
        let secret = Secret::new(keccak256("the signer of every sandbox").to_string());
        let config = config::Attestation {
            signer: secret,
            retired: Vec::new(),
            ..config.cloned().unwrap_or_else(config::Attestation::unsigned)
        };
        Some(Self { sandbox: true, ..Self::new(&config, cards, registry)? })
    }

    /// Every signer of this server, for the verification of statements.
    pub fn signers(&self) -> &Signers {
        &self.signers
    }

    /// How long a statement holds.
    pub fn valid(&self) -> Duration {
        self.valid
    }

    /// The statement of this score that was made within the last minute.
    pub async fn recent(&self, scored: &Scored) -> Option<Kept> {
        self.recent.get(&scored.record?).await
    }

    /// Remembers a statement whose evidence is stored.
    pub async fn remember(&self, scored: &Scored, kept: &Kept) {
        if let Some(record) = scored.record {
            self.recent.insert(record, kept.clone()).await;
        }
    }

    /// Signs a statement of `scored`, which was computed from `features`.
    ///
    /// # Errors
    /// Words for the log: features without canonical text, no random numbers, or the signer's failure.
    pub async fn attest(&self, scored: &Scored, features: &Features) -> Result<Signed, String> {
        let claimed = self.cards.claimed(&self.registry, scored).await;
        let issued = Utc::now().trunc_subsecs(0).timestamp().unsigned_abs();
        let mut salt = B256::ZERO;
        getrandom::fill(&mut salt.0).map_err(|error| error.to_string())?;
        let content = Content {
            score: scored.assessment.score,
            decile: scored.assessment.decile,
            as_of: features.as_of,
            version: scored.model.version.clone(),
            model: scored.model.digest,
            features: features_digest(features).map_err(|error| error.to_string())?,
            blocks: blocks_root(&scored.origins.blocks),
            claimed: first(&claimed),
            sandbox: self.sandbox,
        };
        let statement = Statement {
            domain: self.domain.clone(),
            recipient: scored.address,
            term: Term { issued, expires: issued.saturating_add(self.valid.as_secs()) },
            content,
            salt,
        };
        statement.sign(&self.key).map_err(|error| error.to_string())
    }

    /// The same with the evidence.
    ///
    /// # Errors
    /// As [`Attestor::attest`].
    pub async fn state(&self, scored: &Scored, features: &Features) -> Result<Stated, String> {
        Ok(Stated { statement: self.attest(scored, features).await?, evidence: evidence(scored, features) })
    }
}

fn evidence(scored: &Scored, features: &Features) -> Evidence {
    Evidence {
        address: scored.address,
        score: scored.assessment.score,
        decile: scored.assessment.decile.get(),
        factors: scored.assessment.factors.iter().map(Into::into).collect(),
        model: EvidenceModel { kind: scored.model.kind, pin: (&scored.model).into() },
        features: features.clone(),
        blocks: scored.origins.blocks.clone(),
        sources: scored.origins.sources.clone(),
        reasons: None,
        reason_codes: None,
        clamp: None,
    }
}

/// The first claim of the card that applies.
fn first(claimed: &Claimed) -> Option<ClaimedRate> {
    let Claimed::Rates(rates) = claimed else { return None };
    let (claim, rate) = rates.first()?;
    Some(ClaimedRate {
        per_million: ClaimedRate::per_million(rate.estimate),
        days: claim.claims.horizon_days,
        outcome: claim.claims.outcome.clone(),
        population: claim.holds_for(),
    })
}
