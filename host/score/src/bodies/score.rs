//! The score in responses: of one address, as a mean, and in a batch.

use serde::Serialize;
use utoipa::ToSchema;

use super::{ChangesBody, ReasonsBody};
use crate::{LeftOut, MeanScore, Skipped};
use assay_domain::{
    Address, Claim, Claimed, Claims, Coverage, Decile, Factor, ModelVersion, Outlook, Rate, Reasons, Score,
};
use assay_http::values::{Checksummed, CoverageName, ModelVersionText, Moment, RangeName};
use assay_rollout::Scored;

/// A credit score.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Score, example = json!({
    "address": "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045", "score": 847, "decile": 8, "range": "very_good",
    "model_version": "1.1", "timestamp": "2026-01-15T10:30:00Z", "credit_events_coverage": "complete",
    "provisional": false
}))]
pub struct ScoreBody {
    /// With its EIP-55 checksum.
    #[schema(value_type = String)]
    pub address: Checksummed,
    #[schema(minimum = 300, maximum = 1000)]
    pub score: u32,
    #[schema(minimum = 1, maximum = 10)]
    pub decile: u8,
    pub range: RangeName,
    /// Version of the model that computed the score.
    #[schema(value_type = String)]
    pub model_version: ModelVersionText,
    /// When the score was calculated.
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Moment,
    /// Present with `include_factors=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub factors: Option<Vec<FactorBody>>,
    #[serde(flatten)]
    pub reasons: ReasonsBody,
    /// Present with `include_changes=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub changes: Option<ChangesBody>,
    /// How completely the lending events were read. Absent in the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CoverageName>, nullable = false)]
    pub credit_events_coverage: Option<Coverage>,
    /// True while the coverage is not `complete`: the score may not yet reflect repayments and liquidations. Absent in
    /// the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub provisional: Option<bool>,
    /// Rates that the model's card claims for the score's range, one per horizon; absent if no claimed population
    /// includes the wallet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub claims: Option<Vec<ClaimedRateBody>>,
    /// Why the model claims no rate for this wallet, although it claims rates for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub no_claim: Option<String>,
}

/// How often something happens to wallets of one population and range: a share of 0 to 1 with its 95 % interval.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = ClaimedRate, example = json!({
    "outcome": "liquidated", "horizon_days": 90, "estimate": 0.0243, "low": 0.0074, "high": 0.0474,
    "population": "wallets that owe at least $10 and whose health factor or utilisation was read"
}))]
pub struct ClaimedRateBody {
    pub outcome: String,
    /// Days after the score within which it happens.
    pub horizon_days: u32,
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
    /// The wallets for which the rate holds.
    pub population: String,
    /// The regime in which the rate holds; absent if it holds in any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub condition: Option<String>,
}

/// One part of the score, described for the owner of the wallet.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Factor, example = json!({
    "label": "Repayment History", "rating": "good", "description": "12 loans repaid and none liquidated. More repaid \
                                                                    loans raise this.",
    "points": 150, "possible": 200
}))]
pub struct FactorBody {
    pub label: String,
    pub rating: RangeName,
    pub description: String,
    /// Points added to the base; negative when they are subtracted.
    pub points: i32,
    /// The most this factor can add.
    pub possible: u32,
}

/// One score for several addresses.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = MeanScore)]
pub struct MeanBody {
    /// The addresses in the mean: the valid addresses of the request that have a score, each once.
    #[schema(value_type = Vec<String>)]
    pub address: Vec<Checksummed>,
    /// The mean, rounded to the nearest whole number; a half is rounded up.
    #[schema(minimum = 300, maximum = 1000)]
    pub score: u32,
    #[schema(minimum = 1, maximum = 10)]
    pub decile: u8,
    pub range: RangeName,
    #[schema(value_type = String)]
    pub model_version: ModelVersionText,
    /// When the oldest of the scores was calculated.
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Moment,
    /// The least complete coverage of all the scores. Absent in the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CoverageName>, nullable = false)]
    pub credit_events_coverage: Option<Coverage>,
    /// True while the coverage is not `complete`. Absent in the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub provisional: Option<bool>,
    #[serde(flatten)]
    pub skipped: SkippedList,
}

/// A score for each of several addresses.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Scores)]
pub struct ScoresBody {
    pub scores: Vec<ScoreBody>,
    pub count: usize,
    #[serde(flatten)]
    pub skipped: SkippedList,
}

impl ScoreBody {
    /// A score without the fields that only a reading of chains has.
    pub fn bare(address: Address, score: Score, decile: Decile, model: ModelVersion, at: Moment) -> Self {
        Self {
            address: Checksummed(address),
            score: score.get(),
            decile: decile.get(),
            range: score.range().into(),
            model_version: ModelVersionText(model),
            timestamp: at,
            factors: None,
            reasons: ReasonsBody::default(),
            changes: None,
            credit_events_coverage: None,
            provisional: None,
            claims: None,
            no_claim: None,
        }
    }

