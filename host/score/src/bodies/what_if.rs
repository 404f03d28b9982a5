//! What would move a score, and what a score would be, in responses.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{FactorBody, ReasonsBody};
use assay_domain::{
    Address, Assessment, AssetSide, Coverage, ExposureClass, ModelRef, Outlook, Position, PositionAsset, Reasons,
    Score, Standing, Step, Tried,
    features::{Features, MarketFeatures, PositionFeatures, buffer_percent},
};
use assay_http::values::{Checksummed, CoverageName, ModelVersionText, RangeName};
use assay_rollout::Scored;

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

/// The score of one address after changes.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = WhatIf)]
pub struct WhatIfBody {
    #[schema(value_type = String)]
    address: Checksummed,
    #[schema(minimum = 300, maximum = 1000)]
    score: u32,
    #[schema(minimum = 1, maximum = 10)]
    decile: u8,
    range: RangeName,
    /// The score without the changes.
    #[schema(minimum = 300, maximum = 1000)]
    score_now: u32,
    range_now: RangeName,
    #[schema(value_type = String)]
    model_version: ModelVersionText,
    #[schema(value_type = CoverageName)]
    credit_events_coverage: Coverage,
    provisional: bool,
    factors: Vec<FactorBody>,
    #[serde(flatten)]
    reasons: ReasonsBody,
    #[serde(flatten)]
    safety: SafetyBody,
    /// For each market and collateral asset, where its price leads to a liquidation.
    liquidation_prices: Vec<LiquidationBody>,
    /// The same after all collateral that does not follow the dollar fell by 10 to 50 %.
    ladder: Vec<RungBody>,
}

/// The price of a collateral asset at which a market can be liquidated, if no other price moves.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = LiquidationPrice)]
pub struct LiquidationBody {
    market: String,
    /// Symbol of the token. If the tokens of the market are not known, its class: `stablecoin`, `native`, `bitcoin` or
    /// `other`; for a class, the mean threshold counts.
    asset: Option<String>,
    /// Address of the token; absent for the native currency, and for a class.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    token: Option<Checksummed>,
    /// The price that the market uses, after the changes; absent for a class.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    price_usd: Option<f64>,
    /// Absent for a class, and if no fall of this asset alone leads there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    liquidation_price_usd: Option<f64>,
    /// In percent of the price after the changes; null if no fall of this asset alone leads there.
    percent_of_price: Option<f64>,
}

/// The score after a fall of prices.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = LadderRung)]
pub struct RungBody {
    percent: f64,
    /// Null if the model does not score it.
    score: Option<u32>,
    range: Option<RangeName>,
    #[serde(flatten)]
    safety: SafetyBody,
}

/// The score of features that the caller sent.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = FeaturesScore)]
pub struct FeaturesScoreBody {
    #[schema(minimum = 300, maximum = 1000)]
    score: u32,
    #[schema(minimum = 1, maximum = 10)]
    decile: u8,
    range: RangeName,
    #[schema(value_type = String)]
    model_version: ModelVersionText,
    /// SHA-256 of the model's bytes.
    model_digest: String,
    factors: Vec<FactorBody>,
    #[serde(flatten)]
    reasons: ReasonsBody,
    #[serde(flatten)]
    safety: SafetyBody,
}

/// What the model says of a wallet after changes.
pub(crate) struct Supposed {
    pub features: Features,
    pub positions: Vec<Position>,
    pub then: Assessment,
    pub ladder: Vec<Rung>,
}

/// A score after a fall of all prices by `percent`, with its features.
pub(crate) struct Rung {
    pub percent: f64,
    pub score: Option<Score>,
    pub features: Features,
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

impl FeaturesScoreBody {
    /// The score of `features` by `model`.
    pub fn new(model: &ModelRef, features: &Features, scored: &Assessment, reasons: Option<Reasons>) -> Self {
        Self {
            score: scored.score.get(),
            decile: scored.decile.get(),
            range: scored.score.range().into(),
            model_version: ModelVersionText(model.version.clone()),
            model_digest: model.digest.to_string(),
            factors: FactorBody::all(&scored.factors),
            reasons: reasons.into(),
            safety: features.into(),
        }
    }
}

impl WhatIfBody {
    pub(crate) fn new(
        scored: &Scored,
        Supposed { features, positions, then, ladder }: Supposed,
        reasons: Option<Reasons>,
    ) -> Self {
        let now = scored.assessment.score;
        let address: Address = scored.address;
        Self {
            address: Checksummed(address),
            score: then.score.get(),
            decile: then.decile.get(),
            range: then.score.range().into(),
            score_now: now.get(),
            range_now: now.range().into(),
            model_version: ModelVersionText(scored.model.version.clone()),
            credit_events_coverage: scored.coverage,
            provisional: scored.coverage.is_provisional(),
            factors: FactorBody::all(&then.factors),
            reasons: reasons.into(),
            safety: (&features).into(),
            liquidation_prices: LiquidationBody::all(&features, &positions),
            ladder: ladder.into_iter().map(Into::into).collect(),
        }
    }
}

impl LiquidationBody {
    fn all(features: &Features, positions: &[Position]) -> Vec<Self> {
        let of = |market: &MarketFeatures| {
            let tokens = positions.iter().find(|one| one.market_name() == market.name() && !one.assets.is_empty());
            match (tokens, &market.position) {
                (Some(position), _) => Self::of_tokens(position, positions),
                (None, Some(position)) => Self::of_classes(market, position),
                (None, None) => Vec::new(),
            }
        };
        let owing = features.markets.iter().filter(|market| market.borrowed_usd > 0.0);
        owing.flat_map(of).collect()
    }

    fn of_tokens(position: &Position, positions: &[Position]) -> Vec<Self> {
        let price = |asset: &PositionAsset| {
            let liquidation_price_usd = position.liquidation_price(asset, positions);
            let share = liquidation_price_usd.zip(asset.price_usd).map(|(there, now)| there / now * 100.0);
            Self {
                market: position.market_name().to_string(),
                asset: asset.symbol.clone(),
                token: asset.token.map(Checksummed),
                price_usd: asset.price_usd,
                liquidation_price_usd,
                percent_of_price: share.filter(|share| share.is_finite()),
            }
        };
        position.assets.iter().filter(|asset| asset.side == AssetSide::Collateral).map(price).collect()
    }

    fn of_classes(market: &MarketFeatures, position: &PositionFeatures) -> Vec<Self> {
        let price = |class: ExposureClass| Self {
            market: market.name().to_string(),
            asset: Some(class.as_str().to_owned()),
            token: None,
            price_usd: None,
            liquidation_price_usd: None,
            percent_of_price: position.liquidation_share(class).map(|share| share * 100.0),
        };
        position.collateral.iter().map(|one| price(one.class)).collect()
    }
}

impl From<Rung> for RungBody {
    fn from(Rung { percent, score, features }: Rung) -> Self {
        let range = score.map(|score| score.range().into());
        Self { percent, score: score.map(Score::get), range, safety: (&features).into() }
    }
}
