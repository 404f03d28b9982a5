//! What became of a row.

use std::sync::Arc;

use assay_domain::{
    Address, Coverage, Time,
    features::{Features, MarketFeatures},
    time_from_unix,
};
use assay_http::values::Usd;
use assay_rollout::Scored;
use assay_score::{NotScored, OfSubject, ScoringError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RowStatus {
    /// The wallet has a score.
    Found,
    /// The name does not resolve.
    Unresolved,
    /// It is neither an address nor a name.
    Invalid,
    /// The model refuses the wallet, which has activity.
    NotScored,
    /// The wallet has no on-chain activity.
    Inactive,
    /// It could not be read; `reason` says why.
    Unread,
}

impl RowStatus {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Unresolved => "unresolved",
            Self::Invalid => "invalid",
            Self::NotScored => "not_scored",
            Self::Inactive => "inactive",
            Self::Unread => "unread",
        }
    }

    /// Whether the wallet was read, which costs the units of a score.
    pub(crate) fn is_read(self) -> bool {
        matches!(self, Self::Found | Self::NotScored | Self::Inactive)
    }
}

/// The answer about a row, as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RowRecord {
    pub status: RowStatus,
    /// Why there is no score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundRecord>,
    /// Its units were charged; for an equal row before it they were charged there.
    #[serde(default)]
    pub is_paid: bool,
    /// The pass over the rows that it is of.
    pub pass: u32,
}

/// The figures of a wallet with a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FoundRecord {
    pub score: u32,
    pub decile: u8,
    pub range: String,
    pub coverage: Coverage,
    pub model_version: String,
    pub score_id: Option<String>,
    pub debt_usd: f64,
    pub collateral_usd: f64,
    pub lowest_health_factor: Option<f64>,
    pub last_liquidation_at: Option<Time>,
    pub read_at: Time,
}

impl RowRecord {
    pub(crate) fn without(status: RowStatus, reason: Option<String>) -> Self {
        Self { status, reason, address: None, found: None, is_paid: false, pass: 0 }
    }

    pub(crate) fn invalid(text: &str) -> Self {
        let reason = if text.is_empty() { "the cell is empty" } else { "it is neither an address nor a name" };
        Self::without(RowStatus::Invalid, Some(reason.to_owned()))
    }

    /// The answer of the scoring about a subject. `id` names the score for the owner of the job.
    pub(crate) fn of(answered: OfSubject, id: impl FnOnce(&Scored) -> Option<String>) -> Self {
        let OfSubject { address, answer } = answered;
        let without = |status, reason: Option<String>| Self { address, ..Self::without(status, reason) };
        match answer {
            Ok((scored, features)) => {
                let found = Some(FoundRecord::new(&scored, &features, id(&scored)));
                Self { found, ..without(RowStatus::Found, None) }
            }
            Err(ScoringError::NotFound) => match address {
                Some(_) => without(RowStatus::Inactive, None),
                None => without(RowStatus::Unresolved, None),
            },
            Err(error) => match NotScored::of(&error) {
                Some(why) => without(RowStatus::NotScored, Some(why.to_string())),
                None => without(RowStatus::Unread, Some(error.to_string())),
            },
        }
    }
}

impl FoundRecord {
    fn new(scored: &Arc<Scored>, features: &Features, score_id: Option<String>) -> Self {
        let assessment = &scored.assessment;
        let health = features.markets.iter().filter_map(|market| market.position.as_ref()?.health_factor);
        let usd = |of: fn(&MarketFeatures) -> f64| features.markets.iter().map(of).map(Usd).sum::<Usd>().cents();
        let liquidated = features.markets.iter().filter_map(|market| market.last_liquidation).max();
        Self {
            score: assessment.score.get(),
            decile: assessment.decile.get(),
            range: assessment.score.range().as_str().to_owned(),
            coverage: scored.coverage,
            model_version: scored.model.version.to_string(),
            score_id,
            debt_usd: usd(|market| market.borrowed_usd),
            collateral_usd: usd(|market| market.supplied_usd),
            lowest_health_factor: health.min_by(f64::total_cmp),
            last_liquidation_at: liquidated.map(time_from_unix),
            read_at: scored.fresh.read_at,
        }
    }
}