    /// Adds what the model claims.
    #[must_use]
    pub fn claimed(self, claimed: Claimed) -> Self {
        let (claims, no_claim) = ClaimedRateBody::of(claimed);
        Self { claims, no_claim, ..self }
    }

    /// Adds the reasons for lost points.
    #[must_use]
    pub fn reasoned(self, reasons: Option<Reasons>) -> Self {
        Self { reasons: reasons.into(), ..self }
    }

    /// Adds what would move the score.
    #[must_use]
    pub fn changed(self, outlook: Option<Outlook>) -> Self {
        Self { changes: outlook.map(ChangesBody::new), ..self }
    }

    /// A production score.
    pub fn scored(scored: &Scored, factors: bool) -> Self {
        let assessment = &scored.assessment;
        let version = scored.model.version.clone();
        Self {
            factors: factors.then(|| FactorBody::all(&assessment.factors)),
            ..Self::bare(scored.address, assessment.score, assessment.decile, version, Moment(scored.at))
                .read(scored.coverage)
        }
    }

    /// Adds the fields that only production scores have.
    #[must_use]
    pub fn read(self, coverage: Coverage) -> Self {
        Self { credit_events_coverage: Some(coverage), provisional: Some(coverage.is_provisional()), ..self }
    }
}

impl MeanBody {
    /// A mean without the fields that only a reading of chains has.
    pub fn bare(addresses: Vec<Address>, score: Score, decile: Decile, model: ModelVersion, at: Moment) -> Self {
        Self {
            address: addresses.into_iter().map(Checksummed).collect(),
            score: score.get(),
            decile: decile.get(),
            range: score.range().into(),
            model_version: ModelVersionText(model),
            timestamp: at,
            credit_events_coverage: None,
            provisional: None,
            skipped: SkippedList::default(),
        }
    }

    /// Adds the fields that only production scores have.
    #[must_use]
    pub fn read(self, coverage: Coverage) -> Self {
        Self { credit_events_coverage: Some(coverage), provisional: Some(coverage.is_provisional()), ..self }
    }
}

impl From<MeanScore> for MeanBody {
    fn from(mean: MeanScore) -> Self {
        let body = Self::bare(mean.addresses, mean.score, mean.decile, mean.model.version, Moment(mean.at));
        Self { skipped: mean.skipped.into(), ..body.read(mean.coverage) }
    }
}

impl ClaimedRateBody {
    /// The rates, or why there are none.
    pub fn of(claimed: Claimed) -> (Option<Vec<Self>>, Option<String>) {
        let body = |(Claim { claims, condition, .. }, Rate { low, estimate, high, .. }): (Claim, Rate)| {
            let Claims { outcome, horizon_days, population, .. } = claims;
            let condition = condition.map(|condition| condition.to_string());
            Self { outcome, horizon_days, estimate, low, high, population, condition }
        };
        match claimed {
            Claimed::Nothing => (None, None),
            Claimed::Rates(rates) => (Some(rates.into_iter().map(body).collect()), None),
            Claimed::Outside(why) => (None, Some(why)),
        }
    }
}

impl From<Vec<ScoreBody>> for ScoresBody {
    fn from(scores: Vec<ScoreBody>) -> Self {
        Self { count: scores.len(), scores, skipped: SkippedList::default() }
    }
}

impl FactorBody {
    pub fn all(factors: &[Factor]) -> Vec<Self> {
        let body = |factor: &Factor| {
            let words = factor.words.clone()?;
            let (label, rating) = (factor.label.clone(), words.rating.into());
            let (description, possible) = (words.description, words.possible);
            Some(Self { label, rating, description, points: factor.points, possible })
        };
        factors.iter().filter_map(body).collect()
    }
}

/// An item of `address` that was left out.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Skipped, example = json!({ "address": "nonsense", "reason": "invalid" }))]
pub(crate) struct SkippedBody {
    /// The item, at most its first 100 characters.
    address: String,
    /// `invalid`: neither an address nor a name; `not_found`: without activity, or a name that does not resolve;
    /// `not_scored`: the model refuses it; `unread`: it could not be read now; repeat the request.
    #[schema(value_type = String)]
    reason: &'static str,
}

/// What was left out of a list.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
#[schema(as = SkippedItems)]
pub struct SkippedList {
    /// The items of the request that were left out, and why; of those that are no address, the first
    /// `http.max_addresses` different ones. Absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    skipped: Option<Vec<SkippedBody>>,
    /// All items that were left out, each once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    skipped_total: Option<usize>,
}

impl From<LeftOut> for SkippedList {
    fn from(left_out: LeftOut) -> Self {
        let total = left_out.total();
        if total == 0 {
            return Self::default();
        }
        let body = |Skipped { item, why }: Skipped| SkippedBody { address: item, reason: why.as_str() };
        Self { skipped: Some(left_out.items.into_iter().map(body).collect()), skipped_total: Some(total) }
    }
}
