//! What would move a score, and how far a debt is from a liquidation, in responses.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use assay_domain::{
    Outlook, Score, Standing, Step, Tried,
    features::{Features, buffer_percent},
};
use assay_http::values::RangeName;

/// What would raise a score to the next range or to the requested target, and what would lower it to the range below.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Changes)]
pub struct ChangesBody {
    /// The lowest score of the next range, or the requested score; null in the highest range.
    target: Option<u32>,
    /// A repayment, a deposit and a wait, each on its own. Empty if the score has reached the target.
    raise: Vec<StepBody>,
    /// The highest score of the range below; null in the lowest range.
    floor: Option<u32>,
    /// The fall of a price that leads to the floor; null in the lowest range.
    lower: Option<StepBody>,
    /// How often the model was called for this.
    calls: u32,
}

/// The smallest change of one kind that reaches a score.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = ChangeStep, example = json!({
    "kind": "repay", "reaches": true, "minimal": true,
    "change": { "repay": { "market": "1/lenderA_v3", "usd": 1240 } }, "score": 751, "range": "good",
    "health_factor": 1.84, "buffer_percent": 45.65
}))]
pub struct StepBody {
    /// `repay`, `deposit`, `wait` or `price_fall`.
    #[schema(value_type = String)]
    kind: &'static str,
    /// Whether this change alone reaches it. If not, `change` is the one that comes nearest.
    reaches: bool,
    /// Whether no smaller change reaches it: not with one dollar, one day or 0.1 % less. False also if the score moved
    /// in both directions along the way, or if the calls of the model were used up.
    minimal: bool,
    /// In the form that the path `what-if` takes; null if no change of this kind comes nearer than the score now.
    #[schema(value_type = Option<Object>)]
    change: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    score: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    range: Option<RangeName>,
    #[serde(flatten)]
    safety: SafetyBody,
}

/// How far the debt is from a liquidation.
#[derive(Debug, Clone, Copy, Default, Serialize, ToSchema)]
#[schema(as = Safety)]
pub struct SafetyBody {
    /// The lowest of the wallet's markets; absent if no market states one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    health_factor: Option<f64>,
    /// The share of its value that the collateral may lose before a liquidation: (1 - 1 / health factor) x 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    buffer_percent: Option<f64>,
}

impl ChangesBody {
    pub fn new(outlook: Outlook) -> Self {
        let Outlook { target, raise, floor, lower, calls } = outlook;
        Self {
            target: target.map(Score::get),
            raise: raise.into_iter().map(Into::into).collect(),
            floor: floor.map(Score::get),
            lower: lower.map(Into::into),
            calls,
        }
    }
}

impl From<Step> for StepBody {
    fn from(Step { kind, reaches, minimal, best }: Step) -> Self {
        let kind = kind.as_str();
        let Some(Tried { change, score, health_factor }) = best else {
            let safety = SafetyBody::default();
            return Self { kind, reaches, minimal, change: None, score: None, range: None, safety };
        };
        Self {
            kind,
            reaches,
            minimal,
            change: serde_json::to_value(change).ok(),
            score: Some(score.get()),
            range: Some(score.range().into()),
            safety: health_factor.into(),
        }
    }
}

impl From<Option<f64>> for SafetyBody {
    fn from(health_factor: Option<f64>) -> Self {
        let health_factor = health_factor.filter(|factor| factor.is_finite());
        Self { health_factor, buffer_percent: health_factor.and_then(buffer_percent) }
    }
}

impl From<&Features> for SafetyBody {
    fn from(features: &Features) -> Self {
        Standing::of(features).health_factor.into()
    }
}
