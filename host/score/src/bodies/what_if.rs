//! What a score would be, in responses.

use serde::Serialize;
use utoipa::ToSchema;

use super::{FactorBody, ReasonsBody, SafetyBody};
use assay_domain::{
    Address, Assessment, AssetSide, Coverage, ExposureClass, ModelRef, Position, PositionAsset, Reasons, Score,
    features::{Features, MarketFeatures, PositionFeatures},
};
use assay_http::values::{Checksummed, CoverageName, ModelVersionText, RangeName};
use assay_rollout::Scored;

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
    /// The same after all prices that do not follow the dollar fell by 10 to 50 %; debts of the class `other` do not
    /// become cheaper, because nobody classified these tokens.
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
