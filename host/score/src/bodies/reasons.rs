//! The reasons of a score in responses.

use serde::Serialize;
use utoipa::ToSchema;

use assay_domain::{Clamp, CodeSource, Reason, Reasons};

/// The principal reasons of a score. Every field is absent if they were not requested.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
#[schema(as = Reasons)]
pub struct ReasonsBody {
    /// At most four, the most points lost first. Present with `include_reasons=true`; empty if every factor is full.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reasons: Option<Vec<ReasonBody>>,
    /// `card`: the card of the model declares the codes. `labels`: at least one is made from the label of its factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub reason_codes: Option<CodeSource>,
    /// The step from a sum of points outside 300 to 1000 to the score. Absent if the sum is within, or if the card of
    /// the model does not state its base.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub clamp: Option<ClampBody>,
}

/// Why points were lost.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = ScoreReason, example = json!({
    "rank": 1, "code": "POSITION_NEAR_LIQUIDATION", "factor": "Current Position", "points_lost": 96,
    "points_possible": 450, "text": "The debt is high beside the collateral that secures it.",
    "applicant_text": "What you owe is too high beside the collateral that secures it."
}))]
pub struct ReasonBody {
    /// 1 for the reason that lost most points.
    #[schema(minimum = 1, maximum = 4)]
    pub rank: u32,
    /// A code of the model, stable for its version.
    pub code: String,
    /// Label of the factor.
    pub factor: String,
    #[schema(minimum = 1)]
    pub points_lost: u32,
    pub points_possible: u32,
    /// For a lender.
    pub text: String,
    /// For the owner of the wallet.
    pub applicant_text: String,
}

/// The step from a sum of points to the scale.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = Clamp)]
pub struct ClampBody {
    /// The base and the points of all factors.
    pub sum: i32,
    /// Points added to reach the scale; negative when they are subtracted.
    pub points: i32,
}

impl From<Option<Reasons>> for ReasonsBody {
    fn from(reasons: Option<Reasons>) -> Self {
        let Some(Reasons { list, codes, clamp }) = reasons else { return Self::default() };
        Self {
            reasons: Some(list.into_iter().map(Into::into).collect()),
            reason_codes: Some(codes),
            clamp: clamp.map(|Clamp { sum, points }| ClampBody { sum, points }),
        }
    }
}

impl From<Reason> for ReasonBody {
    fn from(reason: Reason) -> Self {
        let Reason { rank, code, factor, points_lost, points_possible, text, applicant_text } = reason;
        Self { rank, code, factor, points_lost, points_possible, text, applicant_text }
    }
}
