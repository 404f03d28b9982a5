//! Signed statements of scores.

use alloy::signers::local::PrivateKeySigner;
use chrono::{SubsecRound as _, Utc};
use std::time::Duration;

use crate::{config, rollout::Scored};
use assay_domain::{B256, Claimed, features::Features};
use assay_statement::{ClaimedRate, Content, Domain, Signed, Signers, Statement, Term, blocks_root, features_digest};

/// Signs statements with the key of `[attestation]`.
pub struct Attestor {
    key: PrivateKeySigner,
    domain: Domain,
    valid: Duration,
    signers: Signers,
}

impl Attestor {
    /// `None` if the key is not a private key, which the check of the configuration reports.
    pub fn new(config: &config::Attestation) -> Option<Self> {
        let (key, domain) = (config.account()?, config.domain());
        let signers = Signers::new(&domain, config.signers());
        Some(Self { key, domain, valid: config.valid, signers })
    }

    /// Every signer of this server, for those who verify statements.
    pub fn signers(&self) -> &Signers {
        &self.signers
    }

    /// How long a statement holds.
    pub fn valid(&self) -> Duration {
        self.valid
    }

    /// The statement of `scored`, which was computed from `features`.
    ///
    /// # Errors
    /// Words for the log: features without canonical text, no random numbers, or the signer's failure.
    pub fn attest(&self, scored: &Scored, features: &Features, claimed: &Claimed) -> Result<Signed, String> {
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
            claimed: first(claimed),
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
}

/// The first claim of the card that applies.
fn first(claimed: &Claimed) -> Option<ClaimedRate> {
    let Claimed::Rates(rates) = claimed else { return None };
    let (claim, rate) = rates.first()?;
    Some(ClaimedRate {
        per_million: ClaimedRate::per_million(rate.estimate),
        days: claim.claims.horizon_days,
        outcome: claim.claims.outcome.clone(),
        population: claim.claims.population.clone(),
    })
}
