//! The score of a wallet over time.

use std::collections::BTreeMap;

use assay_domain::{Address, Claimed, Factor, ModelVersion, ReadBlock, Reasons, time_from_unix};
use serde::Serialize;
use utoipa::ToSchema;

use super::{BlockBody, ClaimedRateBody, ReasonsBody};
use crate::NotScored;
use assay_http::values::{Checksummed, ModelVersionText, Moment, RangeName};
use assay_rollout::Scored;

/// The score of a wallet at moments in the past, the oldest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScoreHistory)]
pub struct HistoryBody {
    /// With its EIP-55 checksum.
    #[schema(value_type = String)]
    address: Checksummed,
    /// Version of the model that computed the scores.
    #[schema(value_type = String)]
    model_version: ModelVersionText,
    /// True while a point is being read; repeat the request in a few seconds. Each point is paid once a day, when it is
    /// read.
    pending: bool,
    points: Vec<PointBody>,
}

/// The score at one moment.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScorePoint)]
pub struct PointBody {
    /// Each chain is read at its last block before this moment.
    #[schema(value_type = String, format = DateTime)]
    as_of: Moment,
    /// `scored`, `pending`, `inactive` (no activity until then), `not_scored` (the model refuses it) or `unread`.
    #[schema(value_type = String)]
    state: &'static str,
    /// Why it could not be read, which is tried again after a minute, or why the model refuses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 300, maximum = 1000)]
    score: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1, maximum = 10)]
    decile: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    range: Option<RangeName>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    factors: Vec<PointsBody>,
    #[serde(flatten)]
    reasons: ReasonsBody,
    /// Change since the previous scored point; absent for the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    change: Option<ChangeBody>,
    /// The lowest health factor of the markets that feed the score. Absent without debt there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    health_factor: Option<f64>,
    /// Rates that the model's card claims for such wallets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    claims: Option<Vec<ClaimedRateBody>>,
    /// The blocks at which the chains were read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blocks: Vec<BlockBody>,
}

/// The points of a factor, or their change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = FactorPoints)]
pub(crate) struct PointsBody {
    label: String,
    points: i64,
}

/// What changed between two points: the changes of the factors and `rest` sum to `score`.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ScoreChange)]
pub(crate) struct ChangeBody {
    score: i64,
    /// Factors whose points changed.
    factors: Vec<PointsBody>,
    /// Points that no factor explains: the limits of the scale, and points that every wallet has.
    rest: i64,
}

impl HistoryBody {
    pub fn new(address: Address, version: &ModelVersion) -> Self {
        Self {
            address: Checksummed(address),
            model_version: ModelVersionText(version.clone()),
            pending: false,
            points: Vec::new(),
        }
    }

    /// Adds the next point.
    pub fn push(&mut self, mut point: PointBody) {
        self.pending |= point.state == "pending";
        let before = self.points.iter().rev().find(|before| before.score.is_some());
        point.change = before.and_then(|before| ChangeBody::between(before, &point));
        self.points.push(point);
    }
}

impl PointBody {
    fn new(moment: u64, state: &'static str) -> Self {
        Self {
            as_of: Moment(time_from_unix(moment)),
            state,
            reason: None,
            score: None,
            decile: None,
            range: None,
            factors: Vec::new(),
            reasons: ReasonsBody::default(),
            change: None,
            health_factor: None,
            claims: None,
            blocks: Vec::new(),
        }
    }

    pub fn pending(moment: u64) -> Self {
        Self::new(moment, "pending")
    }

    pub fn unread(moment: u64, reason: String) -> Self {
        Self { reason: Some(reason), ..Self::new(moment, "unread") }
    }

    pub fn inactive(moment: u64, blocks: Vec<ReadBlock>) -> Self {
        Self { blocks: blocks.into_iter().map(Into::into).collect(), ..Self::new(moment, "inactive") }
    }

    pub fn not_scored(moment: u64, why: &NotScored, blocks: Vec<ReadBlock>) -> Self {
        let blocks = blocks.into_iter().map(Into::into).collect();
        Self { reason: Some(why.to_string()), blocks, ..Self::new(moment, NotScored::CODE) }
    }

    pub fn scored(moment: u64, scored: &Scored, health_factor: Option<f64>, claimed: Claimed) -> Self {
        let assessment = &scored.assessment;
        let points = |factor: &Factor| PointsBody { label: factor.label.clone(), points: factor.points.into() };
        Self {
            score: Some(assessment.score.get()),
            decile: Some(assessment.decile.get()),
            range: Some(assessment.score.range().into()),
            factors: assessment.factors.iter().map(points).collect(),
            health_factor,
            claims: ClaimedRateBody::of(claimed).0,
            blocks: scored.origins.blocks.iter().copied().map(Into::into).collect(),
            ..Self::new(moment, "scored")
        }
    }

    /// Adds the reasons for lost points.
    #[must_use]
    pub fn reasoned(self, reasons: Option<Reasons>) -> Self {
        Self { reasons: reasons.into(), ..self }
    }
}

impl ChangeBody {
    fn between(before: &PointBody, after: &PointBody) -> Option<Self> {
        let score = i64::from(after.score?) - i64::from(before.score?);
        let was: BTreeMap<&str, i64> = before.factors.iter().map(|factor| (&*factor.label, factor.points)).collect();
        let factors: Vec<PointsBody> = after
            .factors
            .iter()
            .map(|factor| {
                let was = was.get(&*factor.label).copied().unwrap_or_default();
                PointsBody { label: factor.label.clone(), points: factor.points - was }
            })
            .filter(|change| change.points != 0)
            .collect();
        let rest = score - factors.iter().map(|change| change.points).sum::<i64>();
        Some(Self { score, factors, rest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changes_of_factors_and_the_rest_sum_to_that_of_the_score() {
        let factors = |points: [i64; 2]| {
            let labels = ["Age", "Debt"].into_iter().zip(points);
            labels.map(|(label, points)| PointsBody { label: label.into(), points }).collect()
        };
        let point = |moment, score, points| PointBody {
            score: Some(score),
            factors: factors(points),
            ..PointBody::new(moment, "scored")
        };
        let mut body = HistoryBody::new(Address::ZERO, &"1.1".parse().unwrap());
        body.push(point(1, 700, [100, -20]));
        body.push(PointBody::unread(2, "an endpoint".into()));
        body.push(point(3, 690, [110, -35]));
        assert_eq!(body.points[0].change, None);
        let expected = ChangeBody { score: -10, factors: factors([10, -15]), rest: -5 };
        assert_eq!(body.points[2].change, Some(expected));
        assert!(!body.pending);
        body.push(PointBody::pending(4));
        assert!(body.pending);
    }
}
